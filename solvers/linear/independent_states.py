"""States of systems with rigid closures and gears: independent coordinates and their rates, which determine the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import ROUNDING
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.model.closures import independent_columns, reduction
from titop.solvers.model.model import Model

#: Largest change of independent coordinates in a step (rad, and m for a system of size one): beyond, loops may close otherwise.
_STRIDE = 0.2
#: Factor on columns that pivoted QR shall choose first: its rank is relative to the longest.
_FIRST = 1e3


class IndependentStates:
    """The choice of independent coordinates about an operating point.

    Parameters
    ----------
    point : OperatingPoint
        Closed.
    origin : (nq,) array
        Origin of the displacements.
    independent : sequence of str, optional
        As in `linearize`.

    Attributes
    ----------
    chosen : (n,) int array
        Entries of v.
    in_q : int array
        Their entries of q.
    in_plain : int array or None
        The entry of q equal to each of them, None if one is not a plain coordinate.
    mask : (nv,) bool array
        True for the chosen ones.

    Raises
    ------
    ModelError
        For dependent coordinates, an incomplete choice of those of a free or spherical joint, and open loops.
    """

    def __init__(self, point: OperatingPoint, origin: Array, independent: Any) -> None:
        model = point.model
        held = np.zeros(model.nv, dtype=bool)
        states = reduction(model, point.q, point.v, held, independent).states
        self.point, self.origin, self.chosen = point, origin, states[: len(states) // 2]
        self._turning = [
            (block, where)
            for block, where in model.mechanism.assembly.v_slices.items()
            if not all(model.mechanism.has_plain_coordinates(k) for k in range(where.start, where.stop))
        ]
        if independent is None and self._split() is not None:
            self.chosen = self._plain_choice()
        if (block := self._split()) is not None:
            names = ", ".join(model.coordinate_names[k] for k in self.chosen)
            expected, advice = "all coordinates of the joint, or none", "name others with independent=[...]"
            raise ModelError(Finding("split-joint", block, names, expected, advice))
        self.mask = np.isin(np.arange(model.nv), self.chosen)
        self.in_q = np.concatenate([self._entries(model, block) for block in model.mechanism.assembly.v_slices])
        self.in_plain = self._plain_entries(model)

    def _split(self) -> str | None:
        """Return a joint without plain coordinates of which only some are chosen."""
        for block, where in self._turning:
            count = np.isin(np.arange(where.start, where.stop), self.chosen).sum()
            if 0 < count < where.stop - where.start:
                return block
        return None

    def _plain_choice(self) -> Array:
        """Return a choice in which coordinates that are not plain depend on the others, as far as the closures move them."""
        model, point = self.point.model, self.point
        jacobian = model.mechanism.scale.comparable(model.closure_jacobian(point.q))
        first = np.ones(model.nv)
        for _, where in self._turning:
            first[where] = _FIRST
        return independent_columns(jacobian * first, np.arange(model.nv))

    def _entries(self, model: Model, block: str) -> Array:
        """Return the entries of q for the chosen coordinates of a block."""
        in_q, in_v = model.mechanism.assembly.q_slices[block], model.mechanism.assembly.v_slices[block]
        entries, chosen = np.arange(in_q.start, in_q.stop), self.mask[in_v]
        return entries[chosen] if len(entries) == len(chosen) else entries[[bool(chosen.all())] * len(entries)]

    def _plain_entries(self, model: Model) -> Array | None:
        """Return the entry of q equal to each chosen coordinate, None if one is not plain."""
        if any(self.mask[where].any() for _, where in self._turning):
            return None
        in_q = np.zeros(model.nv, dtype=int)
        for block, where in model.mechanism.assembly.v_slices.items():
            if self.mask[where].any():
                in_q[where] = np.arange(model.nq)[model.mechanism.assembly.q_slices[block]]
        return in_q[self.chosen]


class Follower:
    """Finds the state of a model for given independent coordinates, each time starting from the last one.

    Parameters
    ----------
    states : IndependentStates
    model : Model
        That of the point, or the same with other parameters.
    """

    def __init__(self, states: IndependentStates, model: Model) -> None:
        self._states, self._model = states, model
        self._dynamics = model.mechanism.engine.dynamics.prepare([], states.mask)
        self._strides = 1.0 / (_STRIDE * model.mechanism.scale.coordinates[states.chosen])
        self._whole, self._rates, q = np.zeros(model.nv), np.zeros(model.nv), states.point.q
        self._chosen, self._in_plain = states.chosen, states.in_plain
        self._start = None if states.in_plain is None else states.origin[states.in_plain]
        self._dynamics.rank = model.nv - len(states.chosen)
        begin = model.difference(states.origin, q)[states.chosen]
        self._last = begin, model.assemble(q, [model.coordinate_names[k] for k in states.chosen])

    def state(self, x: Array) -> tuple[Array, Array]:
        """Return q and v from the displacements and rates of the independent coordinates.

        Raises
        ------
        ConvergenceError
            If the loops cannot be closed on the way there.
        """
        n, v = len(x) // 2, self._rates
        (begin, q), goal = self._last, x[:n]
        v[self._chosen] = x[n:]
        way = goal - begin
        strides = self._strides_along(way)
        try:
            for k in range(1, strides + 1):
                placed = self._place(q, goal if k == strides else begin + way * (k / strides))
                closed = self._dynamics.project(placed, v, ROUNDING)
                q = closed.q
        except ConvergenceError as error:
            names = ", ".join(self._model.coordinate_names[k] for k in self._states.chosen)
            raise ConvergenceError(f"{names} at {goal}: {error}; these values lead out of what the loops allow") from None
        self._last = goal.copy(), q
        return q, closed.v

    def _strides_along(self, way: Array) -> int:
        """Return the number of steps for such a change."""
        lengths = way * self._strides
        if lengths.dot(lengths) <= 1.0:  # then each is at most one
            return 1
        return int(np.ceil(np.abs(lengths).max()))

    def _place(self, q: Array, x: Array) -> Array:
        """Return q with the independent coordinates displaced by x from the origin, the others unchanged."""
        states, whole, placed = self._states, self._whole, q.copy()
        if self._in_plain is not None:
            placed[self._in_plain] = self._start + x
            return placed
        whole[self._chosen] = x
        placed[states.in_q] = self._model.mechanism.integrate_unchecked(states.origin, whole)[states.in_q]
        return placed
