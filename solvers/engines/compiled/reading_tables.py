"""Tables of what the kernels are asked to read at a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.ports import sensor_readings

#: The pose of a frame in itself.
IDENTITY = np.concatenate([np.eye(3).ravel(), np.zeros(3)])

#: What depends on the constraints' multipliers.
CARRIED = (sensor_readings.JOINT_WRENCH, sensor_readings.CLOSURE_WRENCH, sensor_readings.MULTIPLIER)

#: How many numbers each has.
SIZES = {
    sensor_readings.SPECIFIC_FORCE: 3,
    sensor_readings.ANGULAR_VELOCITY: 3,
    sensor_readings.POSE: 6,
    sensor_readings.COORDINATE: 1,
    sensor_readings.RATE: 1,
    sensor_readings.MOTION: 18,
    sensor_readings.JOINT_WRENCH: 6,
    sensor_readings.ACTING_WRENCH: 6,
    sensor_readings.CLOSURE_WRENCH: 6,
    sensor_readings.MULTIPLIER: 1,
}


class Row(NamedTuple):
    """One row of the table of what to read: what, where, at which port and about which axes; the port's pose, a factor."""

    what: int
    at: int
    port: int = -1
    axes: int = 0
    frame: Array = IDENTITY
    factor: float = 1.0


def reading_tables(rows: Sequence[Row]) -> tuple[Array, Array, int]:
    """Return the tables of rows (see `sensor_readings`), and how many numbers are read."""
    sizes = [SIZES[row.what] for row in rows]
    numbers = [[row.what, row.at, row.port, sum(sizes[:k]), row.axes] for k, row in enumerate(rows)]
    table = np.array(numbers, dtype=np.int64).reshape(-1, sensor_readings.READING_COLUMNS)
    frames = np.array([[*row.frame, row.factor] for row in rows], dtype=float).reshape(-1, sensor_readings.FRAME_COLUMNS)
    return table, frames, sum(sizes)
