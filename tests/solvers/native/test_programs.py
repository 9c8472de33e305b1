"""Programs as machine code against the same programs in NumPy."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.blocks.programs.program import (
    CONSTANT,
    EACH,
    INPUT,
    LOADS,
    ONCE,
    OPERATIONS,
    OWN,
    SHARED,
    TOTALS,
    Output,
    Program,
    Value,
)
from titop.solvers.native import cache
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.programs import ARGUMENTS, ProgramCode

Array = NDArray[Any]

#: Operations of one number each, and of two.
TWO = ("add", "subtract", "multiply", "divide", "power", "atan2", "minimum", "maximum", "less", "less_equal", "equal")
TWO += ("not_equal", "and", "or")
ONE = tuple(name for name in OPERATIONS if name not in (*TWO, "select"))

#: NumPy and the C library round elementary functions within a digit or two of each other.
ROUNDING = 1e-14


def run(program: Program, shared: Array, own: Array, loads: Array) -> tuple[Array, Array]:
    """Return totals and results at every point, from machine code."""
    count = len(own)
    results = np.full(len(program.outputs[TOTALS].values) + count * len(program.outputs[EACH].values), np.nan)
    code = ProgramCode(lambda: program)
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(ARGUMENTS))(code.address)
    assert function(count, *(x.ctypes.data for x in (shared, own, loads, results))) == 0
    first = len(program.outputs[TOTALS].values)
    return results[:first], results[first:].reshape(count, -1)


def of_points(
    values: tuple[Value, ...],
    sizes: tuple[int, int, int],
    once: tuple[int, ...],
    totals: tuple[int, ...],
    each: tuple[int, ...],
) -> Program:
    """Return a program of many points; `sizes` of what they share, each has, and acts on each."""
    outputs = {name: Output(of, (len(of),)) for name, of in zip((ONCE, TOTALS, EACH), (once, totals, each), strict=True)}
    return Program(dict(zip((SHARED, OWN, LOADS), sizes, strict=True)), values, outputs)


def each_operation() -> Program:
    """Return a program of every operation, of numbers of every kind: what all share, a section's, a point's, a load's."""
    values = [Value(INPUT, of) for of in ((SHARED, 0), (SHARED, 1), (OWN, 2), (OWN, 0), (LOADS, 0))]
    values.append(Value(CONSTANT, (0.7,)))
    given = len(values)
    for name in ONE:
        values += [Value(name, (k,)) for k in range(given)]
    for name in TWO:
        values += [Value(name, (j, k)) for j in range(given) for k in range(given)]
    values += [Value("select", (i, j, k)) for i in range(given) for j in range(given) for k in range(given)]
    made = tuple(range(given, len(values)))
    once = (0, 5)
    return of_points(tuple(values), (2, 3, 1), once, (made[3], made[-1]), made)


@pytest.mark.parametrize("domain", [(0.1, 0.9), (1.1, 2.0), (-0.9, -0.1)])
def test_operations(domain: tuple[float, float]) -> None:
    rng, program = np.random.default_rng(0), each_operation()
    own = rng.uniform(*domain, (7, 3))
    own[:4, 2], own[4:, 2] = own[0, 2], own[4, 2]  # two sections
    given = rng.uniform(*domain, 2), own, rng.uniform(*domain, (7, 1))
    found = run(program, *given)
    with np.errstate(all="ignore"):
        expected = program.at_points(*given)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=ROUNDING, atol=ROUNDING)


def test_lanes_are_single_states() -> None:
    """Each lane of a program has the bits of a call for its state; neighbours that are no numbers change none of them."""
    rng, program = np.random.default_rng(1), each_operation()
    own = rng.uniform(-2.0, 2.0, (5, 3))
    own[:3, 2] = own[0, 2]
    states = [(rng.uniform(-2.0, 2.0, 2), own, rng.uniform(-2.0, 2.0, (5, 1))) for _ in range(LANE_COUNT)]
    states[1][0][0] = np.nan
    expected = [np.concatenate([part.ravel() for part in run(program, *state)]) for state in states]
    shared, loads = (np.stack([state[k].ravel() for state in states], axis=1) for k in (0, 2))
    results = np.full((len(expected[0]), LANE_COUNT), np.nan)
    code, given = ProgramCode(lambda: program).in_lanes, [np.ascontiguousarray(x) for x in (shared, own, loads)]
    assert code(len(own), *(x.ctypes.data for x in (*given, results))) == 0
    np.testing.assert_array_equal(results.T, expected)


def sums(totals: int, each: int) -> Program:
    """Return a program of so many totals, which differ, and so many results at every point."""
    values = [Value(INPUT, of) for of in ((SHARED, 0), (OWN, 2), (OWN, 0), (LOADS, 0))]
    values += [Value("multiply", (0, 1)), Value("sin", (2,)), Value("multiply", (4, 5)), Value("add", (3, 6))]
    for _ in range(max(totals, each)):
        values.append(Value("multiply", (5, len(values) - 1)))
    made = tuple(range(8, len(values)))
    return of_points(tuple(values), (1, 3, 1), (0,) * totals, made[:totals], made[:each])


@pytest.mark.parametrize("outputs", [(1, 0), (LANE_COUNT, 1), (2 * LANE_COUNT + 3, LANE_COUNT + 1)])
def test_points_in_lanes_are_points_one_after_the_other(outputs: tuple[int, int]) -> None:
    """Bits of a single state, whose points lie in lanes, are those of states in lanes; nothing is written behind results."""
    program, rng = sums(*outputs), np.random.default_rng(2)
    code = ProgramCode(lambda: program)
    for count in (1, LANE_COUNT - 1, LANE_COUNT, LANE_COUNT + 1, 5 * LANE_COUNT - 2):
        own, size = np.column_stack([rng.normal(size=(count, 2)), np.arange(count) // 3]), outputs[0] + count * outputs[1]
        given = rng.normal(size=1), own, rng.normal(size=(count, 1))
        alone, together = np.full(size + 1, np.nan), np.full((size + 1, LANE_COUNT), np.nan)
        wide = [np.ascontiguousarray(np.repeat(x.reshape(-1, 1), LANE_COUNT, axis=1)) for x in (given[0], given[2])]
        assert code(count, *(x.ctypes.data for x in (*given, alone))) == 0
        assert code.in_lanes(count, *(x.ctypes.data for x in (wide[0], own, wide[1], together))) == 0
        np.testing.assert_array_equal(together, np.repeat(alone[:, None], LANE_COUNT, axis=1))
        expected = np.concatenate([x.ravel() for x in program.at_points(*given)])
        np.testing.assert_allclose(alone[:-1], expected, rtol=0, atol=ROUNDING * (1 + count))
        assert np.isnan(alone[-1])


def test_what_lanes_without_points_compute_is_not_added() -> None:
    """A sum of zeros with a minus keeps its sign."""
    program = of_points((Value(INPUT, (OWN, 0)), Value(CONSTANT, (-0.0,))), (0, 1, 0), (1,), (0,), ())
    totals, _ = run(program, np.zeros(0), np.full((3, 1), -0.0), np.zeros((3, 0)))
    assert np.signbit(totals[0])


def test_sections_are_told_by_their_place() -> None:
    """A section's numbers are computed anew where z changes, in any order of points; a point more or less changes nothing."""
    values = Value(INPUT, (OWN, 2)), Value("multiply", (0, 0)), Value(INPUT, (OWN, 0)), Value("add", (1, 2))
    program = of_points(values, (0, 3, 0), (), (), (3,))
    own = np.array([[1.0, 0.0, 2.0], [5.0, 0.0, 2.0], [1.0, 0.0, 3.0], [2.0, 0.0, 2.0]])
    assert run(program, np.zeros(0), own, np.zeros((4, 0)))[1].ravel().tolist() == [5.0, 9.0, 10.0, 6.0]


def test_zeros_of_both_signs_are_two_sections() -> None:
    """So that a point's numbers are those of a call for it alone, whatever its neighbour's z is, in both forms."""
    values = Value(INPUT, (OWN, 2)), Value("sqrt", (0,)), Value(INPUT, (OWN, 0)), Value("divide", (2, 1))
    program, own = of_points(values, (0, 3, 0), (), (), (3,)), np.array([[1.0, 0.0, 0.0], [1.0, 0.0, -0.0], [2.0, 0.0, 0.0]])
    expected = [np.inf, -np.inf, np.inf]  # the root of a zero has its sign
    assert run(program, np.zeros(0), own, np.zeros((3, 0)))[1].ravel().tolist() == expected
    results = np.full((3, LANE_COUNT), np.nan)
    assert ProgramCode(lambda: program).in_lanes(3, 0, own.ctypes.data, 0, results.ctypes.data) == 0
    np.testing.assert_array_equal(results, np.repeat(np.array(expected)[:, None], LANE_COUNT, axis=1))


def test_totals_add_what_is_added_once() -> None:
    values = Value(INPUT, (SHARED, 0)), Value(INPUT, (OWN, 0))
    program = of_points(values, (1, 1, 0), (0,), (1,), ())
    own = np.arange(5.0)[:, None]
    assert run(program, np.array([100.0]), own, np.zeros((5, 0)))[0].tolist() == [110.0]
    assert program.at_points(np.array([100.0]), own)[0].tolist() == [110.0]


def test_kept_code_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found by its name is neither derived nor translated, in any process; another name is."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    made = []

    def make() -> Program:
        made.append(1)
        return of_points((Value(INPUT, (SHARED, 0)),), (1, 0, 0), (), (), (0,))

    assert ProgramCode(make, lambda: "first").address
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"program{LANE_COUNT}_first"]  # with other lanes it is other code
    assert ProgramCode(make, lambda: "first").address
    assert len(made) == 1
    assert ProgramCode(make, lambda: "second").address
    assert len(made) == 2


def test_complex_steps_are_derivatives() -> None:
    """The NumPy form takes complex numbers: their steps are its derivatives, to differences' accuracy."""
    program, step, real = each_operation(), 1e-30, 1e-6
    rng = np.random.default_rng(1)
    shared, own, loads = rng.uniform(0.1, 0.9, 2), rng.uniform(0.1, 0.9, (3, 3)), rng.uniform(0.1, 0.9, (3, 1))
    with np.errstate(all="ignore"):
        found = program.at_points(shared + 1j * step * np.array([1.0, 0.0]), own, loads)[1].imag / step
        ahead, behind = (program.at_points(shared + np.array([d, 0.0]), own, loads)[1] for d in (real, -real))
        expected = (ahead - behind) / (2 * real)
    smooth = np.abs(expected) < 1e3  # away from steps of comparisons, which differences see
    np.testing.assert_allclose(found[smooth], expected[smooth], rtol=1e-8, atol=1e-8)
    assert smooth.mean() > 0.9
