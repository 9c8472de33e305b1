"""Straight-line programs: a list of operations on numbers, without branches; some are summed over many points."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

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


@dataclass(frozen=True)
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
        """How often each operation is computed, those of loops once for every point."""
        counts = Counter(value.operation for value in self.values if value.operation in OPERATIONS)
        for loop in self.loops:
            for operation, count in loop.program.counts.items():
                counts[operation] += len(loop.points) * count
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
    "select": lambda chosen, x, y: np.where(np.real(chosen) != 0, x, y),
}
