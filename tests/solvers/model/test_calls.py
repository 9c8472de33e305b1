"""From a user's call into a kernel: how many Python functions are on the way, and what comes where it fails."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.solvers.engines.compiled.instrumented import instrumented
from titop.solvers.mechanism.kernel_calls import NO_CALLS


def called(function: Callable[[], Any]) -> list[str]:
    """Return the names of the Python functions that a call goes through, `function` left out."""
    function()  # binds kernels
    names: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return names[1:]


def arm() -> tt.System:
    """Return three links with an accelerometer at the tip."""
    s, at = tt.System("arm", gravity=[0, 0, -9.81]), "world"
    for k in range(3):
        link = tt.RigidBody(f"link{k}", 1.0, [0.2, 0, 0], [0.1, 0.2, 0.2], ports={"tip": [0.4, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, 1, k], damping=0.1))
        at = link.port("tip")
    s.add_sensor(tt.Accelerometer("accelerometer", at))
    return s


def functions(m: tt.Model) -> dict[str, tuple[int, Callable[[], Any]]]:
    """Return how many Python functions each of a model's functions is, and calls of it."""
    rng = np.random.default_rng(0)
    q = m.assemble(m.random_configuration(rng)) if m.is_constrained else m.random_configuration(rng)
    v, tau = rng.normal(size=(2, m.nv))
    v = m.assemble_velocity(q, v)
    a = m.forward_dynamics(q, v, tau)
    port = m.port_names[-1]
    one: dict[str, Callable[[], Any]] = {
        "forward_dynamics": lambda: m.forward_dynamics(q, v, tau),
        "inverse_dynamics": lambda: m.inverse_dynamics(q, v, a),
        "forward_dynamics_derivatives": lambda: m.forward_dynamics_derivatives(q, v, tau),
        "inverse_dynamics_derivatives": lambda: m.inverse_dynamics_derivatives(q, v, a),
        "mass_matrix": lambda: m.mass_matrix(q),
        "inverse_mass_matrix": lambda: m.inverse_mass_matrix(q),
        "inertial_inverse_dynamics": lambda: m.inertial_inverse_dynamics(q, v, a),
        "mass_inverse_dynamics": lambda: m.mass_inverse_dynamics(q, v, a),
        "mass_inertial_inverse_dynamics": lambda: m.mass_inertial_inverse_dynamics(q, v, a),
        "nonlinear_effects": lambda: m.nonlinear_effects(q, v),
        "gravity_effects": lambda: m.gravity_effects(q),
        "coriolis_matrix": lambda: m.coriolis_matrix(q, v),
        "passive_efforts": lambda: m.passive_efforts(q, v),
        "momentum": lambda: m.momentum(q, v),
        "momentum_matrix": lambda: m.momentum_matrix(q),
        "pose": lambda: m.pose(port, q),
        "twist": lambda: m.twist(port, q, v),
        "jacobian": lambda: m.jacobian(port, q),
        "acceleration": lambda: m.acceleration(port, q, v, a),
        "integrate": lambda: m.integrate(q, v),
        "difference": lambda: m.difference(q, q),
        "difference_derivatives": lambda: m.difference_derivatives(q, q),
    }
    two: dict[str, Callable[[], Any]] = {
        "center_of_mass": lambda: m.center_of_mass(q),
        "energy": lambda: m.energy(q, v),
        "regressor": lambda: m.regressor(q, v, a),
        "outputs": lambda: m.outputs(q, v, a),
        "accelerometer": lambda: m.accelerometer(port, q, v, a),
    }
    return {name: (1, f) for name, f in one.items()} | {name: (2, f) for name, f in two.items()}


@pytest.mark.parametrize("closed", [False, True])
def test_one_python_function_from_user_to_kernel(closed: bool) -> None:
    """Two for what is put into other words, or bound for itself: energies, centres, readings, regressors."""
    m = (four_bar() if closed else arm()).resolve()
    for name, (most, function) in functions(m).items():
        through = [each for each in called(function) if each not in ("__new__", "<lambda>")]
        assert len(through) <= most, (name, through)


def test_a_way_round_the_kernel_is_seen() -> None:
    """The negative control: a list has to be read, which takes more functions."""
    m = arm().resolve()
    assert len(called(lambda: m.mass_matrix([0.1, 0.2, 0.3]))) > 3
    reference = arm().resolve(engine="reference")
    assert len(called(lambda: reference.mass_matrix(np.zeros(3)))) > 3


def test_named_listed_and_stacked_arguments_are_read() -> None:
    for s in (arm(), instrumented("beam")):
        m = s.resolve()
        q = m.random_configuration(np.random.default_rng(1))
        expected = m.mass_matrix(q)
        for found in (m.mass_matrix(q=q), m.mass_matrix(q.tolist()), *m.mass_matrix(np.stack([q, q]))):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * np.abs(expected).max())  # q with unit quaternions
        with pytest.raises(TypeError, match="mass_matrix\\(\\) too many positional"):
            m.mass_matrix(q, q)
        with pytest.raises(TypeError, match="mass_matrix\\(\\) got an unexpected keyword argument 'out'"):
            m.mass_matrix(q, out=expected)
        with pytest.raises(TypeError, match="conditioning\\(\\) got an unexpected keyword argument 'where'"):
            m.conditioning(q=np.stack([q, q]), where=3)
        with pytest.raises(tt.ModelError, match="stack all along the first axis"):
            m.momentum(np.stack([q, q]), np.zeros(m.nv))


#: What is called where arguments are read with care.
CARE = {"read_states", "read_stack", "_checked", "_without_kernel", "_read_rows", "_read_v", "_read_q", "read_wrenches"}


def given_states(m: tt.Model) -> dict[str, Callable[..., Any]]:
    """Return functions of vectors q, v and x (nv), by name."""
    port, free = m.port_names[-1], m.coordinate_names[:1]
    wrenches = {port: [1.0, -2.0, 3.0, 0.1, 0.2, 0.3]}
    return {
        "forward_dynamics": m.forward_dynamics,
        "inverse_dynamics": m.inverse_dynamics,
        "under wrenches": lambda q, v, x: m.forward_dynamics(q, v, x, wrenches),
        "hybrid_dynamics": lambda q, v, x: m.hybrid_dynamics(q, v, x, x, free),
        "forward_dynamics_derivatives": m.forward_dynamics_derivatives,
        "inverse_dynamics_derivatives": m.inverse_dynamics_derivatives,
        "hybrid_dynamics_derivatives": lambda q, v, x: m.hybrid_dynamics_derivatives(q, v, x, x, free),
        "mass_inverse_dynamics": m.mass_inverse_dynamics,
        "mass_inertial_inverse_dynamics": m.mass_inertial_inverse_dynamics,
        "mass_matrix": lambda q, v, x: m.mass_matrix(q),
        "nonlinear_effects": lambda q, v, x: m.nonlinear_effects(q, v),
        "gravity_effects": lambda q, v, x: m.gravity_effects(q),
        "inertial_inverse_dynamics": m.inertial_inverse_dynamics,
        "momentum": lambda q, v, x: m.momentum(q, v),
        "regressor": m.regressor,
        "pose": lambda q, v, x: m.pose(port, q),
        "twist": lambda q, v, x: m.twist(port, q, v, "world"),
        "jacobian": lambda q, v, x: m.jacobian(port, q),
        "acceleration": lambda q, v, x: m.acceleration(port, q, v, x),
        "energy": lambda q, v, x: m.energy(q, v),
        "center_of_mass": lambda q, v, x: m.center_of_mass(q),
        "motion": lambda q, v, x: m.motion(port, q, v, x),
        "integrate": lambda q, v, x: m.integrate(q, v),
        "difference": lambda q, v, x: m.difference(q, q),
        "integrate_derivatives": lambda q, v, x: m.integrate_derivatives(q, v),
    }


def in_trees(m: tt.Model) -> dict[str, Callable[..., Any]]:
    """Return those that have kernels of trees alone."""
    return {
        "forward_dynamics_tangent": lambda q, v, x: m.forward_dynamics_tangent(q, v, x, v, x, v),
        "forward_dynamics_adjoint": lambda q, v, x: m.forward_dynamics_adjoint(q, v, x, v),
        "inverse_dynamics_tangent": lambda q, v, x: m.inverse_dynamics_tangent(q, v, x, v, x, v),
        "inverse_dynamics_adjoint": lambda q, v, x: m.inverse_dynamics_adjoint(q, v, x, v),
        "inverse_dynamics_series": lambda q, v, x: m.inverse_dynamics_series(
            q, [v, x] if type(v) is list else np.array([v, x])
        ),
        "outputs": m.outputs,
    }


def in_every_form(x: Any) -> dict[str, Any]:
    """Return a vector in forms which kernels refuse, as whole numbers too if its are such."""
    whole = x.astype(int)
    locked = x.copy()
    locked.flags.writeable = False
    rounded = {"integers": whole, "list of integers": whole.tolist(), "single": x.astype(np.float32)}
    return (rounded if (whole == x).all() else {}) | {
        "list": x.tolist(),
        "tuple": tuple(x.tolist()),
        "strided": np.stack([x, x], axis=1)[:, 0],
        "read only": locked,
        "swapped": x.astype(x.dtype.newbyteorder()),
    }


@pytest.mark.parametrize("closed", [False, True])
def test_other_forms_of_numbers_go_into_kernels_too(closed: bool) -> None:
    """They are made ready and asked for once more, with the very results of arrays; nothing reads them with care."""
    m = (four_bar() if closed else arm()).resolve()
    q, v, x = np.arange(1.0, 10.0).reshape(3, 3)
    if closed:
        q = m.assemble([0.9, -1.0, 0.5])
        v = m.assemble_velocity(q, v)
        x = m.forward_dynamics(q, v, x)
    functions = given_states(m) | ({} if closed else in_trees(m))
    forms = [in_every_form(part) for part in (q, v, x)]
    for name, function in functions.items():
        expected = np.concatenate([np.ravel(part) for part in flat(function(q, v, x))])
        for form in forms[0]:
            given = [each[form] for each in forms]
            found = np.concatenate([np.ravel(part) for part in flat(function(*given))])
            np.testing.assert_array_equal(found, expected, err_msg=f"{name}, {form}")
            assert not CARE & set(called(lambda function=function, given=given: function(*given))), (name, form)


def flat(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("closed", [False, True])
def test_what_is_left_out_goes_into_kernels_too(closed: bool) -> None:
    """No efforts, with inputs and wrenches or without, are zero ones; inverse dynamics finds none."""
    s = four_bar() if closed else arm()
    joint = next(iter(s.resolve().joint_names))
    s.add_actuator(tt.Motor("motor", joint))
    m = s.resolve()
    rng = np.random.default_rng(4)
    q = m.assemble(m.random_configuration(rng)) if closed else m.random_configuration(rng)
    v, zero = m.assemble_velocity(q, rng.normal(size=m.nv)), np.zeros(m.nv)
    wrench = np.array([1.0, -2.0, 3.0, 0.1, 0.2, 0.3])
    for loads in ({}, {"wrenches": {m.port_names[-1]: wrench}}, {"u": np.array([0.7])}, {"u": {"motor": 0.7}}):
        a = m.forward_dynamics(q, v, **loads)
        np.testing.assert_array_equal(a, m.forward_dynamics(q, v, zero, **loads))
        np.testing.assert_allclose(m.inverse_dynamics(q, v, a, **loads), zero, rtol=0, atol=1e-12 * (1 + np.abs(a).max()))
        derivatives = m.forward_dynamics_derivatives(q, v, **loads)
        np.testing.assert_array_equal(derivatives, m.forward_dynamics_derivatives(q, v, zero, **loads))
        for function in (m.forward_dynamics, m.forward_dynamics_derivatives):
            through = called(lambda function=function, loads=loads: function(q, v, **loads))
            assert not CARE & set(through), through
            assert through.count("read") <= 1, "inputs by name are read once"
    stack = np.stack([q, q])
    np.testing.assert_array_equal(m.forward_dynamics(stack, np.stack([v, v]))[1], m.forward_dynamics(q, v))


def test_arguments_by_name_go_into_kernels_too() -> None:
    m = arm().resolve()
    rng = np.random.default_rng(5)
    q, v, a = rng.normal(size=(3, m.nv))
    pairs = [
        (lambda: m.mass_matrix(q=q), m.mass_matrix(q)),
        (lambda: m.nonlinear_effects(v=v, q=q), m.nonlinear_effects(q, v)),
        (lambda: m.inertial_inverse_dynamics(q, a=a, v=v), m.inertial_inverse_dynamics(q, v, a)),
        (lambda: m.integrate(dq=v, q=q), m.integrate(q, v)),
        (lambda: m.difference(q, q1=v), m.difference(q, v)),
        (lambda: m.difference_derivatives(q1=q, q0=v), m.difference_derivatives(v, q)),
    ]
    for by_name, expected in pairs:
        np.testing.assert_array_equal(by_name(), expected)
        assert len(called(by_name)) <= 3  # the function itself, and what puts its arguments in order


def test_wrenches_in_every_form() -> None:
    """Those that kernels refuse are made ready; tables that wait for the next call are found again, whatever a call refused."""
    m = arm().resolve()
    q, v, x = np.ones((3, m.nv))
    wrench = np.array([1.0, -2.0, 3.0, 4.0, 0.0, -1.0])
    expected = m.forward_dynamics(q, v, x, {"link2": wrench})
    for form, given in (in_every_form(wrench) | {"numbers of NumPy": list(wrench)}).items():
        np.testing.assert_array_equal(m.forward_dynamics(q, v, x, {"link2": given}), expected, err_msg=form)
        assert not CARE & set(called(lambda given=given: m.forward_dynamics(q, v, x, {"link2": given}))), form
    with pytest.raises(tt.ModelError, match="the wrench on link2: got complex numbers"):
        m.forward_dynamics(q, v, x, {"link2": wrench + 1j})
    assert "new_copy" not in called(lambda: m.forward_dynamics(q.tolist(), v, x, {"link2": wrench}))
    assert "new_copy" in called(lambda: arm().resolve().forward_dynamics(q.tolist(), v, x, {"link2": wrench}))


@pytest.mark.parametrize(
    "wrong",
    [
        [1.0],
        [1, 2, 3, 4],
        [0.0, np.nan, 1.0],
        ["1", "2", "3"],
        [1j, 0, 0],
        [[1, 2], [3]],
        [None, 1, 2],
        "abc",
        3,
        [10**400, 0, 0],
    ],
    ids=str,
)
def test_unusable_forms_are_refused_in_the_words_of_the_other_engine(wrong: Any) -> None:
    """That one has no kernels; it takes complex numbers, which the compiled one refuses in words of its own."""
    compiled, reference = arm().resolve(), arm().resolve(engine="reference")
    good, complex_ones = np.ones(3), wrong == [1j, 0, 0]
    for name in ("forward_dynamics", "inverse_dynamics", "mass_inverse_dynamics", "inertial_inverse_dynamics", "regressor"):
        for place in range(3):
            given = [wrong if k == place else good.tolist() for k in range(3)]
            with pytest.raises(tt.ModelError, match="engine='reference'" if complex_ones else None) as found:
                getattr(compiled, name)(*given)
            if not complex_ones:
                with pytest.raises(tt.ModelError) as expected:
                    getattr(reference, name)(*given)
                assert str(found.value) == str(expected.value)


def test_an_engine_without_kernels() -> None:
    assert NO_CALLS.forward is None
    assert NO_CALLS.at_ports["hub"].pose is None
    with pytest.raises(TypeError):
        NO_CALLS.forward(np.zeros(1))


def pendulum(engine: str) -> tt.Model:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", 1.0, [0, 0, -1], 0.1), tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve(engine)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("direction", [["1"], np.ma.masked_array([1.0], [True]), np.array(["2020-01-01"], "M8[D]")])
def test_directions_that_are_no_numbers_are_refused(engine: str, direction: Any) -> None:
    m, one = pendulum(engine), np.ones(1)
    with pytest.raises(tt.ModelError, match="dtau"):
        m.forward_dynamics_tangent(one, one, one, one, one, direction)
    with pytest.raises(tt.ModelError, match="weights"):
        m.forward_dynamics_adjoint(one, one, one, direction)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_wrenches_are_six_numbers_or_refused_by_name(engine: str) -> None:
    m, rows = pendulum(engine), [[0.1], [0.2]]
    given = m.forward_dynamics([0.1], [0.0], None, {"bob": np.ones(6)})
    np.testing.assert_array_equal(m.forward_dynamics([0.1], [0.0], None, {"bob": np.ones(6, object)}), given)
    masked = np.ma.masked_array(np.ones(6), [1, 0, 0, 0, 0, 0])
    for wrenches in ({"bob": masked}, {"bob": np.ma.masked_array(np.ones((2, 6)), np.eye(2, 6))}, [1]):
        with pytest.raises(tt.ModelError, match="wrenches"):
            m.hybrid_dynamics(rows, rows, rows, rows, ["hinge"], wrenches=wrenches)
    with pytest.raises(tt.ModelError, match="wrenches"):
        m.forward_dynamics([0.1], [0.0], None, {"bob": masked})


def test_biases_of_listed_stacks_and_derivatives_of_nothing() -> None:
    m, rows = pendulum("compiled"), [[0.1], [0.2]]
    np.testing.assert_array_equal(m.jacobian_bias("bob", rows, rows), m.jacobian_bias("bob", np.array(rows), np.array(rows)))
    s = tt.System("stone")
    s.connect("world", tt.RigidBody("stone", 1.0), tt.Weld("glue"))
    none = np.zeros(0)
    assert [part.shape for part in s.resolve().hybrid_dynamics_derivatives(none, none, none, none, [])] == [(0, 0)] * 8


def swallowing(source: str) -> list[str]:
    """Return what is caught together, of several kinds, by handlers that pass over it."""
    handlers = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler))
    passing = (node for node in handlers if all(isinstance(each, ast.Pass) for each in node.body))
    return [ast.unparse(node.type) for node in passing if isinstance(node.type, ast.Tuple)]


def test_no_mistake_is_taken_for_a_refusal() -> None:
    """What kernels refuse is a `TypeError` of the one call in the `try`; other errors of Python are mistakes, and seen."""
    rooms = [
        Path(tt.__file__).parent / "solvers" / room for room in ("model", "engines", "mechanism", "arguments", "constraints")
    ]
    sources = [path.read_text(encoding="utf8") for room in rooms for path in room.rglob("*.py")]
    assert len(sources) > 50
    assert [found for source in sources for found in swallowing(source)] == []
    assert swallowing("try:\n    f()\nexcept (KeyError, TypeError):\n    pass") == ["(KeyError, TypeError)"]
