"""Programs as machine code, by LLVM alone; see `titop.blocks.programs.program`.

A program of many points becomes a loop over them, which may carry numbers from one to the next. What depends on shared numbers
alone is computed before it, what depends on these and on the points' z once for neighbours of equal z: sections of a body along
z. The program of a whole system becomes functions of some hundred operations each, called one after the other, that share a
room for what one leaves to others: the time that LLVM takes then grows with their number alone.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from titop.blocks.programs.program import (
    CARRIED,
    CONSTANT,
    EACH,
    INPUT,
    LOADS,
    LOOP,
    NEXT,
    ONCE,
    OPERATIONS,
    OWN,
    SHARED,
    TOTAL,
    TOTALS,
    Program,
    ProgramLoop,
)
from titop.blocks.programs.turning_numbers import COSINE, FAR, HALF_PI, SINE
from titop.blocks.programs.work_room import neighbours, rooms
from titop.solvers.native.calling import python_function, stacked_function
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.kernel import Stage, Unit
from titop.solvers.native.object_code import Codes, ObjectCode, load, load_address
from titop.solvers.native.optimising import simplify
from titop.solvers.native.pieces import target
from titop.solvers.native.signatures import IN_LANES, INTEGER, RESULT, SINGLE, STATE, Signature

#: How a program of many points is called: with the number of points, and the addresses of what all share, what each has, the
#: loads on each, and the results, totals first.
ARGUMENTS = ("count", "shared", "own", "loads", "results")

#: Larger programs of points are translated as they are: that runs two to three times as long, and a tenth of the time is waited
#: for it.
LARGEST = 20000
#: So many operations of a whole system are one function, and more are cut into functions of so many: LLVM's time for one
#: function grows faster than its length.
WHOLE, CHUNK = 2500, 500

#: How names of programs begin, by which they are kept: machine code is for so many lanes.
_PROGRAM = f"program{LANE_COUNT}"
#: Which of a point's numbers neighbours of a section share.
_SECTION = 2
#: When a value is computed: before the loop, once in a section, at each point.
_ONCE, _SECTIONS, _POINTS = 0, 1, 2

_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
_COMPARISONS = {"less": "olt", "less_equal": "ole", "equal": "oeq", "not_equal": "une"}
#: As LLVM knows them.
_INTRINSICS = {name: name for name in ("sqrt", "exp", "log")} | {"absolute": "fabs", "sign": "copysign"}
_CHOICES = {"minimum": "olt", "maximum": "ogt"}
_TURNS = ("sin", "cos")
#: What is written without a function.
_WRITTEN = {"negate", "select", "not", "and", "or", *_ARITHMETIC, *_COMPARISONS, *_CHOICES}
#: Names of functions in the C library that differ from ours.
_C_NAMES = {"power": "pow"}


class ProgramCode(Stage):
    """A program of many points that kernels call by its address, with the integers that `ARGUMENTS` names.

    For a single state its points lie in lanes, for several these do. Bits are the same: totals are summed point by point.

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
        self._make, self._identity, self.is_for_lanes = make, identity or (lambda: make().identity), True

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
        has_points = any(operation == INPUT and arguments[0] == OWN for operation, arguments in program.values)
        over_points = self.form == SINGLE and has_points
        words, is_small = _Words(IN_LANES if over_points else self.form), len(program.values) <= LARGEST
        text = words.functions(program.counts) + _PointText(program, words, over_points).written(self.name)
        return {self.name: ObjectCode(_emitted(llvm.parse_assembly(text), int(is_small), is_small))}

    @property
    def address(self) -> int:
        """Where the compiled program stands in this process."""
        if not self._address:
            self.name = f"{_PROGRAM}_{self._identity()}_{self.form}".rstrip("_")
            self._address = load_address(self.name, self.name, self.codes())
        return self._address


class SystemCode(Unit):
    """The program of a whole system that Python calls: with a vector for each input, then one for each output, row by row.

    In lanes with stacked ones, computed several states at a time, each with the bits of a call for itself.
    """

    def __init__(self, program: Program, form: str = SINGLE) -> None:
        self.program = program
        signature = Signature((*[STATE] * len(program.inputs), *[RESULT] * len(program.outputs)))
        caller = stacked_function if form else python_function
        super().__init__(lambda *_: 0, signature, caller, f"{_PROGRAM}_{program.identity}", form=form)
        self.title = "a program"

    @functools.cached_property
    def in_lanes(self) -> SystemCode:
        """The program for stacked states."""
        return SystemCode(self.program, IN_LANES)

    @functools.cached_property
    def file(self) -> str:  # type: ignore[override]
        """The name of the file that keeps it."""
        return self.name

    @functools.cached_property
    def compiled(self) -> Callable[..., Any]:
        """The compiled function."""
        return load(self.name, self.name, self.codes())

    def _compile(self, loaded: Container[str] = ()) -> Codes:
        words = _Words(self.form)
        text = words.functions(self.program.counts) + _SystemText(self.program, words).written()
        module = llvm.parse_assembly(text)
        module.link_in(llvm.parse_assembly(self.caller(self.name, "native", self.signature)))
        for function in module.functions:
            if not function.is_declaration and function.name != self.name:
                function.linkage = llvm.Linkage.internal
        return {self.name: ObjectCode(_emitted(module, 2, simplified=True))}


def _emitted(module: llvm.ModuleRef, level: int, simplified: bool) -> bytes:
    module.triple, module.data_layout = target().triple, str(target().target_data)
    if simplified:
        simplify(module, target(level=1))
    return bytes(target(level=level).emit_object(module))


class _Words(NamedTuple):
    """How numbers and operations are written in LLVM's language, for one state or for several in lanes."""

    form: str

    @property
    def kind(self) -> str:
        """The type of a number, or of numbers in lanes."""
        return f"<{LANE_COUNT} x double>" if self.form else "double"

    @property
    def bits(self) -> str:
        return f"<{LANE_COUNT} x i64>" if self.form else "i64"

    @property
    def no_number(self) -> str:
        """Bits that no number has, nor what operations make of none."""
        return f"<{', '.join(['i64 -1'] * LANE_COUNT)}>" if self.form else "-1"

    @property
    def truth(self) -> str:
        return f"<{LANE_COUNT} x i1>" if self.form else "i1"

    def number(self, value: float) -> str:
        return f"<{', '.join([f'double {_number(value)}'] * LANE_COUNT)}>" if self.form else _number(value)

    def loaded(self, to: str, pointer: str, place: int | str) -> list[str]:
        """Return the lines that load a number."""
        at = f"{to}.at = getelementptr {self.kind}, ptr {pointer}, i64 {place}"
        return [at, f"{to} = load {self.kind}, ptr {to}.at, align 8"]

    def stored(self, name: str, pointer: str, place: int | str, value: str) -> list[str]:
        """Return the lines that store a number; `name` belongs to them alone."""
        at = f"{name} = getelementptr {self.kind}, ptr {pointer}, i64 {place}"
        return [at, f"store {self.kind} {value}, ptr {name}, align 8"]

    def operation(self, to: str, operation: str, own: Sequence[str], turned: dict[str, str]) -> list[str]:
        """Return the lines of an operation; `turned` has the angles whose sine and cosine are known in this place."""
        kind, truth, zero = self.kind, self.truth, self.number(0.0)
        as_number = f"{to} = uitofp {truth} {to}.c to {kind}"
        if operation in _ARITHMETIC:
            return [f"{to} = {_ARITHMETIC[operation]} {kind} {own[0]}, {own[1]}"]
        if operation == "negate":
            return [f"{to} = fneg {kind} {own[0]}"]
        if operation in _TURNS:
            pair = turned.setdefault(own[0], f"{to}.both")
            both = f"{pair} = call {{ {kind}, {kind} }} @sine_and_cosine({kind} {own[0]})"
            one = f"{to} = extractvalue {{ {kind}, {kind} }} {pair}, {_TURNS.index(operation)}"
            return [both, one] if pair == f"{to}.both" else [one]
        if operation in _COMPARISONS:
            return [f"{to}.c = fcmp {_COMPARISONS[operation]} {kind} {own[0]}, {own[1]}", as_number]
        if operation in _CHOICES:
            chosen = f"{to}.c = fcmp {_CHOICES[operation]} {kind} {own[0]}, {own[1]}"
            return [chosen, f"{to} = select {truth} {to}.c, {kind} {own[0]}, {kind} {own[1]}"]
        if operation == "not":
            return [f"{to}.c = fcmp oeq {kind} {own[0]}, {zero}", as_number]
        first = f"{to}.x = fcmp une {kind} {own[0]}, {zero}"
        if operation == "select":
            return [first, f"{to} = select {truth} {to}.x, {kind} {own[1]}, {kind} {own[2]}"]
        if operation == "sign":
            signed = f"call {kind} @{self._called('sign')}({kind} {self.number(1.0)}, {kind} {own[0]})"
            return [f"{to}.s = {signed}", first, f"{to} = select {truth} {to}.x, {kind} {to}.s, {kind} {zero}"]
        if operation in ("and", "or"):
            second = f"{to}.y = fcmp une {kind} {own[1]}, {zero}"
            return [first, second, f"{to}.c = {operation} {truth} {to}.x, {to}.y", as_number]
        return [f"{to} = call {kind} @{self._called(operation)}({', '.join(f'{kind} {x}' for x in own)})"]

    def _called(self, operation: str) -> str:
        """Return the name of a function: in lanes LLVM has some, others are written."""
        if operation in _INTRINSICS:
            return f"llvm.{_INTRINSICS[operation]}.{f'v{LANE_COUNT}' if self.form else ''}f64"
        name = _C_NAMES.get(operation, operation)
        return f"{name}_{self.form}" if self.form else name

    def functions(self, operations: Iterable[str]) -> str:
        """Return text of the functions that operations call."""
        turns = not {*operations}.isdisjoint(_TURNS)
        called = sorted({*operations, *(("absolute",) if turns else ())}.difference(_WRITTEN, _TURNS))
        lines = [line for operation in (*called, *(_TURNS if turns else ())) for line in self._declaration(operation)]
        return _lines(lines) + (self._sine_and_cosine() if turns else "")

    def _declaration(self, operation: str) -> Iterator[str]:
        count, called = 2 if operation in ("power", "atan2", "sign") else 1, self._called(operation)
        if operation in _INTRINSICS or not self.form:
            yield f"declare {self.kind} @{called}({', '.join([self.kind] * count)})"
            return
        name, whole = _C_NAMES.get(operation, operation), "poison"
        inline = "noinline cold" if operation in _TURNS else "alwaysinline"
        yield f"declare double @{name}({', '.join(['double'] * count)})"
        yield f"define private {self.kind} @{called}({', '.join(f'{self.kind} %x{k}' for k in range(count))}) {inline} {{"
        for lane in range(LANE_COUNT):
            for k in range(count):
                yield f"  %x{k}.{lane} = extractelement {self.kind} %x{k}, i64 {lane}"
            yield f"  %y{lane} = call double @{name}({', '.join(f'double %x{k}.{lane}' for k in range(count))})"
            yield f"  %whole{lane} = insertelement {self.kind} {whole}, double %y{lane}, i64 {lane}"
            whole = f"%whole{lane}"
        yield f"  ret {self.kind} {whole}"
        yield "}"

    def _sine_and_cosine(self) -> str:
        """Return text of sine and cosine together: the operations of `titop.solvers.kernels.spatial.turning`."""
        kind, truth, suffix = self.kind, self.truth, f"v{LANE_COUNT}f64" if self.form else "f64"
        lines: list[str] = []

        def put(text: str) -> str:
            lines.append(f"  %r{len(lines)} = {text}")
            return f"%r{len(lines) - 1}"

        def of(operation: str, x: str, y: str) -> str:
            return put(f"{operation} {kind} {x}, {y}")

        def fused(x: str, y: str, z: str) -> str:
            return put(f"call {kind} @llvm.fma.{suffix}({kind} {x}, {kind} {y}, {kind} {z})")

        def called(name: str, x: str) -> str:
            return put(f"call {kind} @llvm.{name}.{suffix}({kind} {x})")

        def polynomial(a: Sequence[float], z: str, square: str) -> str:
            low, middle, high = (fused(self.number(a[k + 1]), z, self.number(a[k])) for k in (0, 2, 4))
            return fused(square, fused(square, high, middle), low)

        number = self.number
        k = called("rint", of("fmul", "%x", number(0.6366197723675814)))
        near = fused(put(f"fneg {kind} {k}"), number(HALF_PI[0]), "%x")
        rest = of("fmul", k, number(HALF_PI[1]))
        y = of("fsub", near, rest)
        small = fused(k, number(HALF_PI[2]), fused(k, number(HALF_PI[1]), put(f"fneg {kind} {rest}")))
        low = of("fsub", of("fsub", of("fsub", near, y), rest), small)
        z = of("fmul", y, y)
        square = of("fmul", z, z)
        bent = fused(of("fmul", number(-0.5), z), low, low)
        sine = of("fadd", y, fused(of("fmul", z, y), polynomial(SINE, z, square), bent))
        half = of("fmul", number(0.5), z)
        most = of("fsub", number(1.0), half)
        ends = fused(square, polynomial(COSINE, z, square), of("fmul", put(f"fneg {kind} {y}"), low))
        cosine = of("fadd", most, of("fadd", of("fsub", of("fsub", number(1.0), most), half), ends))
        turns = called("rint", of("fmul", number(0.25), k))
        quadrant = of("fsub", k, of("fmul", number(4.0), turns))
        size = called("fabs", quadrant)
        odd, opposite = (put(f"fcmp oeq {kind} {size}, {number(x)}") for x in (1.0, 2.0))
        results = []
        for first, second, sign in ((cosine, sine, -1.0), (sine, cosine, 1.0)):
            chosen = put(f"select {truth} {odd}, {kind} {first}, {kind} {second}")
            turned = put(f"or {truth} {opposite}, {put(f'fcmp oeq {kind} {quadrant}, {number(sign)}')}")
            results.append(put(f"select {truth} {turned}, {kind} {put(f'fneg {kind} {chosen}')}, {kind} {chosen}"))
        is_near = put(f"fcmp olt {kind} {called('fabs', '%x')}, {number(FAR)}")
        all_near = put(f"call i1 @llvm.vector.reduce.and.v{LANE_COUNT}i1({truth} {is_near})") if self.form else is_near
        by_library = [f"@{self._called(name)}({kind} %x)" for name in _TURNS]
        reduces = f"declare i1 @llvm.vector.reduce.and.v{LANE_COUNT}i1({truth})" if self.form else ""
        return f"""
declare {kind} @llvm.fma.{suffix}({kind}, {kind}, {kind})
declare {kind} @llvm.rint.{suffix}({kind})
{reduces}
define private {{ {kind}, {kind} }} @sine_and_cosine({kind} %x) alwaysinline {{
start:
{_lines(lines)}
  br i1 {all_near}, label %done, label %far
far:
  %far.0 = call {kind} {by_library[0]}
  %far.1 = call {kind} {by_library[1]}
  %some.0 = select {truth} {is_near}, {kind} {results[0]}, {kind} %far.0
  %some.1 = select {truth} {is_near}, {kind} {results[1]}, {kind} %far.1
  br label %done
done:
  %sine = phi {kind} [ {results[0]}, %start ], [ %some.0, %far ]
  %cosine = phi {kind} [ {results[1]}, %start ], [ %some.1, %far ]
  %with = insertvalue {{ {kind}, {kind} }} poison, {kind} %sine, 0
  %both = insertvalue {{ {kind}, {kind} }} %with, {kind} %cosine, 1
  ret {{ {kind}, {kind} }} %both
}}
"""


#: What points in lanes call.
_OVER_POINTS = f"""
declare <{LANE_COUNT} x i1> @llvm.get.active.lane.mask.v{LANE_COUNT}i1.i64(i64, i64)
declare i1 @llvm.vector.reduce.or.v{LANE_COUNT}i1(<{LANE_COUNT} x i1>)
declare double @llvm.vector.reduce.fadd.v{LANE_COUNT}f64(double, <{LANE_COUNT} x double>)
declare i64 @llvm.smin.i64(i64, i64)
"""


class _PointText(NamedTuple):
    """The text of a program of many points: these one after the other, or `over_points` as many at once as there are lanes.

    The last lanes may be without a point of their own: they compute the last point's results again, and add nothing to totals.
    """

    program: Program
    words: _Words
    over_points: bool = False

    def written(self, name: str) -> str:
        """Return text of the function of a name."""
        program, levels, words = self.program, self._levels(), self.words
        kept, once = self._of_sections(levels), program.outputs[ONCE].values
        store, own = (self._put_first, words) if self.over_points else (words.stored, _Words(SINGLE))
        sums = {} if self.over_points else self._sums()
        start = [line for k, value in enumerate(once) for line in store(f"%once{k}", "%results", k, self._name(value))]
        return f"""{_OVER_POINTS if self.over_points else ""}
define i64 @{name}({", ".join(f"i64 %{name}_address" for name in ARGUMENTS)}) {{
entry:
{_lines(f"  %{name} = inttoptr i64 %{name}_address to ptr" for name in ARGUMENTS[1:])}
{_lines(self._of(levels, _ONCE))}
{_lines(start)}
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %point ]
  %known = phi {own.bits} [ {own.no_number}, %entry ], [ %z_bits, %point ]
{_lines(f"  %kept{k} = phi {words.kind} [ {words.number(0.0)}, %entry ], [ %v{k}, %point ]" for k in kept)}
  %more = icmp slt i64 %k, %count_address
  br i1 %more, label %look, label %done
look:
{_lines(self._rows())}
{_lines(self._section(own))}
  br i1 %moved, label %section, label %point
section:
{_lines(self._of(levels, _SECTIONS, "s"))}
  br label %point
point:
{_lines(f"  %v{k} = phi {words.kind} [ %s{k}, %section ], [ %kept{k}, %look ]" for k in kept)}
{_lines(self._of(levels, _POINTS, sums=sums))}
{_lines(self._results_of_lanes() if self.over_points else self._results(sums))}
  %next = add i64 %k, {LANE_COUNT if self.over_points else 1}
  br label %loop
done:
  ret i64 0
}}
"""

    def _levels(self) -> list[int]:
        levels: list[int] = []
        for operation, arguments in self.program.values:
            if operation in OPERATIONS:
                levels.append(max(levels[k] for k in arguments))
            elif operation == CONSTANT or arguments[0] == SHARED:
                levels.append(_ONCE)
            else:
                levels.append(_SECTIONS if arguments == (OWN, _SECTION) else _POINTS)
        return levels

    def _of_sections(self, levels: Sequence[int]) -> list[int]:
        """Return which values of a section are used at its points."""
        program = self.program
        used = {
            k
            for value, level in zip(program.values, levels, strict=True)
            if level == _POINTS and value.operation in OPERATIONS
            for k in value.arguments
        }
        used |= {k for name, output in program.outputs.items() if name != ONCE for k in output.values}
        return sorted(k for k in used if levels[k] == _SECTIONS)

    def _rows(self) -> Iterator[str]:
        """Yield the lines that tell where the numbers of a point, or of those in lanes, begin."""
        sizes = self.program.inputs[OWN], self.program.inputs[LOADS], len(self.program.outputs[EACH].values)
        rows = [*zip((OWN, LOADS, EACH), sizes, strict=True)]
        if not self.over_points:
            yield from (f"  %{name}_row = mul i64 %k, {size}" for name, size in rows)
            return
        yield f"  %there = call {self.words.truth} @llvm.get.active.lane.mask.v{LANE_COUNT}i1.i64(i64 %k, i64 %count_address)"
        yield "  %last = sub i64 %count_address, 1"
        for lane in range(LANE_COUNT):
            yield f"  %lane{lane} = add i64 %k, {lane}"
            yield f"  %point{lane} = call i64 @llvm.smin.i64(i64 %lane{lane}, i64 %last)"
            yield from (f"  %{name}_row{lane} = mul i64 %point{lane}, {size}" for name, size in rows)

    def _section(self, own: _Words) -> Iterator[str]:
        """Yield the lines that read points' z and tell whether it changes; without one, all points are one section."""
        if self.program.inputs[OWN] <= _SECTION:
            yield f"  %z = fadd {own.kind} {own.number(0.0)}, {own.number(0.0)}"
        elif self.over_points:
            yield from self._of_points("%z", OWN, _SECTION)
        else:
            yield f"  %z_place = add i64 %own_row, {_SECTION}"
            yield from own.loaded("%z", "%own", "%z_place")
        moved = "%moved" if not self.over_points else "%each_moved"
        yield f"  %z_bits = bitcast {own.kind} %z to {own.bits}"  # zeros of both signs are two places
        yield f"  {moved} = icmp ne {own.bits} %z_bits, %known"
        if self.over_points:
            yield f"  %moved = call i1 @llvm.vector.reduce.or.v{LANE_COUNT}i1({own.truth} {moved})"

    def _of(self, levels: Sequence[int], level: int, prefix: str = "v", sums: Any = None) -> Iterator[str]:
        """Yield the lines that compute the values of a level, and add to totals those for which `sums` has lines."""
        turned = dict[str, str]()
        for k, (operation, arguments) in enumerate(self.program.values):
            if levels[k] != level or operation == CONSTANT:
                continue
            to = f"%{prefix}{k}"
            if operation == INPUT:
                yield from self._read(to, *arguments)
            else:
                own = [self._name(j, prefix if levels[j] == level else "v") for j in arguments]
                yield from self.words.operation(to, operation, own, turned)
            yield from (sums or {}).pop(k, ())

    def _read(self, to: str, source: str, place: int) -> list[str]:
        """Return the lines that read a number, the same for all lanes unless it is theirs; what is carried is behind totals."""
        if self.over_points and source != SHARED:
            return [*self._of_points(to, source, place)]
        carried = len(self.program.outputs[TOTALS].values)
        row = {SHARED: "0", OWN: "%own_row", LOADS: "%loads_row", CARRIED: f"{carried}"}[source]
        at = f"{to}.p = add i64 {row}, {place}"
        if source != (SHARED if self.over_points else OWN) or not self.words.form:
            return [at, *self.words.loaded(to, "%results" if source == CARRIED else f"%{source}", f"{to}.p")]
        kind, one = self.words.kind, f"{to}.n.at = getelementptr double, ptr %{source}, i64 {to}.p"
        first = f"{to}.f = insertelement {kind} poison, double {to}.n, i64 0"
        alike = f"{kind} poison, <{LANE_COUNT} x i32> zeroinitializer"
        return [at, one, f"{to}.n = load double, ptr {to}.n.at", first, f"{to} = shufflevector {kind} {to}.f, {alike}"]

    def _of_points(self, to: str, source: str, place: int) -> Iterator[str]:
        """Yield the lines that read a number of each point in lanes."""
        whole = "poison"
        for lane in range(LANE_COUNT):
            made = to if lane == LANE_COUNT - 1 else f"{to}.{lane}"
            yield f"{made}.p = add i64 %{source}_row{lane}, {place}"
            yield from _Words(SINGLE).loaded(f"{made}.n", f"%{source}", f"{made}.p")
            yield f"{made} = insertelement {self.words.kind} {whole}, double {made}.n, i64 {lane}"
            whole = made

    def _put_first(self, name: str, pointer: str, place: int | str, value: str) -> Iterator[str]:
        """Yield the lines that store the number in the first lane."""
        yield f"{name}.n = extractelement {self.words.kind} {value}, i64 0"
        yield from _Words(SINGLE).stored(name, pointer, place, f"{name}.n")

    def _name(self, k: int, prefix: str = "v") -> str:
        operation, arguments = self.program.values[k]
        return self.words.number(arguments[0]) if operation == CONSTANT else f"%{prefix}{k}"

    def _results_of_lanes(self) -> Iterator[str]:
        """Yield the lines that add to totals, point by point, and store results at each point."""
        totals, each = (self.program.outputs[name].values for name in (TOTALS, EACH))
        kind, truth, single, whole = self.words.kind, self.words.truth, _Words(SINGLE), len(totals) // LANE_COUNT * LANE_COUNT
        for k, value in enumerate(totals):  # zero with a minus changes no sum
            yield f"%term{k} = select {truth} %there, {kind} {self._name(value)}, {kind} {self.words.number(-0.0)}"
        for k in range(0, whole, LANE_COUNT):
            yield f"%total{k}.at = getelementptr double, ptr %results, i64 {k}"
            yield f"%total{k} = load {kind}, ptr %total{k}.at, align 8"
            yield from self._turned(f"%terms{k}", [f"%term{k + lane}" for lane in range(LANE_COUNT)])
            for lane in range(LANE_COUNT):
                before = f"%sum{k}.{lane - 1}" if lane else f"%total{k}"
                yield f"%sum{k}.{lane} = fadd {kind} {before}, %terms{k}.{lane}"
            yield f"store {kind} %sum{k}.{LANE_COUNT - 1}, ptr %total{k}.at, align 8"
        for k in range(whole, len(totals)):
            yield from single.loaded(f"%total{k}", "%results", k)
            added = f"@llvm.vector.reduce.fadd.v{LANE_COUNT}f64(double %total{k}, {kind} %term{k})"
            yield f"%sum{k} = call double {added}"
            yield f"store double %sum{k}, ptr %total{k}.at, align 8"
        for k, value in enumerate(each):
            for lane in range(LANE_COUNT):
                to = f"%each{k}.{lane}"
                yield f"{to}.p = add i64 %each_row{lane}, {len(totals) + k}"
                yield f"{to}.n = extractelement {kind} {self._name(value)}, i64 {lane}"
                yield from single.stored(to, "%results", f"{to}.p", f"{to}.n")

    def _turned(self, to: str, rows: Sequence[str]) -> Iterator[str]:
        """Yield the lines that make columns of rows: of numbers in lanes, as many as there are lanes."""
        kind, names, size = self.words.kind, [*rows], 1
        while size < LANE_COUNT:
            low = [LANE_COUNT + lane - size if lane & size else lane for lane in range(LANE_COUNT)]
            masks = [", ".join(f"i32 {place + shift}" for place in low) for shift in (0, size)]
            step = to if 2 * size == LANE_COUNT else f"{to}.{size}"
            for k in (k for k in range(LANE_COUNT) if not k & size):
                pair = names[k], names[k + size]
                names[k], names[k + size] = f"{step}.{k}", f"{step}.{k + size}"
                for name, mask in zip((names[k], names[k + size]), masks, strict=True):
                    yield f"{name} = shufflevector {kind} {pair[0]}, {kind} {pair[1]}, <{LANE_COUNT} x i32> <{mask}>"
            size *= 2

    def _sums(self) -> dict[int, list[str]]:
        """Return the lines that add values to totals: those that follow a value at once need no room until all are known."""
        sums, kind = dict[int, list[str]](), self.words.kind
        for k, value in enumerate(self.program.outputs[TOTALS].values):
            lines = [*self.words.loaded(f"%total{k}", "%results", k), f"%sum{k} = fadd {kind} %total{k}, {self._name(value)}"]
            sums.setdefault(value, []).extend([*lines, f"store {kind} %sum{k}, ptr %total{k}.at, align 8"])
        return sums

    def _results(self, sums: dict[int, list[str]]) -> Iterator[str]:
        """Yield the lines that add what is left of `sums` to totals, carry numbers on and store results at each point."""
        outputs, words, totals = self.program.outputs, self.words, len(self.program.outputs[TOTALS].values)
        carried = outputs[NEXT].values if NEXT in outputs else ()
        yield from (line for lines in sums.values() for line in lines)
        for k, value in enumerate(carried):
            yield from words.stored(f"%next{k}", "%results", totals + k, self._name(value))
        for k, value in enumerate(outputs[EACH].values):
            yield f"%each{k}p = add i64 %each_row, {totals + len(carried) + k}"
            yield from words.stored(f"%each{k}", "%results", f"%each{k}p", self._name(value))


class _SystemText:
    """The text of the program of a whole system: its parts are functions, and loops between them."""

    def __init__(self, program: Program, words: _Words) -> None:
        self.program, self.words = program, words
        count = sum(value.operation in OPERATIONS for value in program.values)
        self.parts: list[list[int] | int] = list(_parts(program, count if count <= WHOLE else CHUNK))
        #: In which part each value is computed, or the loop run whose result it is.
        self.made = {
            k: part for part, values in enumerate(self.parts) for k in (values if isinstance(values, list) else [values])
        }
        self.made |= {k: self.made[value.arguments[0]] for k, value in enumerate(program.values) if value.operation == TOTAL}
        self.places, self.room = rooms(self._lives())
        self.outputs: dict[int, list[tuple[int, int]]] = {}
        for output, (values, _) in enumerate(program.outputs.values()):
            for place, k in enumerate(values):
                self.outputs.setdefault(k, []).append((output, place))

    def _lives(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield what lies in the room: loops' results, and values for which other parts ask."""
        values, last = self.program.values, dict[int, int]()
        asked = [*self.parts, [k for of in self.program.outputs.values() for k in of.values if values[k].operation == TOTAL]]
        for part, each in enumerate(asked):
            if part == len(self.parts):
                used: Iterable[int] = each if isinstance(each, list) else ()
            elif isinstance(each, int):
                used = self.program.loops[values[each].arguments[0]].given
            else:
                used = (j for k in each for j in values[k].arguments)
            for j in used:
                if self.made.get(j, part) != part:
                    last[values[j].arguments[0] if values[j].operation == TOTAL else j] = part
        for part, each in enumerate(self.parts):
            if isinstance(each, int):
                yield each, self.program.loops[values[each].arguments[0]].size, part, last[each]
            else:
                yield from ((k, 1, part, last[k]) for k in each if k in last)

    def written(self) -> str:
        """Return text of the function ``native``, called by numba's convention."""
        names = [*self.program.inputs, *self.program.outputs]
        native = ", ".join(
            f"ptr %m{k}, ptr %p{k}, i64 %n{k}, i64 %b{k}, ptr noalias %data{k}, i64 %e{k}, i64 %s{k}" for k in range(len(names))
        )
        kind, loops = self.words.kind, self.program.loops
        given = [*(f"ptr %data{k}" for k in range(len(names))), "ptr %room"]
        taken = max((len(loop.shared) + len(loop.loads) for loop in loops), default=0)
        bodies = {loop.program.identity: loop.program for loop in loops}
        self.bodies = {identity: f"loop{k}" for k, identity in enumerate(bodies)}
        calls, functions = list[str](), list[str]()
        for part, values in enumerate(self.parts):
            if isinstance(values, int):
                calls += self._run(values)
            else:
                calls.append(f"  call void @part{part}({', '.join(given)})")
                functions.append(f"""
define internal void @part{part}({", ".join(given)}) noinline {{
{_lines(self._part(part, values))}
  ret void
}}
""")
        points = [_points(k, loop) for k, loop in enumerate(loops)]
        text = [_PointText(body, self.words).written(self.bodies[identity]) for identity, body in bodies.items()]
        return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{_lines(points)}
{_lines(text)}
{_lines(functions)}
define i32 @native(ptr %result, ptr %fault, {native}) {{
  %room = alloca {kind}, i64 {max(self.room, 1)}, align 64
  %taken = alloca {kind}, i64 {max(taken, 1)}, align 64
{_lines(calls)}
  store i64 0, ptr %result
  ret i32 0
}}
"""

    def _part(self, part: int, values: Sequence[int]) -> Iterator[str]:
        words, program, known, turned = self.words, self.program, set[int](values), dict[str, str]()
        is_last = part == max(k for k, each in enumerate(self.parts) if isinstance(each, list))
        mine = [*values, *(k for k in self.outputs if is_last and self.program.values[k].operation not in OPERATIONS)]
        for k in mine:
            operation, arguments = program.values[k]
            asked = arguments if operation in OPERATIONS else [k]
            for j in asked:
                if j not in known and program.values[j].operation != CONSTANT:
                    known.add(j)
                    yield from words.loaded(f"%v{j}", *self._source(j))
            if operation in OPERATIONS:
                yield from words.operation(f"%v{k}", operation, [self._name(j) for j in arguments], turned)
            if k in self.places:
                yield from words.stored(f"%kept{k}", "%room", self.places[k], f"%v{k}")
            for output, place in self.outputs.get(k, ()):
                yield from words.stored(f"%out{output}.{place}", f"%data{len(program.inputs) + output}", place, self._name(k))

    def _source(self, k: int) -> tuple[str, int]:
        """Return where a value lies that is not computed in this part."""
        operation, arguments = self.program.values[k]
        if operation == INPUT:
            return f"%data{list(self.program.inputs).index(arguments[0])}", arguments[1]
        return "%room", self.places[arguments[0]] + arguments[1] if operation == TOTAL else self.places[k]

    def _name(self, k: int) -> str:
        operation, arguments = self.program.values[k]
        return self.words.number(arguments[0]) if operation == CONSTANT else f"%v{k}"

    def _run(self, run: int) -> Iterator[str]:
        """Yield the lines that run a loop: what it takes is copied, what it carries to where results stand."""
        words, values, index = self.words, self.program.values, self.program.values[run].arguments[0]
        loop, results, size = self.program.loops[index], self.places[run], 8 * (LANE_COUNT if self.words.form else 1)
        for room, first, places in (("taken", 0, loop.shared + loop.loads), ("room", results + loop.sizes[0], loop.carried)):
            for at, count in neighbours(values, places):
                name, k = f"%{room}{run}.{at}", places[at]
                if count > 1:
                    pointer, source = self._source(k)
                    yield f"  {name}.to = getelementptr {words.kind}, ptr %{room}, i64 {first + at}"
                    yield f"  {name}.of = getelementptr {words.kind}, ptr {pointer}, i64 {source}"
                    copied = f"ptr {name}.to, ptr {name}.of, i64 {count * size}, i1 false"
                    yield f"  call void @llvm.memcpy.p0.p0.i64({copied})"
                    continue
                if values[k].operation != CONSTANT:
                    yield from words.loaded(name, *self._source(k))
                yield from words.stored(
                    f"{name}.to", f"%{room}", first + at, self._name(k) if values[k][0] == CONSTANT else name
                )
        yield f"  %loads{run} = getelementptr {words.kind}, ptr %taken, i64 {len(loop.shared)}"
        yield f"  %results{run} = getelementptr {words.kind}, ptr %room, i64 {results}"
        given = ("%taken", f"@points{index}", f"%loads{run}", f"%results{run}")
        for k, pointer in enumerate(given):
            yield f"  %address{run}.{k} = ptrtoint ptr {pointer} to i64"
        addresses = "".join(f", i64 %address{run}.{k}" for k in range(len(given)))
        yield f"  %done{run} = call i64 @{self.bodies[loop.program.identity]}(i64 {len(loop.points)}{addresses})"


def _points(k: int, loop: ProgramLoop) -> str:
    """Return text of the table of a loop."""
    numbers = loop.points.ravel().tolist() or [0.0]
    table = f"[{len(numbers)} x double] [{', '.join(f'double {_number(x)}' for x in numbers)}]"
    return f"@points{k} = private constant {table}, align 64"


def _parts(program: Program, size: int) -> Iterator[list[int] | int]:
    """Yield the operations in parts, and between them the loops."""
    part: list[int] = []
    for k, (operation, _) in enumerate(program.values):
        if operation == LOOP:
            if part:
                yield part
            yield k
            part = []
        elif operation in OPERATIONS:
            if len(part) >= size:
                yield part
                part = []
            part.append(k)
    yield part


def _number(value: float) -> str:
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def _lines(lines: Any) -> str:
    return "\n".join(lines)
