"""Systems with actuators and sensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from tests.closed_systems import four_bar


def satellite() -> tt.System:
    s = tt.System("satellite", gravity=[0, 0, -1])
    turned = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    hub = tt.RigidBody("hub", 50, inertia=[5, 6, 7], ports={"nozzle": tt.Pose([1, 0, 0], turned), "wheel": [0, 0, 0.2]})
    arm = tt.RigidBody("arm", 3, com=[0.5, 0, 0], inertia=[0.1, 0.2, 0.2], ports={"tip": [1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, arm, tt.Universal("elbow"), placement=[0, 1, 0])
    s.add_actuator(tt.Motor("drive", "elbow.second", gear=10, rotor_inertia=0.01, effort_limit=0.5))
    s.add_actuator(tt.Thruster("thruster", hub.port("nozzle"), direction=[0, 2, 0], max_thrust=5))
    s.add_actuator(tt.ReactionWheel("wheel", hub.port("wheel"), [0, 0, 1], inertia=0.05, mass=2.0, torque_limit=0.2))
    s.add_actuator(tt.Force("push", arm.port("tip"), frame="world"))
    s.add_actuator(tt.Torque("twist", arm, direction=[1, 1, 0]))
    for sensor in (
        tt.Gyro("gyro", hub.port("nozzle")),
        tt.Accelerometer("accelerometer", arm.port("tip")),
        tt.Encoder("encoder", "elbow.first"),
        tt.Tachometer("rate", "elbow.second"),
        tt.ReactionSensor("load_cell", "elbow"),
        tt.PoseSensor("pose", hub),
    ):
        s.add_sensor(sensor)
    return s


class Pushed(tt.Block):
    """A mass on a rail of its own, with an input."""

    coordinates, inputs = ("shift",), ("push",)

    def mass_matrix(self, q: Any) -> Any:
        x, zero = q[0], 0.0 * q[0]
        J = np.array([[1, 0, 0, 0, 0, zero, 1], [0, 1, 0, 0, 0, x, 0], [0, 0, 1, 0, -x, zero, 0]])
        inertia = 2.0 * J.T @ J
        inertia[3:6, 3:6] += 0.1 * np.eye(3)
        return inertia

    def input_matrix(self, q: Any) -> Any:
        return np.array([[1.0 + 0.5 * q[0]]])


def only_motors() -> tt.System:
    """Return a satellite whose inputs act along coordinates, and constantly."""
    s = tt.System("arms", gravity=[0, 0, -1])
    hub, arm = tt.RigidBody("hub", 5, inertia=[5, 6, 7]), tt.RigidBody("arm", 3, com=[0.5, 0, 0], inertia=[0.1, 0.2, 0.2])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, arm, tt.Universal("elbow"), placement=[0, 1, 0])
    for axis, gear in (("first", 3.0), ("second", -2.0)):
        s.add_actuator(tt.Motor(f"drive-{axis}", f"elbow.{axis}", gear=gear))
    s.add_sensor(tt.ReactionSensor("load_cell", "elbow"))
    return s


def all_inputs() -> tt.System:
    """Return a tree with inputs of motors and thrusters, of a block and of an interaction."""
    s, pushed = satellite(), Pushed("rail")
    s.connect(s["arm"].port("tip"), pushed, tt.Revolute("rail-hinge"))
    s.close_loop("world", s["hub"].port("nozzle"), tt.Cable("rope", stiffness=20.0, length=0.5))
    return s


def driven_loop() -> tt.System:
    """Return a closed loop with a motor, a thruster and an interaction with an input."""
    s = four_bar(damping=0.1)
    s.add_actuator(tt.Motor("motor", "q1", gear=2.0))
    s.add_actuator(tt.Force("push", s["coupler"], frame="world"))
    s.close_loop("world", s["rocker"], tt.Cable("rope", stiffness=20.0, length=0.1))
    s.add_sensor(tt.ReactionSensor("load_cell", "q2"))
    return s
