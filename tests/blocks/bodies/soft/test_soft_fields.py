"""Reading what users give for a deformable body."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.soft_fields import (
    argument_count,
    checked_kinematics,
    namespace,
    read_density,
    read_names,
    read_numbers,
    read_units,
    with_numbers,
)

POINTS = np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 0.3]])


def test_arguments_are_counted() -> None:
    assert argument_count(lambda x, q: x) == 2
    assert argument_count(lambda x, q, numbers=None, *, other=1: x) == 3
    assert argument_count(lambda *given: given) == 3
    assert argument_count(np.max) == argument_count(np.max)  # by its signature, or as many as there may be


def test_functions_may_leave_the_numbers_out() -> None:
    assert with_numbers(lambda x, q: (x, q), 2)(1, 2, 3) == (1, 2)
    assert with_numbers(lambda x, q, numbers: (x, q, numbers), 2)(1, 2, 3) == (1, 2, 3)


@pytest.mark.parametrize("given", [("a", "b"), ["a", "b"], np.array(["a", "b"]), {"a": 1, "b": 2}])
def test_names_stand_in_any_list(given: Any) -> None:
    reader = FieldReader("b")
    assert (read_names(reader, given, None), reader.findings) == (("a", "b"), [])


@pytest.mark.parametrize("given", [3, np.array(3.0), "ab", [1, 2], np.eye(2), [""], ["a", "a"]])
def test_what_is_no_list_of_names_is_refused(given: Any) -> None:
    reader = FieldReader("b")
    read_names(reader, given, None)
    assert [(finding.code, finding.where) for finding in reader.findings] == [("bad-coordinates", "b.coordinates")]


@pytest.mark.parametrize("given", [3, "m", [3], ["m", "m"], [], np.ones(2)])
def test_units_are_as_many_as_coordinates(given: Any) -> None:
    reader = FieldReader("b")
    assert read_units(reader, None, 1) == ("1",)
    assert read_units(reader, ["rad"], 1) == ("rad",)
    assert not reader.findings
    read_units(reader, given, 1)
    assert [(finding.code, finding.where) for finding in reader.findings] == [("wrong-shape", "b.units")]
    with pytest.raises(tt.ModelError, match=r"kinematics\.units"):
        tt.Kinematics(lambda x, q: x, ["a"], units=given)


def test_numbers_have_units_or_none() -> None:
    reader = FieldReader("b")
    assert read_numbers(reader, {"length": (0.2, "m"), "ratio": 3}) == (
        {"length": 0.2, "ratio": 3.0},
        {"length": "m", "ratio": "1"},
    )
    assert not reader.findings
    read_numbers(reader, {"material": 1.0, "a b": 1.0, "c": "wide"})
    assert [finding.code for finding in reader.findings] == ["bad-name", "bad-name", "wrong-type"]
    with pytest.raises(tt.ModelError, match=r"kinematics\.parameters"):
        tt.Kinematics(lambda x, q: x, ["a"], parameters=3)  # type: ignore[arg-type]


def test_a_density_is_a_number_or_a_function() -> None:
    reader = FieldReader("b")
    number, parts = read_density(reader, 960.0, POINTS)
    assert (number, parts.tolist()) == (960.0, [1.0, 1.0])
    number, parts = read_density(reader, lambda x: 1000.0 * x[2], POINTS)
    assert (number, parts.tolist(), reader.findings) == (1.0, [100.0, 300.0], [])


@pytest.mark.parametrize(
    ("density", "code"),
    [
        (0.0, "bad-density"),
        ("heavy", "wrong-type"),
        (lambda x: x[2] - 0.2, "bad-density"),
        (lambda x: [1.0, 2.0], "wrong-shape"),
        (lambda x: np.nan, "not-finite"),
        (lambda x: 1.0 / (x[0] * 0 if x[2] else 0), "function-fails"),
        (lambda: 960.0, "function-fails"),
    ],
)
def test_unusable_densities_are_refused_by_name(density: Any, code: str) -> None:
    reader = FieldReader("b")
    with np.errstate(divide="raise"):
        read_density(reader, density, POINTS)
    assert [(finding.code, finding.where) for finding in reader.findings] == [(code, "b.density")]


def test_kinematics_give_three_numbers() -> None:
    x = np.array([1.0, 2.0, 3.0])
    entries = checked_kinematics(lambda x, q: [x[0] + q[0], x[1], x[2]])(x, np.array([0.5]), None)
    assert entries.tolist() == [1.5, 2.0, 3.0]
    with pytest.raises(tt.ModelError, match="got 2 numbers"):
        checked_kinematics(lambda x, q: x[:2])(x, None, None)


def test_names_with_dots_are_attributes_of_attributes() -> None:
    numbers = namespace({"length": 1.0, "material.young": 2.0, "material.poisson": 3.0})
    assert (numbers.length, numbers.material.young, numbers.material.poisson) == (1.0, 2.0, 3.0)
