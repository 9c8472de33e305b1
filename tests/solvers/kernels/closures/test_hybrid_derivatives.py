"""Derivatives where some motion is imposed, against the NumPy form of the reference engine's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.closures.gear_trains import no_gears
from tests.systems import Array
from titop.solvers.constraints.closed_derivatives import hybrid_derivatives
from titop.solvers.kernels.closures import closed_derivatives as kernels
from titop.solvers.kernels.closures.closed_passes import constrained_accelerations, hold
from titop.solvers.kernels.closures.least_norm import split_rows
from titop.solvers.kernels.interface import layout

N, ROWS = 5, 2
#: Rounding times the condition of the mass matrix and of the constraints, below 1e3.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def given() -> tuple[Array, Array]:
    """Return derivatives of inverse dynamics (3, n, n) and of the constraints (3, k, n)."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(N, N))
    return np.array([*rng.normal(size=(2, N, N)), root @ root.T + np.eye(N)]), rng.normal(size=(3, ROWS, N))


@pytest.mark.parametrize("weight", [0.0, 2.5])
@pytest.mark.parametrize("imposed", [[], [1], [0, 3]])
def test_they_are_those_of_the_dense_equations(imposed: list[int], weight: float) -> None:
    """No constraint acts on imposed coordinates alone, so that their efforts carry nothing of it."""
    (changes, rows), mask = given(), np.isin(np.arange(N), imposed)
    loops, floats, _ = no_gears(ROWS)
    ints, tree = np.zeros((1, layout.INT_COLUMNS), dtype=np.int64), np.array([np.arange(N), np.arange(N) - 1])
    ints[0, layout.NV] = N
    result, folded = np.zeros((8, N, N)), rows[0].copy()
    folded[:, mask] = 0.0
    matrix, chosen, columns, gram = changes[2].copy(), np.array([1, 0]), np.empty((N, ROWS + 1)), np.empty((ROWS, ROWS + 1))
    hold(mask, matrix)
    factored = ints, tree, (matrix, columns, gram), folded, np.zeros(ROWS), chosen, weight, np.zeros(N)
    assert constrained_accelerations(*factored) == layout.OK
    forward = matrix, np.vstack([rows[0], folded]), None, None, chosen, columns, gram
    kernels.accelerations_slopes(loops, floats, mask, tree, forward, changes, rows, result)
    split, first, end = split_rows(rows[0], np.arange(ROWS), np.ones(N), mask, True)
    assert (first, end) == (ROWS, ROWS)
    kernels.efforts_slopes(split, first, end, mask, np.ones(N), changes, np.zeros((0, N)), result)
    expected = hybrid_derivatives(changes, mask, (rows[0], rows[1], rows[2]))
    for found, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(found, other, **CLOSE)


def test_products_are_subtracted() -> None:
    rng = np.random.default_rng(1)
    left, right, x = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    left[0] = 0.0
    found = x.copy()
    kernels.subtract_product(left, right, found)
    np.testing.assert_allclose(found, x - left @ right, rtol=0, atol=1e-14)
