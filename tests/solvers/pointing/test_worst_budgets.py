"""Worst members of families against dense samples of their parameters."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt

Source = tt.ErrorSource
STIFFNESS, DAMPING = (0.7, 1.4), (0.02, 0.1)


def member(stiffness: float, damping: float) -> control.StateSpace:
    """Return an oscillator ``1 / (s² + d s + k)``."""
    A = [[0.0, 1.0], [-stiffness, -damping]]
    return control.ss(A, [[0.0], [1.0]], [[1.0, 0.0]], 0, inputs=["torque"], outputs=["angle"])


def family(damping: tuple[float, float] = DAMPING) -> tt.LFTModel:
    """Return the family of these members."""
    (k0, k1), (d0, d1) = STIFFNESS, damping
    M = control.ss(
        [[0.0, 1.0], [-(k0 + k1) / 2, -(d0 + d1) / 2]],
        [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
        [[-(k1 - k0) / 2, 0.0], [0.0, -(d1 - d0) / 2], [1.0, 0.0]],
        np.zeros((3, 3)),
        inputs=["k_w[0]", "d_w[0]", "torque"],
        outputs=["k_z[0]", "d_z[0]", "angle"],
    )
    return tt.LFTModel(M, (tt.DeltaBlock.real("k", 1, k0, k1), tt.DeltaBlock.real("d", 1, d0, d1)), ())


def at(loop: tt.LFTModel, values: dict[str, float]) -> control.StateSpace:
    """Return the member of some parameters."""
    return loop.closed_by([block.normalised(values[block.name]) for block in loop.blocks])


def test_the_family_has_these_members() -> None:
    found, expected = at(family(), {"k": 0.9, "d": 0.05}), member(0.9, 0.05)
    np.testing.assert_allclose(found.A, expected.A, rtol=1e-12)


def test_worst_members_are_as_bad_as_the_worst_of_dense_samples() -> None:
    """The worst member is neither that of noise, at a corner, nor in the middle."""
    sources = {"torque": [Source.noise(0.3), Source.harmonic((0.155, 0.165), 0.05)]}
    budget = tt.pointing_budget(family(), sources, "angle", progress=False)
    every = [tt.pointing_budget(member(k, DAMPING[0]), sources, "angle").value for k in np.linspace(*STIFFNESS, 40)]
    assert budget.worst[0, 0] >= np.max(every) * (1 - 1e-6)
    assert STIFFNESS[0] + 0.1 < budget.members[0][0]["k"] < STIFFNESS[1] - 0.1


@pytest.mark.long
@pytest.mark.parametrize("sampled", [False, True])
def test_all_metrics_have_members_as_bad_as_the_worst_of_dense_samples(sampled: bool) -> None:
    """A line in a narrow range meets the resonance inside of the ranges; noise is worst at a corner."""
    sources = {"torque": [Source.noise(0.3), Source.harmonic((0.155, 0.165), 0.05), Source.bias(0.1)]}
    loop, options = family(), {"window": 2.0, "drift": 10.0, "progress": False}
    if sampled:
        period = 0.1
        closed = loop.M
        M = control.sample_system(closed, period, method="bilinear")
        M = control.ss(M.A, M.B, M.C, M.D, period, inputs=closed.input_labels, outputs=closed.output_labels)
        loop = tt.LFTModel(M, loop.blocks, ())
    budget = tt.pointing_budget(loop, sources, "angle", **options)
    grid = [{"k": k, "d": d} for k in np.linspace(*STIFFNESS, 15) for d in np.linspace(*DAMPING, 3)]
    every = np.array([tt.pointing_budget(at(loop, values), sources, "angle", **options).value for values in grid])
    assert (budget.worst >= every.max(axis=0) * (1 - 1e-6)).all()
    assert (budget.worst >= 1.2 * budget.value).all()
    for m, row in enumerate(budget.members):  # what is found is a member's
        found = tt.pointing_budget(at(loop, row[0]), sources, "angle", **options).value[m, 0]
        assert budget.worst[m, 0] == pytest.approx(found, rel=1e-9)
    assert "worst member found: k = " in budget.table()


def test_an_unstable_member_has_an_infinite_error() -> None:
    wide = family((-0.01, 0.1))
    budget = tt.pointing_budget(wide, {"torque": Source.noise(1.0)}, "angle", requirement={"APE": 1e6}, progress=False)
    assert np.isinf(budget.worst).all()
    assert np.isfinite(budget.value).all()
    assert budget.margin[0, 0] == -np.inf
    assert "worst member inf" in budget.table()
    assert len(budget.plot().axes) == 2


@pytest.mark.parametrize("damping", [1e-3, 1e-5])
def test_a_line_meets_a_sharp_resonance_within_the_ranges(damping: float) -> None:
    """In closed form ``1 / (d w)``, at ``k = w^2``: a part of 1e-5 of the range of stiffness."""
    (k0, k1), omega = STIFFNESS, 2 * np.pi * 0.16
    A, B = [[0.0, 1.0], [-(k0 + k1) / 2, -damping]], [[0.0, 0.0], [1.0, 1.0]]
    C = [[-(k1 - k0) / 2, 0.0], [1.0, 0.0]]
    M = control.ss(A, B, C, np.zeros((2, 2)), inputs=["k_w[0]", "u"], outputs=["k_z[0]", "y"])
    loop = tt.LFTModel(M, (tt.DeltaBlock.real("k", 1, k0, k1),), ())
    line = Source.harmonic(0.16, 1.0)
    budget = tt.pointing_budget(loop, {"u": line}, "y", interpretation="ensemble", progress=False)
    assert budget.worst[0, 0] * damping * omega == pytest.approx(1.0, rel=1e-3)
    assert budget.members[0][0]["k"] == pytest.approx(omega**2, rel=1e-5)


def test_bounds_of_a_line_and_a_bias_are_near_the_worst_member() -> None:
    for source in (Source.harmonic(0.16, 0.05), Source.bias(0.1)):
        budget = tt.pointing_budget(family((0.09, 0.1)), {"torque": source}, "angle", progress=False, prove=True)
        assert budget.worst[0, 0] < budget.upper[0, 0] < 1.03 * budget.worst[0, 0]


def test_bounds_of_loops_without_poles_and_lines_of_narrow_amplitudes() -> None:
    """``y = (1 + d / 2) u`` in closed form: half as much again at most; a peak far narrower than the line's range."""
    M = control.ss([], [], [], [[0.0, 1.0], [0.5, 1.0]], inputs=["d_w[0]", "u"], outputs=["d_z[0]", "y"])
    loop = tt.LFTModel(M, (tt.DeltaBlock.real("d", 1, -1.0, 1.0),), ())
    peak = Source.harmonic((1.0, 2.0), lambda f: 1 / (1 + ((f - 1.5123) / 0.003) ** 2))
    line = tt.pointing_budget(loop, {"u": peak}, "y", interpretation="ensemble", prove=True, progress=False)
    assert line.worst[0, 0] == pytest.approx(1.5, rel=1e-6)
    assert line.worst[0, 0] <= line.upper[0, 0] < 1.03 * 1.5
    noise = tt.pointing_budget(loop, {"u": Source.spectrum(([0.1, 1.0], [1.0, 1.0]))}, "y", prove=True, progress=False)
    assert noise.worst[0, 0] == pytest.approx(1.5 * 0.9**0.5 * 2.9999769927, rel=1e-6)
    assert noise.worst[0, 0] <= noise.upper[0, 0] < 1.05 * noise.worst[0, 0]


def test_nothing_is_proved_of_families_that_are_ill_posed_at_a_corner() -> None:
    D = [[1.0, 0.0], [1.0, 0.0]]
    M = control.ss(-1.0, [[0.0, 1.0]], [[1.0], [1.0]], D, inputs=["d_w[0]", "u"], outputs=["d_z[0]", "y"])
    loop = tt.LFTModel(M, (tt.DeltaBlock.real("d", 1, -1.0, 1.0),), ())
    budget = tt.pointing_budget(loop, {"u": Source.noise(1.0)}, "y", prove=True, progress=False)
    assert np.isinf([budget.worst, budget.upper]).all()


@pytest.mark.long
def test_bounds_hold_for_all_members() -> None:
    """Lines and biases to 3 %; of noise the bound is that of the highest gain at each frequency: nearer in smaller ranges."""
    narrow = family((0.09, 0.1))
    sources = [Source.harmonic((0.155, 0.165), 0.05), Source.bias(0.1), Source.noise(0.3)]
    options = {"window": 2.0, "drift": 10.0, "progress": False, "prove": True}
    budgets = [tt.pointing_budget(narrow, {"torque": source}, "angle", **options) for source in sources]
    for budget in budgets:
        assert (budget.upper >= budget.worst * (1 - 1e-9)).all()
    for budget in budgets[:2]:
        assert (budget.upper <= 1.03 * budget.worst).all()
    noise = budgets[2]
    omega = np.concatenate([np.linspace(1e-4, 3, 3000), np.geomspace(3, 1e3, 300)])[:, None]
    k, d = (x.ravel() for x in np.meshgrid(np.linspace(*STIFFNESS, 200), [0.09, 0.1]))
    highest = np.trapezoid((2 * 0.3**2 / np.abs(k - omega**2 + 1j * d * omega) ** 2).max(axis=1), omega[:, 0]) / (2 * np.pi)
    assert np.sqrt(highest) * 3.0 <= noise.upper[0, 0] * 1.001
    assert noise.upper[0, 0] <= 1.25 * np.sqrt(highest) * 3.0  # 24 bands, and 4 % of a gain
    transient = tt.pointing_budget(narrow, {"torque": Source.transient(1.0)}, "angle", progress=False, prove=True)
    assert np.isinf(transient.upper).all()


@pytest.mark.long
def test_more_cells_bound_noise_nearer() -> None:
    options = {"progress": False, "prove": True}
    one, more = (
        tt.pointing_budget(family((0.05, 0.1)), {"torque": Source.noise(0.3)}, "angle", cells=cells, **options)
        for cells in (1, 4)
    )
    assert more.worst[0, 0] < more.upper[0, 0] < 0.85 * one.upper[0, 0]
