"""The effect of a parameter at a state: first its direct effect, then the response of the system.

Directly, a parameter changes efforts, moves ports and changes constraints (`Effect`): found from a system with the parameter
changed by a step (`Stepped`). The response to moving ports follows from the derivatives of a system in which they can move
(`Movable`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array, twist_transport
from titop.graph.network.assembly import Assembly
from titop.solvers.constraints.closed_dynamics import closure_pushes
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.movable_ports import MovablePlace, with_movable
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.mechanism.system_parameters import changed_block, perturbed_assembly
from titop.solvers.signals.quantities import NamedModel


class SensitiveModel(NamedModel, Protocol):
    """A model with dynamics and their derivatives by its state; see `titop.solvers.model.parameters`."""

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> Array: ...
    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any = None, wrenches: Any = None, out: Array | None = None, u: Any = None
    ) -> tuple[Array, Array, Array]: ...


class SensitivityState:
    """A state of a model with its external loads.

    `u` (nu + nx): first-order states behind the inputs.
    """

    def __init__(self, model: SensitiveModel, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array) -> None:
        self.model, self.q, self.v, self.a, self.wrenches = model, q, v, a, wrenches
        self.u = model.mechanism.inputs.without_states(u)
        self.pushes: list[Push] = model.mechanism.external_pushes(wrenches, u)
        self._motions: dict[str, PortMotion] = {}
        self._jacobians: dict[str, Array] = {}

    def motion(self, port: str) -> PortMotion:
        """Return the motion of a port."""
        if port not in self._motions:
            self._motions[port] = self.model.mechanism.engine.observations.port_motion(port, self.q, self.v, self.a)
        return self._motions[port]

    def jacobian(self, port: str) -> Array:
        """Return the Jacobian (6, nv) of a port, in its frame."""
        if port not in self._jacobians:
            self._jacobians[port] = self.model.mechanism.engine.observations.jacobian(port, self.q)
        return self._jacobians[port]

    def parent_port(self, block: str) -> PortMotion:
        """Return the motion of the parent port of a body or of a joint."""
        if (joining := self.model.mechanism.assembly.connection_of_joint.get(block)) is None:
            return self.motion(block)
        rotation, position, twist, acceleration = self.motion(str(joining.parent))
        placement = joining.placement
        onto = twist_transport(placement.rotation, placement.position)
        place = rotation @ placement.rotation, position + rotation @ placement.position
        return PortMotion(*place, onto @ twist, onto @ acceleration)

    def parent_jacobian(self, block: str) -> Array:
        """Return the Jacobian (6, nv) of the parent port of a body or of a joint, in its frame."""
        if (joining := self.model.mechanism.assembly.connection_of_joint.get(block)) is None:
            return self.jacobian(block)
        onto = twist_transport(joining.placement.rotation, joining.placement.position)
        return onto @ self.jacobian(str(joining.parent))

    def coordinates_of(self, block: str) -> tuple[slice, slice]:
        """Return the slices of a block's own coordinates in q and in v."""
        nothing, assembly = slice(0, 0), self.model.mechanism.assembly
        return assembly.q_slices.get(block, nothing), assembly.v_slices.get(block, nothing)

    def efforts_of(self, port: str, wrench: Array) -> Array:
        """Return the efforts (nv) of a wrench on a port, given in its frame."""
        efforts: Array = np.dot(self.jacobian(port).T, wrench)
        return efforts


class Stepped:
    """A system with another value of a parameter, real or complex, without checks."""

    def __init__(self, assembly: Assembly, name: str, value: complex) -> None:
        self._assembly, self._name, self._value = assembly, name, value

    @cached_property
    def block(self) -> Any:
        """The parameter's block."""
        block: Any = self._assembly.blocks[owner_of(self._name)]
        return changed_block(block, {entry_of(self._name): self._value})

    @cached_property
    def assembly(self) -> Assembly:
        """The whole system, with all that depends on the block changed too."""
        return perturbed_assembly(self._assembly, {self._name: self._value})


class Move(NamedTuple):
    """The motion of a place per unit of the parameter, by small twists of its own frame."""

    place: MovablePlace
    displacement: Array  #: (6; m and rad)
    rate: Array  #: (6): its time derivative along the motion.
    acceleration: Array  #: (6): its second one.
    rows: slice  #: The coordinates (n) on which it depends.
    by_rows: Array  #: (6, n): derivative of the displacement by these.

    @classmethod
    def still(cls, place: MovablePlace, displacement: Array) -> Move:
        """Return a displacement that is constant along the motion."""
        return cls(place, displacement, np.zeros(6), np.zeros(6), slice(0, 0), np.zeros((6, 0)))


class ConstraintTurn(NamedTuple):
    """The change of k constraints per unit of the parameter."""

    rows: slice  #: Their rows among all constraints.
    jacobian: Array  #: (k, nv): change of their Jacobian.
    opening: Array  #: (k; m/s^2 and rad/s^2): change of ``J a + bias``.


@dataclass
class Effect:
    """The direct effect of a parameter, per unit."""

    efforts: Array  #: (nv): change of the efforts of inverse dynamics.
    moves: list[Move] = field(default_factory=list)
    turns: list[ConstraintTurn] = field(default_factory=list)


@dataclass(frozen=True)
class Response:
    """Response to moving ports at a state: derivatives by the m coordinates of the ports, their rates and accelerations."""

    efforts: Array  #: (3, nv, m): derivatives of the efforts of inverse dynamics, with constant multipliers of closures.
    held: Array  #: (m): efforts that hold the ports.
    openings: Array  #: (3, k, m): derivatives of ``J a + bias`` of all constraints.
    turning: Array  #: (k, m): derivative of J times the `shared` vector, by the coordinates.
    jacobian: Array  #: (k, m): derivative of the constraints' errors by the coordinates.
    where: dict[MovablePlace, slice]  #: The coordinates of each place.

    def needed(self, move: Move) -> Array:
        """Return the change (nv) of the efforts of inverse dynamics when a place moves."""
        z = self.where[move.place]
        needed = _along(self.efforts[..., z], move)
        needed[move.rows] += move.by_rows.T @ self.held[z]
        return needed

    def opening(self, move: Move) -> Array:
        """Return the change (k) of ``J a + bias`` when a place moves."""
        return _along(self.openings[..., self.where[move.place]], move)

    def turned(self, move: Move, shared: Array) -> Array:
        """Return the change (k) of J times the `shared` vector when a place moves."""
        z = self.where[move.place]
        return self.turning[:, z] @ move.displacement + self.jacobian[:, z] @ (move.by_rows @ shared[move.rows])


def _along(derivatives: Array, move: Move) -> Array:
    by_place, by_rate, by_acceleration = derivatives
    along: Array = by_place @ move.displacement + by_rate @ move.rate + by_acceleration @ move.acceleration
    return along


def movables(model: SensitiveModel, places: Collection[MovablePlace]) -> list[Movable]:
    """Return models in which some places can be moved: those at the world apart from all others.

    Where they turn the whole system far away from the world's origin, its lever would take the digits of the others.
    """
    assembly = model.mechanism.assembly
    hung = {name for name, joining in assembly.connection_of_joint.items() if joining.parent.block.name == assembly.world.name}
    at_world = {each for each in places if each.block == assembly.world.name or (each.port is None and each.block in hung)}
    return [Movable(model, group) for group in (at_world, {*places} - at_world) if group]


class Movable:
    """A model in which some places can be moved."""

    def __init__(self, model: SensitiveModel, places: Collection[MovablePlace]) -> None:
        self.places = frozenset(places)
        self._ports = model.mechanism.ports
        self._wider = model.mechanism.with_assembly(with_movable(model.mechanism.assembly, self.places))
        names, configuration = self._wider.coordinate_names, self._wider.configuration_names
        self.own = np.array([names.index(name) for name in model.coordinate_names], dtype=int)
        self._own_q = np.array([configuration.index(name) for name in model.configuration_names], dtype=int)
        self._added = np.setdiff1d(range(self._wider.nv), self.own)
        self._where: dict[MovablePlace, slice] = {}
        for place in self.places:
            first = int(np.searchsorted(self._added, self._wider.assembly.v_slices[place.joint].start))
            self._where[place] = slice(first, first + 6)

    def response(self, state: SensitivityState, multipliers: Array, shared: Array) -> Response:
        """Return the response to moving the places at a state, with constraint `multipliers` (k) and a `shared` vector (nv)."""
        mechanism = self._wider
        q, (v, a, efforts) = mechanism.neutral(), np.zeros((3, mechanism.nv))
        q[self._own_q], v[self.own], a[self.own], efforts[self.own] = state.q, state.v, state.a, shared
        pushes = mechanism.external_pushes(
            {self._port(port): wrench for port, wrench in state.wrenches.items()},
            dict(zip(state.model.input_names, state.u, strict=True)),
        )
        nothing = np.zeros((0, mechanism.nv))
        rows = np.zeros((4, 0, mechanism.nv))
        if len(multipliers):
            changes, rows = mechanism.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
            turning = mechanism.engine.derivatives.closure_rate(q, efforts)
            pushes = [*pushes, *closure_pushes(mechanism, q, multipliers)]
        else:
            changes, turning = mechanism.engine.derivatives.tree_inverse(q, v, a, pushes), nothing
        held = mechanism.engine.dynamics.tree_inverse(q, v, a, pushes)
        jacobian, by_q, by_v = (row[:, self._added] for row in rows[:3])
        return Response(
            efforts=changes[:, self.own][..., self._added],
            held=held[self._added],
            openings=np.array([by_q, by_v, jacobian]),
            turning=turning[:, self._added],
            jacobian=jacobian,
            where=self._where,
        )

    def columns(self, place: MovablePlace) -> Array:
        """Return the coordinates (6) of a place among all."""
        columns: Array = self._added[self._where[place]]
        return columns

    def stacked(self, q: Array, v: Array, a: Array) -> tuple[Any, tuple[Array, Array, Array]]:
        """Return the mechanism in which places can be moved, and stacked states of it, with all places where they are."""
        wide, whole = self._wider, np.tile(self._wider.neutral(), (len(q), 1))
        rates = np.zeros((2, len(q), wide.nv))
        whole[:, self._own_q], rates[0][:, self.own], rates[1][:, self.own] = q, v, a
        return wide, (whole, rates[0], rates[1])

    def _port(self, name: str) -> str:
        """Return the name of the port that stands for one of the model's."""
        place = MovablePlace(*self._ports[name])
        return place.body if place.port and place in self.places else name
