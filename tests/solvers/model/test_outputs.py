"""What the sensors of a model read, all in one row."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES


@pytest.mark.parametrize("engine", ENGINES)
def test_outputs_stand_in_the_order_of_the_sensors(engine: str) -> None:
    """A slider: where it is, how fast, and what its accelerometer feels, which is not its acceleration alone."""
    s = tt.System("lift", gravity=[0, 0, -10.0])
    cabin = tt.RigidBody("cabin", mass=2.0)
    s.connect("world", cabin, tt.Prismatic("rope", axis=[0, 0, 1]))
    s.add_sensor(tt.Accelerometer("felt", cabin))
    s.add_sensor(tt.Tachometer("speed", "rope"))
    s.add_sensor(tt.Encoder("height", "rope"))
    m = s.resolve(engine)
    assert [name.split(".")[0].split("[")[0] for name in m.output_names] == ["felt"] * 3 + ["speed", "height"]
    assert m.output_units == ("m/s^2",) * 3 + ("m/s", "m")
    states = [0.5], [2.0], [3.0]
    expected = [0.0, 0.0, 3.0 + 10.0, 2.0, 0.5]
    np.testing.assert_allclose(m.outputs(*states), expected, rtol=1e-15)  # sums of two numbers
    stacked = m.outputs(*(np.tile(x, (3, 1)) for x in states))
    np.testing.assert_array_equal(stacked, np.tile(m.outputs(*states), (3, 1)))


@pytest.mark.parametrize("engine", ENGINES)
def test_without_sensors_there_is_nothing_to_read(engine: str) -> None:
    s = tt.System("lift")
    s.connect("world", tt.RigidBody("cabin", mass=2.0), tt.Prismatic("rope", axis=[0, 0, 1]))
    m = s.resolve(engine)
    assert m.output_names == m.output_units == ()
    assert m.outputs([0.5], [2.0], [3.0]).shape == (0,)
