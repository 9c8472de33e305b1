"""How Python calls a kernel: a function in LLVM's language that reads Python's arguments and runs the compiled kernel.

It follows CPython's fast convention (``METH_FASTCALL``) and reads NumPy arrays where they lie in memory; that makes a call
cost about as much as one from C++. The layouts that it relies on are those of CPython's and NumPy's binary interfaces;
`obstacle` compares them with an array; where they are others, kernels are called through numba (`compilation`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.signatures import (
    FLAG,
    IN_LANES,
    OF_MEMBERS,
    RAISED,
    REAL,
    SINGLE,
    STOPPED,
    Signature,
    Type,
    lies_in_lanes,
)

#: Offsets (bytes) in an array object, after the head that every Python object has ...
_HEAD = object.__basicsize__
_CLASS, _DATA, _NDIM, _EXTENTS, _DTYPE, _FLAGS = _HEAD - 8, _HEAD, _HEAD + 8, _HEAD + 16, _HEAD + 40, _HEAD + 48
#: ... and in its dtype.
_BYTE_ORDER, _TYPE_NUMBER = _HEAD + 10, _HEAD + 12
#: C-contiguous, aligned and writeable.
_USABLE = 0x0001 | 0x0100 | 0x0400
_SWAPPED = ord(">" if sys.byteorder == "little" else "<")

_NUMPY = {"int64": np.dtype(np.int64), "float64": np.dtype(np.float64), "boolean": np.dtype(np.bool_)}
_LLVM = {"int64": "i64", "float64": "double", "boolean": "i8"}

#: What is used of Python: classes, under names of our own, and functions with their types in LLVM's notation.
PYTHON_CLASSES = {"titop_TypeError": TypeError, "titop_MemoryError": MemoryError}
PYTHON_FUNCTIONS = {
    "PyErr_SetString": ("void", "ptr, ptr"),
    "PyErr_Occurred": ("ptr", ""),
    "PyEval_SaveThread": ("ptr", ""),
    "PyEval_RestoreThread": ("void", "ptr"),
    "PyMem_RawMalloc": ("ptr", "i64"),
    "PyMem_RawFree": ("void", "ptr"),
    "PyLong_AsLongLong": ("i64", "ptr"),
    "PyFloat_AsDouble": ("double", "ptr"),
    "PyObject_IsTrue": ("i32", "ptr"),
    "PyLong_FromLongLong": ("ptr", "i64"),
    "PyFloat_FromDouble": ("ptr", "double"),
}
#: What numba's text may name of Python beside these, to say what an exception is about; the functions above do not ask for it.
EXCEPTION_FUNCTIONS = {"PyObject_Hash", "PyTuple_Pack", "PyUnicode_FromKindAndData"}
_DECLARATIONS = "\n".join(
    [f"@{name} = external global i8" for name in PYTHON_CLASSES]
    + [f"declare {result} @{name}({arguments})" for name, (result, arguments) in PYTHON_FUNCTIONS.items()]
)

#: What is the same for all kernels: reading arrays.
_COMMON = f"""
{_DECLARATIONS}

define private ptr @pointer_at(ptr %object, i64 %offset) alwaysinline {{
  %place = getelementptr i8, ptr %object, i64 %offset
  %pointer = load ptr, ptr %place
  ret ptr %pointer
}}

define private i32 @int_at(ptr %object, i64 %offset) alwaysinline {{
  %place = getelementptr i8, ptr %object, i64 %offset
  %int = load i32, ptr %place
  ret i32 %int
}}

define private i64 @extent(ptr %array, i64 %axis) alwaysinline {{
  %extents = call ptr @pointer_at(ptr %array, i64 {_EXTENTS})
  %place = getelementptr i64, ptr %extents, i64 %axis
  %extent = load i64, ptr %place
  ret i64 %extent
}}

define private i1 @is_array(ptr %object, ptr %ndarray, i32 %ndim, i32 %number) alwaysinline {{
  %class = call ptr @pointer_at(ptr %object, i64 {_CLASS})
  %is_ndarray = icmp eq ptr %class, %ndarray
  br i1 %is_ndarray, label %look, label %no
look:
  %has_ndim = call i32 @int_at(ptr %object, i64 {_NDIM})
  %right_ndim = icmp eq i32 %has_ndim, %ndim
  %has_flags = call i32 @int_at(ptr %object, i64 {_FLAGS})
  %flags = and i32 %has_flags, {_USABLE}
  %usable = icmp eq i32 %flags, {_USABLE}
  %dtype = call ptr @pointer_at(ptr %object, i64 {_DTYPE})
  %has_number = call i32 @int_at(ptr %dtype, i64 {_TYPE_NUMBER})
  %right_number = icmp eq i32 %has_number, %number
  %order_place = getelementptr i8, ptr %dtype, i64 {_BYTE_ORDER}
  %order = load i8, ptr %order_place
  %native = icmp ne i8 %order, {_SWAPPED}
  %shaped = and i1 %right_ndim, %usable
  %typed = and i1 %right_number, %native
  %fits = and i1 %shaped, %typed
  ret i1 %fits
no:
  ret i1 false
}}
"""

#: What becomes of memory that a kernel has made, under numba's names; it is shared with no other thread.
_COUNTING = """
define ptr @NRT_MemInfo_data_fast(ptr %head) {
  %place = getelementptr i8, ptr %head, i64 24
  %data = load ptr, ptr %place
  ret ptr %data
}

define void @NRT_incref(ptr %head) noinline {
  %is_nothing = icmp eq ptr %head, null
  br i1 %is_nothing, label %done, label %count
count:
  %users = load i64, ptr %head
  %more = add i64 %users, 1
  store i64 %more, ptr %head
  br label %done
done:
  ret void
}

define void @NRT_decref(ptr %head) noinline {
  %is_nothing = icmp eq ptr %head, null
  br i1 %is_nothing, label %done, label %count
count:
  %users = load i64, ptr %head
  %rest = sub i64 %users, 1
  store i64 %rest, ptr %head
  %is_used = icmp ne i64 %rest, 0
  br i1 %is_used, label %done, label %free
free:
  call void @NRT_MemInfo_call_dtor(ptr %head)
  br label %done
done:
  ret void
}
"""

#: Memory for arrays that kernels make, likewise.
_MEMORY = (
    _COUNTING
    + """
; numba's head of allocated memory (its count of references first, the address of the data at 24 bytes, the size of all at 32),
; then the data. Pieces from 1 KB to 256 KB wait, where they were freed, for the next that asks for about as much, in whatever
; thread: the rooms of a pass do for every state
@titop_kept = external global i64

define private i64 @exchanged(i64 %size, i64 %head) {
  %above = sub i64 %size, 1024
  %is_kept = icmp ult i64 %above, 261120
  %lines = lshr i64 %size, 6
  %slot = and i64 %lines, 63
  br i1 %is_kept, label %exchange, label %done
exchange:
  %place = getelementptr i64, ptr @titop_kept, i64 %slot
  %before = atomicrmw xchg ptr %place, i64 %head acq_rel
  ret i64 %before
done:
  ret i64 %head
}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %with_head = add i64 %size, 127
  %word = call i64 @exchanged(i64 %with_head, i64 0)
  %waiting = inttoptr i64 %word to ptr
  %is_nothing = icmp eq i64 %word, 0
  br i1 %is_nothing, label %ask, label %look
look:
  %size_place = getelementptr i8, ptr %waiting, i64 32
  %has = load i64, ptr %size_place
  %fits = icmp uge i64 %has, %with_head
  br i1 %fits, label %use, label %drop
use:
  store i64 1, ptr %waiting
  ret ptr %waiting
drop:
  call void @PyMem_RawFree(ptr %waiting)
  br label %ask
ask:
  %head = call ptr @PyMem_RawMalloc(i64 %with_head)
  %failed = icmp eq ptr %head, null
  br i1 %failed, label %done, label %fill
fill:
  store i64 1, ptr %head
  %start = ptrtoint ptr %head to i64
  %past = add i64 %start, 127
  %aligned = and i64 %past, -64
  %data = inttoptr i64 %aligned to ptr
  %place = getelementptr i8, ptr %head, i64 24
  store ptr %data, ptr %place
  %known = getelementptr i8, ptr %head, i64 32
  store i64 %with_head, ptr %known
  br label %done
done:
  ret ptr %head
}

define ptr @NRT_MemInfo_alloc(i64 %size) {
  %head = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 64)
  ret ptr %head
}

define ptr @NRT_Allocate(i64 %size) {
  %data = call ptr @PyMem_RawMalloc(i64 %size)
  ret ptr %data
}

define void @NRT_Free(ptr %data) {
  call void @PyMem_RawFree(ptr %data)
  ret void
}

define void @NRT_MemInfo_call_dtor(ptr %head) {
  %place = getelementptr i8, ptr %head, i64 32
  %size = load i64, ptr %place
  %word = ptrtoint ptr %head to i64
  %before = call i64 @exchanged(i64 %size, i64 %word)
  %unused = inttoptr i64 %before to ptr
  call void @PyMem_RawFree(ptr %unused)
  ret void
}
"""
)

#: Bytes of a number in all lanes.
_LANES_BYTES = 8 * LANE_COUNT


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


#: Where number k of a state is found.
_PLACES = (
    "%state{lane} = add i64 %row, {lane}",
    "%is_state{lane} = icmp slt i64 %state{lane}, %rows",
    "%from{lane} = select i1 %is_state{lane}, i64 %state{lane}, i64 %last",
    "%begin{lane} = mul i64 %from{lane}, %count",
    "%place{lane} = add i64 %begin{lane}, %k",
    "%number_at{lane} = getelementptr double, ptr %data, i64 %place{lane}",
)


def _transposing(name: str, before: str, of_each: tuple[str, ...], after: str) -> str:
    """Return a function between rows of `count` numbers and lanes, from state `row` on of `rows` in all, one number at a time.

    Lanes for which there is no state are those of the last one.
    """
    places = (
        line.format(lane=lane, before=lane - 1 if lane else "") for lane in range(LANE_COUNT) for line in (*_PLACES, *of_each)
    )
    return f"""
define private void @{name}(ptr %data, i64 %count, i64 %row, i64 %rows, ptr %lanes) {{
  %last = sub i64 %rows, 1
  br label %next
next:
  %k = phi i64 [0, %0], [%following, %move]
  %is_left = icmp slt i64 %k, %count
  br i1 %is_left, label %move, label %done
move:
  %at = getelementptr {_ALL}, ptr %lanes, i64 %k
  {before}
{_lines(places)}
  {after}
  %following = add i64 %k, 1
  br label %next
done:
  ret void
}}
"""


def _turning(name: str, first: str, last: str) -> str:
    """Return what `_transposing` does, by squares of numbers that are turned in registers.

    It is for processors that leave out some numbers of a register, beyond the end of a row, as quickly as they move all. In
    lanes it reads and writes beyond the last number, up to the end of a square.
    """
    places = [line.format(lane=lane) for lane in range(LANE_COUNT) for line in (*_PLACES, _IN_LANES, first)]
    places += _turned()
    places += [last.format(lane=lane) for lane in range(LANE_COUNT)]
    return f"""
define private void @{name}(ptr %data, i64 %count, i64 %row, i64 %rows, ptr %lanes) {{
  %last = sub i64 %rows, 1
  br label %next
next:
  %k = phi i64 [0, %0], [%following, %move]
  %left = sub i64 %count, %k
  %is_left = icmp sgt i64 %left, 0
  br i1 %is_left, label %move, label %done
move:
  %at = getelementptr {_ALL}, ptr %lanes, i64 %k
  %once = insertelement {_WORDS} poison, i64 %left, i32 0
  %all_left = shufflevector {_WORDS} %once, {_WORDS} poison, <{LANE_COUNT} x i32> zeroinitializer
  %is_number = icmp slt {_WORDS} <{", ".join(f"i64 {lane}" for lane in range(LANE_COUNT))}>, %all_left
{_lines(places)}
  %following = add i64 %k, {LANE_COUNT}
  br label %next
done:
  ret void
}}
"""


def _turned() -> Iterator[str]:
    """Yield the lines that turn a square of rows ``%turned1.0``, ... : blocks of one number are exchanged, of two, of four."""
    for step in (1 << k for k in range(LANE_COUNT.bit_length() - 1)):
        for one, other in ((lane, lane + step) for lane in range(LANE_COUNT) if not lane & step):
            both = f"{_ALL} %turned{step}.{one}, {_ALL} %turned{step}.{other}"
            for to, start in ((one, 0), (other, step)):
                taken = (start + (LANE_COUNT + k - step if k & step else k) for k in range(LANE_COUNT))
                chosen = f"<{LANE_COUNT} x i32> <{', '.join(f'i32 {k}' for k in taken)}>"
                yield f"%turned{2 * step}.{to} = shufflevector {both}, {chosen}"


#: A number in each lane.
_ALL = f"<{LANE_COUNT} x double>"
_LOADED = "%number{lane} = load double, ptr %number_at{lane}"
_PLACED = f"%all{{lane}} = insertelement {_ALL} %all{{before}}, double %number{{lane}}, i32 {{lane}}"
_TAKEN = f"%number{{lane}} = extractelement {_ALL} %all, i32 {{lane}}"
_STORED = "store double %number{lane}, ptr %number_at{lane}"
_WORDS, _IS_NUMBER, _ROW_AT = f"<{LANE_COUNT} x i64>", f"<{LANE_COUNT} x i1> %is_number", "ptr %number_at{lane}, i32 8"
_LOAD_ROW, _STORE_ROW = (f"@llvm.masked.{what}.v{LANE_COUNT}f64.p0" for what in ("load", "store"))
_IN_LANES = f"%lane_at{{lane}} = getelementptr {_ALL}, ptr %at, i64 {{lane}}"
#: Rows of numbers into lanes, and back.
_LANES = (
    f"""
declare {_ALL} {_LOAD_ROW}(ptr, i32, <{LANE_COUNT} x i1>, {_ALL})
declare void {_STORE_ROW}({_ALL}, ptr, i32, <{LANE_COUNT} x i1>)
"""
    + _turning(
        "load_lanes",
        f"%turned1.{{lane}} = call {_ALL} {_LOAD_ROW}({_ROW_AT}, {_IS_NUMBER}, {_ALL} zeroinitializer)",
        f"store {_ALL} %turned{LANE_COUNT}.{{lane}}, ptr %lane_at{{lane}}",
    )
    + _turning(
        "store_lanes",
        f"%turned1.{{lane}} = load {_ALL}, ptr %lane_at{{lane}}",
        f"call void {_STORE_ROW}({_ALL} %turned{LANE_COUNT}.{{lane}}, {_ROW_AT}, {_IS_NUMBER})",
    )
    if LANE_COUNT == 8
    else _transposing(
        "load_lanes", f"%all = freeze {_ALL} undef", (_LOADED, _PLACED), f"store {_ALL} %all{LANE_COUNT - 1}, ptr %at"
    )
    + _transposing("store_lanes", f"%all = load {_ALL}, ptr %at", (_TAKEN, _STORED), "")
)


def python_function(name: str, native: str, signature: Signature) -> str:
    """Return LLVM text of a function `name` that Python can call and that runs the kernel that numba named `native`.

    Its ``self`` is NumPy's class of arrays. It lets other threads run meanwhile. A `TypeError` says that arguments are not
    those of the kernel, a `MemoryError` that it stopped; what the conversion of a number raises goes on to the caller.
    """
    begin, end = _python_caller(name, native, signature, _native_arguments(signature))
    return f"""{_COMMON}{_MEMORY}{begin}
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 @"{native}"({", ".join(_native_arguments(signature))})
  call void @PyEval_RestoreThread(ptr %thread)
  %worked = icmp eq i32 %status, 0
  br i1 %worked, label %answer, label %stopped
{end}"""


def _python_caller(name: str, native: str, signature: Signature, passed: list[str]) -> tuple[str, str]:
    """Return LLVM text of what comes before and after the call of a kernel: reading Python's arguments, and answering.

    What is between goes on to the labels `answer` or `stopped`. `passed` is what the kernel gets.
    """
    given = [kind for kind in signature.arguments if kind.given]
    refusal = f"expected {name}({', '.join(map(str, given))}), arrays writeable"
    stop = f"{name}: no memory, or an index out of bounds where numba checks them"
    arguments = list(enumerate(given))
    numbers = [(k, kind) for k, kind in arguments if not kind.ndim]
    arrays = [(k, kind) for k, kind in arguments if kind.ndim]
    begin = f"""
{_string("refusal", refusal)}
{_string("stop", stop)}
declare i32 @"{native}"({", ".join(part.split()[0] for part in passed)})

define ptr @{name}(ptr %ndarray, ptr %arguments, i64 %count) {{
  %result = alloca {_LLVM[signature.result.dtype]}
  %fault = alloca ptr
  %counted = icmp eq i64 %count, {len(arguments)}
  br i1 %counted, label %convert, label %refuse
convert:
{_lines(f"%given{k} = call ptr @pointer_at(ptr %arguments, i64 {8 * k})" for k, _ in arguments)}
{_lines(line for k, kind in numbers for line in _convert(k, kind))}
  br label %look
look:
{_lines(_look(arrays))}
read:
{_lines(line for k, kind in arrays for line in _read(k, kind))}"""
    end = f"""answer:
{_lines(_answer(signature.result))}
refuse:
  call void @PyErr_SetString(ptr @titop_TypeError, ptr @refusal)
  br label %give_up
stopped:
  call void @PyErr_SetString(ptr @titop_MemoryError, ptr @stop)
  br label %give_up
give_up:
  ret ptr null
}}
"""
    return begin, end


def _native_arguments(signature: Signature, form: str = SINGLE) -> list[str]:
    """Return what numba's convention passes to a kernel in a form."""
    places, passed = iter(range(len(signature.arguments))), ["ptr %result", "ptr %fault"]
    for kind in signature.arguments:
        if not kind.given:
            passed += _nothing(kind)
        elif lies_in_lanes(kind, form):
            passed += _passed_lanes(next(places), kind)
        else:
            passed += _passed(next(places), kind)
    return passed


def stage_function(name: str, native: str, signature: Signature, memory: str = _MEMORY) -> str:
    """Return LLVM text of a function `name` of integers that runs the kernel that numba named `native`.

    Without `memory` it is numba that gives it memory.
    """
    memory = memory or f"{_COUNTING}\ndeclare void @NRT_MemInfo_call_dtor(ptr)"
    given = [f"i64 %given{k}" for k in range(len(signature.arguments))]
    return f"""{_DECLARATIONS}{memory}
declare void @{STOPPED}(ptr)
declare i32 @"{native}"({", ".join(["ptr", "ptr", *["i64"] * len(given)])})

define i64 @{name}({", ".join(given)}) {{
  %result = alloca i64
  %fault = alloca ptr
  store ptr null, ptr %fault
  %status = call i32 @"{native}"({", ".join(["ptr %result", "ptr %fault", *given])})
  %worked = icmp eq i32 %status, 0
  br i1 %worked, label %answer, label %stopped
answer:
  %answered = load i64, ptr %result
  ret i64 %answered
stopped:
  %record = load ptr, ptr %fault
  call void @{STOPPED}(ptr %record)
  ret i64 {RAISED}
}}
"""


def stacked_function(name: str, native: str, signature: Signature, form: str = IN_LANES) -> str:
    """Return LLVM text of a function `name` that Python can call with stacked states, and that computes with several at once.

    It runs the kernel that numba named `native`, for which what is ``stacked`` lies in lanes (see `lanes`); Python passes
    arrays with one axis more, the first. It answers with the first status that is not zero. Where fewer states are left than
    there are lanes, the last one fills the rest.
    """
    given = [(k, kind) for k, kind in enumerate(kind for kind in signature.arguments if kind.given)]
    each = [(k, kind) for k, kind in given if lies_in_lanes(kind, IN_LANES)]
    tables = [(k, kind) for k, kind in given if lies_in_lanes(kind, form) and (k, kind) not in each]
    first, last = each[0][0], each[-1][0]
    stacked = (_with_more_axes(kind, form) for kind in signature.arguments)
    passed = _native_arguments(signature, form)
    begin, end = _python_caller(name, native, Signature(tuple(stacked), signature.result), passed)
    return f"""{_COMMON}{_MEMORY}{_LANES}{begin}
  %rows = add i64 %extent{first}.0, 0
{_lines(_compare_rows(each, tables))}
compared:
{_lines(_sizes_in_lanes(each, tables))}
  %whole = add i64 %bytes{last}, {(1 + LANE_COUNT) * _LANES_BYTES}
  %room = call ptr @PyMem_RawMalloc(i64 %whole)
  %thread = call ptr @PyEval_SaveThread()
  %is_full = icmp eq ptr %room, null
  br i1 %is_full, label %finish, label %prepare
prepare:
  %unaligned = ptrtoint ptr %room to i64
  %beyond = add i64 %unaligned, {_LANES_BYTES - 1}
  %aligned = and i64 %beyond, -{_LANES_BYTES}
{_lines(line for k, _ in each for line in _place_in_lanes(k))}
  store i64 0, ptr %result
  br label %next
next:
  %row = phi i64 [0, %prepare], [%following, %store]
  %is_there = icmp slt i64 %row, %rows
  br i1 %is_there, label %compute, label %finish
compute:
{_lines(line for k, _ in tables for line in _table_in_lanes(k))}
{_lines(_transposition("load_lanes", k) for k, kind in each if kind.stacked != "written")}
  %status = call i32 @"{native}"({", ".join(passed)})
  %worked = icmp eq i32 %status, 0
  br i1 %worked, label %look_at_status, label %finish
look_at_status:
  %told = load i64, ptr %result
  %is_well = icmp eq i64 %told, 0
  br i1 %is_well, label %store, label %finish
store:
{_lines(_transposition("store_lanes", k) for k, kind in each if kind.stacked != "read")}
  %following = add i64 %row, {LANE_COUNT}
  br label %next
finish:
  %answers = phi i1 [false, %compared], [true, %next], [false, %compute], [true, %look_at_status]
  call void @PyMem_RawFree(ptr %room)
  call void @PyEval_RestoreThread(ptr %thread)
  br i1 %answers, label %answer, label %stopped
{end}"""


def members_function(name: str, native: str, signature: Signature) -> str:
    """Return what `stacked_function` does, for states whose tables are their own as well.

    Python passes these in lanes already, aligned to them: arrays (blocks, ..., lanes) of as many states as fit into a block.
    """
    return stacked_function(name, native, signature, OF_MEMBERS)


def _with_more_axes(kind: Type, form: str) -> Type:
    """Return the type of what Python passes: stacked numbers have a first axis, tables in lanes have a last one as well."""
    return kind._replace(ndim=kind.ndim + 1 + (kind.stacked == "table")) if lies_in_lanes(kind, form) else kind


def _compare_rows(each: list[tuple[int, Type]], tables: list[tuple[int, Type]]) -> Iterator[str]:
    """Yield the lines that find whether all stacks have as many rows, and tables enough of them."""
    alike = "true"
    for k, kind in (*each, *tables):
        yield f"%is_alike{k} = icmp eq i64 %extent{k}.0, %rows"
        if (k, kind) in tables:
            yield f"%rows{k} = mul i64 %extent{k}.0, %extent{k}.{kind.ndim + 1}"
            yield f"%has_lanes{k} = icmp eq i64 %extent{k}.{kind.ndim + 1}, {LANE_COUNT}"
            yield f"%has_rows{k} = icmp sge i64 %rows{k}, %rows"
            yield f"%fits_rows{k} = and i1 %has_lanes{k}, %has_rows{k}"
        yield f"%alike{k} = and i1 {alike}, {'%fits_rows' if (k, kind) in tables else '%is_alike'}{k}"
        alike = f"%alike{k}"
    yield f"br i1 {alike}, label %compared, label %refuse"


def _sizes_in_lanes(each: list[tuple[int, Type]], tables: list[tuple[int, Type]]) -> Iterator[str]:
    """Yield the lines that count the numbers of arguments for a state, and the bytes of the lanes up to each stacked one."""
    before = "0"
    for k, kind in (*each, *tables):
        yield f"%count{k}.{kind.ndim + 1} = add i64 1, 0"
        for axis in reversed(range(1, kind.ndim + 1)):
            yield f"%count{k}.{axis} = mul i64 %count{k}.{axis + 1}, %extent{k}.{axis}"
        for axis in range(1, kind.ndim + 1):
            yield f"%wide{k}.{axis} = mul i64 %count{k}.{axis + 1}, {_LANES_BYTES}"
        if (k, kind) in each:
            yield f"%size{k} = mul i64 %count{k}.1, {_LANES_BYTES}"
            yield f"%before{k} = add i64 {before}, 0"
            yield f"%bytes{k} = add i64 %before{k}, %size{k}"
            before = f"%bytes{k}"


def _table_in_lanes(k: int) -> Iterator[str]:
    yield f"%begin{k} = mul i64 %row, %count{k}.1"
    yield f"%lanes{k} = getelementptr double, ptr %data{k}, i64 %begin{k}"


def _place_in_lanes(k: int) -> Iterator[str]:
    yield f"%begin{k} = add i64 %aligned, %before{k}"
    yield f"%lanes{k} = inttoptr i64 %begin{k} to ptr"


def _transposition(function: str, k: int) -> str:
    return f"call void @{function}(ptr %data{k}, i64 %count{k}.1, i64 %row, i64 %rows, ptr %lanes{k})"


def _passed_lanes(k: int, kind: Type) -> Iterator[str]:
    """Yield what numba's convention passes for the stacked argument `k`, whose numbers lie in lanes."""
    yield from ("ptr null", "ptr null", f"i64 %count{k}.1", f"i64 {_LANES_BYTES}", f"ptr %lanes{k}")
    yield from (f"i64 %extent{k}.{axis}" for axis in range(1, kind.ndim + 1))
    yield from (f"i64 %wide{k}.{axis}" for axis in range(1, kind.ndim + 1))


def part_memory() -> str:
    """Return LLVM text of the memory that shared parts ask for, which only kernels call."""
    return _DECLARATIONS + _MEMORY


def _convert(k: int, kind: Type) -> Iterator[str]:
    """Yield the lines that convert the argument `k`, a number: before arrays are looked at, since Python code may run."""
    if kind is REAL:
        yield f"%number{k} = call double @PyFloat_AsDouble(ptr %given{k})"
    elif kind is FLAG:
        yield f"%truth{k} = call i32 @PyObject_IsTrue(ptr %given{k})"
        yield f"%number{k} = trunc i32 %truth{k} to i8"
    else:
        yield f"%number{k} = call i64 @PyLong_AsLongLong(ptr %given{k})"
    yield f"%raised{k} = call ptr @PyErr_Occurred()"
    yield f"%converted{k} = icmp eq ptr %raised{k}, null"
    yield f"br i1 %converted{k}, label %after{k}, label %give_up"
    yield f"after{k}:"


def _look(arrays: list[tuple[int, Type]]) -> Iterator[str]:
    """Yield the lines that find whether the arrays fit."""
    fits = "true"
    for k, kind in arrays:
        number = _NUMPY[kind.dtype].num
        yield f"%is{k} = call i1 @is_array(ptr %given{k}, ptr %ndarray, i32 {kind.ndim}, i32 {number})"
        yield f"%fits{k} = and i1 {fits}, %is{k}"
        fits = f"%fits{k}"
    yield f"br i1 {fits}, label %read, label %refuse"


def _read(k: int, kind: Type) -> Iterator[str]:
    """Yield the lines that read address, extents and strides of the argument `k`, an array."""
    yield f"%data{k} = call ptr @pointer_at(ptr %given{k}, i64 {_DATA})"
    yield f"%size{k}.{kind.ndim} = add i64 1, 0"
    for axis in reversed(range(kind.ndim)):
        yield f"%extent{k}.{axis} = call i64 @extent(ptr %given{k}, i64 {axis})"
        yield f"%size{k}.{axis} = mul i64 %size{k}.{axis + 1}, %extent{k}.{axis}"
        yield f"%stride{k}.{axis} = mul i64 %size{k}.{axis + 1}, {_NUMPY[kind.dtype].itemsize}"


def _passed(k: int, kind: Type) -> Iterator[str]:
    """Yield what numba's convention passes for the argument `k`; for an array: owners, size, itemsize, data, shape, strides."""
    if not kind.ndim:
        yield f"{_LLVM[kind.dtype]} %number{k}"
        return
    yield from ("ptr null", "ptr null", f"i64 %size{k}.0", f"i64 {_NUMPY[kind.dtype].itemsize}", f"ptr %data{k}")
    yield from (f"i64 %extent{k}.{axis}" for axis in range(kind.ndim))
    yield from (f"i64 %stride{k}.{axis}" for axis in range(kind.ndim))


def _nothing(kind: Type) -> Iterator[str]:
    """Yield what numba's convention passes for an array without numbers."""
    yield from ("ptr null", "ptr null", "i64 0", "i64 8", "ptr null", *["i64 0"] * (2 * kind.ndim))


def _answer(result: Type) -> Iterator[str]:
    if result is REAL:
        yield "%number = load double, ptr %result"
        yield "%object = call ptr @PyFloat_FromDouble(double %number)"
    else:
        yield "%number = load i64, ptr %result"
        yield "%object = call ptr @PyLong_FromLongLong(i64 %number)"
    yield "ret ptr %object"


def _string(name: str, text: str) -> str:
    return f'@{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"'


#: Set to ``numba``, it lets Python call kernels through numba's own functions.
SETTING = "TITOP_CALLS"


@functools.cache
def obstacle() -> str | None:
    """Return why the functions above cannot be used in this process, or None where they can."""
    if os.environ.get(SETTING) == "numba":
        return f"{SETTING} is set to numba"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "Python runs without its global lock"
    if not is_layout_known():
        return f"arrays of NumPy {np.__version__} lie in memory as titop does not know"
    return None


def is_layout_known() -> bool:
    """Tell whether arrays lie in memory as the functions above read them."""
    array = np.zeros((2, 3))

    def at(place: int, offset: int, kind: Any = ctypes.c_size_t) -> int:
        return kind.from_address(place + offset).value

    def is_known() -> Iterator[bool]:
        place, dtype = id(array), id(array.dtype)
        yield at(place, _CLASS) == id(np.ndarray)
        yield at(place, _DATA) == array.ctypes.data
        yield at(place, _NDIM, ctypes.c_int) == array.ndim
        yield at(place, _FLAGS, ctypes.c_int) & _USABLE == _USABLE
        yield at(place, _DTYPE) == dtype
        yield at(dtype, _TYPE_NUMBER, ctypes.c_int) == array.dtype.num
        yield at(dtype, _BYTE_ORDER, ctypes.c_ubyte) == ord("=")
        extents = at(place, _EXTENTS)
        yield (at(extents, 0), at(extents, 8)) == array.shape

    return all(is_known())  # one after the other: an address is followed only where those before it were right
