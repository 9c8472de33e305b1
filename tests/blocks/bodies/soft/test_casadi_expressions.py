"""Users' functions as programs: all operations come through, and symbols stand for what they were put in for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np
import pytest

from tests.refusals import refusal
from titop.blocks.bodies.soft.casadi_expressions import (
    Expression,
    Symbols,
    as_array,
    column,
    expression_of,
    held_symbols,
    namespace,
    program_of,
    symbols,
    symmetric,
    unknowns_of,
    with_slope,
    work,
)
from titop.blocks.bodies.soft.functions import where
from titop.blocks.programs.program import Program

NUMBERS = np.array([0.3, 0.7, -0.4])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (x[0] + x[1]) * x[2] - x[0] / x[1] - (-x[2]) + 2 * x[0] + 1 / x[2],
    "powers": lambda x: x[0] ** 2 + x[1] ** 0.5 + x[0] ** x[1] + np.sqrt(x[1]) + x[0] * x[0],
    "exponentials": lambda x: np.exp(x[0]) + np.expm1(x[1]) + np.log(x[1]) + np.log1p(x[0]),
    "circular": lambda x: np.sin(x[0]) + np.cos(x[1]) + np.tan(x[2]) + np.arcsin(x[0]) + np.arccos(x[1]) + np.arctan(x[2]),
    "hyperbolic": lambda x: np.sinh(x[0]) + np.cosh(x[1]) + np.tanh(x[2]) + np.arcsinh(x[2]) + np.arctanh(x[0]),
    "angles": lambda x: np.arctan2(x[2], x[0]),
    "choices": lambda x: np.abs(x[2]) + where(x[0] < x[1], x[2], 3.0 * x[0]),
}


def program(inputs: Symbols, expression: Any) -> Program:
    return program_of([inputs, symbols("x", 0)], each=[expression])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_compute_what_functions_do(name: str) -> None:
    given = symbols("s", 3)
    found = program(given, expression_of(FUNCTIONS[name](given.entries))).at_points(NUMBERS, np.zeros((1, 0)))[1]
    assert found[0, 0] == pytest.approx(float(FUNCTIONS[name](NUMBERS)), rel=1e-14)


def test_programs_compute_nothing_twice() -> None:
    given = symbols("s", 2)
    product = given.entries[0] * given.entries[1]
    values = program(given, expression_of(product + np.sin(product) * np.sin(product))).values
    assert len(set(values)) == len(values)
    assert sum(operation == "sin" for operation, _ in values) == 1


def test_operations_without_derivatives_are_refused() -> None:
    given = symbols("s", 1)
    with refusal("unknown-operation", "OP_FLOOR"):
        program(given, casadi.floor(given.vector))


def test_columns_are_laid_out_row_by_row() -> None:
    given = symbols("s", 6)
    matrix = casadi.reshape(given.vector, 3, 2).T  # its rows are the halves
    entries = unknowns_of(matrix, (2, 3))
    found = program(given, column(entries)).at_points(np.arange(6.0), np.zeros((1, 0)))[1][0]
    np.testing.assert_array_equal(found, np.arange(6.0))
    assert column([]).shape == (0, 1)
    mixed = as_array([1.0, given.entries[0]])
    assert all(isinstance(entry, Expression) for entry in mixed)


def test_symmetric_matrices_are_taken_from_the_upper_half() -> None:
    found = symmetric(casadi.SX(np.array([[1.0, 2.0], [9.0, 3.0]])))
    np.testing.assert_array_equal(np.array(casadi.DM(found)), [[1.0, 2.0], [2.0, 3.0]])


def test_work_counts_operations_where_they_are_done() -> None:
    """Once nothing, of a section a tenth, of a point one."""
    once, section, point = (casadi.SX.sym(name) for name in ("q", "z", "x"))

    def count(expression: Any) -> float:
        return work(expression, point, section)

    assert count(casadi.sin(once) * once) == 0.0
    assert count(casadi.sin(section) * once) == pytest.approx(0.2)
    assert count(casadi.sin(section) * point) == pytest.approx(1.1)


def test_names_with_dots_are_attributes_of_attributes() -> None:
    numbers = namespace({"length": 1.0, "material.young": 2.0, "material.poisson": 3.0})
    assert (numbers.length, numbers.material.young, numbers.material.poisson) == (1.0, 2.0, 3.0)


def test_slopes_that_were_said_stand_for_a_value_while_symbols_are_held() -> None:
    """``sin'' = -sin`` of a value that is a constant in all but name."""
    given = symbols("s", 1)
    with held_symbols() as held:
        number = with_slope(lambda z: 5.0 + 0.0 * z, np.cos, given.entries[0])
    assert len(held) == 1
    derived = [number.expression]
    for _ in range(2):
        derived.append(casadi.jacobian(derived[-1], given.vector))
    values = [casadi.substitute(one, held[0].symbol, held[0].value) for one in derived]
    found = program(given, casadi.vertcat(*values)).at_points(np.array([0.7]), np.zeros((1, 0)))[1][0]
    np.testing.assert_allclose(found, [5.0, np.cos(0.7), -np.sin(0.7)], rtol=1e-14)  # last digits of two libraries' sines
    assert with_slope(lambda z: 5.0 + z, np.cos, 0.7) == 5.7  # of numbers the value
    assert isinstance(with_slope(lambda z: 5.0 + z, np.cos, given.entries[0]), Expression)
