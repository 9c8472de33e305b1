"""Worst-case gains, against closed forms and grids."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.families import oscillator, structure_of_modes, unstable_disc
from titop.blocks.basics.notebook import member_text
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import peak_gain

#: By how much the upper bound may lie above the true gain: its tolerance, and what scalings leave open.
ABOVE = 0.015


def model(
    k: tuple[float, float] = (1.0, 2.0), c: tuple[float, float] = (0.1, 0.3), m: tuple[float, float] = (0.9, 1.1)
) -> tuple[control.StateSpace, list[tt.DeltaBlock]]:
    """Return an oscillator's linear model with named channels, and its blocks."""
    matrices, blocks = oscillator(k, c, m)
    names = ["wk", "wc", "wm", "force"], ["zk", "zc", "zm", "x"]
    return control.ss(*matrices, inputs=names[0], outputs=names[1]), blocks


def test_the_worst_oscillator_is_soft_and_least_damped() -> None:
    """The peak of ``1 / (m s² + c s + k)`` is ``1 / (c sqrt(k/m - c²/4m²))``: highest at the least c and k, and most m."""
    M, blocks = model()
    found = tt.worst_case_gain(M, "force", "x", blocks=blocks)
    k, c, m = 1.0, 0.1, 1.1
    expected = 1 / (c * np.sqrt(k / m - (c / m) ** 2 / 4))
    np.testing.assert_allclose(found.lower, expected, rtol=1e-6)
    assert expected <= found.upper <= expected * (1 + ABOVE)
    np.testing.assert_allclose([found.member[name] for name in "kcm"], [k, c, m], rtol=1e-6)
    assert found.intervals[0, 0] == 0
    assert np.isinf(found.intervals[:, 1].max())
    assert "worst-case gain" in str(found)


@pytest.mark.long
def test_branching_bounds_a_gain_where_scalings_do_not() -> None:
    """Nearly unstable members: the gain on a grid over two parameters lies within the bounds."""
    blocks = [tt.DeltaBlock.real("a", 2), tt.DeltaBlock.real("b", 2)]
    A, B, C, _ = structure_of_modes([2, 2], 4, 0.05, 6)
    B = 10 * B
    margin = 39.645  # of the nearest unstable member
    inputs, outputs = np.array([[0.0], [1.0], [0.0], [1.0]]), np.array([[1.0, 0.0, 1.0, 0.0]])
    B, C = np.hstack([0.97 * margin * B, inputs]), np.vstack([C, outputs])
    names = [f"w{k}" for k in range(4)], [f"z{k}" for k in range(4)]
    M = control.ss(A, B, C, np.zeros((5, 5)), inputs=[*names[0], "f"], outputs=[*names[1], "x"])
    whole = tt.worst_case_gain(M, "f", "x", blocks=blocks)
    found = tt.worst_case_gain(M, "f", "x", blocks=blocks, gap=0.15)
    assert whole.upper == np.inf, "scalings alone do not even prove stability"
    assert found.lower <= found.upper <= 1.15 * found.lower * (1 + 1e-9)
    assert found.left == 0
    grid = 0.0
    for a in np.linspace(-1, 1, 11):
        for b in np.linspace(-1, 1, 11):
            member = A + B[:, :4] @ np.diag([a, a, b, b]) @ C[:4]
            grid = max(grid, peak_gain(Matrices(member, inputs, outputs, np.zeros((1, 1))))[0])
    assert grid <= found.upper
    assert grid <= found.lower * (1 + 1e-6), "the member found is the worst of the grid, or worse"


def test_an_unstable_member_has_an_infinite_gain() -> None:
    M, blocks = model(c=(-0.1, 0.5))
    found = tt.worst_case_gain(M, "force", "x", blocks=blocks)
    assert found.lower == np.inf
    assert found.upper == np.inf
    assert found.member["c"] < 0, "negative damping"
    assert np.isnan(found.omega)
    assert str(found) == f"no worst-case gain: unstable or ill-posed with {member_text(found.member)}"


def test_unstable_members_that_branching_meets_are_kept() -> None:
    """Those of a small disc, which corners and climbs miss."""
    (A, B, C, D), blocks = unstable_disc(0.05)
    names = ["a", "b", "c", "d", "f"], ["p", "q", "r", "s", "x"]
    M = control.ss(A, B, C, D, inputs=names[0], outputs=names[1])
    found = tt.worst_case_gain(M, "f", "x", blocks=blocks, gap=0.2, progress=False)
    assert found.lower == np.inf
    assert np.hypot(found.member["x"] - 0.6, found.member["y"] - 0.45) <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_peaks_are_those_of_a_fine_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6))
    A -= (np.linalg.eigvals(A).real.max() + 0.05) * np.eye(6)
    system = Matrices(A, rng.normal(size=(6, 2)), rng.normal(size=(2, 6)), rng.normal(size=(2, 2)))
    gain, omega = peak_gain(system)
    grid = max(np.linalg.norm(system.response(w), 2) for w in np.linspace(0, 20, 4001))
    assert grid <= gain * (1 + 1e-6)
    np.testing.assert_allclose(np.linalg.norm(system.response(omega), 2), gain)
    assert gain <= grid * 1.02, "a step of the grid at the sharpest peak here"


def test_unknown_signals_are_told() -> None:
    M, blocks = model()
    for names in (("forse", "x"), ("force", "zk")):
        with pytest.raises(tt.ModelError, match="unknown-signal"):
            tt.worst_case_gain(M, *names, blocks=blocks)


def test_names_of_the_system() -> None:
    """Dotted names, exported ones and names of vectors are the same signals; slashes are no obstacle."""
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 5.0, inertia=[1.0, 1.0, 1.0], ports={"C": [0, 0, 0]})
    s.connect("world", hub, joint=tt.Revolute("base", axis=[0, 0, 1], stiffness=3.0, damping=1.0))
    s.add_actuator(tt.Motor("base/motor", "base"))
    s.add_sensor(tt.Gyro("gyro", hub.port("C")))
    m = s.resolve()
    craft = tt.lft(m, m.neutral(), {"hub.inertia.zz": tt.percent(10)}, ["base/motor", "hub.C.T"], ["gyro", "base.q"])
    dotted = tt.worst_case_gain(craft, "base/motor", ["base.q", "gyro"], progress=False)
    exported = tt.worst_case_gain(craft, "base/motor", ["base_q", "gyro_x", "gyro_y", "gyro_z"], progress=False)
    assert dotted.lower == pytest.approx(exported.lower, rel=1e-12)
    vector = tt.worst_case_gain(craft, "hub.C.T", "base.q", progress=False)
    assert vector.lower == pytest.approx(tt.worst_case_gain(craft, "base/motor", "base.q", progress=False).lower, rel=1e-6)
    with pytest.raises(tt.ModelError, match="given-twice"):
        tt.worst_case_gain(craft, "base/motor", ["gyro", "gyro.z"], progress=False)
