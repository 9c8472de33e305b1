"""Dimensions of sections along a rod."""

from __future__ import annotations

import numpy as np
import pytest

from titop.blocks.bodies.rods.section import along, dimension_parameters, with_end

PLACES = np.array([0.0, 0.25, 1.0])


def test_numbers_pairs_and_functions_of_the_abscissa() -> None:
    assert along("radius", (0.2,), PLACES, 2.0).tolist() == [0.2, 0.2, 0.2]
    # roundings of a product and a sum of numbers up to three times the result: up to six units of 1e-16
    np.testing.assert_allclose(along("radius", (0.2, 0.1), PLACES, 2.0), [0.2, 0.175, 0.1], rtol=1e-14)
    np.testing.assert_allclose(along("radius", lambda X: 0.3 - 0.1 * X, PLACES, 2.0), [0.3, 0.25, 0.1], rtol=1e-14)


def test_parameters_are_the_numbers_that_change_it() -> None:
    tapered = (0.2, 0.1)
    assert dimension_parameters("radius", tapered, "m") == {"radius.base": (0.2, "m"), "radius.tip": (0.1, "m")}
    assert dimension_parameters("radius", lambda X: X, "m") == {}
    assert along("radius", with_end(tapered, "base", 0.4), PLACES, 2.0)[0] == 0.4
    assert along("radius", with_end(tapered, "tip", 0.4), PLACES, 2.0)[2] == 0.4
    assert along("radius", with_end((0.2,), None, 0.4), PLACES, 2.0).tolist() == [0.4] * 3
    assert dimension_parameters("radius", (0.2,), "m") == {"radius": (0.2, "m")}


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(ValueError, match=r"section\.radius.*ZeroDivisionError.*X = 0\)"):
        along("radius", lambda X: 1 / X, PLACES, 2.0)
