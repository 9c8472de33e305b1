"""CUDA of programs: the same text, compiled as C, one thread after the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.c_programs import needs_compiler
from tests.cuda_stand_in import RawModule, compile_cuda, needs_nvcc
from tests.solvers.programs.test_export_programs import free_states, lander


@needs_compiler
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-13), ("single", 2e-5)])
def test_a_thread_for_each_state(precision: str, tolerance: float, tmp_path: Path) -> None:
    """Arrays by columns, efforts by rows; states have parameters of their own. Tolerances as of the exported C."""
    m, n = lander().resolve(), 6
    tt.export_cuda(m.program("forward_dynamics", parameters=["arm.mass"]), tmp_path / "lander.cu", precision)
    run = RawModule((tmp_path / "lander.cu").read_text()).get_function("forward_dynamics")
    given, kind = free_states(m, n), np.float64 if precision == "double" else np.float32
    masses, one, by_state = np.linspace(0.5, 2.0, n), np.int64(1), np.int64(n)
    a, status = np.full((m.nv, n), np.nan, kind), np.full(n, 9, dtype=np.int32)
    arguments = [(np.ascontiguousarray(given[of].T, dtype=kind), one, by_state) for of in ("q", "v")]
    arguments += [(given["tau"].astype(kind), np.int64(m.nv), one), (masses.astype(kind), one, one), (a, one, by_state)]
    run((2,), (4,), (*(each for group in arguments for each in group), status, np.uint64(n)))
    for k, mass in enumerate(masses):
        right = m.with_parameters({"arm.mass": mass}).forward_dynamics(*(given[name][k] for name in ("q", "v", "tau")))
        assert np.abs(a[:, k] - right).max() <= tolerance * np.abs(right).max()
    assert not status.any()


@pytest.mark.long
@needs_nvcc
def test_cudas_compiler_takes_it(tmp_path: Path) -> None:
    tt.export_cuda(lander().resolve().program("forward_dynamics_derivatives"), tmp_path / "lander.cu")
    compile_cuda(tmp_path / "lander.cu")


@pytest.mark.long
@needs_nvcc
@pytest.mark.parametrize("precision", ["double", "single"])
def test_registers_hold_the_dynamics_of_seven_hinges(precision: str, tmp_path: Path) -> None:
    s, at = tt.System("arm", gravity=[0, 0, -9.81]), "world"
    for k in range(7):
        link = tt.RigidBody(f"link{k}", 1.0, [0.2, 0.1, 0.1], [0.1, 0.2, 0.2], ports={"tip": [0.4, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, k % 2, 1 - k % 2]))
        at = link.port("tip")
    tt.export_cuda(s.resolve().program("forward_dynamics", "inverse_dynamics"), tmp_path / "arm.cu", precision)
    said = compile_cuda(tmp_path / "arm.cu")
    assert said.count(" 0 bytes spill stores, 0 bytes spill loads") == said.count("bytes spill stores") >= 2


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
