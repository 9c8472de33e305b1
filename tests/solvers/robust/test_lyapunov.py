"""Stability while parameters change with time, against small gains, Floquet multipliers, motions and dense grids."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import control
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import titop as tt
from tests.solvers.lft.satellites import satellite, still, tied
from tests.solvers.robust.families import oscillator
from titop.solvers.robust.lyapunov import LyapunovStability

REAL, COMPLEX, FULL = tt.DeltaBlock.real, tt.DeltaBlock.complex, tt.DeltaBlock.full

#: Margins are bisected to a hundredth.
BISECTED = 0.011


def swing(change: float, zeta: float = 0.1) -> tuple[control.StateSpace, list[tt.DeltaBlock]]:
    """Return ``x'' + 2 ζ x' + (1 + change δ) x = 0``, δ within ±1."""
    return control.ss([[0, 1], [-1, -2 * zeta]], [[0], [-change]], [[1, 0]], 0), [REAL("k")]


def fastest(change: float, omega: float, zeta: float = 0.1) -> float:
    """Return the largest Floquet multiplier of the swing with ``δ = cos(omega t)``: above one, it grows."""

    def flow(t: float, x: np.ndarray) -> np.ndarray:
        A = np.array([[0, 1], [-1 - change * np.cos(omega * t), -2 * zeta]])
        return (A @ x.reshape(2, 2)).ravel()

    end = solve_ivp(flow, (0, 2 * np.pi / omega), np.eye(2).ravel(), rtol=1e-9, atol=1e-12).y[:, -1]
    return float(np.abs(np.linalg.eigvals(end.reshape(2, 2))).max())


def lyapunov_matrix(found: LyapunovStability, s: np.ndarray) -> np.ndarray:
    """Return P at a normalised point."""
    return np.tensordot((s**found.exponents).prod(axis=1), found.P, 1)


@pytest.mark.parametrize("zeta", [0.02, 0.1, 0.4])
def test_stiffness_may_change_fast_by_a_known_part(zeta: float) -> None:
    """By ``2 ζ sqrt(1 - ζ²)``, one over the peak of ``1 / (s² + 2 ζ s + 1)``: for one number, a common P is the small gain."""
    M, blocks = swing(1.0, zeta)
    peak = max(abs(M(1j * omega)) for omega in np.linspace(0.5, 1.1, 2001))
    expected = 2 * zeta * np.sqrt(1 - zeta**2)
    assert 1 / peak == pytest.approx(expected, rel=1e-4), "the second way"
    found = tt.lyapunov_stability(M, blocks=blocks, margin=True)
    assert found.margin == pytest.approx(expected, rel=BISECTED)
    assert found.margin <= expected
    near, beyond = (tt.lyapunov_stability(swing(x * expected, zeta)[0], blocks=blocks).stable for x in (0.995, 1.005))
    assert near is True
    assert beyond is None


def test_a_pumped_swing_is_not_called_stable() -> None:
    """Stable with every constant stiffness, it grows when it is stiffened twice a period; slow changes are harmless."""
    M, blocks = swing(0.5)
    assert tt.robust_stability(M, blocks=blocks).robust
    assert fastest(0.5, 2.0) > 1.05, "unstable while δ changes at 2 a second"
    fast, pumped = tt.lyapunov_stability(M, blocks=blocks), tt.lyapunov_stability(M, {"k": 2.0}, blocks=blocks, degree=3)
    assert fast.stable is None
    assert pumped.stable is None
    assert "not shown" in str(pumped)
    slow = tt.lyapunov_stability(M, {"k": 0.2}, blocks=blocks)
    assert slow.stable
    assert slow.proof
    assert fastest(0.5, 0.2) < np.exp(-slow.decay * 2 * np.pi / 0.2)


def test_bounded_rates_are_between_constant_and_arbitrarily_fast() -> None:
    M, blocks = swing(0.3)
    assert tt.lyapunov_stability(M, blocks=blocks).stable is None
    decays = [
        tt.lyapunov_stability(M, {"k": rate}, blocks=blocks, decay=True, tolerance=0.03).decay for rate in (0.0, 0.3, 1.0)
    ]
    assert decays == sorted(decays, reverse=True)
    assert decays[0] == pytest.approx(0.1, rel=0.1), "the members' own, but for what degree 1 loses"
    assert decays[2] > 0
    assert tt.lyapunov_stability(M, {"k": 30.0}, blocks=blocks).stable is None


def test_the_function_falls_along_motions() -> None:
    """At the decay that is stated, while δ runs to and fro at its highest rate; the negative control runs ten times as fast."""
    M, blocks = swing(0.3)
    rate = 1.0
    found = tt.lyapunov_stability(M, {"k": rate}, blocks=blocks)

    def largest_growth(speed: float) -> float:
        s = 2 / np.pi * np.arcsin(np.sin(np.pi / 2 * speed * np.linspace(0, 12, 6001)))
        growth = []
        for before, after in pairwise(s):
            A = np.array([[0, 1], [-1 - 0.3 * before, -0.2]])
            P, change = (lyapunov_matrix(found, np.array([x])) for x in (before, after))
            F = A.T @ P + P @ A + (change - P) / 2e-3
            growth.append(np.linalg.eigvals(np.linalg.solve(P, F)).real.max() / 2)
        return max(growth)

    assert largest_growth(rate) < -found.decay + 2e-3, "differences of 2e-3 s"
    assert largest_growth(10 * rate) > 0


def test_one_parameter_is_proved_between_the_points() -> None:
    """With two points alone, at the ends: the values at which the inequality fails between them are found and added."""
    (A, B, C, _), blocks = oscillator((1.0, 9.0), (0.2, 0.3), (0.5, 2.0))
    M, stiffness = control.ss(A, B[:, [0]], C[[0]], 0), blocks[:1]
    found = tt.lyapunov_stability(M, {"k": 0.3}, blocks=stiffness, points=2, degree=2)
    assert found.stable
    assert found.proof
    for s in np.linspace(-1, 1, 801):
        P, small = lyapunov_matrix(found, np.array([s])), 1e-6
        slope = (lyapunov_matrix(found, np.array([s + small])) - lyapunov_matrix(found, np.array([s - small]))) / (2 * small)
        own = A + s * B[:, [0]] @ C[[0]]
        for ds in (-0.3 / 4, 0.3 / 4):
            F = own.T @ P + P @ own + ds * slope
            assert np.linalg.eigvals(np.linalg.solve(P, F)).real.max() / 2 < -0.999 * found.decay


def test_multipliers_prove_no_more_than_corners_allow() -> None:
    """A common P of matrices that are linear in the parameters has to hold at the corners, which is enough."""
    (A, B, C, D), blocks = oscillator((0.9, 1.1), (0.3, 0.5), (0.9, 1.1))
    M = control.ss(A, B[:, :2], C[:2], 0)
    proved = tt.lyapunov_stability(M, blocks=blocks[:2], margin=True)
    corners = tt.lyapunov_stability(M, blocks=blocks[:2], margin=True, points=2)
    assert proved.proof
    assert not corners.proof
    assert "not proved between" in str(corners)
    assert 1 < proved.margin <= corners.margin * (1 + BISECTED)
    rational = tt.lyapunov_stability(control.ss(A, B[:, :3], C[:3], D[:3, :3]), blocks=blocks)
    assert rational.stable
    P = rational.P[0]
    for k, c, m in np.random.default_rng(0).uniform((0.9, 0.3, 0.9), (1.1, 0.5, 1.1), (200, 3)):
        own = np.array([[0, 1], [-k / m, -c / m]])
        assert np.linalg.eigvals(np.linalg.solve(P, own.T @ P + P @ own)).real.max() / 2 <= -rational.decay * (1 - 1e-6)


@pytest.mark.parametrize("block", [COMPLEX("a", 1), FULL("a", 1)])
def test_operators_are_bounded_by_the_gain(block: tt.DeltaBlock) -> None:
    M, _ = swing(1.0)
    found = tt.lyapunov_stability(M, blocks=[block], margin=True)
    assert found.margin == pytest.approx(0.2 * np.sqrt(0.99), rel=BISECTED)


def test_skew_multipliers_know_that_parameters_are_real() -> None:
    """``dx/dt = -x + δ J x``, J a quarter turn: real δ only turn x, at any size; an imaginary one destabilises from one on."""
    M = control.ss(-np.eye(2), np.eye(2), [[0, 1], [-1, 0]], np.zeros((2, 2)))
    real, *others = (tt.lyapunov_stability(M, blocks=[kind("k", 2)], margin=True).margin for kind in (REAL, COMPLEX, FULL))
    assert real == 64, "as far as is looked"
    assert others == pytest.approx([1.0, 1.0], rel=BISECTED)


def test_sampled_loops_have_a_common_function() -> None:
    M, blocks = swing(0.15)
    sampled = control.sample_system(M, 0.1, "tustin")
    found = tt.lyapunov_stability(sampled, blocks=blocks)
    assert found.stable
    assert np.isnan(found.decay)
    for delta in np.linspace(-1, 1, 21):
        A = sampled.A + sampled.B @ sampled.C * delta / (1 - delta * sampled.D[0, 0])
        assert np.linalg.eigvalsh(A.T @ found.P[0] @ A - found.P[0]).max() < 0
    with pytest.raises(tt.ModelError, match="sampled-loop"):
        tt.lyapunov_stability(sampled, {"k": 0.1}, blocks=blocks)


def test_an_unstable_member_is_told() -> None:
    M, blocks = swing(1.5)
    for rates in (None, {"k": 0.1}):
        found = tt.lyapunov_stability(M, rates, blocks=blocks)
        assert found.stable is False
        assert 1 + 1.5 * found.member["k"] <= 0
        assert "unstable" in str(found)


def test_a_member_without_a_response_is_found_between_points() -> None:
    """``dx/dt = -x - 1e-4 δ / (1 - 1.5 δ) x`` has no response at 2/3, and is unstable for 4e-5 beyond that alone."""
    M = control.ss([[-1]], [[-1e-4]], [[1]], [[1.5]])
    for rates in (None, {"k": 0.1}):
        found = tt.lyapunov_stability(M, rates, blocks=[REAL("k")], points=2 if rates else None)
        assert found.stable is False
        assert found.member["k"] == pytest.approx(2 / 3)


def bob(hinge: float = 30.0) -> tt.Model:
    """Return a pendulum with a spring and a damper."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    body = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], inertia=0.1)
    s.connect("world", body, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=hinge, damping=2.0))
    return s.resolve()


def test_families_of_samples_and_fractional_models_agree() -> None:
    """A pendulum's mass, which changes at bounded rates; the fractional model is proved, the samples are tested."""
    m = bob()
    family = tt.lpv(
        m, {"bob.mass": np.linspace(1.6, 2.4, 5)}, q=[0.0], unknowns=["hinge.tau"], inputs=["hinge"], progress=False
    )
    exact = tt.lft(m, m.neutral(), {"bob.mass": (1.6, 2.4)}, inputs=["hinge"], outputs=["hinge.q"], reduce=False)
    sampled, proved = (tt.lyapunov_stability(own, {"bob.mass": 0.5}, decay=True) for own in (family, exact))
    assert sampled.stable
    assert not sampled.proof
    assert proved.proof
    assert sampled.decay == pytest.approx(proved.decay, rel=0.03), "each to a hundredth, and what is lost between points"
    assert sampled.points["bob.mass"].min() == pytest.approx(1.6)
    assert len(sampled.points["bob.mass"]) == 9, "the points, and those between them"


def test_controllers_close_the_loops_of_samples() -> None:
    """An inverted pendulum, which its spring does not hold: unstable alone, stable with a controller."""
    m = bob(hinge=0.0)
    options: dict[str, Any] = {"unknowns": ["hinge.tau"], "inputs": ["hinge"], "outputs": ["hinge.q"], "progress": False}
    family = tt.lpv(m, {"hinge.q": np.linspace(2.8, 3.4, 4)}, **options)
    assert tt.lyapunov_stability(family).stable is False
    K = control.ss([], [], [], [[-40.0]], inputs=["hinge_q"], outputs=family.inputs[0].name)
    found = tt.lyapunov_stability(family, {"hinge.q": 0.05}, controller=K)
    assert found.stable


def test_a_satellite_keeps_its_attitude_while_panels_turn() -> None:
    """Panels on drives within ±69 degrees, at 0.1 rad/s; and P of the result is tested at random angles."""
    m = satellite(modes=1)
    angles = tied("sada_*.q")
    attitude = [f"base.r{axis}.q" for axis in "xyz"]
    model = tt.lft(m, still(m), {angles: (-1.2, 1.2)}, inputs=["wheels"], outputs=["hub.imu.w", *attitude])
    gains = -np.hstack([126.0 * np.eye(3), 27.0 * np.eye(3)])
    K = control.ss([], [], [], gains, inputs=model.M.output_labels[-6:], outputs=model.M.input_labels[-3:])
    loop = model.close(K)
    found = tt.lyapunov_stability(loop, {angles[0]: 0.1})
    assert found.stable
    assert found.proof
    assert "sada_right.q at 0.1" in str(found)
    rng = np.random.default_rng(0)
    for angle in rng.uniform(-1.2, 1.2, 60):
        s, after = (np.tan(x / 2) / np.tan(0.6) for x in (angle, angle + 1e-5))
        P = lyapunov_matrix(found, np.array([s]))
        slope = (lyapunov_matrix(found, np.array([after])) - P) / 1e-5
        A = np.asarray(loop.at({angles[0]: angle}).A)
        for rate in (-0.1, 0.1):
            F = A.T @ P + P @ A + rate * slope
            assert np.linalg.eigvals(np.linalg.solve(P, F)).real.max() < 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"rates": {"stiffness": 1.0}}, "unknown-parameter"),
        ({"rates": {"k": -1.0}}, "bad-rate"),
        ({"rates": {"k": "fast"}}, "bad-rate"),
        ({"rates": {"k": np.inf}}, "bad-rate"),
        ({"degree": 0}, "bad-value"),
        ({"degree": 1.5}, "bad-value"),
        ({"points": 1}, "bad-value"),
        ({"points": 5000}, "too-many-points"),
        ({"tolerance": 0.0}, "bad-value"),
        ({"blocks": None}, "wrong-type"),
        ({"blocks": [COMPLEX("k")], "rates": {"k": 1.0}}, "unknown-parameter"),
        ({"blocks": [COMPLEX("k")], "points": 3}, "not-real"),
        ({"controller": control.ss([], [], [], [[1.0]])}, "wrong-type"),
        ({"family": 3.0}, "wrong-type"),
        ({"family": control.ss([[0, 1], [-1, 0.2]], [[0], [-1]], [[1, 0]], 0)}, "unstable-nominal"),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, Any], code: str) -> None:
    M, blocks = swing(0.1)
    with pytest.raises(tt.ModelError) as caught:
        tt.lyapunov_stability(**({"family": M, "blocks": blocks} | arguments))
    assert caught.value.code == code


SAMPLED = control.ss([], [], [], [[-1.0]], 0.1, inputs=["hinge_q"], outputs=["hinge_tau"])


@pytest.mark.parametrize("arguments", [{"margin": True}, {"points": 3}, {"blocks": [REAL("k")]}, {"controller": SAMPLED}])
def test_what_samples_do_not_know_is_told(arguments: dict[str, Any]) -> None:
    family = tt.lpv(bob(), {"bob.mass": [1.6, 2.4]}, unknowns=["hinge.tau"], inputs=["hinge"], progress=False)
    with pytest.raises(tt.ModelError, match=r"not-of-samples|sampled-controller"):
        tt.lyapunov_stability(family, **arguments)
