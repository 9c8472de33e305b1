"""Kernels: a long compilation is announced, what cannot be compiled is said, patient ones wait."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.flexible import random_system
from tests.solvers.kernels.ports.wet_systems import Wet
from tests.stated_systems import interacting
from titop.solvers import kernels
from titop.solvers.native import cache, kernel
from titop.solvers.native.kernel import Feature, entry
from titop.solvers.native.signatures import VECTOR


def test_a_long_compilation_is_announced(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(kernel, "ANNOUNCE_AFTER", 0.0)
    with kernel._Announcement("something slow", kept=True) as announcement:
        announcement.timer.join()
    said = capsys.readouterr().err
    assert "compiling something slow" in said
    assert "(once; kept in a cache)" in said
    assert "compiled something slow" in said


def test_that_nothing_is_kept_is_said_once_and_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(kernel, "ANNOUNCE_AFTER", 0.0)
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    monkeypatch.setattr(cache, "obstacle", lambda: "/nowhere: Permission denied")
    for k in range(2):

        def own():
            return 0

        own.__module__ = f"titop.solvers.kernels.test{k}"  # kept, if it could be
        assert entry()(own)() == 0
    said = capsys.readouterr().err
    assert said.count("/nowhere: Permission denied; set TITOP_CACHE_DIR") == 1
    assert "kept in a cache" not in said


def _all_features():
    within = pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}.")
    modules = [importlib.import_module(info.name) for info in within]
    found = {thing.name: thing for module in modules for thing in vars(module).values() if isinstance(thing, Feature)}
    assert len(found) > 10
    del found["feature_interactions_under_loads"]  # it is called for stacked states alone
    return sorted(found.items())


@pytest.fixture(scope="module")
def system_of_features():
    """A system that has everything which only some systems have, and its functions at a state."""
    s = random_system(np.random.default_rng(3))
    wet = Wet("wet", 0.5, [0, 0.1, 0], [0.02, 0.03, 0.04])
    s.connect(s["hub"], wet, tt.Spherical("socket", stiffness=2.0, armature=[0.1, 0.2, 0.3]))
    s.add_load(tt.Load("shove", s["tip"], force=[1.0, 2.0, 3.0], frame="world"))
    s.close_loop(s["near"].port("C0"), s["tip"], tt.SpringDamper("strut", stiffness=3.0, damping=0.1, length=0.2))
    oscillator = tt.System("oscillator")
    oscillator.connect("world", tt.RigidBody("mass", mass=1.0), tt.Prismatic("rail", stiffness=4.0, damping=0.1))
    loaded = tt.System("loaded")
    loaded.connect(
        "world", tt.RigidBody("shoved", mass=1.0, com=[0.1, 0, 0]), tt.Revolute("hinge", axis=[0, 1, 0], armature=0.1)
    )
    loaded.add_load(tt.Load("shove", loaded["shoved"], force=[1.0, 2.0, 3.0], torque=[0.1, 0.2, 0.3], frame="world"))
    stopped = tt.System("stopped")
    limits = tt.Limits(-1.0, 1.0, stiffness=1e3)
    stopped.connect("world", tt.RigidBody("mass", mass=1.0), tt.Prismatic("rail", axis=[1, 0, 0], limits=limits))
    rigid, turned, m, rng = oscillator.resolve(), loaded.resolve(), s.resolve(), np.random.default_rng(1)
    between, lagging = stopped.resolve(), interacting().resolve()
    q, (v, a, tau) = m.random_configuration(rng), rng.normal(size=(3, m.nv))
    return {
        "forward": lambda: m.forward_dynamics(q, v, tau),
        "inverse": lambda: m.inverse_dynamics(q, v, a),
        "energy": lambda: m.energy(q, v),
        "by forward": lambda: m.forward_dynamics_derivatives(q, v, tau),
        "by inverse": lambda: m.inverse_dynamics_derivatives(q, v, a),
        "hybrid": lambda: m.hybrid_dynamics(q, v, a, tau, ["socket"]),
        "along": lambda: rigid.forward_dynamics_tangent([0.3], [0.2], [0.1], [1.0], [2.0], [3.0]),
        "along all": lambda: m.forward_dynamics_tangent(q, v, tau, v, a, tau),
        "transposed of all": lambda: np.concatenate(m.forward_dynamics_adjoint(q, v, tau, a)),
        "by time": lambda: turned.inverse_dynamics_series(np.array([0.3]), np.ones((4, 1))),
        "with own states": lambda: tt.simulate(lagging, [0.0, 0.1], lagging.neutral(), np.ones(lagging.nv)).q,
        "between stops": lambda: tt.simulate(between, [0.0, 0.5], [0.0], [1.0]).q,
        "transposed": lambda: np.concatenate(rigid.forward_dynamics_adjoint([0.3], [0.2], [0.1], [1.0])),
    }


@pytest.mark.parametrize(("name", "feature"), _all_features())
def test_a_feature_that_cannot_be_compiled_is_said(name, feature, system_of_features, monkeypatch: pytest.MonkeyPatch) -> None:
    """What calls a feature gives up, and the reason reaches Python: no result that lacks what the feature does."""

    def broken(_):
        raise RuntimeError("no compiler")

    right = {function: np.concatenate([np.ravel(x) for x in call()]) for function, call in system_of_features.items()}
    known, reasons = feature._called.value, []
    with monkeypatch.context() as patched:
        feature._called.value = feature._first.address
        patched.setattr(type(feature), "address", property(broken))
        for function, call in system_of_features.items():
            try:
                found = np.concatenate([np.ravel(x) for x in call()])
            except RuntimeError as error:
                reasons.append(str(error))
            else:
                assert np.array_equal(found, right[function]), function
        feature._called.value = known
    assert set(reasons) == {"no compiler"}
    for function, call in system_of_features.items():
        assert np.array_equal(np.concatenate([np.ravel(x) for x in call()]), right[function])


def _counted(calls):
    def longer(numbers):
        calls.append(None)
        numbers[0] = 1.5 * numbers[0]
        return 0

    return longer


def test_a_patient_kernel_runs_as_it_is_written_until_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, numbers = [], np.ones(1)
    longer = entry(VECTOR, patience=60.0)(_counted(calls))
    compiled = []
    monkeypatch.setattr(type(longer), "compiled", property(lambda self: compiled.append))
    assert longer(numbers) == 0
    assert numbers[0] == 1.5
    assert len(calls) == 1
    longer.patience = 1e-9
    longer(numbers)
    longer(numbers)
    assert len(calls) == 2
    assert len(compiled) == 1


def test_a_patient_kernel_of_which_machine_code_is_kept_uses_that(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    longer = entry(VECTOR, patience=60.0)(_counted(calls))
    monkeypatch.setattr(type(longer), "is_kept", True)
    monkeypatch.setattr(type(longer), "compiled", property(lambda self: lambda numbers: 7))
    assert longer(np.ones(1)) == 7
    assert not calls


def allocating(source: str) -> list[str]:
    """Return the names of helpers that make arrays."""
    return [
        function.name
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and any(ast.unparse(each) == "helper" for each in function.decorator_list)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("np.empty", "np.zeros", "np.ones")
    ]


def test_helpers_make_no_arrays() -> None:
    """They return only arrays that they are given: what makes some compiles there only where something else did before."""
    kernels = Path(__file__).parents[3] / "solvers" / "kernels"
    found = {path.name: names for path in kernels.rglob("*.py") if (names := allocating(path.read_text("utf-8")))}
    assert found == {}
    assert allocating("@helper\ndef _bent(n):\n    return np.zeros(n)\n") == ["_bent"]


def functions(source: str, mark: str) -> list[ast.FunctionDef]:
    """Return the functions of a source with a decorator."""
    every = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [function for function in every if any(ast.unparse(each) == mark for each in function.decorator_list)]


def returned(value: ast.AST | None) -> set[str]:
    """Return the names that an expression gives back as they are: itself, in a tuple, or one of two."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value.body, value.orelse] if isinstance(value, ast.IfExp) else []
    return {value.id} if isinstance(value, ast.Name) else {name for part in parts for name in returned(part)}


def giving_back(source: str) -> list[str]:
    """Return the names of helpers that return an array that they are given: it has a shape, two indices, or is written to."""
    found = []
    for function in functions(source, "helper"):
        nodes = [*ast.walk(function)]
        arrays = {ast.unparse(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in ("shape", "size")}
        for n in nodes:
            if isinstance(n, ast.Subscript) and (isinstance(n.slice, ast.Tuple) or isinstance(n.ctx, ast.Store)):
                arrays.add(ast.unparse(n.value))
        given = arrays & {argument.arg for argument in function.args.args}
        if any(returned(n.value) & given for n in nodes if isinstance(n, ast.Return)):
            found.append(function.name)
    return found


def test_helpers_return_no_array_that_they_are_given() -> None:
    """They do not count who uses an array: one that is returned would be let go of twice."""
    kernels = Path(__file__).parents[3] / "solvers" / "kernels"
    assert {path.name: names for path in kernels.rglob("*.py") if (names := giving_back(path.read_text("utf-8")))} == {}
    assert giving_back("@helper\ndef same(t, x):\n    return x, (t if t.size else None)\n") == ["same"]
    assert giving_back("@helper\ndef one(t, x):\n    return t[0, 0] if x[0] else x\n") == []


def calling_allocating(source: str, allocating: set[str]) -> list[str]:
    """Return the names of helpers that call shared parts, of such full names, that make arrays."""
    known = {name: f".{name}" for name in allocating_parts(source)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            known |= {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    wrong = {name for name, full in known.items() if full in allocating or full.startswith(".")}
    calls = {
        function.name: {ast.unparse(n.func) for n in ast.walk(function) if isinstance(n, ast.Call)}
        for function in functions(source, "helper")
    }
    return [name for name, called in calls.items() if called & wrong]


def allocating_parts(source: str) -> list[str]:
    """Return the names of shared parts that make arrays."""
    makers = ("np.empty", "np.zeros", "np.ones")
    return [
        function.name
        for function in functions(source, "shared")
        if any(isinstance(n, ast.Call) and ast.unparse(n.func) in makers for n in ast.walk(function))
    ]


def test_helpers_call_no_shared_parts_that_make_arrays() -> None:
    """Such calls compile only where something else makes arrays too."""
    root = Path(__file__).parents[3]
    sources = {path: path.read_text("utf-8") for path in (root / "solvers" / "kernels").rglob("*.py")}
    parts = {
        ".".join(("titop", *path.relative_to(root).with_suffix("").parts, name))
        for path, source in sources.items()
        for name in allocating_parts(source)
    }
    assert parts  # else nothing was looked for
    assert {path.name: names for path, source in sources.items() if (names := calling_allocating(source, parts))} == {}
    wrong = "from a import b\n@shared\ndef c(n):\n    return np.zeros(n)\n"
    wrong += "@helper\ndef d(n):\n    c(n)\n@helper\ndef e(n):\n    b(n)\n"
    assert calling_allocating(wrong, {"a.b"}) == ["d", "e"]
    assert calling_allocating(wrong, set()) == ["d"]


def columns_by_name(source: str) -> list[str]:
    """Return the columns of `layout` that a source imports by name."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return [alias.name for each in imports if each.module == "titop.solvers.kernels.interface.layout" for alias in each.names]


def test_columns_are_read_through_their_module() -> None:
    """One line of imports a file, not one for each column; the machine code is the same."""
    root = Path(__file__).parents[3]
    files = [path for folder in ("solvers", "tests") for path in (root / folder).rglob("*.py")]
    assert {path.name: names for path in files if (names := columns_by_name(path.read_text("utf-8")))} == {}
    assert columns_by_name("from titop.solvers.kernels.interface.layout import MASS, Q\n") == ["MASS", "Q"]
