"""C that titop has written, compiled and called from Python, where there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.spatial import Array

COMPILER = next(filter(None, map(shutil.which, ("gcc", "clang", "cc"))), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
#: No warning may be left, of those asked for by embedded projects too.
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-O2"]


def compile_c(sources: list[Path], target: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Compile sources with all warnings as errors; what the compiler says comes back."""
    command = [str(COMPILER), *FLAGS, *more, *map(str, sources), "-o", str(target), "-lm"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run_test(folder: Path, prefix: str) -> tuple[int, str]:
    """Compile the test of a folder and run it: status and text."""
    done = compile_c([folder / f"{prefix}.c", folder / f"test_{prefix}.c"], folder / "test")
    assert not done.returncode, done.stderr
    ran = subprocess.run([str(folder / "test")], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


def stack_used(source: Path, *flags: str) -> dict[str, int]:
    """Return the bytes of stack of each function, or skip the test where the compiler does not tell."""
    done = compile_c([source], source.with_suffix(".o"), "-c", "-fstack-usage", *flags)
    if done.returncode:
        pytest.skip("this compiler does not tell what stack it uses")
    rows = (line.split("\t") for line in next(source.parent.glob("*.su")).read_text().splitlines())
    return {row[0].split(":")[-1].split(".")[0]: int(row[1]) for row in rows}


class CompiledC:
    """The functions of a folder of C, called with arrays."""

    def __init__(self, folder: Path, prefix: str, kind: Any = float) -> None:
        done = compile_c([folder / f"{prefix}.c"], folder / f"{prefix}.so", "-shared", "-fPIC")
        assert not done.returncode, done.stderr
        self.library, self.prefix, self.kind = ctypes.CDLL(str(folder / f"{prefix}.so")), prefix, kind
        self.memory = ctypes.create_string_buffer(100_000)

    @property
    def defaults(self) -> int:
        """Where the default parameters are."""
        return ctypes.addressof(ctypes.c_char.in_dll(self.library, f"{self.prefix.upper()}_DEFAULTS"))

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function with arrays and addresses; return its status."""
        values = [x.ctypes.data_as(ctypes.c_void_p) if isinstance(x, np.ndarray) else ctypes.c_void_p(x) for x in arguments]
        return int(getattr(self.library, f"{self.prefix}_{name}")(*values))

    def initialize(self) -> int:
        """Set the controller's memory to rest."""
        return self.call("initialize", ctypes.addressof(self.memory), self.defaults)

    def step(self, given: Any, count: int) -> tuple[int, Array]:
        """Return the status and the outputs of a step of a controller; outputs are NaN where none were written."""
        out = np.full(count, np.nan, self.kind)
        row = np.ascontiguousarray(given, dtype=self.kind)
        return self.call("step", ctypes.addressof(self.memory), self.defaults, row, out), out.astype(float)
