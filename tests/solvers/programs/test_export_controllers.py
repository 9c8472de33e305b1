"""Controllers in C against titop's own, in closed loops too."""

from __future__ import annotations

import ctypes
import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.c_programs import CompiledC, needs_compiler, run_test, stack_used

RNG = np.random.default_rng(5)
#: Sums in another order, of some ten terms, over a hundred samples of stable controllers.
SUMS = 1e-13


def regulator(period: float | bool = 0.0) -> control.StateSpace:
    """Return a stable controller of three states, two inputs and two outputs."""
    A = [[-1.0, 3.0, 0.0], [-3.0, -1.0, 0.5], [0.0, 0.0, -4.0]]
    K = control.ss(A, [[1, 0.2], [0, 1], [2, 0]], [[1, 0, 3], [0, 1, 1]], [[0.5, 0], [0, -0.3]])
    K = control.sample_system(K, period, "bilinear") if period else K
    return control.ss(K.A, K.B, K.C, K.D, K.dt, inputs=["rail_q", "hinge_q"], outputs=["motor", "hinge"], name="regulator")


def family() -> tt.LPVModel:
    """Return a family of controllers over two parameters, of axes that are not even, one of them falling."""
    values = {"k": [1.0, 2.0, 4.0], "c": [2.0, 0.5]}
    signals = {"inputs": ["rail_q"], "outputs": ["motor"]}
    members = [
        control.ss([[0, 1], [-k, -c]], [[0.1 * c], [1.0]], [[k, 0.3]], [[0.1 * k]], **signals)
        for k in values["k"]
        for c in values["c"]
    ]
    return tt.LPVModel.of(values, members, "gains", {"k": "kg", "c": "m"})


@cache
def crane() -> tt.Model:
    """Return a cart with a motor, and a bob on it."""
    s = tt.System("crane", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("cart", mass=2.0), tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(s["cart"], tt.RigidBody("bob", mass=1.0, com=[0, 0, -0.5], inertia=0.01), tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_actuator(tt.Motor("motor", "rail"))
    return s.resolve()


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize(
    "what",
    [
        regulator(0.02),
        tt.Loop(regulator(), sample_time=0.01, delay=0.025),
        control.tf([1.0, 2.0], [0.1, 1.0, 0.0], inputs=["rail_q"], outputs=["motor"]),
        control.ss([], [], [], [[1.5, -2.0]], inputs=["a", "b"], outputs=["c"]),
        family(),
        tt.ScheduledController(family(), {"k": 1.5, "c": "hinge.v"}, 0.05),
        tt.LPVModel.of({"k": [1, 3]}, [control.ss([], [], [], [[k]], inputs=["y"], outputs=["u"]) for k in (1.0, 4.0)]),
    ],
    ids=["sampled", "delayed", "transfer", "gain", "family", "scheduled", "gains"],
)
def test_the_test_that_is_written_passes(what: Any, precision: str, tmp_path: Path) -> None:
    own = isinstance(what, tt.Loop | tt.ScheduledController) or getattr(what, "dt", 0)
    tt.export_c(what, tmp_path / "c", "arm", precision, None if own else 0.05)
    status, said = run_test(tmp_path / "c", "arm")
    assert status == 0, said
    assert "arm: status 0, 60 steps, largest error" in said


@needs_compiler
def test_the_test_that_is_written_fails_for_another_controller(tmp_path: Path) -> None:
    tt.export_c(regulator(0.02), tmp_path / "c", "arm")
    source = tmp_path / "c" / "arm.c"
    text = source.read_text()
    assert text.count("result[i] += ") == 1
    source.write_text(text.replace("result[i] += ", "result[i] += (1.0 + 1e-12) * "))
    status, said = run_test(tmp_path / "c", "arm")
    assert status == 1, said


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_test_of_an_unstable_controller_ends_before_its_numbers_do(precision: str, tmp_path: Path) -> None:
    """Sixty samples of this pole reach 1e240."""
    K = control.ss([[1e4]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    tt.export_c(K, tmp_path / "c", "arm", precision)
    status, said = run_test(tmp_path / "c", "arm")
    assert status == 0, said
    assert "status 0, 8 steps" in said  # of sizes 0, 1, 1e4, ..., 1e28
    source = tmp_path / "c" / "arm.c"
    source.write_text(source.read_text().replace("10000.0", "10001.0"))
    assert run_test(tmp_path / "c", "arm")[0] == 1


@needs_compiler
def test_a_sampled_loop_with_delay_about_an_operating_point(tmp_path: Path) -> None:
    """The C takes the outputs and references that `simulate` had, and gives its commands."""
    m = crane()
    K = control.ss([[0.8]], [[1.0, 0.5]], [[2.0], [0.1]], [[5.0, 1.0], [0, 0.2]], 0.02)
    K = control.ss(K.A, K.B, K.C, K.D, 0.02, inputs=["rail_q", "hinge_v"], outputs=["motor", "hinge"])
    q0 = m.configuration({"rail": 0.3})
    point = tt.trim(m, q=q0, u={"motor": -0.5}, tau={"rail": 0.5})
    loop = tt.Loop(K, delay=0.05, reference={"rail.q": 0.4}, operating_point=point)
    found = tt.simulate(m, np.linspace(0, 1, 11), q0, [0.1, 0.0], controller=loop).control
    names = tt.export_c(loop, tmp_path / "c", "arm")
    assert list(names) == ["rail.q", "hinge.v", "r_rail.q", "r_hinge.v", "motor", "hinge.tau"]
    header = (tmp_path / "c" / "arm.h").read_text()
    assert "ARM_IN_R_RAIL_Q,  /* r_rail.q (m) */" in header
    assert "Outputs act 0.01 s after the sample." in header
    compiled, given = CompiledC(tmp_path / "c", "arm"), np.hstack([found.y, found.r])
    assert compiled.initialize() == 0
    outputs = np.array([compiled.step(row, 2)[1] for row in given])
    assert np.abs(outputs[2:] - found.u[:-2]).max() <= SUMS * np.abs(found.u).max()
    at_rest = [point.u[0], point.tau[1]]  # two samples of the delay are in the step
    assert np.array_equal(outputs[:2], [at_rest, at_rest])
    tuned = np.array((ctypes.c_double * 15).in_dll(compiled.library, "ARM_DEFAULTS"))
    tuned[-1], out, before = np.nan, np.zeros(2), compiled.memory.raw  # an output at the operating point
    assert compiled.call("step", ctypes.addressof(compiled.memory), tuned, given[0].copy(), out) == 1
    assert compiled.memory.raw == before
    assert not out.any()


@needs_compiler
def test_a_scheduled_loop(tmp_path: Path) -> None:
    m = crane()
    controller = tt.ScheduledController(family(), {"k": "hinge.q", "c": 0.7}, 0.02)
    q0 = m.configuration({"hinge": 3.5})
    point = tt.trim(m)
    loop = tt.Loop(controller, reference={"rail.q": 0.4}, operating_point=point)
    found = tt.simulate(m, np.linspace(0, 0.3, 11), q0, [0.1, -3.0], controller=loop).control
    assert np.ptp(found.signal("hinge.q")) > 0.5
    tt.export_c(loop, tmp_path / "c", "arm")
    compiled = CompiledC(tmp_path / "c", "arm")
    compiled.initialize()
    answers = [compiled.step(row, 1) for row in np.hstack([found.y, found.r])]
    assert {status for status, _ in answers} == {0}
    assert np.abs(np.array([u for _, u in answers]) - found.u).max() <= SUMS * np.abs(found.u).max()


@needs_compiler
def test_bad_numbers_change_nothing_and_places_outside_are_told(tmp_path: Path) -> None:
    tt.export_c(family(), tmp_path / "c", "arm", sample_time=0.05)
    compiled = CompiledC(tmp_path / "c", "arm")
    compiled.initialize()
    status, inside = compiled.step([1.0, 1.0, 0.5], 1)
    before = compiled.memory.raw
    for bad in ([np.nan, 1.0, 0.5], [np.inf, 1.0, 0.5]):
        status, out = compiled.step(bad, 1)
        assert status == 1
        assert np.isnan(out).all()
        assert compiled.memory.raw == before
    assert status == 1
    compiled.initialize()
    assert compiled.step([1.0, 0.2, 0.5], 1)[0] == 2
    compiled.initialize()
    status, beyond = compiled.step([1.0, np.nan, 0.5], 1)
    assert (status, beyond) == (2, inside)  # the nearest end of k


@needs_compiler
@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_a_step_takes_no_more_stack_than_is_said(optimised: str, tmp_path: Path) -> None:
    tt.export_c(family(), tmp_path / "c", "arm", sample_time=0.05)
    used = stack_used(tmp_path / "c" / "arm.c", optimised, "-fno-inline")
    said = int((tmp_path / "c" / "arm.h").read_text().split(" bytes of stack")[0].split()[-1])
    assert used["arm_step"] + used["arm_law"] + max(used["arm_place"], used["arm_solve"]) <= said


def refusal(code: str, what: Any, folder: Path, *arguments: Any) -> tt.Finding:
    """Return the finding that an export is refused with; nothing may be left."""
    with pytest.raises(tt.ModelError) as error:
        tt.export_c(what, folder, *arguments)
    assert not folder.exists()
    assert not list(folder.parent.glob(".*"))
    (finding,) = error.value.findings
    assert finding.code == code
    return finding


def test_refusals(tmp_path: Path) -> None:
    folder = tmp_path / "new"

    def own_law(t: float, x: Any, y: Any, r: Any) -> tuple[Any, Any]:
        return x, x

    function = tt.Controller(own_law, [0.0], ["rail.q"], ["motor"], 0.1)
    assert "own_law" in refusal("python-function", function, folder).value
    scheduled = tt.ScheduledController(lambda rho: regulator(), {"k": 1.0}, 0.1)
    assert "lambda" in refusal("python-function", scheduled, folder).value
    timed = tt.ScheduledController(family(), {"k": lambda t: 1.0, "c": 1.0}, 0.1)
    assert refusal("python-function", timed, folder).where == "schedule['k']"
    refusal("no-sample-time", regulator(), folder)
    refusal("no-sample-time", family(), folder)
    refusal("other-sample-time", regulator(0.02), folder, "arm", "double", 0.01)
    refusal("other-sample-time", tt.ScheduledController(family(), {"k": 1, "c": 1}, 0.1), folder, "arm", "double", 0.2)
    refusal("bad-time", regulator(), folder, "arm", "double", -1.0)
    refusal("unknown-parameter", tt.ScheduledController(family(), {"k": 1, "d": 1}, 0.1), folder)
    refusal("wrong-type", "K", folder)
    refusal("wrong-type", tt.Loop(regulator(), 0.1, operating_point={"rail.q": 1.0}), folder)
    assert refusal("bad-name", regulator(0.1), folder, "2 arms").advice == "write prefix='x2_arms', or leave it out"
    assert refusal("bad-name", regulator(0.1), folder, "math").advice == "write prefix='math_2', or leave it out"
    refusal("bad-precision", regulator(0.1), folder, "arm", "float")
    refusal("bad-precision", regulator(0.1), folder, "arm", ["single"])
    near = tt.LPVModel.of(
        {"k": [1.0, 1.0 + 1e-9]}, [control.ss([], [], [], [[k]], inputs=["y"], outputs=["u"]) for k in (1, 4)]
    )
    assert refusal("out-of-range", near, folder, "arm", "single", 0.1).expected == "values of k that differ in single precision"
    refusal("empty", regulator(0.1)[:, []], folder)
    refusal("empty", regulator(0.1)[[], :], folder)
    pole = control.ss([[20.0]], [[1.0]], [[1.0]], [[0.0]])
    refusal("bad-sample-time", pole, folder, "arm", "double", 0.1)  # I - A T / 2 has no inverse
    refusal("out-of-range", 1e30 * regulator(0.1) * 1e30, folder, "arm", "single")


def test_families_that_c_cannot_follow(tmp_path: Path) -> None:
    folder, whole = tmp_path / "new", family()
    holes = dataclasses.replace(whole, valid=np.array([[True, True], [True, False], [True, True]]))
    assert "1 points" in refusal("incomplete", holes, folder, "arm", "double", 0.1).value
    names = {"inputs": ["y"], "outputs": ["u"]}
    plain = control.ss([[-1.0, 0.5], [0.0, -2.0]], [[1.0], [1.0]], [[1.0, 2.0]], [[0.0]], **names)
    points = tt.LPVModel.of({"a": [0.0, 1.0, 0.5], "b": [0.0, 0.0, 1.0]}, [plain] * 3)
    refusal("no-grid", points, folder, "arm", "double", 0.1)
    swapped = control.ss(plain.A[::-1, ::-1], plain.B[::-1], plain.C[:, ::-1], plain.D, **names)
    refusal("other-coordinates", tt.LPVModel.of({"a": [0.0, 1.0]}, [plain, swapped]), folder, "arm", "double", 0.1)


@needs_compiler
def test_a_list_of_points_in_any_order(tmp_path: Path) -> None:
    """Members at points that are no grid, of one parameter: as `LPVModel.at` finds them."""
    members = [control.ss([[-k]], [[1.0]], [[k]], [[0.0]], inputs=["y"], outputs=["u"]) for k in (3.0, 1.0, 2.0)]
    listed = dataclasses.replace(tt.LPVModel.of({"k": [3.0, 1.0, 2.0]}, members), is_grid=False)
    tt.export_c(listed, tmp_path / "c", "arm", sample_time=0.1)
    status, said = run_test(tmp_path / "c", "arm")
    assert status == 0, said


def test_a_folder_is_never_written_over(tmp_path: Path) -> None:
    tt.export_c(regulator(0.1), tmp_path / "c")
    before = {path.name: path.read_bytes() for path in (tmp_path / "c").iterdir()}
    assert sorted(before) == ["regulator.c", "regulator.h", "test_regulator.c"]
    for folder in (None, b"c", "a\0b"):
        with pytest.raises(tt.ModelError, match="wrong-type"):
            tt.export_c(regulator(0.1), folder)
    for folder in (tmp_path / "c", tmp_path / "none" / "c"):
        with pytest.raises(tt.ModelError, match="exist"):
            tt.export_c(regulator(0.1), folder)
    assert {path.name: path.read_bytes() for path in (tmp_path / "c").iterdir()} == before


def test_names_that_c_forbids(tmp_path: Path) -> None:
    K = control.ss([], [], [], np.ones((1, 4)), 0.1, inputs=["a-b", "a_b", "2nd", "int*/"], outputs=["é"], name="double")
    names = tt.export_c(K, tmp_path / "c")
    assert names == {
        "a-b": "DOUBLE_2_IN_A_B",
        "a_b": "DOUBLE_2_IN_A_B_2",
        "2nd": "DOUBLE_2_IN_X2ND",
        "int*/": "DOUBLE_2_IN_INT_2",
        "é": "DOUBLE_2_OUT_X",
    }
    assert "/* int* / */" in (tmp_path / "c" / "double_2.h").read_text()
