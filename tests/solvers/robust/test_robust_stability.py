"""Proofs of robust stability, and members that lose it, against root loci, grids and closed forms."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.robust.families import oscillator, structure_of_modes, two_masses, unstable_disc
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.scalings import Centres, Scaling
from titop.solvers.robust.sweep import valid_interval
from titop.solvers.robust.upper_bound import upper_bound

REAL, FULL = tt.DeltaBlock.real, tt.DeltaBlock.full

#: By how much the level may lie above the highest bound: what it is raised by, and the bound's own tolerance.
RAISED = 0.012


def closed(matrices: tuple[np.ndarray, ...], blocks: list[tt.DeltaBlock], deltas: tuple[float, ...]) -> np.ndarray:
    """Return the matrix of a member's states, by the feedback's definition."""
    A, B, C, D = matrices
    delta = np.diag(np.concatenate([np.full(b.repetitions, d) for b, d in zip(blocks, deltas, strict=True)]))
    n = len(delta)
    return A + B[:, :n] @ delta @ np.linalg.solve(np.eye(n) - D[:n, :n] @ delta, C[:n])


def test_the_margin_of_two_masses_is_that_of_the_root_locus() -> None:
    """det(s - A - δ B C) is p(s) + δ q(s): on the axis p(jw) q(-jw) is real, at the real roots of a polynomial in w."""
    (A, B, C, D), blocks = two_masses()
    p = np.poly(A)
    q = np.poly(A + B @ C) - p
    at_axis = [x * 1j ** np.arange(len(x) - 1, -1, -1) for x in (p, q)]
    product = np.polymul(at_axis[0], at_axis[1].conj())
    frequencies = np.roots(product.imag)
    frequencies = frequencies.real[np.abs(frequencies.imag) < 1e-9]
    deltas = [-(np.polyval(at_axis[0], w) / np.polyval(at_axis[1], w)).real for w in frequencies]
    nearest = min(abs(d) for d in deltas if abs(d) > 1e-9)
    found = tt.robust_stability(control.ss(A, B, C, D), blocks=blocks, margin=True, tolerance=1e-4)
    np.testing.assert_allclose(found.margin[1], nearest, rtol=1e-6)
    np.testing.assert_allclose(found.margin[0], nearest, rtol=2e-4, err_msg="its tolerance, twice")
    assert found.kind == "unstable"
    assert found.robust is False


@pytest.mark.parametrize(("m", "kind"), [((0.5, 1.5), "unstable"), ((0.02, 1.98), "ill-posed")])
def test_what_goes_wrong_first_is_told(m: tuple[float, float], kind: str) -> None:
    """A member without stiffness or damping is unstable, one without mass ill-posed."""
    matrices, blocks = oscillator((1.0, 5.0), (0.1, 0.2), m)
    found = tt.robust_stability(control.ss(*matrices), level=1.2, blocks=blocks, margin=True)
    assert found.kind == kind
    nearest = {"unstable": 3 / 2, "ill-posed": 1 / 0.98}[kind]
    np.testing.assert_allclose(found.margin[1], nearest, rtol=1e-6)
    np.testing.assert_allclose(found.upper, 1 / nearest, rtol=RAISED)
    assert found.robust


def test_a_proof_covers_zero_to_infinity() -> None:
    matrices, blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    found = tt.robust_stability(control.ss(*matrices), blocks=blocks)
    assert found.robust
    assert found.upper == 1.0
    low, high = found.intervals.T
    assert (low[0], high.max()) == (0.0, np.inf)
    assert (low[1:] <= np.maximum.accumulate(high)[:-1]).all()
    assert str(found).startswith("robustly stable at level 1")


def test_members_beyond_the_level_are_returned() -> None:
    """With ranges twice as large a member has no damping or no stiffness left."""
    matrices, blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    found = tt.robust_stability(control.ss(*matrices), level=0.5, blocks=blocks)
    assert found.robust is False
    assert np.linalg.eigvals(closed(matrices, blocks, found.deltas)).real.max() >= -1e-9
    assert found.member["c"] < 1e-6 or found.member["k"] < 1e-6


def test_repeated_parameters_agree_with_a_grid() -> None:
    """Upper bounds may lie above what a fine grid over two parameters finds, but never below it."""
    sizes = [2, 3]
    blocks = [REAL("a", 2), REAL("b", 3)]
    A, B, C, D = structure_of_modes(sizes, 6, 0.02, 3)
    found = tt.robust_stability(control.ss(A, B, 4 * C, D), blocks=blocks, margin=True)
    steps = np.linspace(-1, 1, 41) * 1.05 * found.margin[1]
    members = [(a, b) for a in steps for b in steps]
    unstable = [
        max(abs(a), abs(b)) for a, b in members if np.linalg.eigvals(closed((A, B, 4 * C, D), blocks, (a, b))).real.max() > 0
    ]
    nearest = min(unstable)
    assert found.margin[0] <= nearest
    np.testing.assert_allclose(found.margin[1], nearest, rtol=0.06, err_msg="a step of the grid")
    assert found.margin[1] <= nearest * (1 + 1e-9)


def test_a_peak_between_the_frequencies_of_a_grid_is_found() -> None:
    """A mode with a damping ratio of 1e-5: its peak is 1e-4 wide, and a hundred frequencies miss it."""
    zeta, omega = 1e-5, 3.3333
    A = np.array([[0, 1, 0], [-(omega**2), -2 * zeta * omega, 0], [0, 0, -1]])
    B = np.array([[0, 0], [2 * zeta * omega**2 * 0.8, 0], [0, 0.3]])
    C = np.array([[1.0, 0, 0], [0, 0, 1]])
    blocks, M = [FULL("a"), FULL("b")], control.ss(A, B, C, np.zeros((2, 2)))
    grid = tt.mu(M, np.geomspace(0.1, 100, 100), blocks=blocks)
    found = tt.robust_stability(M, blocks=blocks, margin=True)
    assert grid.peak < 0.5
    np.testing.assert_allclose([found.lower, found.upper], 0.8, rtol=RAISED)
    assert found.driver == "a"


def test_sampled_loops_are_bounded_on_the_unit_circle() -> None:
    """``x+ = a x + δ x`` is stable while ``|a + δ| < 1``."""
    M = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    found = tt.robust_stability(M, blocks=[REAL("δ")], margin=True)
    np.testing.assert_allclose(found.margin[1], 0.5, rtol=1e-6)
    np.testing.assert_allclose(found.upper, 2.0, rtol=RAISED)


def test_branching_closes_the_gap() -> None:
    """Of two parameters: scalings leave 5 % or more between the bounds, cells of the box do not."""
    blocks = [REAL("a", 2), REAL("b", 2)]
    A, B, C, D = structure_of_modes([2, 2], 4, 0.05, 9)
    M = control.ss(A, B, 10 * C, D)
    whole = tt.robust_stability(M, blocks=blocks, margin=True)
    cells = tt.robust_stability(M, blocks=blocks, gap=0.03)
    assert cells.upper <= cells.lower * 1.03 * (1 + RAISED)
    assert cells.lower <= cells.upper <= whole.upper
    assert whole.lower <= cells.lower * (1 + 1e-9)


def test_intervals_are_those_of_a_grid() -> None:
    """Where a scaling stays valid, by the Hamiltonian's eigenvalues and by F itself."""
    rng = np.random.default_rng(1)
    blocks = [REAL("a", 2), REAL("b"), FULL("c", 1, 2)]
    centres = Centres(Structure.of(blocks))
    A = rng.normal(size=(6, 6))
    A -= (np.linalg.eigvals(A).real.max() + 0.2) * np.eye(6)
    system = Matrices(A, rng.normal(size=(6, 4)), rng.normal(size=(5, 6)), 0.1 * rng.normal(size=(5, 4)))
    for omega, level in ((0.0, 4.0), (1.0, 6.5), (5.0, 1.0)):
        M = system.response(omega)
        gain = float(np.linalg.norm(M, 2))
        x = centres.centre(M, 1.1 * gain, 10 * gain, centres.unknowns.identity)
        assert x is not None
        scaling, levels = centres.scaling(x, 10 * gain), centres.levels(max(level, 1.1 * gain))
        low, high = valid_interval(system, scaling, levels, omega)

        def least(w: float, scaling=scaling, levels=levels) -> float:
            F = levels[:, None] * scaling.D_w * levels - scaling.form(system.response(w))
            return float(np.linalg.eigvalsh(F)[0])

        top = min(high, 1e4)
        assert all(least(w) > 0 for w in np.linspace(low, top, 50))
        assert np.isinf(high) or least(high * 1.001) < 0, "the negative control: it ends where F does"
        assert low == 0 or least(low * 0.999) < 0


def test_intervals_do_not_depend_on_units() -> None:
    """Of channels: scalings over ten decades hold where those over one do, and rounding loses no end of an interval."""
    rng = np.random.default_rng(4)
    blocks = [REAL(name) for name in "abcd"]
    centres = Centres(Structure.of(blocks))
    A, B, C, D = structure_of_modes([1] * 4, 12, 0.003, 4)
    units = 10.0 ** rng.uniform(-5, 5, 4)
    system, changed = Matrices(A, B, C, D), Matrices(A, B / units, units[:, None] * C, D)
    for omega in (0.0, 2.0, 9.0, np.inf):
        M = system.response(omega)
        gain = max(float(np.linalg.norm(M, 2)), 0.1)
        x = centres.centre(M, 1.2 * gain, 10 * gain, centres.unknowns.identity)
        assert x is not None
        levels, scaling = centres.levels(1.2 * gain), centres.scaling(x, 10 * gain)
        other = Scaling(*(part / units / units[:, None] for part in scaling))
        found = valid_interval(changed, other, levels, omega)
        np.testing.assert_allclose(found, valid_interval(system, scaling, levels, omega), rtol=1e-5, atol=1e-9)


def test_intervals_end_where_rounding_hides_a_crossing() -> None:
    """Of unequal scalings and weak damping: F is positive at all poles within, though eigenvalues may be off the axis."""
    centres = Centres(Structure.of([REAL("a", 3), REAL("b", 2)]))
    A, B, C, D = structure_of_modes([3, 2], 12, 0.003, 17)
    system = Matrices(A, B, C, D)
    omega = 1.02 * np.unique(np.abs(system.poles.imag))[4]
    M = system.response(omega)
    bound = upper_bound(centres, M, 3e-4)
    levels = centres.levels(1.002 * bound.level)
    x = centres.centre(M, 1.002 * bound.level, bound.g, bound.x)
    assert x is not None
    scaling = centres.scaling(x, bound.g)
    low, high = valid_interval(system, scaling, levels, omega)
    assert low < omega < high
    for w in [*np.linspace(low, high, 50), *(w for w in np.abs(system.poles.imag) if low < w < high)]:
        F = levels[:, None] * scaling.D_w * levels - scaling.form(system.response(w))
        np.linalg.cholesky(F)


@pytest.mark.long
def test_a_proof_is_never_below_a_member() -> None:
    """Random families: no member on a grid of two parameters is unstable within the proved margin."""
    for seed in range(4):
        blocks = [REAL("a", 2), REAL("b", 1)]
        A, B, C, D = structure_of_modes([2, 1], 6, 0.01, seed)
        B = 4 * B
        found = tt.robust_stability(control.ss(A, B, C, D), blocks=blocks, margin=True)
        steps = np.linspace(-1, 1, 21) * found.margin[0]
        abscissa = [np.linalg.eigvals(closed((A, B, C, D), blocks, (a, b))).real.max() for a in steps for b in steps]
        assert max(abscissa) < 0
        beyond = closed((A, B, C, D), blocks, tuple(1.001 * d for d in found.deltas))
        assert np.linalg.eigvals(beyond).real.max() > 0, "the negative control: just beyond the other margin one is"


@pytest.mark.long
def test_five_parameters_are_closed_to_five_per_cent() -> None:
    """Where scalings for the whole box leave a quarter as much again."""
    sizes = [1, 2, 1, 2, 1]
    A, B, C, D = structure_of_modes(sizes, 8, 0.05, 10)
    blocks = [REAL(f"p{k}", r) for k, r in enumerate(sizes)]
    found = tt.robust_stability(control.ss(A, B, 4 * C, D), blocks=blocks, gap=0.05)
    assert found.lower <= found.upper <= 1.05 * found.lower * (1 + 1e-6)
    assert found.left == 0
    rng = np.random.default_rng(0)
    for deltas in rng.uniform(-1, 1, (2000, 5)):
        assert np.linalg.eigvals(closed((A, B, 4 * C, D), blocks, tuple(deltas * found.margin[0]))).real.max() < 0


def test_what_too_few_cells_leave_is_said() -> None:
    sizes = [1, 2, 1, 2, 1]
    A, B, C, D = structure_of_modes(sizes, 8, 0.05, 10)
    blocks = [REAL(f"p{k}", r) for k, r in enumerate(sizes)]
    found = tt.robust_stability(control.ss(A, B, 4 * C, D), blocks=blocks, gap=0.02, cells=2)
    assert 0 < found.left <= 1
    assert "give more cells" in str(found)


@pytest.mark.parametrize("given", [{}, {"margin": True}, {"gap": 0.05}])
def test_no_search_loses_what_another_finds(given: dict[str, object]) -> None:
    """A disc of unstable members within the box: the least square about zero touches it where ``x = y``."""
    (A, B, C, D), blocks = unstable_disc(0.3)
    found = tt.robust_stability(control.ss(A, B, C, D), blocks=blocks, progress=False, **given)
    nearest = (2.1 - np.sqrt(2.1**2 - 8 * (0.6**2 + 0.45**2 - 0.3**2))) / 4
    assert found.robust is False
    np.testing.assert_allclose(found.margin[1], nearest, rtol=1e-6)
    if given:
        np.testing.assert_allclose(found.upper, 1 / nearest, rtol=0.05 + RAISED)


def test_what_is_found_is_marginal_with_more_copies_than_states() -> None:
    """Channels that balancing makes very unequal: next to singular there is not singular."""
    A, B = (
        [[-0.73700092, -1.21521748], [1.352395, -1.14009389]],
        [[0.37523983, 0.14849521, -0.94398707, 0.30611762], [0.26870826, -0.47312605, 0.48914746, 0.06626574]],
    )
    C = [[0.2188385, -0.07872758], [0.9420945, -0.22814379], [0.16394943, 0.07059424], [-0.29913875, -0.76763162]]
    blocks, D = [REAL("a", 3), REAL("b")], np.zeros((4, 4))
    found = tt.robust_stability(control.ss(A, B, C, D), blocks=blocks, margin=True, progress=False)
    poles = np.linalg.eigvals(closed(tuple(map(np.array, (A, B, C, D))), blocks, found.deltas))
    np.testing.assert_allclose(poles.real.max(), 0, atol=1e-6, err_msg="a bisection's last step")


def test_a_margin_ends_with_a_bound_however_short_intervals_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the frequencies allowed do not close the gaps at a level, one that they do is as good."""
    blocks = [REAL("a", 2), REAL("b", 3)]
    A, B, C, D = structure_of_modes([2, 3], 6, 0.02, 3)
    M = control.ss(A, B, 4 * C, D)
    best = tt.robust_stability(M, blocks=blocks, margin=True)
    monkeypatch.setattr("titop.solvers.robust.sweep._FREQUENCIES", 8)
    monkeypatch.setattr("titop.solvers.robust.sweep._ASKED", 4)
    found = tt.robust_stability(M, blocks=blocks, margin=True)
    assert len(best.intervals) > 20, "or nothing is asked of it"
    assert best.upper < found.upper < 2 * best.upper


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"level": 0.0}, "bad-value"),
        ({"tolerance": 0}, "bad-value"),
        ({"tolerance": "fine"}, "bad-value"),
        ({"gap": -1.0}, "bad-value"),
        ({"gap": 0.1, "cells": 0}, "bad-value"),
        ({"blocks": [REAL("a", 5)]}, "wrong-shape"),
        ({"blocks": [FULL("a", 3)], "gap": 0.1}, "no-parameters"),
        ({"lft": 3.0}, "wrong-type"),
    ],
)
def test_wrong_arguments_are_told(arguments: dict[str, object], code: str) -> None:
    matrices, blocks = oscillator((1.0, 3.0), (0.1, 0.5), (0.9, 1.1))
    with pytest.raises(tt.ModelError) as caught:
        tt.robust_stability(**({"lft": control.ss(*matrices), "blocks": blocks} | arguments))
    assert caught.value.code == code


def test_a_sampled_loop_at_half_its_sampling_frequency_is_unstable() -> None:
    """A pole at -1 is no lack of a solution: x+ = (-0.5 + 0.6 δ) x has it at δ = -5/6."""
    found = tt.robust_stability(control.ss([[-0.5]], [[1.0]], [[0.6]], [[0.0]], 0.1), blocks=[REAL("k", 1)], progress=False)
    assert found.kind == "unstable"
    np.testing.assert_allclose((found.deltas[0], found.omega), (-5 / 6, np.pi / 0.1), rtol=1e-9)
