"""Arrays by name that are rows of one matrix, read as a dict of them."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.model.parameters import NamedRows

PLACES = {"mass": 1, "com.x": 0, "inertia": 2}


@pytest.mark.parametrize("shape", [(3, 4), (5, 3, 4)])
def test_they_are_read_as_the_dict_of_them_is(shape: tuple[int, ...]) -> None:
    matrix = np.random.default_rng(0).normal(size=shape)
    rows, expected = NamedRows(PLACES, matrix), {name: matrix[..., place, :] for name, place in PLACES.items()}
    assert [*rows] == [*expected]
    assert len(rows) == 3
    for (name, row), (other, same) in zip(rows.items(), expected.items(), strict=True):
        assert name == other
        assert row.shape == (*shape[:-2], 4)
        assert np.array_equal(row, same)
    assert repr(rows) == repr(expected)
    assert rows.get("mas") is None
    with pytest.raises(KeyError):
        rows["mas"]


def test_rows_are_views_of_the_matrix() -> None:
    matrix = np.zeros((3, 4))
    NamedRows(PLACES, matrix)["mass"][:] = 1.0
    assert matrix[1].tolist() == [1.0] * 4
    assert matrix.sum() == 4.0
