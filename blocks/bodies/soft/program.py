"""Straight-line programs: numbers computed from numbers at every one of many material points, without branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array

#: Where a value that is no operation comes from: a constant, what all points share, what each point has, loads on it.
CONSTANT, SHARED, OWN, LOAD = "constant", "shared", "own", "load"


class Value(NamedTuple):
    """A number of a program: an operation, a key of `OPERATIONS`, on earlier values; a constant; or an input by its place."""

    operation: str
    arguments: tuple[Any, ...]


class Program(NamedTuple):
    """A list of operations, the same at every material point."""

    values: tuple[Value, ...]  #: Each computed from earlier ones.
    #: How many numbers all points share, how many each has, and how many act on each.
    shared: int
    own: int
    loads: int
    once: tuple[int, ...]  #: Which values, of shared numbers alone, are added to the totals once.
    totals: tuple[int, ...]  #: Which values are summed over the points.
    each: tuple[int, ...]  #: Which values are results at every point.

    def evaluate(self, shared: Array, own: Array, loads: Array | None = None) -> tuple[Array, Array]:
        """Return the totals (count), and the results at every point (points, count); numbers may be complex.

        Of every point there are numbers (points, own), and perhaps loads (points, loads).
        """
        places = {SHARED: shared, OWN: own.T, LOAD: np.zeros((self.loads, len(own))) if loads is None else loads.T}
        known: list[Any] = []
        for operation, arguments in self.values:
            if operation == CONSTANT:
                known.append(arguments[0])
            elif operation in places:
                known.append(places[operation][arguments[0]])
            else:
                known.append(OPERATIONS[operation](*(known[k] for k in arguments)))
        kind = np.result_type(shared, own, float if loads is None else loads, float)
        totals = np.zeros(len(self.totals), kind)
        for k, (once, value) in enumerate(zip(self.once, self.totals, strict=True)):
            totals[k] = known[once] + np.sum(np.broadcast_to(known[value], len(own)))
        each = np.zeros((len(own), len(self.each)), kind)
        for k, value in enumerate(self.each):
            each[:, k] = known[value]
        return totals, each

    @property
    def varies(self) -> list[bool]:
        """Whether each value may differ from point to point."""
        varies: list[bool] = []
        for operation, arguments in self.values:
            varies.append(operation in (OWN, LOAD) or (operation in OPERATIONS and any(varies[k] for k in arguments)))
        return varies


def _each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of NumPy's that takes arrays of objects, of which some are numbers without derivatives, as well."""
    entrywise = np.frompyfunc(function, 1, 1)
    return lambda x: entrywise(x) if np.asarray(x).dtype == object else function(x)


def _comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: np.where(compare(np.real(x), np.real(y)), 1.0, 0.0)


def _choice(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: np.where(choose(np.real(x), np.real(y)), x, y)


def _arctan2(y: Any, x: Any) -> Any:
    """Return the angle of (x, y); of complex numbers with a step small enough that only its first power counts."""
    if object in (np.asarray(x).dtype, np.asarray(y).dtype):
        return _ANGLES(y, x)
    angle = np.arctan2(np.real(y), np.real(x))
    if not (np.iscomplexobj(x) or np.iscomplexobj(y)):
        return angle
    return angle + 1j * (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / (np.real(x) ** 2 + np.real(y) ** 2)


#: Of numbers of which some carry derivatives: each is given the other's series, if it has none.
_ANGLES = np.frompyfunc(lambda y, x: np.arctan2(y + 0.0 * x, x + 0.0 * y), 2, 1)


#: What each operation does to numbers, real or complex; comparisons and choices look at real parts.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negate": np.negative,
    "square": np.square,
    "power": np.power,
    "atan2": _arctan2,
    **{name: _each(getattr(np, name)) for name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan")},
    **{name: _each(getattr(np, name)) for name in ("sinh", "cosh", "tanh")},
    **{f"a{name}": _each(getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "absolute": lambda x: np.where(np.real(x) < 0, np.negative(x), x),
    "sign": lambda x: np.sign(np.real(x)),
    "minimum": _choice(np.less),
    "maximum": _choice(np.greater),
    "less": _comparison(np.less),
    "less_equal": _comparison(np.less_equal),
    "equal": _comparison(np.equal),
    "not_equal": _comparison(np.not_equal),
    "not": lambda x: np.where(np.real(x) == 0, 1.0, 0.0),
    "and": lambda x, y: np.where((np.real(x) != 0) & (np.real(y) != 0), 1.0, 0.0),
    "or": lambda x, y: np.where((np.real(x) != 0) | (np.real(y) != 0), 1.0, 0.0),
    "if_else_zero": lambda x, y: np.where(np.real(x) != 0, y, 0.0),
}
