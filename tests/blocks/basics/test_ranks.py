"""How many singular values count: by a threshold far from it, by the widest gap near it."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.basics.ranks import decided_rank


@pytest.mark.parametrize("digit", [0.9, 1.0, 1.1])
class TestTheLastDigitDoesNotDecide:
    """What is next to the threshold goes with those it is nearer to."""

    def test_with_the_large_ones(self, digit: float) -> None:
        assert decided_rank(np.array([1e5, 3.0, digit, 1e-9]), 1.0) == 3

    def test_with_the_small_ones(self, digit: float) -> None:
        assert decided_rank(np.array([1e5, 1e4, digit, 0.1, 0.05]), 1.0) == 2

    def test_beside_what_all_would_be(self, digit: float) -> None:
        """One alone: rounding where it might have been as large as 1e9, all there is where it might have been 1."""
        assert decided_rank(np.array([digit, 1e-5]), 1.0, beside=1e9) == 0
        assert decided_rank(np.array([digit, 1e-5]), 1.0) == 1


def test_far_from_the_threshold_gaps_do_not_count() -> None:
    assert decided_rank(np.array([1e9, 1e3, 1e-3, 1e-12]), 1.0) == 2


def test_nothing() -> None:
    assert decided_rank(np.zeros(0), 1.0) == 0
    assert decided_rank(np.zeros(3), 0.0) == 0
    assert decided_rank(np.array([1.0, 0.0]), 1e-12) == 1
