"""Tables of gears alone, as the kernels take them, and what they say as a matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.systems import Array
from titop.solvers.kernels.interface import layout

#: As many rows there are for coordinates, none of which is a length.
COORDINATES = 7


class Train(NamedTuple):
    """Gears between coordinates: the kernels' tables, and the motion G (n x n) of all a unit of those that lead."""

    loops: NDArray[np.int64]
    floats: Array
    basis: Array


def no_gears(constraints: int) -> Train:
    """Return the tables of constraints none of which is a gear's, all of them independent, on a few coordinates."""
    loops = np.zeros((1 + COORDINATES, layout.LOOPS_COLUMNS), dtype=np.int64)
    loops[0, layout.ROWS] = loops[0, layout.WHOLE_RANK] = loops[0, layout.RANK] = constraints
    return Train(loops, np.zeros((1, layout.FLOAT_COLUMNS)), np.eye(0))


def train() -> Train:
    """Return gears by which of five coordinates 2 is -3 times 0, 4 half of 2, and 3 stands still; 0 and 1 lead."""
    loops, floats = np.zeros((4 + COORDINATES, layout.LOOPS_COLUMNS), dtype=np.int64), np.zeros((7, layout.FLOAT_COLUMNS))
    header = loops[0]
    header[layout.ROWS], header[layout.GEARS], header[layout.FOLLOWERS] = 3, 3, 3
    # what follows is taken out first where others follow it in turn: 4 before 2
    ends = ((4, 2, 1.0, -0.5), (2, 0, 1.0 / 3.0, 1.0), (3, -1, 2.0, -1.0))
    for k, (follower, leader, own_factor, other) in enumerate(ends):
        own = loops[1 + k]
        own[layout.FOLLOWER], own[layout.LEADER], own[layout.CONSTRAINT] = follower, leader, k
        own[layout.FOLLOWER_TERM], own[layout.LEADER_TERM] = 1 + 2 * k, 2 + 2 * k
        floats[1 + 2 * k, layout.FACTOR], floats[2 + 2 * k, layout.FACTOR] = own_factor, other
    basis = np.zeros((5, 5))
    basis[0, 0], basis[2, 0], basis[4, 0], basis[1, 1] = 1.0, -3.0, -1.5, 1.0
    return Train(loops, floats, basis)
