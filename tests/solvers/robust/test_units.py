"""Verdicts and bounds in other units of length, mass and time: the same, but for the units of the result."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.families import oscillator

#: Bounds are found to a hundredth, one in each unit.
TOLERANCE = 0.02

#: Metres, kilograms and seconds in which arms are a unit long, heavy and fast: down to a machine of micrometres.
SIZES = [(1e-5, 1e-12, 1e-5), (1e6, 1e9, 1e5)]


def arm(length: float, mass: float, time: float) -> tt.LFTModel:
    """Return a sprung arm whose centre of mass is uncertain, a sprung mass at its end."""
    L, M, T = length, mass, time
    s = tt.System("arm", gravity=[0, 0, 0])
    body = tt.RigidBody("arm", M, com=[0.3 * L, 0, 0], inertia=0.1 * M * L**2, ports={"end": [0.5 * L, 0, 0]})
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=4 * M * (L / T) ** 2, damping=0.1 * M * L**2 / T)
    s.connect("world", body, hinge)
    bob = tt.RigidBody("bob", 0.5 * M, inertia=0.01 * M * L**2)
    s.connect(body.port("end"), bob, tt.Prismatic("slide", axis=[1, 0, 0], stiffness=5 * M / T**2, damping=0.1 * M / T))
    m = s.resolve()
    return tt.lft(m, m.neutral(), {"arm.com.x": (0.25 * L, 0.37 * L)}, inputs=["hinge"], outputs=["hinge.q"])


def panel(time: float) -> tt.LFTModel:
    """Return a hub on a spring with a panel whose mode is uncertain, all in times of a second."""
    T = time
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=200.0, inertia=60.0, ports={"side": [0, 0.5, 0]})
    mode = [[0, 0, 2.4, 3.4, 0, 0]]
    wing = tt.FlexibleBody("panel", 10.0, [0, 1, 0], [4, 0.5, 4], [2.0 / T], mode, damping_ratios=0.05)
    s.connect("world", hub, joint=tt.Revolute("roll", axis=[1, 0, 0], stiffness=30 / T**2, damping=20 / T))
    s.connect(hub.port("side"), wing, joint=tt.Weld("root"))
    m = s.resolve()
    frequency = {"panel.mode1.frequency": (1.7 / T, 2.4 / T)}
    return tt.lft(m, m.neutral(), frequency, inputs=["roll"], outputs=["roll.q"])


@pytest.fixture(scope="module")
def unit_arm() -> tuple[tt.RobustStability, tt.WorstCaseGain, tt.LyapunovStability]:
    family = arm(1, 1, 1)
    return (
        tt.robust_stability(family, margin=True, progress=False),
        tt.worst_case_gain(family, "hinge", "hinge.q", progress=False),
        tt.lyapunov_stability(family, {"arm.com.x": 0.05}, decay=True, progress=False),
    )


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_small_and_large_machines_are_as_stable_as_those_of_a_metre(unit_arm: tuple, size: tuple[float, float, float]) -> None:
    L, M, T = size
    family, (right, gain, shown) = arm(*size), unit_arm
    assert right.robust
    found = tt.robust_stability(family, margin=True, progress=False)
    assert found.robust
    assert found.upper == pytest.approx(right.upper, rel=TOLERANCE)
    assert found.lower == right.lower == 0
    bound = tt.mu(family, np.array([0.0, 3.0]) / T, progress=False)
    assert bound.upper == pytest.approx(tt.mu(arm(1, 1, 1), [0.0, 3.0], progress=False).upper, rel=1e-3, abs=1e-6)
    own = tt.worst_case_gain(family, "hinge", "hinge.q", progress=False)
    compliance = T**2 / (M * L**2)
    assert own.lower == pytest.approx(gain.lower * compliance, rel=1e-6)
    assert own.upper == pytest.approx(gain.upper * compliance, rel=TOLERANCE)
    assert own.omega == pytest.approx(gain.omega / T, rel=1e-3)
    assert own.member["arm.com.x"] == pytest.approx(0.37 * L)
    falling = tt.lyapunov_stability(family, {"arm.com.x": 0.05 * L / T}, decay=True, progress=False)
    assert falling.stable
    assert falling.proof
    assert falling.decay * T == pytest.approx(shown.decay, rel=TOLERANCE)


@pytest.mark.parametrize("time", [1e-6, 1e6])
def test_fast_and_slow_loops_are_as_stable_as_those_of_a_second(time: float) -> None:
    name = "panel.mode1.frequency"
    plain, other = panel(1.0), panel(time)
    right, found = (tt.robust_stability(own, margin=True, progress=False) for own in (plain, other))
    assert right.robust
    assert found.robust
    assert found.upper == pytest.approx(right.upper, rel=TOLERANCE)
    assert found.lower == pytest.approx(right.lower, rel=1e-6)
    gains = [tt.worst_case_gain(own, "roll", "roll.q", progress=False) for own in (plain, other)]
    assert gains[1].lower == pytest.approx(gains[0].lower * time**2, rel=1e-6)
    assert gains[1].upper == pytest.approx(gains[0].upper * time**2, rel=TOLERANCE)
    assert tt.lyapunov_stability(plain).stable is tt.lyapunov_stability(other).stable is None
    shown = [
        tt.lyapunov_stability(own, {name: 0.01 / T**2}, decay=True, progress=False) for own, T in ((plain, 1.0), (other, time))
    ]
    assert [own.proof for own in shown] == [True, True]
    assert shown[1].decay * time == pytest.approx(shown[0].decay, rel=TOLERANCE)


def in_units(states: np.ndarray, time: float) -> tuple[control.StateSpace, list[tt.DeltaBlock]]:
    """Return an oscillator of uncertain stiffness and damping with its states and times in other units."""
    (A, B, C, _), blocks = oscillator((0.9, 1.1), (0.3, 0.5), (0.9, 1.1))
    A, B, C = A / time * states[:, None] / states, B[:, :2] / time * states[:, None], C[:2] / states
    return control.ss(A, B, C, 0), blocks[:2]


@pytest.mark.parametrize(("states", "time"), [([1e6, 1e-6], 1.0), ([1.0, 1.0], 1e-7), ([1e-3, 1e5], 1e7)])
def test_lyapunov_functions_are_those_of_the_models_states(states: list[float], time: float) -> None:
    """P falls along the members in the user's units, at the decay that is told."""
    M, blocks = in_units(np.array(states), time)
    right = tt.lyapunov_stability(*in_units(np.ones(2), 1.0)[:1], blocks=blocks, decay=True)
    found = tt.lyapunov_stability(M, blocks=blocks, decay=True)
    assert found.proof
    assert found.decay * time == pytest.approx(right.decay, rel=TOLERANCE)
    for k, c in np.random.default_rng(0).uniform(-1, 1, (50, 2)):
        A = np.asarray(M.A) + np.asarray(M.B) @ np.diag([k, c]) @ np.asarray(M.C)
        F = np.linalg.solve(found.P[0], A.T @ found.P[0] + found.P[0] @ A)
        assert np.linalg.eigvals(F).real.max() / 2 <= -found.decay * (1 - 1e-6)
