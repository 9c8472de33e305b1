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


@pytest.mark.parametrize("sampled", [False, True])
def test_worst_members_are_as_bad_as_the_worst_of_dense_samples(sampled: bool) -> None:
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
    assert np.isinf(budget.worst).all() and np.isfinite(budget.value).all()
    assert budget.margin[0, 0] == -np.inf
    assert str(budget) and budget.plot()
