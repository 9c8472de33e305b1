"""Elastic, dissipative contacts: their energy is the work of their elastic part, and they never pull."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from titop.blocks.laws.impact import HERTZ, impact_energy, impact_push

STIFFNESS, DISSIPATION = 2e4, 0.3


@pytest.mark.parametrize("exponent", [1.0, HERTZ, 2.2])
@pytest.mark.parametrize("depth", [1e-4, 0.01, 0.5])
def test_energy_is_the_work_of_the_slow_push(depth: float, exponent: float) -> None:
    work, _ = quad(lambda x: impact_push(x, 0.0, STIFFNESS, DISSIPATION, exponent), 0.0, depth, epsabs=0.0, epsrel=1e-12)
    assert impact_energy(depth, STIFFNESS, exponent) == pytest.approx(work, rel=1e-10)


@pytest.mark.parametrize("depth", [-1.0, 0.0, -1.0 + 1e-30j])
def test_nothing_acts_out_of_contact(depth: complex) -> None:
    assert impact_push(depth, 5.0, STIFFNESS, DISSIPATION, HERTZ) == 0.0
    assert impact_energy(depth, STIFFNESS, 2.2) == 0.0


def test_dissipation_pushes_more_on_the_way_in_and_never_pulls_on_the_way_out() -> None:
    depth, rates = 0.01, np.array([-10.0, -1.0, 0.0, 1.0])
    still = STIFFNESS * depth**1.5
    found = [impact_push(depth, rate, STIFFNESS, DISSIPATION, HERTZ) for rate in rates]
    np.testing.assert_allclose(found, still * np.array([0.0, 0.7, 1.0, 1.3]), rtol=1e-12)


def test_complex_steps_go_through() -> None:
    """By Hunt and Crossley's law differentiated by hand."""
    depth, rate, step = 0.01, 0.4, 1e-30
    by_depth = np.imag(impact_push(depth + 1j * step, rate, STIFFNESS, DISSIPATION, HERTZ)) / step
    by_rate = np.imag(impact_push(depth, rate + 1j * step, STIFFNESS, DISSIPATION, HERTZ)) / step
    assert by_depth == pytest.approx(1.5 * STIFFNESS * np.sqrt(depth) * (1 + DISSIPATION * rate), rel=1e-13)
    assert by_rate == pytest.approx(STIFFNESS * depth**1.5 * DISSIPATION, rel=1e-13)
    assert np.imag(impact_energy(depth + 1j * step, STIFFNESS, HERTZ)) / step == pytest.approx(
        STIFFNESS * depth**1.5, rel=1e-13
    )
