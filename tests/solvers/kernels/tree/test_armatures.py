"""Derivatives of armatures' gyroscopic efforts, against differences that are exact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree.armatures import add_armature_slopes, armature_column, armature_wrench

AT = 2


@pytest.mark.parametrize(("kind", "n"), [(layout.SPHERICAL, 3), (layout.FREE, 6)], ids=["spherical", "free"])
def test_columns_are_differences_of_the_efforts(kind: int, n: int) -> None:
    """The efforts are quadratic in the rates: central differences over one are exact. They are subtracted from `tau`."""
    rng = np.random.default_rng(0)
    ints, floats = np.zeros((2, layout.INT_COLUMNS), dtype=np.int64), np.zeros((2, layout.FLOAT_COLUMNS))
    ints[0, layout.ELEMENTS], ints[0, layout.MULTIS], ints[1, layout.KIND], ints[1, layout.V] = 2, 1, kind, AT
    floats[1, layout.ARMATURE : layout.ARMATURE + n] = rng.uniform(0.1, 0.5, n)
    v, slopes = rng.normal(size=AT + n), np.zeros((AT + n, AT + n))
    add_armature_slopes(ints, floats, v, slopes)
    for j in range(n):
        efforts = np.zeros((2, AT + n))
        for row, sign in enumerate((0.5, -0.5)):
            moved = v.copy()
            moved[AT + j] += sign
            efforts[row, AT:] -= armature_wrench(floats, 1, moved, AT, n)[6 - n :]
        expected = efforts[1] - efforts[0]
        np.testing.assert_allclose(slopes[:, AT + j], expected, **ROUNDING)
        np.testing.assert_allclose(armature_column(floats, 1, v, AT, n, j)[6 - n :], expected[AT:], **ROUNDING)
    assert np.abs(slopes).max() > 0.1
