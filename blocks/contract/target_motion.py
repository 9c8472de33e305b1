"""The motion of ports and coordinates, as interactions and switching functions receive it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array

#: For blocks without first-order states.
NO_STATES = np.zeros(0)


class TargetMotion(NamedTuple):
    """The motion of the p ports and n coordinates of an interaction with m inputs and k states of its own.

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
