"""The named outputs of a model: what its sensors read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.devices.sensors import (
    Accelerometer,
    Encoder,
    Gyro,
    PoseSensor,
    ReactionSensor,
    Sensor,
    Tachometer,
    WheelMomentum,
)

if TYPE_CHECKING:
    from titop.solvers.model.model import Model


def read_sensor(model: Model, sensor: Sensor, q: Any, v: Any, a: Any, wrenches: Any, u: Any, tau: Any) -> Array:
    """Return what a sensor reads of a state, its accelerations and what acts from outside."""
    if isinstance(sensor, Accelerometer):
        return model.accelerometer(str(sensor.target), q, v, a)
    if isinstance(sensor, Gyro):
        return model._turning_motion(str(sensor.target), q, v, a)[0][9:12]
    if isinstance(sensor, PoseSensor):
        return model._position_and_angles(str(sensor.target), q, sensor.sequence)
    if isinstance(sensor, ReactionSensor):
        return model.reaction(sensor.joint, q, v, a, wrenches, u, tau)
    if isinstance(sensor, Encoder):
        return np.atleast_1d(np.asarray(q)[model.assembly.place(sensor.joint)[0]])
    if isinstance(sensor, Tachometer | WheelMomentum):
        rate = np.atleast_1d(np.asarray(v)[model.assembly.place(sensor.joint)[1]])
        return rate if isinstance(sensor, Tachometer) else sensor.inertia * rate
    raise NotImplementedError(f"sensor {sensor.name!r} of unknown type {type(sensor).__name__}")


def sensor_units(model: Model, sensor: Sensor) -> tuple[str, ...]:
    """Return the units of a sensor's outputs; those of encoders and tachometers are their coordinate's."""
    if not isinstance(sensor, Encoder | Tachometer):
        return sensor.output_units
    unit = model.assembly.coordinate_units[model.assembly.place(sensor.joint)[1]]
    return (unit if isinstance(sensor, Encoder) else f"{unit}/s",)


def configuration_units(model: Model) -> dict[str, str]:
    """Return the unit of every configuration entry that has one."""
    units: dict[str, str] = {}
    for block in model.assembly.blocks_with_coordinates:
        names = model.configuration_names[model.assembly.q_slices[block.name]]
        plain = getattr(block, "units", ()) if block.configuration_names == block.coordinates else ()
        units |= dict(zip(names, getattr(block, "configuration_units", plain), strict=False))
    return units
