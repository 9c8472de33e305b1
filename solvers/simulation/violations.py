"""Where a trajectory leaves the limits of joints and actuators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.errors import Finding
from titop.blocks.joint import Joint
from titop.blocks.spatial import Array

if TYPE_CHECKING:
    from titop.solvers.simulation.trajectory import Trajectory


def violations(trajectory: Trajectory) -> Iterator[Finding]:
    """Yield the worst instant of every coordinate, velocity, effort and input that leaves its limits."""
    model, t = trajectory.model, trajectory.t
    for block in model.assembly.blocks_with_coordinates:
        if not isinstance(block, Joint) or block.configuration_names != block.coordinates:
            continue
        where = model.assembly.v_slices[block.name]
        start = model.assembly.q_slices[block.name].start
        for k, limits in enumerate(block.limits):
            name = model.coordinate_names[where.start + k]
            yield from _beyond(t, trajectory.q[:, start + k], limits.lower, limits.upper, f"{name} position")
            yield from _beyond(t, trajectory.v[:, where.start + k], -limits.velocity, limits.velocity, f"{name} velocity")
            yield from _beyond(t, trajectory.tau[:, where.start + k], -limits.effort, limits.effort, f"{name} effort")
    inputs = model.inputs
    for k, name in enumerate(inputs.names):
        yield from _beyond(t, trajectory.u[:, k], inputs.lower[k], inputs.upper[k], f"{name} input")


def _beyond(t: Array, values: Array, lower: float, upper: float, what: str) -> Iterator[Finding]:
    excess = np.maximum(lower - values, values - upper)
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        value, advice = f"{values[worst]:.6g} at t = {t[worst]:.6g} s", "change the motion or the limit"
        yield Finding("limit", what, value, f"between {lower:.6g} and {upper:.6g}", advice)
