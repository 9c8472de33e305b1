"""Ports along a rod: where they stand, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.rods.rod_data import read_rod_ports

LENGTH = 0.5


def test_the_tip_comes_first_and_poses_are_those_in_the_section() -> None:
    reader, pose = FieldReader("rod"), tt.Pose([0.0, 0.01, 0.0])
    ports = read_rod_ports(reader, {"camera": 0.2, "eye": (0.3, pose), "end": 0.5 * (1 + 1e-10)}, LENGTH)
    assert not reader.findings
    assert [*ports] == ["tip", "camera", "eye", "end"]
    assert [port.abscissa for port in ports.values()] == [0.5, 0.2, 0.3, 0.5]  # rounding beyond the end is the end
    np.testing.assert_array_equal(ports["eye"].pose.position, pose.position)
    np.testing.assert_array_equal(ports["camera"].pose.position, np.zeros(3))


def test_every_rod_has_a_tip_that_may_be_moved() -> None:
    assert [*read_rod_ports(FieldReader("rod"), None, LENGTH)] == ["tip"]
    assert read_rod_ports(FieldReader("rod"), {"tip": 0.4}, LENGTH)["tip"].abscissa == 0.4


@pytest.mark.parametrize(
    ("ports", "code", "where"),
    [
        ([0.2], "wrong-type", "rod.ports"),
        ({"a.b": 0.2}, "bad-name", "rod.a.b"),
        ({"P": 0.2}, "bad-name", "rod.P"),
        ({"": 0.2}, "bad-name", "rod."),
        ({3: 0.2}, "bad-name", "rod.3"),
        ({"a": "middle"}, "wrong-type", "rod.ports.a"),
        ({"a": [0.1, 0.2]}, "wrong-type", "rod.ports.a"),
        ({"a": 0.6}, "off-the-rod", "rod.ports.a"),
        ({"a": -0.1}, "off-the-rod", "rod.ports.a"),
        ({"a": float("nan")}, "not-finite", "rod.ports.a"),
        ({"a": (0.2, "upwards")}, "wrong-type", "rod.ports.a"),
    ],
)
def test_unusable_ports_are_refused_by_name(ports: Any, code: str, where: str) -> None:
    reader = FieldReader("rod")
    read_rod_ports(reader, ports, LENGTH)
    assert [(finding.code, finding.where) for finding in reader.findings] == [(code, where)]
