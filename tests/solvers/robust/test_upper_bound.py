"""Scalings below a level: found with a G as small as will do, since these stay valid longest."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.robust.families import matrix
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.upper_bound import LARGEST_G, LevelSearch, upper_bound

BLOCKS = [tt.DeltaBlock.real("a", 2), tt.DeltaBlock.real("b", 2)]


def test_g_is_as_small_as_will_do() -> None:
    """Of a matrix whose bound is halved by G: a level just above the bound takes a large one, a higher level a small one."""
    centres, M = Centres(Structure.of(BLOCKS)), matrix(BLOCKS, 5)
    gain, lowest = float(np.linalg.norm(M, 2)), upper_bound(centres, M).level
    assert lowest < 0.9 * gain, "or no G is needed"
    found = {}
    for level in (0.98 * gain, 1.01 * lowest):
        search = LevelSearch(centres, 0.01, None, [])
        bound = search.run(M, 1.0, level)
        assert bound is not None
        assert bound.level <= search.room * level
        assert centres.bound(M, bound.x, bound.g) <= search.room * level, "the scaling itself proves it"
        found[level] = bound.g / gain
    assert found[0.98 * gain] <= 1.0 < found[1.01 * lowest]


def test_of_scalings_nearby_that_will_do_the_one_with_the_smallest_g_is_taken() -> None:
    centres, M = Centres(Structure.of(BLOCKS)), matrix(BLOCKS, 5)
    level = 0.98 * float(np.linalg.norm(M, 2))
    small, large = (upper_bound(centres, M, enough=0.9 * level, largest=largest) for largest in (3.0, LARGEST_G))
    assert max(small.level, large.level) <= 0.99 * level
    for known in ([(1.0, small), (1.1, large)], [(1.0, large), (1.1, small)]):
        bound = LevelSearch(centres, 0.01, None, known).run(M, 1.0, level)
        assert bound is not None
        assert bound.g == small.g
