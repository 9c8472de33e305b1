"""Matrices as polynomials in some parameters, found from their values: of a block's law, never of a whole system's.

The lowest degrees are taken that meet the values at points of which the interpolation knows nothing, to rounding; where a fit
is asked for, to its tolerance.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.entry_units import Counted, EntryUnits
from titop.solvers.lft.fractions.loops import Affine, Loop, Signal, zeros

#: Highest degree that is tried in one parameter, and of a fit.
MOST, MOST_OF_FITS = 4, 8
#: How well a polynomial has to meet the values, in parts of the largest entry of the row or column, whichever is smaller.
_EXACT = 1e-10
#: The degree of the fit of which a refusal says how well it does.
_OFFERED = 4

#: Where polynomials are compared with the function: exact ones, and fits.
_TESTS, _FIT_TESTS = np.array([-0.83, 0.61, 0.97]), np.linspace(-1.0, 1.0, 8)

#: From values of deltas to a matrix; those that are missing are zero.
MatrixFunction = Callable[[Mapping[str, float]], Array]


class Irrational(NamedTuple):
    """A delta in which a matrix is no polynomial: by how much a fit of fourth degree misses it, or the best one there is."""

    delta: str
    misfit: float


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

    @property
    def is_constant(self) -> bool:
        """Whether it depends on nothing."""
        return not any(any(exponents) for exponents in self.exponents)

    def mapped(self, function: Callable[[Array], Array]) -> Polynomial:
        """Return a linear function of the matrix."""
        return self._replace(matrices=tuple(function(matrix) for matrix in self.matrices))

    def rows(self, where: slice) -> Polynomial:
        """Return some of the rows."""
        return self._replace(matrices=tuple(matrix[where] for matrix in self.matrices))

    def columns(self, where: slice) -> Polynomial:
        """Return some of the columns."""
        return self._replace(matrices=tuple(matrix[:, where] for matrix in self.matrices))


def interpolated(
    function: MatrixFunction,
    deltas: Sequence[str],
    reach: Mapping[str, float] | None = None,
    fits: Mapping[str, float] | None = None,
    vectors: Sequence[int] = (),
) -> Polynomial | Irrational:
    """Return the polynomial that a matrix function is of normalised deltas; what keeps it from being one.

    Parameters
    ----------
    function : callable
        From values of the deltas, in [-1, 1], to a matrix; missing ones are zero.
    deltas : sequence of str
    reach : mapping of str to float, optional
        So many times as far as the range goes the function has to be a polynomial: of a narrow range any function is one.
    fits : mapping of str to float, optional
        Tolerances of deltas in which the function may be fitted, in parts of the largest entry of row or column.
    vectors : sequence of int, optional
        Where three columns begin that belong to the components of a vector: of one unit, so that rounding of one shows beside
        the others. Other columns may have a unit each.
    """
    exact = _interpolated(function, deltas, reach or {}, fits or {}, partial(EntryUnits.balanced, vectors=vectors))
    if isinstance(exact, Polynomial):
        return exact
    # rows of rounding alone, which have no unit, are told from others by the units in which the matrix is given
    return _interpolated(function, deltas, reach or {}, fits or {}, partial(EntryUnits.given, vectors=vectors))


def _interpolated(
    function: MatrixFunction, deltas: Sequence[str], reach: Mapping[str, float], fits: Mapping[str, float], counted: Counted
) -> Polynomial | Irrational:
    """Return the polynomial, or what keeps it from being one, if entries are compared in certain units."""
    nodes, tolerance = [], _EXACT
    for delta in deltas:
        far = reach.get(delta, 1.0)
        degree = _degree(function, delta, lambda degree, far=far: far * _nodes(degree), far * _TESTS, MOST, _EXACT, counted)  # type: ignore[misc]
        if degree is not None:
            nodes.append(far * _nodes(degree))
            continue
        if delta not in fits:
            return Irrational(delta, _misfit_of(function, delta, _chebyshev(_OFFERED), counted))
        degree = _degree(function, delta, _chebyshev, _FIT_TESTS, MOST_OF_FITS, fits[delta], counted)
        if degree is None:
            return Irrational(delta, _misfit_of(function, delta, _chebyshev(MOST_OF_FITS), counted))
        nodes.append(_chebyshev(degree))
        tolerance += 2 * fits[delta]
    found = _through(function, deltas, nodes, counted)
    if len(deltas) > 1:
        rng = np.random.default_rng(0)
        for _ in range(2):
            point = dict(zip(deltas, rng.uniform(-1, 1, len(deltas)), strict=True))
            wrong = _misfit(evaluated(found, point), function(point), found.constant, counted)
            if wrong > tolerance:
                return Irrational(deltas[-1], wrong)
    return found


def _through(function: MatrixFunction, deltas: Sequence[str], nodes: Sequence[Array], counted: Counted) -> Polynomial:
    """Return the polynomial through the function's values at all combinations of nodes of each delta."""
    values = np.array([function(dict(zip(deltas, point, strict=True))) for point in itertools.product(*nodes)])
    units = counted(np.abs(values).max(axis=0))
    values = values.reshape(*(len(own) for own in nodes), *values.shape[1:])
    for axis, own in enumerate(nodes):
        far = np.abs(own).max() or 1.0
        inverse = np.linalg.inv(np.vander(own / far, increasing=True)) / (far ** np.arange(len(own)))[:, None]
        values = np.moveaxis(np.tensordot(inverse, values, (1, axis)), 0, axis)
    exponents = [*itertools.product(*(range(len(own)) for own in nodes))]
    cleaned = np.where(np.abs(values) / units.rows / units.columns > units.rounding, values, 0.0)
    kept = [e for e in exponents if not any(e) or cleaned[e].any()]
    return Polynomial(tuple(deltas), tuple(kept), tuple(cleaned[e] for e in kept))


def evaluated(polynomial: Polynomial, point: Mapping[str, float]) -> Array:
    """Return the matrix at some values of the deltas."""
    at = np.array([point[delta] for delta in polynomial.deltas])
    total = np.zeros_like(polynomial.constant)
    for exponents, matrix in zip(polynomial.exponents, polynomial.matrices, strict=True):
        total = total + matrix * np.prod(at ** np.array(exponents))
    return total


def _degree(
    function: MatrixFunction,
    delta: str,
    nodes: Callable[[int], Array],
    tests: Array,
    most: int,
    tolerance: float,
    counted: Counted,
) -> int | None:
    """Return the lowest degree whose polynomial through its nodes meets the function at tests; None where none does."""
    right, reference = [function({delta: x}) for x in tests], function({})
    for degree in range(most + 1):
        own = nodes(degree)
        values = [function({delta: x} if x else {}) for x in own]
        if _worst(values, own, tests, right, reference, counted) <= tolerance:
            return degree
    return None


def _misfit_of(function: MatrixFunction, delta: str, nodes: Array, counted: Counted) -> float:
    """Return by how much the polynomial through the values at nodes misses a function."""
    tests = _FIT_TESTS
    right, values = ([function({delta: x}) for x in points] for points in (tests, nodes))
    return _worst(values, nodes, tests, right, function({}), counted)


def _worst(
    values: Sequence[Array], nodes: Array, tests: Array, right: Sequence[Array], reference: Array, counted: Counted
) -> float:
    weights = np.vander(tests, len(nodes), increasing=True) @ np.linalg.inv(np.vander(nodes, increasing=True))
    stacked = np.array(values)
    return max(_misfit(np.tensordot(w, stacked, 1), y, reference, counted) for w, y in zip(weights, right, strict=True))


def _nodes(degree: int) -> Array:
    return np.linspace(-1.0, 1.0, degree + 1) if degree else np.zeros(1)


def _chebyshev(degree: int) -> Array:
    """Return the nodes at which interpolation is nearly the best approximation of a degree."""
    return np.cos(np.pi * (2 * np.arange(degree + 1) + 1) / (2 * degree + 2))


def misfit(found: Array, right: Array, vectors: Sequence[int]) -> float:
    """Return by how much two matrices differ, in the units in which they are given; `vectors` as in `interpolated`."""
    return _misfit(found, right, right, partial(EntryUnits.given, vectors=vectors))


def _misfit(found: Array, right: Array, reference: Array, counted: Counted) -> float:
    """Return by how much two matrices differ, entries judged beside the largest of their row and of their column."""
    if not right.size:
        return 0.0
    sizes = np.maximum(np.abs(right), np.abs(reference))
    units = counted(sizes)
    sizes, wrong = (x / units.rows / units.columns for x in (sizes, np.abs(found - right)))
    beside = np.minimum(sizes.max(axis=1, keepdims=True), sizes.max(axis=0, keepdims=True))
    excess = np.maximum(wrong - units.rounding, 0.0)
    parts = np.divide(excess, beside, out=np.where(excess > 0, np.inf, 0.0), where=beside > 0)
    worst = float(parts.max())
    return worst if np.isfinite(parts).all() else np.inf


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
