"""Rows of integers under construction: by the names of columns."""

from __future__ import annotations

import pytest

from titop.solvers.engines.compiled.tables import Rows
from titop.solvers.kernels.interface import layout


def test_entries_stand_in_their_columns_and_the_rest_is_the_default() -> None:
    rows = Rows(layout, 5, -1)
    assert [rows.add(PARENT=0, V=7), rows.add(), rows.add(KIND=2)] == [0, 1, 2]
    expected = [[0, -1, -1, 7, -1], [-1] * 5, [-1, 2, -1, -1, -1]]
    assert rows.array().tolist() == expected
    assert rows.array().dtype == "int64"


def test_names_that_are_no_column_are_not_taken() -> None:
    with pytest.raises(KeyError):
        Rows(layout, 5, 0).add(PARNT=1)
