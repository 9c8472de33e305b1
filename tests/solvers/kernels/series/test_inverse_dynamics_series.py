"""Inverse dynamics series, against Newton's and Euler's laws in the inertial frame, and against derivatives by state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.kernels.series.motions_at_random import Moving, assert_close_by_row
from tests.solvers.kernels.series.newton_series import NewtonSeries
from tests.systems import KINDS

#: Sums of some hundred products, which the two derivations take in other frames, to rounding.
ROUNDING = 1e-12

#: A body on each kind of joint, and chains of them; the base is free or fixed.
CASES = [((kind,), base) for kind in KINDS for base in ("fixed", "free") if (kind, base) != ("Free", "fixed")]
CASES += [(KINDS, "fixed"), (KINDS, "free")]


@pytest.mark.parametrize(("kinds", "base"), CASES)
@pytest.mark.parametrize("springs", [False, True])
def test_efforts_are_those_of_newton_and_euler(kinds: Any, base: str, springs: bool) -> None:
    moving = Moving(3, kinds, springs=springs, base=base)
    expected = NewtonSeries(moving.tree, moving.q, moving.v_series).efforts
    assert_close_by_row(moving.inverse(), expected, ROUNDING)


def test_other_motions_have_other_efforts() -> None:
    """The negative control: jerk enters the first derivative of efforts, and no other row before."""
    moving = Moving(3)
    other = moving.v_series.copy()
    other[2, -1] += 1e-6
    change = np.abs(moving.inverse(other) - NewtonSeries(moving.tree, moving.q, moving.v_series).efforts).max(axis=1)
    assert change[0] < ROUNDING * 100
    assert change[1] > 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_the_first_orders_are_those_of_derivatives(seed: int) -> None:
    """``d tau / dt = dtau_dq v + dtau_dv a + dtau_da da/dt``, tangents of q being velocities."""
    moving = Moving(seed, loads=True, springs=True)
    model, (v, a, jerk) = moving.model, moving.v_series[:3]
    efforts = moving.inverse(moving.v_series[:3])
    by_q, by_v, by_a = model.inverse_dynamics_derivatives(moving.q, v, a)
    expected = np.array([model.inverse_dynamics(moving.q, v, a), by_q @ v + by_v @ a + by_a @ jerk])
    assert_close_by_row(efforts, expected, 1e-11)  # derivatives are sums over whole subtrees


def test_orders_that_are_not_asked_for_change_nothing() -> None:
    moving = Moving(1)
    whole = moving.inverse()
    for rows in range(1, len(whole)):
        np.testing.assert_array_equal(moving.inverse(moving.v_series[: rows + 1]), whole[:rows])


def test_many_orders_of_a_pendulum_that_turns_steadily() -> None:
    """``tau = m g l cos(w t)`` up to the twelfth derivative."""
    m, g, length, w = 2.0, 9.81, 0.7, 1.3
    s = tt.System("pendulum", gravity=[0, 0, -g])
    s.connect("world", tt.RigidBody("body", m, com=[length, 0, 0]), tt.Revolute("hinge", axis=[0, -1, 0]))
    rates = np.zeros((14, 1))
    rates[0] = w
    efforts = s.resolve().inverse_dynamics_series([0.0], rates)
    signs = np.resize([1.0, 0.0, -1.0, 0.0], 13)
    np.testing.assert_allclose(efforts[:, 0], m * g * length * signs * w ** np.arange(13), rtol=1e-12, atol=1e-11)
