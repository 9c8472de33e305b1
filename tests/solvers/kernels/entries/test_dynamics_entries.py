"""Entry points of the dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import of_a_tree
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.entries import dynamics_entries as entries
from titop.solvers.kernels.interface import layout


def test_stacks_are_single_states_row_by_row() -> None:
    """To the bit; and a state in the last row that is not finite is told."""
    given = of_a_tree()
    tables, states = (given["ints"], given["floats"]), [np.array([given[name], given[name]]) for name in ("q", "v", "a")]
    states[1][1] *= -1.0
    stacked, single = np.empty_like(states[2]), np.empty(given["nv"])
    for one in (entries.inverse_dynamics, entries.forward_dynamics):
        batch = one.stacked.rigid
        assert batch(*tables, *states, stacked) == layout.OK
        for row in range(2):
            assert one.rigid(*tables, *(state[row] for state in states), single) == layout.OK
            assert np.array_equal(stacked[row], single)
        wrong = np.array([given["a"], np.nan * given["a"]])
        assert batch(*tables, states[0], states[1], wrong, stacked) == layout.NOT_FINITE
        with pytest.raises(TypeError):
            batch(*tables, states[0], states[1][:1], states[2], stacked)


def test_wrenches_are_put_into_the_row_that_is_told() -> None:
    floats = np.zeros((4, layout.FLOAT_COLUMNS))
    assert entries.put_wrench(floats, 2, np.arange(1.0, 7.0)) == layout.OK
    assert np.array_equal(floats[2, layout.FORCE : layout.FORCE + 6], np.arange(1.0, 7.0))
    assert floats.sum() == 21.0
    assert entries.put_wrench(floats, 2, np.ones(5)) == layout.WRONG_SIZE


def test_inputs_are_put_into_loads_and_numbers() -> None:
    """Three inputs: the second and the first push at the last rows, the third rests on 0.5 among the numbers."""
    floats, numbers = np.zeros((4, layout.FLOAT_COLUMNS)), np.array([[7.0, 8.0, 9.0]])
    units = np.array([np.arange(6.0), np.ones(6)])
    where = np.array([[1], [2]]), np.array([[0.5]]), 2, np.array([[1, 0]]), units, floats, numbers
    u = np.array([2.0, 3.0, 4.0])
    for _ in range(2):  # the second time over the first
        assert entries.put_inputs(3, *where, u) == layout.OK
    assert np.array_equal(floats[2:, layout.FORCE : layout.FORCE + 6], [3.0 * units[0], 2.0 * units[1]])
    assert numbers.tolist() == [[7.0, 4.5, 9.0]]
    assert floats.sum() == 3.0 * 15.0 + 2.0 * 6.0
    assert entries.put_inputs(3, *where, np.ones(2)) == layout.WRONG_SIZE
    assert entries.put_inputs(3, *where, np.array([1.0, np.nan, 1.0])) == layout.NOT_FINITE


# Inverse dynamics with the mass matrix.


def test_what_is_not_finite_is_told_and_efforts_may_take_the_place_of_accelerations() -> None:
    given = of_a_tree()
    tables, matrix = (given["ints"], given["floats"]), np.empty((given["nv"], given["nv"]))
    state, tau = (given["q"], given["v"], given["a"].copy()), np.empty(given["nv"])
    kernel = dynamics_entries.mass_inverse_dynamics.rigid
    assert kernel(*tables, *state, tau, matrix) == layout.OK
    assert kernel(*tables, *state, state[2], matrix) == layout.OK
    assert np.array_equal(state[2], tau)
    assert kernel(*tables, given["q"], given["v"] * np.nan, given["a"], tau, matrix) == layout.NOT_FINITE
