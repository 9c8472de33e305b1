"""What a loop measures, compares and commands, by name."""

from __future__ import annotations

import warnings
from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import titop as tt
from tests.solvers.control.sliders import Array, gain, held, largest, slider, state
from tests.tolerances import TIGHT


def test_noise_has_the_variance_that_the_lyapunov_equation_says() -> None:
    step, k, deviation = 0.1, np.array([2.0, 2.5]), np.array([0.02, 0.05])
    A, B = held(step)
    closed = A - np.outer(B, k)
    through = np.outer(B, k * deviation)
    P = solve_discrete_lyapunov(closed, through @ through.T)
    n = 5000
    noise = {"rail.q": deviation[0], "rail_v": deviation[1]}
    arguments = {"controller": gain(*k), "sample_time": step, "noise": noise}
    run = tt.simulate(slider(), np.arange(n) * step, [0.0], [0.0], **arguments, rtol=1e-6, seed=3)
    true, measured = state(run), run.control.y
    # N values of variance P and autocovariance r_k: their mean square has the variance (2 / N) sum of r_k^2 (k both ways)
    lags = np.array([(np.linalg.matrix_power(closed, m) @ P).diagonal() for m in range(300)])
    spread = np.sqrt(2 / n * ((lags**2).sum(axis=0) * 2 - lags[0] ** 2))
    assert (np.abs((true**2).mean(axis=0) - P.diagonal()) < 4 * spread).all()
    noise_variance = ((measured - true) ** 2).mean(axis=0)
    assert (np.abs(noise_variance - deviation**2) < 4 * deviation**2 * np.sqrt(2 / n)).all()
    assert abs(np.corrcoef((measured - true).T)[0, 1]) < 4 / np.sqrt(n)


def test_noise_is_reproducible() -> None:
    def measured(seed: Any) -> Array:
        arguments = {"controller": gain(1.0, 1.0, dt=0.1), "noise": 0.1, "seed": seed}
        return tt.simulate(slider(), [0, 1], [0.0], [0.0], **arguments).control.y

    assert np.array_equal(measured(7), measured(7))
    assert np.array_equal(measured(7), measured(np.random.SeedSequence(7)))
    assert largest(measured(7) - measured(8)) > 1e-3


@pytest.mark.parametrize("step", [None, 0.05])
def test_references_can_be_given_in_every_form(step: float | None) -> None:
    t = np.linspace(0, 1, 11)
    ramp = np.column_stack([0.5 * t, np.full(11, 0.5)])
    forms = [
        {"rail.q": lambda t: 0.5 * t, "rail.v": 0.5},
        {"rail_q": 0.5 * t, "rail_v": lambda t: 0.5},
        ramp,
        lambda t: np.array([0.5 * t, 0.5]),
    ]
    runs = [
        tt.simulate(slider(), t, [0.0], [0.0], controller=gain(3.0, 2.0), sample_time=step, reference=form, **TIGHT)
        for form in forms
    ]
    for run in runs[1:]:
        assert largest(run.q - runs[0].q) < 1e-10  # sums in another order, a tolerance of 1e-11
    assert runs[0].signal("r_rail.q")[-1] == pytest.approx(0.5)
    separate = gain(3.0, 2.0, -3.0, -2.0, inputs=["r_rail_q", "r_rail_v", "rail_q", "rail_v"])
    two = tt.simulate(slider(), t, [0.0], [0.0], controller=separate, sample_time=step, reference=ramp, **TIGHT)
    assert largest(two.q - runs[0].q) < 1e-10  # sums in another order, a tolerance of 1e-11
    forward = gain(3.0, 2.0, 1.5, inputs=["rail_q", "rail_v", "push"])
    pushed = tt.simulate(
        slider(), t, [0.0], [0.0], controller=forward, sample_time=step, reference={**forms[0], "push": lambda t: 2.0}, **TIGHT
    )
    beside = tt.simulate(
        slider(), t, [0.0], [0.0], controller=gain(3.0, 2.0), sample_time=step, reference=ramp, u=[3.0], **TIGHT
    )
    assert largest(pushed.q - beside.q) < 1e-10  # sums in another order, a tolerance of 1e-11


@pytest.mark.parametrize(("reference", "said"), [(0.1, True), (-0.1, True), (0.7, False), (0.3, False), (2.0, False)])
def test_references_that_look_like_deviations_are_said(reference: float, said: bool) -> None:
    arguments = {"controller": gain(3.0, 2.0), "operating_point": {"rail.q": 0.5}, "reference": {"rail.q": reference}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tt.simulate(slider(), [0, 0.1], [0.5], [0.0], **arguments)
    assert [("far-reference" in str(w.message) and "absolute" in str(w.message)) for w in caught] == [True] * said


def test_references_are_no_deviations_from_what_is_zero_but_for_rounding() -> None:
    for there, said in ((3e-13, False), (1e-3, True)):
        arguments = {"controller": gain(3.0, 2.0), "operating_point": {"rail.q": there}, "reference": {"rail.q": 0.0}}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tt.simulate(slider(), [0, 0.1], [0.0], [0.0], **arguments)
        assert ["far-reference" in str(w.message) for w in caught] == [True] * said


def test_inputs_keep_to_the_actuators_ranges_unless_told_otherwise() -> None:
    for step in (None, 0.01):
        run = tt.simulate(slider(limit=1.5), np.linspace(0, 2, 21), [1.0], [0.0], controller=gain(8.0, 5.0), sample_time=step)
        assert run.u.min() == -1.5
        assert run.control.u[0, 0] == -8.0
        assert run.violations() == []
        free = tt.simulate(
            slider(limit=1.5), np.linspace(0, 2, 21), [1.0], [0.0], controller=gain(8.0, 5.0), sample_time=step, saturate=False
        )
        assert free.u[0, 0] == -8.0
        assert [finding.where for finding in free.violations()] == ["motor input"]


@pytest.mark.parametrize(("step", "method"), [(0.05, "DOP853"), (None, "DOP853"), (None, "Radau"), (None, "generalized-alpha")])
def test_references_may_follow_the_state(step: float | None, method: str) -> None:
    """A reference that is part of the position acts as less gain on it."""
    t, tolerances = np.linspace(0, 1, 11), TIGHT if method != "generalized-alpha" else {"rtol": 1e-7, "atol": 1e-9}
    common = {"sample_time": step, "method": method, **tolerances}
    following = {"rail.q": lambda t, q, v: 0.4 * q[0], "rail.v": lambda t: 0.0}
    run = tt.simulate(slider(), t, [0.3], [0.0], controller=gain(5.0, 2.0), reference=following, **common)
    right = tt.simulate(slider(), t, [0.3], [0.0], controller=gain(3.0, 2.0), **common)
    # second-order steps of these tolerances are right to 1e-6, the others to the tolerance itself
    assert largest(state(run) - state(right)) < (1e-6 if method == "generalized-alpha" else 1e-9)
    np.testing.assert_allclose(run.control.r[:, 0], 0.4 * run.control.y[:, 0], atol=1e-12)


@pytest.mark.parametrize("step", [None, 0.05])
def test_transfer_functions_control_as_their_state_spaces(step: float | None) -> None:
    names = {"inputs": ["rail_q"], "outputs": ["motor"]}
    transfer, t = control.tf([6.0, 20.0], [0.1, 1.0], **names), np.linspace(0, 1, 11)
    by_hand = control.ss([[-10.0]], [[1.0]], [[20.0 * 10 - 60.0 * 10]], [[60.0]], **names)  # 60 + (200 - 600) / (s + 10)
    runs = [tt.simulate(slider(), t, [0.3], [0.0], controller=K, sample_time=step, **TIGHT) for K in (transfer, by_hand)]
    assert largest(state(runs[0]) - state(runs[1])) < 1e-9
