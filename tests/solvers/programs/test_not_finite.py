"""Numbers that are not finite, in every argument of every function that programs know, printed as C and as CUDA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.c_programs import CompiledC, needs_compiler
from tests.cuda_stand_in import RawModule
from titop.blocks.basics.spatial import Array
from titop.solvers.programs.c_code import distinct
from titop.solvers.programs.cuda_code import cuda_text
from titop.solvers.programs.tracing import FUNCTIONS

pytestmark = needs_compiler
KINDS = {"double": np.float64, "single": np.float32}


@pytest.fixture(scope="module")
def program() -> tt.Program:
    """Return all functions of two hinges with stops and friction, whose choices swallow numbers that are not finite."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    upper = tt.RigidBody("upper", 1.0, [0, 0, -0.5], 0.1, ports={"tip": [0, 0, -1]})
    limits = tt.Limits(lower=-0.5, upper=0.4, stiffness=3e3, dissipation=0.2)
    s.connect("world", upper, tt.Revolute("shoulder", axis=[0, 1, 0], limits=limits))
    elbow = tt.Revolute("elbow", axis=[0, 1, 0], friction=tt.Friction(coulomb=0.1))
    s.connect(upper.port("tip"), tt.RigidBody("lower", 1.0, [0, 0, -0.5], 0.1), elbow)
    s.add_actuator(tt.Motor("motor", "elbow"))
    more: dict[str, Any] = {"ports": ["upper.tip"], "prescribed": ["elbow"], "outputs": ["shoulder.a", "upper.tip.r"]}
    names = [name for name in FUNCTIONS if not name.startswith("clos") and name != "state_rates"]  # without results here
    return s.resolve(engine="reference").program(*names, parameters=["lower.mass"], inputs=["motor"], **more)


def poisoned(program: tt.Program, name: str, kind: Any) -> tuple[dict[str, Array], int]:
    """Return arguments of a function (n, size): one row as it should be, then each number not finite in a row of its own."""
    function, rng = program.functions[name], np.random.default_rng(0)
    good = {of: program.at[of] + 0.1 * rng.standard_normal(size) for of, size in function.inputs.items()}
    rows = [good]
    for of, size in function.inputs.items():
        for k in range(size):
            for wrong in (np.nan, np.inf, -np.inf):
                array = good[of].copy()
                array[k] = wrong
                rows.append(good | {of: array})
    return {of: np.array([row[of] for row in rows], kind) for of in good}, len(rows)


def statuses_of_c(compiled: CompiledC, program: tt.Program, name: str) -> tuple[list[int], list[bool]]:
    """Return the status of each row, and whether its results are finite."""
    rows, n = poisoned(program, name, compiled.kind)
    sizes = [len(each.values) for of, each in distinct(program.functions[name]).outputs.items() if of != "health"]
    found = [[np.full(size, np.nan, compiled.kind) for size in sizes] for _ in range(n)]
    statuses = [compiled.call(name, *(rows[of][k].copy() for of in rows), *found[k]) for k in range(n)]
    return statuses, [all(np.isfinite(each).all() for each in results) for results in found]


@pytest.mark.long
@pytest.mark.parametrize("precision", KINDS)
def test_c_tells_of_every_argument(program: tt.Program, precision: str, tmp_path: Path) -> None:
    """With the check left out some functions give finite numbers, and say that all is well."""
    tt.export_c(program, tmp_path / "c", "arm", precision)
    compiled = CompiledC(tmp_path / "c", "arm", KINDS[precision])
    for name in program.functions:
        statuses, finite = statuses_of_c(compiled, program, name)
        assert (statuses[0], finite[0]) == (0, True), name
        assert set(statuses[1:]) == {-1}, name
    if precision == "single":
        return
    tt.export_c(program, tmp_path / "unchecked", "arm")
    source = tmp_path / "unchecked" / "arm.c"
    source.write_text(source.read_text().replace("if (!isfinite(x[i])) { return 0; }", "if (!x) { return 0; }"))
    unchecked, swallowed = CompiledC(tmp_path / "unchecked", "arm"), 0
    for name in ("passive_efforts", "energy"):
        statuses, finite = statuses_of_c(unchecked, program, name)
        swallowed += sum(status == 0 and is_finite for status, is_finite in zip(statuses[1:], finite[1:], strict=True))
    assert swallowed > 0


@pytest.mark.parametrize("precision", KINDS)
def test_cuda_tells_of_every_argument(program: tt.Program, precision: str) -> None:
    module, kind = RawModule(cuda_text(program, precision)), KINDS[precision]
    for name, function in program.functions.items():
        rows, n = poisoned(program, name, kind)
        sizes = [len(each.values) for of, each in distinct(function).outputs.items() if of != "health"]
        arrays, status = [*rows.values(), *(np.empty((n, size), kind) for size in sizes)], np.full(n, 9, np.int32)
        given = [number for array in arrays for number in (array, np.int64(array.shape[1]), np.int64(1))]
        module.get_function(name)((n,), (1,), (*given, status, np.uint64(n)))
        assert status[0] == 0, name
        assert set(status[1:].tolist()) == {-1}, name
