"""Machine code with the names of what must be loaded before it, and the files that keep both."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from titop.solvers.native import cache
from titop.solvers.native.calling import EXCEPTION_FUNCTIONS, PYTHON_CLASSES, PYTHON_FUNCTIONS

#: Among the names of what is needed: numba's own functions.
NUMBA = "numba"


class ObjectCode(NamedTuple):
    """Machine code of one function, not yet loaded.

    Attributes
    ----------
    code : bytes
    needs : tuple of str
        Names of shared parts (see `parts`), and `NUMBA`.
    is_kept : bool
        Whether the cache has it.
    """

    code: bytes
    needs: tuple[str, ...] = ()
    is_kept: bool = False


#: Machine code of a function and of the shared parts that it needs, by the names of their files.
Codes = Mapping[str, ObjectCode]


def read(name: str, loaded: Container[str] = ()) -> Codes | None:
    """Return what is kept of a function and of all that it needs, less what is `loaded`; None where anything is missing."""
    codes: dict[str, ObjectCode] = {}
    waiting = [name]
    while waiting:
        if (content := cache.read(wanted := waiting.pop())) is None:
            return None
        needs, _, code = content.partition(b"\n")
        codes[wanted] = found = ObjectCode(code, tuple(needs.decode().split()), True)
        waiting += [need for need in found.needs if need != NUMBA and need not in loaded and need not in codes]
    return codes


def keep(codes: Codes) -> str | None:
    """Keep what is not kept yet, the function itself last; return None, or why it is not kept."""
    for name, (code, needs, is_kept) in reversed(list(codes.items())):
        if not is_kept and (reason := cache.write(name, " ".join(needs).encode() + b"\n" + code)):
            return reason
    return None


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
for _name, _class in PYTHON_CLASSES.items():
    llvm.add_symbol(_name, id(_class))
for _name in (*PYTHON_FUNCTIONS, *EXCEPTION_FUNCTIONS):
    llvm.add_symbol(_name, ctypes.cast(ctypes.pythonapi[_name], ctypes.c_void_p).value)
#: Addresses of memory that waits for kernels: see `calling`.
_kept = (ctypes.c_int64 * 64)()
llvm.add_symbol("titop_kept", ctypes.addressof(_kept))

_METH_FASTCALL = 0x0080

#: Names of the shared parts that this process has loaded.
LOADED: set[str] = set()


class _MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]


def load(name: str, file: str, codes: Codes) -> Callable[..., Any]:
    """Return the function `name`, for Python, of the machine code of a file."""
    method = _MethodDef(name.encode(), load_address(name, file, codes), _METH_FASTCALL, None)
    _keep(method)
    return _new_function(ctypes.addressof(method), np.ndarray, None)


def load_address(name: str, file: str, codes: Codes) -> int:
    """Return the address of the function `name` of the machine code of a file, after loading what it needs."""
    for need in codes[file].needs:
        if need == NUMBA:
            from titop.solvers.native.intrinsics import provide_runtime

            provide_runtime()
        elif need not in LOADED:
            provide(need, load_address(need, need, codes))
            LOADED.add(need)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(codes[file].code))
    engine.finalize_object()
    address = engine.get_function_address(name)
    if not address:
        raise RuntimeError(f"no function {name} in its machine code")
    _keep(engine)
    return int(address)


def provide(name: str, address: int) -> None:
    """Let machine code find what stands at an address by a name."""
    llvm.add_symbol(name, address)


def _keep(thing: Any) -> None:
    """Keep what functions point to for ever: they may outlive every module when Python ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
