"""Checks around whole passes: sizes, and results that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.kernels.equations import whole_passes
from titop.solvers.kernels.interface import layout

#: Kernels take zero times infinity without a word; the functions as they are written go through NumPy's scalars.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")


@pytest.mark.parametrize("size", range(1, 10))  # four at a time, and what is left
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_every_entry_that_is_not_finite_is_seen(size: int, wrong: float) -> None:
    large = np.full(size, 1.7e308)  # whose sum is not finite, though each is
    assert whole_passes.status_of(large) == layout.OK
    for k in range(size):
        spoiled = large.copy()
        spoiled[k] = wrong
        assert whole_passes.status_of(spoiled) == layout.NOT_FINITE


def test_every_entry_of_matrices_is_looked_at() -> None:
    slopes = np.zeros((2, 3, 5))
    assert whole_passes.status_of_slopes(slopes) == whole_passes.status_of_rows(slopes[0]) == layout.OK
    for place in np.ndindex(slopes.shape):
        spoiled = slopes.copy()
        spoiled[place] = np.nan
        assert whole_passes.status_of_slopes(spoiled) == layout.NOT_FINITE
        assert whole_passes.status_of_rows(spoiled[place[0]]) == layout.NOT_FINITE


def test_states_fit_in_all_their_parts() -> None:
    ints = np.zeros((1, layout.INT_COLUMNS), dtype=np.int64)
    ints[0, layout.NQ], ints[0, layout.NV] = 4, 3
    right = (4, 3, 3, 3)
    assert whole_passes.sizes_fit(ints, *map(np.zeros, right))
    assert whole_passes.state_fits(ints, np.zeros(7), np.zeros(7), np.zeros(3))
    for k in range(4):
        for change in (-1, 1):
            other = [size + change * (j == k) for j, size in enumerate(right)]
            assert not whole_passes.sizes_fit(ints, *map(np.zeros, other))
    for sizes in ((6, 7, 3), (7, 6, 3), (7, 7, 4), (8, 8, 3)):
        assert not whole_passes.state_fits(ints, *map(np.zeros, sizes))
