"""Readings of sensors: Euler angles, against scipy's, and which rows ask for what."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from titop.solvers.kernels.ports import sensor_readings

SEQUENCES = [each for each in product(range(3), repeat=3) if each[0] != each[1] != each[2]]


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda each: "".join("XYZ"[k] for k in each))
def test_euler_angles_of_all_sequences(sequence: tuple[int, int, int]) -> None:
    first, second, third = sequence
    axes = first + 3 * second + 9 * third
    rng = np.random.default_rng(axes)
    names = "".join("XYZ"[k] for k in sequence)
    for rotation in Rotation.from_quat(rng.normal(size=(5, 4))):
        angles = sensor_readings.euler_angles(rotation.as_matrix().ravel()[None], axes)
        np.testing.assert_allclose(angles, rotation.as_euler(names), rtol=0, atol=1e-12)  # rounding over the lock's distance


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda each: "".join("XYZ"[k] for k in each))
def test_in_the_lock_the_third_angle_is_zero_and_the_rotation_right(sequence: tuple[int, int, int]) -> None:
    first, second, third = sequence
    names, middle = "".join("XYZ"[k] for k in sequence), 0.0 if first == third else np.pi / 2
    rotation = Rotation.from_euler(names, [0.4, middle, -1.1])
    angles = sensor_readings.euler_angles(rotation.as_matrix().ravel()[None], first + 3 * second + 9 * third)
    assert angles[2] == 0.0
    np.testing.assert_allclose(Rotation.from_euler(names, angles).as_matrix(), rotation.as_matrix(), rtol=0, atol=1e-12)


def test_rows_that_ask_for_wrenches_are_found() -> None:
    what = np.zeros((3, sensor_readings.READING_COLUMNS), dtype=np.int64)
    what[:, sensor_readings.WHAT] = sensor_readings.POSE, sensor_readings.ACTING_WRENCH, sensor_readings.RATE
    wrenches = sensor_readings.JOINT_WRENCH, sensor_readings.MULTIPLIER
    assert sensor_readings.asks_for(what, *wrenches)
    assert not sensor_readings.asks_for(what[[0, 2]], *wrenches)
    assert not sensor_readings.asks_for(what, sensor_readings.JOINT_WRENCH, sensor_readings.JOINT_WRENCH)
