"""Derivatives in any causality from those of inverse dynamics, against the implicit equations solved for random changes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.constraints.closed_derivatives import hybrid_derivatives

N = 5
PRESCRIBED = np.array([False, True, False, False, True])


def inverse() -> Array:
    """Return derivatives of inverse dynamics by q, v and a, the last one symmetric and definite."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(N, N))
    return np.array([*rng.normal(size=(2, N, N)), root @ root.T + np.eye(N)])


@pytest.mark.parametrize("constraints", [0, 2])
def test_changes_fulfil_the_equations_of_motion(constraints: int) -> None:
    """For any change of what is given: efforts are those of inverse dynamics less ``J^T l``, and ``J a + bias`` stays zero."""
    rng = np.random.default_rng(1)
    by_q, by_v, mass = inverse()
    J, E_q, E_v = rng.normal(size=(3, constraints, N))
    found = hybrid_derivatives(inverse(), PRESCRIBED, (J, E_q, E_v))
    dq, dv = rng.normal(size=(2, N))
    dtau, da = np.where(PRESCRIBED, 0.0, rng.normal(size=N)), np.where(PRESCRIBED, rng.normal(size=N), 0.0)
    moved = found.da_dq @ dq + found.da_dv @ dv + found.da_dtau @ dtau + found.da_da @ da
    efforts = found.dtau_dq @ dq + found.dtau_dv @ dv + found.dtau_dtau @ dtau + found.dtau_da @ da
    np.testing.assert_allclose(moved[PRESCRIBED], da[PRESCRIBED], **ROUNDING)
    np.testing.assert_allclose(efforts[~PRESCRIBED], dtau[~PRESCRIBED], **ROUNDING)
    np.testing.assert_allclose(J @ moved, -E_q @ dq - E_v @ dv, **ROUNDING)
    carried = by_q @ dq + by_v @ dv + mass @ moved - efforts
    multipliers = np.linalg.lstsq(J.T, carried, rcond=None)[0] if constraints else np.zeros(0)
    np.testing.assert_allclose(J.T @ multipliers, carried, **ROUNDING)


def test_nothing_prescribed_is_forward_dynamics_and_all_is_inverse() -> None:
    by_q, by_v, mass = inverse()
    forward, given = (
        hybrid_derivatives(inverse(), mask, tuple(np.zeros((3, 0, N))))
        for mask in (np.zeros(N, dtype=bool), np.ones(N, dtype=bool))
    )
    np.testing.assert_allclose(forward.da_dtau, np.linalg.inv(mass), **ROUNDING)
    np.testing.assert_allclose(forward.da_dq, -np.linalg.solve(mass, by_q), **ROUNDING)
    assert not forward.da_da.any()
    for found, expected in zip((given.dtau_dq, given.dtau_dv, given.dtau_da), (by_q, by_v, mass), strict=True):
        np.testing.assert_allclose(found, expected, **ROUNDING)
    assert not given.dtau_dtau.any()
