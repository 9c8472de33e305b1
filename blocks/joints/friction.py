"""Smooth dry friction of joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader, real_array

#: Names of the parameters of one coordinate's friction, in order, with units per unit of effort and rate.
FRICTION_ENTRIES = ("coulomb", "breakaway", "stribeck_velocity", "smoothing")


@dataclass(frozen=True)
class Friction:
    """Dry friction of one coordinate; viscous friction is the joint's damping.

    The effort is ``-(F_c + (F_b - F_c) exp(-(v/v_s)^2)) tanh(v/v_0)``: Coulomb friction with a larger breakaway value near
    rest (Stribeck's curve). It is smooth: the joint creeps instead of sticking.

    Attributes
    ----------
    coulomb : float, N or N m
        Friction F_c of a moving joint.
    breakaway : float, N or N m, optional
        Friction F_b near rest; equal to `coulomb` by default.
    stribeck_velocity : float, m/s or rad/s
        Velocity v_s over which breakaway falls to Coulomb friction.
    smoothing : float, m/s or rad/s
        Velocity v_0 over which friction changes sign.
    """

    coulomb: float = 0.0
    breakaway: float | None = None
    stribeck_velocity: float = 0.01
    smoothing: float = 0.001


def read_friction(reader: FieldReader, value: Any, count: int) -> Array:
    """Read the friction of `count` coordinates (None, one `Friction` for all, one for each) as an array (count, 4).

    Such an array is also accepted as a value.
    """
    if isinstance(value, np.ndarray) and value.shape == (count, 4) and real_array(value) is not None:
        return reader.array("friction", value, (count, 4))
    single = value is None or isinstance(value, Friction)
    frictions = [value or Friction()] * count if single else list(value) if isinstance(value, Iterable) else [value]
    if len(frictions) != count or not all(isinstance(item, Friction) for item in frictions):
        advice = "write tt.Friction(coulomb=0.1)"
        reader.report("wrong-type", "friction", value, f"tt.Friction, or {count} of them", advice)
        return np.tile([0.0, 0.0, 1.0, 1.0], (count, 1))
    rows = [
        [item.coulomb, item.coulomb if item.breakaway is None else item.breakaway, item.stribeck_velocity, item.smoothing]
        for item in frictions
    ]
    return reader.array("friction", rows or np.zeros((0, 4)), (count, 4), "give one number for each entry")


def friction_efforts(friction: Array, v: Array) -> Array:
    """Return the efforts (n) of dry friction (n, 4) at the velocities v (n)."""
    coulomb, breakaway, stribeck, smoothing = friction.T
    return -(coulomb + (breakaway - coulomb) * np.exp(-((v / stribeck) ** 2))) * np.tanh(v / smoothing)
