"""Programs as users call them: one state and stacks, machine code, arguments, messages."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.every_kind import SYSTEMS, states
from titop.solvers.native import calling

#: Machine code and NumPy round elementary functions within a digit of each other.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def model() -> tt.Model:
    """Return three hinges with motors, by the reference engine: it needs no kernels."""
    s, at = tt.System("arm", gravity=[0, 0, -9.81]), "world"
    for k in range(3):
        link = tt.RigidBody(f"link{k}", 1.0, [0.2, 0, 0.1], [0.1, 0.2, 0.2], ports={"tip": [0.4, 0, 0]})
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, 1, k], damping=0.1))
        at = link.port("tip")
    s.add_actuator(tt.Motor("motor", "hinge1", gear=2.0))
    return s.resolve(engine="reference")


@pytest.fixture(scope="module")
def program(model: tt.Model) -> tt.Program:
    made: tt.Program = model.program(
        "forward_dynamics",
        "inverse_dynamics",
        "mass_matrix",
        "forward_dynamics_derivatives",
        parameters=["link1.mass"],
        inputs=["motor"],
    )
    return made


def test_one_state_is_the_model(model: tt.Model, program: tt.Program) -> None:
    q, v, tau = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(program.forward_dynamics(q, v, tau), model.forward_dynamics(q, v, tau), rtol=ROUNDING)
    np.testing.assert_allclose(program.mass_matrix(q), model.mass_matrix(q), rtol=ROUNDING, atol=ROUNDING)
    found = program.forward_dynamics(q.tolist(), v, tau, u=[0.5])
    np.testing.assert_allclose(found, model.forward_dynamics(q, v, tau, u=[0.5]), rtol=ROUNDING)
    for matrix, expected in zip(
        program.forward_dynamics_derivatives(q, v, tau), model.forward_dynamics_derivatives(q, v, tau), strict=True
    ):
        np.testing.assert_allclose(matrix, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 33])
def test_stacks_have_the_bits_of_single_states(program: tt.Program, rows: int) -> None:
    q, v, tau = np.random.default_rng(rows).normal(size=(3, rows, 3))
    q[0, 0] = 3e7  # beyond the reduction of angles: this lane asks the C library
    stacked = program.forward_dynamics(q, v, tau)
    assert stacked.shape == (rows, 3)
    np.testing.assert_array_equal(stacked, [program.forward_dynamics(*state) for state in zip(q, v, tau, strict=True)])


def test_sine_and_cosine_are_those_of_the_c_library_within_a_digit() -> None:
    s = tt.System("turning")
    s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0, ports={"tip": [1.0, 0, 0]}), tt.Revolute("hinge"))
    program = s.resolve(engine="reference").program("outputs", outputs=["body.tip.r"])
    angles = np.concatenate([np.linspace(-10.0, 10.0, 999), [0.0, 1e-9, 9.9e5, -1e6, 1e9, np.pi / 2, np.pi]])
    q, still = angles[:, None], np.zeros((len(angles), 1))
    found = program.outputs(q, still, still)
    np.testing.assert_allclose(found, np.column_stack([np.ones_like(angles), 0 * angles, 0 * angles]), atol=1e-15)
    turned = (
        s.resolve(engine="reference").program("outputs", outputs=["body.tip.theta"]).outputs(q[:999], still[:999], still[:999])
    )
    np.testing.assert_allclose(np.sin(turned[:, 2]), np.sin(angles[:999]), atol=4e-16)


def test_parameters_are_given_by_name_or_row(model: tt.Model, program: tt.Program) -> None:
    q, v, tau = np.random.default_rng(1).normal(size=(3, 4, 3))
    heavy = model.with_parameters({"link1.mass": 2.0})
    expected = [heavy.forward_dynamics(*state) for state in zip(q, v, tau, strict=True)]
    found = program.forward_dynamics(q, v, tau, parameters={"link1.mass": 2.0})
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    masses = np.array([[1.0], [2.0], [1.0], [2.0]])
    mixed = program.forward_dynamics(q, v, tau, parameters=masses)
    np.testing.assert_array_equal(mixed[1::2], found[1::2])
    np.testing.assert_array_equal(mixed[::2], program.forward_dynamics(q, v, tau)[::2])


@pytest.mark.parametrize("lists", [False, True])
def test_arrays_are_looked_at_as_lists_are(program: tt.Program, lists: bool) -> None:
    """The fast way of arrays at one state refuses what the careful one does, and reads no array past its end."""
    fine, given = np.random.default_rng(3).normal(size=3), list if lists else np.array
    with pytest.raises(tt.ModelError, match=r"shape \(3,\)"):
        program.forward_dynamics(given(fine), given(fine[:2]), given(fine))
    with pytest.raises(tt.ModelError, match=r"tau\[1\].*finite"):
        program.forward_dynamics(given(fine), given(fine), given([0.0, np.nan, 0.0]))
    with pytest.raises(tt.ModelError, match=r"parameters\[0\].*finite"):
        program.forward_dynamics(given(fine), parameters=given([np.inf]))
    with pytest.raises(TypeError, match="takes"):
        program.forward_dynamics(given(fine), given(fine), given(fine), given([0.0]))
    whole = program.forward_dynamics(fine, 0.0 * fine, 0.0 * fine, u=[0.5])
    np.testing.assert_array_equal(program.forward_dynamics(given(fine), u=given([0.5])), whole)


def test_threads_of_the_model_share_the_rows(model: tt.Model) -> None:
    state = np.random.default_rng(4).normal(size=(3, 5000, 3))
    program = model.program("forward_dynamics")
    shared = dataclasses.replace(program, threads=2)
    assert program.threads == 1
    np.testing.assert_array_equal(shared.forward_dynamics(*state), program.forward_dynamics(*state))
    state[1, -1, 0] = np.nan
    with pytest.raises(tt.ModelError, match=r"v\[4999, 0\]"):
        shared.forward_dynamics(*state)


def test_it_says_what_it_is(program: tt.Program) -> None:
    assert program.operations == sum(of.operations for of in program.functions.values()) > 500
    assert program.names["u"] == ("motor",)
    assert program.units["parameters"] == ("kg",)
    assert program.at["parameters"].tolist() == [1.0]
    assert program.health == pytest.approx(1.0)
    assert "forward_dynamics" in repr(program)


def test_without_callable_machine_code_numpy_computes(program: tt.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    state = np.random.default_rng(2).normal(size=(3, 5, 3))
    expected = program.forward_dynamics(*state)
    monkeypatch.setattr(calling, "obstacle", lambda: "arrays are unknown")
    np.testing.assert_allclose(program.forward_dynamics(*state), expected, rtol=ROUNDING)


def test_loops_over_points_are_machine_code_too() -> None:
    """A soft body's energy: a loop, in one state and in stacks, as NumPy computes it."""
    model = SYSTEMS["soft bodies"]().resolve(engine="reference")
    program, given = model.program("mass_matrix"), states(model, 3)["q"]
    found = program.mass_matrix(given)
    np.testing.assert_array_equal(found[1], program.mass_matrix(given[1]))
    expected = program.functions["mass_matrix"].evaluate({"q": given})["M"]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())
    assert program.functions["mass_matrix"].loops


def slider(mass: float) -> tt.Model:
    """Return a point mass on a hinge with an arm that a slider shortens: at zero it moves no inertia."""
    s = tt.System("slider", gravity=[0, 0, 0])
    carriage = tt.RigidBody("carriage", mass, inertia=np.zeros((3, 3)))
    arm = tt.RigidBody("arm", 0.0, inertia=np.zeros((3, 3)), ports={"end": [0, 0, 0]})
    s.connect("world", arm, tt.Revolute("hinge"))
    s.connect(arm.port("end"), carriage, tt.Prismatic("rail", axis=[1, 0, 0]))
    return s.resolve(engine="reference")


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_lost_pivots_are_refused() -> None:
    program = slider(2.0).program("forward_dynamics", at=[0.0, 1.0])
    np.testing.assert_allclose(program.forward_dynamics([0.0, 0.5], [0, 0], [1.0, 1.0]), [1.0 / 0.5, 0.5], rtol=ROUNDING)
    with pytest.raises(tt.ModelError, match="hinge"):
        program.forward_dynamics([[0.0, 0.5], [0.0, 0.0]], np.zeros((2, 2)), np.zeros((2, 2)))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("function", ["forward_dynamics", "inverse_mass_matrix"])
def test_a_singular_nominal_configuration_and_lost_inverses_are_refused(function: str) -> None:
    with pytest.raises(tt.ModelError, match="hinge"):
        slider(2.0).program(function, at=[0.0, 0.0])
    program = slider(2.0).program(function, at=[0.0, 1.0], parameters=["carriage.mass"])
    with pytest.raises(tt.ModelError, match="hinge"):
        getattr(program, function)([0.0, 0.0])
    with pytest.raises(tt.ModelError, match="hinge"):
        getattr(program, function)([0.0, 1.0], parameters=[0.0])


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_dead_centres_of_loops_are_refused() -> None:
    """A parallelogram stretched out: its closure holds one coordinate less, and the chosen pivot is lost."""
    model = four_bar(lengths=(2.0, 1.0, 2.0, 1.0)).resolve(engine="reference")
    at, v, tau = np.array([1.0, -1.0, 1.0 - np.pi]), np.array([1.0, -1.0, 1.0]), np.array([1.0, 0.5, -0.3])
    program = model.program("forward_dynamics", "inverse_dynamics", at=at)
    near = np.array([0.01, -0.01, 0.01 - np.pi])
    np.testing.assert_allclose(program.forward_dynamics(near, v, tau), model.forward_dynamics(near, v, tau), rtol=1e-9)
    for function, last in ((program.forward_dynamics, tau), (program.inverse_dynamics, 0.0 * tau)):
        with pytest.raises(tt.ModelError, match="lost"):
            function([0.0, 0.0, -np.pi], v, last)


def test_numbers_that_the_model_has_none_for_are_refused() -> None:
    s = tt.System("free", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("body", 1.0, [0.1, 0.2, 0.3], inertia=[1.0, 2.0, 2.5]), tt.Free("base"))
    model = s.resolve(engine="reference")
    program, q, v = model.program("forward_dynamics"), model.neutral(), np.ones(6)
    with pytest.raises(tt.ModelError, match="norm 2"):
        program.forward_dynamics([*q[:3], *(2.0 * q[3:])], v)
    nearly = np.array([*q[:3], *((1.0 + 1e-9) * q[3:])])
    np.testing.assert_allclose(program.forward_dynamics(nearly, v), model.forward_dynamics(q, v), rtol=ROUNDING)
    with pytest.raises(tt.ModelError, match="NaN or infinity"):
        program.forward_dynamics(q, 1e200 * v)
    np.testing.assert_array_equal(program.forward_dynamics(), program.forward_dynamics(program.at["q"]))


def test_empty_stacks_and_systems_without_coordinates() -> None:
    s = tt.System("rigid")
    s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0), tt.Weld("weld"))
    program = s.resolve(engine="reference").program("forward_dynamics")
    assert program.forward_dynamics([], [], []).shape == (0,)
    assert program.forward_dynamics(np.zeros((3, 0))).shape == (3, 0)


def test_copies_compute_the_same(model: tt.Model, program: tt.Program) -> None:
    state = np.random.default_rng(5).normal(size=(3, 3))
    expected = program.forward_dynamics(*state)
    for twin in (copy.copy(program), copy.deepcopy(program), pickle.loads(pickle.dumps(program))):
        np.testing.assert_array_equal(twin.forward_dynamics(*state), expected)
    assert program.forward_dynamics(np.zeros((0, 3))).shape == (0, 3)
    before = model.program("mass_matrix")
    before.at["q"][:] = 7.0
    assert not np.array_equal(model.program("mass_matrix").at["q"], before.at["q"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.program(), "names of functions"),
        (lambda m: m.program("forward_dynamic"), "forward_dynamics"),
        (lambda m: m.program("mass_matrix", parameters=["link1.mas"]), "link1.mass"),
        (lambda m: m.program("mass_matrix", inputs=["moto"]), "motor"),
        (lambda m: m.program("outputs", outputs=["link1.tip.x"]), "link1.tip"),
        (lambda m: m.program("mass_matrix", inputs=["link1.F"]), "an effort"),
        (lambda m: m.program(["mass_matrix"]), "mass_matrix"),
        (lambda m: m.program("mass_matrix", parameters=None), "list of names"),
        (lambda m: m.program("mass_matrix", parameters=["link1.mass"] * 2), "each name once"),
        (lambda m: m.program("mass_matrix", inputs=["motor"] * 2), "each signal once"),
        (lambda m: m.program("mass_matrix", at=[1j, 0, 0]), "complex"),
        (lambda m: m.program("mass_matrix").mass_matrix(np.zeros(3) + 1j), "complex"),
        (lambda m: m.program("mass_matrix").mass_matrix(["a", "b", "c"]), "3 numbers"),
        (lambda m: m.program("mass_matrix").mass_matrix([[0.0] * 3, [0.0]]), "3 numbers"),
        (lambda m: m.program("mass_matrix").mass_matrix([0.0]), r"shape \(3,\)"),
        (lambda m: m.program("mass_matrix").mass_matrix([0.0, np.nan, 0.0]), "finite numbers"),
        (
            lambda m: m.program("inverse_dynamics").inverse_dynamics(np.zeros((2, 3)), np.zeros((3, 3)), np.zeros(3)),
            "one length",
        ),
    ],
)
def test_wrong_arguments_are_told(model: tt.Model, call: Any, words: str) -> None:
    with pytest.raises(tt.ModelError, match=words):
        call(model)


def test_unknown_names_of_arguments_and_functions(program: tt.Program) -> None:
    with pytest.raises(TypeError, match="takes"):
        program.mass_matrix(np.zeros(3), speed=np.zeros(3))
    with pytest.raises(TypeError, match="each once"):
        program.mass_matrix(np.zeros(3), q=np.zeros(3))
    with pytest.raises(TypeError, match="takes"):
        program.forward_dynamics(np.zeros(3), a=np.zeros(3))
    with pytest.raises(AttributeError, match="no function"):
        _ = program.energy
