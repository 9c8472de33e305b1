"""Programs as functions in C: every value named once, in chunks, so that compilers take seconds and caches hold the code.

What later chunks need goes through a work array, whose places are used again; so do the results of loops. These become loops in
C over a table; loops of one program share its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.tolerances import CANCELLED, EPS, OPEN
from titop.blocks.programs.program import (
    CARRIED,
    CONSTANT,
    EACH,
    INPUT,
    LOADS,
    LOOP,
    NEXT,
    OPERATIONS,
    OWN,
    SHARED,
    TOTAL,
    TOTALS,
    Program,
    ProgramLoop,
    Value,
)
from titop.blocks.programs.work_room import neighbours, rooms
from titop.solvers.programs.c_text import SINGLE_EPS, c_number, table

#: Types of numbers in C, by precision.
TYPES = {"double": "double", "single": "float"}
#: Operations in a chunk: compilers take 0.2 s for a thousand so, and ten times as long for ten thousand in one function.
CHUNK = 500
_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_COMPARISONS = {"less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!="}
_TRUTHS = {*_COMPARISONS, "and", "or", "not"}
_LIBRARY = {"absolute": "fabs", "power": "pow"}


def number_type(precision: Any) -> str:
    """Return the type of numbers in C. Raises `ModelError` for an unknown precision."""
    if precision not in [*TYPES]:
        expected, advice = "'double' or 'single'", did_you_mean(precision, TYPES)
        raise ModelError(Finding("bad-precision", "precision", precision, expected, advice))
    return TYPES[precision]


@dataclass(frozen=True)
class Dialect:
    """How C is written.

    - `precision`: the type of numbers; `apart`: qualifiers of chunks, which shall not become one; `function`: of all else;
    - `chunk`: operations in a chunk.
    """

    precision: str
    apart: str = "static"
    function: str = "static"
    chunk: int = CHUNK

    def number(self, value: float) -> str:
        """Return a constant."""
        return c_number(value, self.precision)

    def entry(self, array: str, k: int) -> str:
        """Return an entry of an argument."""
        return f"{array}[{k}]"

    @property
    def least_health(self) -> str:
        """Up to what health a coordinate has lost its inertia."""
        return self.number(CANCELLED if self.precision == "double" else CANCELLED / EPS * SINGLE_EPS)

    @property
    def most_open(self) -> str:
        """From what error on, before the last step of Newton's method, closures count as open."""
        return self.number(OPEN if self.precision == "double" else SINGLE_EPS**0.5)


def distinct(program: Program) -> Program:
    """Return a program whose outputs have other names than its inputs, and are not empty."""
    kept = {of: output for of, output in program.outputs.items() if output.values}
    return replace(program, outputs={f"{of}_result" if of in program.inputs else of: output for of, output in kept.items()})


@dataclass(frozen=True)
class CFunction:
    """A function in C: its text with all that it calls, how many numbers it keeps, and how many operations it takes."""

    text: str
    numbers: int
    operations: int


class FunctionPrinter:
    """Prints some outputs of a program as a function ``name(arguments)``.

    - `outputs`: names of outputs, each that of its argument; `arguments`: declarations by name;
    - `place`: the text of an entry of an input.
    """

    def __init__(
        self,
        program: Program,
        name: str,
        outputs: Sequence[str],
        arguments: Mapping[str, str],
        dialect: Dialect,
        place: Callable[[str, int], str] | None = None,
    ) -> None:
        self._program, self._name, self._dialect, self._arguments = program, name, dialect, arguments
        self._place, self._values = place or dialect.entry, program.values
        self._results: dict[int, list[str]] = {}
        for output in outputs:
            for k, value in enumerate(program.outputs[output].values):
                self._results.setdefault(value, []).append(dialect.entry(output, k))
        #: Values that are computed, and loops that are run, in order.
        self._steps = list(self._ordered())
        self._chunks = {step: k // dialect.chunk for k, step in enumerate(self._steps)}
        self._places, self._numbers = rooms(self._lives())

    def _ordered(self) -> Iterator[int]:
        needed, waiting = set[int](), list(self._results)
        while waiting:
            if (k := waiting.pop()) not in needed:
                needed.add(k)
                waiting += self._used(k)
        return (k for k in sorted(needed) if self._values[k].operation in OPERATIONS or self._values[k].operation == LOOP)

    def _used(self, k: int) -> Sequence[int]:
        """Return the values that a value needs."""
        operation, arguments = self._values[k]
        if operation == LOOP:
            return self._program.loops[arguments[0]].given
        return arguments if operation in OPERATIONS else arguments[:1] if operation == TOTAL else ()

    def _lives(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield what lies in the work array: loops' results, and values that later chunks need."""
        last: dict[int, int] = {}
        for k, step in enumerate(self._steps):
            for used in self._used(step):
                last[self._kept(used)] = k
        last |= {self._kept(k): len(self._steps) for k in self._results if self._values[k].operation == TOTAL}
        for k, step in enumerate(self._steps):
            operation, arguments = self._values[step]
            if operation == LOOP:
                yield step, self._program.loops[arguments[0]].size, k, last[step]
            elif last.get(step, k) // self._dialect.chunk > self._chunks[step]:
                yield step, 1, k, last[step]

    def _kept(self, k: int) -> int:
        """Return which value is kept where a value is needed: of a result the loop."""
        return self._values[k].arguments[0] if self._values[k].operation == TOTAL else k

    def printed(self) -> CFunction:
        """Return the function."""
        count = max(self._chunks.values(), default=0) + 1
        loops = self._loops()
        declared, given = ", ".join(self._arguments.values()), ", ".join(self._arguments)
        unused = "".join(f"    (void){name};\n" for name in self._arguments)
        real, text = self._dialect.precision, "".join({each.text: "" for each in loops.values()})
        bodies = ["".join(self._lines(chunk)) for chunk in range(count)]
        ends = "".join(
            f"    {target} = {self._number(k, -1)};\n"
            for k in self._results
            if k not in self._chunks
            for target in self._results[k]
        )
        if count > 1:
            for k, body in enumerate(bodies):
                head = f"{self._dialect.apart} void {self._name}_{k}({declared}, {real} *w)"
                text += f"{head}\n{{\n{unused}    (void)w;\n{body}}}\n\n"
            bodies = [f"    {self._name}_{k}({given}, w);\n" for k in range(count)]
        work = f"    {real} w[{self._numbers or 1}];\n" if self._numbers or count > 1 else ""
        text += f"{self._dialect.function} void {self._name}({declared})\n{{\n{work}{unused}{''.join(bodies)}{ends}}}\n\n"
        operations = sum(loops[step].operations if step in loops else 1 for step in self._steps)
        return CFunction(text, self._numbers + max((each.numbers for each in loops.values()), default=0), operations)

    def _lines(self, chunk: int) -> Iterator[str]:
        real = self._dialect.precision
        for step in (step for step, at in self._chunks.items() if at == chunk):
            value = self._values[step]
            if value.operation == LOOP:
                yield from self._run(step, chunk)
                continue
            kind = "int" if value.operation in _TRUTHS else real
            yield f"    const {kind} t{step} = {self._expression(value, chunk)};\n"
            for target in ([f"w[{self._places[step]}]"] if step in self._places else []) + self._results.get(step, []):
                yield f"    {target} = {self._number(step, chunk)};\n"

    def _run(self, step: int, chunk: int) -> Iterator[str]:
        """Yield the lines that run a loop: what it takes is copied."""
        loop, place = self._program.loops[self._values[step].arguments[0]], self._places[step]
        size = len(loop.shared) + len(loop.loads) or 1
        yield f"    {{\n        {self._dialect.precision} given[{size}] = {{0}};\n        int i = 0;\n"
        for target, first, places in (("given", 0, loop.shared + loop.loads), ("w", place + loop.sizes[0], loop.carried)):
            for at, count in neighbours(self._values, places):
                one = self._known(places[at], chunk)
                if count > 1:
                    copied = f"{target}[{first + at} + i] = w[{one[2:-1]} + i];"
                    yield f"        for (i = 0; i < {count}; i++) {{ {copied} }}\n"
                else:
                    yield f"        {target}[{first + at}] = {self._number(places[at], chunk)};\n"
        yield f"        (void)i;\n        {self._names[step]}(given, given + {len(loop.shared)}, w + {place});\n    }}\n"

    def _expression(self, value: Value, chunk: int) -> str:
        operation, arguments = value
        f, real = "f" if self._dialect.precision == "float" else "", self._dialect.precision
        if operation in ("and", "or", "not"):
            truths = [self._truth(k, chunk) for k in arguments]
            return f"!({truths[0]})" if operation == "not" else f" {'&&' if operation == 'and' else '||'} ".join(truths)
        if operation == "select":
            truth, (yes, no) = self._truth(arguments[0], chunk), (self._number(k, chunk) for k in arguments[1:])
            return f"{truth} ? {yes} : {no}"
        x = [self._number(k, chunk) for k in arguments]
        if operation in _SIGNS or operation in _COMPARISONS:
            return f"{x[0]} {(_SIGNS | _COMPARISONS)[operation]} {x[1]}"
        if operation == "negate":
            return f"-{x[0]}"
        if operation in ("minimum", "maximum"):
            return f"{x[0]} {'<' if operation == 'minimum' else '>'} {x[1]} ? {x[0]} : {x[1]}"
        if operation == "sign":
            return f"({real})(({x[0]} > 0) - ({x[0]} < 0))"
        return f"{_LIBRARY.get(operation, operation)}{f}({', '.join(x)})"

    def _known(self, k: int, chunk: int) -> str:
        operation, arguments = self._values[k]
        if operation == CONSTANT:
            text = self._dialect.number(arguments[0])
            return f"({text})" if text.startswith("-") else text
        if operation == INPUT:
            return self._place(*arguments)
        if operation == TOTAL:
            return f"w[{self._places[arguments[0]] + arguments[1]}]"
        return f"t{k}" if self._chunks[k] == chunk else f"w[{self._places[k]}]"

    def _number(self, k: int, chunk: int) -> str:
        is_truth = self._values[k].operation in _TRUTHS and self._chunks[k] == chunk
        return f"({self._dialect.precision}){self._known(k, chunk)}" if is_truth else self._known(k, chunk)

    def _truth(self, k: int, chunk: int) -> str:
        is_truth = self._values[k].operation in _TRUTHS and self._chunks[k] == chunk
        return self._known(k, chunk) if is_truth else f"({self._known(k, chunk)} != 0)"

    def _loops(self) -> dict[int, CFunction]:
        """Return the functions of all loops that are run; loops of one program and one table have one."""
        self._names: dict[int, str] = {}
        bodies: dict[str, CFunction] = {}
        found: dict[tuple[str, bytes], tuple[str, CFunction]] = {}
        functions: dict[int, CFunction] = {}
        for step in self._steps:
            operation, arguments = self._values[step]
            if operation != LOOP:
                continue
            loop = self._program.loops[arguments[0]]
            key = loop.program.identity, repr(loop.points.shape).encode() + loop.points.tobytes()
            if key not in found:
                body, name = f"{self._name}_turn_{len(bodies)}", f"{self._name}_loop_{len(found)}"
                text = ""
                if key[0] not in bodies:
                    bodies[key[0]] = self._turn(loop.program, body)
                    text = bodies[key[0]].text
                body = f"{self._name}_turn_{[*bodies].index(key[0])}"
                found[key] = name, self._loop(loop, name, body, bodies[key[0]], text)
            self._names[step], functions[step] = found[key]
        return functions

    def _turn(self, program: Program, name: str) -> CFunction:
        """Return a function for one turn."""
        real = self._dialect.precision
        arguments = {of: f"const {real} *{of}" for of in (SHARED, OWN, LOADS, CARRIED)}
        arguments |= {of: f"{real} *{of}" for of in (TOTALS, NEXT, EACH)}
        outputs = [of for of in (TOTALS, NEXT, EACH) if of in program.outputs]
        return FunctionPrinter(program, name, outputs, arguments, self._dialect, self._dialect.entry).printed()

    def _loop(self, loop: ProgramLoop, name: str, body: str, turn: CFunction, text: str) -> CFunction:
        """Return the function of a loop."""
        real, zero = self._dialect.precision, self._dialect.number(0.0)
        (totals, carried, each), (n, width) = loop.sizes, loop.points.shape
        points = f"    static const {real} points[{n}][{width}] =\n    {table(loop.points, real)};\n" if width else ""
        own, loads = "points[i]" if width else "shared", len(loop.loads) // n
        text += f"""{self._dialect.apart} void {name}(const {real} *shared, const {real} *loads, {real} *results)
{{
{points}    {real} sum[{totals or 1}], next[{carried or 1}];
    int i, j;
    for (j = 0; j < {totals}; j++) {{ results[j] = {zero}; }}
    for (i = 0; i < {n}; i++) {{
        {body}(shared, {own}, loads + {loads} * i, results + {totals}, sum, next, results + {totals + carried} + {each} * i);
        for (j = 0; j < {totals}; j++) {{ results[j] += sum[j]; }}
        for (j = 0; j < {carried}; j++) {{ results[{totals} + j] = next[j]; }}
    }}
}}

"""
        numbers = totals + carried + len(loop.shared) + len(loop.loads) + turn.numbers
        return CFunction(text, numbers, n * (turn.operations + totals))
