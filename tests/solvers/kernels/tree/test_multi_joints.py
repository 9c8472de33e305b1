"""Eliminating the coordinates of spherical and free joints, against NumPy's dense solutions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.systems import Array
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree import multi_joints

#: Rounding times the condition of the inertia, below 1e3.
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


@pytest.mark.parametrize(("first", "count"), [(3, 3), (0, 6)], ids=["spherical", "free"])
@pytest.mark.parametrize("imposed", [0b000, 0b010, 0b111])
def test_what_is_left_and_restored_solves_the_equations(first: int, count: int, imposed: int) -> None:
    """``M (X + S y) + h = W`` and ``S^T W + armature y = tau``, X the acceleration with which the joint is carried."""
    rng = np.random.default_rng(first + imposed)
    floats, multi = np.zeros(layout.FLOAT_COLUMNS), np.zeros(layout.MULTI_COLUMNS)
    armature, (h, x), root = rng.uniform(0.1, 0.5, count), rng.normal(size=(2, 6)), rng.normal(size=(6, 6))
    inertia, (y, tau), carried = root @ root.T + np.eye(6), rng.normal(size=(2, count)), np.ones(2)
    floats[layout.ARMATURE : layout.ARMATURE + count], floats[layout.ROUNDING] = armature, 1e-14
    multi[layout.FULL : layout.FULL + 36], multi[layout.FULL_P : layout.FULL_P + 6] = inertia.ravel(), h
    held = np.array([(imposed >> j) & 1 == 1 for j in range(count)])
    subspace, free = np.eye(6)[:, first : first + count], np.flatnonzero(~held)
    inner = subspace.T @ inertia @ subspace + np.diag(armature)
    moved, expected = subspace.T @ (inertia @ x + h), y.copy()
    expected[free] = np.linalg.solve(inner[np.ix_(free, free)], (tau - moved - inner[:, held] @ y[held])[free])
    whole = x + subspace @ expected

    given = first, count, imposed, *(each.ctypes.data for each in (floats, y, tau, multi))
    assert multi_joints.elimination(*given, carried.ctypes.data) == layout.OK
    left, bias = multi[layout.FULL :][:36].reshape(6, 6), multi[layout.FULL_P :][:6].copy()
    np.testing.assert_allclose(left @ x + bias, inertia @ whole + h, **CLOSE)
    multi[layout.FULL_P : layout.FULL_P + 6] = x
    assert multi_joints.restoration(*given) == layout.OK
    np.testing.assert_allclose(y, expected, **CLOSE)
    np.testing.assert_allclose(tau[held], (moved + inner @ expected)[held], **CLOSE)
    np.testing.assert_allclose(multi[layout.FULL_P :][:6], whole, **CLOSE)


def test_coordinates_that_move_nothing_stop_elimination() -> None:
    """About axes a pivot counts beside what turns, along them beside the mass."""
    for axis, moved in ((0, [1.0, 1e30]), (5, [1e30, 1.0])):
        refused = np.diag(np.where(np.arange(6) == axis, 1e-15, 1.0))
        multi, floats = np.zeros(layout.MULTI_COLUMNS), np.zeros(layout.FLOAT_COLUMNS)
        multi[layout.FULL : layout.FULL + 36], floats[layout.ROUNDING] = refused.ravel(), 1e-14
        rooms = (floats, np.zeros(6), np.zeros(6), multi, np.array(moved))
        sound = status(axis, rooms, np.eye(6))
        assert status(axis, rooms, refused) != layout.OK
        assert sound == layout.OK


def status(axis: int, rooms: tuple[Array, ...], inertia: Array) -> int:
    """Return the status of eliminating one coordinate."""
    rooms[3][layout.FULL : layout.FULL + 36] = inertia.ravel()
    return multi_joints.elimination(axis, 1, 0, *(room.ctypes.data for room in rooms))
