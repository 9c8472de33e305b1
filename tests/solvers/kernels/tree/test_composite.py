"""The mass matrix of random trees, with a control that breaks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.refusals import ENGINES
from tests.solvers.model.identities import SEEDS, SOME, Array, Case, assert_equal, control_case, heavier


def assert_is_mass_matrix(c: Case, matrix: Array) -> None:
    """Symmetric, positive definite, and its columns are the efforts of unit accelerations."""
    assert_equal(matrix, matrix.T, 1e-13)
    assert c.model.nv == 0 or np.linalg.eigvalsh(matrix)[0] > 0
    zero = np.zeros(c.model.nv)
    resting = c.model.inverse_dynamics(c.q, zero, zero)
    columns = [c.model.inverse_dynamics(c.q, zero, unit) - resting for unit in np.eye(c.model.nv)]
    # gravity and springs, up to a hundred times the inertia's efforts, cancel in the columns
    assert_equal(matrix.T, np.reshape(columns, matrix.shape), 1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_mass_matrix(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_is_mass_matrix(c, c.model.mass_matrix(c.q))


def test_wrong_mass_matrices_are_found() -> None:
    c = control_case()
    matrix = c.model.mass_matrix(c.q)
    unsymmetric = matrix + 1e-9 * np.triu(np.ones_like(matrix), 1)
    for wrong in (-matrix, unsymmetric, heavier(c.model).mass_matrix(c.q)):
        with pytest.raises(AssertionError):
            assert_is_mass_matrix(c, wrong)
