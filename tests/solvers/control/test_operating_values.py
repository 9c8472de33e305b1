"""Operating points that controllers were designed about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import control
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.solvers.control.sliders import gain, largest, slider
from tests.tolerances import TIGHT


def test_operating_points_in_every_form() -> None:
    model, t = slider(stiffness=4.0), np.linspace(0, 1, 5)
    q0 = np.array([0.5])
    forms = [
        {"rail.q": 0.5, "motor": 2.0},
        {"rail_q": 0.5, "motor": 2.0},
        SimpleNamespace(q=q0, v=np.zeros(1), u=np.array([2.0])),
        SimpleNamespace(y={"rail.q": 0.5}, u={"motor": 2.0}),
        tt.lpv(model, {"rail.q": [0.4, 0.6]}, unknowns=["motor"]).trim_at(rail_q=0.5),
    ]
    for form in forms:
        for controller in (gain(3.0, 2.0), tt.Controller(lambda t, x, y, r: (x, r - y), [], ["rail.q"], ["motor"], 0.1)):
            run = tt.simulate(model, t, q0, [0.0], controller=controller, operating_point=form)
            assert largest(run.q - 0.5) < 1e-12
    by_sensor = gain(3.0, inputs=["ruler"])
    point = SimpleNamespace(y=[0.5, 0, 0, 0, 0], u=[2.0])
    assert largest(tt.simulate(model, t, q0, [0.0], controller=by_sensor, operating_point=point).q - 0.5) < 1e-12


def held_load(mass: float = 2.0) -> tt.Model:
    """Return a load that hangs from a cart on a spring, with a sensor of the force between them."""
    s = tt.System("cart", gravity=[0, 0, -9.81])
    cart = tt.RigidBody("cart", mass=1.0, ports={"hook": [0, 0, -0.5]})
    load = tt.RigidBody("load", mass=mass, com=[0, 0, -0.3], inertia=0.1, ports={"tip": [0, 0, -0.6]})
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], stiffness=4.0))
    s.connect(cart.port("hook"), load, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0))
    s.add_actuator(tt.Motor("motor", "rail"))
    s.add_sensor(tt.ReactionSensor("held", "hinge"))
    return s.resolve()


def at_trim(sample_time: float | None, simulated: tt.Model, **changes: Any) -> float:
    """Return how far a controlled system moves that starts at its trim under a wrench."""
    pull = {"load.tip": np.array([8.0, 0, 0, 0, 1.0, 0])}
    point = tt.trim(held_load(), wrenches=pull)
    assert np.abs(point.q).min() > 0.05
    K = control.ss([[-5.0]], [[1.0]], [[2.0]], [[0.0]], inputs=["held_fx"], outputs=["motor"])
    arguments = {"operating_point": point, "wrenches": pull} | changes
    run = tt.simulate(simulated, np.linspace(0, 2, 5), point.q, point.v, controller=K, sample_time=sample_time, **arguments)
    return largest(run.q - point.q)


@pytest.mark.parametrize("sample_time", [None, 0.01])
def test_reactions_at_the_operating_point_are_those_under_its_wrenches(sample_time: float | None) -> None:
    """The trim is exact within 1e-9, which the controller holds."""
    assert at_trim(sample_time, held_load()) < 1e-7
    point = tt.trim(held_load(), wrenches={"load.tip": [8.0, 0, 0, 0, 1.0, 0]})
    without = SimpleNamespace(q=point.q, v=point.v)
    assert at_trim(sample_time, held_load(), operating_point=without) > 0.1  # the negative control


def test_outputs_at_the_operating_point_are_those_of_its_model() -> None:
    """The designed-for load weighs more than the one that is simulated: the sensor differs from the start on."""
    s_point = tt.trim(held_load(), parameters={"load.mass": 3.0})
    K = gain(1.0, inputs=["held_fz"], dt=0.1)
    run = tt.simulate(held_load(), [0, 0.1], s_point.q, s_point.v, controller=K, operating_point=s_point)
    # reference minus output, each the load's weight with the sign of the force on the load; moving little, at first
    difference = run.control.signal("r_held.fz")[0] - run.control.signal("held.fz")[0]
    assert difference == pytest.approx(9.81 * (3.0 - 2.0))
    other = tt.OperatingPoint(slider(), [0.5])
    with pytest.raises(tt.ModelError, match="other-model"):
        tt.simulate(held_load(), [0, 1], s_point.q, s_point.v, controller=K, operating_point=other)


def test_wrenches_of_the_operating_point_that_do_not_act_are_said() -> None:
    with pytest.warns(tt.ModelWarning, match=r"load\.tip.*missing-wrench") as caught:
        assert at_trim(0.01, held_load(), wrenches={}) > 0.1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("step", [None, 0.01])
def test_coordinates_of_free_joints_are_displacements_from_the_operating_point(step: float | None) -> None:
    """As in linear models: from an attitude far away, feedback of small rotations is that of a double integrator."""
    s, inertia = tt.System("rock", gravity=[0, 0, 0]), 0.5
    s.connect("world", tt.RigidBody("rock", mass=1.0, inertia=inertia), tt.Free("base"))
    model, w, z = s.resolve(), 3.0, 0.5
    rows = np.hstack([inertia * w**2 * np.eye(3), 2 * z * w * inertia * np.eye(3)])
    axes = ("rx", "ry", "rz")
    names = [f"base_{axis}_{part}" for part in "qv" for axis in axes]
    K = control.ss([], [], [], rows, inputs=names, outputs=[f"base_{axis}" for axis in axes])
    pose = model.configuration({"base": tt.Pose([1, 2, 3], Rotation.from_euler("XYZ", [2.0, -1.2, 0.7]))})
    turned = model.integrate(pose, [0, 0, 0, 0, 1e-3, 0])
    t, damped = np.linspace(0, 2, 11), w * np.sqrt(1 - z**2)
    point = SimpleNamespace(q=pose, v=np.zeros(6))
    run = tt.simulate(model, t, turned, np.zeros(6), controller=K, operating_point=point, sample_time=step, **TIGHT)
    motion = np.array([model.difference(pose, q) for q in run.q])
    decay = 1e-3 * np.exp(-z * w * t) * (np.cos(damped * t) + z * w / damped * np.sin(damped * t))
    # about one axis the equation is linear; sampling delays by half a step, half a percent of the period
    assert largest(motion[:, 4] - decay) < (1e-10 if step is None else 3e-5)
    assert largest(np.delete(motion, 4, axis=1)) < 1e-12
    assert np.array_equal(run.control.signal("base.ry.q")[:1], motion[:1, 4])
