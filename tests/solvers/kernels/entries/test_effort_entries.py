"""Entry points of what acts along the coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from titop.solvers.kernels.entries import effort_entries


@pytest.mark.parametrize(
    ("largest", "power"), [(0.0, 1.0), (0.9, 1.0), (1.0, 2.0), (3.0, 4.0), (-1e6, 2.0**20), (np.inf, 1.0), (np.nan, 1.0)]
)
def test_inputs_are_taken_as_large_as_a_power_of_two_above_what_acts(largest: float, power: float) -> None:
    """As in the reference resolver (`interaction_loads`), by `frexp`."""
    assert effort_entries.power_above(np.array([[0.0, largest, 0.5]])) == power
    if np.isfinite(largest):
        assert power == max(1.0, 2.0 ** np.frexp(abs(largest))[1])
