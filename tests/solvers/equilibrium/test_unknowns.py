"""Rates and parameters as unknowns of equilibria."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY, HINGES, ROUNDING, spinner


def test_the_rate_may_be_the_unknown() -> None:
    point = tt.trim(spinner(), ["shaft.v"], q=dict.fromkeys(HINGES, 0.7), v={"shaft": 1.0})
    expected = np.sqrt((GRAVITY * np.sin(0.7) + 2 * 0.7) / (np.sin(0.7) * np.cos(0.7)))
    assert point.v[0] == pytest.approx(expected, abs=ROUNDING)


def test_a_parameter_may_be_the_unknown() -> None:
    model = spinner()
    point = tt.trim(model, ["right_hinge.stiffness", "left_hinge.stiffness"], q=dict.fromkeys(HINGES, 0.7), v={"shaft": 5.0})
    expected = (25 * np.sin(0.7) * np.cos(0.7) - GRAVITY * np.sin(0.7)) / 0.7
    # derivatives by parameters come from differences, the equations do not
    assert list(point.parameters.values()) == pytest.approx([expected] * 2, abs=ROUNDING)
    assert point.model.parameters()["left_hinge.stiffness"][0] == point.parameters["left_hinge.stiffness"]


@pytest.mark.parametrize("guess", [0.0, 1e-15, -1e-12, 1e-9, 1.0, 1e6])
def test_forces_may_be_guessed_next_to_nothing(guess: float) -> None:
    s = tt.System("lift", gravity=[0, 0, -GRAVITY])
    cabin = tt.RigidBody("cabin", 2.0)
    s.connect("world", cabin, tt.Prismatic("shaft", axis=[0, 0, 1]))
    s.add_load(tt.Load("push", cabin, force=[0, 0, 0], frame="world"))
    found = tt.trim(s.resolve(), ["push.force.z"], parameters={"push.force.z": guess})
    assert found.parameters["push.force.z"] == pytest.approx(2 * GRAVITY, rel=1e-9)
