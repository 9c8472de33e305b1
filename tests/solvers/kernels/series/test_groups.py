"""What lower orders add behind spherical and free joints, as products of series of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import groups as spherical
from titop.solvers.kernels.series import rooms

Array = NDArray[np.float64]
ORDERS = 6
ROWS = (0, 0, 0, True)
SIX = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]
#: Sums of some tens of products of size ten.
ROUNDING = {"rtol": 0, "atol": 1e-12}
RNG = np.random.default_rng(0)
GROUPS, JOINTS = RNG.normal(size=(ORDERS, rooms.GROUP_COLUMNS)), RNG.normal(size=(ORDERS, rooms.JOINT_COLUMNS))
E = GROUPS[:, rooms.TURN : rooms.TURN + 9].reshape(-1, 3, 3)
SHIFTS, SPINS, PULLS = (GROUPS[:, at : at + 3] for at in (rooms.SHIFT, rooms.GROUP_OMEGA, rooms.GROUP_ACC))
FORCES, TORQUES = JOINTS[:, rooms.WRENCH : rooms.WRENCH + 3], JOINTS[:, rooms.WRENCH + 3 : rooms.WRENCH + 6]


def full(six: Array) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


SQUARES = np.array([full(row[rooms.GROUP_SPIN : rooms.GROUP_SPIN + 6]) for row in GROUPS])


@pytest.mark.parametrize("k", range(4))
def test_a_shift_adds_to_the_acceleration_of_its_end(k: int) -> None:
    """``S^2 s + de/dt x s`` but for the order k of ``S^2`` and of de/dt, which are not known yet; s begins at zero."""
    expected = sum(
        (SQUARES[j] @ SHIFTS[k - j] + (j + 1) * np.cross(SPINS[j + 1], SHIFTS[k - j]) for j in range(k)), np.zeros(3)
    )
    np.testing.assert_allclose(spherical.shifted_group(ROWS, k, GROUPS), expected, **ROUNDING)
    assert spherical.shifted_group((0, 0, 0, False), k, GROUPS) == (0.0, 0.0, 0.0)  # the world does not spin


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("free", [False, True])
def test_turns_carry_lower_orders_along(k: int, free: bool) -> None:
    """``d/dt(E^T e)`` and ``E^T y`` without the terms of order zero of E; a free joint's velocity turns along."""
    turning = (k + 1) * sum(E[j].T @ SPINS[k + 1 - j] for j in range(1, k + 2))
    shifting = sum((E[j].T @ PULLS[k - j] for j in range(1, k + 1)), np.zeros(3))
    rates, moved = RNG.normal(size=(ORDERS, 6)), RNG.normal(size=(ORDERS, rooms.MOTION_COLUMNS))
    if free:
        w = moved[:, rooms.OMEGA : rooms.OMEGA + 3]
        shifting = shifting + sum(np.cross(2 * w[j] - rates[j, 3:], rates[k - j, :3]) for j in range(k + 1))
    found = spherical.turning_group(free, 0, ROWS, k, rates, moved, GROUPS)
    np.testing.assert_allclose(found, [*shifting, *turning], **ROUNDING)


@pytest.mark.parametrize("k", range(4))
def test_wrenches_are_carried_to_the_first_frame(k: int) -> None:
    """``E F`` and ``E T + s x E F``, the force kept with the part that is known last."""
    groups = GROUPS.copy()
    force = [sum((E[j] @ FORCES[m - j] for j in range(1, m + 1)), np.zeros(3)) for m in range(k + 1)]
    whole = [force[m] + FORCES[m] for m in range(k + 1)]  # E begins with the identity
    for m in range(k):
        groups[m, rooms.FORCE : rooms.FORCE + 3] = whole[m]
    torque = sum((E[j] @ TORQUES[k - j] for j in range(1, k + 1)), np.zeros(3))
    torque = torque + sum((np.cross(SHIFTS[j], whole[k - j]) for j in range(1, k + 1)), np.zeros(3))
    found = spherical.group_wrench(True, ROWS, k, JOINTS, groups)
    np.testing.assert_allclose(found, [*force[k], *torque], **ROUNDING)
    spherical.keep_group_force(ROWS, k, JOINTS, groups)
    np.testing.assert_allclose(groups[k, rooms.FORCE : rooms.FORCE + 3], whole[k], **ROUNDING)


def test_squares_of_the_parents_spin_are_turned() -> None:
    turn = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    work, states, groups = np.zeros((1, 40)), RNG.normal(size=(1, rooms.STATE_COLUMNS)), np.zeros((1, rooms.GROUP_COLUMNS))
    work[0, layout.R : layout.R + 9] = turn.ravel()
    spherical.keep_group_spin(0, ROWS, 0, 0, work, states, groups)
    square = turn.T @ full(states[0, rooms.SPIN : rooms.SPIN + 6]) @ turn
    np.testing.assert_allclose(groups[0, rooms.GROUP_SPIN : rooms.GROUP_SPIN + 6], square[SIX], **ROUNDING)


def test_what_arrives_is_kept() -> None:
    groups = np.zeros((ORDERS, rooms.GROUP_COLUMNS))
    spherical.arrive_group(ROWS, 1, 0.5, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), groups)
    assert groups[1, rooms.GROUP_ACC : rooms.GROUP_ACC + 3].tolist() == [1, 2, 3]
    assert groups[2, rooms.GROUP_OMEGA : rooms.GROUP_OMEGA + 3].tolist() == [2, 2.5, 3]
