"""Entry points of time derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import of_a_tree
from titop.solvers.kernels.entries import series_entries
from titop.solvers.kernels.interface import layout

ROWS = 3


def given() -> dict[str, Any]:
    """Return the arguments of all entry points by name."""
    arguments = of_a_tree()
    n, rng = arguments["nv"], np.random.default_rng(0)
    stacks = {name: rng.normal(size=(ROWS, n)) for name in ("tau_series", "a_series", "accelerations", "efforts")}
    imposed = np.arange(n) % 2 == 0
    return arguments | stacks | {"v_series": rng.normal(size=(ROWS + 1, n)), "changes": np.zeros((0, 6)), "imposed": imposed}


@pytest.mark.parametrize("rows", [-1, 1])
def test_stacks_of_other_sizes_are_refused(rows: int) -> None:
    """More rows than are asked for do no harm; fewer, and rows of other lengths, do."""
    arguments = given()
    n, tables, q, v = (
        arguments["nv"],
        (arguments["changes"], arguments["ints"], arguments["floats"]),
        arguments["q"],
        np.zeros(3),
    )
    short, wide = np.zeros((ROWS - 1, n)), np.zeros((ROWS, n + rows))
    v = arguments["v"]
    for stack in (short, wide):
        assert series_entries.forward_dynamics_series.rigid(*tables, q, v, stack, np.zeros((ROWS, n))) == layout.WRONG_SIZE
        assert series_entries.inverse_dynamics_series.rigid(*tables, q, stack, np.zeros((ROWS - 1, n))) == layout.WRONG_SIZE
    assert series_entries.inverse_dynamics_series.rigid(*tables, q, np.zeros((ROWS, n)), np.zeros((0, n))) == layout.WRONG_SIZE
    assert series_entries.inverse_dynamics_series.rigid(*tables, q, np.zeros((ROWS, n)), np.zeros((1, n))) == layout.OK


def test_numbers_that_are_not_finite_are_told() -> None:
    arguments = given()
    n, tables, q, v = (
        arguments["nv"],
        (arguments["changes"], arguments["ints"], arguments["floats"]),
        arguments["q"],
        arguments["v"],
    )
    stack = np.zeros((ROWS, n))
    stack[-1, 0] = np.nan
    assert series_entries.inverse_dynamics_series.rigid(*tables, q, stack, np.zeros((ROWS - 1, n))) == layout.NOT_FINITE
    assert series_entries.forward_dynamics_series.rigid(*tables, q, v, stack, np.zeros((ROWS, n))) == layout.NOT_FINITE
    imposed, rest = np.ones(n, bool), (np.zeros((ROWS, n)), np.zeros((ROWS, n)), np.zeros((ROWS, n)))
    kernel = series_entries.hybrid_dynamics_series.rigid  # also where they are not read
    assert kernel(tables[0], imposed, *tables[1:], q, v, stack, *rest) == layout.NOT_FINITE
