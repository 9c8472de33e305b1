"""Linear matrix inequalities in a few unknown matrices, solved by Clarabel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from titop.blocks.basics.errors import missing_extra
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CLOSE, COARSE, NEGLIGIBLE

#: To so much t is found, in parts of N, and relative residuals: roughly, and where t is then not clearly off zero.
TOLERANCES = ((NEGLIGIBLE, 0.1 * CLOSE), (10 * BALANCED, BALANCED))

#: What is clearly off zero.
_CLEAR = COARSE

#: With so many more rows than entries, an order of elimination is enforced.
_MANY_ROWS = 2


class UnknownMatrix(NamedTuple):
    """A symmetric or skew matrix of some size."""

    size: int
    skew: bool = False

    @property
    def pairs(self) -> tuple[Array, Array]:
        """Rows and columns of its independent entries."""
        return np.triu_indices(self.size, 1 if self.skew else 0)

    def matrix(self, entries: Array) -> Array:
        """Return the matrix of independent entries."""
        rows, columns = self.pairs
        result = np.zeros((self.size, self.size))
        result[columns, rows] = -entries if self.skew else entries
        result[rows, columns] = entries
        return result

    def fold(self, full: Array) -> Array:
        """Return derivatives (entries, ...) by the independent entries, from those (size, size, ...) by all."""
        rows, columns = self.pairs
        upper, lower = full[rows, columns], full[columns, rows]
        if self.skew:
            return upper - lower
        lower[rows == columns] = 0.0
        return upper + lower


class Term(NamedTuple):
    """``L^T U R + R^T U^T L`` of the unknown at a place in their list."""

    place: int
    L: Array
    R: Array


class Inequality(NamedTuple):
    """``sum of terms + t N < 0``."""

    terms: tuple[Term, ...]
    N: Array

    def value(self, unknowns: Sequence[Array]) -> Array:
        """Return the sum of its terms."""
        half = np.sum([term.L.T @ unknowns[term.place] @ term.R for term in self.terms], axis=0)
        return np.asarray(half + half.T)


class Solution(NamedTuple):
    """The unknowns, the largest t found, and what it may gain at most."""

    unknowns: list[Array]
    t: float
    gap: float


def greatest_decrease(
    unknowns: Sequence[UnknownMatrix],
    inequalities: Sequence[Inequality],
    size: Sequence[Array],
    tolerances: Sequence[tuple[float, float]] = TOLERANCES,
) -> Solution:
    """Find unknowns for which the terms lie below zero as far as they can: t as large as possible.

    What is found is to be verified: the inequalities hold but for tolerances, and the search may end early.

    `inequalities`: all N are positive, or zero; `size`: what traces of the products of the unknowns with these matrices sum up
    to is their sum of squares: unknowns are known but for a factor; `tolerances`: of t, in parts of N, and of residuals, one
    pair after the other until t is clearly off zero.

    Raises `ModelError` if Clarabel is not installed.
    """
    clarabel = _clarabel()
    A = sparse.vstack([_by_entries(own, unknowns) for own in inequalities], format="csc")
    weights = np.concatenate([*(unknown.fold(weight) for unknown, weight in zip(unknowns, size, strict=True)), [0.0]])
    total = sum(float(np.sum(weight**2)) for weight in size)
    # the size gives one entry: as an equation of its own it would be a pivot near zero
    given = int(np.abs(weights).argmax())
    kept = np.delete(np.arange(len(weights)), given)
    column = A[:, [given]] / weights[given]
    A = (A[:, kept] - column @ sparse.csr_array(weights[None, kept])).tocsc()
    A.sort_indices()
    highest_t = -np.eye(1, len(kept), len(kept) - 1)[0]
    cones = [clarabel.PSDTriangleConeT(len(each.N)) for each in inequalities]
    b = -total * column.toarray().ravel()
    for each in tolerances:
        found = clarabel.DefaultSolver(_no_squares(A), highest_t, A, b, cones, _settings(clarabel, *each)).solve()
        if abs(found.x[-1]) > _CLEAR:
            break
    x = np.insert(found.x, given, 0.0)
    x[given] = (total - weights @ x) / weights[given]
    ends = np.cumsum([0, *(len(unknown.pairs[0]) for unknown in unknowns)])
    matrices = [unknown.matrix(x[i:j]) for unknown, (i, j) in zip(unknowns, pairwise(ends), strict=True)]
    return Solution(matrices, float(x[-1]), abs(found.obj_val - found.obj_val_dual))


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        expected = "a convex solver; tt.mu and tt.robust_stability, for parameters that are constant, need none"
        raise missing_extra("clarabel", "robust", "titop.lyapunov_stability and titop.lpvsyn", expected) from error
    return clarabel


def _settings(clarabel: Any, gap: float, residual: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = settings.presolve_enable = settings.chordal_decomposition_enable = False
    settings.max_threads = 1
    settings.direct_solve_method = "faer"  # it takes dense parts at once: 'qdldl' needs 13 times as long
    settings.tol_gap_abs = settings.tol_gap_rel = gap
    settings.tol_feas = residual
    return settings


def _triangle(n: int) -> tuple[Array, Array, Array]:
    """Return rows, columns and weights of the entries of symmetric matrices: upper triangles by columns, norms the same."""
    columns, rows = np.tril_indices(n)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))


def _by_entries(inequality: Inequality, unknowns: Sequence[UnknownMatrix]) -> Any:
    """Return the derivatives of an inequality's triangle by the entries of all unknowns and t, sparse."""
    rows, columns, weights = _triangle(len(inequality.N))
    parts = [np.zeros((len(unknown.pairs[0]), len(rows))) for unknown in unknowns]
    for place, L, R in inequality.terms:
        full = L[:, None, rows] * R[None, :, columns] + L[:, None, columns] * R[None, :, rows]
        parts[place] += unknowns[place].fold(full * weights)
    by_t = inequality.N[None, rows, columns] * weights
    return sparse.hstack([sparse.csc_array(part.T) for part in (*parts, by_t)])


def _no_squares(A: Any) -> Any:
    """Return the squares in the objective: none.

    Where many inequalities share their unknowns, zeros are stored for all of them. They make the solver's ordering eliminate
    the inequalities first, each by itself: with 24 of 29 rows in 1305 entries, a step takes a seventh of the time.
    """
    rows, n = A.shape
    if rows < _MANY_ROWS * n:
        return sparse.csc_matrix((n, n))
    upper, *_ = _triangle(n)
    ends = np.concatenate([[0], np.cumsum(np.arange(1, n + 1))])
    return sparse.csc_matrix((np.zeros(len(upper)), upper, ends), shape=(n, n))
