"""Names that stand for one thing each, and full names of coordinates."""

from __future__ import annotations

import warnings

import pytest

import titop as tt
from tests.refusals import assert_says, refused
from tests.solvers.mechanism.soft_arms import soft_arm
from titop.graph.checking.targets import full_name, moving_blocks


def hung(body: tt.Block, joint: tt.Joint | None = None) -> tt.System:
    s = tt.System("hung")
    s.connect("world", body, joint or tt.Revolute("hinge", axis=[0, 1, 0]))
    return s


def test_nothing_else_is_gravity() -> None:
    assert_says(refused(hung(tt.RigidBody("gravity", 2.0, inertia=1.0))), "reserved-name", "gravity", "gravity.x, .y and .z")
    assert_says(refused(hung(tt.RigidBody("b", 2.0, inertia=1.0), tt.Revolute("gravity"))), "reserved-name", "gravity")


def test_a_port_named_like_a_parameter_is_suspicious() -> None:
    with pytest.warns(tt.ModelWarning, match=r"hub\.mass: got a port 'mass'.*ambiguous-name"):
        hung(tt.RigidBody("hub", 2.0, inertia=1.0, ports={"mass": [0, 1, 0]})).resolve()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hung(tt.RigidBody("hub", 2.0, inertia=1.0, ports={"top": [0, 1, 0]})).resolve()


@pytest.mark.parametrize(("joint", "coordinate"), [(tt.Spherical("j"), "j.rz"), (tt.Free("j"), "j.rx")])
def test_encoders_do_not_read_rotations_that_quaternions_hold(joint: tt.Joint, coordinate: str) -> None:
    s = hung(tt.RigidBody("b", 2.0, inertia=1.0), joint)
    s.add_sensor(tt.Encoder("encoder", coordinate))
    assert_says(refused(s), "not-a-position", "encoder.joint", "tt.PoseSensor")


def test_encoders_read_positions_of_free_bodies() -> None:
    s = hung(tt.RigidBody("b", 2.0, inertia=1.0), tt.Free("j"))
    s.add_sensor(tt.Encoder("encoder", "j.y"))
    assert s.resolve().outputs([0.1, 0.2, 0.3, 0, 0, 0, 1.0], [0.0] * 6, [0.0] * 6).tolist() == [0.2]


def test_joints_and_bodies_with_coordinates_may_be_named() -> None:
    s = soft_arm()
    found = moving_blocks(s)
    assert {*found} == {"shoulder", "wrist", "segment", "panel"}
    assert all(block.name == name for name, block in found.items())


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("shoulder", "shoulder.angle"),
        ("segment", "segment.bend"),
        ("segment.bend", "segment.bend"),
        ("panel", "panel"),  # has several
        ("wrist", "wrist"),  # has none
        ("elbow", "elbow"),
    ],
)
def test_the_only_coordinate_has_its_full_name(name: str, full: str) -> None:
    assert full_name(moving_blocks(soft_arm()), name) == full
