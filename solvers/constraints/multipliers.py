"""The linear algebra of rigid closures: independent constraints, and what they carry.

Everything accepts complex numbers (choices look at real parts), for derivatives by complex steps.

Whether constraints are independent is a matter of geometry, not of masses: it is judged on the Jacobian J of the constraints,
lengths of constraints and coordinates in units of the system's size. A constraint counts as dependent when less than a
millionth of the largest one is left of it once its projections on others are removed. Rounding leaves about 1e-15; states that
an integrator has moved off the closures by d leave d of a redundant constraint, so that a simulation holds the rank that the
closed system has. A mechanism within a millionth of a singular configuration is taken to be in it; its accelerations would be
known to four digits at best.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, LOOSE_RANK, SAME, TINY
from titop.solvers.constraints.coupling import Coupled, coupled_blocks
from titop.solvers.constraints.following import Following, following

#: Squares: what is left of a row, over the largest row, if it is dependent, and if it is rounding. The kernels hold both too.
DEPENDENT = LOOSE_RANK**2
ROUNDED = CANCELLED**2
#: How often solutions in numbers of unlike units are refined: each time by what squares of the units' ratio leave of rounding.
_REFINED = 4
#: Rows of a block from which on it saves time to leave those alone that a pivot does not touch.
_MANY = 30


def independent_rows(matrix: Array, rank: int | None = None, gears: int = 0, least: float = DEPENDENT) -> NDArray[np.intp]:
    """Return independent rows of a matrix, at most `rank`, by pivoting: always the row of which most is left.

    The last rows may be `gears` (see `following`): those that take a coordinate out come first, whatever is left of them.
    `least` is the square, over the largest row, that independent ones keep.
    """
    taken, left = _split(matrix, gears)
    largest = _longest(matrix) if gears else 0.0
    more = None if rank is None else max(rank - len(taken.gears), 0)
    if not gears and (rank is None or rank >= len(matrix)) and _have_columns_of_their_own(matrix):
        return np.arange(len(matrix))
    pivots = [left[row] for row, _ in _pivots(taken.folded(matrix[left]), more, largest, least)]
    return np.concatenate([np.sort(len(matrix) - gears + taken.gears)[:rank], np.array(pivots, dtype=np.intp)])


def dependent_columns(matrix: Array, rows: NDArray[np.intp], gears: int = 0, least: float = DEPENDENT) -> NDArray[np.intp]:
    """Return as many columns as there are `rows`, independent ones of a matrix, that follow from all others.

    Followers of gears, if the last rows are `gears`, then by pivoting. `least` as for `independent_rows`.
    """
    taken, left = _split(matrix, gears)
    others = taken.folded(matrix[np.intersect1d(rows, left)])
    return np.concatenate([taken.followers, independent_rows(others.T, len(others), least=least)])


def _split(matrix: Array, gears: int) -> tuple[Following, NDArray[np.intp]]:
    """Return what the gears, the last rows of a matrix, take out, and all rows but these gears."""
    first = len(matrix) - gears
    taken = following(matrix[first:])
    if not gears:
        return taken, np.arange(len(matrix))
    return taken, np.delete(np.arange(len(matrix)), first + taken.gears)


def _longest(matrix: Array) -> float:
    """Return the largest square of a row."""
    return float((np.real(matrix) ** 2).sum(axis=1).max(initial=0.0))


def _have_columns_of_their_own(matrix: Array) -> bool:
    """Return whether each row has a column in which no other has an entry: so much is left of it, whatever the others are.

    Most gears have: the driven coordinate, if it drives nothing itself.
    """
    squares = np.real(matrix) ** 2
    own = squares[:, np.count_nonzero(squares, axis=0) == 1].max(axis=1, initial=0.0)
    return bool((own > DEPENDENT * squares.sum(axis=1).max(initial=0.0)).all())


def independence(matrix: Array, rank: int, gears: int = 0, least: float = DEPENDENT) -> float:
    """Return what is left of the last of `rank` independent rows, relative to the largest; 0 if there are fewer, 1 for none.

    Of the last rows, if they are `gears`, those count that take no coordinate out. `least` as for `independent_rows`.
    """
    taken, rows = _split(matrix, gears)
    more = rank - len(taken.gears)
    left = [square for _, square in _pivots(taken.folded(matrix[rows]), more, 0.0, least)]
    return float(np.sqrt(left[-1] / max(_longest(matrix), *left))) if 0 < len(left) == more else float(more == 0)


def _pivots(matrix: Array, rank: int | None, largest: float, least: float) -> Iterator[tuple[int, float]]:
    """Yield independent rows, at most `rank`, each with what is left of it (squared) beside those before.

    The `largest` square beside which it counts may be that of a row which is not among these.
    """
    return _pivots_of_blocks(np.real(matrix), coupled_blocks(np.real(matrix)), rank, largest, least)


def _pivots_of_blocks(
    matrix: Array, coupled: Sequence[Coupled], rank: int | None, largest: float, least: float = DEPENDENT
) -> Iterator[tuple[int, float]]:
    blocks = [_block_pivots(matrix[np.ix_(*block)], block.rows) for block in coupled]
    for count, (row, most) in enumerate(heapq.merge(*blocks, key=lambda pivot: (-pivot[1], pivot[0]))):
        largest = max(largest, most)
        if count == rank or not most > least * largest:
            return
        yield row, most


def _block_pivots(rest: Array, numbers: NDArray[np.intp]) -> Iterator[tuple[int, float]]:
    """Yield the rows of a block in the order of elimination by their `numbers`, each with what is left of it (squared)."""
    squares = (rest * rest).sum(axis=1)
    for _ in range(min(rest.shape)):
        p = int((squares >= (1.0 - SAME) * squares.max()).argmax())
        taken, most = rest[p].copy(), squares[p]
        yield int(numbers[p]), most
        if not most > 0:
            return
        shares = rest @ taken / most
        touched = np.flatnonzero(shares) if len(rest) > _MANY else slice(None)
        rest[touched] -= shares[touched, None] * taken
        rest[p] = 0.0
        squares[touched] = (rest[touched] * rest[touched]).sum(axis=1)


def redundant_rows(matrix: Array) -> list[int]:
    """Return the rows that depend on those above them."""
    least = np.sqrt(DEPENDENT) * np.linalg.norm(matrix, axis=1).max(initial=0.0)
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


def least_solution(
    matrix: Array,
    right: Array,
    rank: int | None = None,
    gears: int = 0,
    sizes: Array | None = None,
    least: float = DEPENDENT,
) -> Array:
    """Return the x of least norm that solves independent rows of ``matrix x = right``, at most `rank` of them.

    The last rows may be `gears`: they are solved first, the others by the coordinates that then lead. Without these, rows may
    be judged with their columns over `sizes`: numbers of unlike units, whose norm is taken as they are. `least` as for
    `independent_rows`.
    """
    return LeastSolutions(matrix, rank, gears, sizes, least)(right)


class LeastSolutions:
    """`least_solution` of one matrix for several right-hand sides."""

    def __init__(
        self,
        matrix: Array,
        rank: int | None = None,
        gears: int = 0,
        sizes: Array | None = None,
        least: float = DEPENDENT,
    ) -> None:
        self._matrix, self._first, self._rounds = matrix, len(matrix) - gears, 1 if sizes is None else _REFINED
        self._taken, self._left = _split(matrix, gears)
        folded, self._parts = self._taken.folded(matrix[self._left]), []
        judged, largest = (folded, _longest(matrix)) if sizes is None else (folded / sizes, _longest(matrix / sizes))
        for rows, columns in _independent_blocks(judged, rank, self._taken, largest, least):
            kept = folded[np.ix_(rows, columns)]
            self._parts.append((rows, columns, kept.T, kept @ kept.T))

    def __call__(self, right: Array) -> Array:
        """Return the x of least norm."""
        meshing = self._taken.least_meshing(right[self._first :])
        right = right[self._left] - self._matrix[self._left] @ meshing
        x = np.zeros((self._matrix.shape[1], *right.shape[1:]), dtype=np.result_type(self._matrix, right, float))
        for rows, columns, transposed, gram in self._parts:
            for _ in range(self._rounds):
                x[columns] += transposed @ np.linalg.solve(gram, right[rows] - transposed.T @ x[columns])
        return meshing + self._taken.unfolded(x)


def least_step(matrix: Array, right: Array, cut: float, gears: int = 0) -> Array:
    """Return the x of least norm that solves ``matrix x = right`` by least squares.

    Directions that count for less than the part `cut` of the largest are left alone. The last rows may be `gears`: those that
    take a coordinate out are solved first.
    """
    taken, left = _split(matrix, gears)
    meshing = taken.least_meshing(right[len(matrix) - gears :])
    folded, right = taken.folded(matrix[left]), right[left] - matrix[left] @ meshing
    x, parts = np.zeros(matrix.shape[1]), []
    largest = float(np.sqrt(_longest(matrix))) if gears else 0.0
    for rows, columns in coupled_blocks(folded):
        along, sizes, directions = np.linalg.svd(folded[np.ix_(rows, columns)], full_matrices=False)
        largest = max(largest, sizes[0])
        parts.append((columns, along.T @ right[rows], sizes, directions))
    for columns, wanted, sizes, directions in parts:
        counts = sizes > cut * largest
        x[columns] = directions[counts].T @ (wanted[counts] / sizes[counts])
    return meshing + taken.unfolded(x)


def allowed_part(matrix: Array, x: Array, rank: int, gears: int = 0) -> Array:
    """Return the part of x beside `rank` independent rows of a matrix, ``matrix x = 0``; exact zeros where they leave none.

    The last rows may be `gears`.
    """
    taken, left = _split(matrix, gears)
    folded, x = taken.folded(matrix[left]), taken.folded(x.copy())
    for rows, columns in _independent_blocks(folded, rank, taken, _longest(matrix)):
        if len(rows) == len(columns):
            x[columns] = 0.0
        span = np.linalg.qr(folded[np.ix_(rows, columns)].T)[0]
        for _ in range(2):  # the second time for rounding
            x[columns] -= span @ (span.T @ x[columns])
    return taken.unfolded(x)


def _independent_blocks(
    folded: Array, rank: int | None, taken: Following, largest: float, least: float = DEPENDENT
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield of the constraints beside the gears that are `taken` out the independent ones of each block, and its columns."""
    chosen, more = np.zeros(len(folded), dtype=bool), None if rank is None else rank - len(taken.gears)
    blocks = coupled_blocks(folded)
    chosen[[row for row, _ in _pivots_of_blocks(np.real(folded), blocks, more, largest, least)]] = True
    for rows, columns in blocks:
        yield rows[chosen[rows]], columns


def share_efforts(
    jacobian: Array,
    weights: Array,
    sizes: Array,
    efforts: Array,
    unknown: Array,
    rank: int | None,
    gears: int = 0,
    by_passive: bool = False,
    least: float = DEPENDENT,
) -> tuple[Array, Array, float]:
    """Split efforts between actuators and closures: ``efforts = tau + J^T lambda``.

    Parameters
    ----------
    jacobian : (k, nv) array
    weights : (k,) array
        Bring its rows to one unit.
    sizes : (nv,) array
        And its columns: what counts as one of each coordinate.
    efforts : (nv,) array
        What is needed in all, less what is known to be applied.
    unknown : (nv,) bool array
        Where tau may be other than zero.
    rank : int or None
        Number of independent rows of the Jacobian at most.
    gears : int
        How many of its rows, the last ones, are gears.
    by_passive : bool
        Whether these are chosen, where enough are, by what is left of them on the coordinates without unknown efforts: as the
        accelerations of hybrid dynamics choose them.
    least : float
        As for `independent_rows`, of rows on the coordinates without unknown efforts, and of motions on the others.

    Returns
    -------
    tau : (nv,) array
        Of least norm.
    multipliers : (k,) array
        Of least norm beside this tau.
    unbalanced : float
        The largest effort that neither can provide, relative to the largest of `efforts`, all times their coordinates' `sizes`.
    """
    weighted, passive = weights[:, None] * jacobian, ~unknown
    comparable = weighted * sizes
    rows = independent_rows(comparable, rank, gears)
    if by_passive and len(chosen := independent_rows(comparable[:, passive], rank, gears, least)) == len(rows):
        rows = chosen
    if len(rows) == len(jacobian):  # the two usual cases, in which the multipliers follow from one small system
        if unknown.all():  # tau is what is left beside the span of the constraints' rows
            carried = weights * np.linalg.solve(weighted @ weighted.T, weighted @ efforts)
            return efforts - jacobian.T @ carried, carried, 0.0
        if (
            passive.sum() == len(rows) == len(independent_rows(comparable[:, passive], gears=gears, least=least))
        ):  # the closures carry the passive ones
            carried = weights * np.linalg.solve(weighted[:, passive].T, efforts[passive])
            return np.where(unknown, efforts - jacobian.T @ carried, 0.0), carried, 0.0
    dependent = dependent_columns(comparable, rows, gears)
    return _share_in_general(jacobian, weights, sizes, efforts, unknown, rows, dependent, least)


def _share_in_general(
    jacobian: Array,
    weights: Array,
    sizes: Array,
    efforts: Array,
    unknown: Array,
    rows: NDArray[np.intp],
    dependent: NDArray[np.intp],
    least: float,
) -> tuple[Array, Array, float]:
    """Split efforts as `share_efforts` does, by the motions that the closures leave.

    `rows` are independent constraints, which as many `dependent` coordinates follow.
    """
    n = len(efforts)
    others = np.delete(np.arange(n), dependent)
    # columns of `free` are the motions that the closures leave, each by what counts as one of its coordinate
    free = np.zeros((n, len(others)), dtype=jacobian.dtype)
    free[others] = np.diag(sizes[others])
    free[dependent] = -np.linalg.solve(jacobian[np.ix_(rows, dependent)], jacobian[np.ix_(rows, others)]) * sizes[others]
    needed = free.T @ efforts
    tau = np.zeros(n, dtype=np.result_type(efforts, jacobian))
    tau[unknown] = least_solution(_seen(free, sizes, unknown).T, needed, sizes=sizes[unknown], least=least)
    missing = np.real(needed - free.T @ tau)
    largest = np.abs(np.real(sizes * efforts)).max(initial=0.0)
    unbalanced = np.abs(missing).max(initial=0.0) / max(largest, TINY)
    carried = (sizes * (efforts - tau))[dependent]
    multipliers = least_solution((jacobian * sizes)[:, dependent].T, carried, len(dependent), sizes=1.0 / weights)
    return tau, multipliers, float(unbalanced)


def _seen(free: Array, sizes: Array, unknown: Array) -> Array:
    """Return motions (columns) of the coordinates with `unknown` efforts, none where that is rounding beside the others'."""
    seen, whole = free[unknown], (np.real(free / sizes[:, None]) ** 2).sum(axis=0)
    own = (np.real(seen / sizes[unknown, None]) ** 2).sum(axis=0)
    return np.where(own > ROUNDED * whole, seen, 0.0)
