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
