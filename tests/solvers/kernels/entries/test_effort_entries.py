"""Entry points of what acts along the coordinates: what has not the system's size is refused before memory is touched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.entries.wrong_sizes import assert_sizes_matter, of_a_tree
from titop.solvers.kernels.entries import effort_entries


def test_states_for_passive_efforts() -> None:
    given = of_a_tree()
    given |= {"bare": given["ints"], "asked": np.zeros((1, 0), dtype=np.int64), "efforts": np.zeros(given["nv"])}
    assert_sizes_matter(effort_entries.passive_efforts.rigid, given, ("q", "v", "efforts"))


def test_configurations_and_results_for_actuation() -> None:
    given = of_a_tree()
    none, motors = np.zeros((1, 0), dtype=np.int64), np.ones((2, given["nv"]))
    given |= {"places": none, "acting": np.zeros((0, 3), dtype=np.int64), "motors": motors, "result": np.zeros_like(motors)}
    assert_sizes_matter(effort_entries.actuation_rows.rigid, given, ("q", "result"))


@pytest.mark.parametrize(
    ("largest", "power"), [(0.0, 1.0), (0.9, 1.0), (1.0, 2.0), (3.0, 4.0), (-1e6, 2.0**20), (np.inf, 1.0), (np.nan, 1.0)]
)
def test_inputs_are_taken_as_large_as_a_power_of_two_above_what_acts(largest: float, power: float) -> None:
    """As in the reference resolver (`interaction_loads`), by `frexp`."""
    assert effort_entries.power_above(np.array([[0.0, largest, 0.5]])) == power
    if np.isfinite(largest):
        assert power == max(1.0, 2.0 ** np.frexp(abs(largest))[1])
