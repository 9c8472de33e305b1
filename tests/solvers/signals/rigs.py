"""Systems with signals of every kind."""

from __future__ import annotations

import titop as tt
from examples.compiled_block import Telescope
from examples.custom_block import ConstantCurvatureSegment
from titop.solvers.signals import grammar
from titop.solvers.signals.grammar import Role


class Boom(Telescope):
    """A telescope that says in which unit it slides."""

    units = ("m", "m")


def rig() -> tt.System:
    """Return blocks of users, one with coordinates in metres and one in radians, driven, read, geared and limited."""
    s = tt.System("rig", gravity=[0, 0, -9.81])
    boom, segment = Boom("boom", spring=300.0, damping=0.1), ConstantCurvatureSegment("segment", 0.6, 0.05, 120.0, 50.0, 0.1)
    tip = tt.RigidBody("tip", 0.2, com=[0.1, 0, 0], inertia=0.01, ports={"E": [0.2, 0, 0]})
    s.connect("world", boom, tt.Prismatic("lift", axis=[0, 0, 1], stiffness=400.0))
    s.connect(boom.port("C"), segment, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=80.0))
    s.connect(segment.port("C"), tip, tt.Weld("weld"))
    s.add_actuator(tt.Motor("slide", "boom.extension"))
    s.add_actuator(tt.Motor("bender", "segment.bend"))
    s.add_sensor(tt.Encoder("length", "boom.extension"))
    s.add_sensor(tt.Tachometer("bending", "segment.bend"))
    s.add_sensor(tt.PoseSensor("pose", tip, "ZYX"))
    s.add_limits(tt.CoordinateLimits("buffer", "boom.extension", tt.Limits(upper=0.001, velocity=9.0, stiffness=0.0)))
    s.add_limits(tt.CoordinateLimits("stop", "segment.bend", tt.Limits(upper=0.001, stiffness=1.0)))
    return s


ROLES = {name: value for name, value in vars(grammar).items() if isinstance(value, Role)}
