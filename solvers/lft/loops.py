"""Linear loops with uncertain factors: signals that are linear in states, inputs and in what uncertain factors return.

Every occurrence of an uncertain factor is a channel ``w = δ z``: w are new columns, z the signal that drives them. What is not
known beforehand, such as accelerations, are columns too, as many as there are equations; they are solved for once, at δ = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT
from titop.solvers.lft.fractions import Fractional, equal_sizes, reduce_static, separate_parts


class Signals:
    """Signals (n) as rows over the columns of a loop; later columns count as zero.

    Matrices act from the left, numbers and slices as on arrays.
    """

    __array_ufunc__ = None
    __slots__ = ("rows",)

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def pad(self, width: int) -> Array:
        """Return the rows over so many columns."""
        known = self.rows.shape[1]
        if known >= width:
            return self.rows
        padded = np.zeros((len(self.rows), width))
        padded[:, :known] = self.rows
        return padded

    def __add__(self, other: Signals) -> Signals:
        width = max(self.rows.shape[1], other.rows.shape[1])
        return Signals(self.pad(width) + other.pad(width))

    def __sub__(self, other: Signals) -> Signals:
        return self + -other

    def __neg__(self) -> Signals:
        return Signals(-self.rows)

    def __mul__(self, factor: float) -> Signals:
        return Signals(self.rows * factor)

    def __rmatmul__(self, matrix: Array) -> Signals:
        return Signals(matrix @ self.rows)

    def __getitem__(self, index: Any) -> Signals:
        return Signals(self.rows[index if not isinstance(index, int) else slice(index, index + 1)])

    def key(self) -> tuple[int, bytes]:
        """Return what tells it from other signals of its loop."""
        width = max(np.flatnonzero(self.rows.any(axis=0)), default=-1) + 1
        return len(self.rows), self.rows[:, :width].tobytes()

    @property
    def is_zero(self) -> bool:
        """Whether nothing drives it."""
        return not self.rows.any()


def zeros(n: int) -> Signals:
    """Return n signals that are zero."""
    return Signals(np.zeros((n, 0)))


def stack(*signals: Signals) -> Signals:
    """Return signals one after the other."""
    width = max((signal.rows.shape[1] for signal in signals), default=0)
    return Signals(np.vstack([signal.pad(width) for signal in signals]) if signals else np.zeros((0, 0)))


class LinearLoop:
    """A linear loop that is being built."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.drives: dict[int, Array] = {}
        self._equations: list[Signals] = []
        self._known: dict[tuple[Any, ...], Any] = {}

    def columns(self, kind: str, n: int) -> Signals:
        """Return n new signals: states ``"x"``, inputs ``"u"``, unknowns ``"?"`` or channels ``"δ name"``."""
        start = len(self.kinds)
        self.kinds += [kind] * n
        return Signals(np.eye(n, start + n, start))

    def open_channels(self, delta: str, n: int) -> Signals:
        """Return what n channels of a delta return, to be driven by `drive`."""
        return self.columns(f"δ {delta}", n)

    def drive(self, returned: Signals, by: Signals) -> None:
        """Let channels be driven."""
        for row, driving in zip(returned.rows, by.rows, strict=True):
            self.drives[int(np.flatnonzero(row)[0])] = driving

    def once(self, key: tuple[Any, ...], signal: Signals, made: Callable[[], Any]) -> Any:
        """Return what is made of a signal, made but once: other channels that return the same would be left out later."""
        whole = *key, signal.key()
        if whole not in self._known:
            self._known[whole] = made()
        return self._known[whole]

    def times(self, delta: str, z: Signals) -> Signals:
        """Return ``δ z``, a channel for each signal that is not zero."""
        return stack(*(self.once(("times", delta), z[k], lambda k=k: self._channel(delta, z[k])) for k in range(len(z))))  # type: ignore[misc]

    def _channel(self, delta: str, z: Signals) -> Signals:
        if z.is_zero:
            return zeros(1)
        returned = self.open_channels(delta, 1)
        self.drive(returned, z)
        return returned

    def term(self, delta: str, matrix: Array, signal: Signals) -> Signals:
        """Return ``δ matrix signal`` with as many channels as the matrix has rank on what is not zero."""
        acting = signal.rows.any(axis=1)
        if not acting.any():
            return zeros(len(matrix))
        left, right = factors(matrix[:, acting])
        return left @ self.times(delta, right @ signal[acting])

    def product(self, constants: LinearLoop, value: Signals, factor: Signals) -> Signals:
        """Return n constants, themselves uncertain, times one signal: their channels are repeated for it.

        `constants`: whose first column is one; `value` (n): of that loop.
        """
        if factor.is_zero:
            return zeros(len(value))
        row = factor.rows[0]
        if self is constants and not row[1:].any():
            return value * row[0]
        top = row[np.abs(row).argmax()]
        one = Signals(row[None] / top)
        returned: dict[int, Signals] = self.once(("product", id(constants)), one, dict)
        new = [column for column in constants.channels_of(value) if column not in returned]
        returned |= {column: self.columns(constants.kinds[column], 1) for column in new}
        for column in new:
            self.drive(returned[column], self._repeat(constants.drives[column], returned, one))
        return stack(*(self._repeat(row, returned, one) for row in value.rows)) * top

    @staticmethod
    def _repeat(row: Array, returned: dict[int, Signals], factor: Signals) -> Signals:
        result = factor * row[0] if len(row) else zeros(1)
        for column, channel in returned.items():
            if column < len(row) and row[column]:
                result += channel * row[column]
        return result

    def channels_of(self, value: Signals) -> list[int]:
        """Return the channels on which signals depend, ascending."""
        found: set[int] = set()
        new = set(np.flatnonzero(value.rows.any(axis=0)).tolist())
        while new:
            column = new.pop()
            if column in self.drives and column not in found:
                found.add(column)
                new |= set(np.flatnonzero(self.drives[column]).tolist())
        return sorted(found)

    def deltas_of(self, value: Signals) -> list[str]:
        """Return the deltas on which signals depend."""
        return [*dict.fromkeys(self.kinds[column].removeprefix("δ ") for column in self.channels_of(value))]

    def bilinear(self, constants: LinearLoop, matrices: Sequence[Array] | Array, value: Signals, signal: Signals) -> Signals:
        """Return ``sum_i matrices[i] value signal[i]`` with uncertain constants `value`."""
        height = len(matrices[0]) if len(matrices) else 0
        if signal.is_zero or value.is_zero:
            return zeros(height)
        if not constants.channels_of(value):
            return np.column_stack([matrix @ value.rows[:, 0] for matrix in matrices]) @ signal
        result = zeros(height)
        for k, matrix in enumerate(matrices):
            result += self.product(constants, matrix @ value, signal[k])
        return result

    def require(self, equation: Signals) -> None:
        """Let signals be zero."""
        self._equations.append(equation)

    def fraction(self, deltas: Sequence[str], rates: Signals, outputs: Signals, reduce: bool = False) -> Fractional:
        """Return the loop with its unknowns solved for, as a model in some deltas, all that there are, then 1/s.

        Channels that nothing reaches or shows before are left out first, if asked for: these are told most clearly there.

        Raises `ModelError` where the equations leave unknowns undetermined.
        """
        kinds = np.array(self.kinds, dtype=object)
        met = [delta for delta in dict.fromkeys(kind.removeprefix("δ ") for kind in self.kinds) if delta in deltas]
        places = [np.flatnonzero(kinds == f"δ {delta}") for delta in met]
        channels = np.concatenate([*places, np.zeros(0, dtype=int)])
        unknown, states, inputs = (np.flatnonzero(kinds == kind) for kind in ("?", "x", "u"))
        equations = stack(*self._equations)
        rows = stack(*(Signals(self.drives[int(k)][None]) for k in channels), equations, rates, outputs).pad(len(kinds))
        rows = rows[:, np.concatenate([channels, unknown, states, inputs])]
        n, sizes = len(channels), tuple(len(place) for place in places)
        if reduce and n:
            small = reduce_static(Fractional(rows[:n, :n], rows[:n, n:], rows[n:, :n], rows[n:, n:], (*sizes, 0)))
            rows, n, sizes = np.block([[small.A, small.B], [small.C, small.D]]), len(small.A), small.sizes[:-1]
        if len(unknown):
            of, to = slice(n, n + len(unknown)), slice(n, n + len(equations))
            solved_for, others = np.delete(rows, to, axis=0), np.delete(rows[to], of, axis=1)
            rows = _difference(np.delete(solved_for, of, axis=1), solved_for[:, of], _solution(rows[to, of], others))
        n += len(states)
        model = Fractional(rows[:n, :n], rows[:n, n:], rows[n:, :n], rows[n:, n:], (*sizes, len(states)))
        parts = {delta: np.r_[part] for delta, part in zip([*met, ""], model.parts, strict=True)}
        groups = [parts.get(delta, np.zeros(0, dtype=int)) for delta in (*deltas, "")]
        order = np.concatenate(groups)
        return Fractional(
            model.A[np.ix_(order, order)], model.B[order], model.C[:, order], model.D, tuple(len(group) for group in groups)
        )


def factors(matrix: Array) -> tuple[Array, Array]:
    """Return factors ``matrix = left right`` of as many columns and rows as it has rank; unit rows where there are some.

    Parts that share no row and no column are split each for itself, so that rounding joins nothing that is apart.
    """
    found = [(rows, columns, *_part_factors(matrix[np.ix_(rows, columns)])) for rows, columns in separate_parts(matrix)]
    rank, first = sum(len(part[3]) for part in found), 0
    left, right = np.zeros((len(matrix), rank)), np.zeros((rank, matrix.shape[1]))
    for rows, columns, own_left, own_right in found:
        columns_of_part = slice(first, first + len(own_right))
        left[rows, columns_of_part], right[columns_of_part, columns] = own_left, own_right
        first = columns_of_part.stop
    return left, right


def _part_factors(matrix: Array) -> tuple[Array, Array]:
    """Return the factors of one part.

    The rank is that in units in which rows, and columns, are as large as each other: bending of a small beam counts beside its
    stretching.
    """
    left_units, right_units = equal_sizes(matrix)
    left, sizes, right = np.linalg.svd(matrix / left_units / right_units, full_matrices=False)
    rank = decided_rank(sizes, EXACT * sizes.max(initial=0.0))
    if rank == len(matrix):
        return np.eye(rank), matrix
    return left_units * left[:, :rank] * sizes[:rank], right[:rank] * right_units


def _difference(matrix: Array, left: Array, right: Array) -> Array:
    """Return ``matrix - left right`` with exact zeros where terms cancel: no unit that suits an entry makes rounding count."""
    terms = np.abs(matrix) + np.abs(left) @ np.abs(right)
    difference = matrix - left @ right
    return np.where(np.abs(difference) > EXACT * terms, difference, 0.0)


def _solution(matrix: Array, right: Array) -> Array:
    """Return the unknowns for each right-hand side; those that no equation joins are solved for apart, zeros between them."""
    solution = np.full_like(right, np.nan)
    for rows, columns in separate_parts(matrix):
        part, own_right = matrix[np.ix_(rows, columns)], right[rows]
        scale = np.abs(part).max(axis=1, initial=0.0)[:, None]
        scale[scale == 0] = 1.0
        try:
            solution[columns] = np.linalg.solve(part / scale, own_right / scale)
        except np.linalg.LinAlgError:
            break
    if not np.isfinite(solution).all():
        advice = "see tt.linearize at the middle of the ranges"
        raise ModelError(Finding("singular-loop", "point", "accelerations undetermined", "a system that moves", advice))
    return solution
