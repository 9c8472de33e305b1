"""Matrices as polynomials in uncertain numbers, found from their values: of a block's law, never of a whole system's.

The lowest degrees are taken that meet the values at points of which the interpolation knows nothing, to rounding; where a fit
is asked for, to its tolerance. Entries are compared in units of their rows and columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, FEW_ROUNDINGS, ROUNDING, SAME
from titop.solvers.lft.loops import LinearLoop, Signals, zeros

#: Highest degree that is tried in one parameter, and of a fit.
MOST, MOST_OF_FITS = 4, 8
#: How well a polynomial has to meet the values, in parts of the largest entry of the row or column, whichever is smaller.
_MEETS = 100 * EXACT
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
    """``sum over k of matrices[k] prod over i of delta_i ** exponents[k][i]`` in normalised deltas; vectors too."""

    deltas: tuple[str, ...]
    exponents: tuple[tuple[int, ...], ...]
    matrices: tuple[Array, ...]

    @classmethod
    def affine(cls, value: Array, slopes: Iterable[tuple[str, Array]] = ()) -> Polynomial:
        """Return ``value + sum of slope δ``, a delta by its name with each slope; a constant without slopes."""
        slopes = tuple(slopes)
        exponents = np.vstack([np.zeros((1, len(slopes)), dtype=int), np.eye(len(slopes), dtype=int)])
        matrices = value, *(slope for _, slope in slopes)
        return cls(tuple(delta for delta, _ in slopes), tuple(map(tuple, exponents.tolist())), matrices)

    @property
    def constant(self) -> Array:
        """The value where all deltas are zero."""
        return self.matrices[self.exponents.index((0,) * len(self.deltas))]

    @property
    def is_constant(self) -> bool:
        """Whether it depends on nothing."""
        return not any(any(exponents) for exponents in self.exponents)

    def apply(self, loop: LinearLoop, signal: Signals) -> Signals:
        """Return the matrix times a signal, by Horner's scheme in each delta."""
        return _horner(loop, self.deltas, dict(zip(self.exponents, self.matrices, strict=True)), signal)

    def transform(self, function: Callable[[Array], Array]) -> Polynomial:
        """Return a linear function of the matrix."""
        return self._replace(matrices=tuple(function(matrix) for matrix in self.matrices))

    def times(self, other: Polynomial) -> Polynomial:
        """Return a vector of one number times a matrix."""
        pairs = [(a, b) for a in range(len(self.matrices)) for b in range(len(other.matrices))]
        exponents = tuple(self.exponents[a] + other.exponents[b] for a, b in pairs)
        return Polynomial(
            self.deltas + other.deltas, exponents, tuple(self.matrices[a][0] * other.matrices[b] for a, b in pairs)
        )

    def column(self) -> Polynomial:
        """Return a vector as a matrix of one column."""
        return self.transform(lambda vector: vector[:, None])

    def rows(self, where: slice) -> Polynomial:
        """Return some of the rows."""
        return self.transform(lambda matrix: matrix[where])

    def columns(self, where: slice) -> Polynomial:
        """Return some of the columns."""
        return self.transform(lambda matrix: matrix[:, where])

    def evaluate(self, point: Mapping[str, float]) -> Array:
        """Return the matrix at some values of the deltas."""
        at = np.array([point[delta] for delta in self.deltas])
        total = np.zeros_like(self.constant)
        for exponents, matrix in zip(self.exponents, self.matrices, strict=True):
            total = total + matrix * np.prod(at ** np.array(exponents))
        return total


def _horner(loop: LinearLoop, deltas: tuple[str, ...], terms: dict[tuple[int, ...], Array], signal: Signals) -> Signals:
    height = len(next(iter(terms.values())))
    if signal.is_zero:
        return zeros(height)
    if not deltas:
        return terms[()] @ signal
    delta, rest = deltas[0], deltas[1:]
    by_power = [{e[1:]: m for e, m in terms.items() if e[0] == power} for power in range(max(e[0] for e in terms) + 1)]
    result = zeros(height)
    for power in reversed(range(len(by_power))):
        of_power = by_power[power]
        alone = of_power if len(of_power) == 1 and not any(next(iter(of_power))) else None
        if power and alone is not None and result.is_zero:
            result = loop.term(delta, alone[(0,) * len(rest)], signal)
            continue
        if of_power:
            result += _horner(loop, rest, of_power, signal)
        if power:
            result = loop.term(delta, np.eye(height), result)
    return result


# -- interpolation ----------------------------------------------------------------------------------------------------------


def interpolate(
    function: MatrixFunction,
    deltas: Sequence[str],
    reach: Mapping[str, float] | None = None,
    fits: Mapping[str, float] | None = None,
    vectors: Sequence[int] = (),
) -> Polynomial | Irrational:
    """Return the polynomial that a matrix function is of normalised deltas; what keeps it from being one.

    - `function`: from values of the deltas, in [-1, 1], to a matrix; missing ones are zero. Asked once for each point;
    - `reach`: the function has to be a polynomial so many times as far as the range goes: of a narrow range any is one;
    - `fits`: tolerances of deltas in which the function may be fitted, in parts of the largest entry of row or column;
    - `vectors`: where three columns begin that belong to the components of a vector: of one unit, so that rounding of one shows
      beside the others. Other columns may have a unit each.
    """
    known: dict[tuple[float, ...], Array] = {}

    def at(values: Mapping[str, float]) -> Array:
        key = tuple(values.get(delta, 0.0) for delta in deltas)
        if key not in known:
            known[key] = function(values)
        return known[key]

    for units in (EntryUnits.balance, EntryUnits.unscaled):
        # rows of rounding alone, which have no unit, are told from others by the units in which the matrix is given
        result = _interpolate(at, deltas, reach or {}, fits or {}, partial(units, vectors=vectors))
        if isinstance(result, Polynomial):
            break
    return result


def _interpolate(
    function: MatrixFunction, deltas: Sequence[str], reach: Mapping[str, float], fits: Mapping[str, float], counted: Counted
) -> Polynomial | Irrational:
    grid, tolerance = [], _MEETS
    for delta in deltas:

        def misses(nodes: Array, tests: Array, delta: str = delta) -> float:
            return _miss(function, delta, nodes, tests, counted)

        far = reach.get(delta, 1.0)
        exact = (far * np.linspace(-1.0, 1.0, degree + 1) if degree else np.zeros(1) for degree in range(MOST + 1))
        nodes = next((nodes for nodes in exact if misses(nodes, far * _TESTS) <= _MEETS), None)
        if nodes is None and delta not in fits:
            return Irrational(delta, misses(_chebyshev(_OFFERED), _FIT_TESTS))
        if nodes is None:
            fitting = (_chebyshev(degree) for degree in range(MOST_OF_FITS + 1))
            nodes = next((nodes for nodes in fitting if misses(nodes, _FIT_TESTS) <= fits[delta]), None)
            tolerance += 2 * fits[delta]
        if nodes is None:
            return Irrational(delta, misses(_chebyshev(MOST_OF_FITS), _FIT_TESTS))
        grid.append(nodes)
    result = _through(function, deltas, grid, counted)
    if len(deltas) > 1:
        rng = np.random.default_rng(0)
        for _ in range(2):
            point = dict(zip(deltas, rng.uniform(-1, 1, len(deltas)), strict=True))
            wrong = _misfit(result.evaluate(point), function(point), result.constant, counted)
            if wrong > tolerance:
                return Irrational(deltas[-1], wrong)
    return result


def _through(function: MatrixFunction, deltas: Sequence[str], grid: Sequence[Array], counted: Counted) -> Polynomial:
    """Return the polynomial through the function's values at all combinations of nodes of each delta."""
    values = np.array([function(dict(zip(deltas, point, strict=True))) for point in itertools.product(*grid)])
    units = counted(np.abs(values).max(axis=0))
    values = values.reshape(*(len(nodes) for nodes in grid), *values.shape[1:])
    for axis, nodes in enumerate(grid):
        far = np.abs(nodes).max() or 1.0
        inverse = np.linalg.inv(np.vander(nodes / far, increasing=True)) / (far ** np.arange(len(nodes)))[:, None]
        values = np.moveaxis(np.tensordot(inverse, values, (1, axis)), 0, axis)
    exponents = [*itertools.product(*(range(len(nodes)) for nodes in grid))]
    cleaned = np.where(np.abs(values) / units.rows / units.columns > units.rounding, values, 0.0)
    kept = [e for e in exponents if not any(e) or cleaned[e].any()]
    acting = [k for k in range(len(deltas)) if any(e[k] for e in kept)]
    powers = tuple(tuple(e[k] for k in acting) for e in kept)
    return Polynomial(tuple(deltas[k] for k in acting), powers, tuple(cleaned[e] for e in kept))


def _miss(function: MatrixFunction, delta: str, nodes: Array, tests: Array, counted: Counted) -> float:
    """Return by how much the polynomial in a delta through the values at nodes misses a function at tests."""
    weights = np.vander(tests, len(nodes), increasing=True) @ np.linalg.inv(np.vander(nodes, increasing=True))
    values, reference = np.array([function({delta: x}) for x in nodes]), function({})
    return max(
        _misfit(np.tensordot(w, values, 1), function({delta: x}), reference, counted)
        for w, x in zip(weights, tests.tolist(), strict=True)
    )


def _chebyshev(degree: int) -> Array:
    """Return the nodes at which interpolation is nearly the best approximation of a degree."""
    return np.cos(np.pi * (2 * np.arange(degree + 1) + 1) / (2 * degree + 2))


def misfit(found: Array, right: Array, vectors: Sequence[int]) -> float:
    """Return by how much two matrices differ, in the units in which they are given; `vectors` as in `interpolate`."""
    return _misfit(found, right, right, partial(EntryUnits.unscaled, vectors=vectors))


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


# -- entries compared -------------------------------------------------------------------------------------------------------


class EntryUnits(NamedTuple):
    """Units in which a matrix's entries are compared, and what rounding leaves of those that are zero.

    `rounding` (m, n): counted in these units: little of a column, and all of one that is nowhere more than rounding leaves of
    its row in the others of its vector.
    """

    rows: Array
    columns: Array
    rounding: Array

    @classmethod
    def unscaled(cls, sizes: Array, vectors: Sequence[int]) -> EntryUnits:
        """Return those in which sizes of entries (m, n) are given."""
        return cls._with_rounding(sizes, vectors, np.ones((len(sizes), 1)), np.ones((1, sizes.shape[1])))

    @classmethod
    def balance(cls, sizes: Array, vectors: Sequence[int]) -> EntryUnits:
        """Return those, powers of two, in which entries are of like sizes by least squares of their logarithms.

        What is rounding in them alone, or as given alone, is none: entries that are rounding themselves may bend the units.
        """
        known = (sizes > 0) & ~_is_nothing(sizes, vectors)
        logs = np.log2(sizes, out=np.zeros_like(sizes), where=known)
        rows, columns = _means(logs, known)
        rows, columns = _means(logs, known & (logs - rows - columns > np.log2(ROUNDING)))
        found = cls._with_rounding(sizes, vectors, np.exp2(np.round(rows)), np.exp2(np.round(columns)))
        as_given = cls.unscaled(sizes, vectors).rounding / found.rows / found.columns
        return found._replace(rounding=np.minimum(found.rounding, as_given))

    @classmethod
    def _with_rounding(cls, sizes: Array, vectors: Sequence[int], rows: Array, columns: Array) -> EntryUnits:
        counted, beside = (x / rows / columns for x in (sizes, _beside(sizes, vectors)))
        small = np.where(_is_nothing(sizes, vectors), FEW_ROUNDINGS * beside, ROUNDING * counted.max(axis=0, initial=0.0))
        return cls(rows, columns, small)


#: From sizes of entries to the units in which they are compared.
Counted = Callable[[Array], EntryUnits]


def _beside(sizes: Array, vectors: Sequence[int]) -> Array:
    """Return for each entry the largest of its row among the columns of its vector; zero of columns of no vector."""
    result = np.zeros_like(sizes)
    for start in vectors:
        vector = slice(start, start + 3)
        result[:, vector] = sizes[:, vector].max(axis=1, keepdims=True)
    return result


def _is_nothing(sizes: Array, vectors: Sequence[int]) -> Array:
    """Tell of columns (n) whether they are rounding of others of their vector."""
    return np.all(sizes <= FEW_ROUNDINGS * _beside(sizes, vectors), axis=0)


def _means(logs: Array, known: Array) -> tuple[Array, Array]:
    """Return numbers of rows (m, 1) and columns (1, n) whose sums are nearest to the entries (m, n) that are known."""
    m, counts = len(logs), known.astype(float)
    normal = np.block([[np.diag(counts.sum(axis=1)), counts], [counts.T, np.diag(counts.sum(axis=0))]])
    right = np.concatenate([(logs * counts).sum(axis=axis) for axis in (1, 0)])
    found = np.linalg.solve(normal + SAME * np.eye(len(normal)), right)  # what rows have more, columns may have less
    return found[:m, None], found[None, m:]
