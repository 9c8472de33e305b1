"""The frozen model that users compute with; its two engines are `reference` and `compiled`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from titop.blocks.closure import relative_pose
from titop.blocks.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.spatial import Array, skew
from titop.graph.system import Loop
from titop.solvers.arguments import check_stacks, coordinate_mask, read_wrenches, store
from titop.solvers.derivatives import HybridDerivatives, hybrid_derivatives
from titop.solvers.inputs import Inputs, Push
from titop.solvers.loops import closed_dynamics, loop_derivatives
from titop.solvers.loops.closed_loops import ClosedLoops
from titop.solvers.outputs import read_sensor, sensor_units
from titop.solvers.sensitivities import Sensitivities

if TYPE_CHECKING:
    from control import NonlinearIOSystem
    from titop.solvers.equilibrium.operating_point import OperatingPoint


class Energy(NamedTuple):
    """Energy of a system (J); `elastic` is that of springs, compliant closures and deformable bodies."""

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


class PortMotion(NamedTuple):
    """Motion of a port: `rotation` and `position` in the inertial frame, `twist` and `acceleration` in the port's.

    `acceleration` is the spatial acceleration less gravity's, ``A - G``.
    """

    rotation: Array
    position: Array
    twist: Array
    acceleration: Array


class MotionDerivatives(NamedTuple):
    """Derivatives (6, nv) of a port's motion, in its own frame.

    `jacobian` maps a change of q to the small twist by which the port moves; it is also dV/dv and dA/da.
    """

    jacobian: Array
    dV_dq: Array
    dA_dq: Array
    dA_dv: Array


class Model(ClosedLoops, ABC):
    """A resolved system: frozen, usable from several threads.

    States are ``q`` (nq), ``v``, ``a`` and ``tau`` (nv), in the order of the ``connect`` calls. Functions of a state
    raise `ModelError` for wrong lengths, non-finite entries and quaternions that are not unit.

    Made by `System.resolve`. Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv);
    `port` ``"body.port"``, or ``"body"`` for the reference frame; `joint` a joint's name; `wrenches` external wrenches (6)
    on bodies by port name, in the port's frame; `values` numbers by name; `rng` a NumPy random generator; `out` where to
    put the result; `u` the actuators' inputs (nu, or by name).
    """

    #: Of the parameters; complex in complex steps.
    _dtype: type = float

    # -- dynamics ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> Array:
        """Return the accelerations ``a`` (nv) that the efforts cause. Linear cost in the number of blocks.

        With rigid closures, together with the least multipliers that keep the loops closed; the cost then grows with the
        coordinates on the paths between them and with the square of the number of constraints.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the result is then stacked too. No `tau` stands for zero.
        wrenches : mapping of port name to (6,), optional
            External wrenches on bodies, in the port's frame.
        out : (nv,) float array, optional
            Where to put the result, for callers in a loop.
        u : array_like (nu,) or mapping of input name to number, optional
            Inputs of the actuators, beside `tau`; zero by default.

        Raises
        ------
        ModelError
            For unusable arguments, for a joint that moves no inertia at `q`, and where the closures are singular.
        """

    @abstractmethod
    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
    ) -> Array:
        """Return the applied efforts ``tau`` (nv) that cause the accelerations `a`, beside the inputs `u`.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three.
        wrenches, out, u
            As `forward_dynamics`.
        actuated : sequence of str, optional
            Names of coordinates, or of joints and blocks for all of theirs: efforts act on these alone. All of them by default.
            Where rigid closures leave a choice, the efforts are those of least norm.

        Raises
        ------
        ModelError
            For unusable arguments; for accelerations that would open the loops, or that need efforts on coordinates that are
            not actuated.
        """

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> tuple[Array, Array]:
        """Return all accelerations and all efforts, from the motion of some joints and the efforts of the others.

        Rigid closures carry what keeps the loops closed; where they leave a choice, the efforts are those of least norm.

        Parameters
        ----------
        q, v : array_like (nq,), (nv,)
        tau : array_like (nv,)
            Read where the motion is free.
        a : array_like (nv,)
            Read where the motion is prescribed.
        prescribed : sequence of str
            Names of joints, of blocks with own coordinates, or of single coordinates.
        wrenches : mapping of port name to (6,), optional
        u : array_like (nu,) or mapping of input name to number, optional

        Returns
        -------
        a, tau : (nv,) arrays

        Raises
        ------
        ModelError
            For unusable arguments, unknown names, a coordinate prescribed twice, and prescribed accelerations that would open
            the loops.
        """
        mask = coordinate_mask(prescribed, self.coordinate_names, self._assembly.v_slices)
        return self.masked_dynamics(q, v, tau, a, mask, wrenches, u)

    def masked_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        mask: Array,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        held_rank: int | None = None,
    ) -> tuple[Array, Array]:
        """Return `hybrid_dynamics`, the motion prescribed where `mask` (nv) is true.

        With a `held_rank`, the number of constraints that stay independent, states need not be quite closed.
        """
        q, v, tau, a = self._read_q(q), self._read_v("v", v), self._read_v("tau", tau), self._read_v("a", a)
        motors, pushes = self.motor_efforts(u), self.external_pushes(wrenches, u)
        if self.is_constrained:
            a, tau = closed_dynamics.hybrid(self, q, v, tau + motors, a, mask, pushes, held_rank)
        else:
            a, tau = self.tree_hybrid(q, v, tau + motors, a, mask, pushes)
        return a, tau - motors

    # -- derivatives ---------------------------------------------------------------------------------------------------

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of inverse dynamics by q, v and a, exact to rounding.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the results are then stacked too.
        wrenches : mapping of port name to (6,), optional
        out : (3, nv, nv) float array, optional
            Where to put the results, for callers in a loop.
        u : array_like (nu,) or mapping of input name to number, optional
        actuated : sequence of str, optional
            With rigid closures: the coordinates that have efforts, as in `inverse_dynamics`.

        Returns
        -------
        dtau_dq, dtau_dv, dtau_da : (nv, nv) arrays
            Column j of the first is the derivative along ``integrate(q, e_j)``; without rigid closures the last is the mass
            matrix. With them, changes of the state that keep the loops closed make sense only.

        Notes
        -----
        The graph is resolved over linearised blocks. Costs a product of six numbers for each pair of coordinates on one path
        to the world (after Singh, Russell and Wensing, 2022). A block that is differentiated by differences, because its
        functions do not accept complex numbers, brings their error (near 1e-10).
        """
        motors, mask = self.motor_efforts(u), self._actuated(actuated)

        def slopes(q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
            return self._inverse_derivatives(q, v, a, pushes, motors, mask)

        return self._stacked(slopes, q, v, "a", a, self.external_pushes(wrenches, u), 0.0, out)

    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> tuple[Array, Array, Array]:
        """Return the derivatives of forward dynamics by q, v and tau, exact to rounding.

        Arguments as `inverse_dynamics_derivatives`; no `tau` stands for zero.

        Returns
        -------
        da_dq, da_dv, da_dtau : (nv, nv) arrays
            The last is the inverse of the mass matrix.
        """
        tau = np.zeros(np.shape(v)) if tau is None else tau
        motors = self.motor_efforts(u)
        return self._stacked(self._forward_derivatives, q, v, "tau", tau, self.external_pushes(wrenches, u), motors, out)

    def hybrid_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics by q, v, the imposed efforts and the prescribed accelerations.

        Parameters
        ----------
        q, v, tau, a, wrenches, u
            As in `hybrid_dynamics`.
        prescribed : sequence of str
            Names of joints, of blocks with own coordinates, or of single coordinates.

        Returns
        -------
        HybridDerivatives
        """
        mask = coordinate_mask(prescribed, self.coordinate_names, self._assembly.v_slices)
        q, v, tau, a = self._read_q(q), self._read_v("v", v), self._read_v("tau", tau), self._read_v("a", a)
        return self._hybrid_derivatives(q, v, tau + self.motor_efforts(u), a, mask, self.external_pushes(wrenches, u))

    def motion_derivatives(self, port: str, q: Any, v: Any, a: Any) -> MotionDerivatives:
        """Return how a port's twist and spatial acceleration, in its own frame, change with q, v and a.

        Parameters
        ----------
        port : str
        q, v, a : array_like (nq,), (nv,), (nv,)

        Returns
        -------
        MotionDerivatives
        """
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        port = self._read_port(port)
        S, twist_by_q, by_q, by_v = self.motion_slopes([port], q, v, a)[0]
        gravity = self.pose(port, q)[0].T @ self.gravity
        by_q = by_q.copy()
        by_q[:3] += skew(gravity) @ S[3:]
        return MotionDerivatives(S, twist_by_q, by_q, by_v)

    def inverse_dynamics_sensitivities(
        self, q: Any, v: Any, a: Any, names: Iterable[str], wrenches: Mapping[str, Any] | None = None, u: Any = None
    ) -> dict[str, Array]:
        """Return the derivatives of inverse dynamics by parameters, inputs and wrenches on ports, exact to rounding.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
        names : iterable of str
            Of parameters such as ``"slider.mass"``, of inputs, and of ports such as ``"hub.C"``.
        wrenches : mapping of port name to (6,), optional
        u : array_like (nu,) or mapping of input name to number, optional

        Returns
        -------
        dict of str to array
            By name: (nv,) arrays for parameters and inputs, (nv, 6) arrays for wrenches on ports, in the port's frame.

        Raises
        ------
        ModelError
            For unknown names and unusable states.
        """
        state = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        return Sensitivities(self, names).of_efforts(*state, wrenches, u)

    def forward_dynamics_sensitivities(
        self, q: Any, v: Any, tau: Any, names: Iterable[str], wrenches: Mapping[str, Any] | None = None, u: Any = None
    ) -> dict[str, Array]:
        """Return the derivatives of forward dynamics by parameters, inputs and wrenches on ports, exact to rounding.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
        names, wrenches, u
            As in `inverse_dynamics_sensitivities`.

        Returns
        -------
        dict of str to array
        """
        q, v, tau = self._read_q(q), self._read_v("v", v), self._read_v("tau", tau)
        return Sensitivities(self, names).of_accelerations(q, v, tau, wrenches, u)

    def _linear_matrices(self, q: Any, v: Any, tau: Any, wrenches: Any = None, u: Any = None) -> tuple[Array, Array, Array]:
        """Return accelerations, A (2nv, 2nv) and B (2nv, nv) of the linearisation by q, v and tau; see `linear_matrices`."""
        n = self.nv
        a = self.forward_dynamics(q, v, tau, wrenches, u=u)
        by_q, by_v, by_tau = self.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)
        A = np.block([[-self._bracket(self._read_v("v", v)), np.eye(n)], [by_q, by_v]])
        return a, A, np.vstack([np.zeros((n, n)), by_tau])

    def _stacked(
        self, function: Any, q: Any, v: Any, name: str, x: Any, pushes: list[Push], motors: Any, out: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return a (3, nv, nv) function of single states, stacked if the states are."""
        q, v, x = self._read_q(q, stacked=True), self._read_v("v", v, True), self._read_v(name, x, True) + motors
        check_stacks({"q": q, "v": v, name: x})
        if q.ndim == 1:
            result = function(q, v, x, pushes)
        else:
            rows = [function(*row, pushes) for row in zip(q, v, x, strict=True)]
            result = np.moveaxis(np.array(rows).reshape(len(q), 3, self.nv, self.nv), 1, 0)
        by_q, by_v, by_x = store(result, out)
        return by_q, by_v, by_x

    # -- terms of the equations of motion ------------------------------------------------------------------------------

    @abstractmethod
    def mass_matrix(self, q: Any) -> Array:
        """Return the mass matrix (nv, nv), of the tree: as if no loop were closed."""

    def nonlinear_effects(self, q: Any, v: Any) -> Array:
        """Return Coriolis, centrifugal and gravity terms (nv): ``C v`` plus gravity, without passive efforts and loads."""
        return self._bare_inverse_dynamics(self._read_q(q), self._read_v("v", v))

    def gravity_effects(self, q: Any) -> Array:
        """Return gravity's part (nv) of the nonlinear effects."""
        return self._bare_inverse_dynamics(self._read_q(q), np.zeros(self.nv))

    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        """Return the Coriolis matrix (nv, nv) for which ``dM/dt - 2 C`` is skew.

        ``C = (dh/dv + M blkdiag(ad v, w x, 0)) / 2``; the inertial terms h are quadratic in v, so that differences
        give dh/dv to rounding. Costs 2 nv inverse dynamics.
        """
        q, v = self._read_q(q), self._read_v("v", v)
        resting = self._bare_inverse_dynamics(q, np.zeros(self.nv))
        base = self._bare_inverse_dynamics(q, v)
        step = max(1.0, float(np.abs(v).max(initial=0.0)))
        coriolis = self.mass_matrix(q) @ self._bracket(v)
        for j, direction in enumerate(step * np.eye(self.nv)):
            pushed, alone = self._bare_inverse_dynamics(q, v + direction), self._bare_inverse_dynamics(q, direction)
            coriolis[:, j] += (pushed - base - (alone - resting)) / step
        return 0.5 * coriolis

    def passive_efforts(self, q: Any, v: Any) -> Array:
        """Return the efforts (nv) of springs, dampers, elasticity and compliant closures."""
        q, v = self._read_q(q), self._read_v("v", v)
        efforts = self._own_passive_efforts(q, v)
        for port, _, wrench in self.compliant_pushes(q, v):
            efforts = efforts + self.jacobian(port, q).T @ wrench
        return efforts

    def _own_passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) of the blocks' own springs, dampers and elasticity."""
        return self._blockwise(
            lambda block: block.passive_efforts(q[self._q(block)], v[self._v(block)]),
            self.nv,
            np.result_type(q, v, self._dtype),
        )

    # -- inputs and outputs --------------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> Inputs:
        """The actuators' inputs: names, units, ranges."""
        return Inputs(self.assembly)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs ``u``."""
        return self.inputs.names

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs.names)

    def actuation_matrix(self, q: Any) -> Array:
        """Return the efforts on the coordinates a unit of each input (nv, nu)."""
        return self.inputs.matrix(self, self._read_q(q))

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the sensors' outputs."""
        return tuple(name for sensor in self._assembly.sensors for name in sensor.output_names)

    @cached_property
    def output_units(self) -> tuple[str, ...]:
        """Units of the sensors' outputs."""
        return tuple(unit for sensor in self._assembly.sensors for unit in sensor_units(self, sensor))

    def outputs(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, tau: Any = None
    ) -> Array:
        """Return what the sensors read, in the order of `output_names`.

        Give the `wrenches` and inputs `u` that act when the accelerations are `a`: reactions depend on them, and with rigid
        closures on the efforts `tau` (see `reaction`).
        """
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        parts = [read_sensor(self, sensor, q, v, a, wrenches, u, tau) for sensor in self.assembly.sensors]
        return np.concatenate(parts) if parts else np.zeros(0)

    def to_nlsys(self, inputs: Any, outputs: Any = None, point: OperatingPoint | None = None) -> NonlinearIOSystem:
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
            neutral, and nothing.

        Returns
        -------
        control.NonlinearIOSystem
            Its `linearize` is exact, also through ``control.linearize``; ``params`` takes parameters by name, such as
            ``{"slider.mass": 2.0}``; `signal_table` gives paths and units.

        Raises
        ------
        ModelError
            For unknown names.
        """
        from titop.solvers.linear.nlsys import nonlinear_system

        return nonlinear_system(self, inputs, outputs, point)

    # -- motion of ports and bodies ------------------------------------------------------------------------------------

    def pose(self, port: str, q: Any) -> tuple[Array, Array]:
        """Return rotation (3x3, port to inertial) and position (3, m) of a port in the inertial frame."""
        motion = self.port_motion(self._read_port(port), self._read_q(q), np.zeros(self.nv), np.zeros(self.nv))
        return motion.rotation, motion.position

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
            Spatial acceleration (6), twist (6) and position from the inertial origin (3, m), in the port's frame;
            Euler angles (3, rad). At a gimbal lock the third angle is zero.
        """
        motion = self.port_motion(self._read_port(port), self._read_q(q), self._read_v("v", v), self._read_v("a", a))
        acceleration = motion.acceleration.copy()
        acceleration[:3] += motion.rotation.T @ self.gravity
        return np.concatenate(
            [acceleration, motion.twist, motion.rotation.T @ motion.position, euler_angles(motion.rotation, sequence)]
        )

    def accelerometer(self, port: str, q: Any, v: Any, a: Any) -> Array:
        """Return the specific force (3, m/s^2) that an accelerometer at a port reads, in the port's frame."""
        motion = self.port_motion(self._read_port(port), self._read_q(q), self._read_v("v", v), self._read_v("a", a))
        return motion.acceleration[:3] + np.cross(motion.twist[3:], motion.twist[:3])

    @abstractmethod
    def jacobian(self, port: str, q: Any) -> Array:
        """Return the 6 x nv matrix that maps v to the port's twist, in the port's frame."""

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
        """Return the wrench (6) that a joint transmits to its child, at the child's port, in its frame.

        Of a closure, named instead of a joint, the wrench on its second port.

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
            applied = None if tau is None else self._read_v("tau", tau) + self.motor_efforts(u)
            carried, _ = closed_dynamics.multipliers(self, q, v, a, pushes, applied)
            own = closed_dynamics.closure_pushes(self, q, carried)
            pushes += own
            at_closures = {loop.closure.name: own[2 * k + 1].wrench for k, loop in enumerate(self.rigid_loops)}
        if closure is None:
            return self._joint_wrench(joint, q, v, a, pushes)
        if joint in at_closures:
            return at_closures[joint]
        at_second: Array = closure.closure.wrenches(*self._relative_motion(closure, q, v))[1]
        return at_second

    def _read_joint_or_closure(self, name: str) -> Loop | None:
        """Return the loop of a closure's name, None for a joint's."""
        loops = {loop.closure.name: loop for loop in (*self.rigid_loops, *self.compliant_loops)}
        if not isinstance(name, str) or name not in (*self.joint_names, *loops):
            known, what = (*self.joint_names, *loops), "a joint" + (" or closure" if loops else "") + " of the model"
            raise ModelError(Finding("unknown-joint", "joint", name, what, did_you_mean(name, known)))
        return loops.get(name)

    @abstractmethod
    def _joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the wrench that a joint transmits to its child, with all that acts given as pushes."""

    def relative_pose(self, loop: Loop, q: Array) -> tuple[Array, Array]:
        return self._relative_motion(loop, q, np.zeros(self.nv))[:2]

    def _relative_motion(self, loop: Loop, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return the relative pose of a loop's ports, and both twists."""
        one, two = (self.port_motion(str(ref), q, v, np.zeros(self.nv)) for ref in (loop.first, loop.second))
        return *relative_pose((one.rotation, one.position), (two.rotation, two.position)), one.twist, two.twist

    def compliant_pushes(self, q: Array, v: Array) -> list[Push]:
        """Return what the compliant closures do to their ports at a state."""
        pushes = []
        for loop in self.compliant_loops:
            at_1, at_2 = loop.closure.wrenches(*self._relative_motion(loop, q, v))
            pushes += [Push(str(loop.first), False, at_1), Push(str(loop.second), False, at_2)]
        return pushes

    @abstractmethod
    def energy(self, q: Any, v: Any) -> Energy:
        """Return kinetic, gravity and elastic energy (J)."""

    @abstractmethod
    def momentum(self, q: Any, v: Any) -> Array:
        """Return linear and angular momentum (6) about the inertial origin, in inertial axes (N s, N m s)."""

    @abstractmethod
    def center_of_mass(self, q: Any) -> Array:
        """Return the centre of mass (3, m) in the inertial frame."""

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def gravity(self) -> Array:
        """Gravity (3, m/s^2) in inertial components."""

    @abstractmethod
    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return every number of every block by dotted name, with its unit."""

    @abstractmethod
    def with_parameters(self, values: Mapping[str, float]) -> Model:
        """Return a model of the same structure with some parameters changed.

        Raises
        ------
        ModelError
            For unknown names and values that a block refuses.
        """

    def check_inertia(self) -> None:
        """Refuse a model in which a joint moves no inertia at the neutral and at another configuration.

        Raises
        ------
        ModelError
            Naming the joint. If only the neutral configuration is singular, a `ModelWarning` says so.
        """
        dynamics = self._open_dynamics if self.is_constrained else self.forward_dynamics
        try:
            dynamics(*self._at_rest)
        except ModelError as error:
            q = self.random_configuration(np.random.default_rng(0))
            dynamics(q, *self._at_rest[1:])
            advice = "start elsewhere; forward dynamics fails there"
            warn(
                [Finding("singular-neutral", error.where, "no inertia at the neutral configuration", "inertia to move", advice)]
            )

    def _open_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations of the tree, no loop closed."""
        return self.tree_hybrid(q, v, tau, np.zeros(self.nv), np.zeros(self.nv, dtype=bool), [])[0]

    def _actuated(self, names: Sequence[str] | None) -> Array | None:
        """Return a mask (nv) of the actuated coordinates; None where every motion is possible without looking."""
        if names is None:
            return np.ones(self.nv, dtype=bool) if self.is_constrained else None
        return self._chosen("actuated", names)

    @cached_property
    def _at_rest(self) -> tuple[Array, Array, Array]:
        return self.neutral(), np.zeros(self.nv), np.zeros(self.nv)

    # -- for the engines -----------------------------------------------------------------------------------------------

    @abstractmethod
    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        """Return accelerations `a` and efforts `tau`, the motion imposed where `mask` is true, as if no loop were closed.

        `pushes` are the wrenches that act from outside.
        """

    @abstractmethod
    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the efforts (nv) that cause the accelerations `a` beside the `pushes`, as if no loop were closed."""

    @abstractmethod
    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        """Return the accelerations (nv x m) a unit of each column of `efforts`, none where the motion is imposed (`mask`)."""

    @abstractmethod
    def tree_inverse_derivatives(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return derivatives (3, nv, nv) of `tree_inverse` by q, v and a; `pushes` are the wrenches that act from outside."""

    @abstractmethod
    def motion_slopes(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[Array]:
        """Return for each of the `ports` S, dV/dq, dA/dq and dA/dv (4, 6, nv), A less gravity's."""

    def _inverse_derivatives(
        self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
    ) -> Array:
        """Return derivatives (3, nv, nv) of inverse dynamics by q, v and a."""
        if not self.assembly.loops:
            return self.tree_inverse_derivatives(q, v, a, pushes)
        if actuated is None:
            return loop_derivatives.inverse_derivatives(self, q, v, a, pushes, np.zeros(0))
        tau = closed_dynamics.inverse(self, q, v, a, pushes, motors, actuated)
        if not self.is_constrained:
            return loop_derivatives.inverse_derivatives(self, q, v, a, pushes, np.zeros(0))
        return loop_derivatives.actuated_derivatives(self, q, v, a, pushes, actuated, motors, tau)

    def _forward_derivatives(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        """Return derivatives (3, nv, nv) of forward dynamics by q, v and tau."""
        free = np.zeros(self.nv, dtype=bool)
        slopes = self._hybrid_derivatives(q, v, tau, np.zeros(self.nv), free, pushes)
        return np.array([slopes.da_dq, slopes.da_dv, slopes.da_dtau])

    def _hybrid_derivatives(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]
    ) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics."""
        if not self.is_constrained:
            a, _ = self.tree_hybrid(q, v, tau, a, mask, pushes)
            return hybrid_derivatives(self._inverse_derivatives(q, v, a, pushes, 0.0, None), mask)
        a, tau = closed_dynamics.hybrid(self, q, v, tau, a, mask, pushes)
        slopes = loop_derivatives.closed_slopes(self, q, v, a, tau, pushes, mask)
        return hybrid_derivatives(slopes.efforts, mask, (slopes.jacobian, slopes.by_q, slopes.by_v))

    @abstractmethod
    def _bare_inverse_dynamics(self, q: Array, v: Array) -> Array:
        """Return inverse dynamics at zero acceleration without passive efforts and loads."""

    @abstractmethod
    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        """Return pose, twist and acceleration of a port."""

    @staticmethod
    def _center(moment: Array, mass: Any) -> Array:
        if not np.real(mass) > 0:
            raise ModelError(Finding("massless", "center_of_mass", mass, "a system with mass", "give a body a mass"))
        return moment / mass

    def motor_efforts(self, u: Any) -> Any:
        """Return what the motors' inputs among `u` do to the coordinates (nv)."""
        return 0.0 if u is None else self.inputs.motors @ self.inputs.read(u)

    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]:
        """Return the external `wrenches` and what the inputs `u` do to ports."""
        pushes = [Push(port, False, wrench) for port, wrench in self._read_wrenches(wrenches).items()]
        return pushes if u is None else pushes + self.inputs.pushes(self.inputs.read(u))

    def _read_wrenches(self, wrenches: Mapping[str, Any] | None) -> dict[str, Array]:
        return {} if wrenches is None else read_wrenches(wrenches, self.ports)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.body_names)} bodies, nq={self.nq}, nv={self.nv})"


def euler_angles(rotation: Array, sequence: str) -> Array:
    """Return the intrinsic Euler angles (3, rad) of a rotation matrix.

    Raises
    ------
    ModelError
        If the sequence is not three capital axes, neighbours different.
    """
    if (
        not isinstance(sequence, str)
        or len(sequence) != 3
        or set(sequence) - set("XYZ")
        or sequence[0] == sequence[1]
        or sequence[1] == sequence[2]
    ):
        raise ModelError(
            Finding(
                "bad-sequence",
                "sequence",
                sequence,
                "three axes such as 'XYZ' or 'ZXZ'",
                "use capital letters, neighbours different",
            )
        )
    import warnings

    from scipy.spatial.transform import Rotation

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Gimbal lock", category=UserWarning)
        return Rotation.from_matrix(rotation).as_euler(sequence)
