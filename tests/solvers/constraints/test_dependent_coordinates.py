"""Constraints of several mechanisms in one matrix: results as by singular values, and quickly where they are many."""

from __future__ import annotations

import time

import numpy as np
import pytest

import titop as tt
from tests.systems import Array
from titop.solvers.constraints.multipliers import Partition, Shares, independent_rows, least_step, redundant_rows


def shuffled_blocks(rng: np.random.Generator, count: int = 6) -> Array:
    """Return a matrix of blocks, the last row of each dependent on its others, with rows and columns of zeros, all shuffled."""
    sizes = [(int(rng.integers(1, 5)), int(rng.integers(1, 6))) for _ in range(count)]
    matrix = np.zeros((sum(rows for rows, _ in sizes) + 1, sum(columns for _, columns in sizes) + 2))
    row = column = 0
    for rows, columns in sizes:
        block = rng.normal(size=(rows, columns)) * 10.0 ** rng.uniform(-1, 1)
        if rows > 1:
            block[-1] = rng.normal(size=rows - 1) @ block[:-1]
        matrix[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]


def pivots_of_all(matrix: Array) -> list[int]:
    """Return independent rows by pivoting in the whole matrix."""
    rest, rows, largest = matrix.copy(), [], 0.0
    for _ in range(min(matrix.shape)):
        squares = (rest * rest).sum(axis=1)
        p = int(squares.argmax())
        largest = max(largest, squares[p])
        if squares[p] <= 1e-12 * largest:
            break
        rows.append(p)
        rest = rest - np.outer(rest @ rest[p] / squares[p], rest[p])
        rest[p] = 0.0
    return rows


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [6, 20], ids=["few", "many"])
def test_what_follows_from_the_choice_of_rows(seed: int, count: int) -> None:
    """Matrices of few rows are gone through as they are, of those of many only what is touched."""
    rng = np.random.default_rng(seed)
    matrix = shuffled_blocks(rng, count)
    rows = pivots_of_all(matrix)
    rank = len(rows)
    assert list(independent_rows(matrix)) == rows
    assert list(independent_rows(matrix, rank - 1)) == rows[: rank - 1]
    redundant = redundant_rows(matrix)
    kept = np.delete(np.arange(len(matrix)), redundant)
    assert np.linalg.matrix_rank(matrix[kept]) == len(kept) == rank == np.linalg.matrix_rank(matrix)
    ranks = [0, *(np.linalg.matrix_rank(matrix[: row + 1]) for row in range(len(matrix)))]
    assert all(ranks[row + 1] == ranks[row] for row in redundant)
    # 1e-10: rounding times the condition of random blocks; entries are of order 1 to 100
    right = matrix @ rng.normal(size=matrix.shape[1])
    np.testing.assert_allclose(Partition.of(matrix).least(right), np.linalg.pinv(matrix, 1e-9) @ right, rtol=1e-8, atol=1e-10)
    anything = rng.normal(size=len(matrix))
    np.testing.assert_allclose(
        least_step(matrix, anything, 1e-6), np.linalg.lstsq(matrix, anything, rcond=1e-6)[0], rtol=1e-8, atol=1e-10
    )
    x, partition = rng.normal(size=matrix.shape[1]), Partition.of(matrix, rank)
    allowed = partition.along(x)
    np.testing.assert_allclose(matrix @ allowed, 0.0, atol=1e-10)
    np.testing.assert_allclose(allowed, x - np.linalg.pinv(matrix, 1e-9) @ (matrix @ x), atol=1e-10)
    follows = partition.follow(right)
    np.testing.assert_allclose(matrix @ follows, right, atol=1e-9)
    assert not np.delete(follows, partition.dependent).any()


def test_constraints_that_leave_no_motion_leave_exactly_none() -> None:
    matrix = np.random.default_rng(0).normal(size=(4, 4))
    assert not Partition.of(matrix).along(np.ones(4)).any()


def test_small_directions_are_cut_beside_the_largest_of_all_blocks() -> None:
    matrix = np.diag([1e4, 1.0, 1e-3])
    np.testing.assert_array_equal(least_step(matrix, np.ones(3), 1e-6), [1e-4, 1.0, 0.0])
    many = np.kron(np.eye(20), matrix)
    np.testing.assert_array_equal(least_step(many, np.ones(60), 1e-6), np.tile([1e-4, 1.0, 0.0], 20))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_efforts_and_their_changes_are_shared(seed: int, part: float) -> None:
    """With efforts on none, some and all of the coordinates, of which some take part in no constraint."""
    rng = np.random.default_rng(seed)
    jacobian = shuffled_blocks(rng)
    count, n = jacobian.shape
    unknown, rounding = rng.random(n) < part, {"rtol": 1e-9, "atol": 1e-9}  # times the condition of blocks over their pivots
    shares = Shares(Partition.of(jacobian), unknown, np.ones(n))
    rows, dependent = shares.partition.rows, shares.partition.dependent
    pivots = jacobian[np.ix_(rows, dependent)]
    over = np.linalg.solve(pivots, jacobian[rows])
    assert 1 < len(rows) < count
    motion, turning = rng.normal(size=(n, 3)), rng.normal(size=(count, 3))
    motion -= np.linalg.pinv(over) @ over @ motion
    carried = rng.normal(size=(len(rows), 3))
    needed = np.where(unknown[:, None], motion, 0.0) + over.T @ carried  # what efforts and constraints can do

    w, multipliers = shares.split(needed[:, 0])
    np.testing.assert_allclose(w[unknown], motion[unknown, 0], **rounding)
    np.testing.assert_allclose(over @ w, 0.0, **rounding)
    np.testing.assert_allclose(multipliers[rows], np.linalg.solve(pivots.T, carried[:, 0]), **rounding)
    assert not np.delete(multipliers, rows).any()

    moved = -np.linalg.solve(pivots, turning[rows])
    turned = motion + np.linalg.pinv(over) @ moved
    needed = np.where(unknown[:, None], turned, 0.0) + over.T @ carried
    np.testing.assert_allclose(shares.least(needed, turning), np.where(unknown[:, None], turned, 0.0), **rounding)


def test_nothing_to_share() -> None:
    """Without constraints all stays where it is needed, as far as it may be."""
    shares = Shares(Partition.of(np.zeros((1, 2))), np.array([True, False]), np.ones(2))
    w, multipliers = shares.split(np.array([3.0, 4.0]))
    assert w[0] == 3.0
    assert multipliers.tolist() == [0.0]
    assert shares.least(np.ones((2, 1)), np.zeros((1, 1))).tolist() == [[1.0], [0.0]]
    assert not shares.partition.follow(np.ones((1, 1))).any()


def test_short_rows_count_beside_the_largest() -> None:
    """The second row differs from the first by less than a millionth."""
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1e-9]])
    assert len(independent_rows(matrix)) == 1


@pytest.mark.parametrize("pattern", ["pairs", "chain", "star"])
def test_many_gears_are_resolved_quickly(pattern: str) -> None:
    """200 gears among 400 joints: 0.3 s here, where solving for all of them at once took 8 s."""
    s = tt.System("gears")
    for k in range(400):
        s.connect("world", tt.RigidBody(f"b{k}", 1.0, com=[0.1, 0, 0], inertia=0.1), tt.Revolute(f"j{k}"))
    driven = range(2, 400, 2)
    drivers = {"pairs": [k - 1 for k in driven], "chain": [k - 2 for k in driven], "star": [1 for k in driven]}[pattern]
    for k, driver in reversed(list(zip(driven, drivers, strict=True))):
        s.add_gear(tt.Gear(f"g{k}", f"j{driver}", f"j{k}", ratio=-0.9, offset=0.1))
    resolve_and_move(s)  # compiles what it needs
    start = time.process_time()
    m, q, a = resolve_and_move(s)
    assert time.process_time() - start < 2.0
    assert np.abs(m.closure_error(q)).max() < 1e-15  # a rounding of angles below 1
    np.testing.assert_allclose([a[k] + 0.9 * a[driver] for k, driver in zip(driven, drivers, strict=True)], 0.0, atol=1e-13)


def resolve_and_move(s: tt.System) -> tuple[tt.Model, Array, Array]:
    """Return the model of a system, a closed configuration and accelerations there."""
    m = s.resolve()
    q = m.assemble(m.random_configuration(np.random.default_rng(0)))
    v = m.assemble_velocity(q, np.ones(m.nv))
    return m, q, m.forward_dynamics(q, v, np.ones(m.nv))
