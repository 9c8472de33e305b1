"""Entry points of hybrid dynamics."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import of_a_tree
from titop.solvers.kernels.entries import hybrid_entries
from titop.solvers.kernels.interface import layout


def test_efforts_that_are_not_finite_are_told_also_where_motion_is_imposed() -> None:
    given = of_a_tree()
    n = given["nv"]
    imposed, tau = np.arange(n) == 0, given["tau"].copy()
    tau[0] = np.nan
    tables = given["ints"], given["floats"]
    results = np.zeros(n), np.zeros(n)
    kernel = hybrid_entries.hybrid_dynamics.rigid
    assert kernel(imposed, *tables, given["q"], given["v"], tau, given["a"], *results) == layout.NOT_FINITE
