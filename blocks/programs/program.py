"""Straight-line programs: a list of operations on numbers, without branches; some are summed over many points."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.spatial import Array, entrywise

#: Where a value that is no operation comes from: a constant, its number; an input, its name and the place there; a total of a
#: loop, the loop's index and the place among its totals.
CONSTANT, INPUT, TOTAL = "constant", "input", "total"
#: The inputs and outputs of programs of many points: see `Program.at_points`.
SHARED, OWN, LOADS = "shared", "own", "loads"
ONCE, TOTALS, EACH = "once", "totals", "each"


class Value(NamedTuple):
    """A number of a program.

    - `operation`: a key of `OPERATIONS`, or `CONSTANT`, `INPUT` or `TOTAL`;
    - `arguments`: indices of earlier values; or what says where the number comes from.
    """

    operation: str
    arguments: tuple[Any, ...]


class Output(NamedTuple):
    """An array that a program computes: which values are its entries, row by row, and its shape."""

    values: tuple[int, ...]
    shape: tuple[int, ...]


class PointLoop(NamedTuple):
    """A program at each of many points, whose results are summed.

    - `program`: see `Program.at_points`;
    - `shared`: which values all points share;
    - `points` (points, m): what each point has.
    """

    program: Program
    shared: tuple[int, ...]
    points: Array


@dataclass(frozen=True, eq=False)
class Program:
    """A list of operations that computes arrays from arrays.

    Attributes
    ----------
    inputs : mapping of str to int
        Names and sizes of the inputs, in their order.
    values : tuple of Value
        Each is computed from earlier ones.
    outputs : mapping of str to Output
        In their order.
    loops : tuple of PointLoop
        A `TOTAL` refers to them by their index.
    """

    inputs: Mapping[str, int]
    values: tuple[Value, ...]
    outputs: Mapping[str, Output]
    loops: tuple[PointLoop, ...] = field(default=())

    def evaluate(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the outputs (..., shape) by name from inputs (..., size), which are broadcast; numbers may be complex."""
        stack = np.broadcast_shapes(*(np.shape(given)[:-1] for given in inputs.values()))
        known: list[Any] = []
        summed: dict[int, Array] = {}
        for operation, arguments in self.values:
            if operation == CONSTANT:
                known.append(arguments[0])
            elif operation == INPUT:
                known.append(inputs[arguments[0]][..., arguments[1]])
            elif operation == TOTAL:
                loop, place = arguments
                if loop not in summed:
                    summed[loop] = _total(self.loops[loop], known, stack)
                known.append(summed[loop][..., place])
            else:
                known.append(OPERATIONS[operation](*(known[k] for k in arguments)))
        kind = np.result_type(float, *inputs.values())
        results = {}
        for name, (values, shape) in self.outputs.items():
            results[name] = np.empty((*stack, len(values)), kind)
            for place, k in enumerate(values):
                results[name][..., place] = known[k]
            results[name] = results[name].reshape((*stack, *shape))
        return results

    def at_points(self, shared: Array, own: Array, loads: Array | None = None) -> tuple[Array, Array]:
        """Return totals (..., k) and each point's results (points, count) of a program of many points.

        It has the inputs `SHARED` (what all points share), `OWN` (what each has: `own` (points, m)), and `LOADS` (what acts on
        each, zero by default), and the outputs `ONCE` and `TOTALS` (k each): what is added once, of shared numbers alone, and
        what is summed over the points; and `EACH`. Numbers may be complex.
        """
        loads = np.zeros((len(own), self.inputs[LOADS])) if loads is None else loads
        found = self.evaluate({SHARED: shared[..., None, :], OWN: own, LOADS: loads})
        totals: Array = found[ONCE][..., 0, :] + found[TOTALS].sum(axis=-2)
        return totals, found[EACH]

    @functools.cached_property
    def counts(self) -> dict[str, int]:
        """How often each operation is computed; of loops, for every point what depends on it."""
        counts = Counter(value.operation for value in self.values if value.operation in OPERATIONS)
        for program, _, points in self.loops:
            varies: list[bool] = []
            for operation, arguments in program.values:
                is_own = operation == INPUT and arguments[0] != SHARED
                varies.append(is_own or (operation in OPERATIONS and any(varies[k] for k in arguments)))
                if operation in OPERATIONS:
                    counts[operation] += len(points) if varies[-1] else 1
        return dict(counts)

    @property
    def operations(self) -> int:
        """How many operations it takes."""
        return sum(self.counts.values())

    @functools.cached_property
    def identity(self) -> str:
        """A name that no other program has."""
        loops = [(loop.program.identity, loop.shared, loop.points.tobytes()) for loop in self.loops]
        text = repr((dict(self.inputs), self.values, dict(self.outputs), loops))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def _total(loop: PointLoop, known: list[Any], stack: tuple[int, ...]) -> Array:
    """Return what a loop sums over its points (..., k)."""
    shared = np.stack([np.broadcast_to(known[k], stack) for k in loop.shared], axis=-1)
    return loop.program.at_points(shared, loop.points)[0]


def _each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: entrywise(function, np.asarray(x))


def _truth(tell: Callable[..., Any]) -> Callable[..., Any]:
    """Return whether something holds of real parts, as 1 or 0: also of number objects, in arrays with others."""

    def told(*given: Any) -> Any:
        if any(np.asarray(x).dtype == object for x in given):
            return np.frompyfunc(lambda *x: select(tell(*(each.real for each in x)), 1.0, 0.0), len(given), 1)(*given)
        return np.where(tell(*map(np.real, given)), 1.0, 0.0)

    return told


def _choice(chosen: Any, x: Any, y: Any) -> Any:
    if any(np.asarray(each).dtype == object for each in (chosen, x, y)):
        return np.frompyfunc(lambda c, a, b: select(c.real != 0, a, b), 3, 1)(chosen, x, y)
    return np.where(np.real(chosen) != 0, x, y)


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


_LESS = _truth(lambda x, y: x < y)
#: What each operation does to numbers, real or complex; comparisons and choices look at real parts, truths are 1 and 0.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negate": np.negative,
    "power": np.power,
    "atan2": _arctan2,
    **{name: _each(getattr(np, name)) for name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan")},
    **{name: _each(getattr(np, name)) for name in ("sinh", "cosh", "tanh")},
    **{f"a{name}": _each(getattr(np, f"arc{name}")) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "absolute": lambda x: _choice(_LESS(x, 0.0), np.negative(x), x),
    "sign": lambda x: _LESS(0.0, x) - _LESS(x, 0.0),
    "minimum": lambda x, y: _choice(_LESS(x, y), x, y),
    "maximum": lambda x, y: _choice(_LESS(y, x), x, y),
    "less": _LESS,
    "less_equal": _truth(lambda x, y: x <= y),
    "equal": _truth(lambda x, y: x == y),
    "not_equal": _truth(lambda x, y: x != y),
    "not": _truth(lambda x: x == 0),
    "and": _truth(lambda x, y: (x != 0) & (y != 0)),
    "or": _truth(lambda x, y: (x != 0) | (y != 0)),
    "select": _choice,
}
