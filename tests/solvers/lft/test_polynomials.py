"""Matrices as polynomials of parameters: what is small beside other columns is kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from titop.solvers.lft.polynomials import Polynomial, interpolate

pytestmark = pytest.mark.portable


def law(values: Mapping[str, float]) -> np.ndarray:
    """Return a stiff column beside a light one, which rounding of the first would hide."""
    d = values.get("d", 0.0)
    return np.array([[1e9 * (2.0 + d), 3e-6], [0.0, 1e-6 * (1.0 + d)]])


def test_light_columns_beside_stiff_ones() -> None:
    """Entries count beside their own column: a stiffness says nothing of an inertia."""
    found = interpolate(law, ["d"])
    assert isinstance(found, Polynomial)
    assert found.constant[1, 1] == 1e-6
    assert found.matrices[found.exponents.index((1,))][1, 1] > 0.99e-6
    assert found.constant[1, 0] == 0.0


def test_a_column_of_last_digits_is_none() -> None:
    """What rounding leaves beside a vector's other columns has no law to be met; what is larger has, or is of another unit."""

    def noisy(values: Mapping[str, float], size: float = 1e-17) -> np.ndarray:
        d = values.get("d", 0.0)
        return np.array([[0.5 * (1.0 + d), size * np.sin(1e3 * d + 1.0), 0.0], [0.2, 0.0, 0.3]])

    found = interpolate(noisy, ["d"], vectors=(0,))
    assert isinstance(found, Polynomial)
    assert not any(matrix[:, 1].any() for matrix in found.matrices[1:])
    assert not isinstance(interpolate(lambda values: noisy(values, 1e-12), ["d"], vectors=(0,)), Polynomial)
    assert not isinstance(interpolate(noisy, ["d"]), Polynomial)


def test_columns_of_other_units_are_kept() -> None:
    """A polynomial is the same in any units of columns, however small these make one beside the others."""

    def of_unit(values: Mapping[str, float], unit: float) -> np.ndarray:
        d = values.get("d", 0.0)
        return np.array([[1.0 + d, 2.0, 0.0, unit * (1.0 + 3.0 * d)], [0.0, 1.0, 0.5, unit * 0.2]])

    for unit in (2.0**-80, 2.0**80):
        found = interpolate(lambda values, unit=unit: of_unit(values, unit), ["d"], vectors=(0,))
        right = interpolate(lambda values: of_unit(values, 1.0), ["d"], vectors=(0,))
        assert isinstance(found, Polynomial)
        assert isinstance(right, Polynomial)
        for own, other in zip(found.matrices, right.matrices, strict=True):
            assert np.array_equal(own / [1.0, 1.0, 1.0, unit], other)
