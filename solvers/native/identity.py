"""What machine code depends on: functions and all that they call and read, the compiler, Python, NumPy and the processor."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import sys
import time
from collections.abc import Iterable, Iterator, Set
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import llvmlite
import llvmlite.binding as llvm
import numpy as np

#: When this process began to read sources.
_START = time.time()

#: numba's settings that change what it makes of a kernel, before LLVM makes machine code of it and then.
_SETTINGS_OF_TEXT = ("BOUNDSCHECK", "DEBUGINFO")
_SETTINGS = (*_SETTINGS_OF_TEXT, "CPU_FEATURES", "CPU_NAME")

#: Packages whose functions numba has forms of its own for.
KNOWN_TO_NUMBA = {"numpy", "math", "cmath"}

_OURS = f"{__name__.partition('.')[0]}."


def source_hash(folders: Iterable[Path]) -> str:
    """Return a hash of all sources in some folders, but their introductions."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("[!_]*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


#: Of what compiles and calls kernels, as it is when Python reads it.
COMPILER = source_hash((Path(__file__).parent,))


def exact_name() -> str:
    """Return a name of this very Python, NumPy, compiler with its settings, and processor."""
    numba: Any = find_spec("numba")  # it is not loaded, nor what reads the metadata of packages
    told = Path(numba.origin).with_name("_version.py").read_bytes()
    compiler = (told, llvmlite.__version__, [os.environ.get(f"NUMBA_{name}") for name in _SETTINGS])
    return f"{COMPILER}-{hashed(sys.version, np.__version__, compiler, llvm.get_default_triple(), processor())}"


def text_obstacle() -> str | None:
    """Return why text that numba made elsewhere is not what it would make here, or None."""
    return next((f"NUMBA_{name} is set" for name in _SETTINGS_OF_TEXT if os.environ.get(f"NUMBA_{name}")), None)


@functools.cache
def processor() -> tuple[str, str]:
    """Return the name and features of the processor that is compiled for: this computer's, or what numba's settings say."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    return name or llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten() if features is None else features


def hashed(*things: Any) -> str:
    """Return a hash of what is told by its ``repr``."""
    return hashlib.sha256(repr(things).encode()).hexdigest()[:16]


def identity_of(*functions: Any) -> str:
    """Return a hash of functions: of their sources, of all that they call, and of the values that they read.

    It is the same under every Python for functions of titop's own; for others, and for those whose files were edited since
    this process began, it is that of their byte code.
    """
    for function in [each for each in _KNOWN if not _is_ours(each)]:  # what users' functions read may change meanwhile
        del _KNOWN[function]
    return hashed([_told(function, frozenset()) for function in functions])


def _told(thing: Any, asked: Set[str]) -> Any:
    """Return what tells a value that a function reads, which may ask for attributes of some names."""
    thing = getattr(thing, "py_func", thing)
    if isinstance(thing, FunctionType):
        return _function(thing) if _package(thing) not in KNOWN_TO_NUMBA else thing.__qualname__
    if hasattr(
        type(thing), "_numba_type_"
    ):  # called by its name, as features are; or a helper, which becomes part of the caller
        return type(thing).__name__, getattr(thing, "name", None) or _told(thing.function, asked)
    if isinstance(thing, ModuleType):
        known = vars(thing)
        names = sorted(asked & known.keys()) if _package(thing) not in KNOWN_TO_NUMBA else []
        return thing.__name__, [(name, _told(known[name], asked)) for name in names]
    if isinstance(thing, type | BuiltinFunctionType | np.ufunc):
        return getattr(thing, "__module__", ""), thing.__name__, repr(getattr(thing, "_fields", ()))
    if isinstance(thing, np.ndarray):
        return str(thing.dtype), thing.shape, thing.tobytes()
    if type(thing) is tuple:
        return tuple(_told(part, asked) for part in thing)
    return repr(thing)


def _package(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or thing.__name__).partition(".")[0]


#: Of functions whose identity is known; of one that calls itself, meanwhile, nothing. What users' functions read may change.
_KNOWN: WeakKeyDictionary[FunctionType, str] = WeakKeyDictionary()


def _function(function: FunctionType) -> str:
    if function in _KNOWN:
        return _KNOWN[function]
    _KNOWN[function] = ""
    code, known = function.__code__, function.__globals__
    asked = frozenset(_names(code))
    try:
        read = [(name, _told(known[name], asked)) for name in sorted(asked & known.keys())]
        held = [_told(cell.cell_contents, asked) for cell in function.__closure__ or ()]
        given = _told(function.__defaults__, asked)
    finally:
        del _KNOWN[function]
    found = hashed(_source(function) or list(_byte_code(code)), read, held, given)
    if _is_ours(function):
        _KNOWN[function] = found
    return found


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _byte_code(code: CodeType) -> Iterator[Any]:
    yield sys.version_info[:2], code.co_code, code.co_names, code.co_varnames, code.co_freevars
    for constant in code.co_consts:
        yield from _byte_code(constant) if isinstance(constant, CodeType) else (constant,)


def _is_ours(function: FunctionType) -> bool:
    return str(function.__globals__.get("__name__")).startswith(_OURS)


def _source(function: FunctionType) -> str | None:
    """Return the text of a function of titop's own, if it is what Python has read, or what it is made of."""
    if (text := getattr(function, "made_of", None)) is not None:
        return str(text)
    code = function.__code__
    lines = _lines(code.co_filename) if _is_ours(function) else None
    if lines is None:
        return None
    if code.co_name == "<lambda>":
        _, _, rest = lines[code.co_firstlineno - 1].partition("lambda")
        return rest if "lambda" not in rest and rest.count(")") > rest.count("(") else None  # it ends in its line
    return "\n".join(text_of_function(lines, code.co_firstlineno - 1))


def text_of_function(lines: list[str], first: int) -> list[str]:
    """Return the lines of a function whose first, perhaps of its decorators, has an index: all that stand further right."""
    margin = len(lines[first]) - len(lines[first].lstrip())
    inner, closing = " " * (margin + 1), tuple(" " * margin + sign for sign in ")]}")
    begin = next(k for k in range(first, len(lines)) if lines[k].startswith("def ", margin))
    rest = itertools.takewhile(lambda line: not line.strip() or line.startswith((inner, *closing)), lines[begin + 1 :])
    return [line for line in (*lines[first : begin + 1], *rest) if line.strip()]


@functools.cache
def _lines(path: str) -> list[str] | None:
    """Return the lines of a file; None where it cannot be read, or may have been edited since this process began."""
    try:
        if _START < os.stat(path).st_mtime < time.time():
            return None
        return Path(path).read_text("utf8").split("\n")
    except OSError:
        return None


#: Set to one of `WIDTHS`, kernels compute with so many states at once.
LANES_SETTING, WIDTHS = "TITOP_LANES", ("8", "4", "2")

_SUM = "define <8 x double> @sum(<8 x double> %x) {\n %y = fadd <8 x double> %x, %x\n ret <8 x double> %y\n}"


def _lane_count() -> int:
    """Return how many numbers a register of the processor that is compiled for holds, unless a setting says otherwise."""
    if (chosen := os.environ.get(LANES_SETTING)) in WIDTHS:
        return int(chosen)
    name, features = processor()
    if (name, features) == (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()):
        return 8 if "+avx512f" in features else 4 if "+avx2" in features else 2
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=name, features=features)
    written = machine.emit_assembly(llvm.parse_assembly(_SUM))  # its features need not be listed
    return 8 if "zmm" in written else 4 if "ymm" in written else 2


#: How many states kernels compute with at once: see `lanes`.
LANE_COUNT = _lane_count()
