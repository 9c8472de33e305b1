"""Entry points of what is read of a state: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_tree
from titop.solvers.kernels.entries import observation_entries
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.kernels.interface import layout

#: By entry point: names of the state's arguments, then name and shape of the result; n stands for the number of rates.
ENTRIES = {
    "port_pose": ("q", "pose", (1, 12)),
    "port_jacobian": ("q", "jacobian", (6, "n")),
    "port_motion": ("q v a", "motion", (1, 24)),
    "port_twist": ("q v", "twist", (1, 6)),
    "port_acceleration": ("q v a", "acceleration", (1, 6)),
    "momentum_matrix": ("q", "matrix", (6, "n")),
    "coriolis_matrix": ("q v", "matrix", ("n", "n")),
    "inverse_mass_matrix": ("q", "inverse", ("n", "n")),
    "energies": ("q v", "result", (3,)),
    "momentum": ("q v", "result", (6,)),
    "center_of_mass": ("q", "result", (4,)),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_states_and_results_of_other_sizes_are_refused(name: str) -> None:
    states, result, shape = ENTRIES[name]
    entry, given = getattr(observation_entries, name), of_a_tree()
    given[result] = np.zeros([given["nv"] if length == "n" else length for length in shape])
    if name == "energies":
        count = given["ints"][0, layout.ELEMENTS]
        given["work"], given["world"] = np.zeros((count, layout.INVERSE_COLUMNS)), np.zeros((count, 12))
    assert_sizes_matter(entry.rigid if isinstance(entry, Pair) else entry, given, (*states.split(), result))


def test_regressors_of_other_sizes_are_refused() -> None:
    given = of_a_tree()
    for state in ("q", "v", "a"):
        given[state] = np.tile(given[state], (2, 1))
    given["bodies"] = np.array([[1, 2]])
    given["frames"], given["result"] = np.tile([*np.eye(3).ravel(), 0.0, 0.0, 0.0], (10, 1)), np.zeros((2, 20, given["nv"]))
    assert_sizes_matter(observation_entries.regressor.rigid, given, ("q", "v", "a", "result"))
