"""Tendons with a stiffness: slack, stretched, what they store and dissipate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from tests.blocks.interactions.rod_lines import motion_at
from titop.blocks.contract.target_motion import TargetMotion


def test_an_elastic_tendon_is_slack_up_to_its_length_at_rest() -> None:
    rod, n = manipulator(), 24
    tendon = tt.Tendon("tendon", rod, y=0.01, stiffness=200.0, dissipation=0.5, arms=[0.02])
    rest, still = np.zeros(n + 1), np.zeros(n + 1)
    assert not tendon.act(motion_at(rest, still, 0.0))[1].any()
    wound, let_out = rest.copy(), rest.copy()
    wound[-1], let_out[-1] = 0.5, -0.5
    efforts = tendon.act(motion_at(wound, still, 0.0))[1]
    np.testing.assert_allclose(efforts, -200.0 * 0.01 * np.append(tendon.path.gradient(np.zeros(n)), 0.02), rtol=1e-13)
    assert tendon.stored(motion_at(wound, still, 0.0)) == pytest.approx(0.5 * 200 * 0.01**2)
    assert not tendon.act(motion_at(let_out, still, 0.0))[1].any()
    assert not tendon.stored(motion_at(let_out, still, 0.0))
    drawn = tendon.with_parameters({"displacement": 0.03})
    assert drawn.tension(motion_at(let_out, still, 0.0)) == pytest.approx(200.0 * 0.02, rel=1e-12)  # type: ignore[attr-defined]
    fast = still.copy()
    fast[-1] = -1e3
    assert not tendon.act(motion_at(wound, fast, 0.0))[1].any()  # dissipation takes all, and never pushes


def test_dissipation_opposes_and_energy_is_stored() -> None:
    """`check_block` compares efforts with the stored energy's loss; one is stretched, the other slack at its random motion."""
    rod = manipulator()
    for displacement in (0.5, -0.5):
        tt.check_block(tt.Tendon("tendon", rod, y=0.01, stiffness=30.0, dissipation=0.01, displacement=displacement))
    tt.check_block(tt.PressureChamber("chamber", rod, area=1e-4))

    class Wrong(tt.Tendon):
        def stored(self, motion: TargetMotion) -> Any:
            return 0.9 * super().stored(motion)

    with pytest.raises(tt.ModelError, match="stored"):
        tt.check_block(Wrong("tendon", rod, y=0.01, stiffness=30.0, displacement=0.5))


def test_a_displacement_without_stiffness_does_nothing() -> None:
    _, (warning,) = tt.Tendon("t", manipulator(), y=0.01, displacement=0.1).check()
    assert warning.code == "idle-displacement"
