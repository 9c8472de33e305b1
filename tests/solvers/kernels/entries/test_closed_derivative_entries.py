"""Entry points of the derivatives of systems with closures: what has not the system's size does not reach memory."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_linkage
from titop.solvers.kernels.entries import derivative_entries as entries


def test_derivatives_of_forward_dynamics() -> None:
    given = of_a_linkage()
    given["result"] = np.zeros((3, given["nv"], given["nv"]))
    assert_sizes_matter(entries.constrained_derivatives.rigid, given, ("q", "v", "tau", "result"))


def test_derivatives_of_least_efforts() -> None:
    given = of_a_linkage()
    n = given["nv"]
    given |= {"unknown": np.ones(n, dtype=bool), "driven": np.zeros(n), "result": np.zeros((3, n, n))}
    assert_sizes_matter(entries.shared_derivatives.rigid, given, ("q", "v", "a", "driven", "result"))


def test_derivatives_at_given_multipliers() -> None:
    given = of_a_linkage()
    n, k = given["nv"], given["loops"][0, 2]
    given |= {"multipliers": np.zeros(k), "changes": np.zeros((3, n, n)), "rows": np.zeros((4, k, n))}
    assert_sizes_matter(entries.inverse_slopes_with_closures.rigid, given, ("q", "v", "a"))
