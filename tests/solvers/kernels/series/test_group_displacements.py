"""Turns and shifts of spherical and free joints, against closed forms of steady motions and products of series."""

from __future__ import annotations

from math import factorial

import numpy as np
from scipy.spatial.transform import Rotation

from tests.solvers.kernels.series.test_axis_displacements import ORDERS, TRUNCATED, T, summed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import groups as spherical
from titop.solvers.kernels.series import rooms


def test_turn_and_shift_of_a_free_joint_that_moves_steadily() -> None:
    """A twist that stays turns by its exponential; the way is the integral of the turned velocity."""
    twist = np.array([0.3, -0.8, 0.5, 1.1, -0.4, 0.9])
    rates, joints, groups = np.zeros((ORDERS, 6)), np.zeros((0, 8)), np.zeros((ORDERS, rooms.GROUP_COLUMNS))
    rates[0] = twist
    for k in range(ORDERS):
        spherical.turn_on((layout.FREE, 0, 0.0, 0.0), (0, 0, 0, True), k, 1.0 / max(k, 1), rates, joints, groups)
    turn = Rotation.from_rotvec(twist[3:] * T).as_matrix()
    np.testing.assert_allclose(summed(groups)[rooms.TURN : rooms.TURN + 9].reshape(3, 3), turn, rtol=0, atol=TRUNCATED)
    skew = np.cross(np.eye(3), twist[3:])
    way = sum(T ** (k + 1) / factorial(k + 1) * np.linalg.matrix_power(skew, k) for k in range(25)) @ twist[:3]
    np.testing.assert_allclose(summed(groups)[rooms.SHIFT : rooms.SHIFT + 3], way, rtol=0, atol=TRUNCATED)


def test_vectors_turned_and_turned_back() -> None:
    """Products of series are series of products, but for the term that comes first."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(4, rooms.GROUP_COLUMNS))
    E, x = groups[:, :9].reshape(-1, 3, 3), groups[:, rooms.FORCE : rooms.FORCE + 3]
    back = sum(E[j].T @ x[3 - j] for j in (1, 2))
    np.testing.assert_allclose(spherical.turned_back(groups, 0, 1, 3, 3, rooms.FORCE), back, rtol=1e-14)
    out = sum(E[j] @ x[3 - j] for j in (1, 2, 3))
    np.testing.assert_allclose(spherical.turned(groups, 0, 3, groups, 0, rooms.FORCE), out, rtol=1e-14)
