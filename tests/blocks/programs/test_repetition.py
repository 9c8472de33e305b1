"""Loops in programs against the same functions of known numbers, and their derivatives against complex steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.spatial import Array
from titop.blocks.programs.differentiation import jacobian, replaced
from titop.blocks.programs.graph import Graph
from titop.blocks.programs.program import CARRIED, LOADS, OWN, Program
from titop.blocks.programs.repetition import for_each, repeated, summed

RNG = np.random.default_rng(3)
N, STEP = 5, 1e-30
A, B, Z, WEIGHT = (RNG.standard_normal(shape) for shape in ((N, 2, 2), (N, 3), 5, 8))
#: Roundings of a few hundred operations with numbers about 1.
ROUNDING: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-12}


def walk(z: Array) -> Array:
    """Return what follows from z (5): rows that follow from rows, a walk with turns, and a sum over both."""
    q, v = z[:3], z[3:]
    turned, moved = for_each(lambda a, b: (np.sin(a @ q[:2]), b * v[0] + q[2]), A, B, of=q)

    def step(x: Array, turn: Array, t: Array, m: Array) -> tuple[Array, ...]:
        turn = turn @ np.array([[np.cos(t[0]), -np.sin(t[0])], [np.sin(t[0]), np.cos(t[0])]])
        return x * t[1] + turn @ m[:2], turn

    x, turns = repeated(step, (v, np.eye(2)), turned, moved)
    total = summed(lambda x, turns, m: q[0] * np.einsum("ki,kij,kj->i", x, turns, x * m[:, :1]), x[1:], turns[:-1], moved, of=q)
    return np.concatenate([x[-1], turns[2].ravel(), total])


def recorded(*outputs: str) -> Program:
    graph = Graph({"z": Z})
    z, w = graph.input("z", 5), graph.input("w", 8)
    y = walk(z)
    gradient = jacobian(np.array([w @ y], dtype=object), list(z), reverse=True)[0]
    found = {
        "y": lambda: y,
        "forward": lambda: jacobian(y, list(z)),
        "reverse": lambda: jacobian(y, list(z), reverse=True),
        "second": lambda: jacobian(gradient, list(z)),
        "twice back": lambda: jacobian(gradient, list(z), reverse=True),
        "elsewhere": lambda: replaced(y, {z[3]: 2.0 * z[0], z[4]: 0.3}),
        "nominal": lambda: np.array([x.nominal for x in y]),
    }
    return graph.program({"z": 5, "w": 8}, {name: found[name]() for name in outputs})


def by_steps(z: Array) -> Array:
    return np.array([walk(z + 1j * STEP * e).imag / STEP for e in np.eye(5)]).T


def test_loops_are_what_known_numbers_make() -> None:
    program = recorded("y", "nominal", "elsewhere")
    assert len(program.loops) == 6  # those of `elsewhere` are other runs of the same three programs
    assert len({loop.program.identity for loop in program.loops}) == 3
    many = RNG.standard_normal((4, 5))
    found = program.evaluate({"z": many, "w": WEIGHT})
    np.testing.assert_allclose(found["y"], [walk(z) for z in many], **ROUNDING)
    np.testing.assert_allclose(found["nominal"], np.tile(walk(Z), (4, 1)), **ROUNDING)
    moved = np.column_stack([many[:, :3], 2.0 * many[:, 0], np.full(4, 0.3)])
    np.testing.assert_allclose(found["elsewhere"], [walk(z) for z in moved], **ROUNDING)
    assert np.abs(found["elsewhere"] - found["y"]).max() > 0.1


def test_stacks_of_no_states_go_through_loops() -> None:
    found = recorded("y", "reverse").evaluate({"z": np.zeros((0, 5)), "w": np.zeros((0, 8))})
    assert found["y"].shape == (0, 8)
    assert found["reverse"].shape == (0, 8, 5)


def test_loops_are_written_once() -> None:
    program = recorded("y")
    turns = sum(len(loop.points) for loop in program.loops)
    assert turns == 3 * N
    assert program.length < 0.4 * program.operations
    assert CARRIED in program.loops[1].program.inputs
    assert (
        sum(loop.program.inputs[LOADS] + loop.program.inputs[OWN] for loop in program.loops) == 6 + 4 + 7
    )  # alike ones are one


def test_derivatives_forward_and_back() -> None:
    found = recorded("forward", "reverse", "second", "twice back").evaluate({"z": Z, "w": WEIGHT})
    expected = by_steps(Z)
    np.testing.assert_allclose(found["forward"], expected, **ROUNDING)
    np.testing.assert_allclose(found["reverse"], expected, **ROUNDING)
    np.testing.assert_allclose(found["second"], found["second"].T, **ROUNDING)
    np.testing.assert_allclose(found["twice back"], found["second"], **ROUNDING)
    step = 1e-6
    differences = [WEIGHT @ (by_steps(Z + step * e) - by_steps(Z - step * e)) / (2 * step) for e in np.eye(5)]
    np.testing.assert_allclose(found["second"], differences, rtol=1e-6, atol=1e-7)  # what differences of 1e-6 leave


def test_what_stays_as_it_was_is_no_number_of_the_loop() -> None:
    """Turns about z alone: of nine entries of the rotation four change, and of those that are alike all are kept."""
    graph = Graph()
    q = graph.input("q", 1)

    def turn(R: Array, angle: Array) -> tuple[Array, ...]:
        c, s = np.cos(angle * q[0]), np.sin(angle * q[0])
        return (R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]),)

    R = repeated(turn, (np.eye(3),), np.linspace(0.1, 1.0, 7), of=q)[0]
    assert R.shape == (8, 3, 3)
    assert R[4, 2].tolist() == [0.0, 0.0, 1.0]
    program = graph.program({"q": 1}, {"R": R[-1]})
    assert program.loops[0].program.inputs[CARRIED] == 4
    angle = 0.4 * np.linspace(0.1, 1.0, 7).sum()
    expected = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    np.testing.assert_allclose(program.evaluate({"q": np.array([0.4])})["R"][:2, :2], expected, **ROUNDING)


def test_programs_have_no_more_of_a_loop_than_is_asked_for() -> None:
    graph = Graph()
    q = graph.input("q", 2)
    rows = RNG.standard_normal((6, 2))
    sines, powers = for_each(lambda x: (np.sin(x * q[0]), np.exp(x * q[1])), rows, of=q)
    few = graph.program({"q": 2}, {"y": sines[:, 0]})
    assert few.counts == {"multiply": 6, "sin": 6}
    whole = graph.program({"q": 2}, {"y": np.hstack([sines, powers])})
    assert whole.counts == {"multiply": 24, "sin": 12, "exp": 12}
    found = few.evaluate({"q": np.array([0.7, 0.2])})["y"]
    np.testing.assert_allclose(found, np.sin(0.7 * rows[:, 0]), rtol=1e-15)


def test_one_row_is_no_loop_and_loops_in_loops_are_refused() -> None:
    graph = Graph()
    q = graph.input("q", 1)
    assert not graph.program({"q": 1}, {"y": summed(lambda x: x[0] * q, np.ones((1, 1)), of=q)}).loops

    def inner(x: Array) -> Array:
        return summed(lambda y: (x[0, 0] * q[0] * y).sum(axis=0), np.arange(3.0)[:, None], of=q)

    with pytest.raises(TypeError, match="loop inside a loop"):
        summed(inner, np.arange(4.0)[:, None], of=q)
