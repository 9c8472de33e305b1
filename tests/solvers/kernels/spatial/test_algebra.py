"""Spatial algebra on scalars, against NumPy's products of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.spatial.matrices_by_hand import (
    ROW,
    START,
    ad,
    adjoint,
    entries_of,
    hat,
    random_frame,
    symmetric,
    table_of,
)
from tests.systems import Array
from titop.solvers.kernels.spatial import algebra
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import VECTOR

#: Sums of some ten products of numbers of order one to ten.
FEW_ROUNDINGS = {"rtol": 1e-13, "atol": 1e-13}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def frame(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A rotation, a position, and the table that holds them."""
    rotation, position = random_frame(rng)
    return rotation, position, table_of(np.concatenate([rotation.ravel(), position]))


def test_vectors_turn_with_rotations_and_back(rng: np.random.Generator, frame: tuple[Array, Array, Array]) -> None:
    rotation, _, table = frame
    x = rng.normal(size=3)
    np.testing.assert_allclose(algebra.rotate(table, ROW, START, *x), rotation @ x, **FEW_ROUNDINGS)
    np.testing.assert_allclose(algebra.rotate_back(table, ROW, START, *x), rotation.T @ x, **FEW_ROUNDINGS)


def test_twists_and_wrenches_are_carried_by_the_adjoint(rng: np.random.Generator, frame: tuple[Array, Array, Array]) -> None:
    rotation, position, table = frame
    big, x = adjoint(rotation, position), rng.normal(size=6)
    cases = ((algebra.transport, np.linalg.inv(big)), (algebra.carry_twist, big), (algebra.carry_wrench, np.linalg.inv(big).T))
    for function, matrix in cases:
        np.testing.assert_allclose(function(table, ROW, START, x), matrix @ x, **FEW_ROUNDINGS)


def test_brackets_are_those_of_matrices(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 6))
    np.testing.assert_allclose(algebra.cross(*x[:3], *y[:3]), np.cross(x[:3], y[:3]), **FEW_ROUNDINGS)
    np.testing.assert_allclose(algebra.twist_cross(x, y), ad(x) @ y, **FEW_ROUNDINGS)
    np.testing.assert_allclose(algebra.wrench_cross(x, y), -ad(x).T @ y, **FEW_ROUNDINGS)


def test_momentum_and_gyroscopic_wrench_of_a_rigid_body(rng: np.random.Generator) -> None:
    mass, moment, inertia, twist = 2.5, rng.normal(size=3), rng.normal(size=6), rng.normal(size=6)
    table = table_of(np.concatenate([[mass], moment, inertia]))
    whole = np.block([[mass * np.eye(3), -hat(moment)], [hat(moment), symmetric(inertia)]])
    np.testing.assert_allclose(algebra.rigid_momentum(table, ROW, START, twist), whole @ twist, **FEW_ROUNDINGS)
    np.testing.assert_allclose(algebra.gyroscopic(table, ROW, START, twist), -ad(twist).T @ whole @ twist, **FEW_ROUNDINGS)


def test_articulated_inertia_is_carried_from_child_to_parent(
    rng: np.random.Generator, frame: tuple[Array, Array, Array]
) -> None:
    """Any symmetric matrix, whose blocks off the diagonal have no symmetry: nothing of it may be taken for a rigid body's."""
    rotation, position, table = frame
    whole = rng.normal(size=(6, 6))
    whole += whole.T
    a, b, c = entries_of(whole[:3, :3]), whole[:3, 3:].ravel(), entries_of(whole[3:, 3:])
    x = rng.normal(size=6)
    np.testing.assert_allclose(algebra.inertia_times(a, b, c, x), whole @ x, **FEW_ROUNDINGS)
    back = np.linalg.inv(adjoint(rotation, position))
    expected = back.T @ whole @ back
    found_a, found_b, found_c = algebra.carry_inertia(table, ROW, START, a, b, c)
    np.testing.assert_allclose(found_a, entries_of(expected[:3, :3]), **FEW_ROUNDINGS)
    np.testing.assert_allclose(found_b, expected[:3, 3:].ravel(), **FEW_ROUNDINGS)
    np.testing.assert_allclose(found_c, entries_of(expected[3:, 3:]), **FEW_ROUNDINGS)


def test_six_numbers_are_written_added_and_read_where_they_stand(rng: np.random.Generator) -> None:
    table, x, y = table_of(np.zeros(6)), rng.normal(size=6), rng.normal(size=6)
    before = table.copy()
    algebra.put_six(table, ROW, START, x)
    algebra.add_six(table, ROW, START, y)
    assert np.array_equal(algebra.six(table, ROW, START), x + y)
    table[ROW, START : START + 6] = 0.0
    assert np.array_equal(table, before)


def test_full_matrices_times_vectors(rng: np.random.Generator) -> None:
    matrix, x = rng.normal(size=(6, 6)), rng.normal(size=6)
    np.testing.assert_allclose(algebra.full_times(table_of(matrix.ravel()), ROW, START, x), matrix @ x, **FEW_ROUNDINGS)


# Vectors of any length, in machine code.


def copied(vector, to):
    copy(vector, to[1:])
    return 0


def test_all_numbers_are_copied_and_nothing_else() -> None:
    vector, to = np.arange(1.0, 4.0), np.full(6, 9.0)
    entry(VECTOR, VECTOR)(copied)(vector, to)
    assert to.tolist() == [9.0, 1.0, 2.0, 3.0, 9.0, 9.0]
    assert vector.tolist() == [1.0, 2.0, 3.0]
