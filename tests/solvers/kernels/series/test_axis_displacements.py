"""What joints turn and shift by, against closed forms of steady motions."""

from __future__ import annotations

import numpy as np

from tests.systems import Array
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import groups as spherical
from titop.solvers.kernels.series import rooms

ORDERS, T = 16, 0.1

#: The rest of a series of 16 terms, of motions by less than a unit.
TRUNCATED = 1e-13


def summed(coefficients: Array) -> Array:
    """Return a series at the time T."""
    found: Array = np.tensordot(T ** np.arange(len(coefficients)), coefficients, 1)
    return found


def test_cosine_and_sine_of_an_angle_that_accelerates() -> None:
    """``q = 0.4 t + 1.5 t^2`` with two radians a unit."""
    rates, joints, groups = np.zeros((ORDERS, 1)), np.zeros((ORDERS, rooms.JOINT_COLUMNS)), np.zeros((0, rooms.GROUP_COLUMNS))
    rates[:2, 0] = 0.4, 3.0
    for k in range(ORDERS):
        spherical.turn_on((layout.AXIAL, 0, 0.0, 2.0), (0, 0, 0, True), k, 1.0 / max(k, 1), rates, joints, groups)
    angle = 2.0 * (0.4 * T + 1.5 * T**2)
    expected = [np.cos(angle), np.sin(angle)]
    np.testing.assert_allclose(summed(joints)[[rooms.COS, rooms.SIN]], expected, rtol=0, atol=TRUNCATED)
    assert spherical.shift_of(0.5, 0, 2, rates) == 0.5 * 1.5
