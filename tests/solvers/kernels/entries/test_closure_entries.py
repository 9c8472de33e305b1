"""Entry points of systems with closures."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import of_a_linkage
from titop.solvers.kernels.entries import closure_entries
from titop.solvers.kernels.interface import layout


def test_open_loops_share_no_efforts() -> None:
    given = of_a_linkage()
    kernel, every, driven = closure_entries.constrained_inverse.rigid, np.ones(given["nv"], dtype=bool), np.zeros(given["nv"])
    tables = given["loops"], every, given["ints"], given["floats"], driven
    states = given["v"], given["a"], np.empty(given["nv"])
    assert kernel(*tables, given["q"], *states) == layout.OK
    assert kernel(*tables, given["q"] + 1e-3, *states) == layout.INCONSISTENT
