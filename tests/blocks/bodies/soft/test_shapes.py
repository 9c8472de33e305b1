"""Sums of shapes: which are polynomials, and their integrals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from titop.blocks.bodies.soft.functions import POINTS, ShapeSum, polynomial_of

POLYNOMIALS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "constant": (lambda z: 2, (2.0,)),
    "linear": (lambda z: z / 0.5 - 1.0, (-1.0, 2.0)),
    "product": (lambda z: z * (1.0 - z), (0.0, 1.0, -1.0)),
    "power": (lambda z: 3.0 * z**5, (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)),
}
#: Functions that are none, or whose powers lose digits.
OTHERS: dict[str, Callable[[Any], Any]] = {
    "sine": lambda z: np.sin(z),
    "root": lambda z: z**0.5,
    "quotient": lambda z: 1.0 / (1.0 + z),
    "branch": lambda z: 1.0 if z < 0.1 else 0.0,
    "floor": lambda z: z // 0.1,
    "size": lambda z: abs(z),
    "truth": lambda z: 1.0 if isinstance(z, float) else 2.0,
    "high": lambda z: z**6,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_are_told(name: str) -> None:
    shape, expected = POLYNOMIALS[name]
    assert polynomial_of(shape) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_not(name: str) -> None:
    assert polynomial_of(OTHERS[name]) is None


def test_sums_and_integrals() -> None:
    """Against closed forms; of the sine twelve points leave rounding."""
    total, z = ShapeSum([lambda z: 1.0, lambda z: z**2, np.sin], [2.0, 3.0, 4.0]), 0.8
    assert not total.is_exact
    assert total(z) == pytest.approx(2.0 + 3.0 * z**2 + 4.0 * np.sin(z), rel=1e-15)

    def integral(end: Any) -> Any:
        return 2.0 * end + end**3 + 4.0 * (1.0 - np.cos(end))

    assert total.integral(z) == pytest.approx(integral(z), rel=1e-14)
    np.testing.assert_allclose(total.integrals(z), integral(z * POINTS), rtol=0, atol=1e-14)
