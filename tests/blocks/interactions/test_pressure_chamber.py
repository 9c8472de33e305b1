"""Pressure chambers in rods: tendons that push, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from tests.blocks.interactions.rod_lines import bent, motion_at


def test_a_chamber_is_a_tendon_that_pushes() -> None:
    rod, q, v = manipulator(), bent(), bent(1)
    chamber, tendon = tt.PressureChamber("chamber", rod, area=2e-4, y=0.01), tt.Tendon("tendon", rod, y=0.01, push=True)
    pushed, pulled = chamber.act(motion_at(q, v, 1e5))[1], tendon.act(motion_at(q, v, -20.0))[1]
    np.testing.assert_allclose(pushed, pulled, rtol=0, atol=1e-14 * np.abs(pulled).max())  # rounding
    assert chamber.measure(q) == pytest.approx(2e-4 * tendon.measure(q), rel=1e-14)
    assert chamber.input_ranges == ((0.0, np.inf),)
    assert tt.PressureChamber("c", rod, 1e-4, max_pressure=2e5, suction=True).input_ranges == ((-2e5, 2e5),)


@pytest.mark.parametrize("area", [-1e-4, 0.0, (1e-4, -2e-4), lambda X: -X])
def test_chambers_without_area_are_refused(area: Any) -> None:
    errors, _ = tt.PressureChamber("c", manipulator(), area=area).check()
    assert [finding.code for finding in errors] == ["bad-area"]
