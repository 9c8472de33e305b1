"""What rests on rounding holds on other processors too: tests marked `portable` run again as such would run them.

OpenBLAS and LLVM can be told to take an older processor than they run on. Sums are then taken in another order, with or without
fused products, so that what decides by the last bit decides otherwise.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

ROOT = Path(__file__).parent.parent

#: Processors by the name of OpenBLAS's kernels, LLVM's level of their instructions, and an instruction set that each needs.
PROCESSORS = {"Nehalem": ("x86-64-v2", "sse4.2"), "Haswell": ("x86-64-v3", "avx2"), "SkylakeX": ("x86-64-v4", "avx512f")}

#: Prints which kernels the BLAS of NumPy and of SciPy take.
KERNELS = "import numpy, scipy.linalg, threadpoolctl as t; print({i.get('architecture') for i in t.threadpool_info()})"

#: A product that an OpenBLAS of NumPy 2.5 does not survive as Haswell or Zen.
PRODUCT = "import numpy; numpy.ones((366, 366)) @ numpy.ones((366, 6))"

#: Where tests are marked: to look at all files takes as long as a third of these tests.
MARKED = sorted(str(path) for path in (ROOT / "tests").rglob("test_*.py") if "mark.portable" in path.read_text("utf-8"))


def environment(name: str) -> dict[str, str]:
    """Return the environment in which a process takes the processor for another one."""
    level, _ = PROCESSORS[name]
    settings = {"OPENBLAS_CORETYPE": name, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "OPENBLAS_NUM_THREADS": "1"}
    return {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | settings


def python(arguments: list[str], name: str) -> subprocess.CompletedProcess[str]:
    """Run Python with some arguments as on another processor."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment(name), capture_output=True, text=True)


@pytest.mark.parametrize("name", PROCESSORS)
def test_portable_tests_pass(name: str) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip(f"{name} is an x86-64 processor")
    if not llvm.get_host_cpu_features().get(PROCESSORS[name][1]):
        pytest.skip(f"this processor has no {PROCESSORS[name][1]}")
    if python(["-c", KERNELS], name).stdout.strip() != str({name}):
        pytest.skip(f"the BLAS of NumPy or SciPy has no kernels for {name}")
    if python(["-c", PRODUCT], name).returncode < 0:
        pytest.skip(f"the BLAS of this NumPy crashes by itself as {name}")
    chosen = ["-m", "portable and not long", *MARKED]
    done = python(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *chosen], name)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
