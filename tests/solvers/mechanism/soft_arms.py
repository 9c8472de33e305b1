"""Arms that bend: a soft segment and a modal panel whose own coordinates are driven, read and geared."""

from __future__ import annotations

import numpy as np

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.flexible import random_body

#: Of the geared arm: how far the segment bends, and the panel's mode moves, a radian of the shoulder.
BEND, SWAY, OFFSET = -0.5, 0.2, 0.1


def soft_arm() -> tt.System:
    """Return a soft segment with a modal panel at its tip, on a hinge."""
    s = tt.System("soft arm", gravity=[0, 0, -9.81])
    segment = ConstantCurvatureSegment("segment", 0.6, 0.05, 120.0, stiffness=3.0, damping=0.1)
    s.connect("world", segment, joint=tt.Revolute("shoulder", axis=[0, 1, 0]))
    s.connect(segment.port("C"), random_body(np.random.default_rng(5)), joint=tt.Weld("wrist"))
    return s


def driven_arm() -> tt.System:
    s = soft_arm()
    s.add_actuator(tt.Motor("bender", s["segment"], gear=2.0))
    s.add_actuator(tt.Motor("shaker", "panel.mode2", gear=-3.0))
    s.add_actuator(tt.Motor("drive", "shoulder"))
    s.add_sensor(tt.Encoder("angle", "segment.bend"))
    s.add_sensor(tt.Tachometer("rate", "panel.mode3"))
    return s


def geared_arm() -> tt.System:
    s = soft_arm()
    s.add_gear(tt.Gear("tendon", driver="shoulder", driven="segment", ratio=BEND, offset=OFFSET))
    s.add_gear(tt.Gear("linkage", driver="segment.bend", driven="panel.mode1", ratio=SWAY / BEND))
    return s
