"""Where a trajectory leaves the limits of joints and actuators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.units import effort_unit, rate_unit
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.limits import Limits
from titop.solvers.simulation.recorded_motion import RecordedMotion


def violations(trajectory: RecordedMotion) -> Iterator[Finding]:
    """Yield the worst instant of every coordinate, velocity, effort and input that leaves its limits.

    Efforts are those of `tau` and of motors together.
    """
    model, t = trajectory.model, trajectory.t
    efforts = trajectory.tau + trajectory.u @ model.inputs.motors.T
    for block in model.assembly.blocks_with_coordinates:
        if not isinstance(block, Joint):
            continue
        where = model.assembly.v_slices[block.name]
        start = model.assembly.q_slices[block.name].start if block.configuration_names == block.coordinates else None
        for k, limits in enumerate(block.limits):
            if start is not None:
                yield from _beyond_position(trajectory, limits, start + k, where.start + k)
            yield from _beyond_limits(trajectory, efforts, limits, where.start + k)
    for own in model.assembly.limits:
        in_q, in_v = model.assembly.place(own.joint)
        yield from _beyond_position(trajectory, own.limits[0], in_q, in_v)
        yield from _beyond_limits(trajectory, efforts, own.limits[0], in_v)
    inputs = model.inputs
    for k, name in enumerate(inputs.names):
        yield from _beyond(t, trajectory.u[:, k], inputs.lower[k], inputs.upper[k], f"{name} input", inputs.units[k])


def _beyond_position(trajectory: RecordedMotion, limits: Limits, q: int, v: int) -> Iterator[Finding]:
    name, unit = trajectory.model.coordinate_names[v], trajectory.model.assembly.coordinate_units[v]
    yield from _beyond(trajectory.t, trajectory.q[:, q], limits.lower, limits.upper, f"{name} position", unit)


def _beyond_limits(trajectory: RecordedMotion, efforts: Array, limits: Limits, v: int) -> Iterator[Finding]:
    model, t = trajectory.model, trajectory.t
    name, unit = model.coordinate_names[v], model.assembly.coordinate_units[v]
    yield from _beyond(t, trajectory.v[:, v], -limits.velocity, limits.velocity, f"{name} velocity", rate_unit(unit))
    yield from _beyond(t, efforts[:, v], -limits.effort, limits.effort, f"{name} effort", effort_unit(unit))


def _beyond(t: Array, values: Array, lower: float, upper: float, what: str, unit: str) -> Iterator[Finding]:
    excess = np.maximum(lower - values, values - upper)
    worst = int(np.argmax(excess))
    if not excess[worst] <= 0:  # or where there is no number
        value, advice = f"{values[worst]:.6g} {unit} at t = {t[worst]:.6g} s", "change the motion or the limit"
        yield Finding("limit", what, value, f"between {lower:.6g} and {upper:.6g} {unit}", advice)
