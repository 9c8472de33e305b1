"""Matrices that are polynomials in some parameters, found from their values: of a block's law, never of a whole system's.

The lowest degrees are taken that meet the values at points of which the interpolation knows nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.loops import Affine, Loop, Signal, zeros

#: Highest degree that is tried in one parameter.
MOST = 4
#: How well a polynomial has to meet the values, in parts of the largest entry of the row or column, whichever is smaller.
_EXACT = 1e-10
#: What rounding leaves of entries that are zero, in parts of the largest of their column.
_ROUNDING = 1e-13


class Polynomial(NamedTuple):
    """``sum over k of matrices[k] prod over i of delta_i ** exponents[k][i]`` in normalised deltas."""

    deltas: tuple[str, ...]
    exponents: tuple[tuple[int, ...], ...]
    matrices: tuple[Array, ...]

    @property
    def constant(self) -> Array:
        """The value where all deltas are zero."""
        return self.matrices[self.exponents.index((0,) * len(self.deltas))]

    def applied(self, loop: Loop, signal: Signal) -> Signal:
        """Return the matrix times a signal, by Horner's scheme in each delta."""
        return _horner(loop, self.deltas, dict(zip(self.exponents, self.matrices, strict=True)), signal)

    @classmethod
    def constant_of(cls, matrix: Array) -> Polynomial:
        """Return a matrix that depends on nothing."""
        return cls((), ((),), (matrix,))

    @classmethod
    def of(cls, vector: Affine) -> Polynomial:
        """Return a vector as a column."""
        exponents = [tuple(int(k == j) for k in range(len(vector.slopes))) for j in range(len(vector.slopes))]
        matrices = [slope[:, None] for _, slope in vector.slopes]
        deltas = tuple(delta for delta, _ in vector.slopes)
        return cls(deltas, ((0,) * len(deltas), *exponents), (vector.value[:, None], *matrices))

    def rows(self, where: slice) -> Polynomial:
        """Return some of the rows."""
        return self._replace(matrices=tuple(matrix[where] for matrix in self.matrices))

    def columns(self, where: slice) -> Polynomial:
        """Return some of the columns."""
        return self._replace(matrices=tuple(matrix[:, where] for matrix in self.matrices))


def interpolated(function: Callable[[Mapping[str, float]], Array], deltas: Sequence[str]) -> Polynomial | str:
    """Return the polynomial that a matrix function is of normalised deltas; the name of one in which it is none.

    Parameters
    ----------
    function : callable
        From values of the deltas, in [-1, 1], to a matrix; missing ones are zero.
    deltas : sequence of str
    """
    degrees = []
    for delta in deltas:
        degree = _degree(function, delta)
        if degree is None:
            return delta
        degrees.append(degree)
    nodes = [_nodes(degree) for degree in degrees]
    values = np.array([function(dict(zip(deltas, point, strict=True))) for point in itertools.product(*nodes)])
    values = values.reshape(*(len(own) for own in nodes), *values.shape[1:])
    for axis, own in enumerate(nodes):
        values = np.moveaxis(np.tensordot(np.linalg.inv(np.vander(own, increasing=True)), values, (1, axis)), 0, axis)
    exponents = [*itertools.product(*(range(degree + 1) for degree in degrees))]
    size = np.abs(values).max(initial=0.0)
    kept = [e for e in exponents if not any(e) or np.abs(values[e]).max(initial=0.0) > 1e-14 * size]
    found = Polynomial(tuple(deltas), tuple(kept), tuple(_cleaned(values[e]) for e in kept))
    if len(deltas) > 1:
        rng = np.random.default_rng(0)
        for _ in range(2):
            point = dict(zip(deltas, rng.uniform(-1, 1, len(deltas)), strict=True))
            if not _meets(evaluated(found, point), function(point), found.constant):
                return deltas[-1]
    return found


def evaluated(polynomial: Polynomial, point: Mapping[str, float]) -> Array:
    """Return the matrix at some values of the deltas."""
    at = np.array([point[delta] for delta in polynomial.deltas])
    total = np.zeros_like(polynomial.constant)
    for exponents, matrix in zip(polynomial.exponents, polynomial.matrices, strict=True):
        total = total + matrix * np.prod(at ** np.array(exponents))
    return total


def _degree(function: Callable[[Mapping[str, float]], Array], delta: str) -> int | None:
    rng = np.random.default_rng(1)
    tests = [-0.83, rng.uniform(0.3, 0.9)]
    right = [function({delta: x}) for x in tests]
    reference = function({})
    for degree in range(MOST + 1):
        own = _nodes(degree)
        values = np.array([function({delta: x} if x else {}) for x in own])
        weights = np.vander(tests, degree + 1, increasing=True) @ np.linalg.inv(np.vander(own, increasing=True))
        if all(_meets(np.tensordot(w, values, 1), y, reference) for w, y in zip(weights, right, strict=True)):
            return degree
    return None


def _nodes(degree: int) -> Array:
    return np.linspace(-1.0, 1.0, degree + 1) if degree else np.zeros(1)


def _meets(found: Array, right: Array, reference: Array) -> bool:
    """Tell whether two matrices agree, entries judged beside the largest of their row and of their column."""
    if not right.size:
        return True
    sizes = np.maximum(np.abs(right), np.abs(reference))
    rows, columns = sizes.max(axis=1, keepdims=True), sizes.max(axis=0, keepdims=True)
    return bool((np.abs(found - right) <= _EXACT * np.minimum(rows, columns) + _ROUNDING * columns).all())


def _cleaned(matrix: Array) -> Array:
    """Return a matrix without what rounding left of zeros."""
    return np.where(np.abs(matrix) > 1e-13 * np.abs(matrix).max(initial=0.0), matrix, 0.0)


def _horner(loop: Loop, deltas: tuple[str, ...], terms: dict[tuple[int, ...], Array], signal: Signal) -> Signal:
    height = len(next(iter(terms.values())))
    if signal.is_zero:
        return zeros(height)
    if not deltas:
        return terms[()] @ signal
    delta, rest = deltas[0], deltas[1:]
    by_power = [{e[1:]: m for e, m in terms.items() if e[0] == power} for power in range(max(e[0] for e in terms) + 1)]
    result = zeros(height)
    for power in reversed(range(len(by_power))):
        own = by_power[power]
        alone = own if len(own) == 1 and not any(next(iter(own))) else None
        if power and alone is not None and result.is_zero:
            result = loop.term(delta, alone[(0,) * len(rest)], signal)
            continue
        if own:
            result += _horner(loop, rest, own, signal)
        if power:
            result = loop.term(delta, np.eye(height), result)
    return result
