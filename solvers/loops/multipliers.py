"""The linear algebra of rigid closures: independent constraints, and what they carry.

Everything accepts complex numbers (choices look at real parts), for derivatives by complex steps.

Whether constraints are independent is a matter of geometry, not of masses: it is judged on the Jacobian J of the constraints,
their lengths in units of the system's size. A constraint counts as dependent when less than a millionth of the largest one is
left of it once its projections on others are removed. Rounding leaves about 1e-15; states that an integrator has moved off the
closures by d leave d of a redundant constraint, so that a simulation holds the rank that the closed system has. A mechanism
within a millionth of a singular configuration is taken to be in it; its accelerations would be known to four digits at best.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from titop.blocks.spatial import Array
from titop.solvers.loops.coupling import coupled_blocks

#: Squares: what is left of a row, over the largest row. The kernels hold the same number.
_DEPENDENT = 1e-12
#: Rows of which as much is left but for this part are taken in their order: rounding decides nothing. The kernels hold it too.
_TIE = 1e-9


def independent_rows(matrix: Array, rank: int | None = None) -> NDArray[np.intp]:
    """Return independent rows of a matrix, at most `rank`, by pivoting: always the row of which most is left."""
    if (rank is None or rank >= len(matrix)) and _have_columns_of_their_own(matrix):
        return np.arange(len(matrix))
    return np.array([row for row, _ in _pivots(matrix, rank)], dtype=np.intp)


def _have_columns_of_their_own(matrix: Array) -> bool:
    """Return whether each row has a column in which no other has an entry: so much is left of it, whatever the others are.

    Most gears have: the driven coordinate, if it drives nothing itself.
    """
    squares = np.real(matrix) ** 2
    own = squares[:, np.count_nonzero(squares, axis=0) == 1].max(axis=1, initial=0.0)
    return bool((own > _DEPENDENT * squares.sum(axis=1).max(initial=0.0)).all())


def independence(matrix: Array, rank: int) -> float:
    """Return what is left of the last of `rank` independent rows, relative to the largest; 0 if there are fewer, 1 for none."""
    left = [square for _, square in _pivots(matrix, rank)]
    return float(np.sqrt(left[-1] / max(left))) if 0 < len(left) == rank else float(rank == 0)


def _pivots(matrix: Array, rank: int | None) -> Iterator[tuple[int, float]]:
    """Yield independent rows, at most `rank`, each with what is left of it (squared) beside those before."""
    matrix = np.real(matrix)
    blocks = [_block_pivots(matrix[np.ix_(*block)], block.rows) for block in coupled_blocks(matrix)]
    largest = 0.0
    for count, (row, most) in enumerate(heapq.merge(*blocks, key=lambda pivot: (-pivot[1], pivot[0]))):
        largest = max(largest, most)
        if count == rank or not most > _DEPENDENT * largest:
            return
        yield row, most


def _block_pivots(rest: Array, numbers: NDArray[np.intp]) -> Iterator[tuple[int, float]]:
    """Yield the rows of a block in the order of elimination by their `numbers`, each with what is left of it (squared)."""
    squares = (rest * rest).sum(axis=1)
    for _ in range(min(rest.shape)):
        p = int((squares >= (1.0 - _TIE) * squares.max()).argmax())
        taken, most = rest[p].copy(), squares[p]
        yield int(numbers[p]), most
        if not most > 0:
            return
        shares = rest @ taken / most
        touched = np.flatnonzero(shares)
        rest[touched] -= np.outer(shares[touched], taken)
        rest[p] = 0.0
        squares[touched] = (rest[touched] * rest[touched]).sum(axis=1)


def redundant_rows(matrix: Array) -> list[int]:
    """Return the rows that depend on those above them."""
    least = np.sqrt(_DEPENDENT) * np.linalg.norm(matrix, axis=1).max(initial=0.0)
    independent = np.zeros(len(matrix), dtype=bool)
    for block in coupled_blocks(matrix):
        independent[block.rows] = _independent_of_those_above(matrix[np.ix_(*block)], least)
    return [int(row) for row in np.flatnonzero(~independent)]


def _independent_of_those_above(block: Array, least: float) -> NDArray[np.bool_]:
    """Return of which rows more than `least` is left beside those above them."""
    span, rank = np.zeros((min(block.shape), block.shape[1])), 0
    independent = np.zeros(len(block), dtype=bool)
    for number, row in enumerate(block):
        rest = row
        for _ in range(2):  # the second time for rounding
            rest = rest - span[:rank].T @ (span[:rank] @ rest)
        size = float(np.linalg.norm(rest))
        if size > least and rank < len(span):
            span[rank] = rest / size
            independent[number] = True
            rank += 1
    return independent


def least_solution(matrix: Array, right: Array, rank: int | None = None) -> Array:
    """Return the x of least norm that solves independent rows of ``matrix x = right``, at most `rank` of them."""
    x = np.zeros((matrix.shape[1], *right.shape[1:]), dtype=np.result_type(matrix, right, float))
    for rows, columns in _independent_blocks(matrix, rank):
        kept = matrix[np.ix_(rows, columns)]
        x[columns] = kept.T @ np.linalg.solve(kept @ kept.T, right[rows])
    return x


def least_step(matrix: Array, right: Array, cut: float) -> Array:
    """Return the x of least norm that solves ``matrix x = right`` by least squares.

    Directions that count for less than the part `cut` of the largest are left alone.
    """
    x, largest, parts = np.zeros(matrix.shape[1]), 0.0, []
    for rows, columns in coupled_blocks(matrix):
        left, sizes, directions = np.linalg.svd(matrix[np.ix_(rows, columns)], full_matrices=False)
        largest = max(largest, sizes[0])
        parts.append((columns, left.T @ right[rows], sizes, directions))
    for columns, along, sizes, directions in parts:
        counts = sizes > cut * largest
        x[columns] = directions[counts].T @ (along[counts] / sizes[counts])
    return x


def allowed_part(matrix: Array, x: Array, rank: int) -> Array:
    """Return the part of x beside `rank` independent rows of a matrix, ``matrix x = 0``; exact zeros where they leave none."""
    x = x.copy()
    for rows, columns in _independent_blocks(matrix, rank):
        if len(rows) == len(columns):
            x[columns] = 0.0
        span = np.linalg.qr(matrix[np.ix_(rows, columns)].T)[0]
        for _ in range(2):  # the second time for rounding
            x[columns] -= span @ (span.T @ x[columns])
    return x


def _independent_blocks(matrix: Array, rank: int | None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the independent rows of each block, of all at most `rank`, and its columns."""
    chosen = np.zeros(len(matrix), dtype=bool)
    chosen[independent_rows(matrix, rank)] = True
    for rows, columns in coupled_blocks(np.real(matrix)):
        yield rows[chosen[rows]], columns


def share_efforts(
    jacobian: Array, weights: Array, efforts: Array, unknown: Array, rank: int | None, by_passive: bool = False
) -> tuple[Array, Array, float]:
    """Split efforts between actuators and closures: ``efforts = tau + J^T lambda``.

    Parameters
    ----------
    jacobian : (k, nv) array
    weights : (k,) array
        Bring its rows to one unit.
    efforts : (nv,) array
        What is needed in all, less what is known to be applied.
    unknown : (nv,) bool array
        Where tau may be other than zero.
    rank : int or None
        Number of independent rows of the Jacobian at most.
    by_passive : bool
        Whether these are chosen, where enough are, by what is left of them on the coordinates without unknown efforts: as the
        accelerations of hybrid dynamics choose them.

    Returns
    -------
    tau : (nv,) array
        Of least norm.
    multipliers : (k,) array
        Of least norm beside this tau.
    unbalanced : float
        The largest effort that neither can provide, relative to the largest of `efforts`.
    """
    weighted, passive = weights[:, None] * jacobian, ~unknown
    rows = independent_rows(weighted, rank)
    if by_passive and len(chosen := independent_rows(weighted[:, passive], rank)) == len(rows):
        rows = chosen
    if len(rows) == len(jacobian):  # the two usual cases, in which the multipliers follow from one small system
        if unknown.all():  # tau is what is left beside the span of the constraints' rows
            carried = weights * np.linalg.solve(weighted @ weighted.T, weighted @ efforts)
            return efforts - jacobian.T @ carried, carried, 0.0
        if passive.sum() == len(rows) == len(independent_rows(weighted[:, passive])):  # the closures carry the passive ones
            carried = weights * np.linalg.solve(weighted[:, passive].T, efforts[passive])
            return np.where(unknown, efforts - jacobian.T @ carried, 0.0), carried, 0.0
    return _share_in_general(jacobian, weighted, efforts, unknown, rows)


def _share_in_general(
    jacobian: Array, weighted: Array, efforts: Array, unknown: Array, rows: NDArray[np.intp]
) -> tuple[Array, Array, float]:
    """Split efforts as `share_efforts` does, by the motions that the closures leave; `rows` are independent constraints."""
    n = len(efforts)
    dependent = independent_rows(weighted[rows].T, len(rows))
    others = np.delete(np.arange(n), dependent)
    # columns of `free` are the motions that the closures leave
    free = np.zeros((n, len(others)), dtype=jacobian.dtype)
    free[others] = np.eye(len(others))
    free[dependent] = -np.linalg.solve(jacobian[np.ix_(rows, dependent)], jacobian[np.ix_(rows, others)])
    needed = free.T @ efforts
    tau = np.zeros(n, dtype=np.result_type(efforts, jacobian))
    tau[unknown] = least_solution(free[unknown].T, needed)
    missing = np.real(needed - free.T @ tau)
    unbalanced = np.abs(missing).max(initial=0.0) / max(np.abs(np.real(efforts)).max(initial=0.0), np.finfo(float).tiny)
    multipliers = least_solution(jacobian[:, dependent].T, (efforts - tau)[dependent], len(dependent))
    return tau, multipliers, float(unbalanced)
