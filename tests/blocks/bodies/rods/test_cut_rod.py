"""Rods cut at a section: the rod itself while the cut is closed."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.bodies.rods.rod import CUT, CutRod


def rod(**fields: object) -> tt.Rod:
    return tt.Rod(
        "rod", 0.8, tt.Section.circle([0.03, 0.02]), 1e6, 1e3, damping=9.0, basis=1, ports={"a": 0.2, "b": 0.5}, **fields
    )


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.625, 1.0])
def test_a_closed_cut_changes_nothing(fraction: float) -> None:
    whole, cut = rod(points=16), CutRod(rod(points=16), fraction)
    q = np.random.default_rng(0).normal(size=6)
    closed = np.append(q, np.zeros(CUT))
    for port in whole.ports:
        for found, expected in zip(cut.pose(port, closed), whole.pose(port, q), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-6)  # of fourth order in the distance of the points, 1/16
    np.testing.assert_allclose(cut.mass_matrix(closed)[:12, :12], whole.mass_matrix(q), atol=1e-6)
    np.testing.assert_allclose(cut.numbers.stiffness[:6, :6], whole.numbers.stiffness, rtol=1e-12)


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.625, 1.0])
def test_what_lies_beyond_moves_with_the_cut(fraction: float) -> None:
    """Port a lies at a quarter, b at 0.625, the tip at the end: ports at the cut are beyond it."""
    cut, q = CutRod(rod(), fraction), np.zeros(6)
    shift = np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
    moved = {port: cut.pose(port, np.append(q, shift))[1][1] > 0.05 for port in cut.ports}
    assert moved == {"a": fraction <= 0.25, "b": fraction <= 0.625, "tip": True}


def test_its_length_can_be_changed() -> None:
    longer = CutRod(rod(), 0.3).with_parameters({"length": 1.6})
    assert longer.pose("tip", np.zeros(12))[1][0] == pytest.approx(1.6)
