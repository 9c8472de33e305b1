"""Margins proved for families, against closed forms of one parameter, members, and the side on which they must lie."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.test_exact_margins import satellite
from tests.solvers.robust.test_margins import K, arm
from titop.solvers.robust.margin_proof import MarginProof, margin_sides
from titop.solvers.robust.margins import read_opened

#: What is proved lies below the true margin by no more: the tolerance of the bounds, 5e-4 of a block's size.
BELOW = 1e-3


def assert_just_below(proved: float, true: float) -> None:
    """Assert that a margin is proved to 1e-3, and not more than there is."""
    assert true * (1 - BELOW) <= proved <= true * (1 + 1e-9)


def uncertain_gain(low: float, high: float, period: float = 0.0) -> tuple[control.StateSpace, list[tt.DeltaBlock]]:
    """Return ``k / (s + 1)³``, or ``k / (z - 1)``, and its block k."""
    A = np.array([[-1.0, 1, 0], [0, -1, 1], [0, 0, -1]])
    b, c = np.array([[0.0], [0], [1]]), np.array([[1.0, 0, 0]])
    if period:
        A, b, c = np.eye(1), np.eye(1), np.eye(1)
    C = np.vstack([(high - low) / 2 * c, (high + low) / 2 * c])
    M = control.ss(A, np.hstack([0 * b, b]), C, [[0, 0], [1, 0]], period or 0)
    return M, [tt.DeltaBlock.real("k", 1, low, high)]


def test_an_uncertain_gain() -> None:
    """The largest is the worst on all counts: 8 / k, and the crossing at ``sqrt(k^(2/3) - 1)``."""
    M, blocks = uncertain_gain(1.0, 4.0)
    found, k = tt.margins(M, blocks=blocks, progress=False), 4.0
    crossing = np.sqrt(k ** (2 / 3) - 1)
    phase = np.pi - 3 * np.arctan(crossing)
    assert_just_below(found.gain[0, 1], 8 / k)
    assert_just_below(np.radians(found.phase[0]), phase)
    assert_just_below(found.delay[0], phase / crossing)
    exact = tt.margins(control.tf([k], [1, 3, 3, 1]))
    assert_just_below(found.disk[0], exact.disk[0])
    assert found.attained is not None
    assert found.attained.disk[0] == pytest.approx(exact.disk[0], rel=1e-6)
    assert found.member["k"] == pytest.approx(4.0)
    assert {name: member["k"] for name, member in found.members[0].items() if name != "low"} == pytest.approx(
        dict.fromkeys(("high", "phase", "delay", "disk"), 4.0)
    )
    nominal = tt.margins(control.tf([2.5], [1, 3, 3, 1]))
    assert nominal.disk[0] > 1.5 * found.disk[0], "the middle of the range tells too much"
    assert len(found.plot().axes) == 2


def test_an_uncertain_damper() -> None:
    """``1 / (s (s + a))`` with the least a: for σ = -1 its disk is ``a sqrt(1 - a² / 4)``. The nominal a is off the middle."""
    low, nominal, high = 0.5, 0.8, 2.0
    block = tt.DeltaBlock.real("a", 1, low, high, nominal)
    a, b = block.fraction
    # a(δ) - nominal = a δ / (1 + b δ): w = δ z, z = a v - b w
    M = control.ss([[0, 1], [0, -nominal]], [[0, 0], [-1, 1]], [[0, a], [1, 0]], [[-b, 0], [0, 0]])
    found = tt.margins(M, blocks=[block], skew=-1.0, progress=False)
    crossing = np.sqrt((-(low**2) + np.sqrt(low**4 + 4)) / 2)
    assert_just_below(np.radians(found.phase[0]), np.arctan(low / crossing))
    assert_just_below(found.delay[0], np.arctan(low / crossing) / crossing)
    assert_just_below(found.disk[0], low * np.sqrt(1 - low**2 / 4))
    assert found.member["a"] == pytest.approx(low)


def test_a_sampled_family() -> None:
    """``k / (z - 1)``: 2 / k, and ``90 - θ / 2`` with ``2 sin(θ / 2) = k``."""
    M, blocks = uncertain_gain(0.4, 1.0, period=0.1)
    found, angle = tt.margins(M, blocks=blocks, progress=False), np.pi / 3
    assert_just_below(found.gain[0, 1], 2.0)
    assert_just_below(np.radians(found.phase[0]), np.pi / 2 - angle / 2)
    assert_just_below(found.delay[0], 0.1)


@pytest.mark.long
def test_two_loops_at_once() -> None:
    """The satellite's margins shrink with its spin: the fastest is the worst."""
    # A = a J, C = [1, a; -a, 1], a = 7.5 + 2.5 δ: δ twice, for both states
    J = np.array([[0.0, 1], [-1, 0]])
    M = control.ss(
        7.5 * J,
        np.hstack([2.5 * J, np.eye(2)]),
        np.vstack([np.eye(2), np.eye(2) + 7.5 * J]),
        np.block([[np.zeros((2, 4))], [2.5 * J, np.zeros((2, 2))]]),
    )
    found = tt.margins(M, blocks=[tt.DeltaBlock.real("spin", 2, 5.0, 10.0)], progress=False)
    expected = satellite()
    assert_just_below(found.disk[2], expected.disk[2])
    assert_just_below(found.delay[2], 0.15165)
    assert found.member["spin"] == pytest.approx(10.0)
    assert found.loops == ("u[2]", "u[3]", "all at once")


@pytest.mark.parametrize("seed", range(3))
def test_no_member_has_less(seed: int) -> None:
    """Random members of random families of two parameters have no smaller margins than proved, nor than the worst found."""
    rng = np.random.default_rng(seed)
    A, B, C = rng.normal(size=(4, 4)), rng.normal(size=(4, 3)), rng.normal(size=(3, 4))
    A -= (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(4)
    B[:, :2] *= 0.15
    C[2] *= 0.5 / np.abs(control.ss(A, B[:, 2:], C[2:], 0)(1j * np.geomspace(1e-2, 1e2, 400))).max()
    blocks = [tt.DeltaBlock.real("a", 1), tt.DeltaBlock.real("b", 1)]
    M = control.ss(A, B, C, 0)
    found = tt.margins(M, blocks=blocks, progress=False)
    assert found.attained is not None
    for _ in range(40):
        delta = np.diag(rng.uniform(-1, 1, 2))
        member = tt.margins(control.ss(A + B[:, :2] @ delta @ C[:2], B[:, 2:], C[2:], 0))
        for row, tolerance in ((found, 1e-9), (found.attained, 1e-3)):  # the worst is found by climbing to 1e-4 of the ranges
            assert member.gain[0, 0] <= row.gain[0, 0] + tolerance
            for name in ("phase", "delay", "disk"):
                assert getattr(member, name)[0] >= getattr(row, name)[0] * (1 - tolerance)
            assert member.gain[0, 1] >= row.gain[0, 1] * (1 - tolerance)


def test_a_family_with_an_unstable_member_has_no_margins() -> None:
    """``k / (s + 1)³`` is unstable from k = 8 on."""
    M, blocks = uncertain_gain(1.0, 9.0)
    found = tt.margins(M, blocks=blocks, progress=False)
    assert (found.gain[0].tolist(), found.phase[0], found.delay[0], found.disk[0]) == ([1.0, 1.0], 0.0, 0.0, 0.0)
    assert 8.0 <= found.member["k"] <= 9.0
    with pytest.raises(tt.ModelError, match="unstable member"):
        found.plot()


def test_a_family_with_a_member_without_a_response_has_no_margins() -> None:
    """``z = x - 1.25 k z``: at k = -0.8 that is ``z - z = x``, which is no equation for z."""
    M = control.ss([[-1.0]], [[0.3, 1.0]], [[1.0], [1.0]], [[-1.25, 0.0], [0.0, 0.0]], inputs=["w", "u"], outputs=["z", "y"])
    blocks = [tt.DeltaBlock.real("k", 1, -1.0, 1.0)]
    found = tt.margins(M, blocks=blocks, progress=False)
    assert (found.disk[0], found.phase[0], found.delay[0], found.gain[0].tolist()) == (0.0, 0.0, 0.0, [1.0, 1.0])
    assert found.member["k"] <= -0.8 * (1 - 1e-6)
    gain = tt.robust_gain(M, "u", "y", blocks=blocks, progress=False)
    assert gain.lower >= 1.25 * (1 - 1e-6), "ranges 0.8 times as large have a member without a response"
    assert "ill-posed" in str(tt.worst_case_gain(M, "u", "y", blocks=blocks, progress=False))


@pytest.mark.long
def test_a_closed_model_is_opened_by_a_block() -> None:
    """The proof is next to the margins of its worst member, closed by the controller."""
    m = arm()
    family = tt.lft(m, m.neutral(), {"arm.mass": tt.percent(20)}, inputs=["hinge"], outputs=["hinge.q"])
    found = tt.margins(family.append("break", "hinge").close(K), at="break", progress=False)
    assert found.loops == ("break",)
    for name in ("phase", "delay", "disk"):
        worst = tt.margins(family.at(found.members[0][name]), controller=K)
        assert_just_below(getattr(found, name)[0], getattr(worst, name)[0])


@pytest.mark.parametrize(("ranges", "gain"), [((0.25, 0.75), 0.8090), ((0.4, 0.6), 0.6531)])
def test_robust_gain(ranges: tuple[float, float], gain: float) -> None:
    """A lag with a gain of 0.5 ± h: with the range 1 / β times as large it is ``0.5 + h / β``, which is β."""
    half = (ranges[1] - ranges[0]) / 2
    beta = 0.25 + np.sqrt(0.0625 + half)
    M = control.ss([[-1]], [[0, 1]], [[half], [0.5]], [[0, 0], [1, 0]], inputs=["w", "u"], outputs=["z", "y"])
    found = tt.robust_gain(M, "u", "y", blocks=[tt.DeltaBlock.real("k", 1, *ranges)], progress=False)
    assert found.lower == pytest.approx(beta, rel=1e-6)
    assert beta <= found.upper <= beta * 1.011  # its tolerance is 0.01
    assert found.member["k"] == pytest.approx(0.5 + half / beta, rel=1e-6)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    assert round(beta, 4) == gain
    smaller: list[Any] = [tt.DeltaBlock.real("k", 1, 0.5 - half / found.upper, 0.5 + half / found.upper)]
    M = control.ss([[-1]], [[0, 1]], [[half / found.upper], [0.5]], M.D, inputs=["w", "u"], outputs=["z", "y"])
    assert tt.worst_case_gain(M, "u", "y", blocks=smaller, progress=False).lower <= found.upper


def test_branching_closes_what_scalings_leave() -> None:
    """Two parameters for which scalings prove two thirds of the phase margin of the worst corner, and branching all of it."""
    A = [[-2.19, 2.0, 0.76, -1.2], [0.07, -0.98, -0.19, 0.68], [-0.07, 0.67, -0.11, -0.68], [0.2, -0.46, 0.13, -2.74]]
    B = [[-0.17, -0.06, 0.9], [0.34, -0.4, -0.79], [0.19, -0.6, -0.46], [-0.03, 0.38, 0.69]]
    C = [[-0.33, -0.37, -0.25, 1.52], [-0.43, -0.3, 0.35, -0.12], [-0.2, -1.11, -0.01, -0.44]]
    M = control.ss(A, B, C, [[0.23, 0.13, 0.0], [0.0, 0.13, 0.0], [0.0, 0.0, 0.0]])
    blocks = [tt.DeltaBlock.real("a"), tt.DeltaBlock.real("b")]
    loop, names = read_opened(M, None, None, 1, blocks)
    side, bounds = margin_sides(0.0)["phase"], []
    for gap in (None, 0.02):
        bounds.append(MarginProof(loop, names, 0.0, 5e-4, gap).bound(side, [0]))
    loose, close = (side.margin(bound.proved) for bound in bounds)
    true = side.margin(bounds[1].attained)
    assert loose < 0.7 * true
    assert 0.98 * true <= close <= true
