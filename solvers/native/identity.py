"""What machine code depends on: titop's sources, Python, NumPy, the compiler and the processor."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

#: numba's settings that change what it makes of a kernel.
_SETTINGS = ("BOUNDSCHECK", "CPU_FEATURES", "CPU_NAME", "DEBUGINFO", "ENABLE_AVX", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")

_BLOCKS = Path(__file__).parents[2] / "blocks"
#: Where the kernels stand, what compiles and calls them, and what they call and hold of blocks.
_FOLDERS = (Path(__file__).parents[1] / "kernels", Path(__file__).parent, _BLOCKS / "laws")
_FILES = tuple(_BLOCKS / "basics" / name for name in ("choices.py", "tolerances.py", "spatial.py"))

_ARCHITECTURE = platform.machine()

#: The processors that machine code in wheels is made for, by architecture: those of level 3 of the x86-64 ABI, such as Haswell
#: and Zen; and what they can do, as LLVM calls it.
_WHEELS_FOR = {
    "x86_64": (
        "x86-64-v3",
        ("avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "sse4.2", "xsave"),
    )
}


def source_hash(folders: Iterable[Path] = _FOLDERS) -> str:
    """Return a hash of all sources in some folders."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    for path in _FILES:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


#: Of the sources as they are when Python reads them.
SOURCES = source_hash()


def exact_name() -> str:
    """Return a name of the sources, and of this very Python, NumPy, compiler with its settings, and processor."""
    compiler = (version("numba"), version("llvmlite"), [os.environ.get(f"NUMBA_{name}") for name in _SETTINGS])
    return f"{SOURCES}-{_hash((sys.version, np.__version__, compiler, llvm.get_default_triple(), processor()))}"


def wheel_name() -> str:
    """Return a name of the sources, and of all Pythons, NumPys and processors that run the same machine code."""
    processor, _ = _WHEELS_FOR[_ARCHITECTURE]
    return f"{SOURCES}-{sysconfig.get_config_var('SOABI')}-numpy{np.lib.NumpyVersion(np.__version__).major}-{processor}"


def wheel_settings() -> dict[str, str]:
    """Return numba's settings for machine code that goes into wheels."""
    processor, _ = _WHEELS_FOR[_ARCHITECTURE]
    return {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}


def wheel_obstacle() -> str | None:
    """Return why machine code from wheels cannot be run in this process, or None where it can."""
    if _ARCHITECTURE not in _WHEELS_FOR:
        return f"processors of {_ARCHITECTURE} are not among {', '.join(_WHEELS_FOR)}"
    if given := [f"NUMBA_{name}" for name in _SETTINGS if os.environ.get(f"NUMBA_{name}") is not None]:
        return f"{given[0]} is set"
    name, needed = _WHEELS_FOR[_ARCHITECTURE]
    features = llvm.get_host_cpu_features()
    missing = [feature for feature in needed if not features.get(feature)]
    return f"the processor is not {name}: it has no {missing[0]}" if missing else None


def processor() -> tuple[str, str]:
    """Return the name and features of the processor that is compiled for: this computer's, or what numba's settings say."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    return name or llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten() if features is None else features


def _lane_count() -> int:
    """Return how many numbers a register of the processor that is compiled for holds."""
    name, features = processor()
    if "+avx512f" in features:
        return 8
    return 4 if "+avx2" in features or name == _WHEELS_FOR.get(_ARCHITECTURE, ("",))[0] else 2


def _hash(things: Any) -> str:
    return hashlib.sha256(repr(things).encode()).hexdigest()[:16]


#: How many states kernels compute with at once: see `lanes`.
LANE_COUNT = _lane_count()
