"""What a change of a parameter does at a state, before the system answers: efforts, ports that move, constraints that turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.mechanism.movable_ports import Place


class Move(NamedTuple):
    """How a place moves, a unit of the parameter: by small twists of its own frame.

    Attributes
    ----------
    place : Place
    displacement : (6,) array, m and rad
    rate, acceleration : (6,) arrays
        How fast the displacement changes in the course of the motion, and how that changes.
    own : slice
        The coordinates (n) with which it changes.
    by_own : (6, n) array
        The derivative of the displacement by these.
    """

    place: Place
    displacement: Array
    rate: Array
    acceleration: Array
    own: slice
    by_own: Array

    @classmethod
    def still(cls, place: Place, displacement: Array) -> Move:
        """Return a displacement that does not change in the course of the motion."""
        return cls(place, displacement, np.zeros(6), np.zeros(6), slice(0, 0), np.zeros((6, 0)))


class Turn(NamedTuple):
    """How constraints change, a unit of the parameter.

    Attributes
    ----------
    rows : slice
        Which of all (k of them).
    jacobian : (k, nv) array
    opening : (k,) array
        Of ``J a + bias``, m/s^2 and rad/s^2.
    """

    rows: slice
    jacobian: Array
    opening: Array


@dataclass
class Effect:
    """What a unit of a parameter does.

    Attributes
    ----------
    efforts : (nv,) array
        What inverse dynamics need more.
    moves : list of Move
    turns : list of Turn
    """

    efforts: Array
    moves: list[Move] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
