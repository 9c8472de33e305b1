"""One choice of independent coordinates for all members of a family, so that they can be interpolated.

At each point, orthonormal columns N (free coordinates, n) span the motions that closures and gears permit. Coordinates are
independent there if the determinant of their rows of N is not zero. From point to point, N is continued along with the motions,
and the determinant of a good choice keeps its sign and stays away from zero: it must not pass zero in between either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import LOOSE_RANK, SAME
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.model.closures import free_motions, read_independent
from titop.solvers.model.model import Model

#: Bases of two neighbours are compared directly if their cosine is at least this; otherwise halfway points are inserted.
_NEAR = 0.7
_HALVINGS = 6

#: Number of points for which a choice is searched first; others are added where it fails.
_SAMPLES = 32


class FamilyBasis:
    """The permitted motions of a constrained system at the points of a family.

    Parameters
    ----------
    points : sequence of OperatingPoint
    before : sequence of int
        An earlier neighbour of each point; ignored for the first.
    held : (nv,) bool array
        Coordinates that are frozen.
    names : callable
        From the index of a point to its name in messages.

    Raises
    ------
    ModelError
        If the points have different degrees of freedom.
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

        Raises
        ------
        ModelError
            For unknown names; naming the point where they fail.
        """
        chosen = read_independent(self._model, independent)
        places = np.flatnonzero(np.isin(self._free, chosen))
        if len(places) != len(chosen) or len(places) != self._motions.shape[2]:
            self._refuse(chosen, 0, "are not as many as move independently")
        self._check(places)
        return self._names_of(places)

    def choose(self) -> tuple[str, ...]:
        """Return the names of the coordinates with the largest smallest determinant over the points.

        Raises
        ------
        ModelError
            If no choice is valid at all points.
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
        """Return the determinants (points) of a choice, with the sign of the first point's counted as positive."""
        found = np.linalg.det(self._motions[:, places])
        return found * (1.0 if found[0] > 0 else -1.0)

    def _check(self, places: Array) -> None:
        """Reject a choice that fails at a point or on the way to it."""
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

    order: Array = qr(motions.T, mode="r", pivoting=True)[1][: motions.shape[1]]
    return order
