"""Entry points of systems with closures: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_linkage
from titop.solvers.kernels.entries import closure_entries
from titop.solvers.kernels.interface import layout


def test_states_for_forward_dynamics() -> None:
    assert_sizes_matter(closure_entries.constrained_forward.rigid, of_a_linkage(), ("q", "v", "tau", "a"))


def test_states_for_inverse_dynamics() -> None:
    given = of_a_linkage()
    given |= {"unknown": np.ones(given["nv"], dtype=bool), "driven": np.zeros(given["nv"])}
    assert_sizes_matter(closure_entries.constrained_inverse.rigid, given, ("q", "v", "a", "tau", "driven"))


def test_states_for_the_nearest_motion() -> None:
    given = of_a_linkage()
    given |= {"second": False, "sizes": np.ones(given["nv"]), "held": np.zeros(given["nv"], dtype=bool)}
    given["x"] = given["v"].copy()
    assert_sizes_matter(closure_entries.nearest_motion.rigid, given, ("q", "v", "x"))


def test_open_loops_share_no_efforts() -> None:
    given = of_a_linkage()
    kernel, every, driven = closure_entries.constrained_inverse.rigid, np.ones(given["nv"], dtype=bool), np.zeros(given["nv"])
    tables = given["loops"], every, driven, given["ints"], given["floats"]
    states = given["v"], given["a"], np.empty(given["nv"])
    assert kernel(*tables, given["q"], *states) == layout.OK
    assert kernel(*tables, given["q"] + 1e-3, *states) == layout.INCONSISTENT
