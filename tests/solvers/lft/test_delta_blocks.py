"""Blocks of uncertainties: ranges are met at the ends, nominal values at zero, and back again."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.lft.delta_blocks import DeltaBlock

pytestmark = pytest.mark.portable

#: Two additions and a division of numbers of order a hundred.
ROUNDING = 1e-12


@pytest.mark.parametrize(("lower", "upper", "nominal"), [(90.0, 110.0, 100.0), (90.0, 120.0, 95.0), (-3.0, 1.0, 0.5)])
def test_values_meet_their_range(lower: float, upper: float, nominal: float) -> None:
    block = DeltaBlock.real("p", lower=lower, upper=upper, nominal=nominal)
    np.testing.assert_allclose([block.value(delta) for delta in (-1, 0, 1)], [lower, nominal, upper], atol=1e2 * ROUNDING)


@pytest.mark.parametrize("nominal", [92.0, 105.0, 119.0])
def test_values_grow_and_come_back(nominal: float) -> None:
    block = DeltaBlock.real("p", lower=90.0, upper=120.0, nominal=nominal)
    deltas = np.linspace(-1, 1, 21)
    values = np.array([block.value(delta) for delta in deltas])
    assert (np.diff(values) > 0).all()
    np.testing.assert_allclose([block.normalised(value) for value in values], deltas, atol=1e2 * ROUNDING)


def test_blocks_have_sizes() -> None:
    assert DeltaBlock.real("p", 3).columns == 3
    assert DeltaBlock.complex("c", 2).columns == 2
    gap = DeltaBlock.full("gap", 2, 3)
    assert (gap.repetitions, gap.columns) == (2, 3)
