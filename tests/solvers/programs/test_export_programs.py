"""Models in C against the model's own functions, which another engine computes."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.c_programs import CompiledC, compile_c, needs_compiler, run_test, stack_used
from tests.closed_systems import four_bar
from tests.every_kind import SYSTEMS, states
from tests.solvers.programs.test_tracing import LARGE, WITHOUT
from titop.blocks.basics.spatial import Array
from titop.blocks.programs.graph import Graph, chosen_of
from titop.blocks.programs.program import Program
from titop.blocks.programs.repetition import for_each, repeated, summed
from titop.solvers.programs.c_code import Dialect, FunctionPrinter

#: Functions of a state, by what they take.
FUNCTIONS = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics_derivatives": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "nonlinear_effects": ("q", "v"),
    "energy": ("q", "v"),
    "center_of_mass": ("q",),
}


def lander() -> tt.System:
    """Return a free body with an arm: a quaternion, friction, a stop, a spring between ports, a motor, gravity."""
    s = tt.System("lander", gravity=[0, 0, -1.6])
    hub = tt.RigidBody("hub", mass=5.0, com=[0.1, 0, 0], inertia=np.diag([1.0, 2.0, 1.5]), ports={"A": [0.3, 0, 0.1]})
    arm = tt.RigidBody("arm", mass=1.0, com=[0, 0.4, 0], inertia=np.diag([0.1, 0.02, 0.1]), ports={"tip": [0, 0.8, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), arm, tt.Revolute("hinge", axis=[1, 1, 0], damping=0.1, stiffness=3.0))
    s.add_actuator(tt.Motor("motor", "hinge"))
    return s


def free_states(m: tt.Model, n: int = 5) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    q = np.array([m.random_configuration(rng) for _ in range(n)])
    return {"q": q, **{name: rng.standard_normal((n, m.nv)) for name in ("v", "tau", "a")}}


def compared(compiled: CompiledC, m: tt.Model, name: str, more: tuple[Any, ...] = (), **loads: Any) -> float:
    """Return the largest difference of a function in C from the model's, in parts of the largest entry."""
    given, worst = free_states(m), 0.0
    for k in range(len(given["q"])):
        state = [given[of][k] for of in FUNCTIONS[name]]
        right = getattr(m, name)(*state, **loads)
        right = [np.asarray(each, float) for each in (right if isinstance(right, tuple) else (right,))]
        found = [np.full(max(each.size, 1), np.nan, compiled.kind) for each in right]
        rows = [np.array(each, dtype=compiled.kind) for each in state]
        assert compiled.call(name, *rows, *more, *found) == 0
        for one, other in zip(found, right, strict=True):
            worst = max(worst, float(np.abs(one - other.ravel()).max() / np.abs(other).max()))
    return worst


@needs_compiler
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-13), ("single", 2e-5)])
def test_a_tree_is_the_compiled_engines(precision: str, tolerance: float, tmp_path: Path) -> None:
    """Some hundred roundings of well-scaled terms; in single precision with the arm's inertia, a hundredth of the hub's."""
    m = lander().resolve()
    names = tt.export_c(m.program(*FUNCTIONS), tmp_path / "c", "lander", precision)
    assert names["q:hinge"] == "LANDER_Q_HINGE"
    header = (tmp_path / "c" / "lander.h").read_text()
    assert "LANDER_V_HINGE  /* hinge (rad/s, rad/s^2, N m) */" in header
    status, said = run_test(tmp_path / "c", "lander")
    assert status == 0, said
    compiled = CompiledC(tmp_path / "c", "lander", np.float64 if precision == "double" else np.float32)
    for name in FUNCTIONS:
        assert compared(compiled, m, name) <= tolerance, name


@needs_compiler
def test_motions_of_ports(tmp_path: Path) -> None:
    """Stacked, with the ports' places in the header."""
    m, ports = lander().resolve(), ["arm.tip", "hub.A"]
    program = m.program("pose", "twist", "jacobian", "jacobian_bias", ports=ports, frame="world")
    names = tt.export_c(program, tmp_path / "c", "lander")
    assert names["ports:hub.A"] == "LANDER_PORTS_HUB_A"
    assert "Gives J [2, 6, 7]." in (tmp_path / "c" / "lander.h").read_text()
    status, said = run_test(tmp_path / "c", "lander")
    assert status == 0, said
    compiled, given = CompiledC(tmp_path / "c", "lander"), {of: rows[0] for of, rows in free_states(m).items()}
    found = np.zeros((2, 6, 7))
    assert compiled.call("jacobian", given["q"], found) == 0
    np.testing.assert_allclose(found, [m.jacobian(port, given["q"], frame="world") for port in ports], atol=1e-14)


@needs_compiler
def test_functions_take_no_more_stack_than_is_said(tmp_path: Path) -> None:
    tt.export_c(lander().resolve().program("forward_dynamics_derivatives"), tmp_path / "c", "lander")
    used = stack_used(tmp_path / "c" / "lander.c")
    said = int((tmp_path / "c" / "lander.h").read_text().split(" bytes of stack")[0].split()[-1])
    name = "lander_forward_dynamics_derivatives"
    chunks = [size for function, size in used.items() if function.startswith(f"{name}_values_")]
    assert len(chunks) > 5
    assert used[name] + used[f"{name}_values"] + max(chunks) <= said


@needs_compiler
def test_parameters_stay_tunable(tmp_path: Path) -> None:
    m, changed = lander().resolve(), {"arm.mass": 1.7, "hinge.stiffness": 0.5}
    names = tt.export_c(m.program("forward_dynamics", parameters=[*changed], inputs=["motor"]), tmp_path / "c", "lander")
    assert names["arm.mass"] == "arm_mass"
    assert "double arm_mass;  /* arm.mass (kg) */" in (tmp_path / "c" / "lander.h").read_text()
    assert run_test(tmp_path / "c", "lander")[0] == 0
    compiled, u = CompiledC(tmp_path / "c", "lander"), np.array([0.7])
    assert compared(compiled, m, "forward_dynamics", (u, compiled.defaults), u=u) <= 1e-13
    values = np.array([*changed.values()])
    other = m.with_parameters(changed)
    assert compared(compiled, other, "forward_dynamics", (u, values), u=u) <= 1e-13
    assert compared(compiled, other, "forward_dynamics", (u, compiled.defaults), u=u) > 1e-3
    source = tmp_path / "c" / "lander.c"
    source.write_text(source.read_text().replace("LANDER_DEFAULTS = {1.0,", "LANDER_DEFAULTS = {1.0000001,"))
    assert run_test(tmp_path / "c", "lander")[0] == 1
    values[0] = -np.inf
    state = [rows[0] for rows in free_states(m).values()][:3]
    assert compiled.call("forward_dynamics", *state, u, values, np.zeros(m.nv)) == -1


@needs_compiler
@pytest.mark.parametrize("precision", ["double", "single"])
def test_numbers_that_are_not_finite_are_told_by_every_function(precision: str, tmp_path: Path) -> None:
    """With a status of their own, of arguments and of results, with health and without."""
    tt.export_c(lander().resolve().program("mass_matrix", "forward_dynamics", "energy"), tmp_path / "c", "lander", precision)
    assert "#define LANDER_NOT_FINITE (-1)" in (tmp_path / "c" / "lander.h").read_text()
    kind = np.float64 if precision == "double" else np.float32
    compiled, q = CompiledC(tmp_path / "c", "lander", kind), np.array([0, 0, 0, 0, 0, 0, 1, 0.3], kind)
    results = {"mass_matrix": [49], "forward_dynamics": [7], "energy": [1, 1, 1]}
    for wrong in (0.0, np.nan, -np.inf, 1e200 if precision == "double" else 1e30):
        v = np.array([0, 0, 0, 0, 0, wrong, 0], kind)
        for name, sizes in results.items():
            given = [np.full(8, wrong, kind) if np.isnan(wrong) else q, v, v][: len(FUNCTIONS[name])]
            status = compiled.call(name, *given, *(np.zeros(size, kind) for size in sizes))
            assert status == (-1 if wrong and (len(given) > 1 or np.isnan(wrong)) else 0), (name, wrong)


@needs_compiler
def test_a_closed_loop(tmp_path: Path) -> None:
    m = four_bar(tt.RigidClosure("pin", "revolute", redundant=True)).resolve()
    program = m.program("forward_dynamics", "linear_matrices", inputs=m.coordinate_names[:1])
    tt.export_c(program, tmp_path / "c", "bars")
    name = program.names["A"][1].replace(".", "_").upper()
    assert f"BARS_A_{name}" in (tmp_path / "c" / "bars.h").read_text()
    assert run_test(tmp_path / "c", "bars")[0] == 0
    compiled, a = CompiledC(tmp_path / "c", "bars"), np.zeros(m.nv)
    q = m.assemble(program.at["q"])
    v = m.assemble_velocity(q, np.ones(m.nv))
    assert compiled.call("forward_dynamics", q, v, np.zeros(m.nv), a) == 0
    right = m.forward_dynamics(q, v)
    assert np.abs(a - right).max() <= 1e-12 * np.abs(right).max()  # rank-deficient closures solved in another way


def everything() -> Program:
    """Return a program of all operations, three thousand of them, with truths that are used as numbers and as truths."""
    graph, rng = Graph({"x": np.zeros(3), "y": np.zeros(2)}), np.random.default_rng(0)
    x, y = graph.input("x", 3), graph.input("y", 2)
    pool: list[Any] = [*x, *y]
    unary = "sqrt exp expm1 log log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh absolute sign".split()  # noqa: SIM905
    inside = {"sqrt": 2, "log": 2, "log1p": 2, "acosh": 2}
    small = [0.4 * u.sin() for u in pool]
    truths = [small[0] < small[1], small[0] <= small[2], small[3] == small[4], small[3] != small[4]]
    truths += [truths[0] & truths[1], truths[2] | truths[0], ~(truths[0] & truths[2])]
    results = [graph.put(name, (small[0] + inside.get(name, 0)).place) for name in unary]
    results += [graph.put(name, small[0].place, small[1].place) for name in ("atan2", "minimum", "maximum")]
    results += [graph.put("power", (small[0] + 2.0).place, small[1].place), *(truth * 3.0 for truth in truths)]
    results += [truth.choose(small[1], -1.5) for truth in truths]
    for _ in range(3000):
        u, v = (pool[k] for k in rng.integers(0, len(pool), 2))
        pool.append([u + 0.3 * v, u * v / (1.0 + u * u), chosen_of(u < v, u, v - 1.0), u.sin() - v][rng.integers(4)])
    return graph.program({"x": 3, "y": 2}, {"z": np.array([*results, *truths, *pool[-60:], 2.5], dtype=object)})


@needs_compiler
@pytest.mark.parametrize("chunk", [7, 500, 10_000])
@pytest.mark.parametrize("precision", ["double", "float"])
def test_all_operations_in_chunks(chunk: int, precision: str, tmp_path: Path) -> None:
    program = everything()
    arguments = {"x": f"const {precision} *x", "y": f"const {precision} *y", "z": f"{precision} *z"}
    printed = FunctionPrinter(program, "f", ["z"], arguments, Dialect(precision, function="extern", chunk=chunk)).printed()
    declared = printed.text[printed.text.rindex("extern void") :].split("\n")[0]
    (tmp_path / "f.c").write_text(f"#include <math.h>\n{declared};\n{printed.text}")
    done = compile_c([tmp_path / "f.c"], tmp_path / "f.so", "-shared", "-fPIC", "-O0")
    assert not done.returncode, done.stderr
    call, rng = ctypes.CDLL(str(tmp_path / "f.so")).f, np.random.default_rng(1)
    kind = np.float64 if precision == "double" else np.float32
    for _ in range(5):
        x, y = rng.standard_normal(3).astype(kind), rng.standard_normal(2).astype(kind)
        right = program.evaluate({"x": x.astype(float), "y": y.astype(float)})["z"]
        z = np.full(len(right), np.nan, kind)
        call(*(each.ctypes.data_as(ctypes.c_void_p) for each in (x, y, z)))
        # the library's functions may differ from NumPy's by a rounding, which three thousand operations carry on
        assert np.abs(z - right).max() <= (1e-14 if precision == "double" else 1e-5) * np.abs(right).max()


@needs_compiler
def test_loops(tmp_path: Path) -> None:
    """What is repeated stays loops in C: rows, what is carried from one to the next, and sums."""
    graph = Graph()
    q = graph.input("q", 2)
    points = np.random.default_rng(2).standard_normal((40, 3))

    def values(q: Any) -> Any:
        turned = for_each(lambda rows: (np.sin(rows * q[0]),), points, of=q)[0]
        walk = repeated(lambda x, row: (x * 0.5 + row[:2] * q[1],), (q,), turned)[0]
        return np.concatenate([summed(lambda rows, turned: (rows * turned).sum(axis=0), walk[1:], turned[:, 1:]), walk[-1]])

    program = graph.program({"q": 2}, {"y": values(q)})
    assert len(program.loops) == 3
    for chunk in (1, 500):
        arguments = {"q": "const double *q", "y": "double *y"}
        printed = FunctionPrinter(program, "f", ["y"], arguments, Dialect("double", function="extern", chunk=chunk)).printed()
        heads = [line for line in printed.text.split("\n") if line.startswith("extern")]
        (tmp_path / "f.c").write_text("#include <math.h>\n" + ";\n".join([*heads, ""]) + printed.text)
        done = compile_c([tmp_path / "f.c"], tmp_path / f"f{chunk}.so", "-shared", "-fPIC")
        assert not done.returncode, done.stderr
        call, given, found = ctypes.CDLL(str(tmp_path / f"f{chunk}.so")).f, np.array([0.3, -1.2]), np.zeros(4)
        call(*(each.ctypes.data_as(ctypes.c_void_p) for each in (given, found)))
        right = values(given)
        assert np.abs(found - right).max() <= 1e-13 * np.abs(right).max()  # forty terms, added in another order


def test_refusals(tmp_path: Path) -> None:
    program = lander().resolve().program("mass_matrix")
    for code, arguments in {"no-controller": (None, "double", 0.1), "bad-name": ("2", "double", None)}.items():
        with pytest.raises(tt.ModelError) as error:
            tt.export_c(program, tmp_path / "c", *arguments)
        assert [found.code for found in error.value.findings] == [code]
        assert not (tmp_path / "c").exists()
    with pytest.raises(tt.ModelError, match="outputs: got no outputs"):
        tt.export_c(lander().resolve().program("outputs", outputs=[]), tmp_path / "c")


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("duplicate-parameter", {"parameters": ["arm.mass", "arm.mass"]}),
        ("unknown-parameter", {"parameters": [["arm.mass"]]}),
        ("unknown-parameter", {"parameters": "mass"}),
        ("duplicate-input", {"inputs": ["motor", "motor"]}),
        ("duplicate-output", {"outputs": ["hinge.q", "hinge.q"]}),
    ],
)
def test_names_of_programs_are_known_and_given_once(code: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(tt.ModelError) as error:
        lander().resolve().program("rates", **arguments)
    assert [found.code for found in error.value.findings] == [code]


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in LARGE | WITHOUT])
def test_every_kind_of_system(name: str, tmp_path: Path) -> None:
    """The test that is written compares with the program in NumPy, which is compared with the engines elsewhere."""
    m = SYSTEMS[name]().resolve(engine="reference")
    at = states(m, 1)["q"][0]
    tt.export_c(m.program("rates", "inverse_dynamics", inputs=m.input_names, outputs=[], at=at), tmp_path / "c", "system")
    status, said = run_test(tmp_path / "c", "system")
    assert status == 0, said


@needs_compiler
def test_rods_are_loops_over_their_sections(tmp_path: Path) -> None:
    """More points are more turns, not more text; C is the reference engine to the conditions of a rod's inertia."""
    printed: list[tuple[int, int]] = []
    for points in (3, 6):
        s = tt.System("whip", gravity=[0, 0, -9.81])
        rod = tt.Rod("whip", 1.0, tt.Section.circle(0.01), 1e7, 1e3, strains={"torsion": 0, "bending_y": 1}, points=points)
        s.connect("world", rod, tt.Revolute("hinge", axis=[0, 1, 0]))
        s.connect(rod.port("tip"), tt.RigidBody("bob", 0.1, inertia=1e-4 * np.eye(3)), tt.Weld("end"))
        m = s.resolve(engine="reference")
        program = m.program("forward_dynamics")
        printed.append((program.functions["forward_dynamics"].length, program.operations))
        tt.export_c(program, tmp_path / f"c{points}", "whip")
        assert "_turn_0(" in (tmp_path / f"c{points}" / "whip.c").read_text()
        q, v, tau = np.random.default_rng(0).normal(size=(3, m.nv))
        found, right = np.zeros(m.nv), m.forward_dynamics(q, v, tau)
        assert CompiledC(tmp_path / f"c{points}", "whip").call("forward_dynamics", q, v, tau, found) == 0
        assert np.abs(found - right).max() < 1e-11 * np.abs(right).max()
        assert np.abs(found - m.forward_dynamics(q, 1.1 * v, tau)).max() > 1e-5 * np.abs(right).max()
    assert printed[1][0] == printed[0][0]
    assert printed[1][1] > 1.5 * printed[0][1]


@needs_compiler
@pytest.mark.long
def test_soft_bodies_stay_loops(tmp_path: Path) -> None:
    m = SYSTEMS["soft bodies"]().resolve(engine="reference")
    tt.export_c(m.program("energy"), tmp_path / "c", "soft")
    assert "_loop_0(given, given + " in (tmp_path / "c" / "soft.c").read_text()
    status, said = run_test(tmp_path / "c", "soft")
    assert status == 0, said
