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
    blocks: list[tuple[int, list[int]]] = []  # columns as the bits of a number, and rows
    met = 0
    for row, bits in enumerate(np.packbits(matrix != 0, axis=1, bitorder="little")):
        columns, rows = int.from_bytes(bits.tobytes(), "little"), [row]
        if not columns:
            continue
        known, k = columns & met, len(blocks)
        met |= columns
        while known:  # most often the last ones have it
            k -= 1
            if blocks[k][0] & known:
                own, before = blocks.pop(k)
                known &= ~own
                columns, rows = columns | own, before + rows
        blocks.append((columns, rows))
    in_order = sorted((sorted(rows), columns) for columns, rows in blocks)
    return [Coupled(np.array(rows), np.array(_places(columns))) for rows, columns in in_order]


def _places(bits: int) -> list[int]:
    """Return the places of a number's bits that are 1."""
    places = []
    while bits:
        last = bits & -bits
        places.append(last.bit_length() - 1)
        bits ^= last
    return places
