"""Exponential steps: exact for what is linear, right for what is not, and seen by whoever looks within steps."""

from __future__ import annotations

import math
from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.closed_systems import closed_four_bar
from titop.solvers.simulation.exponential_steps import _NODES, _PLACES, Ladder, polynomials

Array = np.ndarray
TIGHT: Any = {"rtol": 1e-11, "atol": 1e-13}


def coupled(fast: float) -> tt.Model:
    """Return two undamped oscillators, one on the other."""
    s = tt.System("coupled", gravity=[0, 0, 0])
    one = tt.RigidBody("one", 1.0)
    s.connect("world", one, tt.Prismatic("slow", axis=[1, 0, 0], stiffness=1.0))
    s.connect(one, tt.RigidBody("two", 0.1), tt.Prismatic("fast", axis=[1, 0, 0], stiffness=0.1 * fast**2))
    return s.resolve()


def satellite() -> tt.Model:
    """Return a free hub with two beams on hinges, with modes of 0.3 to 300 Hz."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 500.0, inertia=[300, 250, 200], ports={"left": [0, 1, 0], "right": [0, -1, 0]})
    s.connect("world", hub, tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        beam = tt.Beam(side, 5.0, 100.0, 0.05, 1e9, 5e-6, 1e-3, damping_ratio=0.005, modes=1, torsion_modes=0)
        placement = tt.Pose(rotation=[[0, -sign, 0], [sign, 0, 0], [0, 0, 1]])
        s.connect(hub.port(side), beam, tt.Revolute(f"drive_{side}", axis=[sign, 0, 0]), placement=placement)
    s.add_sensor(tt.Gyro("gyro", hub))
    return s.resolve()


def tumbling(m: tt.Model, rates: float) -> tuple[Array, Array]:
    v = np.zeros(m.nv)
    v[3:7] = rates * np.array([1.0, 0.5, -0.8, 0.5])
    return m.neutral(), v


@pytest.mark.parametrize("fast", [10.0, 1e4])
def test_what_is_linear_is_exact_whatever_its_frequencies(fast: float) -> None:
    """Beside the exponential of the linear model; its rounding grows with the phase, 1e5 rad."""
    m, t = coupled(fast), np.linspace(0.0, 10.0, 11)
    q, v = np.array([1.0, 0.01]), np.array([0.3, -0.2])
    A = tt.linear_matrices(m, m.neutral())[0]
    expected = np.array([expm(time * A) @ np.concatenate([q, v]) for time in t])
    run = tt.simulate(m, t, q, v, method="exponential")
    assert run.statistics["steps"] <= 20
    np.testing.assert_allclose(np.hstack([run.q, run.v]), expected, atol=1e-9 * fast)
    assert tt.simulate(m, t[:2], q, v).statistics["steps"] > fast / 10  # the negative control: it resolves them


@pytest.mark.parametrize(("rates", "most"), [(0.1, 1500), (1e-3, 200)])
def test_flexible_satellites_turn_within_the_tolerance(rates: float, most: int) -> None:
    """Beside the explicit method at a tolerance a thousand times tighter, at output times that no step divides evenly."""
    m, t = satellite(), np.array([0.0, 0.7, 1.0, 3.3, 5.0])
    state = tumbling(m, rates)
    expected, run = tt.simulate(m, t, *state, **TIGHT), tt.simulate(m, t, *state, method="exponential")
    for one, other in ((run.q, expected.q), (run.v, expected.v)):
        assert (np.abs(one - other) <= 10 * (1e-10 + 1e-8 * np.abs(other))).all()  # errors add up over the steps
    assert run.statistics["steps"] < most < expected.statistics["steps"]


def test_commands_are_held_between_samples() -> None:
    """A rate controller; the state jumps nowhere, its accelerations at each sample."""
    m, names = satellite(), ["gyro_x", "gyro_y", "gyro_z"]
    K = control.ss([], [], [], 400.0 * np.eye(3), 0.1, inputs=names, outputs=["base_rx", "base_ry", "base_rz"])
    t, state = np.linspace(0.0, 2.0, 9), tumbling(m, 0.01)
    given: Any = {"controller": K, "delay": 0.05, "reference": {"gyro.x": 0.001}}
    expected, run = tt.simulate(m, t, *state, **given, **TIGHT), tt.simulate(m, t, *state, method="exponential", **given)
    assert (np.abs(run.q - expected.q) <= 10 * (1e-10 + 1e-8 * np.abs(expected.q))).all()
    np.testing.assert_allclose(run.control.u, expected.control.u, rtol=1e-6, atol=1e-8)
    assert np.abs(run.v[-1, 3:6]).max() < 0.5 * np.abs(state[1][3:6]).max()


@pytest.mark.parametrize("sample_time", [None, 0.02])
def test_continuous_controllers_and_functions_of_time_are_part_of_it(sample_time: float | None) -> None:
    m = coupled(50.0)
    K = control.ss([[-3.0]], [[1.0]], [[-0.5]], [[-0.1]], inputs=["slow_v"], outputs=["slow_tau"])
    t, state = np.linspace(0.0, 3.0, 7), (np.array([0.2, 0.0]), np.zeros(2))
    given: Any = {"controller": K, "sample_time": sample_time, "tau": lambda t, q, v: np.array([math.sin(3 * t), 0.0])}
    expected, run = tt.simulate(m, t, *state, **given, **TIGHT), tt.simulate(m, t, *state, method="exponential", **given)
    np.testing.assert_allclose(run.q, expected.q, rtol=1e-7, atol=1e-9)


def test_loops_of_bodies_are_refused() -> None:
    m, q, v = closed_four_bar()
    with pytest.raises(tt.ModelError, match="unknown-method"):
        tt.simulate(m, [0, 1], q, v, method="exponential")


# -- functions of matrices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-3, 1.0, 300.0])
def test_functions_of_a_matrix_and_its_parts(size: float) -> None:
    """Beside scipy's exponential of ``[[A, I, 0], [0, 0, I], [0, 0, 0]]``, whose first row has phi_0, phi_1 and so on."""
    n, rng = 4, np.random.default_rng(0)
    turning = rng.normal(size=(n, n))
    matrix, count = size * (turning - turning.T) - 0.01 * np.eye(n), 3
    ladder = Ladder(matrix, count)
    for part in (1.0, 0.5, 2.0**-9, 2.0**-10, 2.0**-14):
        grown = np.kron(np.eye(count + 1, k=1), np.eye(n))
        grown[:n, :n] = part * matrix
        expected = expm(grown)[:n].reshape(n, count + 1, n).swapaxes(0, 1)
        np.testing.assert_allclose(ladder.at(part), expected, atol=1e-12 * max(1.0, size))


def test_polynomials_go_through_all_nodes_but_one() -> None:
    values = np.random.default_rng(0).normal(size=_NODES)
    for first in range(_NODES):
        for coefficients, left_out in zip(polynomials(first), (_NODES, _NODES // 2), strict=True):
            at_nodes = np.vander(_PLACES - _PLACES[first], increasing=True) @ coefficients @ values
            missed = np.abs(at_nodes - values) > 1e-9
            assert missed.tolist() == [k == left_out for k in range(_NODES)]
