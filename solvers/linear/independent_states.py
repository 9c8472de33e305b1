"""States of systems with rigid closures and gears: independent coordinates and their rates, which determine the others.

They are chosen about a point, and followed from there (`IndependentStates`, `Follower`), or once for all members of a family,
so that these can be interpolated (`FamilyBasis`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import LOOSE_RANK, ROUNDING, SAME
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.model.closures import free_motions, independent_columns, read_independent, reduction
from titop.solvers.model.model import Model

# -- about a point ---------------------------------------------------------------------------------------------------------

#: Largest change of independent coordinates in a step (rad, and m for a system of size one): beyond, loops may close otherwise.
_STRIDE = 0.2
#: Factor on columns that pivoted QR shall choose first: its rank is relative to the longest.
_FIRST = 1e3


class IndependentStates:
    """The choice of independent coordinates about a closed operating point, displaced from an origin (nq).

    - `chosen` (n): entries of v;
    - `in_q`: their entries of q;
    - `in_plain`: the entry of q equal to each of them, None if one is not a plain coordinate;
    - `mask` (nv): True for the chosen ones.

    Raises `ModelError` for dependent coordinates, an incomplete choice of those of a free or spherical joint, and open loops.
    """

    def __init__(self, point: OperatingPoint, origin: Array, independent: Any) -> None:
        model = point.model
        held = np.zeros(model.nv, dtype=bool)
        if not model.mechanism.places.all():
            got, expected = "what rolls, or slides along an edge", "as many independent rates as coordinates"
            advice = "linearise it by tt.linearize or tt.lpv, or simulate it by tt.simulate"
            raise ModelError(Finding("rolling", model.name, got, expected, advice))
        self.point, self.origin, self.chosen = point, origin, reduction(model, point.q, point.v, held, independent).rates
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
    """Finds the state of a point's model, or of one with other parameters, for independent coordinates; from the last one."""

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

        Raises `ConvergenceError` if the loops cannot be closed on the way there.
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
        lengths = way * self._strides
        if lengths.dot(lengths) <= 1.0:  # then each is at most one
            return 1
        return int(np.ceil(np.abs(lengths).max()))

    def _place(self, q: Array, x: Array) -> Array:
        states, whole, placed = self._states, self._whole, q.copy()
        if self._in_plain is not None:
            placed[self._in_plain] = self._start + x
            return placed
        whole[self._chosen] = x
        placed[states.in_q] = self._model.mechanism.integrate_unchecked(states.origin, whole)[states.in_q]
        return placed


# -- of a family -----------------------------------------------------------------------------------------------------------

#: Bases of two neighbours are compared directly if their cosine is at least this; otherwise halfway points are inserted.
_NEAR = 0.7
_HALVINGS = 6

#: Number of points for which a choice is searched first; others are added where it fails.
_SAMPLES = 32


class FamilyBasis:
    """The permitted motions of a constrained system at the points of a family.

    At each point, orthonormal columns N (free coordinates, n) span the motions that closures and gears permit. Coordinates are
    independent there if the determinant of their rows of N is not zero. From point to point, N is continued along with the
    motions; the determinant of a good choice keeps its sign and stays away from zero: it must not pass zero in between either.

    `before` tells an earlier neighbour of each point but the first; `held` (nv) are coordinates that are frozen; `names` gives
    the names of points in messages.

    Raises `ModelError` if the points have different degrees of freedom.
    """

    def __init__(
        self, points: Sequence[OperatingPoint], before: Sequence[int], held: Array, names: Callable[[int], str]
    ) -> None:
        self._model, self._names, self._before = points[0].model, names, before
        self._free = np.flatnonzero(~held)
        self._lengths = np.array([unit == "m" for unit in self._model.mechanism.assembly.coordinate_units])[self._free]
        motions = [self._motions_at(point.model, point.q) for point in points]
        for k, found in enumerate(motions):
            if found.shape != motions[0].shape:
                freedom = f"{found.shape[1]} independent coordinates"
                expected, advice = f"{motions[0].shape[1]}, as at {names(0)}", "leave singular points out of the family"
                raise ModelError(Finding("other-freedom", f"points: {names(k)}", freedom, expected, advice))
        self._motions = np.array(motions)
        for k in range(1, len(points)):
            one, two = points[before[k]], points[k]
            if self._orientation(self._motions[before[k]], self._motions[k], one.model, one.q, two.q) < 0:
                self._motions[k, :, -1] *= -1.0

    def read(self, independent: Any) -> tuple[str, ...]:
        """Return the names of a choice that a user made.

        Raises `ModelError` for unknown names; naming the point where they fail.
        """
        chosen, _ = read_independent(self._model, independent)
        places = np.flatnonzero(np.isin(self._free, chosen))
        if len(places) != len(chosen) or len(places) != self._motions.shape[2]:
            self._refuse(chosen, 0, "are not as many as move independently")
        self._check(places)
        return self._names_of(places)

    def choose(self) -> tuple[str, ...]:
        """Return the names of the coordinates with the largest smallest determinant over the points.

        Raises `ModelError` if no choice is valid at all points.
        """
        looked_at = np.unique(np.linspace(0, len(self._motions) - 1, _SAMPLES).astype(int))
        while True:
            places = self._best(looked_at)
            failing = np.setdiff1d(np.flatnonzero(self._sizes(places) < LOOSE_RANK), looked_at)
            if not failing.size:
                self._check(places)
                return self._names_of(places)
            looked_at = np.append(looked_at, failing[:_SAMPLES])

    def _best(self, looked_at: Array) -> Array:
        """Return the best choice found from those best at single points, by exchanging one coordinate at a time."""
        everything = np.arange(len(self._free))
        starts = {tuple(np.sort(_pivots(self._motions[k]))) for k in looked_at}
        best, most = np.zeros(0, dtype=int), -np.inf
        for start in sorted(starts):
            places = np.array(start, dtype=int)
            score = self._sizes(places)[looked_at].min()
            improved = True
            while improved:
                improved = False
                for k, new in [(k, new) for k in range(len(places)) for new in np.setdiff1d(everything, places)]:
                    trial = places.copy()
                    trial[k] = new
                    found = self._sizes(trial)[looked_at].min()
                    if found > score + SAME:
                        places, score, improved = trial, found, True
                        break
            if score > most + SAME:
                best, most = places, score
        return np.sort(best)

    def _sizes(self, places: Array) -> Array:
        found = np.linalg.det(self._motions[:, places])
        return found * (1.0 if found[0] > 0 else -1.0)

    def _check(self, places: Array) -> None:
        sizes = self._sizes(places)
        if (sizes >= LOOSE_RANK).all():
            return
        k = int(np.flatnonzero(sizes < LOOSE_RANK)[0])
        if abs(sizes[k]) < LOOSE_RANK:
            self._refuse(self._free[places], k, "do not determine the others there")
        between = f"do not determine the others somewhere between {self._names(self._before[k])} and there"
        self._refuse(self._free[places], k, between)

    def _refuse(self, chosen: Array, k: int, why: str) -> None:
        names = ", ".join(self._model.coordinate_names[i] for i in chosen)
        better = ", ".join(self._names_of(self._best(np.array([k]))))
        expected = "coordinates that are independent at all points and between them"
        advice = f"they {why} (there, {better} would); choose others with independent=, or divide the family"
        raise ModelError(Finding("not-independent", f"points: {self._names(k)}", names, expected, advice))

    def _names_of(self, places: Array) -> tuple[str, ...]:
        return tuple(self._model.coordinate_names[k] for k in self._free[places])

    def _motions_at(self, model: Model, q: Array) -> Array:
        """Return the motions that closures and gears permit, lengths in units of the system's size."""
        return free_motions(model.mechanism.scale.comparable(model.closure_jacobian(q))[:, self._free])

    def _orientation(self, one: Array, two: Array, model: Model, start: Array, end: Array, halvings: int = _HALVINGS) -> float:
        """Return whether motions at two configurations have the same orientation (1) or not (-1), continued in between."""
        common = one.T @ two
        if halvings and np.linalg.svd(common, compute_uv=False).min(initial=1.0) < _NEAR:
            try:
                middle = model.assemble(model.integrate(start, 0.5 * model.difference(start, end)))
            except ConvergenceError:
                return float(np.sign(np.linalg.det(common)))
            between = self._motions_at(model, middle)
            if between.shape == one.shape:
                first = self._orientation(one, between, model, start, middle, halvings - 1)
                return first * self._orientation(between, two, model, middle, end, halvings - 1)
        return float(np.sign(np.linalg.det(common)))


def _pivots(motions: Array) -> Array:
    """Return as many rows as there are columns, by pivoting: always the row with the largest remainder."""
    from scipy.linalg import qr

    return qr(motions.T, mode="r", pivoting=True)[1][: motions.shape[1]]
