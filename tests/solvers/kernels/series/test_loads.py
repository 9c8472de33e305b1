"""Loads and wrenches with derivatives, against Newton's and Euler's laws in the inertial frame."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.series.motions_at_random import ORDER, Moving, assert_close_by_row
from tests.solvers.kernels.series.newton_series import NewtonSeries
from titop.solvers.mechanism.inputs import PortPush


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_loads_in_the_port_and_the_inertial_frame(base: str) -> None:
    moving = Moving(5, base=base, loads=True)
    assert {load.frame for load in moving.tree.loads} == {"world", "port"}
    expected = NewtonSeries(moving.tree, moving.q, moving.v_series).efforts
    assert_close_by_row(moving.inverse(), expected, 1e-12)  # as in `test_inverse_dynamics_series`


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("inertial", [False, True])
def test_wrenches_with_derivatives(base: str, inertial: bool) -> None:
    """Beside the model's own loads, on two ports of one body and the frame of another."""
    moving, rng = Moving(6, base=base, loads=True), np.random.default_rng(0)
    wrenches = {port: rng.normal(size=(ORDER + 1, 6)) for port in ("b1.A", "b4", "b1.B")}
    expected = NewtonSeries(moving.tree, moving.q, moving.v_series, wrenches, inertial).efforts
    pushes = [PortPush(port, inertial, wrench) for port, wrench in wrenches.items()]
    series = moving.model.mechanism.engine.series
    assert_close_by_row(series.tree_inverse(moving.q, moving.v_series, pushes), expected, 1e-12)
    still = np.zeros(moving.model.nv, dtype=bool)
    motion, _ = series.tree_hybrid(  # type: ignore[attr-defined]
        moving.q, moving.v_series[0], expected, np.zeros(expected.shape), still, pushes
    )
    assert_close_by_row(motion, moving.v_series[1:], 1e-6)  # as in `test_forward_dynamics_series`


def test_derivatives_of_wrenches_matter() -> None:
    """The negative control: a wrench that stays has the same efforts at order 0, and others from then on."""
    moving = Moving(6)
    wrench = np.ones((ORDER + 1, 6))
    constant = np.vstack([wrench[:1], np.zeros((ORDER, 6))])
    efforts = [
        moving.model.mechanism.engine.series.tree_inverse(moving.q, moving.v_series, [PortPush("b4", False, each)])
        for each in (wrench, constant)
    ]
    change = np.abs(efforts[0] - efforts[1]).max(axis=1)
    assert change[0] == 0.0
    assert change[1:].min() > 0.1
