"""Constraints that share no coordinates: solved block by block, to the same results as all at once."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

import titop as tt
from tests.systems import Array
from titop.solvers.constraints.coupling import coupled_blocks
from titop.solvers.constraints.multipliers import allowed_part, independent_rows, least_solution, least_step, redundant_rows


def shuffled_blocks(rng: np.random.Generator) -> Array:
    """Return a matrix of blocks, the last row of each dependent on its others, with rows and columns of zeros, all shuffled."""
    sizes = [(int(rng.integers(1, 5)), int(rng.integers(1, 6))) for _ in range(6)]
    matrix = np.zeros((sum(rows for rows, _ in sizes) + 1, sum(columns for _, columns in sizes) + 2))
    row = column = 0
    for rows, columns in sizes:
        block = rng.normal(size=(rows, columns)) * 10.0 ** rng.uniform(-1, 1)
        if rows > 1:
            block[-1] = rng.normal(size=rows - 1) @ block[:-1]
        matrix[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]


@pytest.mark.parametrize("seed", range(10))
def test_blocks_are_what_hangs_together(seed: int) -> None:
    """Rows that come late and join several blocks; against the components of a graph of rows and columns."""
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((12, 14)) < rng.uniform(0.02, 0.15), 1.0, 0.0)
    edges = np.block([[np.zeros((12, 12)), matrix], [matrix.T, np.zeros((14, 14))]])
    labels = connected_components(edges, directed=False)[1]
    expected = []
    for label in dict.fromkeys(labels[:12].tolist()):  # in the order of their first rows
        rows, columns = np.flatnonzero(labels[:12] == label), np.flatnonzero(labels[12:] == label)
        expected += [(rows.tolist(), columns.tolist())] if len(columns) else []
    assert [(block.rows.tolist(), block.columns.tolist()) for block in coupled_blocks(matrix)] == expected


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
def test_blocks_are_solved_as_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = shuffled_blocks(rng)
    rows = pivots_of_all(matrix)
    rank = len(rows)
    assert list(independent_rows(matrix)) == rows
    assert list(independent_rows(matrix, rank - 1)) == rows[: rank - 1]
    redundant = redundant_rows(matrix)
    kept = np.delete(np.arange(len(matrix)), redundant)
    assert np.linalg.matrix_rank(matrix[kept]) == len(kept) == rank == np.linalg.matrix_rank(matrix)
    ranks = [0, *(np.linalg.matrix_rank(matrix[: row + 1]) for row in range(len(matrix)))]
    assert all(ranks[row + 1] == ranks[row] for row in redundant)
    # 1e-10: rounding times the condition of random blocks, squared in normal equations; entries are of order 1 to 100
    right = matrix @ rng.normal(size=matrix.shape[1])
    np.testing.assert_allclose(least_solution(matrix, right), np.linalg.pinv(matrix, 1e-9) @ right, rtol=1e-8, atol=1e-10)
    anything = rng.normal(size=len(matrix))
    np.testing.assert_allclose(
        least_step(matrix, anything, 1e-6), np.linalg.lstsq(matrix, anything, rcond=1e-6)[0], rtol=1e-8, atol=1e-10
    )
    x = rng.normal(size=matrix.shape[1])
    allowed = allowed_part(matrix, x, rank)
    np.testing.assert_allclose(matrix @ allowed, 0.0, atol=1e-10)
    np.testing.assert_allclose(allowed, x - np.linalg.pinv(matrix, 1e-9) @ (matrix @ x), atol=1e-10)


def test_small_directions_are_cut_beside_the_largest_of_all_blocks() -> None:
    matrix = np.diag([1e4, 1.0, 1e-3])
    np.testing.assert_array_equal(least_step(matrix, np.ones(3), 1e-6), [1e-4, 1.0, 0.0])


def test_blocks_hold_all_entries_and_share_none() -> None:
    matrix = shuffled_blocks(np.random.default_rng(0))
    rest = matrix.copy()
    for rows, columns in coupled_blocks(matrix):
        assert rest[np.ix_(rows, columns)].any()
        rest[np.ix_(rows, columns)] = 0.0
    assert not rest.any()
    assert len(list(coupled_blocks(matrix))) >= 6
    assert list(coupled_blocks(np.zeros((3, 2)))) == []
    assert [[list(part) for part in block] for block in coupled_blocks(np.eye(2))] == [[[0], [0]], [[1], [1]]]


def test_rows_with_columns_of_their_own_that_hardly_count_are_no_gears() -> None:
    """The control of what is said of gears without pivoting."""
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
