"""Coordinates that follow others, folded into these: against products with the matrix of their motion."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.closures.gear_trains import train
from tests.tolerances import ROUNDING
from titop.solvers.kernels.closures import following
from titop.solvers.kernels.interface import layout

LEADERS, FOLLOWERS = [0, 1], [2, 3, 4]


def test_forces_are_folded_and_motions_unfolded() -> None:
    loops, floats, basis = train()
    rng = np.random.default_rng(0)
    force, motion = rng.normal(size=(2, 5))
    for function, functions, x, matrix in (
        (following.fold_vector, following.fold_vectors, force, basis.T),
        (following.unfold_vector, following.unfold_vectors, motion, basis),
    ):
        single, several = x.copy(), np.column_stack([x, 2 * x])
        function(loops, floats, single)
        functions(loops, floats, several)
        np.testing.assert_allclose(single, matrix @ x, **ROUNDING)
        np.testing.assert_allclose(several, np.column_stack([matrix @ x, 2 * matrix @ x]), **ROUNDING)


def test_the_mass_matrix_is_that_of_what_leads() -> None:
    loops, floats, basis = train()
    root = np.random.default_rng(1).normal(size=(5, 5))
    matrix = root @ root.T
    folded = matrix.copy()
    following.fold_mass_matrix(loops, floats, folded)
    expected = basis.T @ matrix @ basis
    expected[FOLLOWERS, FOLLOWERS] = 1.0
    np.testing.assert_allclose(folded, expected, **ROUNDING)


def test_lengths_are_those_of_the_columns_of_the_motion() -> None:
    loops, floats, basis = train()
    lengths = np.empty(5)
    following.leaders_lengths(loops, floats, lengths)
    np.testing.assert_allclose(lengths[LEADERS], np.linalg.norm(basis, axis=0)[LEADERS], **ROUNDING)


def test_rows_of_closures_are_folded_and_gears_with_followers_left_out() -> None:
    """Two constraints of a closure before the gears."""
    loops, floats, basis = train()
    loops[0, layout.ROWS] += 2
    jacobian = np.random.default_rng(2).normal(size=(5, 5))
    folded = np.empty((2, 5))
    following.fold_rows(loops, floats, jacobian, folded)
    np.testing.assert_allclose(folded, jacobian[:2] @ basis, **ROUNDING)
