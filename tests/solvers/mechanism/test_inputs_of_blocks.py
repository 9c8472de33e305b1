"""Inputs of blocks' own, against the efforts that they stand for, differences, and the reference resolver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.refusals import ENGINES, assert_says, refused
from tests.solvers.mechanism.blocks_with_inputs import Muscle, PiezoPanel, Telescope, TendonSegment
from tests.solvers.mechanism.driven_blocks import NAMES, ROUNDING, U, arm, bare, closed, expected_efforts, state
from titop.blocks.basics.spatial import Array

#: Central differences with steps of 1e-5 of functions whose third derivatives are a thousand times as large as they are.
DIFFERENCES = {"rtol": 1e-6, "atol": 1e-6}


def slope(function: Callable[[float], Any], step: float = 1e-5) -> Array:
    return (np.asarray(function(step)) - np.asarray(function(-step))) / (2.0 * step)


@pytest.mark.parametrize(("engine", "loops"), [("compiled", False), ("compiled", True), ("reference", False)])
def test_derivatives_go_through_the_input_matrix(engine: str, loops: bool) -> None:
    model = (closed(arm()) if loops else arm()).resolve(engine)
    q, v, tau = state(model)
    direction = np.linspace(0.5, -1.0, model.nv)
    direction[3:] *= 0.3
    if loops:
        direction[1] = 0.5 * direction[0]
    a = model.forward_dynamics(q, v, tau, u=U)
    by_q, _, by_tau = model.forward_dynamics_derivatives(q, v, tau, u=U)
    scale = np.abs(by_q @ direction).max()
    expected = slope(lambda s: model.forward_dynamics(q + s * direction, v, tau, u=U))
    np.testing.assert_allclose(by_q @ direction / scale, expected / scale, **DIFFERENCES)
    still = model.forward_dynamics_derivatives(q, v, tau, u={"drive": U[0], "push": U[1]})
    assert np.abs((by_q - still[0]) @ direction).max() > 1e-3 * scale  # the control: without own inputs it is another slope
    np.testing.assert_allclose(by_tau, still[2], **ROUNDING)
    inverse = model.inverse_dynamics_derivatives(q, v, a, u=U)
    needed = slope(lambda s: model.inverse_dynamics(q + s * direction, v, a, u=U)) if not loops else None
    if needed is not None:
        np.testing.assert_allclose(inverse[0] @ direction, needed, rtol=1e-6, atol=1e-6 * np.abs(needed).max())
    hybrid = model.hybrid_dynamics_derivatives(q, v, tau, a, ["elbow"], u=U)
    moved = slope(lambda s: np.array(model.hybrid_dynamics(q + s * direction, v, tau, a, ["elbow"], u=U)))
    for found, difference in zip((hybrid.da_dq, hybrid.dtau_dq), moved, strict=True):
        np.testing.assert_allclose(found @ direction, difference, rtol=1e-6, atol=1e-6 * np.abs(difference).max())


@pytest.mark.parametrize("loops", [False, True])
def test_both_resolvers_agree_on_the_slopes(loops: bool) -> None:
    one, two = ((closed(arm()) if loops else arm()).resolve(engine) for engine in ENGINES)
    q, v, tau = state(one)
    T = np.eye(one.nv)
    T[1] = 0.5 * T[0] if loops else T[1]
    found, expected = (model.forward_dynamics_derivatives(q, v, tau, u=U)[0] @ T for model in (one, two))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
    if not loops:
        a = one.forward_dynamics(q, v, tau, u=U)
        found, expected = (model.inverse_dynamics_derivatives(q, v, a, u=U)[0] for model in (one, two))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


def test_sensitivities_by_inputs_and_by_parameters_of_the_input_matrix() -> None:
    model = arm().resolve()
    q, v, tau = state(model)
    found = model.forward_dynamics_sensitivities(q, v, tau, ["soft.front", "soft.lever"], u=U)
    one = np.eye(6)[3]
    step = slope(lambda s: model.forward_dynamics(q, v, tau, u=U + s * one), 1.0)  # linear: a difference of any size
    np.testing.assert_allclose(found["soft.front"], step, **ROUNDING)
    step = slope(lambda s: model.with_parameters({"soft.lever": 0.05 + s}).forward_dynamics(q, v, tau, u=U), 1e-2)
    np.testing.assert_allclose(found["soft.lever"], step, rtol=1e-8, atol=1e-8 * np.abs(step).max())
    assert np.abs(found["soft.lever"]).max() > 0.1


def test_parameters_of_a_joint_with_inputs_reach_them() -> None:
    class Levered(Muscle):
        def input_matrix(self, q: Array) -> Array:
            return np.array([[float(self.stiffness[0, 0])]])

    model = arm(Levered).resolve().with_parameters({"shoulder.stiffness": 7.0})
    assert model.actuation_matrix(np.zeros(model.nv))[0, 2] == 7.0
    assert arm(Levered).resolve().mechanism.inputs.own[0][0].name == "shoulder"


def test_linear_models_have_the_inputs_columns_and_slopes() -> None:
    model = arm().resolve()
    point = tt.trim(model, u=dict(zip(NAMES, 0.1 * U, strict=True)), unknowns=["shoulder", "soft", "elbow", "boom"])
    q, n = point.q, model.nv
    linear = tt.linearize(model, point, inputs=["soft.front", "boom.patch", "shoulder.pull"], outputs=["tip.r"])
    assert linear.input_labels == ["soft_front", "boom_patch", "shoulder_pull"]
    assert tt.signal_table(linear)["boom_patch"].unit == "V"
    nothing = np.zeros(n)
    for column, k in enumerate((3, 5, 2)):
        moved = slope(lambda s, k=k: model.forward_dynamics(q, nothing, point.tau, u=point.u + s * np.eye(6)[k]), 1.0)
        np.testing.assert_allclose(linear.B[n:, column], moved, rtol=1e-8, atol=1e-8 * np.abs(moved).max())
    A = np.array([slope(lambda s, e=e: model.forward_dynamics(q + s * e, nothing, point.tau, u=point.u)) for e in np.eye(n)]).T
    np.testing.assert_allclose(linear.A[n:, :n], A, rtol=1e-6, atol=1e-7 * np.abs(A).max())
    system = model.to_nlsys(["soft.front"], ["tip.r"], point).linearize(np.concatenate([q, nothing]), [point.u[3]])
    np.testing.assert_allclose(system.A, linear.A, rtol=1e-9, atol=1e-9 * np.abs(A).max())
    np.testing.assert_allclose(system.B[:, 0], linear.B[:, 0], rtol=1e-9)


def test_families_follow_the_inputs() -> None:
    model = arm().resolve()
    joints = ["shoulder", "soft", "elbow", "boom"]
    family = tt.lpv(model, {"soft.front": [0.0, 1.0]}, unknowns=joints, inputs=["soft.front"], outputs=["soft.bend.q"])
    point = tt.trim(model, u={"soft.front": 1.0}, unknowns=joints)
    one = tt.linearize(model, point, inputs=["soft.front"], outputs=["soft.bend.q"])
    at = family.at({"soft.front": 1.0})
    np.testing.assert_allclose(at.A, one.A, rtol=1e-6, atol=1e-6 * np.abs(one.A).max())  # two trims to their tolerance
    np.testing.assert_allclose(at.B, one.B, rtol=1e-6, atol=1e-8)


def test_a_linear_block_tells_how_its_own_efforts_turn() -> None:
    model = arm().resolve()
    q, v, _ = state(model)
    own = {name: value for name, value in zip(NAMES, U, strict=True) if name in ("soft.front", "soft.back")}
    efforts = model.actuation_matrix(q) @ model.mechanism.inputs.read(own)
    driven, pushed = tt.OperatingPoint(model, q, v, 0 * v, u=own), tt.OperatingPoint(model, q, v, efforts)
    one, two = (tt.block_system(model, point, "soft") for point in (driven, pushed))
    turning = slope(lambda s: expected_efforts(model, q + s * np.eye(model.nv)[1])[1])
    expected = np.zeros_like(one.C)
    expected[one.output_labels.index("soft_bend_tau"), one.state_labels.index("soft_bend_q")] = -turning
    np.testing.assert_allclose(one.C - two.C, expected, atol=1e-7)  # of central differences
    assert abs(turning) > 0.1
    for part in "ABD":
        np.testing.assert_allclose(getattr(one, part), getattr(two, part), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("method", "loops"), [("DOP853", False), ("DOP853", True), ("Radau", False), ("generalized-alpha", True)]
)
def test_simulations_are_driven_by_own_inputs(method: str, loops: bool) -> None:
    """Against a simulation in which a function of the state writes the same efforts down anew."""
    model, plain = ((closed(s) if loops else s).resolve() for s in (arm(), bare()))
    t, q, v = np.linspace(0, 0.1, 3), np.zeros(model.nv), np.zeros(model.nv)
    options: dict[str, Any] = {"method": method, "rtol": 1e-9, "atol": 1e-11}
    if method == "generalized-alpha":
        options = {"method": tt.GeneralizedAlpha(spectral_radius=0.8, step=2e-3)}
    one = tt.simulate(model, t, q, v, u=U, **options)
    others = {"drive": U[0], "push": U[1]}
    two = tt.simulate(plain, t, q, v, tau=lambda t, q, v: expected_efforts(model, q), u=others, **options)
    np.testing.assert_allclose(one.q, two.q, rtol=1e-6, atol=1e-8)  # of the integrators, at these tolerances
    assert np.abs(one.q[-1] - tt.simulate(plain, t, q, v, u=others, **options).q[-1]).max() > 1e-3
    np.testing.assert_allclose(one.u, [U] * 3)


def test_controllers_command_own_inputs() -> None:
    model = arm().resolve()
    t, q = np.linspace(0, 0.05, 3), model.configuration({"soft": 0.3})
    gain = control.ss([], [], [], [[3.0]], inputs=["soft_bend_q"], outputs=["soft_front"])
    looped = tt.simulate(model, t, q, np.zeros(model.nv), controller=gain, rtol=1e-9, atol=1e-11)
    given = tt.simulate(model, t, q, np.zeros(model.nv), u={"soft.front": lambda t, q, v: -3.0 * q[1]}, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(looped.q, given.q, rtol=1e-6, atol=1e-8)  # likewise


def test_pictures_and_text_show_own_inputs() -> None:
    s = arm()
    assert "driven by front, back" in str(s)
    assert "Muscle [angle] driven by pull" in str(s)
    for picture in (s.to_mermaid(), s.to_dot()):
        assert "soft.front" in picture
        assert "boom.patch" in picture


def test_blocks_whose_functions_lose_imaginary_parts_are_differentiated_by_differences() -> None:
    s = tt.System("telescope", gravity=[0, 0, -9.81])
    s.connect("world", Telescope("tube"), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        model = s.resolve()
    q, v, tau, u = np.array([0.3, 0.2]), np.zeros(2), np.zeros(2), [5.0]
    by_q = model.forward_dynamics_derivatives(q, v, tau, u=u)[0]
    np.testing.assert_allclose(
        by_q[1, 1] - model.forward_dynamics_derivatives(q, v, tau)[0][1, 1], -10 * np.exp(-2.2), rtol=1e-8
    )


def test_a_panel_whose_input_matrix_loses_imaginary_parts_is_told_and_right() -> None:
    class Rough(PiezoPanel):
        def input_matrix(self, q: Array) -> Array:
            return super().input_matrix(np.real(q))

    with pytest.warns(tt.ModelWarning, match=r"boom.*not-complex-safe"):
        model = arm(panel=Rough).resolve()
    q, v, tau = state(model)
    exact = arm().resolve().forward_dynamics_derivatives(q, v, tau, u=U)[0]
    found = model.forward_dynamics_derivatives(q, v, tau, u=U)[0]
    np.testing.assert_allclose(found, exact, rtol=1e-7, atol=1e-8 * np.abs(exact).max())  # of sixth-order differences


def test_ranges_bind_as_those_of_actuators_do() -> None:
    """In trims, controllers' commands, and what trajectories leave; without ranges nothing does."""

    class Pulling(TendonSegment):
        input_ranges = ((0.0, 2.0), (0.0, 0.5))

    m, free = arm(segment=Pulling).resolve(), arm().resolve()
    where = m.input_names.index("soft.front")
    assert (m.mechanism.inputs.lower[where], m.mechanism.inputs.upper[where]) == (0.0, 2.0)
    assert np.isinf(free.mechanism.inputs.upper[where])
    still = {"q": m.neutral(), "unknowns": ["soft.front", "shoulder.tau", "elbow.tau", *(f"boom.mode{k}.tau" for k in (1, 2))]}
    assert tt.trim(free, **still).u[where] < 0.0
    with pytest.raises(tt.ConvergenceError, match=r"soft\.front at a bound"):
        tt.trim(m, **still)
    q, v, _ = state(m)
    trajectory = tt.simulate(m, [0, 0.01], q, v, u={"soft.front": 3.0, "soft.back": 0.4})
    assert [finding.where for finding in trajectory.violations()] == ["soft.front input"]
    gain = control.ss([], [], [], [[1.0]], inputs=["elbow_q"], outputs=["soft_front"])
    loop = {"controller": gain, "sample_time": 0.01, "reference": {"elbow.q": 10.0}}
    bounded, unbounded = (tt.simulate(model, [0, 0.02], q, v, **loop).u[:, where] for model in (m, free))
    assert np.abs(bounded).max() == 2.0
    assert np.abs(unbounded).max() > 8.0


def faulty(**fields: Any) -> tt.System:
    s = tt.System("rig")
    base = fields.pop("base", ConstantCurvatureSegment)
    s.connect("world", type("Faulty", (base,), fields)("soft"), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


@pytest.mark.parametrize(
    ("fields", "code", "where", "words"),
    [
        ({"inputs": ("pull",)}, "block-fails", "soft.input_matrix", "does not say what its inputs do"),
        ({"input_matrix": lambda self, q: np.ones((1, 1))}, "wrong-shape", "soft.input_matrix", "shape (1, 0)"),
        ({"inputs": ("pull",), "input_matrix": lambda self, q: np.ones(1)}, "wrong-shape", "soft.input_matrix", "shape (1, 1)"),
        ({"inputs": ("x",), "input_matrix": lambda self, q: np.array([[np.nan]])}, "not-finite", "soft.input_matrix", "nan"),
        ({"inputs": ("bend",), "input_matrix": lambda self, q: np.ones((1, 1))}, "duplicate-name", "soft.inputs", "bend"),
        ({"inputs": ("tau",), "input_matrix": lambda self, q: np.ones((1, 1))}, "duplicate-name", "soft.inputs", "tau"),
        ({"inputs": ("x", "x"), "input_matrix": lambda self, q: np.ones((1, 2))}, "duplicate-name", "soft.inputs", "x"),
        ({"inputs": ("a.b",), "input_matrix": lambda self, q: np.ones((1, 1))}, "bad-name", "soft.inputs", "letters"),
        (
            {"inputs": ("x",), "input_units": ("N", "N"), "input_matrix": lambda self, q: np.ones((1, 1))},
            "bad-units",
            "soft.input_units",
            "1 units, or none",
        ),
        (
            {"inputs": ("x",), "input_ranges": (0.0, 1.0), "input_matrix": lambda self, q: np.ones((1, 1))},
            "bad-range",
            "soft.input_ranges",
            "1 pairs of numbers, or none",
        ),
        (
            {"inputs": ("x",), "input_ranges": ((1.0, 0.0),), "input_matrix": lambda self, q: np.ones((1, 1))},
            "bad-range",
            "soft.input_ranges",
            "lower <= upper",
        ),
    ],
)
def test_unusable_inputs_are_refused_by_name(fields: dict[str, Any], code: str, where: str, words: str) -> None:
    assert_says(refused(faulty(**fields)), code, where, words)
    with pytest.raises(tt.ModelError, match=code):
        tt.check_block(type("Faulty", (ConstantCurvatureSegment,), fields)("soft"))


def test_inputs_of_bodies_without_coordinates_are_refused() -> None:
    class Thruster(tt.RigidBody):
        inputs = ("thrust",)

        def __init__(self, name: str) -> None:
            super().__init__(name, 1.0, inertia=0.1)

    assert_says(refused(faulty(base=Thruster)), "idle-inputs", "soft.inputs", "tt.Force")


def test_blocks_with_inputs_pass_their_check() -> None:
    tt.check_block(TendonSegment("soft", density=10.0, stiffness=1.0))
    model = arm().resolve()
    with pytest.raises(tt.ModelError, match=r"did you mean 'soft\.front'\?.*unknown-input"):
        model.forward_dynamics(model.neutral(), np.zeros(model.nv), u={"soft.frnt": 1.0})
