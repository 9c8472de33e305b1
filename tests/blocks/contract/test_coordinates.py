"""No unit of length, mass or time enters the derivatives of a block of one's own.

The block is a hinged lever whose coordinate is the deflection of its tip: a sine of the angle that a revolute joint would have,
so that all follows in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.scaled_blocks import ACCURACY, Array, Lever
from titop.blocks.checking.block_findings import law_findings
from titop.blocks.contract import coordinates


def test_steps_of_a_fixed_length_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stencil = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))

    def fixed(function: Any, _: float) -> Any:
        return sum(weight * (function(k * 2e-3) - function(-k * 2e-3)) for k, weight in stencil) / 2e-3

    def rate(length: float) -> Array:
        """The rate of the motion subspace, in units of the length."""
        lever = Lever("lever", length, 1.0, 1.0)
        return lever.subspace_rate("C", np.array([0.6 * length]), np.array([2.0 * length])) / ([length] * 3 + [1.0] * 3)

    expected = rate(1.0)
    assert np.abs(rate(1.6e-2) - expected).max() < ACCURACY
    monkeypatch.setattr(coordinates, "derivative", fixed)
    assert np.abs(rate(1.0) - expected).max() < 1e-9
    assert np.abs(rate(1.6e-2) - expected).max() > 1e-3


def test_declared_scales_are_taken() -> None:
    lever = Lever("lever", 1e-3, 1.0, 1.0)
    assert lever.steps[0] == pytest.approx(1e-5, rel=0.9)  # found: a hundredth of its length, more or less
    lever.forget_steps()
    lever.coordinate_scales = (1e-3,)
    assert lever.steps.tolist() == [1e-5]
    rng = np.random.default_rng(0)
    assert all(abs(lever.random_configuration(rng)[0]) < 1e-3 for _ in range(20))
    for wrong in ((1.0, 2.0), (-1.0,), (0.0,)):
        lever.coordinate_scales = wrong
        assert [finding.code for finding in law_findings(lever)] == ["bad-scales"]


def test_flexible_bodies_of_any_size_deform_alike() -> None:
    def body(length: float, mass: float) -> tt.FlexibleBody:
        return tt.FlexibleBody(
            "panel",
            mass,
            com=[length / 2, 0, 0],
            inertia=mass * length**2 / 12,
            frequencies=[3.0],
            participation=0.3 * np.sqrt(mass) * np.array([[0, 1, 0, 0, 0, length]]),
            ports={"C": [length, 0, 0]},
            shapes={"C": np.array([[0, 2, 0, 0, 0, 3 / length]]).T / np.sqrt(mass)},
        )

    for length, mass in ((1e-6, 1e-15), (1e-3, 1.0), (1e6, 1e12)):
        found = body(length, mass).random_configuration(np.random.default_rng(0))
        expected = body(1.0, 1.0).random_configuration(np.random.default_rng(0))
        assert found / (length * np.sqrt(mass)) == pytest.approx(expected, rel=1e-12)
        tt.check_block(body(length, mass))
