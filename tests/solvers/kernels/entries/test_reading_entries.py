"""Entry points of what sensors read: readings stand where they were asked for."""

from __future__ import annotations

import numpy as np

from tests.solvers.kernels.entries.wrong_sizes import of_a_tree
from titop.solvers.engines.compiled.compiled_readings import ReadingRow, reading_tables
from titop.solvers.kernels.entries.reading_entries import readings
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports import sensor_readings


def test_readings_stand_one_after_the_other() -> None:
    given = of_a_tree()
    states = [np.array([given[name], 2 * given[name]]) for name in ("q", "v", "a")]
    rows = [
        ReadingRow(sensor_readings.RATE, 1, factor=3.0),
        ReadingRow(sensor_readings.ANGULAR_VELOCITY, 1),
        ReadingRow(sensor_readings.COORDINATE, 0),
    ]
    what, frames, count = reading_tables(rows)
    result = np.full((2, count), np.nan)
    assert readings.stacked.rigid(what, frames, given["ints"], given["floats"], *states, result) == layout.OK
    assert count == 5
    assert np.array_equal(result[:, 0], 3.0 * states[1][:, 1])
    assert np.array_equal(result[:, 4], states[0][:, 0])
    assert np.isfinite(result).all()
