"""From a kernel to machine code, by numba and LLVM; loaded only where something is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container
from types import CellType, FunctionType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import cfunc, njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import typeof_impl

from titop.blocks.basics.choices import everywhere, rounded, select
from titop.solvers.native import (
    compilation,  # noqa: F401 - what kernels may call: plain functions of blocks
    object_code,
)
from titop.solvers.native.calling import (
    EXCEPTION_FUNCTIONS,
    PYTHON_FUNCTIONS,
    obstacle,
    part_memory,
    python_function,
    stage_function,
)
from titop.solvers.native.intrinsics import type_of
from titop.solvers.native.lanes import LANES, LANES_ADDRESS
from titop.solvers.native.object_code import LOADED, NUMBA, Codes, ObjectCode
from titop.solvers.native.parts import PartCompiler, SharedPart, SharedPartCompiler, known_operators, linked
from titop.solvers.native.sharing import door
from titop.solvers.native.signatures import SINGLE, Signature, Type, lies_in_lanes

#: From the names of a function and of its compiled form, and its signature, to LLVM text of what calls it.
Caller = Callable[[str, str, Signature], str]

#: Packages whose functions numba has forms of its own for.
_KNOWN_TO_NUMBA = {"numpy", "math", "cmath"}

#: Functions that kernels have in a form for lanes, too (see `lanes`).
_CHOICES = everywhere, rounded, select

#: Whose plain functions kernels may call.
_BLOCKS = "titop.blocks."

_ENTRY: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_PART = {**_ENTRY, "pipeline_class": PartCompiler}
_SHARED = {**_ENTRY, "pipeline_class": SharedPartCompiler}
_HELPER: dict[str, Any] = {
    **_PART,
    "forceinline": True,
    "_nrt": False,  # no counting of references: helpers may not allocate, entries pass them their arrays
}

#: Helpers of kernels that numba calls itself.
_DISPATCHED = {name: value for name, value in _HELPER.items() if name != "pipeline_class"}

#: What kernels may call of the C library, which every Python process has.
_C_LIBRARY = {"memcpy", "memmove", "memset", "fabs", "floor", "ceil", "fmod", "sqrt", "cbrt", "hypot", "pow"}
_C_LIBRARY |= {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh"}
_C_LIBRARY |= {"sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2"}


def inlined(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that becomes part of the kernels that call it."""
    return _for_any_number(njit(**(_HELPER if obstacle() is None else _DISPATCHED))(function))


def part(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that becomes part of the stage that calls it, and may allocate memory."""
    return njit(**(_PART if obstacle() is None else _ENTRY))(function)


def shared(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that is compiled once for all kernels that call it."""
    return _for_any_number(njit(**(_SHARED if obstacle() is None else _ENTRY))(function))


@typeof_impl.register(FunctionType)
def _of_blocks(function: Callable[..., Any], context: Any) -> Any:
    """Let kernels call plain functions of titop's blocks, such as laws that both engines run: they become part of them."""
    if function in _CHOICES:
        return type_of(function.__name__)
    return _inlined_once(function)._numba_type_ if function.__module__.startswith(_BLOCKS) else None


@functools.cache
def _inlined_once(function: Callable[..., Any]) -> Any:
    return inlined(function)


def users(function: Callable[..., Any]) -> Any:
    """Return numba's form of a user's function; it may call plain functions of its module."""
    return njit(**_ENTRY)(_with_compiled_names(function, (function,)))


def _for_any_number(dispatcher: Any) -> Any:
    """Let numba compile a function once for all plain numbers that it is called with, not for each anew."""
    find = dispatcher.get_call_template
    dispatcher.get_call_template = lambda arguments, named: find(tuple(map(types.unliteral, arguments)), named)
    return dispatcher


def _with_compiled_names(function: Any, within: tuple[Any, ...]) -> FunctionType:
    """Return a copy of a function that finds numba's forms of the plain functions that it calls by name."""

    def compiled(value: Any) -> Any:
        is_plain = isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in _KNOWN_TO_NUMBA
        is_plain = is_plain and value not in _CHOICES
        return njit(**_ENTRY)(_with_compiled_names(value, (*within, value))) if is_plain and value not in within else value

    names = {name: compiled(value) for name, value in function.__globals__.items() if name in function.__code__.co_names}
    cells = tuple(CellType(compiled(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__, cells or None
    )


def machine_code(
    name: str,
    function: Callable[..., Any],
    signature: Signature,
    caller: Caller = python_function,
    whole: bool = False,
    loaded: Container[str] = LOADED,
    form: str = SINGLE,
) -> Codes:
    """Return object code with a function `name` that can be called as the text of a `caller`, a function of `calling`, says.

    The `form` says what lies in lanes. If it is to be `whole`, shared parts are in it; else those that are not `loaded` come
    with it, compiled unless they are kept. It needs only Python and the C library. Stages may need more, which numba has: then
    they are whole.
    """
    dispatcher = njit(**_PART)(function)
    if not hasattr(dispatcher, "compile"):
        raise RuntimeError("NUMBA_DISABLE_JIT is set; unset it, or use resolve(engine='reference')")
    with global_compiler_lock, known_operators():
        dispatcher.compile(_numba_signature(signature, form))
    (compiled,) = dispatcher.overloads.values()
    part, native = compiled.library, compiled.fndesc.llvm_func_name
    module, shared = linked(part, name, caller(name, native, signature), whole)
    if caller is stage_function and form == SINGLE and _missing(module, shared):  # numba's memory is not aligned for lanes
        module, _ = linked(part, name, stage_function(name, native, signature, memory=""), whole=True)
        return {name: ObjectCode(_target().emit_object(module), (NUMBA,))}
    codes = {name: _emitted(name, module, shared)}
    while shared:
        part = shared.pop()
        if part.symbol in codes or part.symbol in loaded:
            continue
        if kept := object_code.read(part.symbol, loaded):
            codes |= kept
        else:
            module, more = linked(part, part.symbol, part_memory() + door(part.symbol, part.function))
            codes[part.symbol] = _emitted(part.symbol, module, more)
            shared += more
    return codes


def _numba_signature(signature: Signature, form: str) -> Any:
    """Return a signature in numba's types."""

    def numba_type(kind: Type) -> Any:
        dtype = getattr(types, kind.dtype)
        if lies_in_lanes(kind, form):
            dtype = LANES if dtype == types.float64 else LANES_ADDRESS
        return types.Array(dtype, kind.ndim, "C") if kind.ndim else dtype

    return numba_type(signature.result)(*map(numba_type, signature.arguments))


def _emitted(name: str, module: llvm.ModuleRef, shared: list[SharedPart]) -> ObjectCode:
    if missing := _missing(module, shared):
        raise RuntimeError(f"{name} needs {missing}, found in numba only; write the kernel without it")
    return ObjectCode(_target().emit_object(module), tuple(part.symbol for part in shared))


@functools.cache
def _target() -> llvm.TargetMachine:
    triple, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=3, codemodel="jitdefault", jit=True)


def _missing(module: llvm.ModuleRef, shared: list[SharedPart]) -> list[str]:
    """Return what a module needs, beside shared parts, that a process without numba does not have."""
    needed = {function.name for function in module.functions if function.is_declaration}
    known = PYTHON_FUNCTIONS.keys() | EXCEPTION_FUNCTIONS | _C_LIBRARY | {part.symbol for part in shared}
    return sorted(need for need in needed - known if not need.startswith("llvm."))


_OPTIONS: dict[str, Any] = {"error_model": "numpy"}


def dispatched(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a function that Python calls: compiled for one signature, a `TypeError` for arguments of other types."""
    dispatcher = njit(nogil=True, **_OPTIONS)(function)
    dispatcher.compile(str(signature))
    dispatcher.disable_compile()
    nothing = [None if kind.given else np.zeros((0,) * kind.ndim, kind.dtype) for kind in signature.arguments]

    def called(*given: Any) -> Any:
        if not all(x.dtype.isnative for x in given if isinstance(x, np.ndarray)):  # numba takes them for unaligned ones
            raise TypeError("expected arrays of the machine's own byte order")
        rest = iter(given)
        return dispatcher(*(next(rest) if empty is None else empty for empty in nothing), *rest)

    return called


def called_by_address(function: Callable[..., Any], signature: Signature) -> Any:
    """Return a compiled function of integers, which has its address as ``.address`` as long as it lives."""
    return cfunc(str(signature), **_OPTIONS)(function)
