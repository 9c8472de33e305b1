"""Tables under construction: rows by the names of columns; rigid closures and gears among them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.closed_systems import geared_hand
from titop.solvers.engines.compiled.tables import IntegerRows, constraint_coefficients, constraint_tables
from titop.solvers.kernels.closures.following import unfold_vector
from titop.solvers.kernels.interface import layout


def test_entries_stand_in_their_columns_and_the_rest_is_the_default() -> None:
    rows = IntegerRows(layout, 5, -1)
    assert [rows.add(PARENT=0, V=7), rows.add(), rows.add(KIND=2)] == [0, 1, 2]
    expected = [[0, -1, -1, 7, -1], [-1] * 5, [-1, 2, -1, -1, -1]]
    assert rows.array().tolist() == expected
    assert rows.array().dtype == "int64"


def test_names_that_are_no_column_are_not_taken() -> None:
    with pytest.raises(KeyError):
        IntegerRows(layout, 5, 0).add(PARNT=1)


@pytest.fixture(scope="module")
def model() -> Any:
    return geared_hand().resolve()


def test_coefficients_of_gears_say_the_relation(model: Any) -> None:
    """``w (driven - ratio driver) = w offset``."""
    rows = {name: at for name, at in model.mechanism.engine.system.tables.constraint_rows.items()}  # noqa: C416
    found = dict(constraint_coefficients(model.mechanism, rows))
    weights = model.mechanism.scale.weights[-len(model.mechanism.gear_constraints) :]
    for constraint, weight in zip(model.mechanism.gear_constraints, weights, strict=True):
        gear, (driven, driver) = constraint.gear, found[rows[constraint.gear.name]]
        numbers = [
            row[column - layout.ALONG]
            for row, column in ((driven, layout.FACTOR), (driver, layout.FACTOR), (driven, layout.OFFSET))
        ]
        np.testing.assert_allclose(numbers, weight * np.array([1.0, -gear.ratio, gear.offset]), rtol=1e-15)


@pytest.mark.parametrize("imposed", [None, 0, -1])
def test_what_follows_moves_as_all_gears_ask(model: Any, imposed: int | None) -> None:
    """Unfolded from the coordinates that lead, any motion is one with which every gear's rate vanishes."""
    held = np.zeros(model.nv, dtype=bool)
    if imposed is not None:
        held[imposed] = True
    system = model.mechanism.engine.system
    loops, tree = constraint_tables(model.mechanism, system.tables, held)
    own = loops[1 : 1 + loops[0, layout.FOLLOWERS]]
    x = np.where(held, 0.0, np.random.default_rng(0).normal(size=model.nv))
    unfold_vector(loops, system.floats, x)
    for constraint in model.mechanism.gear_constraints:
        assert np.abs(constraint.jacobian(model.nv) @ x).max() < 1e-14
    assert not held[own[:, layout.FOLLOWER]].any()
    assert sorted(tree[0]) == list(range(model.nv))
    assert (loops[0, layout.ROWS], loops[0, layout.GEARS]) == (
        len(model.constraint_names),
        len(model.mechanism.gear_constraints),
    )
