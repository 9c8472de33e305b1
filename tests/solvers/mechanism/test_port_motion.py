"""Euler angles of all sequences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.pose import euler_angles
from titop.solvers.mechanism.port_motion import continuous_angles


@pytest.mark.filterwarnings("ignore:.*gimbal-lock")
@pytest.mark.parametrize("sequence", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ"])
def test_euler_angles_of_all_sequences(sequence) -> None:
    """Both engines beside scipy's; in the lock both engines, which let the third angle be zero there."""
    s = tt.System("body")
    s.connect("world", tt.RigidBody("body", 1.0, inertia=[1, 1, 1]), tt.Spherical("ball"))
    model, reference, still = s.resolve(), s.resolve("reference"), np.zeros(3)
    for q in np.random.default_rng(0).normal(size=(5, 4)):
        q /= np.linalg.norm(q)
        angles = model.motion("body", q, still, still, sequence)[15:]
        np.testing.assert_allclose(angles, Rotation.from_quat(q).as_euler(sequence), atol=1e-12)
        np.testing.assert_allclose(angles, reference.motion("body", q, still, still, sequence)[15:], atol=1e-13)
    lock = Rotation.from_euler(sequence, [0.3, 0.5 * np.pi if sequence[0] != sequence[2] else 0.0, 0.4]).as_quat()
    found, expected = (each.motion("body", lock, still, still, sequence)[15:] for each in (model, reference))
    np.testing.assert_allclose(found, expected, atol=1e-7)  # half of the digits are lost there
    assert found[2] == 0.0


@pytest.mark.parametrize("sequence", ["XYZ", "ZYX", "YXZ", "ZXZ", "XYX"])
def test_angles_over_time_are_continuous(sequence: str) -> None:
    """All three turn several times: the angles come back, but for whole turns, and the other triple that may hold all along."""
    t = np.linspace(0, 1, 4001)[:, None]
    angles = np.array([0.3, 0.7, -0.4]) + t * [9.0, 23.0, -14.0]
    principal = np.array([euler_angles(Rotation.from_euler(sequence, row).as_matrix(), sequence) for row in angles])
    found = continuous_angles(principal, sequence)
    assert np.ptp(found - angles, axis=0) == pytest.approx(np.zeros(3), abs=1e-6)
    assert np.abs(np.diff(principal, axis=0)).max() > 3
    assert continuous_angles(principal[:0], sequence).shape == (0, 3)


@pytest.mark.filterwarnings("ignore:.*gimbal-lock")
def test_angles_of_a_trajectory_follow_a_pendulum_that_turns_over() -> None:
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    run = tt.simulate(s.resolve(), np.linspace(0, 2, 501), [0.0], [9.0], progress=False)
    assert run.q[-1, 0] > 2 * np.pi
    assert run.motion("bob")[:, 16] == pytest.approx(run.q[:, 0], abs=1e-7)
    assert run.motion("bob")[:, [15, 17]] == pytest.approx(0.0, abs=1e-7)
