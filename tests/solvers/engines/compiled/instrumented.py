"""Systems with sensors of every kind."""

from __future__ import annotations

import numpy as np

import titop as tt
from examples.compiled_block import Telescope
from examples.custom_block import ConstantCurvatureSegment
from tests.actuated_systems import satellite
from tests.flexible import random_body, unit_beam
from tests.solvers.kernels.laws.belts import CompiledBelt

#: Bodies with coordinates of their own: flexible, compiled by users, and in Python.
KINDS = {
    "beam": lambda: unit_beam("boom", modes=2, damping_ratio=0.02),
    "panel": lambda: random_body(np.random.default_rng(1), "boom", ports=1),
    "compiled": lambda: Telescope("boom", damping=0.3),
    "python": lambda: ConstantCurvatureSegment("boom", stiffness=2.0, damping=0.1),
}


def instrumented(kind: str, belt: type[tt.Interaction] = CompiledBelt) -> tt.System:
    """Return a satellite with an appendage of a kind, springs and a cable between ports, all actuators and all sensors."""
    s = satellite()
    hub, arm, boom = s["hub"], s["arm"], KINDS[kind]()
    hub.add_port("mount", tt.Pose([0, -0.6, 0.1], [[0, 0, 1], [1, 0, 0], [0, 1, 0]]))
    s.connect(hub.port("mount"), boom, tt.Revolute("root", axis=[0, 1, 1], stiffness=1.5, damping=0.2))
    tip = tt.RigidBody("bob", 0.4, [0, 0.05, 0], [0.01, 0.02, 0.02], ports={"eye": [0, 0.1, 0]})
    end = boom.ports[0]
    s.connect(boom.port(end), tip, tt.Spherical("ball", stiffness=np.diag([0.3, 0.2, 0.1]), damping=0.01 * np.eye(3)))
    s.close_loop(arm.port("tip"), tip.port("eye"), tt.SpringDamper("strap", stiffness=3.0, damping=0.4, length=0.5))
    s.add_interaction(belt("belt", 2.0, 0.3), hub, boom.port(end), "elbow.first", "root")
    s.add_load(tt.Load("breeze", boom.port(end), force=[0.1, 0.2, -0.1], frame="world"))
    s.add_actuator(tt.Force("jet", boom.port(end), frame="world"))
    for sensor in (
        tt.Accelerometer("end_accelerometer", boom.port(end)),
        tt.PoseSensor("end_pose", boom.port(end), sequence="ZXZ"),
        tt.ReactionSensor("root_cell", "root"),
        tt.ReactionSensor("ball_cell", "ball"),
        tt.ReactionSensor("strap_cell", "strap"),
    ):
        s.add_sensor(sensor)
    return s
