"""Numbers that materials may have, and those that none has."""

from __future__ import annotations

import pytest

from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.material import check_numbers


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        ("young", [1e-9, 1e12], [0.0, -1.0, float("inf")]),
        ("material.stiffness", [1.0], [0.0]),
        ("density", [1.0], [0.0, -1.0]),
        ("viscosity", [0.0, 1.0], [-1e-9, float("inf")]),
        ("material.poisson", [-0.999, 0.0, 0.4999], [-1.0, 0.5, 0.6]),
        ("colour", [-1.0, 0.0], []),
    ],
)
def test_ranges(field: str, inside: list[float], outside: list[float]) -> None:
    reader = FieldReader("b")
    for value in inside:
        check_numbers(reader, {field: value, "other": -3.0})
        check_numbers(reader, {field: value + 1e-30j})  # a complex step changes nothing
    assert not reader.findings
    for value in outside:
        check_numbers(reader, {field: value})
    name = field.rpartition(".")[2]
    assert [(found.code, found.where, found.value) for found in reader.findings] == [
        (f"bad-{name}", f"b.{field}", value) for value in outside
    ]


def test_what_was_reported_before_is_passed_over() -> None:
    reader = FieldReader("b")
    check_numbers(reader, {"young": float("nan")})
    assert not reader.findings
