"""Units in which rows and columns are as large as each other."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.support.equal_sizes import equal_sizes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("symmetric", [False, True])
def test_units_are_found_again(seed: int, symmetric: bool) -> None:
    """Of matrices of numbers of size one in units 1e40 apart: what is left is within a power of two or two."""
    rng = np.random.default_rng(seed)
    plain = rng.uniform(0.5, 2.0, (2, 5, 5)) * rng.choice([-1, 1], (2, 5, 5))
    plain = plain + plain.swapaxes(1, 2) if symmetric else plain
    left = 10.0 ** rng.uniform(-20, 20, (2, 5, 1))
    right = left.swapaxes(1, 2) if symmetric else 10.0 ** rng.uniform(-20, 20, (2, 1, 5))
    given = left * plain * right
    rows, columns = equal_sizes(given)
    found = np.abs(given / rows / columns)
    assert found.max() <= 4.0
    assert found.max(axis=1).min() >= 0.25
    assert found.max(axis=2).min() >= 0.25
    assert np.ptp(np.log10(np.abs(given).max(axis=1))) > 3  # the control: before they were not
    assert (np.frexp(rows)[0] == 0.5).all()
    assert (np.frexp(columns)[0] == 0.5).all()
    if symmetric:
        np.testing.assert_array_equal(rows, columns.swapaxes(1, 2))


def test_zeros_have_no_unit() -> None:
    rows, columns = equal_sizes(np.array([[0.0, 0.0], [0.0, 16.0]]))
    assert rows[0] == columns[0, 0] == 1.0
    assert rows[1] * columns[0, 1] == 16.0
    assert [part.shape for part in equal_sizes(np.zeros((0, 3)))] == [(0, 1), (1, 3)]
