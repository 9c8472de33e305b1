"""Reaction wheels trade momentum."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt


def test_a_wheel_trades_momentum_with_its_satellite():
    """Without other forces the total stays zero: hub and wheel turn against each other."""
    s = tt.System("spin", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10, inertia=[1, 1, 2])
    s.connect("world", hub, tt.Revolute("yaw"))
    s.add_actuator(tt.ReactionWheel("wheel", hub, [0, 0, 1], inertia=0.1, mass=1.0))
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0, 10, 11), [0, 0], [0, 0], u={"wheel/motor": 0.02})
    yaw, wheel = trajectory.v[-1]
    assert wheel + yaw == pytest.approx(0.02 * 10 / 0.1, rel=1e-8)  # spin of the rotor in inertial space
    assert 2.0 * yaw + 0.1 * (wheel + yaw) == pytest.approx(0, abs=1e-8)
    assert trajectory.outputs()[-1, 0] == pytest.approx(0.1 * wheel)


def wheeled(inertia: float = 0.1) -> tt.System:
    s = tt.System("wheeled", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Free("base"))
    s.add_actuator(tt.ReactionWheel("rw", hub, [0, 0.6, 0.8], inertia=inertia, mass=0.1))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_momentum_that_is_read_follows_the_rotors_inertia(engine: str) -> None:
    """As read of a wheel that was built so, also in linear models."""
    model, built = wheeled().resolve(engine), wheeled(0.3).resolve(engine)
    tripled = model.with_parameters(
        {f"rw/rotor.{p}": v[0] for p, v in built.mechanism.assembly.blocks["rw/rotor"].parameters().items()}
    )
    q, v, a = model.neutral(), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2.0], np.zeros(7)
    assert model.outputs(q, v, a) == pytest.approx([0.1 * 2.0], rel=1e-14)
    assert tripled.outputs(q, v, a) == pytest.approx([0.3 * 2.0], rel=1e-14)
    assert tt.linearize(tripled, q, inputs=["rw/motor"], outputs=["rw/momentum"]).C[0, -1] == pytest.approx(0.3, rel=1e-14)


def test_uncertain_rotors_are_not_read_by_their_nominal_inertia() -> None:
    model = wheeled().resolve()
    with pytest.raises(tt.ModelError, match=r"rw/momentum.*inexact-output"):
        tt.lft(model, model.neutral(), {"rw/rotor.inertia.zz": tt.percent(20)}, ["rw/motor"], ["rw/momentum"])
    family = tt.lft(model, model.neutral(), {"hub.inertia.zz": tt.percent(20)}, ["rw/motor"], ["rw/momentum"])
    assert family.check(4) < 1e-12


def test_a_wheel_on_a_port_of_its_own_is_weighed_about_its_axis() -> None:
    s = tt.System("off centre", gravity=[0, 0, 0])
    wheel = tt.RigidBody("wheel", 2.0, com=[0.1, 0.2, 0], inertia=1.0, ports={"axle": [0.3, 0.1, 0.2]})
    s.connect("world", wheel.port("axle"), tt.Revolute("bearing", axis=[0, 1, 0]))
    s.add_sensor(tt.WheelMomentum("momentum", "bearing"))
    model = s.resolve()
    assert model.outputs([0.2], [1.5], [0.0]) == pytest.approx(1.5 * model.mass_matrix([0.2])[0], rel=1e-14)


def test_parts_follow_what_is_set_later() -> None:
    wheel = tt.ReactionWheel("wheel", tt.RigidBody("hub", 1.0), [0, 0, 1], 0.1, 2.0)
    rotor, bearing, motor = wheel["rotor"], wheel[""], wheel["motor"]
    wheel.mass, wheel.axis, wheel.inertia, wheel.torque_limit = 3.0, [1, 0, 0], 0.2, 0.5
    assert (rotor.mass, motor.upper, rotor.inertia[0, 0], rotor.inertia[2, 2]) == (3.0, 0.5, 0.2, 0.1)
    assert bearing.axis.tolist() == [1, 0, 0]
    with pytest.raises(tt.ModelError, match=r"wheel.target.*cannot-change"):
        wheel.target = tt.RigidBody("other", 1.0)
