"""Programs as functions in C: every value named once, in chunks, so that compilers take seconds and caches hold the code.

What later chunks need goes through a work array, whose places are used again. Loops over points become loops in C over a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.tolerances import CANCELLED, EPS, OPEN
from titop.blocks.programs.program import (
    CONSTANT,
    INPUT,
    LOADS,
    ONCE,
    OPERATIONS,
    OWN,
    SHARED,
    TOTAL,
    TOTALS,
    PointLoop,
    Program,
    Value,
)
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
        #: Values that are computed, and loops (-1 - loop) before the first of their totals, in order.
        self._steps = list(self._ordered())
        self._chunks = {step: k // dialect.chunk for k, step in enumerate(self._steps)}
        self._totals: dict[int, int] = {}
        self._numbers = 0
        for loop in (-1 - step for step in self._steps if step < 0):
            self._totals[loop] = self._numbers
            self._numbers += len(program.loops[loop].program.outputs[TOTALS].values)
        self._places = self._stored()

    def _ordered(self) -> Iterator[int]:
        needed, waiting, loops = set[int](), list(self._results), set[int]()
        while waiting:
            if (k := waiting.pop()) not in needed:
                needed.add(k)
                waiting += self._used(k)
        for k in sorted(needed):
            operation, arguments = self._values[k]
            if operation == TOTAL and arguments[0] not in loops:
                loops.add(arguments[0])
                yield -1 - arguments[0]
            elif operation in OPERATIONS:
                yield k

    def _used(self, step: int) -> Sequence[int]:
        """Return the values that a step needs, or a value."""
        if step < 0:
            return self._program.loops[-1 - step].shared
        operation, arguments = self._values[step]
        return self._program.loops[arguments[0]].shared if operation == TOTAL else arguments if operation in OPERATIONS else ()

    def _stored(self) -> dict[int, int]:
        """Return places in the work array of values that later chunks need."""
        last: dict[int, int] = {}
        for step in self._steps:
            for k in self._used(step):
                if self._chunks.get(k, self._chunks[step]) < self._chunks[step]:
                    last[k] = self._chunks[step]
        places: dict[int, int] = {}
        free: list[int] = []
        held: list[tuple[int, int]] = []
        for step in self._steps:
            if step in last:
                free += [place for until, place in held if until < self._chunks[step]]
                held = [each for each in held if each[0] >= self._chunks[step]]
                if not free:
                    free.append(self._numbers)
                    self._numbers += 1
                places[step] = free.pop()
                held.append((last[step], places[step]))
        return places

    def printed(self) -> CFunction:
        """Return the function."""
        count = max(self._chunks.values(), default=0) + 1
        loops = {loop: self._loop(self._program.loops[loop], f"{self._name}_loop_{loop}") for loop in self._totals}
        declared, given = ", ".join(self._arguments.values()), ", ".join(self._arguments)
        unused = "".join(f"    (void){name};\n" for name in self._arguments)
        real, text = self._dialect.precision, "".join(each.text for each in loops.values())
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
        work = f"    {real} w[{self._numbers}];\n" if self._numbers else ""
        text += f"{self._dialect.function} void {self._name}({declared})\n{{\n{work}{unused}{''.join(bodies)}{ends}}}\n\n"
        operations = sum(step >= 0 for step in self._steps) + sum(each.operations for each in loops.values())
        return CFunction(text, self._numbers + max((each.numbers for each in loops.values()), default=0), operations)

    def _lines(self, chunk: int) -> Iterator[str]:
        real = self._dialect.precision
        for step in (step for step, at in self._chunks.items() if at == chunk):
            if step < 0:
                loop, shared = -1 - step, self._used(step)
                numbers = ", ".join(self._number(k, chunk) for k in shared) or self._dialect.number(0.0)
                yield f"    {{\n        const {real} shared[] = {{{numbers}}};\n"
                yield f"        {self._name}_loop_{loop}(shared, w + {self._totals[loop]});\n    }}\n"
                continue
            value = self._values[step]
            kind = "int" if value.operation in _TRUTHS else real
            yield f"    const {kind} t{step} = {self._expression(value, chunk)};\n"
            for target in ([f"w[{self._places[step]}]"] if step in self._places else []) + self._results.get(step, []):
                yield f"    {target} = {self._number(step, chunk)};\n"

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
            return f"w[{self._totals[arguments[0]] + arguments[1]}]"
        return f"t{k}" if self._chunks[k] == chunk else f"w[{self._places[k]}]"

    def _number(self, k: int, chunk: int) -> str:
        is_truth = self._values[k].operation in _TRUTHS and self._chunks[k] == chunk
        return f"({self._dialect.precision}){self._known(k, chunk)}" if is_truth else self._known(k, chunk)

    def _truth(self, k: int, chunk: int) -> str:
        is_truth = self._values[k].operation in _TRUTHS and self._chunks[k] == chunk
        return self._known(k, chunk) if is_truth else f"({self._known(k, chunk)} != 0)"

    def _loop(self, loop: PointLoop, name: str) -> CFunction:
        """Return a function that sums a program over its points, on which no loads act."""
        real, plain = self._dialect.precision, self._dialect
        count, points = len(loop.program.outputs[TOTALS].values), loop.points

        def place(of: str, k: int) -> str:
            return plain.number(0.0) if of == LOADS else plain.entry(of, k)

        def part(output: str) -> CFunction:
            arguments = {of: f"const {real} *{of}" for of in (SHARED, OWN)} | {output: f"{real} *{output}"}
            return FunctionPrinter(loop.program, f"{name}_{output}", [output], arguments, plain, place).printed()

        each, once = part(TOTALS), part(ONCE)
        text = f"""{each.text}{once.text}{self._dialect.function} void {name}(const {real} *shared, {real} *totals)
{{
    static const {real} points[{len(points)}][{points.shape[1]}] =
    {table(points, real)};
    {real} sum[{count}];
    int i, j;
    {name}_{ONCE}(shared, points[0], totals);
    for (i = 0; i < {len(points)}; i++) {{
        {name}_{TOTALS}(shared, points[i], sum);
        for (j = 0; j < {count}; j++) {{ totals[j] += sum[j]; }}
    }}
}}

"""
        numbers = count + len(loop.shared) + max(each.numbers, once.numbers)
        return CFunction(text, numbers, once.operations + len(points) * (each.operations + count))
