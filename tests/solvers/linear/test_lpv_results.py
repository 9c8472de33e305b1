"""Results at the points of a family: put in by parts, and not a number where none was put."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from titop.solvers.linear.lpv_members import Results

SHAPES = {"A": (4, 4), "B": (4, 1), "C": (2, 4), "D": (2, 1), "valid": ()}


def part(rows: int, seed: int) -> Results:
    """Return results at some points, all different."""
    rng = np.random.default_rng(seed)
    arrays = {field.name: rng.normal(size=(rows, *SHAPES.get(field.name, (3,)))) for field in fields(Results)}
    return Results(**arrays | {"valid": np.ones(rows, dtype=bool), "states": np.arange(4)})


def test_parts_stand_in_their_rows_and_the_rest_is_no_number() -> None:
    first, second = part(2, 0), part(1, 1)
    whole = Results.empty(5, first)
    whole.put(np.array([3, 0]), first)
    whole.put(np.array([4]), second)
    assert whole.valid.tolist() == [True, False, False, True, True]
    assert np.array_equal(whole.states, first.states)
    for field in fields(Results):
        if field.name in ("valid", "states"):
            continue
        found, given = getattr(whole, field.name), getattr(first, field.name)
        assert found.shape == (5, *given.shape[1:])
        assert np.array_equal(found[[3, 0]], given)
        assert np.array_equal(found[4], getattr(second, field.name)[0])
        assert np.isnan(found[[1, 2]]).all()
