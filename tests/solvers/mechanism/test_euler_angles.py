"""Euler angles of all sequences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt


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
