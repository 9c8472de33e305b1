"""Units of the rows and columns of matrices in which these are as large as each other."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array

#: How often units are taken half of the way to where the largest entries of rows, and of columns, are one.
_ROUNDS = 8


def equal_sizes(matrices: Array) -> tuple[Array, Array]:
    """Return by what rows (..., m, 1) and columns (..., 1, n) of matrices are divided: powers of two, ones of zeros.

    The rows and columns of symmetric matrices have the same units.
    """
    sizes = np.abs(matrices)
    rows, columns = np.ones((*sizes.shape[:-1], 1)), np.ones((*sizes.shape[:-2], 1, sizes.shape[-1]))
    for _ in range(_ROUNDS):
        left = sizes / rows / columns
        rows = rows * _halfway(left.max(axis=-1, keepdims=True, initial=0.0))
        columns = columns * _halfway(left.max(axis=-2, keepdims=True, initial=0.0))
    return rows, columns


def _halfway(largest: Array) -> Array:
    """Return the powers of two next to the roots of some numbers, one for zeros."""
    found: Array = np.exp2(np.round(np.log2(np.where(largest > 0, largest, 1.0)) / 2))
    return found
