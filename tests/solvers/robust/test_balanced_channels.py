"""Balanced channels of repeated blocks: the same loop, whose bounds no longer depend on how channels were scaled and mixed."""

from __future__ import annotations

from dataclasses import replace

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.families import structure_of_modes
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.uncertain_loop import balance, read_loop
from titop.solvers.robust.upper_bound import upper_bound

SIZES = [4, 3, 2]
BLOCKS = [tt.DeltaBlock.real("a", 4), tt.DeltaBlock.complex("b", 3), tt.DeltaBlock.full("c", 2)]


def mixed(decades: float) -> tuple[control.StateSpace, control.StateSpace]:
    """Return a loop, and the same with channels of its repeated blocks mixed, by directions that differ by decades."""
    rng = np.random.default_rng(3)
    A, B, C, D = structure_of_modes(SIZES, 12, 0.02, 5)
    into = np.eye(9)
    for part in (slice(0, 4), slice(4, 7)):
        r = part.stop - part.start
        left, right = (np.linalg.qr(rng.normal(size=(r, r)))[0] for _ in range(2))
        into[part, part] = left * np.logspace(0, decades, r) @ right
    back = np.linalg.inv(into)
    return control.ss(A, B, C, D), control.ss(A, B @ back, into @ C, into @ D @ back)


def test_bounds_do_not_depend_on_the_coordinates_of_channels() -> None:
    """D and G take any mixing; what is left is how near to the lowest the method of centres comes."""
    omega = np.array([3.0, 10.0])
    plain, other = (tt.mu(system, omega, blocks=BLOCKS) for system in mixed(4.0))
    np.testing.assert_allclose(other.upper, plain.upper, rtol=0.02)

    loop = read_loop(mixed(4.0)[1], BLOCKS)
    raw = [upper_bound(Centres(loop.structure), loop.uncertain.response(loop.warp(w))).level for w in omega]
    assert max(raw / plain.upper) > 2  # the negative control: without it bounds are too high


def test_the_loop_stays_the_same() -> None:
    """Responses with the same deltas in all repetitions, full blocks multiplied by numbers and divided again."""
    loop = read_loop(mixed(2.0)[1], BLOCKS)
    other = replace(loop, system=balance(loop.system, loop.structure))
    full = np.array([[0.1, 0.2j], [-0.3, 0.1]])
    delta = np.zeros((9, 9), dtype=complex)
    delta[:4, :4], delta[4:7, 4:7], delta[7:, 7:] = 0.3 * np.eye(4), 0.2j * np.eye(3), full
    for omega in (0.0, 2.5, np.inf):
        found, right = (np.linalg.det(np.eye(9) - one.uncertain.response(omega) @ delta) for one in (other, loop))
        np.testing.assert_allclose(found, right, rtol=1e-8)  # two decades, squared, of rounding
    reached, seen = other.uncertain.response(2.5)[:4], loop.uncertain.response(2.5)[:4]
    assert np.linalg.cond(reached) < np.linalg.cond(seen)


@pytest.mark.parametrize(
    "blocks", [[tt.DeltaBlock.complex("a"), tt.DeltaBlock.full("b")], [tt.DeltaBlock.full("a"), tt.DeltaBlock.real("b")]]
)
@pytest.mark.parametrize("unit", [1e-5, 1e3, 1e5, 1e10])
def test_a_matrix_in_other_units_has_the_same_bounds(unit: float, blocks: list[tt.DeltaBlock]) -> None:
    """A diagonal similarity, which commutes with all blocks of one channel; two complex ones have mu = 4.40125 by hand."""
    plain, other = (tt.mu([[0.5, 16 * r], [1 / r, 0.3]], blocks=blocks) for r in (1.0, unit))
    assert other.upper == pytest.approx(plain.upper, rel=1e-6)
    assert other.lower == pytest.approx(plain.lower, rel=1e-6)
    if blocks[0].kind == "complex":
        # |1 - a/2| |1 - 0.3 b| = 16 |a b| first where a = b > 0: the larger root of x^2 - 0.8 x - 15.85 for x = 1/a
        assert other.upper == pytest.approx(0.4 + np.sqrt(0.16 + 15.85), rel=1e-4)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_channels_of_a_block_in_other_units_have_the_spectral_radius(unit: float) -> None:
    """Of one complex number in all channels, mu is that: the largest unit is 1e16 of the smallest, squares 1e32."""
    M = np.random.default_rng(0).normal(size=(3, 3))
    units = np.array([1 / unit, 1.0, unit])
    found = tt.mu(M * units[:, None] / units, blocks=[tt.DeltaBlock.complex("a", 3)])
    expected = np.abs(np.linalg.eigvals(M)).max()
    np.testing.assert_allclose([found.lower, found.upper], expected, rtol=1e-4)


@pytest.mark.parametrize("matrix", [[[0.5, 1e14], [0, 0]], [[0.5, 0], [1e14, 0]], [[0.5, 1e14], [0, 0.3]]])
@pytest.mark.parametrize("block", [tt.DeltaBlock.complex("a", 2), tt.DeltaBlock.real("a", 2)])
def test_channels_that_lead_nowhere_do_not_count(matrix: list[list[float]], block: tt.DeltaBlock) -> None:
    """Triangular matrices: mu is the largest number on the diagonal, in whatever unit the others are."""
    found = tt.mu(matrix, blocks=[block])
    np.testing.assert_allclose([found.lower, found.upper], 0.5, rtol=1e-4)


def in_units(unit: float) -> control.StateSpace:
    """Return a loop around a real and two full blocks, the channels of the second full one and an output in other units."""
    A, B, C, D = structure_of_modes([1, 2, 2, 1], 8, 0.05, 1)
    z, w = np.array([1.0, 1, 1, unit, unit, unit]), np.array([1.0, 1, 1, 1 / unit, 1 / unit, 1])
    names = [f"c{k}" for k in range(5)]
    return control.ss(A, 3 * B * w, z[:, None] * C, D, inputs=[*names, "u"], outputs=[*names, "y"])


def test_proofs_do_not_depend_on_units() -> None:
    """Stability and gain of a family whose channels are in newtons or in micronewtons."""
    blocks = [tt.DeltaBlock.real("a"), tt.DeltaBlock.full("b", 2), tt.DeltaBlock.full("c", 2)]
    plain, *others = (in_units(unit) for unit in (1.0, 1e-6, 1e6))
    right = tt.robust_stability(plain, blocks=blocks, margin=True, progress=False)
    gain = tt.worst_case_gain(plain, "u", "y", blocks=blocks, progress=False)
    assert right.robust
    assert np.isfinite(gain.upper)
    for unit, other in zip((1e-6, 1e6), others, strict=True):
        found = tt.robust_stability(other, blocks=blocks, margin=True, progress=False)
        assert found.upper == pytest.approx(right.upper, rel=0.02)  # the tolerance, twice
        assert found.lower == pytest.approx(right.lower, rel=0.01)  # of a random start
        own = tt.worst_case_gain(other, "u", "y", blocks=blocks, progress=False)
        assert own.lower / unit == pytest.approx(gain.lower, rel=1e-4)
        assert own.upper / unit == pytest.approx(gain.upper, rel=0.02)


@pytest.mark.parametrize("gain", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_chains_of_parameters_close_no_loop(gain: float) -> None:
    """One parameter is reached by no other, one reaches none: nothing between them is singular, however small or large."""
    found = tt.mu([[0.0, gain], [0.0, 0.0]], blocks=[tt.DeltaBlock.real("first", 1), tt.DeltaBlock.real("last", 1)])
    assert found.upper < 1e-3
    chain = control.ss([[-1.0]], [[1.0, 0.0, 1.0]], [[0.0], [gain], [gain]], [[0, 0, 0.1], [0, 0, 0], [0, 0.1, 0]])
    blocks = [tt.DeltaBlock.real("first", 1), tt.DeltaBlock.real("last", 1)]
    robust = tt.robust_stability(chain, blocks=blocks)
    assert robust.robust
    assert tt.lyapunov_stability(chain, blocks=blocks).stable


def test_loops_without_states_are_robust_where_their_matrix_is() -> None:
    for gain, stable in ((0.5, True), (2.0, False)):
        loop = control.ss([], [], [], [[gain]])
        assert tt.robust_stability(loop, blocks=[tt.DeltaBlock.real("d", 1)]).robust is stable
