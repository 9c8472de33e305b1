"""A stand-in for CuPy where there is no device: arrays of NumPy, and kernels compiled as C that run one thread after the other.

It tells whether the kernels compute what they should, and whether they are called with what they declare. It does not tell
what only a device can: its compiler, its mathematics, streams, speed.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.c_programs import compile_c

#: What CUDA has and C has not.
SHIM = """\
#include <math.h>
#include <stddef.h>
#define __device__
#define __global__ static
#define __noinline__
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
"""
_LAUNCH = """
static void (*const call_{name})({declared}) = {name}; /* an argument may have the kernel's name */
void run_{name}(unsigned blocks, unsigned threads, {declared});
void run_{name}(unsigned blocks, unsigned threads, {declared})
{{
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {{
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++) {{ call_{name}({given}); }}
    }}
}}
"""
_TYPES = {
    "double": "float64",
    "float": "float32",
    "int": "int32",
    "long long": "int64",
    "size_t": "uint64",
    "unsigned char": "uint8",
}


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")


def compile_cuda(source: Path) -> str:
    """Compile a file by CUDA's compiler, without warnings; return what it says about registers."""
    flags = ["-arch=sm_90", "--ptxas-options=-v", "-Werror=all-warnings", "-cubin", "-o", str(source.with_suffix(".cubin"))]
    done = subprocess.run(["nvcc", *flags, str(source)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stderr


@cache
def _compiled(code: str) -> tuple[dict[str, list[str]], ctypes.CDLL]:
    """Return what each kernel of a text declares, and the library."""
    kernels = {name: text.split(", ") for name, text in re.findall(r"__global__ void (\w+)\((.*)\)", code)}
    launchers = "".join(
        _LAUNCH.format(name=name, declared=", ".join(declared), given=", ".join(re.sub(r".*\W", "", x) for x in declared))
        for name, declared in kernels.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.c")
        source.write_text(f"{SHIM}{code}{launchers}", "utf-8")
        done = compile_c([source], source.with_suffix(".so"), "-shared", "-fPIC", "-O0")
        assert not done.returncode, done.stderr
        return kernels, ctypes.CDLL(str(source.with_suffix(".so")))


class RawModule:
    """Kernels of a text."""

    def __init__(self, code: str, backend: str = "nvrtc") -> None:
        assert backend == "nvrtc"
        self._kernels, self._library = _compiled(code)

    def get_function(self, name: str) -> Callable[..., None]:
        """Return a kernel, to be called with numbers of blocks and threads, and its arguments."""
        declared = [re.sub(r"const |__restrict__ |\w+$", "", each).strip() for each in self._kernels[name]]
        run = getattr(self._library, f"run_{name}")

        def launch(grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...]) -> None:
            given: list[Any] = []
            for kind, value in zip(declared, arguments, strict=True):
                if kind.endswith("*"):
                    assert isinstance(value, np.ndarray)
                    given.append(ctypes.c_void_p(value.ctypes.data))
                else:
                    given.append(np.ctypeslib.as_ctypes_type(value.dtype)(value.item()))
                assert str(value.dtype) == _TYPES.get(kind.rstrip("* "), "float64"), (name, kind)
            run(ctypes.c_uint(*grid), ctypes.c_uint(*block), *given)

        return launch


class StandIn(ModuleType):
    """The module; what it has not is NumPy's."""

    def __init__(self, devices: int = 1) -> None:
        super().__init__("cupy")
        self.RawModule = RawModule
        runtime, stream = SimpleNamespace(getDeviceCount=lambda: devices), SimpleNamespace(synchronize=lambda: None)
        self.cuda, self.asnumpy = SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream), np.asarray

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """Stand in for CuPy."""
    module = StandIn()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module
