"""Units of the rows and columns of a matrix, in which its entries are compared with each other and with rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array

#: What rounding leaves of entries that are zero, in parts of the largest of their column.
_ROUNDING = 1e-13
#: What rounding leaves of a column that is zero, in parts of the largest of each row in its vector: some last digits.
_NOTHING = 16 * np.finfo(float).eps
#: Beside ones, in equations that leave a number free.
_RIDGE = 1e-9


class EntryUnits(NamedTuple):
    """Units in which a matrix's entries are compared, and what rounding leaves of those that are zero.

    Attributes
    ----------
    rows, columns : (m, 1), (1, n) arrays
    rounding : (m, n) array
        Counted in these units: little of a column, and all of one that is nowhere more than rounding leaves of its row in the
        others of its vector.
    """

    rows: Array
    columns: Array
    rounding: Array

    @classmethod
    def given(cls, sizes: Array, vectors: Sequence[int]) -> EntryUnits:
        """Return those in which sizes of entries (m, n) are given."""
        return cls._with_rounding(sizes, vectors, np.ones((len(sizes), 1)), np.ones((1, sizes.shape[1])))

    @classmethod
    def balanced(cls, sizes: Array, vectors: Sequence[int]) -> EntryUnits:
        """Return those, powers of two, in which entries are of like sizes by least squares of their logarithms.

        What is rounding in them alone, or as given alone, is none: entries that are rounding themselves may bend the units.
        """
        known = (sizes > 0) & ~_is_nothing(sizes, vectors)
        logs = np.log2(sizes, out=np.zeros_like(sizes), where=known)
        rows, columns = _means(logs, known)
        rows, columns = _means(logs, known & (logs - rows - columns > np.log2(_ROUNDING)))
        found = cls._with_rounding(sizes, vectors, np.exp2(np.round(rows)), np.exp2(np.round(columns)))
        as_given = cls.given(sizes, vectors).rounding / found.rows / found.columns
        return found._replace(rounding=np.minimum(found.rounding, as_given))

    @classmethod
    def _with_rounding(cls, sizes: Array, vectors: Sequence[int], rows: Array, columns: Array) -> EntryUnits:
        counted, beside = (x / rows / columns for x in (sizes, _beside(sizes, vectors)))
        small = np.where(_is_nothing(sizes, vectors), _NOTHING * beside, _ROUNDING * counted.max(axis=0, initial=0.0))
        return cls(rows, columns, small)


#: From sizes of entries to the units in which they are compared.
Counted = Callable[[Array], EntryUnits]


def _beside(sizes: Array, vectors: Sequence[int]) -> Array:
    """Return for each entry the largest of its row among the columns of its vector; zero of columns of no vector."""
    result = np.zeros_like(sizes)
    for start in vectors:
        own = slice(start, start + 3)
        result[:, own] = sizes[:, own].max(axis=1, keepdims=True)
    return result


def _is_nothing(sizes: Array, vectors: Sequence[int]) -> Array:
    """Tell of columns (n) whether they are rounding of others of their vector."""
    nothing: Array = np.all(sizes <= _NOTHING * _beside(sizes, vectors), axis=0)
    return nothing


def _means(logs: Array, known: Array) -> tuple[Array, Array]:
    """Return numbers of rows (m, 1) and columns (1, n) whose sums are nearest to the entries (m, n) that are known."""
    m, counts = len(logs), known.astype(float)
    normal = np.block([[np.diag(counts.sum(axis=1)), counts], [counts.T, np.diag(counts.sum(axis=0))]])
    right = np.concatenate([(logs * counts).sum(axis=axis) for axis in (1, 0)])
    found = np.linalg.solve(normal + _RIDGE * np.eye(len(normal)), right)  # what rows have more, columns may have less
    return found[:m, None], found[None, m:]
