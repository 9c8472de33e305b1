"""The Jacobian that implicit integrators get is that of what they integrate, by differences of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.closed_systems import andrews, bricard, closed_four_bar, geared_hand, slider_crank
from tests.flexible import random_system
from tests.solvers.scaled_systems import SI, UNITS, Units, pendulum_on_a_slider
from tests.systems import KINDS, Array, add_random_loads, random_tree
from titop.solvers.control.loop_arguments import read_loop
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.mechanism.scale import Scale
from titop.solvers.model.closures import reduction
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation import implicit_equations
from titop.solvers.simulation.closed_states import UTMOST, project
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.implicit_equations import RateJacobian, feedback_derivatives

#: Sixth-order differences with a step of 1e-3: truncation is 1e-18 times high derivatives, rounding near 1e-13 of the largest.
EXACT = 1e-9
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
STEP = 1e-3

TIMES = np.array([0.0, 1.0])


def driven(model: tt.Model, tau: Any = None, u: Any = None, **more: Any) -> DrivenModel:
    """Return what a simulation integrates."""
    motion = PrescribedMotion(model, more.pop("prescribed", {}))
    wrenches = more.pop("wrenches", {})
    loop = read_loop(model, TIMES, model.neutral(), np.zeros(model.nv), tt.Loop(**({"controller": None} | more)), True, 0, {})
    return DrivenModel(model, TIMES, tau, wrenches, motion, u, loop)


def differences(function: Callable[[Array], Array], y: Array, directions: Array) -> Array:
    """Return derivatives along directions (columns)."""
    columns = [
        sum(w * (function(y + k * STEP * d) - function(y - k * STEP * d)) for k, w in STENCIL) / STEP for d in directions.T
    ]
    return np.array(columns).T


def error(plant: DrivenModel, y: Array, directions: Array | None = None, t: float = 0.3) -> float:
    """Return how far the Jacobian is from differences, relatively."""
    directions = np.eye(len(y)) if directions is None else directions
    expected = differences(lambda x: plant.rate(t, x), y, directions)
    found = RateJacobian(plant)(t, y) @ directions
    assert np.abs(expected).max() > 0.1  # there is something to find
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def tree(seed: int, engine: str = "compiled", bodies: int = 6) -> tuple[tt.Model, Array]:
    """Return a tree of joints of every kind, and a state whose quaternions are no unit ones, as an integrator leaves them."""
    rng = np.random.default_rng(seed)
    s = random_tree(rng, bodies, KINDS, base="free")
    add_random_loads(rng, s, [connection.child.block for connection in s.connections])
    model = s.resolve(engine)
    y = np.concatenate([model.random_configuration(rng), rng.normal(size=model.nv)])
    for start in model.mechanism.quaternions:
        y[start : start + 4] *= rng.uniform(0.99, 1.01)
    return model, y


@pytest.mark.parametrize("seed", range(4))
def test_trees(seed: int) -> None:
    model, y = tree(seed)
    wrench = {model.port_names[-1]: np.arange(6.0)}
    assert error(driven(model, np.ones(model.nv), wrenches=wrench), y) < EXACT


def test_reference_resolver() -> None:
    model, y = tree(0, "reference", 2)
    assert error(driven(model), y) < EXACT


@pytest.mark.parametrize("part", ["skew", "linalg"])
def test_without_the_change_of_the_rates_it_is_wrong(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``d(dq)/dt = dv - ad(v) dq``: negative control."""
    model, y = tree(0)
    if part == "skew":
        monkeypatch.setattr(implicit_equations, "skew", lambda w: np.zeros((3, 3)))
        assert error(driven(model), y) > 1e-3
    else:  # quaternions taken as if they were unit ones
        monkeypatch.setattr(np.linalg, "norm", lambda x: 1.0)
        assert error(driven(model), y) > 1e-5


def test_flexible_bodies() -> None:
    rng = np.random.default_rng(2)
    model = random_system(rng).resolve()
    y = np.concatenate([model.random_configuration(rng), rng.normal(size=model.nv)])
    # differences of stiff modes: frequencies squared beside rates of size one
    assert error(driven(model), y) < EXACT


def test_functions_of_the_state_are_differentiated_by_differences() -> None:
    model, y = tree(1)
    port = model.port_names[-1]

    def wrench(t: float, q: Array, v: Array) -> Array:
        return np.array([np.sin(q[-1]), v[0] * v[-1], 1.0, 0.0, q[0], -v[1]])

    plant = driven(model, lambda t, q, v: -3.0 * v * np.abs(v) + t, wrenches={port: wrench})
    assert EXACT < error(plant, y) < 1e-5  # one-sided differences with a step of 1e-7


def test_prescribed_motion() -> None:
    model, y = tree(3)
    names = [
        name
        for name in model.mechanism.assembly.v_slices
        if model.mechanism.assembly.v_slices[name].stop - model.mechanism.assembly.v_slices[name].start == 1
    ]
    motions = {name: lambda t: (np.sin(t), np.cos(t), -np.sin(t)) for name in names[:2]}
    plant = driven(model, prescribed=motions)
    assert error(plant, y) < EXACT
    k = model.configuration_names.index(names[0])
    assert not RateJacobian(plant)(0.3, y)[:, k].any()  # whatever stands there in y, the motion is imposed


@pytest.mark.filterwarnings("ignore:.*redundant-closure")
@pytest.mark.parametrize("system", [slider_crank, bricard, geared_hand, andrews])
def test_closed_systems_along_their_motions(system: Callable[[], tt.System]) -> None:
    model = system().resolve()
    rng = np.random.default_rng(7)
    q = model.assemble(model.integrate(model.assemble(model.neutral()), 0.1 * rng.normal(size=model.nv)))
    v = model.assemble_velocity(q, rng.normal(size=model.nv))
    basis = reduction(model, q, v, np.zeros(model.nv, dtype=bool)).basis
    assert basis is not None
    directions = basis / np.abs(basis).max(axis=0)
    assert all(model.mechanism.has_plain_coordinates(k) for k in range(model.nv))
    plant = driven(model)
    plant.prepared.rank = model.closure_rank(q)
    assert error(plant, np.concatenate([q, v]), directions) < EXACT


def satellite() -> tt.Model:
    """Return a free body with a wheel, a thruster that saturates, a hinged panel and sensors of accelerations and forces."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=10.0, inertia=np.diag([3.0, 4.0, 5.0]), ports={"P": [1, 0, 0], "T": [0, 1, 0]})
    panel = tt.RigidBody("panel", mass=1.0, com=[0.5, 0, 0], inertia=0.2, ports={"tip": [1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("P"), panel, tt.Revolute("hinge", axis=[0, 0, 1], stiffness=2.0))
    s.add_actuator(tt.Thruster("jet", hub.port("T"), direction=[1, 0, 0], max_thrust=0.5))
    s.add_actuator(tt.Motor("drive", "hinge"))
    s.add_sensor(tt.Accelerometer("felt", panel.port("tip")))
    s.add_sensor(tt.ReactionSensor("load", "hinge"))
    s.add_sensor(tt.Gyro("gyro", hub))
    return s.resolve()


@pytest.mark.parametrize("pushed", [0.1, 3.0], ids=["free", "saturated"])
def test_continuous_controllers(pushed: float) -> None:
    """Positions and rates act at once, accelerations and forces through the controller's states."""
    model, rng = satellite(), np.random.default_rng(4)
    inputs = ["base_rz_q", "gyro_z", "hinge_q", "hub_T_r[0]", "panel_theta[2]", "felt_y", "load_fy"]
    outputs = ["jet", "drive", "base_x_tau"]
    outputs_at_once = np.hstack([rng.normal(size=(3, 5)), np.zeros((3, 2))])
    K = control.ss(
        -np.eye(2), rng.normal(size=(2, 7)), rng.normal(size=(3, 2)), outputs_at_once, inputs=inputs, outputs=outputs
    )
    q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
    y = np.concatenate([q, 0.1 * rng.normal(size=model.nv), 0.01 * rng.normal(size=2)])
    plant = driven(model, u=[pushed, 0.0], controller=K, operating_point={"base.rz.q": 0.1})
    assert error(plant, y) < EXACT
    plant.command = plant.loop.command_at(plant, 0.3, y)
    assert (plant.inputs(0.3, *plant.split(0.3, y))[0] == 0.5) == (pushed > 1)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_governor_whose_shaft_turns_on(method: str) -> None:
    """Nothing depends on the shaft's angle, for which differences know no step."""
    s = tt.System("governor", gravity=[0, 0, -9.81])
    shaft = tt.RigidBody("shaft", mass=2.0, inertia=0.02, ports={"left": [-0.05, 0, 0], "right": [0.05, 0, 0]})
    s.connect("world", shaft, tt.Revolute("spin", axis=[0, 0, 1]))
    for side, sign in (("left", 1), ("right", -1)):
        ball = tt.RigidBody(f"{side}_ball", mass=1.0, com=[0, 0, -0.3], inertia=1e-3)
        s.connect(shaft.port(side), ball, tt.Revolute(f"{side}_hinge", axis=[0, sign, 0], damping=0.05))
    model, t = s.resolve(), np.linspace(0, 3, 4)
    start = model.configuration({"left_hinge": 0.5, "right_hinge": 0.5}), model.velocity({"spin": 8.0})
    exact, found = (tt.simulate(model, t, *start, method=name, rtol=1e-7, atol=1e-9) for name in ("DOP853", method))
    assert np.abs(found.q - exact.q).max() < 1e-4  # a thousand steps of 1e-7, of an angle of 20 rad
    if method != "LSODA":  # which need not find that this is stiff: the last digits decide
        assert found.statistics["jacobians"] > 0
    jacobian = RateJacobian(driven(model))(0.0, np.concatenate([found.q[-1], found.v[-1]]))
    assert not jacobian[:, 0].any()


def test_a_closed_system_keeps_its_start() -> None:
    """The Jacobian of a trial state that cannot be closed is that of the state before."""
    model, q, v = closed_four_bar()
    jacobian, y = RateJacobian(driven(model)), np.concatenate([q, v])
    first = jacobian(0.0, y)
    assert np.array_equal(jacobian(0.0, np.full_like(y, np.nan)), first)


def test_next_to_singular_configurations_states_are_projected() -> None:
    """There the Jacobian is that of rates at projected states; without the projection it is another by far."""
    model, q, v = closed_four_bar(0.5, 5.0)
    plant, y = driven(model), np.concatenate([q, v])
    plant.prepared.rank = model.closure_rank(q)
    expected = differences(lambda x: plant.rate(0.0, project(plant, 0.0, x, UTMOST).y), y, np.eye(len(y)))
    size = np.abs(expected).max()
    # central differences of 1e-6 of the projection, whose curvature is of the order of one
    assert np.abs(RateJacobian(plant, lambda: True)(0.0, y) - expected).max() < 1e-6 * size
    assert np.abs(RateJacobian(plant)(0.0, y) - expected).max() > 0.1 * size


@pytest.mark.parametrize("size", [2.0**-20, 2.0**20])
def test_projections_of_systems_of_any_size(size: float) -> None:
    """A ladder against a wall: what it does does not depend on the unit of length."""

    def jacobian(length: float) -> Array:
        s = tt.System("ladder", gravity=[0, 0, 0])
        foot = tt.RigidBody("foot", 1.0)
        ladder = tt.RigidBody(
            "ladder", 2.0, com=[length / 2, 0, 0], inertia=length**2 * np.diag([0.1, 0.2, 0.3]), ports={"top": [length, 0, 0]}
        )
        s.connect("world", foot, tt.Prismatic("slide", axis=[1, 0, 0], stiffness=3.0))
        s.connect(foot, ladder, tt.Revolute("tilt", axis=[0, 0, 1]))
        shoe = tt.RigidBody("shoe", 0.5, inertia=length**2 * np.diag([0.1, 0.1, 0.1]))
        s.connect(ladder.port("top"), shoe, tt.Revolute("turn", axis=[0, 0, 1]))
        s.close_loop("world", shoe, tt.RigidClosure("wall", "prismatic", axis=[0, 1, 0]))
        model = s.resolve()
        q, v = np.array([-length * np.cos(0.7), 0.7, -0.7]), np.array([length * np.sin(0.7), 1.0, -1.0])
        y, sizes = np.concatenate([q, v]), np.array([length, 1.0, 1.0] * 2)
        plant = driven(model)
        plant.prepared.rank = model.closure_rank(q)
        return RateJacobian(plant, lambda: True)(0.0, y) * sizes / sizes[:, None]

    expected = jacobian(1.0)
    assert np.abs(expected[3:]).max() > 0.1
    # differences with steps of 1e-6 through numbers of one
    np.testing.assert_allclose(jacobian(size), expected, rtol=0, atol=1e-8 * np.abs(expected).max())


# -- slopes of feedback, in other units


class Servo:
    """What `feedback_derivatives` asks of a plant: a cart with a pendulum, held by a servo that hardens in its own length."""

    def __init__(self, units: Units) -> None:
        self.model, self.units = pendulum_on_a_slider(units), units

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Any]]:
        x, rate = q[0] / self.units.length, v[0] * self.units.time / self.units.length
        force = self.units.effort / self.units.length
        return np.array([-force * (5.0 * np.sinh(x) + 0.3 * np.tanh(rate)), 0.0]), []


def feedback_is_right(units: Units) -> bool:
    """Return whether the servo's derivatives are, at three states."""
    right, stiffness = True, units.mass / units.time**2
    for x, rate in ((0.3, 0.2), (0.3, 0.0), (0.0, 0.0)):
        state = np.array([x * units.length, 0.1]), np.array([rate * units.length / units.time, 0.0])
        by_q, by_v = (each[0, 0] / stiffness for each in feedback_derivatives(Servo(units), 0.0, *state))
        # one-sided differences with steps of 1e-7, and rounding of the weight beside them
        right &= by_q == pytest.approx(-5.0 * np.cosh(x), rel=1e-6)
        right &= by_v / units.time == pytest.approx(-0.3 / np.cosh(rate) ** 2, rel=1e-5)
    return right


def test_slopes_of_feedback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(feedback_is_right(units) for units in [SI, *UNITS])
    monkeypatch.setattr(Scale, "coordinates_of", lambda _, inertia: np.ones(len(inertia)))
    monkeypatch.setattr(implicit_equations, "_typical_rate", lambda *_: 1.0)
    assert [units for units in [SI, *UNITS] if feedback_is_right(units)] != [SI, *UNITS]


class Timed:
    """A plant of which something acts in proportion to the time, and to what the state differs from 0 by, times a gain."""

    def __init__(self, gain: float) -> None:
        self.model, self.gain, self.asked = pendulum_on_a_slider(SI), gain, 0

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Any]]:
        self.asked += 1
        pushes: list[Any] = [PortPush(next(iter(self.model.mechanism.ports)), True, t * np.ones(6))]
        return np.array([t + self.gain * (q[1] - v[0]), 0.0]), pushes


@pytest.mark.parametrize("gain", [0.0, 1.0])
def test_functions_of_time_alone_are_not_differentiated(gain: float) -> None:
    timed = Timed(gain)
    by_q, by_v = feedback_derivatives(timed, 2.0, np.array([0.3, 0.1]), np.array([0.2, 0.4]))
    assert by_q.any() == by_v.any() == (gain != 0)
    assert timed.asked == (2 if gain == 0 else 2 + 2 * timed.model.nv)
