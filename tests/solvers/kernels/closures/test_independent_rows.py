"""Forward dynamics with constraints, against the full equations of motion solved by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.kernels.closures import closed_passes, constraint_rows
from titop.solvers.kernels.closures.independent_rows import choose_rows
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.tree import factor


def chosen_rows(jacobian: Array, room: int) -> list[int]:
    """Return the rows that are chosen, with room for some."""
    k, n = jacobian.shape
    chosen = np.full(room, -1, dtype=np.int64)
    count = choose_rows(jacobian, np.ones(n), 0.0, np.empty(k), chosen)
    return chosen[:count].tolist()


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_as_many_rows_are_chosen_as_are_independent(rank: int) -> None:
    rng = np.random.default_rng(rank)
    jacobian = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 7))
    rows = chosen_rows(jacobian, 6)
    assert len(set(rows)) == len(rows) == rank
    assert np.linalg.matrix_rank(jacobian[rows]) == rank
    assert rows[0] == np.argmax(np.linalg.norm(jacobian, axis=1))
    assert len(chosen_rows(jacobian, rank - 1)) == rank - 1


def test_each_turn_takes_the_row_of_which_most_is_left() -> None:
    """The second row is longer than the third, but most of it lies along the first."""
    jacobian = np.array([[3.0, 0.0, 0.0], [2.0, 0.5, 0.0], [0.0, 1.0, 1.0]])
    assert chosen_rows(jacobian, 3) == [0, 2, 1]


@pytest.mark.parametrize("blocks", [1, 3, 30])
def test_rows_of_many_blocks_are_those_that_numpy_chooses(blocks: int) -> None:
    """One block: all rows share columns. Thirty: few share those of the one taken, which goes another way through the rows."""
    rng = np.random.default_rng(blocks)
    jacobian = np.zeros((4 * blocks, 3 * blocks))
    for b in range(blocks):  # of rank two
        part = rng.normal(size=(4, 2)) @ rng.normal(size=(2, 3))
        jacobian[4 * b : 4 * b + 4, 3 * b : 3 * b + 3] = part
    rows = chosen_rows(jacobian, 4 * blocks)
    assert rows == independent_rows(jacobian).tolist()
    assert len(rows) == np.linalg.matrix_rank(jacobian) == 2 * blocks


def test_symmetric_systems_are_solved_if_definite() -> None:
    rng = np.random.default_rng(0)
    root, right = rng.normal(size=(4, 4)), rng.normal(size=4)
    matrix = root @ root.T
    system = np.column_stack([matrix, right])
    assert factor.solve_symmetric(system, 4)
    np.testing.assert_allclose(system[:, 4], np.linalg.solve(matrix, right), **ROUNDING)
    assert not factor.solve_symmetric(np.column_stack([np.diag([1.0, -1.0]), np.ones(2)]), 2)


@pytest.mark.parametrize(("weight", "inertia"), [(0.0, np.ones(4)), (2.5, np.ones(4)), (2.5, np.array([1.0, 0, 1, 0]))])
def test_accelerations_are_those_of_the_full_equations(weight: float, inertia: Array) -> None:
    """Of a chain of four coordinates with two constraints, by their multipliers at once; two may have no inertia."""
    rng = np.random.default_rng(3)
    root, jacobian, bias, force = rng.normal(size=(4, 4)), rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=4)
    mass, chosen = np.outer(inertia, inertia) * (root @ root.T + np.eye(4)), np.array([2, 0])
    ints, tree = np.zeros((1, layout.INT_COLUMNS), dtype=np.int64), np.array([[0, 1, 2, 3], [-1, 0, 1, 2]])
    ints[0, layout.NV] = 4
    a, gram = force.copy(), np.empty((2, 3))
    found = ints, tree, (mass.copy(), np.empty((4, 3)), gram), jacobian, bias, chosen, weight, a
    assert closed_passes.constrained_accelerations(*found) == layout.OK
    rows = jacobian[chosen]
    whole = np.block([[mass, -rows.T], [rows, np.zeros((2, 2))]])
    expected = np.linalg.solve(whole, np.concatenate([force, -bias[chosen]]))
    np.testing.assert_allclose([*a, *gram[:, 2]], expected, **ROUNDING)
    if inertia.all():
        dependent = np.vstack([jacobian[0], 0 * jacobian[0], jacobian[1]])
        again = ints, tree, (mass.copy(), np.empty((4, 3)), gram), dependent, bias, np.array([0, 1]), weight, force.copy()
        assert closed_passes.constrained_accelerations(*again) == layout.SINGULAR
    else:
        bare = ints, tree, (mass.copy(), np.empty((4, 3)), gram), jacobian, bias, chosen, 0.0, force.copy()
        assert closed_passes.constrained_accelerations(*bare) >= 0  # a coordinate without inertia


def test_contradictions_are_seen_where_loops_are_closed_alone() -> None:
    jacobian, bias, v = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([-1.0, -1.0]), np.zeros(2)
    kept, broken = np.array([0.3, 0.7]), np.array([0.3, 0.8])
    closed, gaping = np.zeros(2), np.array([0.0, 1e-3])
    assert not constraint_rows.contradicted(jacobian, closed, bias, v, kept, kept)
    assert constraint_rows.contradicted(jacobian, closed, bias, v, broken, broken)
    assert not constraint_rows.contradicted(jacobian, gaping, bias, v, broken, broken)


def test_imposed_coordinates_stand_still_in_a_mass_matrix() -> None:
    root = np.random.default_rng(4).normal(size=(4, 4))
    mass, imposed = root @ root.T, np.array([False, True, False, True])
    held, force = mass.copy(), np.ones(4)
    closed_passes.hold(imposed, held)
    closed_passes.clear_where(imposed, force)
    expected = np.linalg.solve(mass[np.ix_(~imposed, ~imposed)], np.ones(2))
    np.testing.assert_allclose(np.linalg.solve(held, force)[~imposed], expected, **ROUNDING)
    assert (np.linalg.solve(held, force)[imposed] == 0.0).all()
