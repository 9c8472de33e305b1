"""Targets of motors, sensors and gears: what names no coordinate, or the same one twice, is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, refused
from tests.solvers.mechanism.soft_arms import BEND, driven_arm, geared_arm, soft_arm


@pytest.mark.parametrize(
    ("acting", "code", "where", "words"),
    [
        (tt.Motor("m", "pannel.mode1"), "unknown-joint", "m.joint", "did you mean 'panel'?"),
        (tt.Motor("m", "panel"), "several-coordinates", "m.joint", "'panel.mode1'"),
        (tt.Motor("m", "panel.mode4"), "unknown-coordinate", "m.joint", "a coordinate of the block"),
        (tt.Motor("m", "segment", rotor_inertia=0.1), "no-armature", "m.rotor_inertia", "mass matrix of 'segment'"),
        (tt.Motor("m", "tip"), "unknown-joint", "m.joint", "or a block with coordinates"),
        (tt.Encoder("e", "segment.bent"), "unknown-coordinate", "e.joint", "did you mean 'segment.bend'?"),
        (tt.ReactionSensor("r", "segment"), "unknown-joint", "r.joint", "a joint of the system"),
        (tt.Gear("g", "segment", "segment.bend"), "self-connection", "g", "two different coordinates"),
        (tt.Gear("g", "panel", "segment"), "several-coordinates", "g.driver", "'panel.mode1'"),
    ],
)
def test_what_is_no_target_is_refused_by_name(acting: tt.Block, code: str, where: str, words: str) -> None:
    s = soft_arm()
    s.connect(s["panel"].port("C0"), tt.RigidBody("tip", 1.0, inertia=0.1), tt.Weld("bracket"))
    add = {tt.Motor: s.add_actuator, tt.Gear: s.add_gear}.get(type(acting), s.add_sensor)
    add(acting)  # type: ignore[operator]
    assert_says(refused(s), code, where, words)


def test_circles_and_contradictions_of_gears_on_own_coordinates_are_seen() -> None:
    s = geared_arm()
    s.add_gear(tt.Gear("back", driver="panel.mode1", driven="shoulder"))
    assert_says(refused(s), "gear-cycle", "panel.mode1", "segment.bend and shoulder.angle")
    s = geared_arm()
    s.add_gear(tt.Gear("again", driver="shoulder", driven="segment.bend", ratio=BEND, offset=0.0))
    assert_says(refused(s), "gears-contradict", "again")


def test_a_rotor_that_no_joint_bears_is_refused_later_too() -> None:
    model = driven_arm().resolve()
    assert "bender.gear" in model.parameters()
    assert "bender.rotor_inertia" not in model.parameters()
    q, v = model.neutral(), np.zeros(model.nv)
    assert model.forward_dynamics_sensitivities(q, v, v, list(model.parameters())).keys() == model.parameters().keys()
    with pytest.raises(tt.ModelError, match=r"bender\.rotor_inertia.*no-armature"):
        model.with_parameters({"bender.rotor_inertia": 0.1})
