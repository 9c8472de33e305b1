"""Which functions of blocks the derivatives by a parameter ask for, and how often."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.solvers.sensitivities import changed_laws


def test_differences_ask_a_block_at_their_own_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three to each side, and none at the value itself."""
    s = tt.System("mast", gravity=[0, 0, -9.81])
    beam = tt.Beam("beam", length=1.0, density=1500.0, area=1e-3, young=2e8, iy=1e-7, iz=2e-7)
    s.connect("world", beam, tt.Revolute("hinge", axis=[0, 1, 0]))
    m, force, asked = s.resolve(), changed_laws._force, []
    monkeypatch.setattr(changed_laws, "_force", lambda block, *rest: asked.append(block.density) or force(block, *rest))
    q = 0.01 * np.ones(m.nq)
    m.inverse_dynamics_sensitivities(q, q, q, ["beam.density"])
    assert 1500.0 not in asked
    assert len(set(asked)) == len(asked) == 6
