"""Places for motions that nobody asks for any more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.kernels.series.motions_at_random import Moving
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series import rooms


@pytest.mark.parametrize("seed", range(5))
def test_places_are_taken_again_behind_the_last_child(seed: int) -> None:
    ints = Moving(seed, bodies=12).tables[0]
    place, kept = rooms.places(ints)
    count, parents = len(place), ints[: ints[0, layout.ELEMENTS], layout.PARENT]
    for i in range(1, count):
        last = max([child for child in range(1, count) if parents[child] == i], default=i)
        between = range(i + 1, last + 1)
        assert all(place[other] not in (place[i], place[0]) for other in between)
    assert kept == place.max() + 1 < count


def test_loads_in_the_inertial_frame_ask_for_all_motions() -> None:
    ints = Moving(0, bodies=12).tables[0].copy()
    ints[0, layout.INERTIAL_LOADS] = 1
    place, kept = rooms.places(ints)
    np.testing.assert_array_equal(place, np.arange(kept))
