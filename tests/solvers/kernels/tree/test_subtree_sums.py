"""What subtrees answer with when they are moved, against matrices by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.spatial.matrices_by_hand import adjoint, hat, random_frame, symmetric
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree import subtree_sums as sums

LAW = np.zeros((1, 1))


@pytest.fixture
def table() -> Array:
    """Rows of sums, all their numbers random."""
    return np.random.default_rng(0).normal(size=(2, layout.FULL_COLUMNS))


def momentum_of(row: Array) -> Array:
    """Return D of the rigid bodies (6x6)."""
    mass, moment = row[layout.SUM_MASS], hat(row[layout.SUM_MASS + 1 :][:3])
    return np.block([[mass * np.eye(3), -moment], [moment, symmetric(row[layout.SUM_MASS + 4 :][:6])]])


def stirring(row: Array) -> Array:
    """Return ``B = [[0, -2 [p]], [0, C - [l]]]`` of the rigid bodies (6x6)."""
    p, turn = row[layout.MOMENTUM :][:3], row[layout.MOMENTUM + 3 :][:3]
    angular = np.vstack([-2.0 * hat(p), symmetric(row[layout.STIRRED :][:6]) - hat(turn)])
    return np.hstack([np.zeros((6, 3)), angular])


def full(row: Array, at: int) -> Array:
    """Return the 6x6 matrix of the general blocks."""
    return row[at : at + 36].reshape(6, 6)


def holding_of(row: Array) -> Array:
    """Return ``-[[0, [f]], [0, [t] + [r][f]]]`` of the inertial loads (6x6)."""
    force, turned = hat(row[layout.TURNED :][:3]), row[layout.TURNED + 3 :][:9].reshape(3, 3)
    return -np.hstack([np.zeros((6, 3)), np.vstack([force, turned])])


def test_answers_are_products_with_the_sums(table: Array) -> None:
    row, (x, y) = table[1], np.random.default_rng(1).normal(size=(2, 6))
    d, b, t = momentum_of(row), stirring(row), holding_of(row)
    whole_d, whole_b = d + full(row, layout.FULL_D), b + full(row, layout.FULL_B)
    whole_t = t + full(row, layout.FULL_TURNED)
    for found, expected in (
        (sums.moved_by(None, table, 1, x), d @ x),
        (sums.moved_by(LAW, table, 1, x), whole_d @ x),
        (sums.stirred_by(None, table, 1, x, y), b @ x + d @ y),
        (sums.stirred_by(LAW, table, 1, x, y), whole_b @ x + whole_d @ y),
        (sums.rigid_stirring(table, 1, x), (b.T @ x)[3:]),
        (sums.stirring_of(table, 1, x), whole_b.T @ x),
        (sums.holding(None, table, 1, x), t @ x),
        (sums.holding(LAW, table, 1, x), whole_t @ x),
        (sums.held(table, 1, x), (t.T @ x)[3:]),
        (sums.all_held(table, 1, x), whole_t.T @ x),
    ):
        np.testing.assert_allclose(found, expected, **ROUNDING)


@pytest.mark.parametrize("inertial", [False, True])
def test_sums_of_a_child_join_those_of_its_parent(table: Array, inertial: bool) -> None:
    """Poses are not summed; what inertial loads do only where there are any."""
    ints, before = np.zeros((1, layout.INT_COLUMNS), dtype=np.int64), table.copy()
    ints[0, layout.INERTIAL_LOADS] = int(inertial)
    sums.add_sums(ints, LAW, 1, 0, table)
    counted = np.zeros(layout.FULL_COLUMNS, dtype=bool)
    counted[layout.WRENCH : layout.SUM_COLUMNS if inertial else layout.TURNED] = True
    counted[layout.FULL_D : layout.FULL_COLUMNS if inertial else layout.FULL_TURNED] = True
    assert np.array_equal(table[0], before[0] + np.where(counted, before[1], 0.0))


def test_poses_are_composed_and_wrenches_carried_back() -> None:
    rng = np.random.default_rng(2)
    (a, p), (b, r) = random_frame(rng), random_frame(rng)
    table, other = np.zeros((2, layout.SUM_COLUMNS)), np.zeros((1, 14))
    table[0, layout.BASE : layout.BASE + 12], other[0, 2:] = [*a.ravel(), *p], [*b.ravel(), *r]
    sums.compose(table, 0, other, 0, 2, table, 1)
    found = table[1, layout.BASE :][:12]
    np.testing.assert_allclose(found, [*(a @ b).ravel(), *(a @ r + p)], **ROUNDING)
    wrench = rng.normal(size=6)
    np.testing.assert_allclose(sums.carry_back(table, 0, wrench), adjoint(a, p).T @ wrench, **ROUNDING)
