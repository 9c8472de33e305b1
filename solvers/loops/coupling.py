"""Which constraints share coordinates: the Jacobian of many small mechanisms is a matrix of small blocks, solved one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from titop.blocks.spatial import Array


class Coupled(NamedTuple):
    """Indices of rows and columns of a matrix that share no entry with the other rows and columns."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


def coupled_blocks(matrix: Array) -> Iterator[Coupled]:
    """Yield the blocks of a matrix, in the order of their first rows; rows and columns of zeros are in none."""
    entries = matrix != 0
    rows_left, columns_left = entries.any(axis=1), np.ones(matrix.shape[1], dtype=bool)
    for first in range(len(matrix)):
        if rows_left[first]:
            yield _block_of(entries, first, rows_left, columns_left)


def _block_of(entries: Array, first: int, rows_left: Array, columns_left: Array) -> Coupled:
    """Return the block of a row; take its rows and columns from those that are left."""
    rows_before, columns_before = rows_left.copy(), columns_left.copy()
    rows = np.array([first])
    while len(rows):
        rows_left[rows] = False
        columns = np.flatnonzero(entries[rows].any(axis=0) & columns_left)
        columns_left[columns] = False
        rows = np.flatnonzero(entries[:, columns].any(axis=1) & rows_left)
    return Coupled(np.flatnonzero(rows_before & ~rows_left), np.flatnonzero(columns_before & ~columns_left))
