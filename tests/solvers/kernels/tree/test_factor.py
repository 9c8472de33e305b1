"""Factors along the tree, against NumPy's dense solutions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.flexible import random_system
from tests.systems import Array, random_state, random_tree
from titop.solvers.kernels.tree.factor import factor, invert, solve_rows


def coupled(parents: list[int], rng: np.random.Generator) -> Array:
    """Return a positive definite matrix with zeros between coordinates of which neither is on the other's path."""
    n = len(parents)
    lower = np.eye(n)
    for k in range(n):
        i = parents[k]
        while i >= 0:
            lower[k, i] = rng.normal()
            i = parents[i]
    return lower.T @ np.diag(rng.uniform(0.5, 2.0, n)) @ lower


@pytest.mark.parametrize("parents", [[-1], [-1, 0, 1, 2], [-1, 0, 0, 1, 1, -1, 5], [2, 3, 3, -1, 0]])
def test_solutions_are_those_of_the_dense_matrix(parents: list[int]) -> None:
    """In the last tree coordinates do not stand in the order from the root."""
    rng, n = np.random.default_rng(0), len(parents)
    order = sorted(range(n), key=lambda k: depth(parents, k))
    tree, matrix = np.array([order, parents]), coupled(parents, rng)
    factors, x = matrix.copy(), rng.normal(size=(n, 3))
    assert factor(tree, factors) == -1
    expected = np.linalg.solve(matrix, x)
    solve_rows(tree, factors, x)
    np.testing.assert_allclose(x, expected, rtol=1e-11, atol=1e-11)  # rounding times the condition, below 1e3
    inverse = np.empty((n, n))
    invert(tree, factors, np.empty((2, n), dtype=np.int64), inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-11, atol=1e-11)


def depth(parents: list[int], k: int) -> int:
    """Return how many coordinates are on the path to the world."""
    return 0 if k < 0 else 1 + depth(parents, parents[k])


def test_a_coordinate_that_moves_nothing_is_named() -> None:
    tree = np.array([[0, 1, 2], [-1, 0, 1]])
    matrix = coupled([-1, 0, 1], np.random.default_rng(1))
    massless = matrix.copy()
    massless[2, :] = massless[:, 2] = 0.0
    assert factor(tree, massless) == 2
    dependent = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])  # the second moves what the first moves, and nothing else
    assert factor(tree, dependent) == 0


def test_the_tree_of_a_system_leaves_out_no_entry_of_its_mass_matrix() -> None:
    model = random_tree(np.random.default_rng(3), 8).resolve()
    system = model.mechanism.engine.system  # type: ignore[attr-defined]
    matrix = model.mass_matrix(model.random_configuration(np.random.default_rng(1)))
    factors = matrix.copy()
    assert factor(system.tables.tree, factors) == -1
    solution = np.eye(model.nv)
    solve_rows(system.tables.tree, factors, solution)
    np.testing.assert_allclose(matrix @ solution, np.eye(model.nv), atol=1e-9)  # rounding times the condition


# What efforts alone cause, by the factors of an elimination: the mass matrix gives the efforts back.


@pytest.mark.parametrize("seed", range(4))
def test_the_mass_matrix_gives_the_efforts_back(seed: int) -> None:
    """The adjoint's derivatives by the efforts, in trees of all joints and with flexible bodies; at another state they differ.

    What is left of sums of some twenty products is rounding.
    """
    rng = np.random.default_rng(seed)
    model = (random_tree(rng, 7, passive=True) if seed < 3 else random_system(rng)).resolve()
    q, v, _, tau = random_state(model, rng)
    efforts = rng.normal(size=(2, model.nv))
    mass = model.mass_matrix(q)
    for one, caused in zip(efforts, model.forward_dynamics_adjoint(q, v, tau, efforts)[2], strict=True):
        sizes = np.abs(mass) @ np.abs(caused) + np.abs(one)
        assert (np.abs(mass @ caused - one) / sizes).max() < 1e-13
        other = model.mass_matrix(model.random_configuration(rng))
        assert (np.abs(other @ caused - one) / sizes).max() > 1e-4
