"""States of the first order in linear fractional models: exact in the parameters, or refused by name."""

from __future__ import annotations

import pytest

import titop as tt
from tests.refusals import refusal
from tests.stated_systems import Lag, jointed


def test_models_with_states_are_exact() -> None:
    s = jointed()
    s.gravity = [0, 0, 0]
    m = s.resolve()
    ranges = {"b.mass": (1.5, 2.5), "soft.stiffness": (4.0, 6.0)}
    model = tt.lft(m, tt.trim(m), ranges, ["driven.command", "rail"], ["soft.creep", "c.dv", "soft.reaction", "driven.q"])
    assert model.check() < 1e-10  # linearize at corners and in between, along frequencies


def lagging() -> tt.Model:
    """Return a rotor with a lag."""
    s = tt.System("lagging", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=2.0), tt.Revolute("shaft", stiffness=3.0))
    s.add_interaction(Lag("motor", 0.5), "shaft")
    return s.resolve()


def test_laws_that_are_not_polynomial_are_refused_by_name() -> None:
    m = lagging()
    with pytest.raises(tt.ModelError, match=r"motor\.T"):  # 1 / T
        tt.lft(m, tt.trim(m), {"motor.T": (0.4, 0.6)}, ["motor.command"], ["shaft.q"])
    fitted = tt.lft(m, tt.trim(m), {"motor.T": (0.45, 0.55)}, ["motor.command"], ["shaft.q"], fits=["motor.T"])
    assert fitted.check() < 1e-3  # of the fit


def sagging(push: bool, path: tt.SignalPath) -> tt.Model:
    """Return an arm on a spring, with a motor and an encoder or with a force on it."""
    s = tt.System("sagging", gravity=[0, 0, -9.81])
    arm = tt.RigidBody("arm", 1.0, com=[0.5, 0, 0], inertia=[0.01, 0.1, 0.1])
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=40.0, damping=0.3))
    if push:
        s.add_actuator(tt.Force("push", arm, [0, 0, 1], path=path))
    else:
        s.add_actuator(tt.Motor("motor", "hinge", path=path))
        s.add_sensor(tt.Encoder("angle", "hinge", path=path))
    return s.resolve("reference")


def test_filters_of_motors_and_sensors_go_along_with_equilibria() -> None:
    """Their states rest elsewhere then, on which nothing depends."""
    m = sagging(False, tt.SignalPath.lag(0.1))

    def pushed(model: tt.Model) -> tt.OperatingPoint:
        return tt.trim(model, u={"motor": model.parameters()["arm.mass"][0]})

    assert pushed(m).x.all()
    ranges = {"arm.mass": (0.8, 1.3), "motor.path.time_constant": tt.percent(20)}
    found = tt.lft(m, pushed(m), ranges, ["motor"], ["angle"], equilibrium=pushed, tolerance=1e-6)
    assert [moving.name for moving in found.moving] == ["hinge.q"]
    assert found.check(3) < 1e-5  # the fit of an angle, see `test_moving_equilibria`


def test_states_that_act_and_move_are_refused() -> None:
    m = sagging(True, tt.SignalPath.lag(0.1))

    def carried(model: tt.Model) -> tt.OperatingPoint:
        return tt.trim(model, u={"push": 3.0 * model.parameters()["arm.mass"][0]})

    with refusal("moving-states", "push.lag[0]"):
        tt.lft(m, carried(m), {"arm.mass": (0.8, 1.3)}, ["push"], ["hinge.q"], equilibrium=carried)
