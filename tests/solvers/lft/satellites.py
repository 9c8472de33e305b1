"""Satellites for the tests of robustness: a free hub with two flexible panels on sprung drives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import titop as tt


def panel(name: str, modes: int = 4) -> tt.FlexibleBody:
    """Return a panel along x: bending out of plane and in plane, and torsion."""
    frequencies = np.array([2.0, 5.5, 9.0, 14.0])[:modes]
    participation = np.array(
        [
            [0.0, 0.0, 3.5, 0.0, -9.0, 0.0],
            [0.0, 2.8, 0.0, 0.0, 0.0, 7.0],
            [0.0, 0.0, 0.3, 1.5, -0.5, 0.0],
            [0.0, 0.0, 1.4, 0.0, -1.6, 0.2],
        ]
    )[:modes]
    return tt.FlexibleBody(
        name,
        mass=25.0,
        com=[2.4, 0.0, 0.1],
        inertia=[9.0, 52.0, 60.0],
        frequencies=frequencies,
        participation=participation,
        damping_ratios=0.01,
        ports={"tip": [5.0, 0.0, 0.0]},
        shapes={"tip": np.vstack([np.zeros((2, modes)), [[0.4, 0.0, 0.1, 0.3][:modes]], np.zeros((3, modes))])},
    )


def satellite(gravity: Sequence[float] = (0.0, 0.0, 0.0), modes: int = 4, symmetric: bool = False) -> tt.Model:
    """Return the satellite: 6 coordinates of the hub, two drives' and the panels' modes."""
    s = tt.System("satellite", gravity=gravity)
    hub = tt.RigidBody(
        "hub",
        mass=200.0,
        com=[0.0, 0.0, 0.1] if symmetric else [0.05, -0.02, 0.1],
        inertia=[120.0, 140.0, 160.0] if symmetric else [[120.0, 2.0, -1.0], [2.0, 140.0, 3.0], [-1.0, 3.0, 160.0]],
        ports={"right": [1.0, 0.0, 0.2], "left": tt.Pose([-1.0, 0.0, 0.2], np.diag([-1.0, -1.0, 1.0])), "imu": [0.1, 0.3, 0.0]},
    )
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        drive = tt.Revolute(f"sada_{side}", axis=[sign, 0, 0], stiffness=400.0, damping=0.8)
        s.connect(hub.port(side), panel(f"panel_{side}", modes), joint=drive)
    s.add_actuator(tt.Torque("wheels", hub.port("imu")))
    s.add_sensor(tt.Gyro("gyro", hub.port("imu")))
    return s.resolve()


#: What the satellite is driven by, and what is read of it.
INPUTS, OUTPUTS = ("wheels", "hub.imu.F"), ("hub.imu.w", "hub.imu.dv", "base.q")


#: Names for both panels.
def tied(name: str) -> tuple[str, str]:
    """Return a name for both sides: ``"panel_*.mass"``."""
    return name.replace("*", "right"), name.replace("*", "left")


def still(m: tt.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the neutral configuration at rest."""
    return m.neutral(), np.zeros(m.nv), np.zeros(m.nv)


def arm() -> tt.Model:
    """Return an arm of two revolute joints and a slide under gravity and loads, with a motor and an accelerometer."""
    s = tt.System("arm", gravity=[0.3, -0.4, -9.81])
    first = tt.RigidBody(
        "b1",
        mass=3.0,
        com=[0.1, 0.2, 0.3],
        inertia=[[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]],
        ports={"C": [0.3, 0.1, 0.8], "T": [0.1, 0.1, 0.1]},
    )
    second = tt.RigidBody(
        "b2", mass=2.0, com=[0.3, 0.05, 0.1], inertia=[0.1, 0.2, 0.25], ports={"C": [0.5, 0, 0.1], "in": [0.02, 0.03, 0.01]}
    )
    third = tt.RigidBody("b3", mass=1.0, com=[0.2, 0.0, 0.1], inertia=[0.02, 0.05, 0.04], ports={"E": [0.4, 0, 0]})
    turn = tt.Revolute("j1", axis=[0.2, 1, 0.1], stiffness=40.0, damping=1.0, armature=0.1)
    s.connect("world", first, joint=turn, placement=tt.Pose([0.1, 0, 0.2]))
    s.connect(first.port("C"), second.port("in"), joint=tt.Revolute("j2", axis=[0, 1, 0.3], stiffness=20.0, damping=0.5))
    s.connect(second.port("C"), third, joint=tt.Prismatic("j3", axis=[1, 0, 0.2], stiffness=300.0, damping=2.0))
    s.add_actuator(tt.Motor("mot", "j1", gear=3.0, rotor_inertia=0.02))
    s.add_actuator(tt.Force("f", third.port("E"), direction=[0, 1, 1], frame="world"))
    s.add_load(tt.Load("wind", second.port("C"), force=[3.0, 1.0, 2.0], frame="world"))
    s.add_load(tt.Load("jet", third.port("E"), force=[1.0, -1.0, 2.0], torque=[0.1, 0.2, 0.3], frame="port"))
    s.add_sensor(tt.Accelerometer("acc", third.port("E")))
    return s.resolve()


def bent(m: tt.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a configuration of the arm, held there."""
    q, v = np.array([0.4, -0.7, 0.15]), np.zeros(3)
    return q, v, m.inverse_dynamics(q, v, v)
