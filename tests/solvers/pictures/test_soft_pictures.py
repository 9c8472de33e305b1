"""Deformable bodies in pictures and diagrams, and what is said where they are folded."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.soft_arms import RADIUS, ROUND, L, arm, hinged
from titop.graph.files.saving import to_text
from titop.solvers.model.sections import overlaps


def test_folded_bodies_are_told() -> None:
    """``det F = 1 - x q / L`` turns negative where the radius of curvature ends within the section."""
    model, sharp = arm(), 1.2 * L / np.abs(ROUND.points[:, 0]).max()
    states = np.array([[0.0, 0.0], [0.0, sharp], [0.0, 0.1]])
    with np.printoptions(legacy="1.13"):  # which some libraries set for good
        (found,) = overlaps(model, states, np.array([0.0, 0.5, 1.0]))
    assert (found.code, found.where) == ("folded", "body")
    assert found.value.startswith("det F = -0.2 at x = [0.01776, 0, 0.")
    assert found.value.endswith("t = 0.5 s")
    assert not [*overlaps(model, states[[0, 2]])]
    with pytest.warns(tt.ModelWarning, match=r"body: got det F = .*folded"):
        tt.simulate(model, [0.0, 1e-7], states[1], np.zeros(2))


def test_folds_without_a_number_are_told_too() -> None:
    """A bend that keeps volumes has no place for points inside its centre of curvature."""
    s = tt.System("arm")
    s.connect("world", tt.SoftBody("body", tt.Kinematics.planar_bending([lambda z: 1.0]), ROUND, 1000.0), tt.Weld("clamp"))
    (found,) = overlaps(s.resolve("reference"), np.array([[0.0], [0.6 / RADIUS]]))
    assert found.value.startswith("det F = nan at x = [")


def test_diagrams_say_the_mass() -> None:
    assert "body (SoftBody [bending] 0.376991 kg)" in str(hinged())


def test_files_refuse_functions() -> None:
    s = hinged()
    s.add_interaction(tt.SoftTendon("pull", s["body"], [[0.01, 0, 0], [0.01, 0, L]]))
    with pytest.raises(tt.ModelError) as caught:
        to_text(s)
    found = [(finding.code, finding.where) for finding in caught.value.findings]
    assert found == [("not-in-files", "body"), ("not-in-files", "pull")]
    assert "keep the system in a script" in str(caught.value)
    assert "register_block" not in str(caught.value)
