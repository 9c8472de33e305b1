"""Dynamics for integrators, checked once and asked often, against the model's own functions, which check every call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator

import titop as tt
from tests.closed_systems import four_bar, geared_hand
from tests.refusals import assert_says
from tests.stated_systems import interacting, looped
from tests.systems import Array, random_state, random_tree
from tests.tolerances import ROUNDING
from titop.solvers.mechanism.inputs import WrenchPlace
from titop.solvers.model.model import Model
from titop.solvers.model.prepared import FollowingStates
from titop.solvers.motions.prescribed import PrescribedMotion

#: Both go the same way through the same numbers, but for the rounding of loads that are summed in another order.
SAME = 1e-13


def chosen(model: Model, rng: np.random.Generator) -> Array:
    """Return a random choice of coordinates, one at least free and one at least imposed."""
    mask = rng.permutation(np.arange(model.nv) % 2 == 0)
    return mask if 0 < mask.sum() < model.nv else np.arange(model.nv) == 0


def assert_equals_the_model(model: Model, rng: np.random.Generator, imposed: Array, wrench: Array | None = None) -> None:
    """Compare rates, accelerations and efforts at two states, one after the other, with wrenches of their own."""
    ports = list(model.port_names[3:5])
    dynamics = model.mechanism.engine.dynamics.prepare([WrenchPlace(port, False) for port in ports], imposed)
    for _ in range(2):
        q, v, a, tau = random_state(model, rng)
        wrenches = {port: rng.normal(size=6) for port in ports}
        dynamics.wrenches[:] = [wrenches[port] if wrench is None else wrench for port in ports]
        names = [name for name, on in zip(model.coordinate_names, imposed, strict=True) if on]
        expected = model.hybrid_dynamics(q, v, tau, a, names, wrenches)
        scale = SAME * max(1.0, *(float(np.linalg.norm(part)) for part in expected))
        for found, wanted in zip(dynamics.dynamics(q, v, tau, a), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=scale)
        np.testing.assert_allclose(dynamics.accelerations(q, v, tau, a), expected[0], rtol=0, atol=scale)
        rate = np.concatenate([model.configuration_rate(q, v), expected[0]])
        np.testing.assert_allclose(dynamics.rate(q, v, tau, a), rate, rtol=0, atol=scale)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("seed", range(4))
def test_prepared_dynamics_are_the_models(engine: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 5, base="free", passive=True, loads=True).resolve(engine)
    assert_equals_the_model(model, rng, np.zeros(model.nv, dtype=bool))
    assert_equals_the_model(model, rng, chosen(model, rng))


def test_prepared_dynamics_under_other_wrenches_are_not() -> None:
    rng = np.random.default_rng(0)
    model = random_tree(rng, 5, base="free").resolve()
    with pytest.raises(AssertionError):
        assert_equals_the_model(model, rng, chosen(model, rng), np.ones(6))


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("names", [[], ["q1"]], ids=["free", "driven"])
def test_prepared_dynamics_of_closed_loops(engine: str, names: list[str]) -> None:
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = four_bar().resolve(engine)
    q = model.assemble([0.9, -0.5, -0.5], names)
    v, tau, a = model.assemble_velocity(q, np.ones(3), names), np.linspace(1, 2, 3), np.full(3, 0.3)
    dynamics = model.mechanism.engine.dynamics.prepare([], np.isin(model.coordinate_names, names))
    dynamics.rank = 2
    expected = model.hybrid_dynamics(q, v, tau, a, names)
    for found, wanted in zip(dynamics.dynamics(q, v, tau, a), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)  # rounding times the condition of the closures
    assert not np.allclose(dynamics.accelerations(q, v, tau + 1.0, a + 0.1), expected[0], rtol=1e-6)


def held_rod() -> tt.System:
    """Return a bent rod on a hinge, the tip of which is pinned to a slider, with a load fixed in the inertial frame."""
    s = tt.System("held", gravity=[0.3, -0.4, -9.81])
    rod = tt.Rod("rod", length=0.5, young=1e6, density=1100.0, section=tt.Section.circle([0.02, 0.01]), strains="kirchhoff")
    s.connect("world", rod, tt.Revolute("base", axis=[0, 1, 0]))
    slider = tt.RigidBody("slider", 0.3, inertia=[0.1, 0.2, 0.2])
    s.connect("world", slider, tt.Prismatic("rail", axis=[1, 0, 0.5]))
    s.close_loop(slider, rod.port("tip"), tt.RigidClosure("pin", kind="spherical"))
    s.add_load(tt.Load("push", rod.port("tip"), force=[0.3, -0.2, 0.5], frame="world"))
    return s


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("build", [four_bar, geared_hand, interacting, looped, held_rod])
def test_equations_are_those_of_the_tree_and_its_constraints(build: Callable[[], tt.System], engine: str) -> None:
    """As the reference engine has them one by one, with loads, multipliers and states that follow; with matrices or without."""
    system, rng = build(), np.random.default_rng(2)
    model, other = system.resolve(engine), system.resolve("reference")
    mechanism, port = other.mechanism, model.port_names[-1]
    q, v, a, tau = random_state(model, rng)
    multipliers, wrench = rng.normal(size=len(model.constraint_names)), rng.normal(size=6)
    u, begun, half = rng.normal(size=model.nu), rng.normal(size=model.nx), 1e-2
    prepared = model.mechanism.engine.dynamics.prepare([WrenchPlace(port, False)], np.zeros(model.nv, dtype=bool))
    prepared.wrenches[:] = wrench
    prepared.drive_interactions(mechanism.inputs.whole(u, 7.0 * begun))
    x, _ = mechanism.engine.states.following(q, v, mechanism.inputs.whole(u, begun), begun, begun, half)
    pushes = mechanism.external_pushes({port: wrench}, mechanism.inputs.whole(u, x))
    needed, rows = mechanism.engine.dynamics.tree_inverse(q, v, a, pushes), mechanism.engine.dynamics.constraints(q, v)
    jacobian = mechanism.scale.weights[:, None] * rows.jacobian
    for whole in (True, False):
        following = FollowingStates(half, begun, begun.copy())
        result = prepared.equations(q, v, a, tau, multipliers, following, whole)
        np.testing.assert_allclose(result.efforts, needed - tau - jacobian.T @ multipliers, **ROUNDING)
        np.testing.assert_allclose(result.error, mechanism.scale.weights * rows.error, **ROUNDING)
        np.testing.assert_allclose(following.x, x, **ROUNDING)
        if whole:
            np.testing.assert_allclose(result.jacobian, jacobian, **ROUNDING)
            np.testing.assert_allclose(result.mass, other.mass_matrix(q), **ROUNDING)
    assert np.abs(mechanism.engine.dynamics.tree_inverse(q, v, a, []) - needed).max() > 0.1, "loads that do nothing"


def arm() -> Model:
    """Return two bodies on hinges with a motor and a thruster."""
    s = tt.System("arm", gravity=[0, 0, -9.81])
    upper = tt.RigidBody("upper", 1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"end": [0.4, 0, 0]})
    lower = tt.RigidBody("lower", 1.0, com=[0.2, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"tip": [0.4, 0, 0]})
    s.connect("world", upper, tt.Revolute("shoulder", axis=[0, 1, 0]))
    s.connect(upper.port("end"), lower, tt.Revolute("elbow", axis=[0, 1, 0]))
    s.add_actuator(tt.Motor("motor", "shoulder"))
    s.add_actuator(tt.Thruster("jet", lower.port("tip")))
    return s.resolve()


def later(good: Any, bad: Any) -> Callable[..., Any]:
    """Return a function of time that goes wrong after half a second."""
    return lambda t, *_: good if t < 0.5 else bad


SWING = (0.1, 0.0, 0.0)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "generalized-alpha"])
@pytest.mark.parametrize(
    ("given", "code", "where"),
    [
        ({"tau": later(np.zeros(2), np.array([0.0, np.nan]))}, "not-finite", "tau[1]"),
        ({"tau": later(np.zeros(2), np.zeros(3))}, "wrong-length", "tau"),
        ({"tau": later(np.zeros(2), np.array([1j, 0.0]))}, "wrong-type", "tau"),
        ({"u": later(np.zeros(2), [np.inf, 0.0])}, "not-finite", "u[0]"),
        ({"u": later(np.zeros(2), np.zeros((1, 2)))}, "wrong-length", "u"),
        ({"u": {"jet": later(1.0, np.nan)}}, "not-finite", "u[1]"),
        ({"wrenches": {"lower.tip": later(np.zeros(6), np.full(6, np.nan))}}, "wrong-shape", "wrenches['lower.tip']"),
        ({"wrenches": {"lower.tip": later(np.zeros(6), np.zeros(3))}}, "wrong-shape", "wrenches['lower.tip']"),
        ({"prescribed": {"shoulder": later(SWING, (0.1, np.nan, 0.0))}}, "bad-motion", "prescribed['shoulder']"),
        ({"prescribed": {"shoulder": later(SWING, (0.1, 0.0))}}, "bad-motion", "prescribed['shoulder']"),
        ({"prescribed": {"shoulder": later(SWING, ([0.1, 0.2], 0.0, 0.0))}}, "bad-motion", "prescribed['shoulder']"),
        (
            {"prescribed": {"shoulder": later(SWING, SWING)}, "tau": later(np.zeros(2), np.full(2, np.nan))},
            "not-finite",
            "tau[0]",
        ),
    ],
)
def test_functions_that_go_wrong_on_the_way_are_named(given: dict[str, Any], code: str, where: str, method: str) -> None:
    with pytest.raises((tt.ModelError, tt.ConvergenceError)) as caught:
        tt.simulate(arm(), [0, 1], [0.1, 0.0], [0.0, 0.0], method=method, rtol=1e-3, atol=1e-5, **given)
    if isinstance(caught.value, tt.ModelError):
        assert_says(caught.value, code, where)
    else:  # implicit integrators try shorter steps before they give up
        assert method == "Radau"
        assert f"{where}: got" in str(caught.value)


def test_a_motion_is_asked_for_once_a_time() -> None:
    asked = []

    def swing(t: float) -> tuple[float, float, float]:
        asked.append(t)
        return np.sin(t), np.cos(t), -np.sin(t)

    run = tt.simulate(arm(), [0, 1], [0, 0], [0, 0], prescribed={"shoulder": swing})
    assert run.q[-1, 0] == np.sin(1.0)
    # an integrator may come back to a time (rejected steps), and outputs are asked for again
    assert len(set(asked)) > 0.9 * len(asked)


@pytest.mark.parametrize("kind", [CubicSpline, PchipInterpolator])
@pytest.mark.parametrize("shape", [(), (3,)], ids=["prismatic", "planar"])
def test_piecewise_polynomials_are_evaluated_as_scipy_does(kind: Any, shape: tuple[int, ...]) -> None:
    knots = np.array([0.0, 0.3, 0.5, 1.2, 2.0])
    spline = kind(knots, np.random.default_rng(0).normal(size=(5, *shape)))
    s = tt.System("plane")
    joint = tt.Planar("base") if shape else tt.Prismatic("base")
    s.connect("world", tt.RigidBody("b", 1.0, inertia=[1.0, 1.0, 1.0]), joint)
    motion = PrescribedMotion(s.resolve(), {"base": spline}, (0.0, 2.0))
    for t in (*knots, 0.1, 0.42, 1.99):
        q, v = motion.impose(t, np.zeros(len(motion.mask)), np.zeros(len(motion.mask)))
        for found, order in ((q, 0), (v, 1), (motion.acceleration(t), 2)):
            expected = spline.derivative(order)(t) if order else spline(t)
            np.testing.assert_allclose(found[motion.mask], np.atleast_1d(expected), rtol=1e-12, atol=1e-12)


def test_exported_systems_refuse_what_they_cannot_use() -> None:
    plant = arm().to_nlsys(["motor", "jet"]).plant
    for code, where, x, w in (
        ("not-finite", "u[1]", np.zeros(4), [0.0, np.nan]),
        ("not-finite", "x[2]", [0.0, 0.0, np.inf, 0.0], np.zeros(2)),
        ("wrong-length", "x", np.zeros(3), np.zeros(2)),
        ("wrong-length", "u", np.zeros(4), np.zeros(1)),
    ):
        for function in (plant.rates, plant.outputs):
            with pytest.raises(tt.ModelError) as caught:
                function(x, w)
            assert_says(caught.value, code, where)


def test_exported_systems_in_threads() -> None:
    """Each thread has its own tables of what acts."""
    plant = arm().to_nlsys(["jet"]).plant
    expected = {w: plant.rates(np.full(4, 0.1), np.array([w])) for w in (1.0, -3.0)}
    wrong = []

    def ask(w: float) -> None:
        wrong.extend(k for k in range(2000) if not np.array_equal(plant.rates(np.full(4, 0.1), np.array([w])), expected[w]))

    threads = [threading.Thread(target=ask, args=(w,)) for w in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not np.array_equal(*expected.values())
