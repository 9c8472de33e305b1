"""Contact of a sphere with a plane: Coulomb's friction, and no pull."""

from __future__ import annotations

import numpy as np

import titop as tt


def test_friction_is_coulombs_where_the_sphere_slides_and_none_where_it_rolls() -> None:
    contact = tt.Contact("ground", radius=0.5, stiffness=1e3, friction=0.4, slip_velocity=1e-6)
    R, r = np.eye(3), np.array([0.0, 0.0, 0.46])
    normal = 1e3 * 0.04**1.5
    sliding = contact.wrenches(R, r, np.zeros(6), np.array([3.0, 0, 0, 0, 0, 0]))[1]
    np.testing.assert_allclose(sliding, [-0.4 * normal, 0, normal, 0, 0.4 * normal * 0.46, 0], rtol=1e-9, atol=1e-12)
    rolling = contact.wrenches(R, r, np.zeros(6), np.array([3.0, 0, 0, 0, 3.0 / 0.46, 0]))[1]
    np.testing.assert_allclose(rolling, [0, 0, normal, 0, 0, 0], rtol=0, atol=1e-8)


def test_a_plane_never_pulls() -> None:
    contact = tt.Contact("mud", radius=0.5, stiffness=1e3, dissipation=10.0)
    leaving = contact.wrenches(np.eye(3), np.array([0, 0, 0.49]), np.zeros(6), np.array([0, 0, 5.0, 0, 0, 0]))
    assert not np.any(leaving)
    assert not np.any(contact.wrenches(np.eye(3), np.array([0, 0, 0.51]), np.zeros(6), np.zeros(6)))
