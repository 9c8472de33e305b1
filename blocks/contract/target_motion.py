"""What blocks that act on others, or watch where they are, are told of motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array

#: Of what has no states of the first order.
NO_STATES = np.zeros(0)


class TargetMotion(NamedTuple):
    """What an interaction on p ports and n coordinates, with m inputs and k states of its own, is told.

    Attributes
    ----------
    R : (p, 3, 3) array
        Attitude of each port in the first one.
    r : (p, 3) array, m
        Position of each port in the first one.
    V : (p, 6) array, m/s and rad/s
        Twist of each port, in its own frame, linear part first.
    q, v : (n,) arrays
        Coordinates (rad or m) and their rates.
    u : (m,) array
        Inputs, in `input_units`.
    x : (k,) array
        States, in `state_units`.
    """

    R: Array
    r: Array
    V: Array
    q: Array
    v: Array
    u: Array
    x: Array = NO_STATES
