"""Loads a unit of length: numbers, rows or functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.interactions.distributed_load import (
    density_kinks,
    density_parameters,
    density_values,
    read_density,
    with_entry,
)

PLACES = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
ROWS = np.array([[0.0, 1.0, 2.0], [4.0, 1.0, -2.0], [1.0, 1.0, 0.0]])


def at(density: Any) -> Any:
    return density_values("load.force", density, PLACES, 2.0 * PLACES)


def test_three_numbers_are_the_same_everywhere() -> None:
    density = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(at(density), np.tile(density, (5, 1)))
    assert density_kinks(density).tolist() == [0.0, 1.0]


def test_between_rows_are_lines() -> None:
    expected = np.column_stack([np.interp(PLACES, [0.0, 0.5, 1.0], column) for column in ROWS.T])
    np.testing.assert_allclose(at(ROWS), expected, rtol=0, atol=1e-14)  # a slope, a product and a sum
    assert density_kinks(ROWS).tolist() == [0.0, 0.5, 1.0]
    stepped = density_values("f", ROWS + 1j * np.eye(3), PLACES, PLACES)  # numbers may be complex
    np.testing.assert_allclose(stepped.imag[1], [0.6, 0.4, 0.0], rtol=0, atol=1e-15)


def test_functions_are_of_the_abscissa() -> None:
    def density(X: float) -> list[float]:
        return [X, X**2, 0.0]

    np.testing.assert_array_equal(at(density), np.column_stack([2 * PLACES, (2 * PLACES) ** 2, 0 * PLACES]))
    assert density_kinks(density).tolist() == [0.0, 1.0]
    assert density_parameters("force", density, "N/m") == {}
    with pytest.raises(tt.ModelError, match=r"load\.force: got \[1\]"):
        at(lambda X: [1])


def test_numbers_have_names_by_which_they_are_changed() -> None:
    assert density_parameters("force", ROWS[0], "N/m") == {f"force.{x}": (float(k), "N/m") for k, x in enumerate("xyz")}
    named = density_parameters("force", ROWS, "N/m")
    assert len(named) == 9
    assert named["force.1.z"] == (-2.0, "N/m")
    changed = with_entry(ROWS, "1.z", 7.0)
    assert changed[1, 2] == 7.0
    assert np.count_nonzero(changed != ROWS) == 1
    assert with_entry(ROWS[0], "y", 7.0).tolist() == [0.0, 7.0, 2.0]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([1, 2], "wrong-shape"),
        ([[1, 2, 3]], "wrong-shape"),
        ([[1, 2], [3, 4]], "wrong-shape"),
        ([[1, 2, 3], [1, 2]], "wrong-type"),
        ("down", "wrong-type"),
        ([[1, 2, 3], [1, 2, np.nan]], "not-finite"),
    ],
)
def test_what_is_no_density_is_refused_by_name(given: Any, code: str) -> None:
    reader = FieldReader("load")
    read_density(reader, "force", given, "N/m")
    assert [(finding.code, finding.where) for finding in reader.findings] == [(code, "load.force")]


def test_functions_take_the_abscissa_alone() -> None:
    with pytest.raises(tt.ModelError, match=r"load\.force: .*expected a function f\(X\)"):
        read_density(FieldReader("load"), "force", lambda: 0.0, "N/m")
