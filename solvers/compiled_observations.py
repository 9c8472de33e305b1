"""What is read of a compiled model's states: terms of its equations, poses and motion of ports, energy, momentum."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.applied import gravity_energy, has_weight, is_acted_on, weight_energy
from titop.blocks.inertial_parameters import NAMES
from titop.blocks.spatial import Array
from titop.blocks.surroundings import mass_and_moment
from titop.solvers.arguments import is_world
from titop.solvers.compiled_slopes import CompiledSlopes
from titop.solvers.dynamics import PortMotion
from titop.solvers.inputs import Push
from titop.solvers.kernels import entries, layout, observation_entries
from titop.solvers.model import Energy
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import PackedModel, real

#: The pose of a frame in itself.
_IDENTITY = np.concatenate([np.eye(3).ravel(), np.zeros(3)])


class PortFunctions:
    """The kernels for one port of a model, bound to the model's tables: `pose`, `jacobian`, `motion` and `acceleration`."""

    def __init__(self, model: PackedModel, port: str) -> None:
        element, place, frame = model._port_place(port)
        self._bind = lambda pair: partial(model._bound(pair), element, place, frame)

    @cached_property
    def pose(self) -> Any:
        return self._bind(observation_entries.port_pose)

    @cached_property
    def jacobian(self) -> Any:
        return self._bind(observation_entries.port_jacobian)

    @cached_property
    def motion(self) -> Any:
        return self._bind(observation_entries.port_motion)

    @cached_property
    def acceleration(self) -> Any:
        return self._bind(observation_entries.port_acceleration)


class PortKernels(dict[str, PortFunctions]):
    """The kernels for the ports of a model by port name, bound when they are first asked for."""

    def __init__(self, model: PackedModel) -> None:
        super().__init__()
        self._model = model

    def __missing__(self, port: str) -> PortFunctions:
        self[port] = functions = PortFunctions(self._model, port)
        return functions


class CompiledObservations(CompiledSlopes):
    """What is read of a compiled model's states; see `Model` for its functions."""

    @cached_property
    def _inverse(self) -> Any:
        return self._bound(entries.inverse_dynamics)

    @cached_property
    def _mass(self) -> Any:
        return self._bound(entries.whole_mass_matrix)

    def mass_matrix(self, q: Any) -> Array:
        matrix = np.empty((self.nv, self.nv))
        try:
            if self._mass(q, matrix) == layout.OK:
                return matrix
        except (TypeError, ValueError):
            pass
        raise_pending()
        self.raise_for(self._mass(real(self._read_q(q), "q"), matrix))
        return matrix

    def nonlinear_effects(self, q: Any, v: Any) -> Array:
        tau = np.empty(self.nv)
        try:
            if self._bare._inverse(q, v, self._still, tau) == layout.OK:
                return tau
        except (TypeError, ValueError):
            pass
        raise_pending()
        return super().nonlinear_effects(q, v)

    def gravity_effects(self, q: Any) -> Array:
        tau = np.empty(self.nv)
        try:
            if self._bare._inverse(q, self._still, self._still, tau) == layout.OK:
                return tau
        except (TypeError, ValueError):
            pass
        raise_pending()
        return super().gravity_effects(q)

    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        slopes = np.empty((3, self.nv, self.nv))
        try:
            status = self._bare._inverse_slopes(self._tables.paths, q, v, self._still, slopes)
        except (TypeError, ValueError):
            status = layout.WRONG_SIZE
        if status != layout.OK:
            raise_pending()
            q, v = real(self._read_q(q), "q"), real(self._read_v("v", v), "v")
            self.raise_for(self._bare._inverse_slopes(self._tables.paths, q, v, self._still, slopes))
        coriolis = slopes[1] + slopes[2] @ self._bracket(v) if self._turning else slopes[1]
        coriolis *= 0.5
        return coriolis

    @cached_property
    def _regressor(self) -> Any:
        elements = np.array([[self._tables.elements[body] for body in self.inertial_bodies]], dtype=np.int64).reshape(1, -1)
        return partial(self._bound(observation_entries.regressor), elements, self._frames)

    def regressor(self, q: Any, v: Any, a: Any) -> Array:
        result = np.empty((1, len(NAMES) * len(self.inertial_bodies), self.nv))
        try:
            if self._regressor(q[None], v[None], a[None], result) == layout.OK:
                return result[0].T
        except (TypeError, ValueError):  # not the kernel's types: lists, integers, stacked states, ...
            pass
        raise_pending()
        return super().regressor(q, v, a)

    def _regressors(self, q: Array, v: Array, a: Array) -> Array:
        result = np.empty((len(q), len(NAMES) * len(self.inertial_bodies), self.nv))
        self.raise_for(self._regressor(real(q, "q"), real(v, "v"), real(a, "a"), result))
        return result.transpose(0, 2, 1)

    def _bare_inverse_dynamics(self, q: Array, v: Array) -> Array:
        tau = np.empty(self.nv)
        self.raise_for(self._bare._inverse(real(q, "q"), real(v, "v"), self._still, tau))
        return tau

    def _own_passive_efforts(self, q: Array, v: Array) -> Array:
        q, v = real(q, "q"), real(v, "v")
        gyroscopic, tau = np.zeros(self.nv), np.zeros(self.nv)
        entries.passive_efforts(self._ints, self._floats, q, v, tau)
        entries.passive_efforts(self._bare._ints, self._floats, q, v, gyroscopic)
        tau -= gyroscopic
        for general in self._tables.general:
            tau[general.v] += general.block.passive_efforts(q[general.q], v[general.v])
        return tau

    def _applied_efforts(self, q: Array, v: Array) -> Array:
        efforts = np.zeros(self.nv)
        acted_on = [general for general in self._tables.general if is_acted_on(general.block)]
        if not acted_on:
            return efforts
        q, v = real(q, "q"), real(v, "v")
        _, work, world = self._observe(q, v)
        for general in acted_on:
            at, twist = world[general.element], work[general.element, layout.TWIST : layout.TWIST + 6]
            own = general.block.applied_efforts(q[general.q], v[general.v], twist, at[:9].reshape(3, 3), at[9:])
            jacobian = np.empty((6, self.nv))
            self.raise_for(self._bound(observation_entries.port_jacobian)(general.element, -1, _IDENTITY, False, q, jacobian))
            efforts += jacobian.T @ own[:6]
            efforts[general.v] += own[6:]
        return efforts

    @cached_property
    def _momentum_of(self) -> Any:
        return self._bound(observation_entries.momentum_matrix)

    def momentum_matrix(self, q: Any) -> Array:
        matrix = np.empty((6, self.nv))
        try:
            if self._momentum_of(q, matrix) == layout.OK:
                return matrix
        except (TypeError, ValueError):
            pass
        raise_pending()
        self.raise_for(self._momentum_of(real(self._read_q(q), "q"), matrix))
        return matrix

    @cached_property
    def _inverse_mass(self) -> Any:
        return partial(self._bound(observation_entries.inverse_mass_matrix), self._tables.tree)

    def inverse_mass_matrix(self, q: Any) -> Array:
        inverse = np.empty((self.nv, self.nv))
        try:
            if self._inverse_mass(q, inverse) == layout.OK:
                return inverse
        except (TypeError, ValueError):
            pass
        raise_pending()
        self.raise_for(self._inverse_mass(real(self._read_q(q), "q"), inverse))
        return inverse

    # -- ports ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _at_ports(self) -> PortKernels:
        return PortKernels(self)

    def pose(self, port: str, q: Any) -> tuple[Array, Array]:
        pose = np.empty((1, 12))
        try:
            if self._at_ports[port].pose(q, pose) == layout.OK:
                return pose[0, :9].reshape(3, 3), pose[0, 9:]
        except (TypeError, ValueError, KeyError):
            pass
        raise_pending()
        port, q = self._read_port(port), real(self._read_q(q), "q")
        self.raise_for(self._at_ports[port].pose(q, pose))
        return pose[0, :9].reshape(3, 3), pose[0, 9:]

    def jacobian(self, port: str, q: Any, frame: str = "port") -> Array:
        jacobian, in_world = np.empty((6, self.nv)), frame == "world"
        try:
            if (in_world or frame == "port") and self._at_ports[port].jacobian(in_world, q, jacobian) == layout.OK:
                return jacobian
        except (TypeError, ValueError, KeyError):
            pass
        raise_pending()
        port, q, in_world = self._read_port(port), real(self._read_q(q), "q"), is_world(frame)
        self.raise_for(self._at_ports[port].jacobian(in_world, q, jacobian))
        return jacobian

    def acceleration(self, port: str, q: Any, v: Any, a: Any, frame: str = "port", classical: bool = False) -> Array:
        acceleration, in_world = np.empty((1, 6)), is_world(frame)
        try:
            if self._at_ports[port].acceleration(in_world, classical, q, v, a, acceleration) == layout.OK:
                return acceleration[0]
        except (TypeError, ValueError, KeyError):
            pass
        raise_pending()
        return super().acceleration(port, q, v, a, frame, classical)

    def _motion_at(self, port: str, q: Any, v: Any, a: Any) -> PortMotion:
        motion = np.empty((1, 24))
        try:
            if self._at_ports[port].motion(q, v, a, motion) == layout.OK:
                return _port_motion(motion)
        except (TypeError, ValueError, KeyError):
            pass
        raise_pending()
        return super()._motion_at(port, q, v, a)

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        motion = np.empty((1, 24))
        self.raise_for(self._at_ports[port].motion(real(q, "q"), real(v, "v"), real(a, "a"), motion))
        return _port_motion(motion)

    def _joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        q, v, a = real(q, "q"), real(v, "v"), real(a, "a")
        child = self._connections[joint].child
        _, _, work = self._pushed(pushes)._inverse_work(q, v, a)
        wrench = work[self._tables.carriers[child.block.name], layout.BIAS : layout.BIAS + 6]
        rotation, position, *_ = self._port_in_element(str(child) if child.name in child.block.ports else child.block.name, q)
        force = rotation.T @ wrench[:3]
        return np.concatenate([force, rotation.T @ (wrench[3:] - np.cross(position, wrench[:3]))])

    def energy(self, q: Any, v: Any) -> Energy:
        observed, _, world = self._observe(q, v)
        kinetic, gravity, elastic = observed.tolist()
        if self._tables.general:
            q = self._read_q(q)
        for general in self._tables.general:
            block, at = general.block, world[general.element]
            place = q[general.q], at[:9].reshape(3, 3), at[9:]
            elastic += float(block.elastic_energy(place[0]) + block.applied_energy(*place))
            if has_weight(block):
                inertial = gravity_energy(*mass_and_moment(block.mass_matrix(place[0])), *place[1:], self.gravity)
                gravity += float(weight_energy(block, *place, self.gravity) - inertial)
        return Energy(kinetic, gravity, elastic)

    @cached_property
    def _momentum(self) -> Any:
        return self._bound(observation_entries.momentum)

    def momentum(self, q: Any, v: Any) -> Array:
        momentum = np.empty(6)
        try:
            if self._momentum(q, v, momentum) == layout.OK:
                return momentum
        except (TypeError, ValueError):
            pass
        raise_pending()
        self.raise_for(self._momentum(real(self._read_q(q), "q"), real(self._read_v("v", v), "v"), momentum))
        return momentum

    @cached_property
    def _moment(self) -> Any:
        return self._bound(observation_entries.moment_and_mass)

    def center_of_mass(self, q: Any) -> Array:
        moment = np.empty(4)
        try:
            if self._moment(q, moment) == layout.OK:
                return self._center(moment[:3], moment[3])
        except (TypeError, ValueError):
            pass
        raise_pending()
        self.raise_for(self._moment(real(self._read_q(q), "q"), moment))
        return self._center(moment[:3], moment[3])

    @cached_property
    def _energies(self) -> Any:
        return self._bound(observation_entries.energies)

    def _observe(self, q: Any, v: Any) -> tuple[Array, Array, Array]:
        """Return kinetic, gravity's and elastic energy (3); work rows with twists; the poses of all elements."""
        elements = len(self._tables.constants)
        work, world, result = np.empty((elements, layout.INVERSE_COLUMNS)), np.empty((elements, 12)), np.empty(3)
        try:
            if self._energies(q, v, work, world, result) == layout.OK:
                return result, work, world
        except (TypeError, ValueError):  # not the kernel's types: lists, integers, ...
            pass
        raise_pending()
        q, v = real(self._read_q(q), "q"), real(self._read_v("v", v), "v")
        self.raise_for(self._energies(q, v, work, world, result))
        return result, work, world


def _port_motion(motion: Array) -> PortMotion:
    return PortMotion(motion[0, :9].reshape(3, 3), motion[0, 9:12], motion[0, 12:18], motion[0, 18:])
