"""From a kernel to machine code, by numba and LLVM; loaded only where something is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from titop.solvers.native.calling import EXCEPTION_FUNCTIONS, PYTHON_FUNCTIONS, obstacle, python_function, stage_function
from titop.solvers.native.loading import WITH_NUMBA
from titop.solvers.native.optimising import optimise
from titop.solvers.native.parts import PartCompiler, known_operators, linked
from titop.solvers.native.signatures import Signature

#: From the names of a function and of its compiled form, and its signature, to LLVM text of what calls it.
Caller = Callable[[str, str, Signature], str]

#: Packages whose functions numba has forms of its own for.
_KNOWN_TO_NUMBA = {"numpy", "math", "cmath"}

_ENTRY: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_PART = {**_ENTRY, "pipeline_class": PartCompiler}
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
    """Return numba's form of a function that becomes part of the kernels that call it.

    By itself numba compiles it anew for each plain number that it is called with.
    """
    dispatcher = njit(**(_HELPER if obstacle() is None else _DISPATCHED))(function)
    find = dispatcher.get_call_template
    dispatcher.get_call_template = lambda arguments, named: find(tuple(map(types.unliteral, arguments)), named)
    return dispatcher


def allocating(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that stages call; it may allocate memory, and call plain functions of its module."""
    return njit(**_ENTRY)(_with_compiled_names(function, (function,)))


def _with_compiled_names(function: Any, within: tuple[Any, ...]) -> FunctionType:
    """Return a copy of a function that finds numba's forms of the plain functions that it calls by name."""

    def compiled(value: Any) -> Any:
        is_plain = isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in _KNOWN_TO_NUMBA
        return njit(**_ENTRY)(_with_compiled_names(value, (*within, value))) if is_plain and value not in within else value

    names = {name: compiled(value) for name, value in function.__globals__.items() if name in function.__code__.co_names}
    cells = tuple(CellType(compiled(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__, cells or None
    )


def machine_code(name: str, function: Callable[..., Any], signature: Signature, caller: Caller = python_function) -> bytes:
    """Return object code with a function `name` that can be called as the text of a `caller`, a function of `calling`, says.

    It needs only Python and the C library. Stages may need more, which numba has: they begin with `loading.WITH_NUMBA`.
    """
    dispatcher = njit(**_PART)(function)
    if not hasattr(dispatcher, "compile"):
        raise RuntimeError("NUMBA_DISABLE_JIT is set; unset it, or use resolve(engine='reference')")
    with global_compiler_lock, known_operators():
        dispatcher.compile(str(signature))
    (compiled,) = dispatcher.overloads.values()
    module = _callable(compiled, caller(name, compiled.fndesc.llvm_func_name, signature))
    if not (missing := _missing(module)):
        return _target().emit_object(module)
    if caller is not stage_function:
        raise RuntimeError(f"{name} needs {missing}, found in numba only; write the kernel without it")
    text = stage_function(name, compiled.fndesc.llvm_func_name, signature, memory="")
    return WITH_NUMBA + _target().emit_object(_callable(compiled, text))


def _callable(compiled: Any, calling: str) -> llvm.ModuleRef:
    """Return a module of what numba compiled and of the text that calls it, optimised."""
    module = linked(compiled.library, compiled.fndesc.llvm_func_name)
    from_python = llvm.parse_assembly(calling)
    optimise(from_python, _target())
    module.link_in(from_python)
    return module


@functools.cache
def _target() -> llvm.TargetMachine:
    triple, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=3, codemodel="jitdefault", jit=True)


def _missing(module: llvm.ModuleRef) -> list[str]:
    """Return what a module needs that a process without numba does not have."""
    needed = {function.name for function in module.functions if function.is_declaration}
    known = PYTHON_FUNCTIONS.keys() | EXCEPTION_FUNCTIONS | _C_LIBRARY
    return sorted(need for need in needed - known if not need.startswith("llvm."))
