"""Runge-Kutta steps, compiled and not, against those of scipy and one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import titop as tt
from tests.closed_systems import four_bar
from tests.flexible import random_system
from tests.solvers.mechanism.blocks_with_inputs import Telescope
from tests.solvers.simulation.driven_systems import (
    closed_loop,
    controller,
    gears,
    motorised,
    plant_at_a_state,
    rigid_tree,
    spatial_loops,
    swing,
    swinging,
    with_interactions,
)
from tests.systems import Array
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.explicit_steps import CompiledRungeKutta, RungeKutta
from titop.solvers.simulation.steppers import Tolerances

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23"])
def test_steps_are_scipys(method: str) -> None:
    """The same coefficients and step control: as many steps, to the same states."""
    s, names = rigid_tree()
    plant, y = plant_at_a_state(s, names, "compiled")
    q, v = plant.split(0.2, y)
    t, tau, wrench = np.linspace(0.2, 1.2, 6), plant.efforts(0.2, q, v), plant.constant
    run = tt.simulate(
        plant.model, t, q, v, tau, wrench, dict.fromkeys(names, swing), method=method, rtol=1e-6, atol=1e-8, progress=False
    )

    def rate(t: float, y: Array) -> Array:
        return plant.rate(t, y)

    expected = solve_ivp(rate, (0.2, 1.2), y, method, t, dense_output=True, rtol=1e-6, atol=1e-8)
    # states with unit quaternions, and motions put where they belong, step differently by the tolerance of a step
    reached = np.array([plant.split(time, state)[0] for time, state in zip(t, expected.y.T, strict=True)])
    assert np.abs(run.q - reached).max() < 1e-5
    assert abs(run.statistics["steps"] - (len(expected.sol.ts) - 1)) <= 1


def never(t: float, q: Array, v: Array) -> float:
    """Return what an event that never happens looks at."""
    return 1.0


@pytest.mark.parametrize("system", [closed_loop, gears])
def test_many_steps_at_once_are_those_one_by_one(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit where an event is watched for, or Python asked at each stage; to rounding where Python does all."""
    model, q, v = swinging(system)
    given: dict[str, Any] = {"t": np.linspace(0, 0.5, 4), "q0": q, "v0": v, "progress": False}
    at_once = tt.simulate(model, **given)
    watched = tt.simulate(model, **given, events=tt.Event(never))
    assert np.array_equal(at_once.q, watched.q)
    assert np.array_equal(at_once.v, watched.v)
    assert at_once.statistics["steps"] == watched.statistics["steps"] > 5
    asked = tt.simulate(model, **given, tau=lambda t, q, v: np.zeros(model.nv))
    assert np.array_equal(at_once.q, asked.q)
    assert asked.statistics["evaluations"] == at_once.statistics["evaluations"]
    monkeypatch.setattr(DrivenModel, "has_stages", False)
    in_python = tt.simulate(model, **given)
    assert in_python.statistics["steps"] == at_once.statistics["steps"]
    # states are put on the closures to 1e-13 by both, whose last Newton step may differ by as much
    assert np.abs(in_python.q - at_once.q).max() < 1e-10


def piece_by_piece(model: tt.Model, q: Array, v: Array, delay: float) -> Array:
    """Return the configuration after three samples of the controller of the test below, each piece a simulation of its own."""
    push, period = np.zeros(model.nv), 0.03
    for _ in range(3):
        later = np.eye(model.nv)[0] * -0.5 * v[0]
        for length, effort in ((delay, push), (period - delay, later)):
            run = tt.simulate(model, [0.0, length], q, v, effort, progress=False)
            q, v = run.q[-1], run.v[-1]
        push = later
    return q


@pytest.mark.parametrize("system", [with_interactions, closed_loop, gears])
def test_steps_go_on_across_samples(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One integrator for all samples and delays; the motion is that of integrators that begin anew."""
    model, q, v = swinging(system)
    expected, other = piece_by_piece(model, q, v, 0.01), piece_by_piece(model, q, v, 0.02)
    name, begun, begin = model.coordinate_names[0], [], RungeKutta.__init__

    def counted(self: Any, *arguments: Any, **options: Any) -> None:
        begun.append(1)
        begin(self, *arguments, **options)

    monkeypatch.setattr(RungeKutta, "__init__", counted)
    pushes = tt.Controller(lambda t, x, y, r: (x, -0.5 * y), [], [f"{name}.v"], [name], 0.03)
    for method in ("DOP853", "RK45", "RK23"):
        begun.clear()
        run = tt.simulate(model, [0.0, 0.05, 0.09], q, v, controller=pushes, delay=0.01, method=method, progress=False)
        assert len(begun) == 1
        assert np.abs(run.q[-1] - expected).max() < 1e-6  # 1e-8 a step, some hundred of the lowest order
    assert np.abs(other - expected).max() > 1e-6  # the negative control


def test_steps_between_samples_are_of_one_length() -> None:
    """Samples that come faster than the motion changes cost a step each, none of them cut to pieces."""
    model, t = motorised(False), np.linspace(0, 1, 3)
    given: dict[str, Any] = {"controller": controller(), "sample_time": 1e-3, "progress": False}
    run = tt.simulate(model, t, [0.4, 0.1], [0.0, 0.0], **given)
    assert run.statistics["steps"] <= 1010  # and those at the beginning, which grow to a sample
    assert run.statistics["evaluations"] < 12.2 * 1010


# -- whole steps in compiled code, against the reference resolver and scipy's integrators, which know nothing of them


#: Two engines on states of order one; the reference resolver solves with the whole mass matrix.
SAME = 1e-9


def flexible_tree() -> tuple[tt.System, list[str]]:
    return random_system(np.random.default_rng(1)), ["slide"]


def with_a_block_in_python() -> tuple[tt.System, list[str]]:
    s = tt.System("crane", gravity=[0, 0, -9.81])
    telescope = Telescope("telescope")
    s.connect("world", telescope, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(telescope.port("C"), tt.RigidBody("load", 0.5, inertia=[0.01] * 3), tt.Revolute("wrist", axis=[0, 1, 0]))
    return s, ["wrist"]


SYSTEMS = [rigid_tree, flexible_tree, with_a_block_in_python, with_interactions, closed_loop, spatial_loops, gears]


def differing(system: Callable[[], tuple[tt.System, list[str]]], is_driven: bool, shift: float = 0.0) -> float:
    """Return the largest difference between compiled stages and rates of the reference resolver at the same states."""
    built, names = system()
    names = names if is_driven else []
    (plant, y), (reference, _) = (plant_at_a_state(built, names, engine) for engine in ("compiled", "reference"))
    assert plant.has_stages
    steps, h = CompiledRungeKutta(plant, "DOP853", 0.2, 1.2, y, Tolerances(1e-8, np.full(len(y), 1e-10), np.inf)), 1e-3
    method, states, rates = steps.method, steps.states, steps.rates
    states[0] = y
    assert steps.fill(0, method.used, 0.2, h)
    worst = 0.0
    for s in range(method.used):
        assert states[s] == pytest.approx(y + h * (method.coefficients[s, :s] @ rates[:s]), rel=1e-13, abs=1e-13)
        expected = reference.rate(0.2 + method.nodes[s] * h + shift, states[s])
        worst = max(worst, float(np.abs(rates[s] - expected).max() / max(1.0, np.abs(expected).max())))
    return worst


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("is_driven", [False, True], ids=["free", "driven"])
def test_stages_are_rates_of_the_reference_resolver(system: Any, is_driven: bool) -> None:
    assert differing(system, is_driven) < SAME


@pytest.mark.parametrize("system", [rigid_tree, closed_loop, gears])
def test_motions_of_another_time_differ(system: Any) -> None:
    """The negative control."""
    assert differing(system, True, shift=1e-4) > 1e3 * SAME


@pytest.mark.parametrize("saturated", [False, True])
def test_linear_controllers_within_compiled_steps(saturated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same loop around functions in Python."""
    model, t = motorised(saturated), np.linspace(0, 2, 11)
    given: dict[str, Any] = {"controller": controller(), "u": [0.1, 0.2], "tau": [0.0, 0.05], "progress": False}
    given["reference"] = {"shoulder_q": lambda t: 0.3 * np.sin(t)}
    tables = tt.simulate(model, t, [0.4, 0.1], [0.0, 0.0], **given)
    monkeypatch.setattr(DrivenModel, "has_stages", False)
    functions = tt.simulate(model, t, [0.4, 0.1], [0.0, 0.0], **given)
    assert np.ptp(tables.u[:, 0]) > 0.5
    assert (np.abs(tables.u[:, 0]).max() <= 3.0) == saturated
    # both integrate to 1e-8 a step; where the input is cut its rate jumps
    assert np.abs(tables.q - functions.q).max() < (1e-6 if saturated else 1e-7)


def test_motions_that_contradict_the_closures_are_named() -> None:
    """A crank and a rocker that do not belong together."""
    model = four_bar().resolve()
    q = model.assemble([0.5, 0.5, -1.5], fixed=["q1"])
    v = model.assemble_velocity(q, [1.0, 0, 0], fixed=["q1"])
    turning = {"q1": lambda t: (q[0] + t, 1.0, 0.0), "q2": lambda t: (q[1] + v[1] * t + t * t, v[1] + 2 * t, 2.0)}
    told = r"at t = .* s (loop 'pin'|the fixed velocities contradict the closures: pin)"
    with pytest.raises(tt.ConvergenceError, match=told):
        tt.simulate(model, [0, 1], q, v, prescribed=turning, progress=False)


def broken_block(when: float) -> tt.Block:
    class Broken(Telescope):
        def mass_matrix(self, q: Array) -> Any:
            if np.real(q[0]) > when:
                raise RuntimeError("the tube has left the other")
            return super().mass_matrix(q)

    return Broken("telescope")


def test_what_a_block_raises_within_a_step_arrives() -> None:
    s = tt.System("crane", gravity=[0, 0, 9.81])
    s.connect("world", broken_block(0.4), tt.Weld("mount"))
    model = s.resolve()
    with pytest.raises(RuntimeError, match="the tube has left the other"):
        tt.simulate(model, [0, 1], [0.0], [3.0], progress=False)


def test_numbers_that_overflow_within_a_step_are_not_accepted() -> None:
    """A spring that pushes away: the state leaves all bounds in no time."""
    s = tt.System("runaway", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("bob", 1.0), tt.Prismatic("slide", axis=[1, 0, 0]))
    s.connect("world", tt.RigidBody("rod", 1.0), tt.Prismatic("other", axis=[1, 0, 0]))
    s.add_gear(tt.Gear("pair", driver="slide", driven="other", ratio=1.0))
    model = s.resolve()
    with pytest.raises((tt.ModelError, tt.ConvergenceError)):
        tt.simulate(model, [0, 1], [1e300, 1e300], [1e308, 1e308], tau=[1e308, 1e308], progress=False)


def test_an_unstable_controller_is_named_within_compiled_steps() -> None:
    s = tt.System("cart", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("body", 1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    pushing = control.ss([[900.0]], [[1.0]], [[1e6]], [[0.0]], inputs=["rail_q"], outputs=["rail"])
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(s.resolve(), [0, 10], [0.4], [0.0], controller=pushing, progress=False)
    assert caught.value.code == "not-finite"
    assert caught.value.where.startswith("controller at t = ")
    assert float(str(caught.value).split("commands up to ")[1].split(",")[0]) > 1e100


@pytest.mark.parametrize("system", [rigid_tree, flexible_tree, with_interactions, closed_loop, gears])
def test_functions_of_the_state_within_compiled_steps(system: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the same functions with the stages one by one in Python."""
    model, q, v = swinging(system)
    wrench = {model.port_names[-1]: lambda t, q, v: np.array([np.sin(t), 0, q[0], 0, v[0], 0])}
    t = np.linspace(0, 0.2, 3)
    given: dict[str, Any] = {"tau": lambda t, q, v: -0.1 * v * np.cos(t), "wrenches": wrench, "progress": False}
    compiled = tt.simulate(model, t, q, v, **given)
    monkeypatch.setattr(DrivenModel, "has_stages", False)
    functions = tt.simulate(model, t, q, v, **given)
    assert np.abs(compiled.q - functions.q).max() < 1e-7  # both integrate to 1e-8 a step
    given["tau"] = lambda t, q, v: -0.101 * v * np.cos(t)  # the negative control
    assert np.abs(tt.simulate(model, t, q, v, **given).q - functions.q).max() > 1e-7
