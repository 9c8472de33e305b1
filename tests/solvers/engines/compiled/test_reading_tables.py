"""Tables of what to read: the numbers of all rows, one behind the other."""

from __future__ import annotations

import numpy as np

from titop.solvers.engines.compiled.reading_tables import IDENTITY, Row, reading_tables
from titop.solvers.kernels.ports import sensor_readings as readings


def test_numbers_stand_behind_those_of_the_rows_before() -> None:
    rows = [
        Row(readings.POSE, 3, axes=21),
        Row(readings.RATE, 1, factor=-2.0),
        Row(readings.MOTION, 2, 40),
        Row(readings.RATE, 0),
    ]
    table, frames, count = reading_tables(rows)
    assert table[:, readings.WHAT].tolist() == [readings.POSE, readings.RATE, readings.MOTION, readings.RATE]
    assert table[:, readings.PLACE].tolist() == [0, 6, 7, 25]
    assert count == 26
    assert table[:, readings.AT].tolist() == [3, 1, 2, 0]
    assert table[:, readings.READ_PORT].tolist() == [-1, -1, 40, -1]
    assert table[:, readings.AXES].tolist() == [21, 0, 0, 0]
    assert frames[:, readings.FACTOR].tolist() == [1.0, -2.0, 1.0, 1.0]
    assert np.array_equal(frames[:, :12], np.tile(IDENTITY, (4, 1)))


def test_nothing_to_read_has_tables_too() -> None:
    table, frames, count = reading_tables([])
    assert table.shape == (0, readings.READING_COLUMNS)
    assert frames.shape == (0, readings.FRAME_COLUMNS)
    assert count == 0
