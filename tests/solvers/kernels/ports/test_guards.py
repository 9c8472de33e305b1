"""What is made of gaps at the ends of steps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.systems import Array
from titop.solvers.kernels.ports import guards as of


def row(begin: float, end: float, out: float, into: float, side: float = 1.0) -> Array:
    """Return guards of one gap, with values and rates at both ends of a step."""
    known = np.zeros((1, of.GUARD_COLUMNS))
    known[0, [of.BEFORE, of.VALUE, of.RATE_BEFORE, of.RATE, of.SIDE]] = begin, end, out, into, side
    return known


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(
    ("ends", "close"),
    [
        ((1.0, 2.0, 1.0, 1.0), False),  # a line far away
        ((1.0, 0.1, -0.9, -0.9), True),  # that comes near
        ((1.0, 1.0, -4.0, 4.0), True),  # a dip, whose cubic just touches zero
        ((1.0, 1.0, -1.0, 1.0), False),  # one that is not as deep
        ((0.0, 1.0, 1.0, 1.0), False),  # what leaves zero
        ((-1e-7, 1.0, 1.0, 1.0), False),  # from beyond by rounding,
        ((-1e-3, 1.0, 1.0, 1.0), True),  # by more,
        ((0.0, 0.1, 1.0, -0.8), True),  # and comes back
        ((0.0, 1.0, -1.0, 3.0), True),  # what goes beyond first
        ((0.0, 0.0, 0.0, 0.0), False),  # what is zero
        ((np.nan, 1.0, 1.0, 1.0), True),  # what nobody knows
    ],
)
def test_gaps_that_come_close(ends: tuple[float, float, float, float], close: bool, side: float) -> None:
    assert of.comes_close(row(*(side * x for x in ends), side=side), 0, 1.0) is close


def test_what_has_no_side_may_go_anywhere() -> None:
    assert of.comes_close(row(1.0, 2.0, 1.0, 1.0, side=0.0), 0, 1.0)


def test_what_switches_first_says_how_late_a_step_ends() -> None:
    """Two gaps fall at 2 m/s, 1 mm and 3 mm beyond; a third, far beyond, has turned, and a fourth is still above."""
    known = np.vstack([row(1.0, end, -2.0, rate) for end, rate in [(-1e-3, -2.0), (-3e-3, -2.0), (-1.0, 2.0), (5e-3, -2.0)]])
    assert of.late_by(known) == pytest.approx(1.5e-3)
    assert of.late_by(known[3:]) == pytest.approx(-2.5e-3)
    assert of.late_by(known[2:3]) == -np.inf


def test_gaps_at_zero_change_sides_and_are_counted() -> None:
    ends = [(1e-9, -1.0), (-1e-9, -1.0), (1e-3, -1.0), (1e-9, -1.0), (0.0, 0.0), (-0.5, -1.0)]
    known = np.vstack([row(1.0, *end, -1.0)[:, :] for end in ends])
    known[:, of.VALUE], known[:, of.RATE] = np.array(ends).T
    known[:, of.CLOSE] = [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    assert of.change_sides(known, 1e-6) == 4
    assert known[:, of.SIDE].tolist() == [-1.0, -1.0, 1.0, 1.0, -1.0, -1.0]
    assert known[:, of.SWITCHED].tolist() == [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "ends", [(1.0, -1.0, -2.0, -2.0), (1.0, -1e-9, -3.0, -1e-3), (1e-9, -1.0, -0.1, -0.1), (1.0, 0.0, 5.0, -9.0)]
)
def test_zeros_of_cubics(ends: tuple[float, float, float, float]) -> None:
    a, b, p, r = ends
    x = of.zero_between(1.0, a, b, p, r)
    assert 0 < x <= 1
    # zeros are found to 1e-12, where cubics fall at up to nine
    assert a + p * x + (3 * (b - a) - 2 * p - r) * x**2 + (2 * (a - b) + p + r) * x**3 == pytest.approx(0.0, abs=5e-11)
