"""Rods whose sections run through each other, in equilibria and motions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped
from titop.solvers.model.sections import overlaps


def bent(moment: float) -> tt.Model:
    """Return a rod with E I = L = 1 and radius 0.05, whose curvature is the moment."""
    rod = tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 0}, points=2)
    return clamped(rod, engine="compiled", torque=[0.0, 0.0, moment])


def test_equilibria_tell() -> None:
    """The inner side vanishes at a curvature of 1 / 0.05 = 20."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.trim(bent(19.9), q=[19.8])
    with pytest.warns(
        tt.ModelWarning, match=r"rod: got a stretch of -0.05 on its inner side, at X = 0 m; .*overlapping"
    ) as caught:
        tt.trim(bent(21.0), q=[20.9])
    assert caught[0].filename == __file__


def test_motions_tell_when() -> None:
    model = bent(0.0)
    motion = np.array([[0.0], [25.0], [10.0]])
    (found,) = overlaps(model, motion, np.array([0.0, 0.5, 1.0]))
    assert "t = 0.5 s" in found.value
    assert not [*overlaps(model, motion[[0, 2]])]
    with pytest.warns(tt.ModelWarning, match="overlapping"):
        tt.simulate(model, [0.0, 1e-6], [25.0], [0.0])
