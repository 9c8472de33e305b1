"""Loads: frames, parameters and findings. What they do to a system is tested with the solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt

HUB = tt.RigidBody("hub", mass=1.0, ports={"C": [0, 0, 1]})


def test_world_load_turns_against_the_port() -> None:
    attitude = Rotation.from_rotvec([0.2, -0.4, 1.0]).as_matrix()
    load = tt.Load("wind", HUB.port("C"), force=[1, 2, 3], torque=[4, 5, 6], frame="world")
    wrench = load.wrench(attitude)
    np.testing.assert_allclose(attitude @ wrench[:3], [1, 2, 3], atol=1e-14)
    np.testing.assert_allclose(attitude @ wrench[3:], [4, 5, 6], atol=1e-14)


def test_port_load_keeps_its_components() -> None:
    load = tt.Load("thrust", HUB, force=[1, 2, 3], torque=[4, 5, 6])
    np.testing.assert_array_equal(load.wrench(np.diag([1.0, -1.0, -1.0])), [1, 2, 3, 4, 5, 6])


def test_a_block_stands_for_its_reference_frame() -> None:
    assert tt.Load("thrust", HUB).target.name is None
    assert tt.Load("thrust", HUB.port("C")).target.name == "C"


def test_parameters_round_trip() -> None:
    load = tt.Load("thrust", HUB, force=[1, 2, 3], torque=[4, 5, 6])
    before = load.parameters()
    assert before["force.y"] == (2.0, "N")
    assert before["torque.z"] == (6.0, "N m")
    for name, (value, unit) in before.items():
        assert load.with_parameters({name: value + 0.5}).parameters() == before | {name: (value + 0.5, unit)}
    assert load.parameters() == before


@pytest.mark.parametrize(
    ("code", "where", "fields"),
    [
        ("bad-frame", "thrust.frame", {"frame": "body"}),
        ("wrong-shape", "thrust.force", {"force": [1, 2]}),
        ("wrong-type", "thrust.force", {"force": "up"}),
        ("not-finite", "thrust.torque", {"torque": [0, 0, np.nan]}),
    ],
)
def test_findings(code: str, where: str, fields: dict[str, Any]) -> None:
    errors, _ = tt.Load("thrust", HUB, **fields).check()
    assert [(finding.code, finding.where) for finding in errors] == [(code, where)]
