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
    rows = [
        ReadingRow(sensor_readings.RATE, 1, factor=3.0),
        ReadingRow(sensor_readings.ANGULAR_VELOCITY, 1),
        ReadingRow(sensor_readings.COORDINATE, 0),
    ]
    what, frames, count = reading_tables(rows)
    result = np.full(count, np.nan)
    state = given["q"], given["v"], given["a"]
    assert readings.rigid(what, frames, given["ints"], given["floats"], *state, result) == layout.OK
    assert count == 5
    assert result[0] == 3.0 * given["v"][1]
    assert result[4] == given["q"][0]
    assert np.isfinite(result).all()
