"""Functions in LLVM's language: how machine code is made of them, and the files in which they come with titop.

What numba makes of kernels, before LLVM optimises it, depends neither on the processor nor on Python: `shipped` pieces become
machine code for the very processor within a second, without numba.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from titop.solvers.native import object_code
from titop.solvers.native.calling import EXCEPTION_FUNCTIONS, PYTHON_FUNCTIONS, part_memory, stage_function
from titop.solvers.native.identity import COMPILER, processor, text_obstacle
from titop.solvers.native.object_code import LOADED, NUMBA, Codes, ObjectCode
from titop.solvers.native.optimising import optimise
from titop.solvers.native.signatures import SINGLE, STOPPED, Signature

#: From the names of a function and of its compiled form, and its signature, to LLVM text of what calls it.
Caller = Callable[[str, str, Signature], str]

#: What kernels may call of the C library, which every Python process has.
_C_LIBRARY = {"memcpy", "memmove", "memset", "fabs", "floor", "ceil", "fmod", "sqrt", "cbrt", "hypot", "pow"}
_C_LIBRARY |= {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sinh", "cosh", "tanh"}
_C_LIBRARY |= {"sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"}


class CodePiece(NamedTuple):
    """One function; its name begins with that of the file in which it comes with titop, and a stroke.

    Attributes
    ----------
    text : str
    native : str
        Numba's name of the function in it.
    needs : tuple of str
        Names of the pieces that it calls.
    symbol : str
        Of a shared part: its name in machine code, and of the file that keeps it.
    stub, door : str
        Of a shared part: what callers call in its place, and what then calls it (see `sharing`).
    """

    text: str
    native: str
    needs: tuple[str, ...] = ()
    symbol: str = ""
    stub: str = ""
    door: str = ""


#: Gives a piece by its name; a `KeyError` where there is none.
Find = Callable[[str], CodePiece]


class Wanted(NamedTuple):
    """A function that is to be compiled.

    Attributes
    ----------
    name : str
        In its machine code.
    file : str
        Which keeps it.
    piece : str
        Its name among pieces.
    signature : Signature
    caller : callable
        A function of `calling`, whose text says how it can be called.
    whole : bool
        Whether shared parts are to be in it.
    form : str
        What lies in lanes: see `signatures`.
    """

    name: str
    file: str
    piece: str
    signature: Signature
    caller: Caller
    whole: bool = False
    form: str = SINGLE


def machine_code(wanted: Wanted, find: Find, loaded: Container[str] = LOADED) -> Codes:
    """Return object code of a function, and of the shared parts that it needs, compiled unless they are `loaded` or kept.

    It needs only Python and the C library. Stages may need more, which numba has: then they are whole.
    """
    name, file, first, signature, caller, whole, form = wanted
    native = find(first).native
    module, shared = _linked(first, find, name, caller(name, native, signature), whole)
    if caller is stage_function and form == SINGLE and _missing(module, shared):  # numba's memory is not aligned for lanes
        module, _ = _linked(first, find, name, stage_function(name, native, signature, memory=""), whole=True)
        return {file: ObjectCode(target().emit_object(module), (NUMBA,))}
    codes = {file: _emitted(name, module, shared)}
    waiting = [*shared.items()]
    while waiting:
        part, piece = waiting.pop()
        if piece.symbol in codes or piece.symbol in loaded:
            continue
        if kept := object_code.read(piece.symbol, loaded):
            codes |= kept
        else:
            module, more = _linked(part, find, piece.symbol, part_memory() + piece.door)
            codes[piece.symbol] = _emitted(piece.symbol, module, more)
            waiting += more.items()
    return codes


def _linked(first: str, find: Find, name: str, text: str, whole: bool = False) -> tuple[llvm.ModuleRef, dict[str, CodePiece]]:
    """Return a module of a piece and all that it calls, optimised, and the shared parts that it lacks; if it is `whole`, none.

    Of all functions in it only `name` can be seen from outside, which stands in the `text` that is added.
    """
    module, lacking, waiting, seen = llvm.parse_assembly(""), {}, [first], {first}
    while waiting:
        piece = find(waiting.pop())
        module.link_in(llvm.parse_assembly(piece.text))
        for need in piece.needs:
            if need in seen:
                continue
            seen.add(need)
            if whole or not find(need).symbol:
                waiting.append(need)
            else:
                lacking[need] = find(need)
    for added in (text, *(piece.stub for piece in lacking.values())):
        module.link_in(llvm.parse_assembly(added))
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = llvm.Linkage.internal
    module.triple, module.data_layout = target().triple, str(target().target_data)
    optimise(module, target())
    called = {function.name for function in module.functions if function.is_declaration}
    return module, {part: piece for part, piece in lacking.items() if piece.symbol in called}


def _emitted(name: str, module: llvm.ModuleRef, shared: Mapping[str, CodePiece]) -> ObjectCode:
    if missing := _missing(module, shared):
        raise RuntimeError(f"{name} needs {missing}, found in numba only; write the kernel without it")
    return ObjectCode(target().emit_object(module), tuple(piece.symbol for piece in shared.values()))


def _missing(module: llvm.ModuleRef, shared: Mapping[str, CodePiece]) -> list[str]:
    """Return what a module needs, beside shared parts, that a process without numba does not have."""
    needed = {function.name for function in module.functions if function.is_declaration}
    known = PYTHON_FUNCTIONS.keys() | EXCEPTION_FUNCTIONS | _C_LIBRARY | {STOPPED, *(piece.symbol for piece in shared.values())}
    return sorted(need for need in needed - known if not need.startswith("llvm."))


@functools.cache
def target(level: int = 3) -> llvm.TargetMachine:
    """Return the processor that is compiled for, to which LLVM emits code with so much care."""
    name, features = processor()
    chosen = llvm.Target.from_default_triple()
    return chosen.create_target_machine(cpu=name, features=features, opt=level, codemodel="jitdefault", jit=True)


_FOLDER = Path(__file__).with_name("shipped")
#: How it is packed: text, whose letters do not come in fours.
_PACKING = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
#: Which of it this process can use.
_USABLE = f"{COMPILER}-{sys.platform}"


def shipped(name: str) -> CodePiece:
    """Return a piece that came with titop; a `KeyError` says that it did not."""
    text, native, needs, *shared = _file(name.partition("/")[0])[name]
    return CodePiece(text, native, tuple(needs), *shared)


@functools.cache
def _file(name: str) -> dict[str, list[Any]]:
    if text_obstacle():
        return {}
    try:
        return dict(json.loads(lzma.decompress((_FOLDER / _USABLE / f"{name}.xz").read_bytes())))
    except (OSError, ValueError, lzma.LZMAError):
        return {}


def with_needs(name: str, find: Find) -> dict[str, CodePiece]:
    """Return a piece and all that it needs, by name."""
    found, waiting = {}, [name]
    while waiting:
        if (name := waiting.pop()) not in found:
            found[name] = find(name)
            waiting += found[name].needs
    return found


def ship(pieces: Mapping[str, CodePiece]) -> None:
    """Let these pieces come with titop, all of them or none, in place of what did."""
    _FOLDER.mkdir(exist_ok=True)
    files: dict[str, dict[str, CodePiece]] = {}
    for name in sorted(pieces):
        files.setdefault(name.partition("/")[0], {})[name] = pieces[name]
    with tempfile.TemporaryDirectory(prefix=".", dir=_FOLDER) as scratch:
        new = Path(scratch) / "new"
        new.mkdir(mode=0o755)
        for name, content in files.items():
            (new / f"{name}.xz").write_bytes(lzma.compress(json.dumps(content).encode(), filters=_PACKING))
        for old in _FOLDER.glob("[!.]*"):
            shutil.rmtree(old)
        os.replace(new, _FOLDER / _USABLE)
    _file.cache_clear()
