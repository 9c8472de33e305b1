"""Programs: a list of operations on numbers, without branches; some are repeated in loops of known length."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.spatial import Array, entrywise

#: What a value is that is no operation: a constant, its number; an input, its name and the place there; a loop that is run, its
#: index; one of a loop's results, the value that runs it and the place among its results (`ProgramLoop.run`).
CONSTANT, INPUT, LOOP, TOTAL = "constant", "input", "loop", "total"
#: The inputs and outputs of programs of many points: see `Program.at_points`; and of what turns of a loop leave to the next.
SHARED, OWN, LOADS, CARRIED = "shared", "own", "loads", "carried"
ONCE, TOTALS, EACH, NEXT = "once", "totals", "each", "next"


class Value(NamedTuple):
    """A number of a program.

    - `operation`: a key of `OPERATIONS`, or `CONSTANT`, `INPUT`, `LOOP` or `TOTAL`;
    - `arguments`: indices of earlier values; or what says where the number comes from.
    """

    operation: str
    arguments: tuple[Any, ...]

    def moved(self, places: Mapping[int, int] | Sequence[int]) -> Value:
        """Return the value with other indices of the earlier ones."""
        if self.operation in OPERATIONS:
            return Value(self.operation, tuple(places[k] for k in self.arguments))
        return self if self.operation != TOTAL else Value(TOTAL, (places[self.arguments[0]], self.arguments[1]))


class Output(NamedTuple):
    """An array that a program computes: which values are its entries, row by row, and its shape."""

    values: tuple[int, ...]
    shape: tuple[int, ...]


class ProgramLoop(NamedTuple):
    """A program of many points, run in turn at each of them: see `Program.at_points`.

    Beside what points share and have, a turn may take what the one before carried to it (`CARRIED`, which it leaves as `NEXT`),
    and its row of numbers that are computed before (`LOADS`). In graphs, what it takes from the one before is first in `EACH`.

    - `program`: whose `ONCE` is zero;
    - `shared`: which values all points share;
    - `points` (points, m): what each point has;
    - `carried`: which values the first turn takes;
    - `loads`: which values are the rows (points, k), one behind the other.
    """

    program: Program
    shared: tuple[int, ...]
    points: Array
    carried: tuple[int, ...] = ()
    loads: tuple[int, ...] = ()

    @property
    def given(self) -> tuple[int, ...]:
        """All values that it takes."""
        return (*self.shared, *self.carried, *self.loads)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many totals there are, numbers carried on, and results of each turn."""
        outputs = self.program.outputs
        return len(outputs[TOTALS].values), len(self.carried), len(outputs[EACH].values)

    @property
    def size(self) -> int:
        """How many results there are."""
        totals, carried, each = self.sizes
        return totals + carried + len(self.points) * each

    def moved(self, places: Mapping[int, int] | Sequence[int]) -> ProgramLoop:
        """Return the loop with other indices of the values that it takes."""
        shared, carried, loads = (tuple(places[k] for k in part) for part in (self.shared, self.carried, self.loads))
        return self._replace(shared=shared, carried=carried, loads=loads)

    def run(self, shared: Array, carried: Array, loads: Array) -> Array:
        """Return the totals, what the last turn leaves, and the results of each turn, one behind the other (..., count)."""
        stack, n = np.shape(shared)[:-1], len(self.points)
        rows = loads.reshape((*stack, n, len(self.loads) // max(n, 1)))
        if not self.carried:
            totals, each = self.program.at_points(shared, self.points, rows)
            return np.concatenate([totals, each.reshape((*stack, n * self.sizes[2]))], axis=-1)
        total, turns = np.zeros((*stack, self.sizes[0])), []
        for k, own in enumerate(self.points):
            found = self.program.evaluate({SHARED: shared, OWN: own, LOADS: rows[..., k, :], CARRIED: carried})
            total, carried = total + found[TOTALS], found[NEXT]
            turns.append(found[EACH])
        return np.concatenate([total, carried, *turns], axis=-1)

    def only(self, wanted: Iterable[int]) -> tuple[ProgramLoop, dict[int, int]]:
        """Return the loop with no more than what some of its results need, and where these are among all of its."""
        totals, carried, each = self.sizes
        kept = [set[int](), set[int](), set[int]()]
        for k in wanted:
            part = 0 if k < totals else 1 if k < totals + carried else 2
            kept[part].add((k, k - totals, (k - totals - carried) % max(each, 1))[part])
        program, used, outputs = _only(self.program, *(tuple(sorted(part)) for part in kept))
        width, n = self.program.inputs[LOADS], len(self.points)
        found = ProgramLoop(
            program,
            tuple(self.shared[k] for k in used[SHARED]),
            self.points[:, list(used[OWN])],
            tuple(self.carried[k] for k in used[CARRIED]),
            tuple(self.loads[row * width + k] for row in range(n) for k in used[LOADS]),
        )
        start, size = len(outputs[TOTALS]) + len(outputs[NEXT]), len(outputs[EACH])
        places = {k: at for at, k in enumerate(outputs[TOTALS])}
        places |= {totals + k: len(outputs[TOTALS]) + at for at, k in enumerate(outputs[NEXT])}
        pairs = ((row, at, k) for row in range(n) for at, k in enumerate(outputs[EACH]))
        return found, places | {totals + carried + row * each + k: start + row * size + at for row, at, k in pairs}


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
    loops : tuple of ProgramLoop
        A `LOOP` refers to them by their index.
    """

    inputs: Mapping[str, int]
    values: tuple[Value, ...]
    outputs: Mapping[str, Output]
    loops: tuple[ProgramLoop, ...] = field(default=())

    def evaluate(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the outputs (..., shape) by name from inputs (..., size), which are broadcast; numbers may be complex."""
        stack = np.broadcast_shapes(*(np.shape(given)[:-1] for given in inputs.values()))
        known: list[Any] = []
        for operation, arguments in self.values:
            if operation == CONSTANT:
                known.append(arguments[0])
            elif operation == INPUT:
                known.append(inputs[arguments[0]][..., arguments[1]])
            elif operation == LOOP:
                loop = self.loops[arguments[0]]
                known.append(loop.run(*(_stacked(known, part, stack) for part in (loop.shared, loop.carried, loop.loads))))
            elif operation == TOTAL:
                known.append(known[arguments[0]][..., arguments[1]])
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

    def needed(self, places: Iterable[int]) -> list[int]:
        """Return all values from which some follow, these included, in order; of a program without loops."""
        waiting, found = [*places], set[int]()
        while waiting:
            if (k := waiting.pop()) not in found:
                found.add(k)
                waiting += self.values[k].arguments if self.values[k].operation in OPERATIONS else ()
        return sorted(found)

    @functools.cached_property
    def counts(self) -> dict[str, int]:
        """How often each operation is computed; of loops, for every point what depends on it."""
        counts = Counter(value.operation for value in self.values if value.operation in OPERATIONS)
        for loop in self.loops:
            varies: list[bool] = []
            for operation, arguments in loop.program.values:
                is_own = operation == INPUT and arguments[0] != SHARED
                varies.append(is_own or (operation in OPERATIONS and any(varies[k] for k in arguments)))
                if operation in OPERATIONS:
                    counts[operation] += len(loop.points) if varies[-1] else 1
        return dict(counts)

    @property
    def length(self) -> int:
        """How many operations are written: those of loops once."""
        bodies = {loop.program.identity: loop.program for loop in self.loops}
        return sum(value.operation in OPERATIONS for program in (self, *bodies.values()) for value in program.values)

    @property
    def operations(self) -> int:
        """How many operations it takes."""
        return sum(self.counts.values())

    @functools.cached_property
    def identity(self) -> str:
        """A name that no other program has."""
        loops = [(loop.program.identity, loop.given, loop.points.shape, loop.points.tobytes()) for loop in self.loops]
        text = repr((dict(self.inputs), self.values, dict(self.outputs), loops))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def _stacked(known: Sequence[Any], places: Sequence[int], stack: tuple[int, ...]) -> Array:
    """Return some values (..., k)."""
    rows = [np.broadcast_to(known[k], stack) for k in places]
    return np.stack(rows, axis=-1) if rows else np.zeros((*stack, 0))


@functools.lru_cache(maxsize=1024)
def _only(
    program: Program, totals: tuple[int, ...], carried: tuple[int, ...], each: tuple[int, ...]
) -> tuple[Program, dict[str, list[int]], dict[str, list[int]]]:
    """Return a loop's program for some of its results, which of its inputs that takes, and which of its outputs it has."""
    wanted = {TOTALS: [*totals], EACH: [*each], NEXT: [*carried]}
    while True:
        places = {name: [program.outputs[name].values[k] for k in kept] for name, kept in wanted.items() if kept}
        needed = program.needed(k for row in places.values() for k in row)
        inputs = [program.values[k].arguments for k in needed if program.values[k].operation == INPUT]
        used = {of: sorted(k for name, k in inputs if name == of) for of in (SHARED, OWN, LOADS, CARRIED)}
        if {*used[CARRIED]} <= {*wanted[NEXT]}:
            break
        wanted[NEXT] = sorted({*wanted[NEXT], *used[CARRIED]})
    used[CARRIED] = wanted[NEXT]
    new, values = dict[int, int](), list[Value]()
    for k in needed:
        new[k], value = len(values), program.values[k]
        name, place = value.arguments if value.operation == INPUT else ("", 0)
        values.append(Value(INPUT, (name, used[name].index(place))) if name else value.moved(new))
    zero = len(values)
    outputs = {name: Output(tuple(new[k] for k in places.get(name, ())), (len(kept),)) for name, kept in wanted.items()}
    outputs[ONCE] = Output((zero,) * len(totals), (len(totals),))
    found = Program({name: len(kept) for name, kept in used.items()}, (*values, Value(CONSTANT, (0.0,))), outputs)
    return found, used, wanted


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
