"""How many singular values count: by a threshold, and next to it by whether a wide gap follows."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.basics.ranks import decided_rank

pytestmark = pytest.mark.portable


@pytest.mark.parametrize("digit", [0.9, 1.0, 1.1])
def test_the_last_digit_does_not_decide(digit: float) -> None:
    """What is next to the threshold counts, with others that stand there, where a gap follows."""
    assert decided_rank(np.array([1e5, 3.0, digit, 1e-9]), 1.0) == 3
    assert decided_rank(np.array([1e5, 3.0, digit, 0.3, 1e-9]), 1.0) == 4
    assert decided_rank(np.array([digit, 1e-5]), 1.0) == 1


def test_without_a_wide_gap_the_threshold_decides() -> None:
    assert decided_rank(np.array([1e3, 30.0, 1.1, 0.9, 0.02, 1e-3]), 1.0) == 3


def test_far_from_the_threshold_gaps_do_not_count() -> None:
    assert decided_rank(np.array([1e9, 1e3, 1e-3, 1e-12]), 1.0) == 2


def test_rounding_of_the_largest_is_nothing_to_have_a_gap_beside() -> None:
    assert decided_rank(np.array([1e4, 0.5, 1e-13, 1e-40]), 1.0) == 2
    assert decided_rank(np.array([1e14, 0.5, 1e-13, 1e-40]), 1.0) == 1


def test_nothing() -> None:
    assert decided_rank(np.zeros(0), 1.0) == 0
    assert decided_rank(np.zeros(3), 0.0) == 0
    assert decided_rank(np.array([1.0, 0.0]), 1e-12) == 1
