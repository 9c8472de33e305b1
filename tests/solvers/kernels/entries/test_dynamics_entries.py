"""Entry points of the dynamics: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_tree
from titop.solvers.kernels.entries import dynamics_entries as entries
from titop.solvers.kernels.interface import layout


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_states_of_other_sizes_are_refused(name: str) -> None:
    assert_sizes_matter(getattr(entries, name).rigid, of_a_tree(), ("q", "v", "a", "tau"))


def test_mass_matrices_of_other_sizes_are_refused() -> None:
    given = of_a_tree()
    given["matrix"] = np.empty((given["nv"], given["nv"]))
    assert_sizes_matter(entries.whole_mass_matrix.rigid, given, ("q", "matrix"))


def test_stacks_are_single_states_row_by_row() -> None:
    """To the bit; and a state in the last row that is not finite is told."""
    given = of_a_tree()
    tables, states = (given["ints"], given["floats"]), [np.array([given[name], given[name]]) for name in ("q", "v", "a")]
    states[1][1] *= -1.0
    stacked, single = np.empty_like(states[2]), np.empty(given["nv"])
    for batch, one in ((entries.inverse_batch, entries.inverse_dynamics), (entries.forward_batch, entries.forward_dynamics)):
        assert batch.rigid(*tables, *states, stacked) == layout.OK
        for row in range(2):
            assert one.rigid(*tables, *(state[row] for state in states), single) == layout.OK
            assert np.array_equal(stacked[row], single)
        assert (
            batch.rigid(*tables, states[0], states[1], np.array([given["a"], np.nan * given["a"]]), stacked)
            == layout.NOT_FINITE
        )


def test_wrenches_are_put_into_the_row_that_is_told() -> None:
    floats = np.zeros((4, layout.FLOAT_COLUMNS))
    assert entries.put_wrench(floats, 2, np.arange(1.0, 7.0)) == layout.OK
    assert np.array_equal(floats[2, layout.FORCE : layout.FORCE + 6], np.arange(1.0, 7.0))
    assert floats.sum() == 21.0
    assert entries.put_wrench(floats, 2, np.ones(5)) == layout.WRONG_SIZE
