"""Limits of joints: data that trajectories are checked against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from titop.blocks.checks import FieldReader, real_array


@dataclass(frozen=True)
class Limits:
    """Limits of one coordinate.

    Attributes
    ----------
    lower, upper : float, m or rad
        Least and largest position.
    velocity : float, m/s or rad/s
        Largest absolute velocity.
    effort : float, N or N m
        Largest absolute effort.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


def read_limits(reader: FieldReader, value: Any, count: int) -> tuple[Limits, ...]:
    """Read the limits of `count` coordinates: None, one `Limits` for all, or one for each."""
    single = value is None or isinstance(value, Limits)
    limits = (value or Limits(),) * count if single else tuple(value)
    if len(limits) != count or not all(isinstance(item, Limits) for item in limits):
        reader.report("wrong-type", "limits", value, f"tt.Limits, or {count} of them", "write tt.Limits(lower=-1, upper=1)")
        return (Limits(),) * count
    for item in limits:
        given = real_array([item.lower, item.upper, item.velocity, item.effort])
        numbers = [] if given is None or given.shape != (4,) else given.tolist()
        if not numbers or not numbers[0] <= numbers[1] or not all(x >= 0 for x in numbers[2:]):
            reader.report(
                "bad-limits", "limits", item, "lower <= upper, and velocity and effort >= 0", "check the order and signs"
            )
    return limits
