"""Functions of the angle, against their definitions in fifty digits, on both sides of where the series end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import cos, cot, mp, sin

from titop.blocks.basics import angles
from titop.blocks.basics.angles import SMALL

#: Squared angles: next to zero, about the end of the series, one, and half a turn.
SQUARES = (1e-16, 1e-4, 0.9999 * SMALL, 1.0001 * SMALL, 1.0, 9.8)

DEFINITIONS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "rotation_coefficients": (lambda t: sin(t) / t, lambda t: (1 - cos(t)) / t**2, lambda t: (t - sin(t)) / t**3),
    "coupling_coefficients": (
        lambda t: (t**2 + 2 * cos(t) - 2) / (2 * t**4),
        lambda t: (2 * t - 3 * sin(t) + t * cos(t)) / (2 * t**5),
    ),
    "half_cotangent": (lambda t: 1 / t**2 - cot(t / 2) / (2 * t),),
}

#: Just above where the series end closed forms subtract numbers near one of which 1e-4 is left, or of SE(3)'s 1e-5.
LOST = 1e-10


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("square", SQUARES)
def test_they_are_what_is_defined(name: str, square: float) -> None:
    found = np.atleast_1d(getattr(angles, name)(square))
    with mp.workdps(50):
        expected = [float(function(mpmath.sqrt(mpmath.mpf(square)))) for function in DEFINITIONS[name]]
    np.testing.assert_allclose(found, expected, rtol=1e-14 if square < SMALL else LOST)


@pytest.mark.parametrize("square", SQUARES)
def test_slopes_are_complex_steps(square: float) -> None:
    step = 1e-30
    _, b, c = angles.rotation_coefficients(square)
    moved = angles.rotation_coefficients(square + 1j * step)[1:]
    np.testing.assert_allclose(
        angles.coefficient_slopes(square, b, c), np.imag(moved) / step, rtol=1e-12 if square < SMALL else LOST
    )
    moved = angles.half_cotangent(square + 1j * step)
    slope = angles.half_cotangent_slope(square)
    assert slope == pytest.approx(moved.imag / step, rel=1e-13 if square < SMALL else LOST, abs=0.0)
