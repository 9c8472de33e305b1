"""CUDA of programs: the same text, compiled as C, one thread after the other."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.c_programs import compile_c, needs_compiler
from tests.solvers.programs.test_export_programs import free_states, lander

#: What CUDA has and C has not.
SHIM = """\
#define __device__
#define __global__
#define __noinline__
static struct { unsigned x; } blockIdx, blockDim, threadIdx;
"""
#: Calls a kernel for all of its threads, two more than there are states.
LAUNCH = """
void launch(const {0} *q, const {0} *v, const {0} *tau, const {0} *p, {0} *a, {0} *health, size_t n)
{{
    blockDim.x = 4;
    for (blockIdx.x = 0; blockIdx.x < 2; blockIdx.x++) {{
        for (threadIdx.x = 0; threadIdx.x < 4; threadIdx.x++) {{ forward_dynamics(q, v, tau, p, a, health, n); }}
    }}
}}
"""


@needs_compiler
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-13), ("single", 2e-5)])
def test_a_thread_for_each_state(precision: str, tolerance: float, tmp_path: Path) -> None:
    """Entry k of state i is at k n + i; states have parameters of their own. Tolerances as of the exported C."""
    m, real, n = lander().resolve(), {"double": "double", "single": "float"}[precision], 6
    tt.export_cuda(m.program("forward_dynamics", parameters=["arm.mass"]), tmp_path / "lander.cu", precision)
    text = (tmp_path / "lander.cu").read_text()
    (tmp_path / "f.c").write_text(
        SHIM + text + f"void launch(const {real} *q, const {real} *v, const {real} *tau, const {real} *p,"
        f" {real} *a, {real} *health, size_t n);\n" + LAUNCH.format(real)
    )
    done = compile_c([tmp_path / "f.c"], tmp_path / "f.so", "-shared", "-fPIC", "-Wno-missing-prototypes")
    assert not done.returncode, done.stderr
    given, kind = free_states(m, n), np.float64 if precision == "double" else np.float32
    given = {name: given[name] for name in ("q", "v", "tau")} | {"mass": np.linspace(0.5, 2.0, n)[:, None]}
    columns = [np.ascontiguousarray(rows.T, dtype=kind) for rows in given.values()]
    a, health = np.full((m.nv, n), np.nan, kind), np.full((m.nv, n), np.nan, kind)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (*columns, a, health)]
    ctypes.CDLL(str(tmp_path / "f.so")).launch(*pointers, ctypes.c_size_t(n))
    for k, mass in enumerate(given["mass"][:, 0]):
        right = m.with_parameters({"arm.mass": mass}).forward_dynamics(*(given[name][k] for name in ("q", "v", "tau")))
        assert np.abs(a[:, k] - right).max() <= tolerance * np.abs(right).max()
    assert (health > 0).all()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
def test_cudas_compiler_takes_it(tmp_path: Path) -> None:
    tt.export_cuda(lander().resolve().program("forward_dynamics_derivatives"), tmp_path / "lander.cu")
    command = ["nvcc", "-arch=sm_90", "-cubin", "-o", str(tmp_path / "lander.cubin"), str(tmp_path / "lander.cu")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_refusals(tmp_path: Path) -> None:
    program = lander().resolve().program("mass_matrix")
    for code, arguments in {
        "unknown-format": (program, tmp_path / "a.c"),
        "wrong-type": (3.0, tmp_path / "a.cu"),
        "bad-precision": (program, tmp_path / "a.cu", "float"),
    }.items():
        with pytest.raises(tt.ModelError) as error:
            tt.export_cuda(*arguments)
        assert [found.code for found in error.value.findings] == [code]
    assert not list(tmp_path.iterdir())
