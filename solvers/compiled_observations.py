"""What is read of a compiled model's states: terms of its equations, poses and motion of ports, energy, momentum."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_parameters import NAMES
from titop.blocks.contract.applied import gravity_energy, has_weight, is_acted_on, weight_energy
from titop.blocks.contract.block import overrides_method
from titop.blocks.contract.surroundings import mass_and_moment
from titop.graph.flatten import GeneralBlock
from titop.solvers.arguments import check_stacks, is_world
from titop.solvers.compiled_slopes import CompiledSlopes
from titop.solvers.kernels import entries, layout, observation_entries
from titop.solvers.model import Energy
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.packed import PackedModel, real
from titop.solvers.port_kinematics import PortMotion
from titop.solvers.rowwise import rowwise

#: The pose of a frame in itself.
IDENTITY = np.concatenate([np.eye(3).ravel(), np.zeros(3)])


class PortFunctions:
    """The kernels for one port of a model, bound to the model's tables when they are first asked for."""

    def __init__(self, model: PackedModel, port: str) -> None:
        element, place, frame = model._port_place(port)
        shown = model._with_all_ports if place >= 0 else model
        self._bind = lambda pair: partial(shown._bound(pair), element, place, frame)

    @cached_property
    def pose(self) -> Any:
        return self._bind(observation_entries.port_pose)

    @cached_property
    def jacobian(self) -> Any:
        return partial(self._bind(observation_entries.port_jacobian), False)

    @cached_property
    def jacobian_in_world(self) -> Any:
        return partial(self._bind(observation_entries.port_jacobian), True)

    @cached_property
    def twist(self) -> tuple[Any, Any]:
        """In the port's frame, and in inertial axes."""
        kernel = self._bind(observation_entries.port_twist)
        return partial(kernel, False), partial(kernel, True)

    @cached_property
    def motion(self) -> Any:
        return self._bind(observation_entries.port_motion)

    @cached_property
    def acceleration(self) -> dict[tuple[bool, bool], Any]:
        """By whether in inertial axes, and whether classical."""
        kernel = self._bind(observation_entries.port_acceleration)
        return {(axes, kind): partial(kernel, axes, kind) for axes in (False, True) for kind in (False, True)}


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
        return self._ask(self._mass, (q,), np.empty((self.nv, self.nv)))

    def nonlinear_effects(self, q: Any, v: Any) -> Array:
        return self._ask(self._bare_inverse, (q, v), np.empty(self.nv))

    def gravity_effects(self, q: Any) -> Array:
        return self._ask(self._resting_inverse, (q,), np.empty(self.nv))

    @cached_property
    def _bare_inverse(self) -> Any:
        inverse, still = self._bare._inverse, self._still
        return lambda q, v, tau: inverse(q, v, still, tau)

    @cached_property
    def _resting_inverse(self) -> Any:
        inverse, still = self._bare._inverse, self._still
        return lambda q, tau: inverse(q, still, still, tau)

    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        if not self._has_laws:
            return self._ask(self._coriolis, (q, v), np.empty((self.nv, self.nv)))
        slopes = self._ask(self._bare_slopes, (q, v), np.empty((3, self.nv, self.nv)))
        coriolis, v = slopes[..., 1, :, :], self._read_v("v", v, stacked=True)
        for block, at in self._turning:
            brackets = [block.bracket(rates) for rates in np.atleast_2d(v[..., at])]
            coriolis[..., at] += slopes[..., 2, :, at] @ np.reshape(brackets, (*v.shape[:-1], block.nv, block.nv))
        coriolis *= 0.5
        return coriolis

    @cached_property
    def _coriolis(self) -> Any:
        return partial(observation_entries.coriolis_matrix.compiled, self._ints, self._floats, self._tables.paths)

    @cached_property
    def _bare_slopes(self) -> Any:
        slopes, paths, still = self._bare._inverse_slopes, self._tables.paths, self._still
        return lambda q, v, result: slopes(paths, q, v, still, result)

    def _ask(self, kernel: Any, state: tuple[Any, ...], *results: Array) -> Array:
        """Let a kernel of a state (q; q and v; q, v and a) write its results; return the last one.

        It gets the arguments as they are or, where these are not of its types, as they are read. Of stacked states the last
        result is stacked.
        """
        try:
            if kernel(*state, *results) == layout.OK:
                return results[-1]
        except (TypeError, ValueError):  # lists, integers, stacked states, ...
            pass
        raise_pending()
        q, *rates = state
        read = {"q": self._read_q(q, stacked=True)}
        read |= {name: self._read_v(name, rate, True) for name, rate in zip("va", rates, strict=False)}
        check_stacks(read)
        arguments = [np.ascontiguousarray(real(x, name), float) for name, x in read.items()]
        if arguments[0].ndim == 1:
            self.raise_for(kernel(*arguments, *results))
            return results[-1]
        stack = np.empty((len(arguments[0]), *results[-1].shape))
        for row in zip(*arguments, stack, strict=True):
            self.raise_for(kernel(*row[:-1], *results[:-1], row[-1]))
        return stack

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
        return self._ask(self._bare_inverse, (q, v), np.empty(self.nv))

    @cached_property
    def _momentum_of(self) -> Any:
        return self._bound(observation_entries.momentum_matrix)

    def momentum_matrix(self, q: Any) -> Array:
        return self._ask(self._momentum_of, (q,), np.empty((6, self.nv)))

    @cached_property
    def _inverse_mass(self) -> Any:
        return partial(self._bound(observation_entries.inverse_mass_matrix), self._tables.tree)

    def inverse_mass_matrix(self, q: Any) -> Array:
        return self._ask(self._inverse_mass, (q,), np.empty((self.nv, self.nv)))

    # -- ports ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _at_ports(self) -> PortKernels:
        return PortKernels(self)

    def _at_port(self, port: str) -> PortFunctions:
        try:
            return self._at_ports[port]
        except (KeyError, TypeError):
            return self._at_ports[self._read_port(port)]

    def pose(self, port: str, q: Any) -> tuple[Array, Array]:
        pose = self._ask(self._at_port(port).pose, (q,), np.empty((1, 12)))
        if pose.ndim > 2:
            return pose[:, 0, :9].reshape(-1, 3, 3), pose[:, 0, 9:]
        return pose[0, :9].reshape(3, 3), pose[0, 9:]

    def twist(self, port: str, q: Any, v: Any, frame: str = "port") -> Array:
        kernel = self._at_port(port).twist[is_world(frame)]
        return self._ask(kernel, (q, v), np.empty((1, 6)))[..., 0, :]

    def jacobian(self, port: str, q: Any, frame: str = "port") -> Array:
        functions = self._at_port(port)
        kernel = functions.jacobian_in_world if frame == "world" or is_world(frame) else functions.jacobian
        return self._ask(kernel, (q,), np.empty((6, self.nv)))

    def acceleration(self, port: str, q: Any, v: Any, a: Any, frame: str = "port", classical: bool = False) -> Array:
        kernel = self._at_port(port).acceleration[is_world(frame), bool(classical)]
        return self._ask(kernel, (q, v, a), np.empty((1, 6)))[..., 0, :]

    def _motion_at(self, port: str, q: Any, v: Any, a: Any) -> PortMotion:
        motion = self._ask(self._at_port(port).motion, (q, v, a), np.empty((1, 24)))[0]
        return PortMotion(motion[:9].reshape(3, 3), motion[9:12], motion[12:18], motion[18:])

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        return self._motion_at(port, q, v, a)

    @rowwise
    def energy(self, q: Any, v: Any) -> Energy:
        observed, _, world = self._observe(q, v)
        kinetic, gravity, elastic = observed.tolist()
        if self._surrounded:
            q = self._read_q(q)
        for general in self._surrounded:
            block, at = general.block, world[general.element]
            place = q[general.q], at[:9].reshape(3, 3), at[9:]
            elastic += float(block.applied_energy(*place))
            if has_weight(block):
                inertial = gravity_energy(*mass_and_moment(block.mass_matrix(place[0])), *place[1:], self.gravity)
                gravity += float(weight_energy(block, *place, self.gravity) - inertial)
        return Energy(kinetic, gravity, elastic)

    @cached_property
    def _surrounded(self) -> list[GeneralBlock]:
        """The blocks on which more than gravity on their inertia acts, or that store energy in their surroundings."""
        blocks = self._tables.general
        return [each for each in blocks if is_acted_on(each.block) or overrides_method(each.block, "applied_energy")]

    @cached_property
    def _momentum(self) -> Any:
        return self._bound(observation_entries.momentum)

    def momentum(self, q: Any, v: Any) -> Array:
        return self._ask(self._momentum, (q, v), np.empty(6))

    @cached_property
    def _mass_center(self) -> Any:
        return self._bound(observation_entries.center_of_mass)

    def center_of_mass(self, q: Any) -> Array:
        found = self._ask(self._mass_center, (q,), np.empty(4))
        self._check_mass(found[3] if found.ndim == 1 else found[:, 3].min(initial=np.inf))
        return found[..., :3]

    @cached_property
    def _energies(self) -> Any:
        return self._bound(observation_entries.energies)

    def _observe(self, q: Any, v: Any) -> tuple[Array, Array, Array]:
        """Return kinetic, gravity's and elastic energy (3); work rows with twists; the poses of all elements."""
        elements = len(self._tables.constants)
        work, world = np.empty((elements, layout.INVERSE_COLUMNS)), np.empty((elements, 12))
        return self._ask(self._energies, (q, v), work, world, np.empty(3)), work, world
