"""Derivatives on graphs: forward, in reverse and along directions, against complex steps of the program itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titop.blocks.programs.differentiation import along, jacobian, replaced
from titop.blocks.programs.graph import Graph, applied
from titop.blocks.programs.program import OPERATIONS
from titop.blocks.programs.repetition import summed, totals_of

STEP = 1e-30
#: Some ten operations on numbers of about one.
ROUNDING: dict[str, Any] = {"rtol": 1e-14, "atol": 1e-15}
#: Operations of one number, and a number in the domain of each.
ONE = {name: 0.3 for name in OPERATIONS if name not in ("acosh", "not", "negate", "absolute", "sign")} | {"acosh": 1.3}
TWO = ("add", "subtract", "multiply", "divide", "power", "atan2", "minimum", "maximum", "less", "less_equal", "equal")
TWO += ("not_equal", "and", "or")
ONE = {name: x for name, x in ONE.items() if name not in (*TWO, "select")} | {"negate": 0.3, "absolute": -0.3, "sign": 0.3}


def derivatives(function: Any, at: Any) -> tuple[Any, Any, Any, Any]:
    """Return the derivatives of a function forward, in reverse, along (1, 2, ...), and by complex steps."""
    graph, n = Graph(), len(at)
    x = graph.input("x", n)
    y = np.asarray(function(x), dtype=object)
    given = {
        "value": y,
        "forward": jacobian(y, list(x)),
        "reverse": jacobian(y, list(x), reverse=True),
        "along": along(y, list(x), np.arange(1.0, n + 1)),
    }
    program = graph.program({"x": n}, given)
    found = program.evaluate({"x": at})
    steps = [program.evaluate({"x": at + 1j * STEP * e})["value"].imag / STEP for e in np.eye(n)]
    return found["forward"], found["reverse"], found["along"], np.stack(steps, axis=-1)


@pytest.mark.parametrize("name", [*ONE, *TWO, "select"])
def test_every_operation(name: str) -> None:
    at = np.array([ONE[name]]) if name in ONE else np.array([0.4, 0.7, 0.2][: 3 if name == "select" else 2])
    forward, reverse, _, expected = derivatives(lambda x: np.array([applied(name, *x)]), at)
    np.testing.assert_allclose(forward, expected, rtol=1e-14, atol=1e-300)  # one rounding of each factor
    np.testing.assert_array_equal(forward, reverse)


def test_forward_reverse_and_along_agree_with_complex_steps() -> None:
    def function(x: Any) -> Any:
        turned = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]]) @ x[1:3]
        return np.array(
            [turned[0] * turned[1], np.sqrt(turned @ turned) / (1.0 + x[2] ** 2), (x[0] < x[1]).choose(x[2], x[0] ** 3)]
        )

    at = np.array([0.7, 0.4, 0.9])
    forward, reverse, directed, expected = derivatives(function, at)
    np.testing.assert_allclose(forward, expected, **ROUNDING)
    np.testing.assert_allclose(reverse, expected, **ROUNDING)
    np.testing.assert_allclose(directed, expected @ [1.0, 2.0, 3.0], **ROUNDING)
    assert np.abs(forward - derivatives(function, at + 0.1)[0]).max() > 1e-2  # a negative control


def test_chosen_branches_keep_what_is_not_chosen_out() -> None:
    """The root at zero is not chosen: its argument is another there, and so is its slope."""

    def function(x: Any) -> Any:
        far = x[0] > 0.0
        return np.array([far.choose(applied("sqrt", far.choose(x[0], 1.0)), 2.0 * x[0])])

    forward, reverse, *_ = derivatives(function, np.zeros(1))
    assert forward[0, 0] == reverse[0, 0] == 2.0


def test_numbers_are_replaced_everywhere() -> None:
    graph = Graph()
    x = graph.input("x", 2)
    y = np.array([np.sin(x[0]) * x[1], x[0] + 1.0])
    found = graph.program({"x": 2}, {"y": replaced(y, {x[0]: x[1] * x[1]})}).evaluate({"x": np.array([0.3, 0.5])})["y"]
    np.testing.assert_allclose(found, [np.sin(0.25) * 0.5, 1.25], rtol=1e-15)
    assert replaced(y, {x[0]: 0.0}).tolist()[1] == 1.0


def test_sums_over_points_are_differentiated_as_sums() -> None:
    """``sum over points of sin(s x)``, by s twice."""
    points, graph = np.array([[0.2], [0.5], [1.1]]), Graph()
    s = graph.input("s", 1)

    def share(shared: Any, own: Any) -> Any:
        return np.array([np.sum(np.sin(shared[0] * own[:, 0]))])

    total = summed(lambda own: share(s, own), points, of=s)
    first = jacobian(total, list(s), reverse=True)
    second = jacobian(first, list(s))
    found = graph.program({"s": 1}, {"0": total, "1": first, "2": second}).evaluate({"s": np.array([0.8])})
    x = points[:, 0]
    assert share(np.array([0.8]), points) == pytest.approx(found["0"], rel=1e-15)
    assert found["1"].item() == pytest.approx(x @ np.cos(0.8 * x), rel=1e-14)
    assert found["2"].item() == pytest.approx(-(x**2) @ np.sin(0.8 * x), rel=1e-14)


def test_totals_of_known_numbers_are_computed() -> None:
    inner = Graph()
    sizes = {"shared": 1, "own": 1, "loads": 0}
    shared, own = (inner.input(name, 1) for name in ("shared", "own"))
    program = inner.program(sizes, {"once": [0.0], "totals": shared * own, "each": np.zeros(0)})
    points = np.array([[1.0], [2.0]])
    assert totals_of(program, np.array([3.0]), points).tolist() == [9.0]
    graph = Graph()
    unknown = totals_of(program, graph.input("x", 1), points)
    assert graph.program({"x": 1}, {"y": unknown}).evaluate({"x": np.array([3.0])})["y"].tolist() == [9.0]
