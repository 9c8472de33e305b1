"""From a kernel to machine code, by numba and LLVM; loaded only where something is compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np
from numba import cfunc, njit, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import typeof_impl

from titop.blocks.basics.choices import everywhere, rounded, select
from titop.solvers.native.calling import obstacle
from titop.solvers.native.identity import KNOWN_TO_NUMBA
from titop.solvers.native.intrinsics import type_of
from titop.solvers.native.jets import JET, JETS_ADDRESS
from titop.solvers.native.lanes import LANES, LANES_ADDRESS
from titop.solvers.native.parts import PartCompiler, PlainCompiler, SharedPartCompiler, for_any_processor, known_operators
from titop.solvers.native.pieces import CodePiece
from titop.solvers.native.signatures import IN_LANES, OF_MEMBERS, Signature, Type, lies_in_lanes

#: Functions that kernels have in a form for lanes, too (see `lanes`).
_CHOICES = everywhere, rounded, select

#: Whose plain functions kernels may call.
_BLOCKS = "titop.blocks."

_ENTRY: dict[str, Any] = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_PART = {**_ENTRY, "pipeline_class": PartCompiler}
_SHARED = {**_ENTRY, "pipeline_class": SharedPartCompiler}
_PLAIN = {**_ENTRY, "pipeline_class": PlainCompiler}
_HELPER: dict[str, Any] = {
    **_PART,
    "forceinline": True,
    "_nrt": False,  # no counting of references: helpers may not allocate, entries pass them their arrays
}

#: Helpers of kernels that numba calls itself.
_DISPATCHED = {**_HELPER, "pipeline_class": PlainCompiler}


def inlined(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that becomes part of the kernels that call it."""
    return _for_any_number(njit(**(_HELPER if obstacle() is None else _DISPATCHED))(function))


def part(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that becomes part of the stage that calls it, and may allocate memory."""
    return njit(**(_PART if obstacle() is None else _PLAIN))(function)


def shared(function: Callable[..., Any]) -> Any:
    """Return numba's form of a function that is compiled once for all kernels that call it."""
    return _for_any_number(njit(**(_SHARED if obstacle() is None else _PLAIN))(function))


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
        is_plain = isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in KNOWN_TO_NUMBA
        is_plain = is_plain and value not in _CHOICES
        return njit(**_ENTRY)(_with_compiled_names(value, (*within, value))) if is_plain and value not in within else value

    names = {name: compiled(value) for name, value in function.__globals__.items() if name in function.__code__.co_names}
    cells = tuple(CellType(compiled(cell.cell_contents)) for cell in function.__closure__ or ())
    return FunctionType(
        function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__, cells or None
    )


def pieces(function: Callable[..., Any], signature: Signature, form: str, name: str) -> dict[str, CodePiece]:
    """Return a function in a `form`, under a name, and all that it calls, in LLVM's language."""
    dispatcher = njit(**_PART)(function)
    if not hasattr(dispatcher, "compile"):
        raise RuntimeError("NUMBA_DISABLE_JIT is set; unset it, or use resolve(engine='reference')")
    with global_compiler_lock, known_operators(), for_any_processor():
        dispatcher.compile(_numba_signature(signature, form))
        (compiled,) = dispatcher.overloads.values()
        first, *others = compiled.library.parts()
        return {name: first.piece} | {part.place: part.piece for part in others}


def _numba_signature(signature: Signature, form: str) -> Any:
    """Return a signature in numba's types; the `form` says what lies in lanes."""

    def numba_type(kind: Type) -> Any:
        dtype = getattr(types, kind.dtype)
        if lies_in_lanes(kind, form):
            many, address = (LANES, LANES_ADDRESS) if form in (IN_LANES, OF_MEMBERS) else (JET, JETS_ADDRESS)
            dtype = many if dtype == types.float64 else address
        return types.Array(dtype, kind.ndim, "C") if kind.ndim else dtype

    return numba_type(signature.result)(*map(numba_type, signature.arguments))


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
