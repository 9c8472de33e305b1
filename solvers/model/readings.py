"""What is read of a model's states: motion vectors, reactions, energy, momentum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.contract.block import PortRef
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import is_world
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.interaction_loads import stated_motions, target_motion
from titop.solvers.mechanism.euler_angles import euler_angles, warn_of_gimbal_lock
from titop.solvers.mechanism.fast_path import DONE, UNREADY, of_state, with_care
from titop.solvers.mechanism.inputs import Push, acting_inputs
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.model.kinematics import PortKinematics, turned


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


class Readings(PortKinematics):
    """What is read of a model's states.

    Arguments of the methods: `q` a configuration (nq); `v`, `a` and `tau` vectors (nv); `wrenches` external wrenches (6) on
    bodies by port name, in the port's frame; `u` the inputs of actuators and blocks (nu, or by name); `x` states of the first
    order likewise. Stacked states along a leading axis give stacked results.
    """

    def motion(self, port: str, q: Any, v: Any, a: Any, sequence: str = "XYZ", frame: str = "port") -> Array:
        """Return a port's motion vector (18) of key A: ``[dV; V; r; Theta]``.

        Parameters
        ----------
        port : str
            ``"body.port"``, or ``"body"`` for the reference frame.
        q, v, a : array_like (nq,), (nv,), (nv,)
        sequence : str
            Axes of the intrinsic Euler angles, such as ``"XYZ"`` or ``"ZXZ"``.
        frame : {"port", "world"}
            Whether all but the angles come in the axes of the port or of the inertial frame.

        Returns
        -------
        (18,) array
            Spatial acceleration (6, m/s^2 and rad/s^2), twist (6, m/s and rad/s) and position from the inertial origin (3, m),
            in these axes; Euler angles (3, rad). Within 0.1 degree of a gimbal lock a `ModelWarning` says so: first and
            third angle are all but undetermined; in the lock the third is zero.
        """
        if not (type(frame) is str and frame == "port") and is_world(frame):
            found = self.motion(port, q, v, a, sequence)
            return np.concatenate([turned(self.pose(port, q)[0], found[..., :15]), found[..., 15:]], axis=-1)
        readings = self._calls.readings
        if readings is not None:
            result: Array = readings.motions[str(port), str(sequence)].read(q, v, a)
            return result
        return self._motion(port, q, v, a, sequence)

    @rowwise
    def _motion(self, port: str, q: Any, v: Any, a: Any, sequence: str) -> Array:
        motion, rotation = self.turning_motion(port, q, v, a)
        angles = euler_angles(rotation, sequence)
        warn_of_gimbal_lock(port, angles, sequence)
        return np.concatenate([motion, angles])

    def _motion_at(self, port: str, q: Any, v: Any, a: Any) -> PortMotion:
        read = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        return self.engine.observations.port_motion(self.read_port(port), *read)

    def turning_motion(self, port: str, q: Any, v: Any, a: Any) -> tuple[Array, Array]:
        """Return the motion vector (15; m, rad, s) of a `port` without Euler angles, and its rotation (3x3)."""
        motion = self._motion_at(port, q, v, a)
        acceleration = motion.acceleration.copy()
        acceleration[:3] += motion.rotation.T @ self.gravity
        return np.concatenate([acceleration, motion.twist, motion.rotation.T @ motion.position]), motion.rotation

    def position_and_angles(self, port: str, q: Any, sequence: str) -> Array:
        """Return the position (3, m) of a `port` in the inertial frame, and its Euler angles (3, rad) of a `sequence`."""
        rotation, position, *_ = self._motion_at(port, q, self._stills[1][0], self._stills[1][0])
        angles = euler_angles(rotation, sequence)
        warn_of_gimbal_lock(port, angles, sequence)
        return np.concatenate([position, angles])

    def accelerometer(self, port: str, q: Any, v: Any, a: Any, frame: str = "port") -> Array:
        """Return the specific force (3, m/s^2) that an accelerometer at a `port` reads.

        In the port's axes, or with `frame` ``"world"`` in inertial ones.
        """
        if not (type(frame) is str and frame == "port") and is_world(frame):
            return turned(self.pose(port, q)[0], self.accelerometer(port, q, v, a))
        readings = self._calls.readings
        if readings is not None:
            result: Array = readings.accelerometers[str(port)].read(q, v, a)
            return result
        return self._specific_force(port, q, v, a)

    @rowwise
    def _specific_force(self, port: str, q: Any, v: Any, a: Any) -> Array:
        motion = self._motion_at(port, q, v, a)
        return motion.acceleration[:3] + cross(motion.twist[3:], motion.twist[:3])

    def reaction(
        self,
        joint: str,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
        frame: str = "port",
        x: Any = None,
    ) -> Array:
        """Return the wrench (6, N and N m) that a joint transmits to its child, at the child's port, in its frame.

        Of a closure or interaction, named instead of a joint, the wrench on its second port. What gears do to a joint is part
        of its wrench.

        Parameters
        ----------
        joint : str
        q, v, a : array_like (nq,), (nv,), (nv,)
        wrenches, u, x
            What acts when the accelerations are `a`.
        tau : array_like (nv,), optional
            The applied efforts, which matter with rigid closures only: these carry the rest. By default the efforts of least
            norm, which are zero where none act.
        frame : {"port", "world"}
            Whether force and moment about the port's origin come in the axes of the port or of the inertial frame.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        if not (type(frame) is str and frame == "port") and is_world(frame):
            found = self.reaction(joint, q, v, a, wrenches, u, tau)
            return turned(self.pose(str(self._transmitting_port(joint)), q)[0], found)
        readings = self._calls.readings
        if readings is not None:
            result: Array = readings.reactions[str(joint)].read(q, v, a, wrenches, u, tau)
            return result
        return self._reaction(joint, q, v, a, wrenches, u, tau)

    @rowwise
    def _reaction(self, joint: str, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any) -> Array:
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        tau = None if tau is None else self._read_v("tau", tau)
        closure = self.read_joint_or_closure(joint)
        pushes, at_closures = self.external_pushes(wrenches, u), {}
        if self.is_constrained:
            own = closed_dynamics.closure_pushes(self, q, self.carried(q, v, a, pushes, u, tau))
            pushes += own
            at_closures = {loop.closure.name: own[2 * k + 1].wrench for k, loop in enumerate(self.rigid_loops)}
        if closure is None:
            return self.engine.observations.joint_wrench(joint, q, v, a, pushes)
        if joint in at_closures:
            return at_closures[joint]
        given = acting_inputs(pushes).get(joint)
        at_second: Array = closure.closure.act(target_motion(self, closure, q, v, given))[0][1]
        return at_second

    def gear_effort(
        self,
        gear: str,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
        tau: Any = None,
        x: Any = None,
    ) -> float:
        """Return the effort (N m or N) of a gear on its driven coordinate; minus the ratio times it acts on the driver.

        Parameters
        ----------
        gear : str
        q, v, a, wrenches, u, tau, x
            As in `reaction`.
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        readings = self._calls.readings
        if readings is not None:
            found = readings.gear_efforts[self._read_gear(gear)].read(q, v, a, wrenches, u, tau)[..., 0]
            return float(found) if found.ndim == 0 else found
        return self._gear_effort(gear, q, v, a, wrenches, u, tau)

    @rowwise
    def _gear_effort(self, gear: str, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any) -> float:
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        carried = self.carried(q, v, a, self.external_pushes(wrenches, u), u, tau)
        return float(carried[len(carried) - self.gear_count + self._read_gear(gear)])

    def _read_gear(self, gear: str) -> int:
        """Return the place of a gear among the gears."""
        names = [constraint.gear.name for constraint in self.gear_constraints]
        if gear not in names:
            raise ModelError(Finding("unknown-gear", "gear", gear, "a gear of the model", did_you_mean(str(gear), names)))
        return names.index(gear)

    def carried(self, q: Array, v: Array, a: Array, pushes: list[Push], u: Any, tau: Any) -> Array:
        """Return the multipliers (k, N and N m) of all constraints where `pushes` act."""
        applied = None if tau is None else self._read_v("tau", tau) + self.motor_efforts(u)
        return self.engine.observations.multipliers(q, v, a, pushes, applied)

    def read_joint_or_closure(self, name: str) -> Loop | None:
        """Return the loop of a closure's or interaction's `name`, None for a joint's."""
        loops = {loop.closure.name: loop for loop in (*self.rigid_loops, *self.interactions) if len(loop.ports) > 1}
        if not isinstance(name, str) or name not in (*self.joint_names, *loops):
            known, what = (*self.joint_names, *loops), "a joint" + (" or closure" if loops else "") + " of the model"
            raise ModelError(Finding("unknown-joint", "joint", name, what, did_you_mean(name, known)))
        return loops.get(name)

    def _transmitting_port(self, name: str) -> PortRef:
        """Return the port at which `reaction` gives the wrench of a joint, closure or interaction."""
        loop = self.read_joint_or_closure(name)
        return self._assembly.connections[self.joint_names.index(name)].child if loop is None else loop.second

    def energy(self, q: Any, v: Any, x: Any = None) -> Energy:
        """Return kinetic, gravity and elastic energy (J), the last with what blocks say is stored around them.

        With `x` the states of the first order, what interactions say is stored depends on these too.
        """
        if x is not None:
            bare, more = self.energy(q, v), self._stored_by_states(q, v, self.inputs.whole(None, x))
            return bare._replace(elastic=bare.elastic + more)
        kernel = self._calls.energies
        try:
            energies = np.empty(3)
            if kernel(q, v, energies) == DONE:
                return Energy(*energies.tolist())
        except UNREADY:
            pass
        found = with_care(self, kernel, lambda *state: np.array(self.engine.observations.energy(*state)), (q, v), (3,))
        return Energy(*(found if found.ndim == 1 else found.T.copy()))

    @rowwise
    def _stored_by_states(self, q: Any, v: Any, u: Any) -> Any:
        """Return what is stored in interactions beside what is with their states zero."""
        more: Any = 0.0
        for loop, motion in stated_motions(self, self._read_q(q), self._read_v("v", v), u):
            more = more + loop.closure.stored(motion) - loop.closure.stored(motion._replace(x=0.0 * motion.x))
        return more

    @of_state(6)
    def momentum(self, q: Any, v: Any) -> Array:
        """Return linear and angular momentum (6) about the inertial origin, in inertial axes (N s, N m s).

        With that of fluids which bodies move along, as if these were at rest but for them: Kirchhoff's impulse, in still fluid.
        """
        return self.engine.observations.momentum(q, v)

    @of_state(6, "nv")
    def momentum_matrix(self, q: Any) -> Array:
        """Return the matrix (6, nv) from v to `momentum` (N s, N m s a unit of v).

        Moved to the centre of mass, it is the centroidal momentum matrix (Orin and Goswami, IROS 2008).
        """
        columns = [self.engine.observations.momentum(q, rate) for rate in np.eye(self.nv)]
        return np.array(columns).reshape(self.nv, 6).T

    def center_of_mass(self, q: Any) -> Array:
        """Return the centre of mass (3, m) in the inertial frame: of inertia, whatever weighs how much (`Block.weight`).

        Without that of fluids which bodies move along (`Block.added_inertia`).

        Raises
        ------
        ModelError
            For a system without mass.
        """
        found = self.mass_center(q)
        mass = found[3] if found.ndim == 1 else found[:, 3].min(initial=np.inf)
        if not mass.real > 0:
            raise ModelError(Finding("massless", "center_of_mass", mass, "a system with mass", "give a body a mass"))
        return found[..., :3]

    @of_state(4)
    def mass_center(self, q: Any) -> Array:
        """Return the centre of mass (3, m) in the inertial frame, and the mass (kg)."""
        return self.engine.observations.mass_center(q)
