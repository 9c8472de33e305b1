"""Entry points of hybrid dynamics: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_linkage, of_a_tree
from titop.solvers.kernels.entries import hybrid_entries
from titop.solvers.kernels.interface import layout


def test_states_of_a_tree_of_other_sizes_are_refused() -> None:
    given = of_a_tree()
    n = given["nv"]
    given |= {"imposed": np.arange(n) % 2 == 0, "accelerations": np.zeros(n), "efforts": np.zeros(n)}
    assert_sizes_matter(hybrid_entries.hybrid_dynamics.rigid, given, ("q", "v", "tau", "a"))


def test_states_of_a_linkage_of_other_sizes_are_refused() -> None:
    """With its only free motion imposed no constraint acts on what is imposed, and all act on the rest."""
    given = of_a_linkage()
    n = given["nv"]
    given |= {"imposed": np.arange(n) == 0, "accelerations": np.zeros(n), "efforts": np.zeros(n)}
    assert_sizes_matter(hybrid_entries.constrained_hybrid.rigid, given, ("q", "v", "tau", "a"))


def test_efforts_that_are_not_finite_are_told_also_where_motion_is_imposed() -> None:
    given = of_a_tree()
    n = given["nv"]
    imposed, tau = np.arange(n) == 0, given["tau"].copy()
    tau[0] = np.nan
    tables = given["ints"], given["floats"]
    results = np.zeros(n), np.zeros(n)
    kernel = hybrid_entries.hybrid_dynamics.rigid
    assert kernel(imposed, *tables, given["q"], given["v"], tau, given["a"], *results) == layout.NOT_FINITE
