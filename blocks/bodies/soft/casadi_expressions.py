"""Users' functions as straight-line programs: unknown numbers that record what is done to them, and derivatives by CasADi."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, missing_extra
from titop.blocks.basics.paths import parts_of
from titop.blocks.programs.program import CONSTANT, EACH, INPUT, LOADS, ONCE, OWN, SHARED, TOTALS, Output, Program, Value


def casadi() -> ModuleType:
    """Return CasADi; a ModelError says how to install it."""
    try:
        import casadi as library
    except ImportError as error:
        raise missing_extra("casadi", "soft", "titop.SoftBody", "a library that differentiates") from error
    return library


class Expression:
    """A number that records what is done to it: an expression of CasADi's (SX).

    Python's arithmetic and comparisons and NumPy's functions work on it, and on arrays of such numbers.
    """

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression

    def __bool__(self) -> bool:
        raise TypeError("a branch on a number that is not known yet: write tt.Kinematics.where(condition, yes, no)")

    def __float__(self) -> float:
        raise TypeError(
            "a number is not known yet to become a float: use NumPy's functions, not those of math; and put it into an array "
            "by np.array([x, ...]), or into np.zeros(3, dtype=object), not into np.zeros(3)"
        )

    def __neg__(self) -> Expression:
        return Expression(-self.expression)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return Expression(self.expression.__abs__())

    def arctan2(self, x: Any) -> Expression:
        """Return the angle of (x, self) (rad)."""
        return Expression(casadi().atan2(self.expression, _operand(x)))

    def hypot(self, x: Any) -> Expression:
        """Return the length of (x, self)."""
        return (self * self + x * x).sqrt()

    def __repr__(self) -> str:
        return f"Expression({self.expression})"

    # filled in below, for the operators of Python and the functions of NumPy
    __add__: Any
    __radd__: Any
    __sub__: Any
    __rsub__: Any
    __mul__: Any
    __rmul__: Any
    __truediv__: Any
    __rtruediv__: Any
    __pow__: Any
    __rpow__: Any
    sqrt: Any
    exp: Any
    log: Any


def _operand(x: Any) -> Any:
    """Return what an operator of CasADi's takes, or None for what is no number."""
    if isinstance(x, Expression):
        return x.expression
    return float(x) if isinstance(x, numbers.Real) else None


def _operator(name: str) -> Callable[[Expression, Any], Any]:
    def operator(self: Expression, other: Any) -> Any:
        operand = _operand(other)
        return NotImplemented if operand is None else Expression(getattr(self.expression, name)(operand))

    return operator


def _function(name: str) -> Callable[[Expression], Expression]:
    return lambda self: Expression(getattr(casadi(), name)(self.expression))


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Expression, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Expression, f"__r{_name}__", _operator(f"__r{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Expression, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
    setattr(Expression, _name, _function(_name))
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    setattr(Expression, f"arc{_name}", _function(f"a{_name}"))
for _name, _method in {
    "exp2": lambda x: (x * math.log(2.0)).exp(),
    "log2": lambda x: x.log() / math.log(2.0),
    "log10": lambda x: x.log() / math.log(10.0),
    **dict.fromkeys(("deg2rad", "radians"), lambda x: x * (math.pi / 180.0)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: x * (180.0 / math.pi)),
}.items():
    setattr(Expression, _name, _method)


# -- numbers and expressions ---------------------------------------------------------------------------------------------------


class Symbols(NamedTuple):
    """A column of unknown numbers (casadi.SX), and the same as an array of `Expression` for users' functions."""

    vector: Any
    entries: np.ndarray[Any, Any]


def symbols(name: str, count: int) -> Symbols:
    """Return `count` unknown numbers."""
    entries = as_array([casadi().SX.sym(f"{name}{k}") for k in range(count)])
    return Symbols(column(entries), entries)


def expression_of(number: Any) -> Any:
    """Return a number, known or not, as an expression of CasADi's."""
    return casadi().SX(number.expression if isinstance(number, Expression) else number)


def as_array(expressions: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return expressions of CasADi's, or numbers, as an array of unknowns."""
    array = np.empty(len(expressions), dtype=object)
    array[:] = [
        entry if isinstance(entry, Expression) else Expression(casadi().densify(casadi().SX(entry))) for entry in expressions
    ]
    return array


def column(numbers: Any) -> Any:
    """Return numbers, known or not, as one column of CasADi's, row by row."""
    flat = numbers.ravel() if isinstance(numbers, np.ndarray) else numbers
    return casadi().vertcat(casadi().SX(0, 1), *map(expression_of, flat))


def unknowns_of(matrix: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return a column or matrix of CasADi's, row by row, as an array of unknowns."""
    rows = casadi().densify(casadi().vec(matrix.T))
    return as_array([rows[k] for k in range(rows.numel())]).reshape(shape)


def symmetric(matrix: Any) -> Any:
    """Return a symmetric matrix of CasADi's from its upper half, so that the lower one is not computed."""
    return casadi().triu2symm(casadi().triu(matrix))


def substitute(expression: Any, values: Sequence[tuple[Any, Any]]) -> Any:
    """Return an expression with values in place of symbols, given in pairs; those without a value stay."""
    pairs = [(symbol, casadi().densify(value)) for symbol, value in values if value is not None]
    return casadi().substitute([expression], [symbol for symbol, _ in pairs], [value for _, value in pairs])[0]


def forward_jacobian(expression: Any, variables: Any) -> Any:
    """Return derivatives of an expression by forward differentiation: what depends on some variables alone stays apart."""
    return casadi().jacobian(expression, variables, {"helper_options": {"ad_weight": 0.0}})


#: What an operation counts for that is done once, in every section, and at every point: sections have twelve points by default.
_WEIGHTS = (0.0, 0.1, 1.0)


def work(expression: Any, of_points: Any, of_sections: Any) -> float:
    """Return about how many operations an expression takes at each point, with symbols that differ by point and by section."""
    options = {"cse": True, "allow_free": True}
    function = casadi().Function("work", [of_points, of_sections], [casadi().vec(expression)], options)
    levels, total = [0] * function.sz_w(), 0.0
    for k in range(function.n_instructions()):
        code, sources, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if code == casadi().OP_INPUT:
            levels[target[0]] = 2 - sources[0]
        elif code in (casadi().OP_CONST, casadi().OP_PARAMETER):
            levels[target[0]] = 0
        elif code != casadi().OP_OUTPUT:
            levels[target[0]] = max(levels[j] for j in sources)
            total += _WEIGHTS[levels[target[0]]]
    return total


class Meaning(NamedTuple):
    """A symbol in an expression, and the value (casadi.SX) that replaces it once the expression has been differentiated."""

    symbol: Any
    value: Any


_HELD: ContextVar[list[Meaning] | None] = ContextVar("held", default=None)


@contextmanager
def held_symbols() -> Iterator[list[Meaning]]:
    """Let `with_slope` put symbols in, whose meaning is listed."""
    held: list[Meaning] = []
    token = _HELD.set(held)
    try:
        yield held
    finally:
        _HELD.reset(token)


def with_slope(value: Callable[[Any], Any], slope: Callable[[Any], Any], at: Any) -> Any:
    """Return ``value(at)``, whose derivative by `at` is ``slope(at)``, so that differentiation finds that.

    While symbols are held, and `at` is one, it is ``value(z) + d slope(z) + d^2/2 slope'(z) + ...`` with a z that stands for
    `at`, and ``d = at - z``, which is zero: no derivative up to the fourth order goes through `value`. Derivatives of the slope
    must be exact.
    """
    held = _HELD.get()
    if held is None or not isinstance(at, Expression) or not at.expression.is_symbolic():
        return value(at)
    z = casadi().SX.sym("h")
    held.append(Meaning(z, at.expression))
    distance, term = at.expression - z, expression_of(slope(Expression(z)))
    total, factor = expression_of(value(Expression(z))), distance
    for order in range(2, 6):
        total, factor = total + factor * term, factor * distance / order
        term = casadi().jacobian(term, z)
    return Expression(total)


def namespace(numbers: Mapping[str, Any]) -> SimpleNamespace:
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


# -- programs ------------------------------------------------------------------------------------------------------------------

#: CasADi's operations on one number and on two, by its names, and our names of them.
_UNARY = {"NEG": "negate", "FABS": "absolute", "SIGN": "sign", "NOT": "not", "SQRT": "sqrt", "EXP": "exp"} | {
    **{"EXPM1": "expm1", "LOG": "log", "LOG1P": "log1p", "SIN": "sin", "COS": "cos", "TAN": "tan", "ASIN": "asin"},
    **{"ACOS": "acos", "ATAN": "atan", "SINH": "sinh", "COSH": "cosh", "TANH": "tanh", "ASINH": "asinh", "ACOSH": "acosh"},
    "ATANH": "atanh",
}
_BINARY = {
    **{"ADD": "add", "SUB": "subtract", "MUL": "multiply", "DIV": "divide", "POW": "power", "CONSTPOW": "power"},
    **{"ATAN2": "atan2", "FMIN": "minimum", "FMAX": "maximum", "LT": "less", "LE": "less_equal", "EQ": "equal"},
    **{"NE": "not_equal", "AND": "and", "OR": "or"},
}


def program_of(
    inputs: Sequence[Symbols], totals: Sequence[Any] = (), each: Sequence[Any] = (), once: Sequence[Any] | None = None
) -> Program:
    """Return the program of expressions (casadi.SX).

    `inputs`: what all points share, what each point has, and the loads on each, if there are any; `totals`, `each`: what is
    summed over the points, and what is a result at every one; `once`: what is added to the totals once, as many numbers;
    nothing by default.
    """
    once = [casadi().SX(*part.shape) for part in totals] if once is None else once
    outputs = [
        casadi().densify(casadi().vertcat(casadi().SX(0, 1), *(casadi().vec(part.T) for part in parts)))
        for parts in (once, totals, each)
    ]
    vectors = [part.vector for part in (*inputs, symbols("f", 0))][:3]
    values, results = _values(casadi().Function("program", vectors, outputs, {"cse": True}))
    sizes = {name: vector.numel() for name, vector in zip((SHARED, OWN, LOADS), vectors, strict=True)}
    named = zip((ONCE, TOTALS, EACH), results, strict=True)
    return Program(sizes, values, {name: Output(tuple(result), (len(result),)) for name, result in named})


def _values(function: Any) -> tuple[tuple[Value, ...], list[list[int]]]:
    """Return the values that a function of CasADi's computes, and which of them are its outputs."""
    library = casadi()
    tables = (1, _UNARY), (2, _BINARY)
    codes = {getattr(library, f"OP_{code}"): (name, count) for count, names in tables for code, name in names.items()}
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
        code, sources, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if code == library.OP_CONST:
            places[target[0]] = put(CONSTANT, float(function.instruction_constant(k)))
        elif code == library.OP_INPUT:
            places[target[0]] = put(INPUT, (SHARED, OWN, LOADS)[sources[0]], sources[1])
        elif code == library.OP_OUTPUT:
            results[target[0]][target[1]] = places[sources[0]]
        elif code == library.OP_ASSIGN:
            places[target[0]] = places[sources[0]]
        elif code == library.OP_TWICE:
            places[target[0]] = put("add", places[sources[0]], places[sources[0]])
        elif code == library.OP_SQ:
            places[target[0]] = put("multiply", places[sources[0]], places[sources[0]])
        elif code == library.OP_IF_ELSE_ZERO:
            places[target[0]] = put("select", *(places[k] for k in sources[:2]), put(CONSTANT, 0.0))
        elif code == library.OP_INV:
            places[target[0]] = put("divide", put(CONSTANT, 1.0), places[sources[0]])
        elif code in codes:
            name, count = codes[code]
            places[target[0]] = put(name, *(places[j] for j in sources[:count]))
        else:
            operation = next(name for name in dir(library) if name.startswith("OP_") and getattr(library, name) == code)
            advice = "write it by sums, products, powers, roots, exponentials and trigonometric functions"
            raise ModelError(Finding("unknown-operation", "titop.SoftBody", operation, "an operation with derivatives", advice))
    return tuple(values), results
