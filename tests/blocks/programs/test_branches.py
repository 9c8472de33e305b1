"""Functions that branch on numbers that are not known yet."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from titop.blocks.programs.branches import explored
from titop.blocks.programs.graph import BranchError, Graph


class Loads(NamedTuple):
    """What a function with branches returns."""

    force: Any
    energy: Any


def stop(x: Any) -> Loads:
    """Return what a stop does, with branches: one in another, and one negated."""
    if x[0] > 1.0:
        depth = x[0] - 1.0
        if not x[1] > 0.0:
            return Loads(np.array([-depth, x[1]]), depth * depth)
        return Loads(np.array([-2.0 * depth, x[1] * x[1]]), 2.0 * depth)
    return Loads(np.zeros(2), 0.0)


def test_every_path_is_followed() -> None:
    graph = Graph()
    loads = explored(stop, graph.input("x", 2))
    assert isinstance(loads, Loads)
    program = graph.program({"x": 2}, loads._asdict())
    for x in ([0.5, 1.0], [1.5, 1.0], [1.5, -2.0], [1.0, 0.0]):
        found, expected = program.evaluate({"x": np.array(x)}), stop(np.array(x))
        np.testing.assert_array_equal(found["force"], expected.force)
        assert found["energy"] == expected.energy


def test_numbers_take_their_own_path() -> None:
    calls = []
    assert explored(lambda x: calls.append(x) or stop(x), np.array([1.5, 1.0])).energy == 1.0
    assert len(calls) == 1


def test_one_function_in_another_keeps_its_branches_to_itself() -> None:
    """Ten functions of two paths each are twenty calls, not 1,024."""
    graph, calls = Graph(), []

    def larger(x: Any) -> Any:
        calls.append(1)
        return x if x > 0.0 else -x

    x = graph.input("x", 10)
    total = explored(lambda x: sum(explored(larger, each) for each in x), x)
    given = np.linspace(-1.0, 1.0, 10)
    assert graph.program({"x": 10}, {"y": total}).evaluate({"x": given})["y"] == pytest.approx(np.abs(given).sum(), rel=1e-15)
    assert len(calls) == 3 * 10  # the first call of each meets the branch


def test_numpys_sign_is_followed() -> None:
    """It asks whether a number is less than zero, more, or equal, and refuses what is none of these."""
    graph = Graph()
    (x,) = graph.input("x", 1)
    program = graph.program({"x": 1}, {"y": explored(np.sign, x) * 3.0})
    assert program.evaluate({"x": np.array([[-2.0], [0.0], [0.5]])})["y"].tolist() == [-3.0, 0.0, 3.0]


def test_too_many_paths_are_refused() -> None:
    x = Graph().input("x", 7)
    with pytest.raises(BranchError, match="64"):
        explored(lambda x: sum(each if each > 0.0 else -each for each in x), x)


def test_shapes_that_depend_on_a_branch_are_refused() -> None:
    x = Graph().input("x", 1)
    with pytest.raises(BranchError, match="shapes"):
        explored(lambda x: np.zeros(2) if x[0] > 0.0 else np.zeros(3), x)
