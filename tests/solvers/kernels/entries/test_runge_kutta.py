"""Stages of explicit Runge-Kutta methods, against products of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

from tests.solvers.kernels.packed_trees import Packed
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.entries import runge_kutta
from titop.solvers.kernels.entries import runge_kutta as steps
from titop.solvers.kernels.interface import layout


def test_states_are_combined_of_the_rates_before_them() -> None:
    rng = np.random.default_rng(0)
    coefficients, states, rates = rng.normal(size=(4, 4)), rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    expected = states[0] + 0.3 * coefficients[2, :2] @ rates[:2]
    rates[2:] = np.nan  # not known yet
    runge_kutta.combine(2, 0.3, coefficients, states, rates)
    np.testing.assert_allclose(states[2], expected, **ROUNDING)


def test_imposed_motion_takes_the_place_of_the_states() -> None:
    packed = Packed(1, bodies=4)
    nq, nv, rng = packed.model.nq, packed.model.nv, np.random.default_rng(0)
    state, motion = np.concatenate([1.2 * packed.q, packed.v]), rng.normal(size=nq + 2 * nv)
    moved, imposed = np.arange(nq) == nq - 1, np.arange(nv) == nv - 1
    q, v, a = np.empty(nq), np.empty(nv), np.empty(nv)
    runge_kutta.take_state(packed.ints, state, motion, (moved, imposed), (q, v, a))
    quaternion = [name.rsplit(".", 1)[-1].startswith("q") for name in packed.model.configuration_names]
    expected = np.where(quaternion, packed.q, 1.2 * packed.q)
    np.testing.assert_allclose(q[~moved], expected[~moved], **ROUNDING)
    assert (q[moved], v[imposed], a[imposed]) == (motion[nq - 1], motion[nq + nv - 1], motion[-1])
    assert np.array_equal(v[~imposed], packed.v[~imposed])
    assert (a[~imposed] == 0.0).all()


def test_controllers_answer_linearly_within_limits() -> None:
    """One input, of which a motor and a wrench take part, two efforts, and one state of the controller's own."""
    rng, ints = np.random.default_rng(0), np.zeros((1, layout.INT_COLUMNS), dtype=np.int64)
    ints[0, layout.NQ], ints[0, layout.NV] = 3, 2
    gains, offset, state, tau = rng.normal(size=(4, 6)), rng.normal(size=4), rng.normal(size=6), rng.normal(size=2)
    motors, thrust = rng.normal(size=(2, 1)), rng.normal(size=(6, 1))
    asked = gains @ state + offset
    for limit in (10.0, 0.5 * abs(asked[0])):  # free, and at its limit
        floats, effort, rate = np.ones((3, layout.FLOAT_COLUMNS)), np.empty(2), np.zeros(6)
        feedback = gains, np.vstack([[-limit], [limit], motors, thrust]), tau
        told = np.concatenate([rng.normal(size=7), offset])  # behind what is imposed
        runge_kutta.control(ints, floats, feedback, told, state, (state[:3], state[3:5], effort), rate)
        u = np.clip(asked[0], -limit, limit)
        np.testing.assert_allclose(effort, tau + motors[:, 0] * u + asked[1:3], **ROUNDING)
        np.testing.assert_allclose(floats[2, layout.FORCE : layout.FORCE + 6], thrust[:, 0] * u, **ROUNDING)
        np.testing.assert_allclose(rate, [0.0, 0.0, 0.0, 0.0, 0.0, asked[3]], **ROUNDING)
        assert (floats[:2] == 1.0).all()


# Lengths of steps, against scipy's rules.


def clock(**entries: float) -> Array:
    """Return a clock at 1 s that has run for a while, some entries replaced; of two states, the second is coarser."""
    usual = {"TIME": 1.0, "END": 100.0, "WISH": 0.1, "GROWTH": steps.MOST, "LONGEST": np.inf, "RTOL": 1e-3, "ATOL": 1e-6}
    usual |= {"EXPONENT": -0.2, "LENGTH": 0.1}
    result = np.zeros(steps.ATOL + 2)
    for name, value in (usual | entries).items():
        result[getattr(steps, name)] = value
    result[steps.ATOL + 1] = 1e-3
    return result


@pytest.mark.parametrize(("method", "rows"), [(RK45, ("E",)), (DOP853, ("E5", "E3"))])
def test_errors_are_scipys(method: type, rows: tuple[str, ...]) -> None:
    solver = method(lambda t, y: np.array([y[1], -y[0]]), 0.0, np.array([1.0, 0.5]), 10.0, rtol=1e-3, atol=[1e-6, 1e-3])
    estimators = np.array([getattr(solver, row) for row in rows])
    rng, stages = np.random.default_rng(0), estimators.shape[1]
    states, rates = rng.normal(size=(stages, 2)), rng.normal(size=(stages, 2))
    scale = np.array([1e-6, 1e-3]) + 1e-3 * np.maximum(np.abs(states[0]), np.abs(states[-1]))
    expected = solver._estimate_error_norm(rates, 0.1, scale)
    assert steps.error_of(stages - 1, clock(), estimators, states, rates) == pytest.approx(expected, rel=1e-12)


def tried(error: float, filled: bool = True, **entries: float) -> tuple[bool, Array]:
    """Return whether a try with such an error is a step, and the clock behind it; one coordinate, one stage."""
    after = clock(**entries)
    state = np.zeros((1, 1))
    rate = np.array([[error * after[steps.ATOL] / after[steps.LENGTH]]])
    return steps.take_or_leave(filled, 0, after, np.ones((1, 1)), state, rate), after


def test_steps_follow_their_error() -> None:
    is_step, after = tried(0.5)
    assert is_step
    assert after[[steps.TIME, steps.BEFORE, steps.LAST, steps.STEPS]] == pytest.approx([1.1, 1.0, 0.1, 1.0])
    assert after[steps.LENGTH] == pytest.approx(0.1 * 0.9 * 0.5**-0.2)
    is_step, after = tried(4.0)
    assert not is_step
    assert after[[steps.TIME, steps.STEPS, steps.BEGUN]].tolist() == [1.0, 0.0, 1.0]
    assert after[steps.LENGTH] == pytest.approx(0.1 * 0.9 * 4.0**-0.2)
    assert after[steps.GROWTH] == 1.0  # nothing grows at once behind a step that failed


def test_lengths_grow_and_shrink_within_limits() -> None:
    assert tried(0.0)[1][steps.LENGTH] == pytest.approx(1.0)  # ten times as long
    assert tried(1e30)[1][steps.LENGTH] == pytest.approx(0.02)  # a fifth
    is_step, after = tried(0.0, filled=False)
    assert not is_step
    assert after[steps.LENGTH] == pytest.approx(0.02)
    assert after[steps.BEGUN] == 0.0
    assert tried(0.0, LONGEST=0.3)[1][steps.LENGTH] == pytest.approx(0.3)


@pytest.mark.parametrize(("end", "length"), [(1.05, 0.05), (1.15, 0.075), (1.3, 0.1)])
def test_the_last_steps_share_what_is_left(end: float, length: float) -> None:
    told = clock(END=end)
    steps.choose_length(told)
    assert told[steps.LENGTH] == pytest.approx(length)


def test_steps_too_short_to_count_are_told() -> None:
    for wish, growth, expected in ((1e-18, 1.0, 0.0), (1e-18, 10.0, 10 * 2.0**-52), (np.nan, 10.0, 0.0)):
        told = clock(WISH=wish, GROWTH=growth)
        steps.choose_length(told)
        assert told[steps.LENGTH] == expected
