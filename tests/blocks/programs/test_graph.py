"""Numbers that are not known yet: what is recorded computes what numbers would; what is known is computed at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.choices import everywhere, nowhere, select
from titop.blocks.programs.graph import Graph, applied, array_of, negated
from titop.blocks.programs.program import INPUT, TOTAL
from titop.blocks.programs.repetition import totals_of

X = np.array([0.7, -0.4, 1.9])

#: Functions of an array of three numbers, known or not.
FUNCTIONS: dict[str, Any] = {
    "sums and products": lambda x: (x[0] + 2.0 - x[1]) * (3.0 * x[2]) / (x[1] - 1.0) - -x[0],
    "powers": lambda x: x[2] ** 3 + x[2] ** -2 + x[2] ** 0.5 + x[2] ** 2.5 + x[2] ** 0.3 + 1.7 ** x[0] + x[2] ** x[0],
    "functions": lambda x: np.sin(x[0]) * np.cos(x[1]) + np.exp(x[1]) - np.log(x[2]) + np.tanh(x[0]) + np.arctan2(x[0], x[1]),
    "more functions": lambda x: np.arcsin(x[0]) + np.sinh(x[1]) + np.log1p(x[2]) + abs(x[1]) + np.hypot(x[0], x[1]),
    "numbers of NumPy's": lambda x: np.float64(2.0) * x[0] + np.float64(1.0) / x[2] - x[1] * np.int64(3),
    "matrices": lambda x: (np.array([[x[0], 0.0, 1.0], [0.0, x[1], 2.0], [x[2], 1.0, 0.0]]) @ (np.eye(3) @ x))[1],
    "choices": lambda x: select(x[0].real > x[1].real, x[0] * x[2], x[1]) + select((x[0] < 1) & ~(x[1] < 0), 1.0, x[2]),
    "choices of arrays": lambda x: select(x[0] <= 0.7, x, 2.0 * x)[2] + select(x[0] != 0.7, x[0], 3.0),
}


def value(number: Any) -> Any:
    """Return what numbers of a graph with the input x are at X."""
    graph = Graph()
    return graph.program({"x": 3}, {"y": number(graph.input("x", 3))}).evaluate({"x": X})["y"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_records_compute_what_numbers_would(name: str) -> None:
    """The same operations in another order: a few roundings apart. At other numbers the results are others."""
    expected = FUNCTIONS[name](X)
    assert value(FUNCTIONS[name]) == pytest.approx(expected, rel=1e-14)
    assert FUNCTIONS[name](X + 0.3) != pytest.approx(expected, rel=1e-6)


def test_what_is_known_is_computed_and_nothing_twice() -> None:
    graph = Graph()
    x, y = graph.input("x", 2)
    before = len(graph.values)
    assert (0.0 * x, x - x, 1.0 * x, x + 0.0) == (0.0, 0.0, x, x)
    assert (x < math.inf, x > math.inf, x == x) == (True, False, True)
    assert applied("sin", 0.5) == math.sin(0.5)
    assert len(graph.values) == before
    assert negated(-x) == x
    assert (x + y).place == (y + x).place
    assert ((2.0 * x) * 3.0).place == (6.0 * x).place
    assert (x * -y).place == (-(x * y)).place
    program = graph.program({"x": 2}, {"y": array_of([x * y + x * y, y * x])})
    assert program.counts == {"multiply": 1, "add": 1}


def test_a_graph_knows_its_nominal_values() -> None:
    graph = Graph({"x": X})
    x = graph.input("x", 3)
    assert (np.sin(x[0]) * x[1]).nominal == math.sin(X[0]) * X[1]


def test_choices_that_are_not_known_are_neither_everywhere_nor_nowhere() -> None:
    x = Graph().input("x", 1)[0]
    assert not everywhere(x > 0.0)
    assert not nowhere(x > 0.0)


def test_what_has_no_value_yet_is_refused() -> None:
    x = Graph().input("x", 1)[0]
    with pytest.raises(TypeError, match="branch"):
        bool(x > 0.0)
    with pytest.raises(TypeError, match="float"):
        math.sin(x)
    with pytest.raises(TypeError):
        x + 1e-30j  # no complex steps
    with pytest.raises(TypeError):
        x + "one"


def test_loops_are_summed_over_points() -> None:
    """``sum over points of (s x)^2``, and what is added once."""
    inner, outer = Graph(), Graph()
    shared, own = inner.input("shared", 1), inner.input("own", 1)
    sizes = {"shared": 1, "own": 1, "loads": 0}
    squares = inner.program(sizes, {"once": shared, "totals": [(shared[0] * own[0]) ** 2], "each": np.zeros(0)})
    x, points = outer.input("x", 1), np.array([[1.0], [2.0], [3.0]])
    total = totals_of(squares, 2.0 * x, points)[0]
    assert totals_of(squares, 2.0 * x, points)[0].place == total.place
    program = outer.program({"x": 1}, {"y": total + 1.0})
    assert [of.operation for of in program.values].count(TOTAL) == 1
    assert [of.operation for of in program.values].count(INPUT) == 1
    found = program.evaluate({"x": np.array([[0.5], [1.5]])})["y"]
    np.testing.assert_allclose(found, [1.0 + 14.0 + 1.0, 3.0 + 9.0 * 14.0 + 1.0], rtol=1e-15)
    assert program.operations == 1 + 2 + 2 * 3  # 2 x and its sums; at each point a product and a square
    assert program.length == 1 + 2 + 2
