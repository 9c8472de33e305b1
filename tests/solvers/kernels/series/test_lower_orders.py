"""What lower orders of a joint about and along z add, as products of series."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import motions, rooms

Array = NDArray[np.float64]
ORDERS, LINEAR = 6, 0.7
ROWS = (0, 0, -1, True)
JOINT = (layout.AXIAL, 0, LINEAR, 1.0)
#: Sums of some tens of products of size one.
ROUNDING = {"rtol": 0, "atol": 1e-13}
RNG = np.random.default_rng(0)
RATES, JOINTS = RNG.normal(size=(ORDERS, 1)), RNG.normal(size=(ORDERS, rooms.JOINT_COLUMNS))
MOTIONS, COLUMNS = RNG.normal(size=(ORDERS, rooms.MOTION_COLUMNS)), RNG.normal(size=(ORDERS, rooms.SHIFT_COLUMNS))
KEPT = rooms.Rooms(JOINTS, MOTIONS, None, COLUMNS, np.zeros((0, rooms.GROUP_COLUMNS)))
#: Turns about z of every order.
TURNS = np.array([[[row[rooms.COS], -row[rooms.SIN]], [row[rooms.SIN], row[rooms.COS]]] for row in JOINTS])
E, Y = MOTIONS[:, rooms.BASE_OMEGA : rooms.BASE_OMEGA + 2], MOTIONS[:, rooms.BASE_ACC : rooms.BASE_ACC + 2]


def shift(k: int) -> float:
    """Return order k > 0 of a shift whose rates are given."""
    return float(LINEAR * RATES[k - 1, 0] / k)


def test_symmetric_matrices_stand_in_six_numbers() -> None:
    row, vector = RNG.normal(size=(1, 8)), RNG.normal(size=3)
    xx, yy, zz, xy, xz, yz = row[0, 2:]
    expected = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ vector
    np.testing.assert_allclose(motions.symmetric_times(row, 0, 2, *vector), expected, **ROUNDING)
    assert motions.plus3((1, 2, 3), (10, 20, 30, 40, 50, 60)) == (11, 22, 33, 40, 50, 60)


@pytest.mark.parametrize("k", range(4))
def test_turns_carry_lower_orders_along(k: int) -> None:
    """``E^T y`` without its first term, and the rate of ``E^T e`` without the last order of e."""
    shifting = sum((TURNS[j].T @ Y[k - j] for j in range(1, k + 1)), np.zeros(2))
    turning = (k + 1) * sum(TURNS[j].T @ E[k + 1 - j] for j in range(1, k + 2))
    found = motions.turning(JOINT, ROWS, k, RATES, KEPT)
    np.testing.assert_allclose(found[:2], shifting, **ROUNDING)
    np.testing.assert_allclose(found[3:5], turning, **ROUNDING)
    assert (found[2], found[5]) == (0.0, 0.0)
    still = motions.turning((layout.AXIAL, 0, LINEAR, 0.0), ROWS, k, RATES, KEPT)
    assert still == (0.0,) * 6


@pytest.mark.parametrize("k", range(4))
def test_a_shift_along_z_adds_to_the_acceleration_of_its_end(k: int) -> None:
    """``s (S^2 z + de/dt x z) + 2 ds/dt e x z``, without the orders that are not known yet."""
    expected = sum((shift(k - j) * COLUMNS[j, rooms.COLUMN : rooms.COLUMN + 3] for j in range(k)), np.zeros(3))
    for j in range(k + 1):
        expected = expected + 2 * LINEAR * RATES[k - j, 0] * np.cross([*E[j], 0.0], [0.0, 0.0, 1.0])
    np.testing.assert_allclose(motions.shifted(JOINT, ROWS, k, RATES, KEPT), expected, **ROUNDING)
    assert motions.shifted((layout.AXIAL, 0, 0.0, 1.0), ROWS, k, RATES, KEPT) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("k", range(4))
def test_wrenches_are_carried_to_the_first_frame(k: int) -> None:
    """``E F`` and ``E T + s z x E F``, the force kept with the part that is known last."""
    F, T = (JOINTS[:, rooms.WRENCH + at : rooms.WRENCH + at + 2] for at in (0, 3))
    columns, whole = COLUMNS.copy(), []
    kept = KEPT._replace(shifts=columns)
    for m in range(k + 1):
        force = sum((TURNS[j] @ F[m - j] for j in range(1, m + 1)), np.zeros(2))
        torque = sum((TURNS[j] @ T[m - j] for j in range(1, m + 1)), np.zeros(2))
        for j in range(1, m + 1):
            torque = torque + np.cross([0.0, 0.0, shift(j)], [*whole[m - j], 0.0])[:2]
        found = motions.turning_wrench(JOINT, ROWS, m, RATES, kept)
        np.testing.assert_allclose(found, [*force, 0.0, *torque, 0.0], **ROUNDING)
        motions.keep_force(JOINT, ROWS, m, kept)
        whole.append(force + F[m])
        np.testing.assert_allclose(columns[m, rooms.TURNED : rooms.TURNED + 2], whole[m], **ROUNDING)
