"""Linear algebra of rigid closures and gears: which constraints are independent, and what follows from this choice.

All functions accept complex numbers, for derivatives by complex steps, and number objects such as truncated power series.
Pivots are chosen by real parts only (of unknown numbers of a program at its nominal state); the computations that follow use
the full numbers.

Whether constraints are independent depends on the geometry, not on the masses. It is judged on the constraint Jacobian J, with
lengths of constraints and coordinates in units of the system's size. A constraint counts as dependent when, after projection
on the others, less than a millionth of the largest one remains. Rounding leaves about 1e-15. At a state that an integrator has
moved off the closures by d, about d remains of a redundant constraint; a simulation therefore keeps the rank of the closed
system. A mechanism within a millionth of a singular configuration counts as singular; its accelerations would be known to four
digits at best.

After the independent rows, equally many dependent coordinates are chosen (`Partition`). Solutions of least norm, motions in the
null space of J, accelerations, and the split of efforts between actuators and constraints then all solve equations of the form
``[W J^T; J 0] [x; lambda] = [f; c]``, with W the mass matrix or the selection of coordinates on which efforts act.
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
#: Squares of what remains of a row, over the largest row: below the first it is dependent, below the second it is rounding.
#: The kernels have copies of both.
DEPENDENT = LOOSE_RANK**2
ROUNDED = CANCELLED**2
#: Number of refinements of solutions with mixed units: each reduces the error by rounding times the squared ratio of the units.
_REFINED = 4
#: From this number of rows on, it saves time to skip the rows that a pivot does not change.
_MANY = 30


# -- numbers --------------------------------------------------------------------------------------------------------------


def real_parts(matrix: Array) -> Array:
    """Return the real parts of the entries: numbers or number objects."""
    if matrix.dtype != object:
        return np.real(matrix)
    return np.array([getattr(entry, "nominal", entry.real) for entry in matrix.flat], dtype=float).reshape(matrix.shape)


def solve(matrix: Array, right: Array) -> Array:
    """Return the solution of linear equations; for number objects by elimination, with pivots of largest real part."""
    return eliminated(matrix, right)[0] if object in (matrix.dtype, right.dtype) else np.linalg.solve(matrix, right)


def eliminated(matrix: Array, right: Array) -> tuple[Array, Array]:
    """Return the solution of linear equations, and the pivots (n), one for each unknown (dtype object)."""
    n, pivots = len(matrix), np.zeros(len(matrix), dtype=object)
    rows = np.hstack([matrix.astype(object), right[:, None] if right.ndim == 1 else right])
    for k in range(n):
        largest = k + int(np.abs(real_parts(rows[k:, k])).argmax())
        rows[[k, largest]] = rows[[largest, k]]
        pivots[k] = rows[k, k]
        rows[k] = rows[k] / pivots[k]
        others = np.arange(n) != k
        rows[others] = rows[others] - rows[others, k, None] * rows[k]
    return (rows[:, n] if right.ndim == 1 else rows[:, n:]), pivots


# -- which constraints are independent -------------------------------------------------------------------------------------


def independent_rows(matrix: Array, rank: int | None = None, gears: int = 0, least: float = DEPENDENT) -> Ints:
    """Return at most `rank` independent rows of a matrix, by pivoting: each time the row with the largest remainder.

    The last rows may be those of `gears` (see `following`): gears that eliminate a coordinate come first, whatever remains
    of them. `least` is the smallest squared remainder of an independent row, over the square of the largest row.
    """
    matrix = real_parts(matrix)
    taken, left = _split(matrix, gears)
    more = None if rank is None else max(rank - len(taken.gears), 0)
    pivots = islice(_pivots(taken.onto_leading(matrix[left]), _longest(matrix) if gears else 0.0, least), more)
    chosen = np.array([row for row, _ in pivots], dtype=np.intp)
    return np.concatenate([np.sort(len(matrix) - gears + taken.gears)[:rank], left[chosen]])


def dependent_columns(matrix: Array, rows: Ints, gears: int = 0) -> Ints:
    """Return the dependent columns of a matrix with the independent `rows`: as many columns, which follow from all others.

    If the last rows are those of `gears`, their followers come first. The others are chosen by pivoting, however small the
    pivots: the number of rows determines how many there are.
    """
    matrix = real_parts(matrix)
    taken, left = _split(matrix, gears)
    others = taken.onto_leading(matrix[np.intersect1d(rows, left)])
    return np.concatenate([taken.followers, independent_rows(others.T, len(others), least=0.0)])


def independence(matrix: Array, rank: int, gears: int = 0, least: float = DEPENDENT) -> float:
    """Return the remainder of the last of `rank` independent rows, over the largest; 0 if there are fewer, 1 if `rank` is 0.

    Gears that eliminate a coordinate are left out, if the last rows are `gears`. `least` as for `independent_rows`.
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
    """Return the coordinates that gears (the last rows) eliminate, and the indices of all other rows."""
    first = len(matrix) - gears
    taken = following(matrix[first:])
    return taken, np.delete(np.arange(len(matrix)), first + taken.gears)


def _longest(matrix: Array) -> float:
    return float((matrix**2).sum(axis=1).max(initial=0.0))


def _pivots(matrix: Array, largest: float, least: float) -> Iterator[tuple[int, float]]:
    """Yield independent rows, each with its squared remainder after projection on the rows before.

    `largest` is the smallest value of the squared norm with which remainders are compared: that of a row outside the matrix.
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
    """Remove from all rows their projections on one of them, set that one to zero, and update the squared remainders."""
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
    """Dependent and independent coordinates by independent constraints ``J x = c``: Wehage and Haug, 1982.

    Arguments and results are vectors, or columns of matrices, over all coordinates (n) or over all constraints (k); of the
    latter only the independent ones are used.

    - `jacobian` (k, n);
    - `rows`, `dependent` (r): the independent constraints, and equally many dependent coordinates;
    - `held` (n): coordinates that do not move, none by default;
    - `independent` (m): the independent coordinates;
    - `shares` (r, m): X in ``x_dependent = -X x_independent``, for motions that the constraints allow.
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
        """Return the partition by at most `rank` independent constraints; the last rows are those of `gears`.

        Pivots are compared after scaling rows by `weights` (k) and columns by `sizes` (n); `least` as for `independent_rows`.
        """
        free = np.arange(jacobian.shape[1]) if held is None else np.flatnonzero(~held)
        comparable = ((jacobian * sizes).T * weights).T[:, free]
        rows = independent_rows(comparable, rank, gears, least)
        return cls(jacobian, rows, free[dependent_columns(comparable, rows, gears)], held)

    @cached_property
    def motions(self) -> Array:
        """The motions (n x m) that the constraints allow, per unit of each independent coordinate: a null space basis."""
        motions = np.zeros((self.size[1], len(self.independent)), dtype=self.shares.dtype)
        motions[self.independent], motions[self.dependent] = np.eye(len(self.independent)), -self.shares
        return motions

    def over_pivots(self, right: Array) -> Array:
        """Return the changes of dependent coordinates (r) that change the independent constraints (r) by `right`."""
        return (solve(self._pivots, (right.T * self._row_sizes).T).T * self._column_sizes).T

    def health(self) -> Array:
        """Return the squared pivot of each dependent coordinate, over that at the nominal state; of unknown numbers."""
        pivots = eliminated(self._pivots, self._pivots[:, :0])[1]
        return (pivots * (1.0 / real_parts(pivots))) ** 2

    def follow(self, right: Array) -> Array:
        """Return the x (n) with ``J x = right`` (k) in which only dependent coordinates move."""
        x = np.zeros((self.size[1], *right.shape[1:]), dtype=np.result_type(self.shares, right))
        x[self.dependent] = self.over_pivots(right[self.rows])
        return x

    def carried(self, efforts: Array) -> Array:
        """Return the multipliers (k) of independent constraints that balance the efforts (n) on the dependent coordinates."""
        multipliers = np.zeros((self.size[0], *efforts.shape[1:]), dtype=np.result_type(self.shares, efforts))
        sized = (efforts[self.dependent].T * self._column_sizes).T
        multipliers[self.rows] = (solve(self._pivots.T, sized).T * self._row_sizes).T
        return multipliers

    def least(self, right: Array) -> Array:
        """Return the x (n) of least norm with ``J x = right`` (k)."""
        return self._across(self.follow(right))

    def along(self, x: Array) -> Array:
        """Return the projection of x (n) onto the motions that the constraints allow; exact zeros where they allow none."""
        for _ in range(2):  # the second time for rounding
            x = x - self._across(x)
        return x

    def _across(self, x: Array) -> Array:
        """Return the part of x (n) orthogonal to the allowed motions: ``[1 X]^T (1 + X X^T)^-1 [1 X] x``.

        X are the `shares`; here the dependent coordinates come first.
        """
        opening = x[self.dependent] + self.shares @ x[self.independent]
        across = np.zeros(x.shape, dtype=np.result_type(self.shares, x))
        across[self.dependent] = solve(np.eye(len(self.rows)) + self.shares @ self.shares.T, opening)
        across[self.independent] = self.shares.T @ across[self.dependent]
        return across


def _powers_of_two(matrix: Array) -> Array:
    return np.asarray(2.0 ** -np.frexp(np.abs(real_parts(matrix)).max(axis=1, initial=0.0))[1])


def least_step(matrix: Array, right: Array, cut: float, gears: int = 0, largest: float = 0.0) -> Array:
    """Return the x of least norm that solves ``matrix x = right`` in the least-squares sense.

    Singular values below `cut` times the largest, or times `largest` if that is larger, are dropped. The last rows may be
    those of `gears`: gears that eliminate a coordinate are solved first.
    """
    if gears:
        (taken, left), first = _split(matrix, gears), len(matrix) - gears
        meshed = Partition(matrix[first:], taken.gears, taken.followers)
        x, leads = meshed.least(right[first:]), meshed.motions / np.linalg.norm(meshed.motions, axis=0)
        rest = right[left] - matrix[left] @ x
        return x + leads @ least_step(matrix[left] @ leads, rest, cut, largest=float(np.sqrt(_longest(matrix))))
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
    """Return rows and columns of the decoupled diagonal blocks of a large matrix; a small matrix is one block."""
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
    """The split of required efforts f between unknown efforts and constraints: ``D w + J^T lambda = f`` with ``J w = 0``.

    D selects the coordinates with unknown efforts; ``D w`` are these efforts, of least norm. ``w = F y`` is a motion that the
    constraints allow, with F a basis of all such motions; therefore ``F^T D w = F^T f``.

    - `partition`: of all coordinates;
    - `unknown` (n): where efforts are unknown;
    - `sizes` (n): characteristic size of each coordinate;
    - `least`: as for `independent_rows`, for the motions of the coordinates with unknown efforts.
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
        """Return w (n) for the efforts `needed` (n), with ``J w = opening`` (k)."""
        start, on = self.partition.follow(opening), self._unknown
        if on.all():
            return self.partition.along(needed) + self.partition.least(opening)
        known = np.zeros((np.count_nonzero(on), *needed.shape[1:]))
        missing = self._free.T @ needed - self._seen @ start[on]
        for _ in range(_REFINED):
            known = known + self._balance.least(missing - self._seen @ known)
        w: Array = start + self._free @ self._balance.carried(known)
        w[on] = start[on] + known  # avoids a difference of numbers in mixed units
        return w

    def split(self, needed: Array) -> tuple[Array, Array]:
        """Return w (n) and the multipliers (k)."""
        w = self.motion(needed, np.zeros(self.partition.size[0]))
        return w, self.partition.carried(needed - np.where(self._unknown, w, 0.0))

    def least(self, needed: Array, turning: Array) -> Array:
        """Return the changes (n x m) of the unknown efforts for changes of the `needed` ones; ``dJ w`` is `turning` (k x m)."""
        return np.where(self._unknown[:, None], self.motion(needed, -turning), 0.0)

    def unbalanced(self, efforts: Array, tau: Array) -> float:
        """Return the largest effort that neither tau nor constraints provide, over the largest needed one; all scaled."""
        if self._unknown.all():
            return 0.0
        missing, needed = real_parts(self._free.T @ (efforts - tau)), real_parts(self.sizes * efforts)
        return float(np.abs(missing).max(initial=0.0) / max(np.abs(needed).max(initial=0.0), TINY))
