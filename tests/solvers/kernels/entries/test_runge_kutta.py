"""Stages of explicit Runge-Kutta methods, against products of matrices."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.packed_trees import Packed
from tests.tolerances import ROUNDING
from titop.solvers.kernels.entries import runge_kutta
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
    runge_kutta.take_state(packed.ints, state, motion, moved, imposed, q, v, a)
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
        limits = np.array([[-limit], [limit]])
        tables = (ints, gains, offset, limits, motors, thrust)
        runge_kutta.control(*tables, state[:3], state[3:5], state, tau, floats, effort, rate)
        u = np.clip(asked[0], -limit, limit)
        np.testing.assert_allclose(effort, tau + motors[:, 0] * u + asked[1:3], **ROUNDING)
        np.testing.assert_allclose(floats[2, layout.FORCE : layout.FORCE + 6], thrust[:, 0] * u, **ROUNDING)
        np.testing.assert_allclose(rate, [0.0, 0.0, 0.0, 0.0, 0.0, asked[3]], **ROUNDING)
        assert (floats[:2] == 1.0).all()
