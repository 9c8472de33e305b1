"""Linear interpolation between points of a grid or a list: the points around a place, and their weights."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME


class Around(NamedTuple):
    """The points (n,) around a place, and their weights (n,), whose sum is one."""

    points: Array
    weights: Array

    def value(self, table: Array) -> Array:
        """Return the weighted mean of the points' rows (points, ...), as a new array."""
        return np.tensordot(self.weights, table[self.points], 1)

    def configuration(self, table: Array, quaternions: list[int]) -> Array:
        """Return the weighted mean of configurations (points, nq), with unit quaternions.

        Each attitude has two quaternions, which start at entries `quaternions`; that closer to the nearest point's is used.
        """
        near, nearest = table[self.points], int(np.argmax(self.weights))
        for start in quaternions:
            quaternion = near[:, start : start + 4]
            quaternion *= np.where(quaternion @ quaternion[nearest] < 0, -1.0, 1.0)[:, None]
        result: Array = self.weights @ near
        for start in quaternions:
            result[start : start + 4] /= np.linalg.norm(result[start : start + 4])
        return result


class GridInterpolation:
    """Interpolation in a grid (axes' values, rising or falling); an axis with one value covers that value only.

    Called with a place (parameters,) it returns the points around it, None outside.
    """

    def __init__(self, axes: list[Array]) -> None:
        self._axes = [_Axis(axis, 0.0) for axis in axes]
        self._shape = tuple(len(axis) for axis in axes)

    def __call__(self, place: Array) -> Around | None:
        found = [axis.around(value) for axis, value in zip(self._axes, place, strict=True)]
        sides = [each for each in found if each is not None]
        if len(sides) < len(found):
            return None
        corners = np.array(list(product(*(each.points for each in sides)))).T
        weights = np.array(list(product(*(each.weights for each in sides)))).prod(axis=1)
        counts = weights > 0.0
        return Around(np.ravel_multi_index(tuple(corners[:, counts]), self._shape), weights[counts])


class ListInterpolation:
    """Interpolation between points of a list, in any order, within the line, plane or space that they span.

    Called with a place (parameters,) it returns the points around it that are known (k), None outside.
    """

    def __init__(self, points: Array, known: Array) -> None:
        self._known, points = known, points[known]
        self._first, ranges = points[0], np.ptp(points, axis=0)
        self._scale = np.where(ranges > 0, ranges, 1.0)
        unit = (points - self._first) / self._scale
        _, sizes, directions = np.linalg.svd(unit, full_matrices=False)
        self._basis = directions[sizes > SAME]
        places = unit @ self._basis.T
        self._between: _Simplices | _Axis
        self._between = _Simplices(places) if len(self._basis) > 1 else _Axis(places.sum(axis=1), SAME)

    def __call__(self, place: Array) -> Around | None:
        unit = (place - self._first) / self._scale
        along = self._basis @ unit
        if not (np.abs(unit - along @ self._basis) <= SAME).all():
            return None
        found = self._between.around(along)
        return found and Around(self._known[found.points], found.weights)


class _Simplices:
    """Interpolation between points (n, d > 1): in the triangle, tetrahedron, ... of neighbours."""

    def __init__(self, points: Array) -> None:
        from scipy.spatial import Delaunay

        self._scale = np.ptp(points, axis=0)
        self._mesh = Delaunay(points / self._scale)

    def around(self, place: Array) -> Around | None:
        scaled = place / self._scale
        found = int(self._mesh.find_simplex(scaled))
        if found < 0:
            return None
        transform = self._mesh.transform[found]
        weights = transform[:-1] @ (scaled - transform[-1])
        return Around(self._mesh.simplices[found], np.append(weights, 1.0 - weights.sum()))


class _Axis:
    """Interpolation between values on a line, in any order; a single value covers itself only."""

    def __init__(self, values: Array, tolerance: float) -> None:
        self._values, self._order = np.unique(values, return_index=True)
        self._tolerance = tolerance

    def around(self, place: Array | float) -> Around | None:
        value, known = float(np.sum(place)), self._values  # the sum of one coordinate, or of none
        if not known[0] - self._tolerance <= value <= known[-1] + self._tolerance:
            return None
        if len(known) == 1:
            return Around(self._order, np.ones(1))
        k = min(max(int(np.searchsorted(known, value)), 1), len(known) - 1)
        part = (value - known[k - 1]) / (known[k] - known[k - 1])
        return Around(self._order[[k - 1, k]], np.array([1.0 - part, part]))
