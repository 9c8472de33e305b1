"""Fluids: what is read, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt


def test_a_fluid_knows_its_numbers() -> None:
    water = tt.Fluid(1025.0, current=[0.1, 0, -0.2])
    ball = tt.RigidBody("ball", 1.0, volume=1e-3, fluid=water)
    assert ball.parameters()["fluid.density"] == (1025.0, "kg/m^3")
    assert ball.parameters()["fluid.current.z"] == (-0.2, "m/s")
    assert ball.with_parameters({"fluid.current.z": 0.5}).fluid == tt.Fluid(1025.0, [0.1, 0, 0.5])
    assert water.current[2] == -0.2
    assert water == tt.Fluid(1025.0, (0.1, 0, -0.2))
    assert water != tt.Fluid(1025.0)
    assert repr(tt.Fluid(1.2)) == "Fluid(1.2)"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"density": -1.0}, "bad-density"),
        ({"density": np.nan}, "not-finite"),
        ({"density": 0.0, "current": [1, 0, 0]}, "current-without-fluid"),
        ({"density": 1000.0, "current": [1, 0]}, "wrong-shape"),
    ],
)
def test_what_is_no_fluid_is_refused(given: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as refused:
        tt.Fluid(**given)
    assert [finding.code for finding in refused.value.findings] == [code]


def test_what_surrounds_a_body_is_a_fluid() -> None:
    s = tt.System("s")
    s.connect("world", tt.RigidBody("ball", 1.0, fluid=1000.0, volume=0.1), tt.Free("base"))  # type: ignore[arg-type]
    with pytest.raises(tt.ModelError, match=r"ball\.fluid"):
        s.resolve(engine="reference")
