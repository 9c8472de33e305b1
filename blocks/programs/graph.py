"""Numbers that are not known yet: they record what is done to them, until a `Program` is made of it.

Python's arithmetic and comparisons and NumPy's functions work on such numbers and on arrays of them (dtype object). What is
known is computed at once, and no value is recorded twice.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from titop.blocks.basics.choices import Undecided
from titop.blocks.basics.spatial import Array
from titop.blocks.programs.program import (
    CONSTANT,
    EACH,
    INPUT,
    LOOP,
    OPERATIONS,
    TOTAL,
    TOTALS,
    Output,
    Program,
    ProgramLoop,
    Value,
)

#: Tells which way a branch on an unknown truth goes; see `branches`.
ANSWER: ContextVar[Callable[[Unknown], bool] | None] = ContextVar("answer", default=None)

#: Operations whose arguments may be exchanged.
SYMMETRIC = {"add", "multiply", "equal", "not_equal", "and", "or"}
#: Operations that are 1 or 0.
_TRUTHS = {"less", "less_equal", "equal", "not_equal", "and", "or", "not"}
#: Larger whole exponents become powers, smaller ones products.
_LARGEST_EXPONENT = 16


class TooLongError(Exception):
    """More values are recorded than the limit of a `Graph`."""


class Graph:
    """What has been recorded: values, each computed from earlier ones.

    `nominal`: what the inputs are (size each) where choices are made that programs keep, such as those of pivots.
    """

    def __init__(self, nominal: Mapping[str, Array] | None = None) -> None:
        self.values: list[Value] = []
        self._known: list[Any] = []  # the same as numbers: unknowns, and floats
        self._sources: list[tuple[int, ...]] = []
        self._recorded: dict[tuple[str, tuple[Any, ...]], Unknown] = {}
        self._nominal, self._numbers = nominal or {}, dict[int, float]()
        self.loops: list[ProgramLoop] = []
        self._looped: dict[tuple[Any, ...], Unknown] = {}
        self._arrays, self._programs = dict[int, Array](), dict[str, Program]()
        #: How many values are recorded at most.
        self.limit = math.inf

    def put(self, operation: str, *arguments: Any) -> Unknown:
        """Return the number of a value, which is recorded if it is new."""
        number = self._recorded.get((operation, arguments))
        if number is None:
            value, number = Value(operation, arguments), Unknown(self, len(self.values))
            if number.place > self.limit:
                raise TooLongError
            self._recorded[value] = number
            self.values.append(value)
            self._known.append(arguments[0] if operation == CONSTANT else number)
            of_loop = self.loops[arguments[0]].given if operation == LOOP else arguments[:1] if operation == TOTAL else ()
            self._sources.append(arguments if operation in OPERATIONS else of_loop)
        return number

    def input(self, name: str, size: int) -> Array:
        """Return an input (size) as an array of unknowns."""
        return array_of([self.put(INPUT, name, k) for k in range(size)])

    def known(self, place: int) -> Any:
        """Return a value: a float if it is a constant."""
        return self._known[place]

    def place(self, number: Any) -> int:
        """Return the place of a number."""
        if isinstance(number, Unknown):
            return number.place
        known = float(number) + 0.0
        return self.put(CONSTANT, known if known == known else math.nan).place

    def looped(
        self, program: Program, shared: Iterable[Any], points: Array, carried: Iterable[Any] = (), loads: Iterable[Any] = ()
    ) -> Unknown:
        """Return the run of a loop, of numbers: see `ProgramLoop`."""
        places = [tuple(map(self.place, numbers)) for numbers in (shared, carried, loads)]
        loop = ProgramLoop(program, places[0], points, *places[1:])
        key = program.identity, loop.given, points.shape, points.tobytes()
        if key not in self._looped:
            self.loops.append(loop)
            self._looped[key] = self.put(LOOP, len(self.loops) - 1)
        return self._looped[key]

    def looped_again(self, loop: ProgramLoop, number: Callable[[int], Any]) -> Unknown:
        """Return the run of a loop of other numbers in place of the values that it takes."""
        shared, carried, loads = (map(number, part) for part in (loop.shared, loop.carried, loop.loads))
        return self.looped(loop.program, shared, loop.points, carried, loads)

    def result(self, run: Unknown, place: int) -> Any:
        """Return a result of a loop that is run: a float if it is a constant."""
        loop = self.loops[run.value.arguments[0]]
        (totals, carried, each), outputs = loop.sizes, loop.program.outputs
        if totals <= place < totals + carried:
            return self.put(TOTAL, run.place, place)
        at = outputs[TOTALS].values[place] if place < totals else outputs[EACH].values[(place - totals - carried) % each]
        operation, arguments = loop.program.values[at]
        if operation == CONSTANT:
            return arguments[0] * (len(loop.points) if place < totals else 1.0)
        return self.put(TOTAL, run.place, place)

    def interned(self, program: Program) -> Program:
        """Return the first of all programs that are the same."""
        return self._programs.setdefault(program.identity, program)

    def sources(self, place: int) -> tuple[int, ...]:
        """Return the values that a value is computed from."""
        return self._sources[place]

    def needed(self, places: Iterable[int], first: int = 0, known: Container[int] = ()) -> list[int]:
        """Return all values from which some follow, these included, in order: from a first one on, and without known ones."""
        found, waiting = set[int](), list(places)
        while waiting:
            if (place := waiting.pop()) not in found and place >= first and place not in known:
                found.add(place)
                waiting += self._sources[place]
        return sorted(found)

    def nominal(self, place: int) -> float:
        """Return what a value is at the nominal inputs."""
        if place not in self._numbers:
            for k in self.needed([place], known=self._numbers):
                operation, arguments = self.values[k]
                if operation == INPUT:
                    self._numbers[k] = float(self._nominal[arguments[0]][arguments[1]])
                elif operation == CONSTANT:
                    self._numbers[k] = arguments[0]
                elif operation == LOOP:
                    loop = self.loops[arguments[0]]
                    parts = (loop.shared, loop.carried, loop.loads)
                    self._arrays[k] = loop.run(*(np.array([self._numbers[j] for j in part]) for part in parts))
                    self._numbers[k] = math.nan
                elif operation == TOTAL:
                    self._numbers[k] = float(self._arrays[arguments[0]][arguments[1]])
                else:
                    self._numbers[k] = _known(operation, *(self._numbers[argument] for argument in arguments))
        return self._numbers[place]

    def fresh(self, size: int) -> Array:
        """Return unknowns (size) that are no input of a program: to differentiate by, and to be replaced then."""
        return self.input(f"fresh {len(self.values)}", size)

    def program(self, inputs: Mapping[str, int], outputs: Mapping[str, Any]) -> Program:
        """Return the program of arrays of numbers, known and unknown; unknowns are of inputs with these names and sizes."""
        arrays = {name: np.asarray(output, dtype=object) for name, output in outputs.items()}
        places = {name: [self.place(number) for number in array.ravel()] for name, array in arrays.items()}
        wanted, needed, loops = dict[int, set[int]](), {place for row in places.values() for place in row}, dict[int, Any]()
        for place in range(max(needed, default=-1), -1, -1):  # of loops no more than what is asked of them
            if place not in needed:
                continue
            operation, arguments = self.values[place]
            if operation == TOTAL:
                wanted.setdefault(arguments[0], set()).add(arguments[1])
            if operation == LOOP:
                loops[place] = self.loops[arguments[0]].only(wanted[place])
            needed.update(loops[place][0].given if operation == LOOP else self._sources[place])
        order = {place: k for k, place in enumerate(sorted(needed))}
        used = {place: k for k, place in enumerate(sorted(loops))}
        values = []
        for place in order:
            value = self.values[place]
            if value.operation == LOOP:
                value = Value(LOOP, (used[place],))
            elif value.operation == TOTAL:
                run, entry = value.arguments
                value = Value(TOTAL, (run, loops[run][1][entry]))
            values.append(value.moved(order))
        return Program(
            dict(inputs),
            tuple(values),
            {name: Output(tuple(order[k] for k in row), arrays[name].shape) for name, row in places.items()},
            tuple(loops[place][0].moved(order) for place in used),
        )


def array_of(entries: Sequence[Any]) -> Array:
    """Return an array (dtype object) of numbers, known or not."""
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


class BranchError(TypeError):
    """A branch looks at a number that is not known yet."""


class Unknown(Undecided):
    """A number that is not known yet: a value of a `Graph`, by its place there."""

    __slots__ = ("graph", "place")

    def __init__(self, graph: Graph, place: int) -> None:
        self.graph, self.place = graph, place

    @property
    def value(self) -> Value:
        """How it is computed."""
        return self.graph.values[self.place]

    @property
    def real(self) -> Unknown:
        """The number: it is real."""
        return self

    imag = 0.0

    @property
    def nominal(self) -> float:
        """What the number is at the nominal inputs."""
        return self.graph.nominal(self.place)

    def conjugate(self) -> Unknown:
        """Return the number: it is real."""
        return self

    def __bool__(self) -> bool:
        if (answer := ANSWER.get()) is None:
            raise BranchError("a branch on a number that is not known yet: write tt.Kinematics.where(condition, yes, no)")
        return answer(self)

    def __float__(self) -> float:
        raise TypeError(
            "a number is not known yet to become a float: use NumPy's functions, not those of math; and put it into an array "
            "by np.array([x, ...]), or into np.zeros(3, dtype=object), not into np.zeros(3)"
        )

    __complex__ = __float__

    def __hash__(self) -> int:
        return self.place

    def __neg__(self) -> Any:
        return negated(self)

    def __pos__(self) -> Unknown:
        return self

    def __abs__(self) -> Any:
        return self._put("absolute")

    def __invert__(self) -> Any:
        operation, arguments = self.value
        return self.graph.known(arguments[0]) if operation == "not" else self._put("not")

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Unknown) or not isinstance(exponent, numbers.Real):
            return _binary("power", self, exponent)
        size = abs(exponent := float(exponent))
        if exponent < 0 and (2 * size).is_integer() and size <= _LARGEST_EXPONENT:
            return quotient(1.0, self**size)
        if not ((2 * size).is_integer() and size <= _LARGEST_EXPONENT):
            return _binary("power", self, exponent)
        result: Any = 1.0 if size.is_integer() else self.sqrt()
        square: Any = self
        for bit in reversed(f"{int(size):b}"):
            result, square = (product(result, square) if bit == "1" else result), product(square, square)
        return result

    def __rpow__(self, base: Any) -> Any:
        return _binary("power", base, self)

    def choose(self, x: Any, y: Any) -> Any:
        """Return x where this is true, else y: numbers, or arrays of them."""
        if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
            pairs = np.broadcast_arrays(np.asarray(x, dtype=object), np.asarray(y, dtype=object))
            chosen = array_of([self.choose(a, b) for a, b in zip(*(side.flat for side in pairs), strict=True)])
            return chosen.reshape(pairs[0].shape)
        operation, arguments = self.value
        if operation == "not":
            return chosen_of(self.graph.known(arguments[0]), y, x)
        if operation in _TRUTHS and _is(x, 1.0) and _is(y, 0.0):
            return self
        at = self.graph.place(x), self.graph.place(y)
        return x if at[0] == at[1] else self.graph.put("select", self.place, *at)

    def hypot(self, x: Any) -> Any:
        """Return the length of (x, self)."""
        return (self * self + x * x) ** 0.5

    def __repr__(self) -> str:
        return f"Unknown({self.place}: {self.value.operation})"

    def _put(self, operation: str) -> Unknown:
        return self.graph.put(operation, self.place)

    # filled in below, for the operators of Python and the functions of NumPy
    __add__: Any
    __mul__: Any
    __sub__: Any
    __truediv__: Any
    sqrt: Any
    exp: Any
    log: Any


def _is_number(x: Any) -> bool:
    return isinstance(x, (Unknown, float, int, numbers.Real))  # the last one takes long to ask for


def _known(operation: str, *arguments: Any) -> Any:
    """Return what an operation makes of known numbers."""
    with np.errstate(all="ignore"):
        return float(OPERATIONS[operation](*(np.float64(x) for x in arguments)))


def _binary(operation: str, x: Any, y: Any) -> Any:
    """Return an operation on two numbers, of which one is unknown."""
    if not (_is_number(x) and _is_number(y)):
        return NotImplemented
    graph = x.graph if isinstance(x, Unknown) else y.graph
    first, second = graph.place(x), graph.place(y)
    if first > second and operation in SYMMETRIC:
        first, second = second, first
    return graph.put(operation, first, second)


def _is(x: Any, value: float) -> bool:
    return not isinstance(x, Unknown) and bool(x == value)


def _negative(x: Any) -> Any:
    """Return what an unknown is the negative of, or None."""
    if isinstance(x, Unknown) and x.value.operation == "negate":
        return x.graph.known(x.value.arguments[0])
    return None


def negated(x: Any) -> Any:
    """Return ``-x``."""
    if not isinstance(x, Unknown):
        return -x
    operation, arguments = x.value
    if operation == "negate":
        return x.graph.known(arguments[0])
    if operation == "subtract":
        return x.graph.put("subtract", *reversed(arguments))
    return x.graph.put("negate", x.place)


def total(x: Any, y: Any) -> Any:
    """Return ``x + y``."""
    if not (isinstance(x, Unknown) or isinstance(y, Unknown)):
        return x + y
    if not (_is_number(x) and _is_number(y)):
        return NotImplemented
    if _is(x, 0.0) or _is(y, 0.0):
        return y if _is(x, 0.0) else x
    first, second = _negative(x), _negative(y)
    if first is not None:
        return difference(y, first) if second is None else negated(total(first, second))
    return difference(x, second) if second is not None else _binary("add", x, y)


def difference(x: Any, y: Any) -> Any:
    """Return ``x - y``."""
    if not (isinstance(x, Unknown) or isinstance(y, Unknown)):
        return x - y
    if not (_is_number(x) and _is_number(y)):
        return NotImplemented
    if _is(y, 0.0):
        return x
    if _is(x, 0.0):
        return negated(y)
    if isinstance(x, Unknown) and isinstance(y, Unknown) and x.place == y.place:
        return 0.0
    if (opposite := _negative(y)) is not None:
        return total(x, opposite)
    return _binary("subtract", x, y)


def product(x: Any, y: Any) -> Any:
    """Return ``x y``; known factors come together, and signs in front."""
    if not isinstance(x, Unknown):
        x, y = y, x
    if not isinstance(x, Unknown):
        return x * y
    operation, arguments = x.value
    if isinstance(y, Unknown):
        if operation == "negate":
            return negated(product(x.graph.known(arguments[0]), y))
        opposite = _negative(y)
        return _binary("multiply", x, y) if opposite is None else negated(product(x, opposite))
    if not _is_number(y):
        return NotImplemented
    if y == 0.0 or y == 1.0:
        return x if y else 0.0
    if y < 0 or operation == "negate":
        return negated(product(x, -y) if y < 0 else product(x.graph.known(arguments[0]), y))
    if operation == "multiply":
        for one, other in (arguments, arguments[::-1]):
            if not isinstance(factor := x.graph.known(one), Unknown):
                return product(x.graph.known(other), factor * float(y))
    return _binary("multiply", x, y)


def quotient(x: Any, y: Any) -> Any:
    """Return ``x / y``, by the reciprocal of y, which others share."""
    if not (_is_number(x) and _is_number(y)):
        return NotImplemented
    if not isinstance(y, Unknown):
        inverse = _known("divide", 1.0, y)
        return product(x, inverse) if isinstance(x, Unknown) else _known("divide", x, y)
    return 0.0 if _is(x, 0.0) else product(x, _binary("divide", 1.0, y))


def chosen_of(truth: Any, x: Any, y: Any) -> Any:
    """Return x where a number, known or not, is true, else y."""
    return truth.choose(x, y) if isinstance(truth, Unknown) else x if truth else y


def _compared(operation: str, x: Any, y: Any) -> Any:
    """Return a comparison; with infinities it is known."""
    if not (_is_number(x) and _is_number(y)):
        return NotImplemented
    for known, is_first in ((x, True), (y, False)):
        if not isinstance(known, Unknown) and math.isinf(known):
            return (known < 0) == is_first if operation.startswith("less") else operation == "not_equal"
    if isinstance(x, Unknown) and isinstance(y, Unknown) and x.place == y.place:
        return operation in ("less_equal", "equal")
    return _binary(operation, x, y)


def _joined(operation: str, x: Any, y: Any) -> Any:
    """Return whether both of two truths hold, or one of them."""
    for a, b in ((x, y), (y, x)):
        if not isinstance(a, Unknown):
            return b if bool(a) == (operation == "and") else bool(a)
    return _binary(operation, x, y)


#: How numbers are made where an operation is more than a value of its own.
_MADE: dict[str, Callable[..., Any]] = {
    **{"add": total, "subtract": difference, "multiply": product, "divide": quotient, "negate": negated, "select": chosen_of},
    **{name: functools.partial(_compared, name) for name in ("less", "less_equal", "equal", "not_equal")},
    **{name: functools.partial(_joined, name) for name in ("and", "or")},
    "not": lambda x: ~x if isinstance(x, Unknown) else not x,
}


def applied(operation: str, *arguments: Any) -> Any:
    """Return what an operation, a key of `OPERATIONS`, makes of numbers, known or not."""
    unknown = next((x for x in arguments if isinstance(x, Unknown)), None)
    if unknown is None:
        return _known(operation, *arguments)
    if (made := _MADE.get(operation)) is not None:
        return made(*arguments)
    return unknown.graph.put(operation, unknown.place) if len(arguments) == 1 else _binary(operation, *arguments)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{"add": total, "sub": difference, "mul": product, "truediv": quotient},
    "and": lambda x, y: _joined("and", x, y),
    "or": lambda x, y: _joined("or", x, y),
}
for _name, _operator in _OPERATORS.items():
    setattr(Unknown, f"__{_name}__", lambda self, other, of=_operator: of(self, other))
    setattr(Unknown, f"__r{_name}__", lambda self, other, of=_operator: of(other, self))
for _name, _operation, _swaps in (
    *(("lt", "less", False), ("le", "less_equal", False), ("gt", "less", True), ("ge", "less_equal", True)),
    *(("eq", "equal", False), ("ne", "not_equal", False)),
):
    setattr(
        Unknown,
        f"__{_name}__",
        lambda self, other, of=_operation, swaps=_swaps: _compared(of, *((other, self) if swaps else (self, other))),
    )
for _name in ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign", "absolute"):
    setattr(Unknown, _name, lambda self, of=_name: self._put(of))
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh"):
    setattr(Unknown, f"arc{_name}", lambda self, of=f"a{_name}": self._put(of))
for _name, _method in {
    "exp2": lambda x: (x * math.log(2.0)).exp(),
    "log2": lambda x: x.log() / math.log(2.0),
    "log10": lambda x: x.log() / math.log(10.0),
    "logical_not": Unknown.__invert__,
    **dict.fromkeys(("deg2rad", "radians"), lambda x: x * (math.pi / 180.0)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: x * (180.0 / math.pi)),
    "fabs": Unknown.__abs__,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "arctan2": lambda y, x: _binary("atan2", y, x),
    "logical_and": lambda x, y: _joined("and", x, y),
    "logical_or": lambda x, y: _joined("or", x, y),
}.items():
    setattr(Unknown, _name, _method)
