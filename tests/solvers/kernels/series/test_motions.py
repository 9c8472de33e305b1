"""Motions of elements order by order: the square of spins as a product of series, and what bodies take because they spin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import motions, rooms

Array = NDArray[np.float64]
ORDERS = 5
#: Sums of some tens of products of size one.
ROUNDING = {"rtol": 0, "atol": 1e-13}


def full(six: Array) -> Array:
    """Return the matrix of xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def cross_matrix(w: Array) -> Array:
    return np.cross(np.eye(3), -w)


def test_the_square_of_a_spin_is_a_product_of_series() -> None:
    rng = np.random.default_rng(0)
    moved, states = np.zeros((ORDERS, rooms.MOTION_COLUMNS)), np.zeros((ORDERS, rooms.STATE_COLUMNS))
    moved[:, rooms.OMEGA : rooms.OMEGA + 3] = spins = rng.normal(size=(ORDERS, 3))
    joints, groups = np.zeros((ORDERS + 1, rooms.JOINT_COLUMNS)), np.zeros((0, rooms.GROUP_COLUMNS))
    for k in range(ORDERS):
        joint = (layout.AXIAL, 0, 0.0, 0.0)
        kept = rooms.Rooms(joints, moved, states, None, groups)
        motions.turn_and_spin(joint, (0, 0, 0, True), k, 1 / (k + 1), k, np.zeros((ORDERS, 1)), kept)
    for k in range(ORDERS):
        product = sum(cross_matrix(spins[j]) @ cross_matrix(spins[k - j]) for j in range(k + 1))
        np.testing.assert_allclose(full(states[k, rooms.SPIN : rooms.SPIN + 6]), product, **ROUNDING)


def test_spinning_bodies_take_a_wrench() -> None:
    """``w x (w x c)`` and ``w x J w``, from ``S^2`` alone."""
    rng = np.random.default_rng(1)
    floats, states = np.zeros((1, 60)), np.zeros((1, rooms.STATE_COLUMNS))
    spin, moment, inertia = rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
    floats[0, layout.MOMENT : layout.MOMENT + 3], floats[0, layout.INERTIA : layout.INERTIA + 6] = moment, inertia
    square = cross_matrix(spin) @ cross_matrix(spin)
    states[0, rooms.SPIN : rooms.SPIN + 6] = square[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    found = motions.spin_wrench(floats, 0, 0, states)
    expected = [*np.cross(spin, np.cross(spin, moment)), *np.cross(spin, full(inertia) @ spin)]
    np.testing.assert_allclose(found, expected, **ROUNDING)


def test_the_world_rests_and_gravity_pulls() -> None:
    floats = np.zeros((1, 60))
    floats[0, layout.GRAVITY : layout.GRAVITY + 3] = 1.0, 2.0, 3.0
    for several in (False, True):
        moved, states = np.full((ORDERS, rooms.MOTION_COLUMNS), np.nan), np.full((ORDERS, rooms.STATE_COLUMNS), np.nan)
        motions.start_world(floats, ORDERS, rooms.Rooms(None, moved, states, None, None), several)
        assert not moved.any()
        assert states[0].tolist() == [-1.0, -2.0, -3.0, *[0.0] * (rooms.STATE_COLUMNS - 3)]
        assert np.isnan(states[1:]).all() != several


def test_accelerations_are_kept_with_the_next_spin() -> None:
    moved, states = np.zeros((ORDERS, rooms.MOTION_COLUMNS)), np.zeros((ORDERS, rooms.STATE_COLUMNS))
    kept = rooms.Rooms(None, moved, states, None, None)
    motions.put_acceleration((0, 0, 0, True), 1, 0.5, 1, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), kept)
    assert states[1, rooms.ACC : rooms.ACC + 6].tolist() == [1, 2, 3, 4, 5, 6]
    assert moved[2, rooms.OMEGA : rooms.OMEGA + 3].tolist() == [2.0, 2.5, 3.0]
