"""Harmonics of an angle, ``sum amplitude sin(order angle + phase)``: cogging, micro-vibration, errors of gears."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import ParameterFields


def read_harmonics(block: Any, field: str, value: Any) -> Array:
    """Read rows of order, amplitude and phase, which may be left out, as an array (h, 3); orders have to be positive."""
    try:
        rows: Any = [[*row, 0.0] if len(row) == 2 else row for row in value]
    except TypeError:  # no rows
        rows = [value]
    read: Array = block.reader.array(field, rows or np.zeros((0, 3)), (len(rows), 3), "write [(6, 0.01, 0.0)]")
    if (read[:, 0] <= 0).any():
        block.reader.report("bad-order", field, value, "orders above zero", "give periods per turn, and a load for a constant")
    return read


def row_fields(field: str, rows: Array, units: dict[str, str]) -> ParameterFields:
    """Return the parameters in rows, as ``cogging.0.torque``, from the names of all columns; those without unit are none."""
    columns = [(j, name, unit) for j, (name, unit) in enumerate(units.items()) if unit]
    return {f"{field}.{k}.{name}": (field, (k, j), unit) for k in range(len(rows)) for j, name, unit in columns}


def harmonic_sum(numbers: Any, start: Any, count: Any, angle: Any) -> tuple[Any, Any]:
    """Return the sum of `count` harmonics at an angle, and its derivative; their rows begin in `numbers` at `start`."""
    total, slope = 0.0 * angle, 0.0 * angle
    for k in range(start, start + 3 * count, 3):
        phase = numbers[k] * angle + numbers[k + 2]
        total, slope = total + numbers[k + 1] * np.sin(phase), slope + numbers[k] * numbers[k + 1] * np.cos(phase)
    return total, slope
