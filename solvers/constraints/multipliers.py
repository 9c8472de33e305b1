"""The linear algebra of rigid closures and gears: which constraints are independent, and all that follows from this choice.

Everything accepts complex numbers, for derivatives by complex steps, and objects that calculate, such as truncated series.
Choices of rows and columns look at real parts alone; what follows from them takes them as they are.

Whether constraints are independent is a matter of geometry, not of masses: it is judged on the Jacobian J of the constraints,
lengths of constraints and coordinates in units of the system's size. A constraint counts as dependent when less than a
millionth of the largest one is left of it once its projections on others are removed. Rounding leaves about 1e-15; states that
an integrator has moved off the closures by d leave d of a redundant constraint, so that a simulation holds the rank that the
closed system has. A mechanism within a millionth of a singular configuration is taken to be in it; its accelerations would be
known to four digits at best.

Once rows are chosen, as many coordinates are chosen that follow from the others (`Partition`). Least norms, motions that the
constraints leave, accelerations and what efforts and constraints share are then solutions of one kind of equations,
``[W J^T; J 0] [x; lambda] = [f; c]``, W the mass matrix or what selects the coordinates on which efforts act.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, LOOSE_RANK, SAME, TINY
from titop.solvers.constraints.following import Following, following

Ints = NDArray[np.intp]
#: Squares: what is left of a row, over the largest row, if it is dependent, and if it is rounding. The kernels hold both too.
DEPENDENT = LOOSE_RANK**2
ROUNDED = CANCELLED**2
#: How often solutions in numbers of unlike units are refined: each time by what squares of the units' ratio leave of rounding.
_REFINED = 4
#: Rows of a matrix from which on it saves time to leave those alone that a pivot does not touch.
_MANY = 30


# -- numbers --------------------------------------------------------------------------------------------------------------


def real_parts(matrix: Array) -> Array:
    """Return the real parts of numbers, or of objects."""
    if matrix.dtype != object:
        return np.real(matrix)
    return np.array([float(entry.real) for entry in matrix.flat]).reshape(matrix.shape)


def solve(matrix: Array, right: Array) -> Array:
    """Return the solution of linear equations: of objects by elimination, pivots the largest of their real parts."""
    if object not in (matrix.dtype, right.dtype):
        return np.linalg.solve(matrix, right)
    n = len(matrix)
    rows = np.hstack([matrix.astype(object), right[:, None] if right.ndim == 1 else right])
    for k in range(n):
        largest = k + int(np.abs(real_parts(rows[k:, k])).argmax())
        rows[[k, largest]] = rows[[largest, k]]
        rows[k] = rows[k] / rows[k, k]
        others = np.arange(n) != k
        rows[others] = rows[others] - rows[others, k, None] * rows[k]
    return rows[:, n] if right.ndim == 1 else rows[:, n:]


# -- which constraints are independent -------------------------------------------------------------------------------------


def independent_rows(matrix: Array, rank: int | None = None, gears: int = 0, least: float = DEPENDENT) -> Ints:
    """Return independent rows of a matrix, at most `rank`, by pivoting: always the row of which most is left.

    The last rows may be `gears` (see `following`): those that take a coordinate out come first, whatever is left of them.
    `least` is the square, over the largest row, that independent ones keep.
    """
    matrix = real_parts(matrix)
    taken, left = _split(matrix, gears)
    more = None if rank is None else max(rank - len(taken.gears), 0)
    pivots = islice(_pivots(taken.onto_leading(matrix[left]), _longest(matrix) if gears else 0.0, least), more)
    chosen = np.array([row for row, _ in pivots], dtype=np.intp)
    return np.concatenate([np.sort(len(matrix) - gears + taken.gears)[:rank], left[chosen]])


def dependent_columns(matrix: Array, rows: Ints, gears: int = 0) -> Ints:
    """Return as many columns as there are `rows`, independent ones of a matrix, that follow from all others.

    Followers of gears, if the last rows are `gears`, then by pivoting, however little is left: the rows say how many there are.
    """
    matrix = real_parts(matrix)
    taken, left = _split(matrix, gears)
    others = taken.onto_leading(matrix[np.intersect1d(rows, left)])
    return np.concatenate([taken.followers, independent_rows(others.T, len(others), least=0.0)])


def independence(matrix: Array, rank: int, gears: int = 0, least: float = DEPENDENT) -> float:
    """Return what is left of the last of `rank` independent rows, relative to the largest; 0 if there are fewer, 1 for none.

    Of the last rows, if they are `gears`, those count that take no coordinate out. `least` as for `independent_rows`.
    """
    matrix = real_parts(matrix)
    taken, rows = _split(matrix, gears)
    more = rank - len(taken.gears)
    left = [square for _, square in islice(_pivots(taken.onto_leading(matrix[rows]), 0.0, least), max(more, 0))]
    return float(np.sqrt(left[-1] / max(_longest(matrix), *left))) if 0 < len(left) == more else float(more == 0)


def redundant_rows(matrix: Array) -> list[int]:
    """Return the rows that depend on those above them."""
    rest, redundant = matrix.copy(), []
    squares, least = (rest * rest).sum(axis=1), DEPENDENT * _longest(matrix)
    for row in range(len(rest)):
        if squares[row] > least:
            _remove(rest, squares, row)
        else:
            redundant.append(row)
    return redundant


def _split(matrix: Array, gears: int) -> tuple[Following, Ints]:
    """Return what the gears, the last rows of a matrix, take out, and all rows but these gears."""
    first = len(matrix) - gears
    taken = following(matrix[first:])
    return taken, np.delete(np.arange(len(matrix)), first + taken.gears)


def _longest(matrix: Array) -> float:
    """Return the largest square of a row."""
    return float((matrix**2).sum(axis=1).max(initial=0.0))


def _pivots(matrix: Array, largest: float, least: float) -> Iterator[tuple[int, float]]:
    """Yield independent rows, each with what is left of it (squared) beside those before.

    The `largest` square beside which it counts may be that of a row which is not among these.
    """
    rest = matrix.copy()
    squares = (rest * rest).sum(axis=1)
    for _ in range(min(rest.shape)):
        row = int((squares >= (1.0 - SAME) * squares.max()).argmax())
        most = float(squares[row])
        largest = max(largest, most)
        if not most > least * largest:
            return
        yield row, most
        _remove(rest, squares, row)


def _remove(rest: Array, squares: Array, row: int) -> None:
    """Remove from all rows their projections on one of them, and write the squares of what is left; nothing of that one."""
    taken, most = rest[row].copy(), squares[row]
    if len(rest) > _MANY:
        columns = np.flatnonzero(taken)
        shares = rest[:, columns] @ taken[columns] / most
        touched = np.flatnonzero(shares)
        rest[np.ix_(touched, columns)] -= shares[touched, None] * taken[columns]
        squares[touched] = (rest[touched] ** 2).sum(axis=1)
    else:
        rest -= (rest @ taken / most)[:, None] * taken
        squares[:] = (rest * rest).sum(axis=1)
    rest[row], squares[row] = 0.0, 0.0


# -- what follows from the choice ------------------------------------------------------------------------------------------


class Partition:
    """Coordinates parted into dependent and independent ones by independent constraints ``J x = c``: Wehage and Haug, 1982.

    Arguments and results are vectors, or columns of matrices: of all coordinates (n), or of all constraints (k), of which only
    the independent ones count.

    Parameters
    ----------
    jacobian : (k, n) array
    rows, dependent : (r,) int arrays
        The independent constraints, and as many coordinates that follow from the others.
    held : (n,) bool array, optional
        Coordinates that do not move, none by default.

    Attributes
    ----------
    independent : (m,) int array
        Coordinates that lead.
    shares : (r, m) array
        How far the dependent ones move per unit of each, against it.
    """

    def __init__(self, jacobian: Array, rows: Ints, dependent: Ints, held: NDArray[np.bool_] | None = None) -> None:
        self.rows, self.dependent, self.size = rows, dependent, jacobian.shape
        leads = np.ones(jacobian.shape[1], dtype=bool) if held is None else ~held
        leads[dependent] = False
        self.independent = np.flatnonzero(leads)
        pivots = jacobian[np.ix_(rows, dependent)]
        self._row_sizes = _powers_of_two(pivots)
        self._column_sizes = _powers_of_two((self._row_sizes[:, None] * pivots).T)
        self._pivots = self._row_sizes[:, None] * pivots * self._column_sizes
        self.shares = self.over_pivots(jacobian[np.ix_(rows, self.independent)])

    @classmethod
    def of(
        cls,
        jacobian: Array,
        rank: int | None = None,
        gears: int = 0,
        least: float = DEPENDENT,
        held: NDArray[np.bool_] | None = None,
        weights: Any = 1.0,
        sizes: Any = 1.0,
    ) -> Partition:
        """Return the partition by at most `rank` independent constraints, the last of them `gears`.

        Rows times `weights` (k), over coordinates in units of their `sizes` (n), are judged; `least` as for `independent_rows`.
        """
        free = np.arange(jacobian.shape[1]) if held is None else np.flatnonzero(~held)
        comparable = ((jacobian * sizes).T * weights).T[:, free]
        rows = independent_rows(comparable, rank, gears, least)
        return cls(jacobian, rows, free[dependent_columns(comparable, rows, gears)], held)

    @cached_property
    def motions(self) -> Array:
        """The motions (n x m) that the constraints leave, per unit of each coordinate that leads."""
        motions = np.zeros((self.size[1], len(self.independent)), dtype=self.shares.dtype)
        motions[self.independent], motions[self.dependent] = np.eye(len(self.independent)), -self.shares
        return motions

    def over_pivots(self, right: Array) -> Array:
        """Return what the dependent coordinates (r) do that independent constraints (r) change by `right`."""
        solved: Array = (solve(self._pivots, (right.T * self._row_sizes).T).T * self._column_sizes).T
        return solved

    def follow(self, right: Array) -> Array:
        """Return what the dependent coordinates do alone that ``J x`` is `right` (k)."""
        x = np.zeros((self.size[1], *right.shape[1:]), dtype=np.result_type(self.shares, right))
        x[self.dependent] = self.over_pivots(right[self.rows])
        return x

    def carried(self, efforts: Array) -> Array:
        """Return the multipliers (k) of the independent constraints that carry efforts (n): those of dependent coordinates."""
        multipliers = np.zeros((self.size[0], *efforts.shape[1:]), dtype=np.result_type(self.shares, efforts))
        sized = (efforts[self.dependent].T * self._column_sizes).T
        multipliers[self.rows] = (solve(self._pivots.T, sized).T * self._row_sizes).T
        return multipliers

    def least(self, right: Array) -> Array:
        """Return the x (n) of least norm with which ``J x`` is `right` (k)."""
        return self._across(self.follow(right))

    def along(self, x: Array) -> Array:
        """Return the part of x (n) along the motions that the constraints leave; exact zeros where they leave none."""
        for _ in range(2):  # the second time for rounding
            x = x - self._across(x)
        return x

    def _across(self, x: Array) -> Array:
        """Return the part of x (n) across the motions that the constraints leave: ``[1 X]^T (1 + X X^T)^-1 [1 X] x``.

        X are the shares of the coordinates that lead, the dependent ones come first.
        """
        opening = x[self.dependent] + self.shares @ x[self.independent]
        across = np.zeros(x.shape, dtype=np.result_type(self.shares, x))
        across[self.dependent] = solve(np.eye(len(self.rows)) + self.shares @ self.shares.T, opening)
        across[self.independent] = self.shares.T @ across[self.dependent]
        return across


def _powers_of_two(matrix: Array) -> Array:
    """Return the powers of two by which the rows of a matrix come to sizes near one."""
    return np.asarray(2.0 ** -np.frexp(np.abs(real_parts(matrix)).max(axis=1, initial=0.0))[1])


def least_step(matrix: Array, right: Array, cut: float, gears: int = 0, largest: float = 0.0) -> Array:
    """Return the x of least norm that solves ``matrix x = right`` by least squares.

    Directions that count for less than the part `cut` of the largest, at least of `largest`, are left alone. The last rows may
    be `gears`: those that take a coordinate out are solved first.
    """
    if gears:
        (taken, left), first = _split(matrix, gears), len(matrix) - gears
        meshed = Partition(matrix[first:], taken.gears, taken.followers)
        x, leads = meshed.least(right[first:]), meshed.motions / np.linalg.norm(meshed.motions, axis=0)
        rest = right[left] - matrix[left] @ x
        step: Array = x + leads @ least_step(matrix[left] @ leads, rest, cut, largest=float(np.sqrt(_longest(matrix))))
        return step
    x, parts = np.zeros(matrix.shape[1]), []
    for rows, columns in _blocks(matrix):
        along, sizes, directions = np.linalg.svd(matrix[np.ix_(rows, columns)], full_matrices=False)
        largest = max(largest, sizes.max(initial=0.0))
        parts.append((columns, along.T @ right[rows], sizes, directions))
    for columns, wanted, sizes, directions in parts:
        counts = sizes > cut * largest
        x[columns] = directions[counts].T @ (wanted[counts] / sizes[counts])
    return x


def _blocks(matrix: Array) -> list[tuple[Ints, Ints]]:
    """Return rows and columns of the blocks of a large matrix that share no entry with others, a small one as it is."""
    k, n = matrix.shape
    if k <= _MANY:
        return [(np.arange(k), np.arange(n))]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.nonzero(matrix)
    graph = coo_array((np.ones(len(rows)), (rows, k + columns)), shape=(k + n, k + n))
    labels = connected_components(graph, directed=False)[1]
    return [(np.flatnonzero(labels[:k] == label), np.flatnonzero(labels[k:] == label)) for label in np.unique(labels[rows])]


# -- what efforts and constraints share ------------------------------------------------------------------------------------


class Shares:
    """How efforts that are needed are split, ``D w + J^T lambda = f``, with ``J w = 0`` and D the choice of unknown efforts.

    ``D w`` are the unknown efforts, of least norm. ``w = F y`` is a motion that the constraints leave, F all of these: so
    ``F^T D w = F^T f``.

    Parameters
    ----------
    partition : Partition
        Of all coordinates.
    unknown : (n,) bool array
        Where efforts are unknown.
    sizes : (n,) array
        What counts as one of each coordinate.
    least : float
        As for `independent_rows`, of motions on the coordinates with unknown efforts.
    """

    def __init__(self, partition: Partition, unknown: Array, sizes: Array, least: float = DEPENDENT) -> None:
        self.partition, self._unknown, self.sizes = partition, unknown, sizes
        if not unknown.all():
            motions = partition.motions * sizes[partition.independent]
            self._free, self._seen = motions, motions[unknown].T
            squares = real_parts(motions / sizes[:, None]) ** 2
            self._seen = np.where((squares[unknown].sum(axis=0) > ROUNDED * squares.sum(axis=0))[:, None], self._seen, 0.0)
            self._balance = Partition.of(self._seen, least=least, sizes=1.0 / sizes[unknown])

    def motion(self, needed: Array, opening: Array) -> Array:
        """Return w (n) where efforts are `needed` (n) and ``J w`` is `opening` (k)."""
        start, on = self.partition.follow(opening), self._unknown
        if on.all():
            return self.partition.along(needed) + self.partition.least(opening)
        known = np.zeros((np.count_nonzero(on), *needed.shape[1:]))
        missing = self._free.T @ needed - self._seen @ start[on]
        for _ in range(_REFINED):
            known = known + self._balance.least(missing - self._seen @ known)
        w: Array = start + self._free @ self._balance.carried(known)
        w[on] = start[on] + known  # not a difference of numbers in unlike units
        return w

    def split(self, needed: Array) -> tuple[Array, Array]:
        """Return w (n) and the multipliers (k)."""
        w = self.motion(needed, np.zeros(self.partition.size[0]))
        return w, self.partition.carried(needed - np.where(self._unknown, w, 0.0))

    def least(self, needed: Array, turning: Array) -> Array:
        """Return changes (n x m) of the unknown efforts with those of all that are needed, constraints `turning` (k x m)."""
        return np.where(self._unknown[:, None], self.motion(needed, -turning), 0.0)

    def unbalanced(self, efforts: Array, tau: Array) -> float:
        """Return the largest effort that neither tau nor constraints provide, over the largest, all by their coordinates."""
        if self._unknown.all():
            return 0.0
        missing, needed = real_parts(self._free.T @ (efforts - tau)), real_parts(self.sizes * efforts)
        return float(np.abs(missing).max(initial=0.0) / max(np.abs(needed).max(initial=0.0), TINY))
