"""The effect of a parameter at a state: first its direct effect, then the response of the system.

Directly, a parameter changes efforts, moves ports and changes constraints (`Effect`). The response to moving ports follows from
the derivatives of a system in which they can move (`Movable`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.closed_dynamics import closure_pushes
from titop.solvers.mechanism.movable_ports import MovablePlace, with_movable
from titop.solvers.sensitivities.state import SensitiveModel, SensitivityState


class Move(NamedTuple):
    """The motion of a place per unit of the parameter, by small twists of its own frame.

    `displacement` (6; m and rad); `rate`, `acceleration` (6): its time derivatives along the motion; `rows`: the coordinates
    (n) on which it depends; `by_rows` (6, n): derivative of the displacement by these.
    """

    place: MovablePlace
    displacement: Array
    rate: Array
    acceleration: Array
    rows: slice
    by_rows: Array

    @classmethod
    def still(cls, place: MovablePlace, displacement: Array) -> Move:
        """Return a displacement that is constant along the motion."""
        return cls(place, displacement, np.zeros(6), np.zeros(6), slice(0, 0), np.zeros((6, 0)))


class ConstraintTurn(NamedTuple):
    """The change of k constraints per unit of the parameter.

    `rows`: their rows among all constraints; `jacobian` (k, nv): change of their Jacobian; `opening` (k): change of ``J a +
    bias``, m/s^2 and rad/s^2.
    """

    rows: slice
    jacobian: Array
    opening: Array


@dataclass
class Effect:
    """The direct effect of a parameter, per unit.

    `efforts` (nv): change of the efforts of inverse dynamics.
    """

    efforts: Array
    moves: list[Move] = field(default_factory=list)
    turns: list[ConstraintTurn] = field(default_factory=list)


@dataclass(frozen=True)
class Response:
    """Response to moving ports at a state: derivatives by the m coordinates of the ports, their rates and accelerations.

    Attributes
    ----------
    efforts : (3, nv, m) array
        Derivatives of the efforts of inverse dynamics, with constant multipliers of closures.
    held : (m,) array
        Efforts that hold the ports.
    openings : (3, k, m) array
        Derivatives of ``J a + bias`` of all constraints.
    turning : (k, m) array
        Derivative of J times the `shared` vector, by the coordinates.
    jacobian : (k, m) array
        Derivative of the constraints' errors by the coordinates.
    where : dict of MovablePlace to slice
        The coordinates of each place.
    """

    efforts: Array
    held: Array
    openings: Array
    turning: Array
    jacobian: Array
    where: dict[MovablePlace, slice]

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


class Movable:
    """A model in which some places can be moved."""

    def __init__(self, model: SensitiveModel, places: Collection[MovablePlace]) -> None:
        self.places = frozenset(places)
        self._ports = model.mechanism.ports
        self._wider = model.mechanism.with_assembly(with_movable(model.mechanism.assembly, self.places))
        names, configuration = self._wider.coordinate_names, self._wider.configuration_names
        self._own = np.array([names.index(name) for name in model.coordinate_names], dtype=int)
        self._own_q = np.array([configuration.index(name) for name in model.configuration_names], dtype=int)
        self._added = np.setdiff1d(range(self._wider.nv), self._own)
        self._where: dict[MovablePlace, slice] = {}
        for place in self.places:
            first = int(np.searchsorted(self._added, self._wider.assembly.v_slices[place.joint].start))
            self._where[place] = slice(first, first + 6)

    def response(self, state: SensitivityState, multipliers: Array, shared: Array) -> Response:
        """Return the response to moving the places at a state, with constraint `multipliers` (k) and a `shared` vector (nv)."""
        mechanism = self._wider
        q, (v, a, efforts) = mechanism.neutral(), np.zeros((3, mechanism.nv))
        q[self._own_q], v[self._own], a[self._own], efforts[self._own] = state.q, state.v, state.a, shared
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
            efforts=changes[:, self._own][..., self._added],
            held=held[self._added],
            openings=np.array([by_q, by_v, jacobian]),
            turning=turning[:, self._added],
            jacobian=jacobian,
            where=self._where,
        )

    def _port(self, name: str) -> str:
        """Return the name of the port that stands for one of the model's."""
        place = MovablePlace(*self._ports[name])
        return place.body if place.port and place in self.places else name
