"""The walk-throughs of CONTRIBUTING work as printed."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.devices import reaction_wheel, sensors
from titop.blocks.joints import plain_joints
from titop.graph.network import network
from titop.solvers.signals import sensor_quantities as readings

PAGE = Path(__file__).parent.parent / "CONTRIBUTING.md"

#: Sums in another order: what is compared is of order one to ten.
ROUNDING = 1e-12


def printed(start: str) -> str:
    """Return the example that begins so."""
    examples = re.findall(r"^ *```python\n(.*?)```", PAGE.read_text(encoding="utf8"), re.DOTALL | re.MULTILINE)
    (found,) = (example for example in map(textwrap.dedent, examples) if example.startswith(start))
    return found


def defined(name: str, source: str, module: ModuleType) -> Any:
    """Return a class as it would be if its source stood in a module."""
    names = dict(vars(module))
    exec(source, names)
    return names[name]


def accelerations(joint: tt.Joint, engine: str) -> Any:
    """Return the accelerations of a body that hangs on a joint of two coordinates."""
    s = tt.System("hung", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("body", mass=1.0, com=[0.1, 0.2, 0.3], inertia=[0.1, 0.2, 0.25]), joint)
    return s.resolve(engine).forward_dynamics([0.2, 0.7], [0.3, -1.0], tau=[1.0, 2.0])


def test_the_joint_is_the_same_in_both_engines() -> None:
    """One reads its chain, the other its pose; with one of them wrong, they differ."""
    source, fields = printed("class PinSlot"), {"slot": [1, 2, 0], "pin": [0, 1, 2], "stiffness": [3.0, 0.2], "damping": 0.1}
    joint = defined("PinSlot", source, plain_joints)("slide", **fields)
    expected = accelerations(joint, "reference")
    np.testing.assert_allclose(accelerations(joint, "compiled"), expected, atol=ROUNDING)
    wrong = defined("PinSlot", source.replace("linear=1.0", "linear=1.001"), plain_joints)("slide", **fields)
    assert np.abs(accelerations(wrong, "compiled") - expected).max() > 1e-4


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_sensor_reads_how_a_port_leans(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that has been turned about y, its pitch, and about its x axis, its roll, as the joint says."""
    inclinometer = defined("Inclinometer", printed("class Inclinometer"), sensors)
    entry = eval(f"{{{printed('Inclinometer:')}}}", vars(readings) | {"Inclinometer": inclinometer})
    monkeypatch.setattr(network, "KINDS", network.KINDS | inclinometer)
    monkeypatch.setattr(readings, "SENSORS", readings.SENSORS | entry)
    s = tt.System("leaning")
    body = tt.RigidBody("body", mass=1.0, inertia=0.1)
    s.connect("world", body, tt.Universal("cross", axis1=[0, 1, 0], axis2=[1, 0, 0]))
    s.add_sensor(inclinometer("level", body))
    m = s.resolve(engine)
    assert m.output_names == ("level.roll", "level.pitch")
    assert m.output_units == ("rad", "rad")
    pitch, roll = 0.4, -0.3
    np.testing.assert_allclose(m.outputs([pitch, roll], [0, 0], [0, 0]), [roll, pitch], atol=ROUNDING)


def test_the_device_swings_as_a_pendulum_of_its_length() -> None:
    names = vars(reaction_wheel) | {"Encoder": tt.Encoder}
    exec(printed("class PlumbBob"), names)
    s = tt.System("hung", gravity=[0, 0, -9.81])
    s.add_device(names["PlumbBob"]("bob", s.world, 2.0, 0.5))
    model = s.resolve().with_parameters({"bob.length": 0.7})
    assert model.forward_dynamics([0.3], [0.0], [0.0]) == pytest.approx([-9.81 / 0.7 * np.sin(0.3)], rel=ROUNDING)
    assert model.output_names == ("bob/angle",)
