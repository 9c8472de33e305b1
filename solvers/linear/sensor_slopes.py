"""How the readings of sensors change with the state."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array, skew
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
from titop.solvers.linear.closed_reaction import ClosedReaction
from titop.solvers.linear.joint_opening import OpenedJoint
from titop.solvers.linear.port_slopes import acceleration_slopes, euler_slopes, twist_slopes
from titop.solvers.linear.variation import Snapshot, Variation


def sensor_slopes(at: Snapshot, change: Variation, sensor: Sensor, opened: OpenedJoint | ClosedReaction) -> Array:
    """Return the change (outputs, z) of what a sensor reads; see `read_sensor`."""
    if isinstance(sensor, Accelerometer):
        return _specific_force(at, change, str(sensor.target))
    if isinstance(sensor, Gyro):
        return twist_slopes(at, change, str(sensor.target))[3:]
    if isinstance(sensor, PoseSensor):
        return _pose(at, change, sensor)
    if isinstance(sensor, ReactionSensor):
        return opened.slopes(at, change)
    if isinstance(sensor, Encoder):
        return at.model.configuration_slopes(at.q)[[at.model.assembly.place(sensor.joint)[0]]] @ change.q
    if isinstance(sensor, Tachometer | WheelMomentum):
        rate = change.v[[at.model.assembly.place(sensor.joint)[1]]]
        return rate if isinstance(sensor, Tachometer) else sensor.inertia * rate
    raise NotImplementedError(f"sensor {sensor.name!r} of unknown type {type(sensor).__name__}")


def _specific_force(at: Snapshot, change: Variation, port: str) -> Array:
    """Return the change of ``dv - R^T g + w x v``."""
    motion, rotation = at.model._turning_motion(port, at.q, at.v, at.a)
    twist = motion[6:12]
    turned = at.model.jacobian(port, at.q)[3:] @ change.q
    rates = twist_slopes(at, change, port)
    gravity = skew(rotation.T @ at.model.gravity) @ turned
    return acceleration_slopes(at, change, port)[:3] - gravity + skew(twist[3:]) @ rates[:3] - skew(twist[:3]) @ rates[3:]


def _pose(at: Snapshot, change: Variation, sensor: PoseSensor) -> Array:
    port = str(sensor.target)
    displacement, rotation = at.model.jacobian(port, at.q) @ change.q, at.model.pose(port, at.q)[0]
    return np.vstack([rotation @ displacement[:3], euler_slopes(port, rotation, sensor.sequence) @ displacement[3:]])
