"""Which constraints share coordinates: the Jacobian of many small mechanisms is a matrix of small blocks, solved one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array


class Coupled(NamedTuple):
    """Indices of rows and columns of a matrix that share no entry with the other rows and columns."""

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


def coupled_blocks(matrix: Array) -> list[Coupled]:
    """Return the blocks of a matrix, in the order of their first rows; rows and columns of zeros are in none."""
    entries = matrix != 0
    blocks: list[tuple[int, list[int]]] = []  # columns as the bits of a number, and rows
    for row, bits in enumerate(np.packbits(entries, axis=1, bitorder="little")):
        columns, rows, apart = int.from_bytes(bits.tobytes(), "little"), [row], []
        if not columns:
            continue
        for block in blocks:
            if block[0] & columns:
                columns, rows = columns | block[0], block[1] + rows
            else:
                apart.append(block)
        blocks = [*apart, (columns, rows)]
    in_order = sorted(np.sort(rows).tolist() for _, rows in blocks)
    return [Coupled(np.array(rows), np.flatnonzero(entries[rows].any(axis=0))) for rows in in_order]
