"""The named outputs of a model: what its sensors read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from titop.blocks.sensors import (
    Accelerometer,
    Encoder,
    Gyro,
    PoseSensor,
    ReactionSensor,
    Sensor,
    Tachometer,
    WheelMomentum,
)
from titop.blocks.spatial import Array

if TYPE_CHECKING:
    from titop.solvers.model import Model


def read_sensor(model: Model, sensor: Sensor, q: Any, v: Any, a: Any, wrenches: Any, u: Any, tau: Any) -> Array:
    """Return what a sensor reads of a state, its accelerations and what acts from outside."""
    if isinstance(sensor, Accelerometer):
        return model.accelerometer(str(sensor.target), q, v, a)
    if isinstance(sensor, Gyro):
        return model.motion(str(sensor.target), q, v, a)[9:12]
    if isinstance(sensor, PoseSensor):
        angles = model.motion(str(sensor.target), q, v, a, sensor.sequence)[15:]
        return np.concatenate([model.pose(str(sensor.target), q)[1], angles])
    if isinstance(sensor, ReactionSensor):
        return model.reaction(sensor.joint, q, v, a, wrenches, u, tau)
    if isinstance(sensor, Encoder):
        return np.atleast_1d(np.asarray(q)[sensor_entry(model, sensor.joint, model.assembly.q_slices)])
    if isinstance(sensor, Tachometer | WheelMomentum):
        rate = np.atleast_1d(np.asarray(v)[sensor_entry(model, sensor.joint, model.assembly.v_slices)])
        return rate if isinstance(sensor, Tachometer) else sensor.inertia * rate
    raise NotImplementedError(f"sensor {sensor.name!r} of unknown type {type(sensor).__name__}")


def sensor_units(model: Model, sensor: Sensor) -> tuple[str, ...]:
    """Return the units of a sensor's outputs; those of encoders and tachometers are their coordinate's."""
    if not isinstance(sensor, Encoder | Tachometer):
        return sensor.output_units
    joint, _, coordinate = sensor.joint.partition(".")
    block = model.assembly.blocks[joint]
    units: tuple[str, ...] = getattr(block, "units", ("1",) * block.nv)
    unit = units[block.coordinates.index(coordinate) if coordinate else 0]
    return (unit if isinstance(sensor, Encoder) else f"{unit}/s",)


def configuration_units(model: Model) -> dict[str, str]:
    """Return the unit of every configuration entry that has one."""
    return _units(model, model.configuration_names, model.assembly.q_slices, "configuration_units")


def coordinate_units(model: Model) -> dict[str, str]:
    """Return the unit of the coordinate that every entry of v changes, where it has one."""
    return _units(model, model.coordinate_names, model.assembly.v_slices, "units")


def _units(model: Model, names: tuple[str, ...], slices: dict[str, slice], attribute: str) -> dict[str, str]:
    units: dict[str, str] = {}
    for block in model.assembly.blocks_with_coordinates():
        units |= dict(zip(names[slices[block.name]], getattr(block, attribute, ()), strict=False))
    return units


def sensor_entry(model: Model, name: str, slices: dict[str, slice]) -> int:
    """Return where the coordinate that a joint's sensor reads stands in q or v."""
    joint, _, coordinate = name.partition(".")
    start: int = slices[joint].start
    return start + (model.assembly.blocks[joint].coordinates.index(coordinate) if coordinate else 0)
