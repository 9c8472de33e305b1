"""Unknown numbers: arithmetic and NumPy's functions on them are those of numbers; branches on them are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from titop.blocks.programs.graph import Graph

NUMBERS = np.array([0.3, 0.7, -0.4])

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: x[0] + 2 - (3.0 - x[1]) + np.float64(0.5) - x[2],
    "products": lambda x: 2 * x[0] * x[1] / (1 / x[2]) / 3,
    "powers": lambda x: x[0] ** 3 + x[0] ** 0.5 + 2 ** x[1] + x[0] ** x[1],
    "signs": lambda x: -x[0] + abs(x[2]) + (+x[1]) + np.abs(x[2]),
    "roots": lambda x: np.sqrt(x[0]) + np.hypot(x[0], x[2]) + np.linalg.norm(x),
    "exponentials": lambda x: np.exp(x[0]) + np.log(x[1]) + np.expm1(x[2]) + np.log1p(x[2]),
    "other bases": lambda x: np.exp2(x[0]) + np.log2(x[1]) + np.log10(x[1]) + np.deg2rad(x[2]) + np.degrees(x[0]),
    "circular": lambda x: np.sin(x[0]) + np.cos(x[1]) + np.tan(x[2]) + np.arctan2(x[0], x[2]),
    "inverse": lambda x: np.arcsin(x[0]) + np.arccos(x[1]) + np.arctan(x[2]),
    "hyperbolic": lambda x: np.sinh(x[0]) + np.cosh(x[1]) + np.tanh(x[2]) + np.arcsinh(x[0]) + np.arctanh(x[1]),
    "arrays": lambda x: (np.outer(x, x) @ x)[1] + np.dot(x, [1.0, 2.0, 3.0]) + np.cross(x, NUMBERS)[2] + np.sum(x * x),
    "arrays beside": lambda x: (np.eye(3) @ x - np.array(0.5) * x[0])[2] + (x[1] - np.array(0.5)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_they_compute_what_numbers_do(name: str) -> None:
    graph = Graph()
    program = graph.program({"x": 3}, {"y": OPERATIONS[name](graph.input("x", 3))})
    found = float(program.evaluate({"x": NUMBERS})["y"])
    assert found == pytest.approx(float(OPERATIONS[name](NUMBERS)), rel=1e-14)


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: x[0] > 0,
        lambda x: x[0] <= x[1],
        lambda x: x[0] == 0,
        lambda x: x[0] != 0.0,
        lambda x: x[0] == np.float64(0.3),
        lambda x: x[0] == x[1],
        lambda x: np.minimum(x[0], x[1]),
        lambda x: x[0],
    ],
)
def test_branches_are_refused(condition: Callable[[Any], Any]) -> None:
    """Whichever comparison they ask: one that were answered would choose a branch for all numbers."""
    with pytest.raises(TypeError, match="where"):
        bool(condition(Graph().input("x", 2)))


def test_numbers_are_refused_where_one_is_asked_for() -> None:
    with pytest.raises(TypeError, match="NumPy's functions"):
        float(Graph().input("x", 1)[0])


def test_what_is_no_number_is_refused() -> None:
    (x,) = Graph().input("x", 1)
    with pytest.raises(TypeError):
        x + "a"
    assert (x == "a") is False
