"""Which constraints act: rows of loops, redundant and singular ones, against the full equations of motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bar, bricard, four_bar, geared_hand
from tests.mechanisms import (
    coupled_wheels,
    coupled_wheels_at,
    scissor_lift,
    scissor_lift_at,
    shared_top,
    shared_top_at,
    windows,
    windows_at,
)
from tests.systems import Array
from titop.solvers.constraints import closed_dynamics
from titop.solvers.engines.reference.reference_engine import ReferenceEngine

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

#: System, guess at a configuration, and the number of degrees of freedom.
CASES: dict[str, tuple[Callable[[], tt.System], Array, int]] = {
    "bricard": (bricard, 0.3 * np.ones(5), 1),
    "hand": (geared_hand, np.zeros(5), 3),
}
for n in (1, 2, 3, 4, 5, 8, 13, 40):
    CASES[f"{n} windows"] = (lambda n=n: windows(n), windows_at(n, 1.2), 1)
for n in (1, 4, 9):
    CASES[f"{n} spatial windows"] = (lambda n=n: windows(n, True), windows_at(n, 1.2), 1)
for spatial in (False, True):
    word = "spatial " if spatial else ""
    for n in (2, 3, 5, 9):
        CASES[f"{word}table of {n} legs"] = (lambda n=n, s=spatial: shared_top(n, s), shared_top_at(n, 1.2), 1)
    for n in range(1, 9):
        CASES[f"{word}lift of {n} stages"] = (lambda n=n, s=spatial: scissor_lift(n, s), scissor_lift_at(n, 0.5), 1)
    for n in (2, 3, 4):
        for radius in (0.05, 0.3, 0.9):
            system = lambda n=n, r=radius, s=spatial: coupled_wheels(n, r, s)  # noqa: E731
            CASES[f"{n} {word}wheels of {radius}"] = (system, coupled_wheels_at(n, 1.0), 1)


def full_solution(model: tt.Model, q: Array, v: Array, tau: Array, rows: slice = slice(None)) -> Array:
    """Return the accelerations of ``M a - J^T lambda = tau - h``, ``J a = -bias`` by least squares, all `rows` of J acting."""
    mass, jacobian = model.mass_matrix(q), model.closure_jacobian(q)[rows]
    matrix = np.block([[mass, jacobian.T], [jacobian, np.zeros((len(jacobian), len(jacobian)))]])
    right = np.concatenate([tau - model.nonlinear_effects(q, v) + model.passive_efforts(q, v), -model.closure_bias(q, v)[rows]])
    return np.linalg.lstsq(matrix, right, rcond=1e-11)[0][: model.nv]


def opening(model: tt.Model, q: Array, v: Array, a: Array) -> float:
    """Return what accelerations leave of the constraints' second derivatives, relative to the largest acceleration."""
    return float(np.abs(model.closure_jacobian(q) @ a + model.closure_bias(q, v)).max() / max(1.0, np.abs(a).max()))


def state(model: tt.Model, guess: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return a closed configuration, a velocity that keeps it closed, and efforts."""
    rng = np.random.default_rng(seed)
    q = model.assemble(guess)
    return q, model.assemble_velocity(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)


@pytest.mark.parametrize("name", CASES)
def test_every_constraint_holds_and_none_beside(name: str) -> None:
    system, guess, freedom = CASES[name]
    model = system().resolve()
    q, v, tau = state(model, guess)
    assert model.closure_rank(q) == model.nv - freedom
    a = model.forward_dynamics(q, v, tau)
    # rounding times the condition of the constraints, 50 at 40 windows, and the cancellation within their bias
    assert opening(model, q, v, a) < 1e-12
    assert np.abs(a - full_solution(model, q, v, tau)).max() < 1e-11 * max(1.0, np.abs(a).max())


@pytest.mark.parametrize("name", ["4 windows", "table of 5 legs", "spatial lift of 3 stages", "3 wheels of 0.3", "bricard"])
def test_both_engines_count_alike(name: str) -> None:
    system, guess, _ = CASES[name]
    compiled, reference = system().resolve(), system().resolve("reference")
    q, v, tau = state(compiled, guess)
    assert compiled.closure_rank(q) == reference.closure_rank(q)
    a = compiled.forward_dynamics(q, v, tau)
    assert np.abs(a - reference.forward_dynamics(q, v, tau)).max() < 1e-11 * max(1.0, np.abs(a).max())
    hybrid = [
        model.hybrid_dynamics(q, v, tau, a, ["q0" if "q0" in model.joint_names else model.joint_names[0]])
        for model in (compiled, reference)
    ]
    assert np.abs(np.array(hybrid[0]) - np.array(hybrid[1])).max() < 1e-11 * max(1.0, np.abs(hybrid[0]).max())
    assert np.abs(hybrid[0][0] - a).max() < 1e-11 * max(1.0, np.abs(a).max())


def accelerations(model: tt.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray, rank: int) -> np.ndarray:
    """Return the accelerations with `rank` acting constraints."""
    nothing, rows = np.zeros(model.nv), model.mechanism.engine.dynamics.constraints(q, v)
    return closed_dynamics.accelerations(model.mechanism, q, v, nothing, tau, nothing > 0, [], rows, rank)


def test_a_constraint_less_is_seen() -> None:
    """The negative control: what the tests above compare differs by far if one independent constraint is left out."""
    model = windows(5).resolve()
    q, v, tau = state(model, windows_at(5, 1.2))
    without = accelerations(model, q, v, tau, model.closure_rank(q) - 1)
    assert opening(model, q, v, without) > 1e-3
    assert np.abs(full_solution(model, q, v, tau, slice(1, None)) - full_solution(model, q, v, tau)).max() > 1e-2


def test_a_model_meets_branches_of_other_rank() -> None:
    """Wheels on one rod have rank 3 where they turn; a model that is built where they have another still sees that."""
    model, other = coupled_wheels(3).resolve(), coupled_wheels(3).resolve()
    q, v, tau = state(model, coupled_wheels_at(3, 1.0))
    assert model.mechanism.generic_rank == 3
    vars(other).update(generic_rank=4, regular_configuration=None)
    for name, answer in answers(model, q, v, tau).items():
        assert_same(answers(other, q, v, tau)[name], answer, name)
    assert other.closure_rank(q) == 3


def answers(model: tt.Model, q: Array, v: Array, tau: Array) -> dict[str, Array | str]:
    """Return what the functions of a constrained model say at a state, errors as texts."""
    first = [model.joint_names[0]]
    calls: dict[str, Callable[[], object]] = {
        "forward": lambda: model.forward_dynamics(q, v, tau),
        "forward slopes": lambda: model.forward_dynamics_derivatives(q, v, tau),
        "inverse": lambda: model.inverse_dynamics(q, v, 0 * v),
        "inverse slopes": lambda: model.inverse_dynamics_derivatives(q, v, 0 * v),
        "hybrid": lambda: model.hybrid_dynamics(q, v, tau, 0 * v, first),
        "hybrid slopes": lambda: model.hybrid_dynamics_derivatives(q, v, tau, 0 * v, first),
        "velocity": lambda: model.assemble_velocity(q, tau),
        "acceleration": lambda: model.assemble_acceleration(q, v, tau),
        "independent": lambda: ", ".join(model.independent_coordinates(q)),
    }
    if isinstance(model.mechanism.engine, ReferenceEngine):  # its derivatives take many complex steps
        calls = {name: call for name, call in calls.items() if "slopes" not in name}
    found: dict[str, Array | str] = {}
    for name, call in calls.items():
        try:
            answer = call()
            found[name] = answer if isinstance(answer, str) else np.array(answer)
        except (tt.ModelError, tt.ConvergenceError) as error:
            found[name] = str(error)
    return found


def assert_same(found: Array | str, expected: Array | str, name: str) -> None:
    """Assert that two answers are equal bit by bit."""
    assert type(found) is type(expected), f"{name}: {found} instead of {expected}"
    assert np.array_equal(found, expected), name


def wheels_and_windows() -> tt.System:
    """Return three coupled wheels beside a window: singular positions of one have the rank of others of both."""
    s = coupled_wheels(3)
    leg, top, other = (bar(name, 1.0, 1.0) for name in ("leg", "top", "other"))
    s.connect("world", leg, tt.Revolute("a"), placement=[0, 5, 0])
    s.connect(leg.port("end"), top, tt.Revolute("b"))
    s.connect("world", other, tt.Revolute("c"), placement=[1, 5, 0])
    s.close_loop(top.port("end"), other.port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s


@pytest.mark.parametrize(
    ("name", "engine"), [("bricard", "compiled"), ("wheels", "compiled"), ("hand", "compiled"), ("bricard", "reference")]
)
def test_answers_do_not_depend_on_what_was_asked_before(name: str, engine: str) -> None:
    """At regular, slightly open and singular states, each asked of a new model and of one that has met all the others."""
    system, guess = {
        "bricard": (bricard, 0.3 * np.ones(5)),
        "wheels": (wheels_and_windows, np.concatenate([coupled_wheels_at(3, 1.0), windows_at(1, 1.0)])),
        "hand": (geared_hand, np.zeros(5)),
    }[name]
    used = system().resolve(engine)
    q, v, tau = state(used, guess)
    states = [(q + 1e-4 * np.cos(np.arange(len(q))), v, tau), (q, v, tau), (q + 3e-7, v, tau), (q, 0 * v, tau)]
    if name == "wheels":
        singular = [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)]
        states += [(np.concatenate([coupled_wheels_at(3, x), windows_at(1, y)]), 0 * v, tau) for x, y in singular]
    fresh = [answers(system().resolve(engine), *each) for each in states]
    for row in [*range(len(states)), *reversed(range(len(states)))]:
        for what, answer in answers(used, *states[row]).items():
            assert_same(answer, fresh[row][what], f"{what} at state {row}")


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(
    ("system", "q", "found"),
    [
        (lambda: windows(3), windows_at(3, 0.0), "3 independent constraints at q0 0.*; expected more, such as 5 around it"),
        (lambda: shared_top(4), shared_top_at(4, np.pi), "3 independent constraints .*; expected more, such as 4 around it"),
        (
            lambda: coupled_wheels(3),
            coupled_wheels_at(3, 0.0),
            "2 independent constraints .*; expected more, such as 3 around it",
        ),
        (lambda: coupled_wheels(2, spatial=True), coupled_wheels_at(2, np.pi), "pin1: .*singular-closure"),
    ],
)
def test_singular_positions_are_refused_by_name(system: Callable[[], tt.System], q: Array, found: str, engine: str) -> None:
    model = system().resolve(engine)
    assert np.abs(model.closure_error(q)).max() < 1e-14
    for call in (lambda: model.closure_rank(q), lambda: model.forward_dynamics(q, 0 * q, 0 * q)):
        with pytest.raises(tt.ModelError, match=found):
            call()


def test_next_to_a_singular_position_nothing_is_refused() -> None:
    """The negative control of the above; accelerations against those of the one pendulum that the mechanism is."""
    model, n = windows(3).resolve(), 3
    for angle in (1e-1, 1e-3):
        a = model.forward_dynamics(windows_at(n, angle), np.zeros(7), np.zeros(7))
        # rounding of 1e-16 over the smallest singular value, which is as small as the angle
        assert a == pytest.approx(windows_at(n, pendulum(n, angle)), abs=1e-12 / angle)


def pendulum(number: int, angle: float) -> float:
    """Return the angular acceleration (rad/s^2) of the row of windows: its legs turn, its tops move in parallel."""
    inertia, moment = (number + 1) / 3 + number, (number + 1) / 2 + number
    return -9.81 * moment * np.cos(angle) / inertia


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize(("number", "spatial"), [(1, False), (2, True), (10, False)])
def test_windows_fall_through_their_singular_positions(number: int, spatial: bool, rtol: float) -> None:
    """Problem A02: 10 s from upright at 1 rad/s; the bars come in line ten times and have to go on as parallelograms."""
    from scipy.integrate import solve_ivp

    model = windows(number, spatial).resolve()
    q, v = windows_at(number, np.pi / 2), windows_at(number, -1.0)
    trajectory = tt.simulate(model, np.linspace(0, 10, 41), q, v, rtol=rtol, atol=rtol)
    energy = [sum(model.energy(*at)) for at in zip(trajectory.q, trajectory.v, strict=True)]
    # measured: 5e-6 and 6e-8 of the largest change of the potential energy, of which the tolerance explains a hundred steps
    assert np.ptp(energy) < 100 * rtol * 2 * 9.81 * (2 * number + 1)
    assert trajectory.q == pytest.approx(np.array([windows_at(number, x) for x in trajectory.q[:, 0]]), abs=1e-9)
    exact = solve_ivp(
        lambda _, y: [y[1], pendulum(number, y[0])], (0, 10), [np.pi / 2, -1.0], rtol=1e-12, atol=1e-12, t_eval=trajectory.t
    )
    # the pendulum passes its upright position at 1 rad/s, where errors of the rate grow
    assert np.abs(trajectory.q[:, 0] - exact.y[0]).max() < 1e3 * rtol


@pytest.mark.parametrize("method", ["DOP853", "Radau", "generalized-alpha"])
def test_coupled_wheels_run_over_their_dead_centres(method: str) -> None:
    """All wheels keep turning together; the energy drift is the integrators'."""
    model = coupled_wheels(3).resolve()
    q, v = coupled_wheels_at(3, 1.0), coupled_wheels_at(3, 8.0)
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if method == "generalized-alpha" else {"rtol": 1e-7, "atol": 1e-7}
    trajectory = tt.simulate(model, np.linspace(0, 1.5, 11), q, v, method=method, **tolerance)
    assert trajectory.q[-1, 0] > 1.0 + 3 * np.pi  # three dead centres and more
    assert trajectory.q == pytest.approx(np.array([coupled_wheels_at(3, x) for x in trajectory.q[:, 0]]), abs=1e-8)
    energy = [sum(model.energy(*at)) for at in zip(trajectory.q, trajectory.v, strict=True)]
    assert np.ptp(energy) < 200 * tolerance["rtol"] * energy[0]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_velocities_that_open_redundant_loops_are_refused(engine: str) -> None:
    model = shared_top(4).resolve(engine)
    q, v, tau = state(model, shared_top_at(4, 1.2))
    model.forward_dynamics(q, v, tau)
    with pytest.raises(tt.ModelError, match=r"v: got \S+ m/s\^2 left of pin\d\..*assemble_velocity.*inconsistent-velocity"):
        model.forward_dynamics(q, v + np.eye(model.nv)[2], tau)
    # where none is redundant the equations have a solution whatever the velocity
    single = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2])).resolve(engine)
    closed = single.assemble([0.5, 0.5, -1.5])
    assert opening(single, closed, np.ones(3), single.forward_dynamics(closed, np.ones(3), np.zeros(3))) < 1e-12


def test_open_configurations_count_as_the_closed_ones_next_to_them() -> None:
    model = bricard().resolve()
    q, v, tau = state(model, 0.3 * np.ones(5))
    off = q + 1e-4 * np.array([1.0, -2.0, 1.0, 3.0, -1.0])
    assert model.closure_rank(off) == 4
    a, near = model.forward_dynamics(q, v, tau), model.forward_dynamics(off, v, tau)
    assert np.abs(near - a).max() < 1e-4 * 1e3 * max(1.0, np.abs(a).max())  # 1e-4 times slopes of the order of a hundred
    assert near == pytest.approx(accelerations(model, off, v, tau, 4), rel=1e-12)
    assert np.linalg.matrix_rank(model.closure_jacobian(off), tol=1e-8) == 5, "the control"


def test_parameters_that_change_the_geometry_change_the_rank() -> None:
    """A table whose third leg is moved is stuck: its constraints leave no motion."""
    model = shared_top(3).resolve()
    q = shared_top_at(3, 1.2)
    assert model.closure_rank(q) == 3
    model.forward_dynamics(q, 0 * q, 0 * q)
    moved = model.with_parameters({"top.E2.position.x": 1.9})
    closed = moved.assemble(q)
    assert moved.closure_rank(closed) == 4
    assert np.abs(moved.forward_dynamics(closed, 0 * q, np.ones(4))).max() < 1e-9
