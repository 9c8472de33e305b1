"""Vectors of any length, in machine code."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import VECTOR


def copied(vector, to):
    copy(vector, to[1:])
    return 0


def test_all_numbers_are_copied_and_nothing_else() -> None:
    vector, to = np.arange(1.0, 4.0), np.full(6, 9.0)
    entry(VECTOR, VECTOR)(copied)(vector, to)
    assert to.tolist() == [9.0, 1.0, 2.0, 3.0, 9.0, 9.0]
    assert vector.tolist() == [1.0, 2.0, 3.0]
