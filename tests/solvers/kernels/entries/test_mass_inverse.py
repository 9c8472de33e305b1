"""Inverse dynamics with the mass matrix."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import of_a_tree
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout


def test_what_is_not_finite_is_told_and_efforts_may_take_the_place_of_accelerations() -> None:
    given = of_a_tree()
    tables, matrix = (given["ints"], given["floats"]), np.empty((given["nv"], given["nv"]))
    state, tau = (given["q"], given["v"], given["a"].copy()), np.empty(given["nv"])
    kernel = dynamics_entries.mass_inverse_dynamics.rigid
    assert kernel(*tables, *state, tau, matrix) == layout.OK
    assert kernel(*tables, *state, state[2], matrix) == layout.OK
    assert np.array_equal(state[2], tau)
    assert kernel(*tables, given["q"], given["v"] * np.nan, given["a"], tau, matrix) == layout.NOT_FINITE
