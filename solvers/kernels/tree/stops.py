"""Stops of coordinates, see `titop.blocks.joints.limits`: they push as contacts do."""

from __future__ import annotations

import math

from titop.blocks.laws.impact import HERTZ, impact_energy, impact_push
from titop.solvers.kernels.interface import layout
from titop.solvers.native.kernel import helper


@helper
def stop_load(floats, row, x, rate):
    """Return the effort with which a coordinate at x presses on its stop."""
    if floats[row, layout.STOP + 2] == 0.0:
        return 0.0
    depth, side = _depth(floats, row, x)
    return side * impact_push(depth, side * rate, floats[row, layout.STOP + 2], floats[row, layout.STOP + 3], HERTZ)


@helper
def stop_slopes(floats, row, x, rate):
    """Return the derivatives of `stop_load` by position and rate."""
    stiffness, dissipation = floats[row, layout.STOP + 2], floats[row, layout.STOP + 3]
    if stiffness == 0.0:
        return 0.0, 0.0
    depth, side = _depth(floats, row, x)
    share, root = 1.0 + dissipation * side * rate, math.sqrt(depth)
    if share <= 0.0:
        return 0.0, 0.0
    return 1.5 * stiffness * root * share, stiffness * depth * root * dissipation


@helper
def stop_energy(floats, row, x):
    """Return the energy of a coordinate's stop (J)."""
    stiffness = floats[row, layout.STOP + 2]
    return impact_energy(_depth(floats, row, x)[0], stiffness, HERTZ) if stiffness > 0.0 else 0.0


@helper
def _depth(floats, row, x):
    """Return how deep x is in its stop, and on which side this stands: -1 below, 1 above."""
    lower, upper = floats[row, layout.STOP], floats[row, layout.STOP + 1]
    return (lower - x, -1.0) if x < lower else (max(x - upper, 0.0), 1.0)
