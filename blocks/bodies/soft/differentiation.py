"""Functions of a user's as straight-line programs, with derivatives by CasADi."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import parts_of
from titop.blocks.bodies.soft.optional import casadi
from titop.blocks.bodies.soft.program import CONSTANT, LOAD, OWN, SHARED, Program, Value
from titop.blocks.bodies.soft.unknown import Unknown

#: Our names of CasADi's operations.
_NAMES = {
    **{"ADD": "add", "SUB": "subtract", "MUL": "multiply", "DIV": "divide", "NEG": "negate", "SQ": "square", "SQRT": "sqrt"},
    **{"POW": "power", "CONSTPOW": "power", "EXP": "exp", "EXPM1": "expm1", "LOG": "log", "LOG1P": "log1p", "SIN": "sin"},
    **{"COS": "cos", "TAN": "tan", "ASIN": "asin", "ACOS": "acos", "ATAN": "atan", "ATAN2": "atan2", "SINH": "sinh"},
    **{"COSH": "cosh", "TANH": "tanh", "ASINH": "asinh", "ACOSH": "acosh", "ATANH": "atanh", "FABS": "absolute"},
    **{"SIGN": "sign", "FMIN": "minimum", "FMAX": "maximum", "LT": "less", "LE": "less_equal", "EQ": "equal"},
    **{"NE": "not_equal", "NOT": "not", "AND": "and", "OR": "or", "IF_ELSE_ZERO": "if_else_zero"},
}
_UNARY = {"negate", "square", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh"}
_UNARY |= {"cosh", "tanh", "asinh", "acosh", "atanh", "absolute", "sign", "not"}


class Symbols(NamedTuple):
    """What a function of a user's is called with, once, to learn what it computes.

    Attributes
    ----------
    vector : casadi.SX
        A column of unknown numbers.
    entries : (count,) array of Unknown
        The same.
    """

    vector: Any
    entries: np.ndarray[Any, Any]


def symbols(name: str, count: int) -> Symbols:
    """Return `count` unknown numbers."""
    entries = as_array([casadi().SX.sym(f"{name}{k}") for k in range(count)])
    return Symbols(stacked(entries), entries)


def expression_of(number: Any) -> Any:
    """Return a number, known or not, as an expression of CasADi's."""
    return casadi().SX(number.expression if isinstance(number, Unknown) else number)


def as_array(expressions: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return expressions of CasADi's, or numbers, as an array of unknowns."""
    array = np.empty(len(expressions), dtype=object)
    array[:] = [entry if isinstance(entry, Unknown) else Unknown(casadi().densify(casadi().SX(entry))) for entry in expressions]
    return array


def stacked(numbers: Any) -> Any:
    """Return numbers, known or not, as one column of CasADi's, row by row."""
    flat = numbers.ravel() if isinstance(numbers, np.ndarray) else numbers
    return casadi().vertcat(casadi().SX(0, 1), *map(expression_of, flat))


def unstacked(matrix: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return a column or matrix of CasADi's, row by row, as an array of unknowns."""
    rows = casadi().densify(casadi().vec(matrix.T))
    return as_array([rows[k] for k in range(rows.numel())]).reshape(shape)


def symmetric(matrix: Any) -> Any:
    """Return a symmetric matrix of CasADi's from its upper half, so that the lower one is not computed."""
    return casadi().triu2symm(casadi().triu(matrix))


class Meaning(NamedTuple):
    """What symbols stand for that are put into an expression while it is differentiated.

    Attributes
    ----------
    symbol, value : casadi.SX
    """

    symbol: Any
    value: Any


_HELD: ContextVar[list[Meaning] | None] = ContextVar("held", default=None)


@contextmanager
def holding() -> Iterator[list[Meaning]]:
    """Let `continued` put symbols in, whose meaning is listed."""
    held: list[Meaning] = []
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


def continued(value: Callable[[Any], Any], slope: Callable[[Any], Any], at: Any) -> Any:
    """Return ``value(at)``, whose derivative by `at` is ``slope(at)``, so that differentiation finds that.

    While symbols are held, and `at` is one, it is ``value(z) + d slope(z) + d^2/2 slope'(z) + ...`` with a z that stands for
    `at`, and ``d = at - z``, which is zero: no derivative up to the fourth order goes through `value`.

    Parameters
    ----------
    value, slope : callable
        Of a number; the slope's own derivatives must be exact.
    at : number or Unknown
    """
    held = _HELD.get()
    if held is None or not isinstance(at, Unknown) or not at.expression.is_symbolic():
        return value(at)
    z = casadi().SX.sym("h")
    held.append(Meaning(z, at.expression))
    distance, term = at.expression - z, expression_of(slope(Unknown(z)))
    total, factor = expression_of(value(Unknown(z))), distance
    for order in range(2, 6):
        total, factor = total + factor * term, factor * distance / order
        term = casadi().jacobian(term, z)
    return Unknown(total)


def nested(numbers: Mapping[str, Any]) -> SimpleNamespace:
    """Return numbers by dotted names as attributes of attributes."""
    root = SimpleNamespace()
    for name, value in numbers.items():
        place = root
        *heads, last = parts_of(name)
        for head in heads:
            if not hasattr(place, head):
                setattr(place, head, SimpleNamespace())
            place = getattr(place, head)
        setattr(place, last, value)
    return root


def written(inputs: Sequence[Symbols], once: Sequence[Any], totals: Sequence[Any], each: Sequence[Any]) -> Program:
    """Return the program of expressions.

    Parameters
    ----------
    inputs : three Symbols
        What all points share, what each point has, and the loads on each.
    once, totals : sequences of casadi.SX, equally many numbers
        What is added to the totals once, and what at each point.
    each : sequence of casadi.SX
    """
    outputs = [
        casadi().densify(casadi().vertcat(casadi().SX(0, 1), *(casadi().vec(part.T) for part in parts)))
        for parts in (once, totals, each)
    ]
    function = casadi().Function("program", [given.vector for given in inputs], outputs, {"cse": True})
    values, results = _values(function)
    shared, own, loads = (given.vector.numel() for given in inputs)
    return Program(values, shared, own, loads, *(tuple(result) for result in results))


def _values(function: Any) -> tuple[tuple[Value, ...], list[list[int]]]:
    """Return the values that a function of CasADi's computes, and which of them are its outputs."""
    codes = {getattr(casadi(), f"OP_{name}"): ours for name, ours in _NAMES.items()}
    places: list[int] = [0] * function.sz_w()
    results = [[0] * function.numel_out(k) for k in range(function.n_out())]
    values: list[Value] = []
    known: dict[Value, int] = {}

    def put(operation: str, *arguments: Any) -> int:
        value = Value(operation, arguments)
        if value not in known:
            known[value] = len(values)
            values.append(value)
        return known[value]

    for k in range(function.n_instructions()):
        code, given, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if code == casadi().OP_CONST:
            places[target[0]] = put(CONSTANT, float(function.instruction_constant(k)))
        elif code == casadi().OP_INPUT:
            places[target[0]] = put((SHARED, OWN, LOAD)[given[0]], given[1])
        elif code == casadi().OP_OUTPUT:
            results[target[0]][target[1]] = places[given[0]]
        elif code == casadi().OP_ASSIGN:
            places[target[0]] = places[given[0]]
        elif code == casadi().OP_TWICE:
            places[target[0]] = put("add", places[given[0]], places[given[0]])
        elif code == casadi().OP_INV:
            places[target[0]] = put("divide", put(CONSTANT, 1.0), places[given[0]])
        elif code in codes:
            name = codes[code]
            places[target[0]] = put(name, *(places[j] for j in given[: 1 if name in _UNARY else 2]))
        else:
            operation = next(name for name in dir(casadi()) if name.startswith("OP_") and getattr(casadi(), name) == code)
            advice = "write it by sums, products, powers, roots, exponentials and trigonometric functions"
            raise ModelError(Finding("unknown-operation", "titop.SoftBody", operation, "an operation with derivatives", advice))
    return tuple(values), results
