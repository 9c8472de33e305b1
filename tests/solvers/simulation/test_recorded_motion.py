"""Configurations between those that were recorded."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

import titop as tt
from titop.solvers.simulation.recorded_motion import RecordedMotion, configurations


def recorded(times: list[float], turns: Rotation) -> RecordedMotion:
    """Return a free body that goes along x and turns."""
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), tt.Spherical("ball"))
    s.connect(s["b"], tt.RigidBody("c", 1.0, inertia=1.0), tt.Prismatic("slide"))
    t = np.array(times)
    q = np.column_stack([turns.as_quat(), t**2])
    rest = np.zeros((len(t), 4))
    return RecordedMotion(s.resolve("reference"), t, q, rest, rest, rest)


TURNS = Rotation.from_rotvec([[0, 0, 0], [0.3, -0.7, 0.2], [1.5, 0.4, 2.0]])


def test_turns_go_the_shortest_way_and_slides_straight() -> None:
    motion, times = recorded([0.0, 1.0, 3.0], TURNS), np.array([0.0, 0.25, 1.0, 1.5, 3.0])
    found = configurations(motion, times)
    between = Slerp([0.0, 1.0, 3.0], TURNS)(times)
    assert (Rotation.from_quat(found[:, :4]) * between.inv()).magnitude().max() < 1e-14
    np.testing.assert_allclose(found[:, 4], np.interp(times, [0.0, 1.0, 3.0], [0.0, 1.0, 9.0]), rtol=1e-15)


def test_a_single_state_stays() -> None:
    motion = recorded([2.0], TURNS[:1])
    np.testing.assert_array_equal(configurations(motion, np.array([2.0])), motion.q)


def test_sensors_read_what_was_recorded() -> None:
    s = tt.System("s", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("b", 2.0, inertia=1.0), tt.Prismatic("slide"))
    s.add_sensor(tt.Encoder("ruler", "slide"))
    q = np.array([[0.1], [0.4]])
    motion = RecordedMotion(s.resolve("reference"), np.array([0.0, 1.0]), q, 0 * q, 0 * q, 0 * q)
    np.testing.assert_array_equal(motion.outputs()[:, 0], q[:, 0])
