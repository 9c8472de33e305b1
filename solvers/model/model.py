"""The frozen model that users compute with; its two engines are `reference` and `compiled`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.bodies.inertial_parameters import NAMES, OWN_NAMES, own_numbers
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import read_state
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.mechanism.conditioning import Pivots, conditioning, conditioning_findings
from titop.solvers.mechanism.euler_angles import euler_angles, warn_of_gimbal_lock
from titop.solvers.mechanism.inputs import Push, acting_inputs
from titop.solvers.model.differentiable import Differentiable
from titop.solvers.signals.quantities import Quantity
from titop.solvers.signals.sensors import sensed
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.units import units_of
from titop.solvers.signals.values import value_of

if TYPE_CHECKING:
    from control import NonlinearIOSystem

    from titop.solvers.equilibrium.operating_point import OperatingPoint


class Energy(NamedTuple):
    """Energy of a system (J); `elastic` is that of springs, interactions and deformable bodies."""

    kinetic: float
    gravity: float
    elastic: float

    @property
    def potential(self) -> float:
        """Gravity and elastic energy (J)."""
        return self.gravity + self.elastic

    @property
    def total(self) -> float:
        """Kinetic and potential energy (J)."""
        return self.kinetic + self.potential


class Model(Differentiable):
    """A resolved system: frozen, usable from several threads.

    States are ``q`` (nq), ``v``, ``a`` and ``tau`` (nv), in the order of the ``connect`` calls. Functions of a state
    raise `ModelError` for wrong lengths, non-finite entries and quaternions that are not unit.

    Made by `System.resolve`. Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv);
    `port` ``"body.port"``, or ``"body"`` for the reference frame; `joint` a joint's name; `wrenches` external wrenches (6)
    on bodies by port name, in the port's frame; `values` numbers by name; `rng` a NumPy random generator; `out` where to
    put the result; `u` the inputs of actuators and blocks (nu, or by name).

    Units: coordinates rad or m, or what their blocks say (`signal_table` tells), rates and accelerations those by s and s^2,
    efforts N m or N, inputs their own; derivatives and matrices those of what they give, a unit of what they are taken by.
    """

    # -- outputs -------------------------------------------------------------------------------------------------------

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the sensors' outputs."""
        return tuple(name for sensor in self._assembly.sensors for name in sensor.output_names)

    @cached_property
    def output_units(self) -> tuple[str, ...]:
        """Units of the sensors' outputs."""
        return tuple(unit for of in self._sensed for unit in units_of(self, of))

    @cached_property
    def _sensed(self) -> list[Quantity]:
        """What the sensors read."""
        return [sensed(self._assembly, sensor) for sensor in self._assembly.sensors]

    @rowwise
    def outputs(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, tau: Any = None
    ) -> Array:
        """Return what the sensors read (outputs, each in its own unit), in the order of `output_names`.

        Give the `wrenches` and inputs `u` that act when the accelerations are `a`: reactions depend on them, and with rigid
        closures on the efforts `tau` (see `reaction`).
        """
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        at = Snapshot(self, q, v, a, tau, u, wrenches)
        parts = [value_of(at, of) for of in self._sensed]
        return np.concatenate(parts) if parts else np.zeros(0)

    def to_nlsys(
        self,
        inputs: Any,
        outputs: Any = None,
        point: OperatingPoint | None = None,
        independent: Sequence[str] | None = None,
    ) -> NonlinearIOSystem:
        """Return the nonlinear system for python-control: simulation, interconnection, operating points, exact linearisation.

        States are the coordinates, then their rates. Plain coordinates are states as they are; free and spherical joints by
        their displacement from the point's configuration (its logarithm), for motions of less than a whole turn from there.

        Parameters
        ----------
        inputs : sequence of str
            As in `linearize`. Values are whole, not deviations; what is no input acts as at the point.
        outputs : sequence of str, callable or (name, callable), optional
            As in `linearize`; all states by default.
        point : OperatingPoint, optional
            Reference configuration of free and spherical joints, and the efforts, inputs and wrenches that act; by default
            neutral, with closures next to that, and nothing. It has to close the loops.
        independent : sequence of str, optional
            As in `linearize`: in systems with closures or gears, the coordinates to take as states.

        Returns
        -------
        control.NonlinearIOSystem
            Its `linearize` is exact, also through ``control.linearize``; ``params`` takes parameters by name, such as
            ``{"slider.mass": 2.0}``; `signal_table` gives paths and units.

        Raises
        ------
        ModelError
            For unknown names, coordinates that are not independent, some alone of a free or spherical joint's, and open loops.
        """
        from titop.solvers.linear.nlsys import nonlinear_system

        return nonlinear_system(self, inputs, outputs, point, independent)

    # -- motion of ports and bodies ------------------------------------------------------------------------------------

    @rowwise
    def motion(self, port: str, q: Any, v: Any, a: Any, sequence: str = "XYZ") -> Array:
        """Return a port's motion vector (18) of key A: ``[dV; V; r; Theta]``.

        Parameters
        ----------
        port : str
            ``"body.port"``, or ``"body"`` for the reference frame.
        q, v, a : array_like (nq,), (nv,), (nv,)
        sequence : str
            Axes of the intrinsic Euler angles, such as ``"XYZ"`` or ``"ZXZ"``.

        Returns
        -------
        (18,) array
            Spatial acceleration (6, m/s^2 and rad/s^2), twist (6, m/s and rad/s) and position from the inertial origin (3, m),
            in the port's frame; Euler angles (3, rad). Within 0.1 degree of a gimbal lock a `ModelWarning` says so: first and
            third angle are all but undetermined; in the lock the third is zero.
        """
        motion, rotation = self._turning_motion(port, q, v, a)
        angles = euler_angles(rotation, sequence)
        warn_of_gimbal_lock(port, angles, sequence)
        return np.concatenate([motion, angles])

    def _turning_motion(self, port: str, q: Any, v: Any, a: Any) -> tuple[Array, Array]:
        """Return a port's motion vector without Euler angles (15), and its rotation (3x3) in their place."""
        motion = self._motion_at(port, q, v, a)
        acceleration = motion.acceleration.copy()
        acceleration[:3] += motion.rotation.T @ self.gravity
        return np.concatenate([acceleration, motion.twist, motion.rotation.T @ motion.position]), motion.rotation

    def _position_and_angles(self, port: str, q: Any, sequence: str) -> Array:
        """Return a port's position (3) in the inertial frame and its Euler angles (3)."""
        rotation, position = self.pose(port, q)
        angles = euler_angles(rotation, sequence)
        warn_of_gimbal_lock(port, angles, sequence)
        return np.concatenate([position, angles])

    @rowwise
    def accelerometer(self, port: str, q: Any, v: Any, a: Any) -> Array:
        """Return the specific force (3, m/s^2) that an accelerometer at a port reads, in the port's frame."""
        motion = self.port_motion(self._read_port(port), self._read_q(q), self._read_v("v", v), self._read_v("a", a))
        return motion.acceleration[:3] + cross(motion.twist[3:], motion.twist[:3])

    @rowwise
    def reaction(
        self,
        joint: str,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
    ) -> Array:
        """Return the wrench (6, N and N m) that a joint transmits to its child, at the child's port, in its frame.

        Of a closure or interaction, named instead of a joint, the wrench on its second port. What gears do to a joint is part
        of its wrench.

        Parameters
        ----------
        joint : str
        q, v, a : array_like (nq,), (nv,), (nv,)
        wrenches, u
            What acts when the accelerations are `a`.
        tau : array_like (nv,), optional
            The applied efforts, which matter with rigid closures only: these carry the rest. By default the efforts of least
            norm, which are zero where none act.
        """
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        closure = self._read_joint_or_closure(joint)
        pushes, at_closures = self.external_pushes(wrenches, u), {}
        if self.is_constrained:
            own = closed_dynamics.closure_pushes(self, q, self._carried(q, v, a, pushes, u, tau))
            pushes += own
            at_closures = {loop.closure.name: own[2 * k + 1].wrench for k, loop in enumerate(self.rigid_loops)}
        if closure is None:
            return self._joint_wrench(joint, q, v, a, pushes)
        if joint in at_closures:
            return at_closures[joint]
        given = acting_inputs(pushes).get(joint)
        at_second: Array = closure.closure.act(target_motion(self, closure, q, v, given))[0][1]
        return at_second

    @rowwise
    def gear_effort(
        self,
        gear: str,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
    ) -> float:
        """Return the effort (N m or N) of a gear on its driven coordinate; minus the ratio times it acts on the driver.

        Parameters
        ----------
        gear : str
        q, v, a, wrenches, u, tau
            As in `reaction`.
        """
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        names = [constraint.gear.name for constraint in self.gear_constraints]
        if gear not in names:
            raise ModelError(Finding("unknown-gear", "gear", gear, "a gear of the model", did_you_mean(str(gear), names)))
        carried = self._carried(q, v, a, self.external_pushes(wrenches, u), u, tau)
        return float(carried[len(carried) - len(names) + names.index(gear)])

    def _carried(self, q: Array, v: Array, a: Array, pushes: list[Push], u: Any, tau: Any) -> Array:
        """Return the multipliers (k) of all constraints."""
        applied = None if tau is None else self._read_v("tau", tau) + self.motor_efforts(u)
        return closed_dynamics.multipliers(self, q, v, a, pushes, applied)[0]

    def _read_joint_or_closure(self, name: str) -> Loop | None:
        """Return the loop of a closure's name, None for a joint's."""
        loops = {loop.closure.name: loop for loop in (*self.rigid_loops, *self.interactions) if len(loop.ports) > 1}
        if not isinstance(name, str) or name not in (*self.joint_names, *loops):
            known, what = (*self.joint_names, *loops), "a joint" + (" or closure" if loops else "") + " of the model"
            raise ModelError(Finding("unknown-joint", "joint", name, what, did_you_mean(name, known)))
        return loops.get(name)

    @abstractmethod
    def _joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the wrench that a joint transmits to its child, with all that acts given as pushes."""

    @abstractmethod
    def energy(self, q: Any, v: Any) -> Energy:
        """Return kinetic, gravity and elastic energy (J), the last with what blocks say is stored around them."""

    @abstractmethod
    def momentum(self, q: Any, v: Any) -> Array:
        """Return linear and angular momentum (6) about the inertial origin, in inertial axes (N s, N m s)."""

    @rowwise
    def momentum_matrix(self, q: Any) -> Array:
        """Return the matrix (6, nv) from v to `momentum` (N s, N m s a unit of v).

        Moved to the centre of mass, it is the centroidal momentum matrix (Orin and Goswami, IROS 2008).
        """
        q = self._read_q(q)
        return np.array([self.momentum(q, rate) for rate in np.eye(self.nv)]).reshape(self.nv, 6).T

    @abstractmethod
    def center_of_mass(self, q: Any) -> Array:
        """Return the centre of mass (3, m) in the inertial frame: of inertia, whatever weighs how much (`Block.weight`)."""

    # -- parameters ----------------------------------------------------------------------------------------------------

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """Return a model of the same structure with some parameters changed.

        What the changed values make suspicious gives a `ModelWarning`, as when a system is resolved.

        Raises
        ------
        ModelError
            For unknown names and values that a block refuses.
        """
        model, findings = self.changed(values)
        warn(findings)
        return model

    def with_inertial_parameters(self, numbers: Any) -> Self:
        """Return a model of the same structure with other `inertial_parameters`.

        Parameters
        ----------
        numbers : array_like, as many as `inertial_parameter_names`

        Raises
        ------
        ModelError
            For numbers that no rigid body has: negative masses or inertias, first moments without mass.
        """
        numbers = read_state("numbers", numbers, self.inertial_parameter_names)
        values: dict[str, float] = {}
        for body, own in zip(self.inertial_bodies, numbers.reshape(-1, len(NAMES)), strict=True):
            values |= {f"{body}.{name}": float(x) for name, x in zip(OWN_NAMES, own_numbers(body, own), strict=True)}
        return self.with_parameters(values)

    @abstractmethod
    def changed(self, values: Mapping[str, float]) -> tuple[Self, list[Finding]]:
        """Return the model `with_parameters`, and what is suspicious about it, for callers that warn once of many."""

    def check_inertia(self) -> list[Finding]:
        """Refuse a model in which a joint moves no inertia at the neutral and at another configuration.

        Returns
        -------
        list of Finding
            What is suspicious: no inertia at the neutral configuration only, or much lost to rounding.

        Raises
        ------
        ModelError
            Naming the joint.
        """
        findings, doubtful = [], self._doubtful_pivots()
        if not doubtful:
            return []
        try:
            self._dynamics_at_rest(self._at_rest[0])
        except ModelError as error:
            self._dynamics_at_rest(self._elsewhere)
            advice = "start elsewhere; forward dynamics fails there"
            value = "no inertia at the neutral configuration"
            findings.append(Finding("singular-neutral", error.where, value, "inertia to move", advice))
        return findings + conditioning_findings([conditioning(pivots, self.coordinate_names) for pivots in doubtful])

    def _dynamics_at_rest(self, q: Array) -> Array:
        """Return the accelerations of the tree at rest."""
        return (self._open_dynamics if self.is_constrained else self.forward_dynamics)(q, *self._at_rest[1:])

    def _doubtful_pivots(self) -> list[Pivots]:
        """Return the pivots at those of the neutral and another configuration where elimination may lose much."""
        return [self.pivots(q) for q in (self._at_rest[0], self._elsewhere)]

    # -- for the engines -----------------------------------------------------------------------------------------------

    @cached_property
    def _elsewhere(self) -> Array:
        """A configuration in no special position, displacements of joints in units of the system's size."""
        step = self._apart(self.neutral(), self.random_configuration(np.random.default_rng(0)))
        of_joints = np.zeros(self.nv, dtype=bool)
        for connection in self._assembly.connections:
            of_joints[self._assembly.v_slices.get(connection.joint.name, slice(0, 0))] = True
        step[of_joints] *= self.coordinate_weights[of_joints]
        return self._moved(self.neutral(), step)

    @cached_property
    def _at_rest(self) -> tuple[Array, Array, Array]:
        return self.neutral(), np.zeros(self.nv), np.zeros(self.nv)

    @staticmethod
    def _check_mass(mass: Any) -> None:
        """Refuse a system without mass."""
        if not mass.real > 0:
            raise ModelError(Finding("massless", "center_of_mass", mass, "a system with mass", "give a body a mass"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.body_names)} bodies, nq={self.nq}, nv={self.nv})"
