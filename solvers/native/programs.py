"""Straight-line programs as machine code, by LLVM alone; see `titop.blocks.bodies.soft.program`.

A program becomes a loop over points. What depends on shared numbers alone is computed before it, what depends on these and on
the points' z once for neighbours of equal z: sections of a body along z.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from titop.blocks.bodies.soft.program import CONSTANT, LOAD, OWN, SHARED, Program
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.kernel import Stage
from titop.solvers.native.object_code import Codes, ObjectCode, load_address
from titop.solvers.native.optimising import simplify
from titop.solvers.native.pieces import target
from titop.solvers.native.signatures import IN_LANES, INTEGER, SINGLE

#: How a program is called: with the number of points, and the addresses of what all share, what each has, the loads on each,
#: and the results, totals first.
ARGUMENTS = ("count", "shared", "own", "loads", "results")

#: Larger programs are translated as they are: that runs two to three times as long, and a tenth of the time is waited for it.
LARGEST = 20000

#: Which of a point's numbers neighbours of a section share.
_SECTION = 2
#: When a value is computed: before the loop, once in a section, at each point.
_ONCE, _SECTIONS, _POINTS = 0, 1, 2

_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_COMPARISONS = {"less": "olt", "less_equal": "ole", "equal": "oeq", "not_equal": "une"}
#: As LLVM knows them; it computes the sine and the cosine of one angle together.
_INTRINSICS = {name: name for name in ("sqrt", "sin", "cos", "exp", "log")} | {"absolute": "fabs", "sign": "copysign"}
_CHOICES = {"minimum": "olt", "maximum": "ogt"}


class ProgramCode(Stage):
    """A program that kernels call by its address, with the integers that `ARGUMENTS` names.

    Parameters
    ----------
    make : callable
        Returns the `Program`, when it is first needed.
    identity : callable, optional
        Returns a name that no other program has, by which its machine code is kept: so that where it is found, nothing needs to
        be derived or translated. Without it the program's values are its name.
    """

    def __init__(self, make: Callable[[], Program], identity: Callable[[], str] | None = None, form: str = SINGLE) -> None:
        super().__init__("program", lambda *_: 0, (INTEGER,) * len(ARGUMENTS), form)
        self._make, self._identity, self.is_for_lanes = make, identity or (lambda: _digest(make())), True

    @functools.cached_property
    def in_lanes(self) -> ProgramCode:
        """The program for states in lanes: all but what each point has lies in them."""
        return ProgramCode(self._make, self._identity, IN_LANES)

    @property
    def file(self) -> str:  # type: ignore[override]
        """The name of the file that keeps it."""
        return self.name

    def _compile(self, loaded: Container[str] = ()) -> Codes:
        program = self._make()
        is_small = len(program.values) <= LARGEST
        module = llvm.parse_assembly(_Text(program, self.form).written().replace("@program", f"@{self.name}"))
        if is_small:
            simplify(module, target(level=1))
        return {self.name: ObjectCode(bytes(target(level=int(is_small)).emit_object(module)))}

    @property
    def address(self) -> int:
        """Where the compiled program stands in this process."""
        if not self._address:
            self.name = f"program_{self._identity()}_{self.form}".rstrip("_")
            self._address = load_address(self.name, self.name, self.codes())
        return self._address


def _digest(program: Program) -> str:
    return hashlib.sha256(repr(program).encode()).hexdigest()[:32]


class _Text(NamedTuple):
    """The text of a program in LLVM's language."""

    program: Program
    form: str

    @property
    def kind(self) -> str:
        """The type of a number, or of numbers in lanes."""
        return f"<{LANE_COUNT} x double>" if self.form else "double"

    @property
    def truth(self) -> str:
        return f"<{LANE_COUNT} x i1>" if self.form else "i1"

    def written(self) -> str:
        program, levels = self.program, self._levels()
        carried = self._carried(levels)
        functions = {op for op, _ in program.values} - _ARITHMETIC.keys() - _COMPARISONS.keys()
        declared = [line for op in sorted(functions) for line in self._declaration(op)]
        start = [line for k, value in enumerate(program.once) for line in self._put(f"once{k}", str(k), self._name(value))]
        return f"""{_lines(line for line in declared if line)}

define i64 @program({", ".join(f"i64 %{name}_address" for name in ARGUMENTS)}) {{
entry:
{_lines(f"  %{name} = inttoptr i64 %{name}_address to ptr" for name in ARGUMENTS[1:])}
{_lines(self._of(levels, _ONCE))}
{_lines(start)}
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %point ]
  %known = phi double [ {_number(float("nan"))}, %entry ], [ %z, %point ]
{_lines(f"  %kept{k} = phi {self.kind} [ {self._number(0.0)}, %entry ], [ %v{k}, %point ]" for k in carried)}
  %more = icmp slt i64 %k, %count_address
  br i1 %more, label %look, label %done
look:
  %own_row = mul i64 %k, {program.own}
  %load_row = mul i64 %k, {program.loads}
  %each_row = mul i64 %k, {len(program.each)}
{_lines(self._section())}
  %moved = fcmp une double %z, %known
  br i1 %moved, label %section, label %point
section:
{_lines(self._of(levels, _SECTIONS, "s"))}
  br label %point
point:
{_lines(f"  %v{k} = phi {self.kind} [ %s{k}, %section ], [ %kept{k}, %look ]" for k in carried)}
{_lines(self._of(levels, _POINTS))}
{_lines(self._results())}
  %next = add i64 %k, 1
  br label %loop
done:
  ret i64 0
}}
"""

    def _levels(self) -> list[int]:
        levels: list[int] = []
        for operation, arguments in self.program.values:
            if operation == OWN:
                levels.append(_SECTIONS if arguments[0] == _SECTION else _POINTS)
            elif operation in (CONSTANT, SHARED, LOAD):
                levels.append(_POINTS if operation == LOAD else _ONCE)
            else:
                levels.append(max(levels[k] for k in arguments))
        return levels

    def _carried(self, levels: Sequence[int]) -> list[int]:
        """Return which values of a section are used at its points."""
        program = self.program
        used = {
            k
            for value, level in zip(program.values, levels, strict=True)
            if level == _POINTS and value.operation not in (OWN, LOAD)
            for k in value.arguments
        }
        used |= {*program.totals, *program.each}
        return sorted(k for k in used if levels[k] == _SECTIONS)

    def _section(self) -> Iterator[str]:
        """Yield the lines that read a point's z; without one, all points are one section."""
        if self.program.own > _SECTION:
            yield f"  %z_place = add i64 %own_row, {_SECTION}"
            yield "  %z_at = getelementptr double, ptr %own, i64 %z_place"
            yield "  %z = load double, ptr %z_at"
        else:
            yield "  %z = fadd double 0.0, 0.0"

    def _of(self, levels: Sequence[int], level: int, prefix: str = "v") -> Iterator[str]:
        """Yield the lines that compute the values of a level."""
        for k, (operation, arguments) in enumerate(self.program.values):
            if levels[k] != level or operation == CONSTANT:
                continue
            own = (
                [self._name(j, prefix if levels[j] == level else "v") for j in arguments]
                if operation not in (SHARED, OWN, LOAD)
                else []
            )
            yield from (f"  {line}" for line in self._line(f"%{prefix}{k}", operation, arguments, own))

    def _line(self, to: str, operation: str, arguments: Sequence[Any], own: Sequence[str]) -> list[str]:
        bare, kind, truth, zero = to.removeprefix("%"), self.kind, self.truth, self._number(0.0)
        if operation in (SHARED, OWN, LOAD):
            source = {SHARED: "shared", OWN: "own", LOAD: "loads"}[operation]
            row = {SHARED: "0", OWN: "%own_row", LOAD: "%load_row"}[operation]
            read = "double" if operation == OWN else kind
            place = [
                f"%{bare}p = add i64 {row}, {arguments[0]}",
                f"%{bare}a = getelementptr {read}, ptr %{source}, i64 %{bare}p",
            ]
            if read == kind:
                return [*place, f"{to} = load {kind}, ptr %{bare}a, align 8"]
            alike = f"{kind} poison, <{LANE_COUNT} x i32> zeroinitializer"
            first = f"%{bare}f = insertelement {kind} poison, double %{bare}n, i64 0"
            return [*place, f"%{bare}n = load double, ptr %{bare}a", first, f"{to} = shufflevector {kind} %{bare}f, {alike}"]
        if operation in _ARITHMETIC:
            return [f"{to} = {_ARITHMETIC[operation]} {kind} {own[0]}, {own[1]}"]
        if operation == "negate":
            return [f"{to} = fneg {kind} {own[0]}"]
        if operation == "square":
            return [f"{to} = fmul {kind} {own[0]}, {own[0]}"]
        as_number = f"{to} = uitofp {truth} %{bare}c to {kind}"
        if operation in _COMPARISONS:
            return [f"%{bare}c = fcmp {_COMPARISONS[operation]} {kind} {own[0]}, {own[1]}", as_number]
        if operation in _CHOICES:
            return [
                f"%{bare}c = fcmp {_CHOICES[operation]} {kind} {own[0]}, {own[1]}",
                f"{to} = select {truth} %{bare}c, {kind} {own[0]}, {kind} {own[1]}",
            ]
        if operation == "not":
            return [f"%{bare}c = fcmp oeq {kind} {own[0]}, {zero}", as_number]
        if operation in _LOGIC:
            first = f"%{bare}x = fcmp une {kind} {own[0]}, {zero}"
            if operation == "if_else_zero":
                return [first, f"{to} = select {truth} %{bare}x, {kind} {own[1]}, {kind} {zero}"]
            if operation == "sign":
                signed = f"call {kind} @{self._called('sign')}({kind} {self._number(1.0)}, {kind} {own[0]})"
                return [f"%{bare}s = {signed}", first, f"{to} = select {truth} %{bare}x, {kind} %{bare}s, {kind} {zero}"]
            second = f"%{bare}y = fcmp une {kind} {own[1]}, {zero}"
            return [first, second, f"%{bare}c = {operation} {truth} %{bare}x, %{bare}y", as_number]
        return [f"{to} = call {kind} @{self._called(operation)}({', '.join(f'{kind} {x}' for x in own)})"]

    def _name(self, k: int, prefix: str = "v") -> str:
        operation, arguments = self.program.values[k]
        return self._number(arguments[0]) if operation == CONSTANT else f"%{prefix}{k}"

    def _results(self) -> Iterator[str]:
        for k, value in enumerate(self.program.totals):
            yield f"  %total{k}a = getelementptr {self.kind}, ptr %results, i64 {k}"
            yield f"  %total{k} = load {self.kind}, ptr %total{k}a, align 8"
            yield f"  %sum{k} = fadd {self.kind} %total{k}, {self._name(value)}"
            yield f"  store {self.kind} %sum{k}, ptr %total{k}a, align 8"
        for k, value in enumerate(self.program.each):
            yield f"  %each{k}p = add i64 %each_row, {len(self.program.totals) + k}"
            yield from self._put(f"each{k}", f"%each{k}p", self._name(value))

    def _put(self, name: str, place: str, value: str) -> Iterator[str]:
        yield f"  %{name}at = getelementptr {self.kind}, ptr %results, i64 {place}"
        yield f"  store {self.kind} {value}, ptr %{name}at, align 8"

    def _number(self, value: float) -> str:
        return f"<{', '.join([f'double {_number(value)}'] * LANE_COUNT)}>" if self.form else _number(value)

    def _called(self, operation: str) -> str:
        """Return the name of a function: in lanes LLVM has some, others are written."""
        if operation in _INTRINSICS:
            return f"llvm.{_INTRINSICS[operation]}.{f'v{LANE_COUNT}' if self.form else ''}f64"
        name = _C_NAMES.get(operation, operation)
        return f"{name}_{self.form}" if self.form else name

    def _declaration(self, operation: str) -> Iterator[str]:
        if operation in (CONSTANT, SHARED, OWN, LOAD, "negate", "square", "not", *_CHOICES) or operation in _LOGIC - {"sign"}:
            return
        count, called = 2 if operation in ("power", "atan2", "sign") else 1, self._called(operation)
        if operation in _INTRINSICS or not self.form:
            yield f"declare {self.kind} @{called}({', '.join([self.kind] * count)})"
            return
        name, whole = _C_NAMES.get(operation, operation), "poison"
        yield f"declare double @{name}({', '.join(['double'] * count)})"
        yield f"define private {self.kind} @{called}({', '.join(f'{self.kind} %x{k}' for k in range(count))}) alwaysinline {{"
        for lane in range(LANE_COUNT):
            for k in range(count):
                yield f"  %x{k}.{lane} = extractelement {self.kind} %x{k}, i64 {lane}"
            yield f"  %y{lane} = call double @{name}({', '.join(f'double %x{k}.{lane}' for k in range(count))})"
            yield f"  %whole{lane} = insertelement {self.kind} {whole}, double %y{lane}, i64 {lane}"
            whole = f"%whole{lane}"
        yield f"  ret {self.kind} {whole}"
        yield "}"


#: Names of functions in the C library that differ from ours, and what is written with truths.
_C_NAMES, _LOGIC = {"power": "pow"}, {"and", "or", "if_else_zero", "sign"}


def _number(value: float) -> str:
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _lines(lines: Any) -> str:
    return "\n".join(lines)
