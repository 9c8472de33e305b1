"""Vectors of any length."""

from __future__ import annotations

from titop.solvers.native.kernel import helper


@helper
def copy(vector, to):
    """Copy all numbers of a vector to another."""
    for k in range(vector.size):
        to[k] = vector[k]
