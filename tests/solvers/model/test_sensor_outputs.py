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


@pytest.mark.parametrize("engine", ENGINES)
def test_what_nothing_reads_is_refused_all_the_same(engine: str) -> None:
    """A rod on a hub whose angle alone is measured: loads, and motions of the rod, that are no numbers."""
    s = tt.System("antenna")
    hub = tt.RigidBody("hub", 1.0, inertia=[0.1] * 3)
    s.connect("world", hub, tt.Revolute("turn"))
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), 1e6, 1000.0, strains={"bending_z": 0})
    s.connect(hub, rod, tt.Weld("root"))
    s.add_sensor(tt.Encoder("angle", "turn"))
    s.add_actuator(tt.Motor("drive", "turn"))
    m, z, bad = s.resolve(engine), np.zeros(2), np.array([0.0, np.nan])
    stack, no_wrench = np.zeros((2, 2)), np.array([0.0, np.inf, 0.0, 0.0, 0.0, 0.0])
    for where, call in (
        (r"wrenches\['rod.tip'\]", lambda: m.outputs(z, z, z, wrenches={"rod.tip": no_wrench})),
        (r"wrenches\['rod.tip'\]", lambda: m.outputs(z, z, z, wrenches={"rod.tip": no_wrench.tolist()})),
        (r"wrenches\['rod.tip'\]\[1, 1\]", lambda: m.outputs(stack, stack, stack, {"rod.tip": [np.zeros(6), no_wrench]})),
        (r"u\[0\]", lambda: m.outputs(z, z, z, u=[np.nan])),
        (r"tau\[1\]", lambda: m.outputs(z, z, z, tau=bad)),
        (r"tau\[1\]", lambda: m.reaction("root", z, z, z, tau=bad)),
        (r"v\[1\]", lambda: m.regressor(z, bad, z)),
        (r"a\[1\]", lambda: m.regressor(z, z, bad)),
        (r"q\[1\]", lambda: m.regressor(bad, z, z)),
        ("q", lambda: m.closure_rank("abc")),
        ("q", lambda: m.closure_rank([0.0])),
        (r"q\[1\]", lambda: m.closure_rank(bad)),
    ):
        with pytest.raises(tt.ModelError, match=f"^{where}: got"):
            call()
