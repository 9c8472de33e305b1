"""What tendons and pressure chambers do to soft rods: their length, what they pull with, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from titop.blocks.interactions.interaction import random_motion


@pytest.mark.parametrize(("strain", "where", "sign"), [("bending_z", "y", -1), ("bending_y", "z", 1)])
def test_a_bend_shortens_by_offset_times_angle(strain: str, where: str, sign: float) -> None:
    rod = tt.Rod("rod", 0.7, tt.Section.circle(0.02), young=1e6, density=1000.0, strains={strain: 0})
    tendon = tt.Tendon("tendon", rod, points=1, **{where: 0.015})
    for angle in (-2.0, 0.3, 3.0):
        assert tendon.measure(np.array([angle])) == pytest.approx(0.7 + sign * 0.015 * angle, rel=1e-14)  # rounding
    control = tt.Tendon("tendon", rod, points=1, **{where: 0.014})
    assert abs(control.measure(np.array([3.0])) - 0.7 - sign * 0.015 * 3.0) > 1e-3


def test_twist_winds_a_tendon_up() -> None:
    """A tendon at a distance d of a rod twisted by an angle is a helix, ``sqrt(L^2 + (d angle)^2)``."""
    rod = tt.Rod("rod", 0.7, tt.Section.circle(0.02), young=1e6, density=1000.0, strains={"torsion": 0})
    length = tt.Tendon("tendon", rod, y=0.012, z=0.009).measure(np.array([5.0]))
    assert length == pytest.approx(np.hypot(0.7, 0.015 * 5.0), rel=1e-14)  # rounding


def fails(X: float) -> float:
    raise ValueError("nowhere")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rods": "rod"}, "write the rod itself, not its name"),
        ({"rods": []}, "t.rods: got []"),
        ({"y": "wide"}, "t.y"),
        ({"y": [1, 2, 3]}, "t.y"),
        ({"y": fails}, "t.y: got ValueError: nowhere"),
        ({"z": lambda X: [X, X]}, "t.z"),
        ({"start": 0.3, "end": 0.2}, "t.start: got 0.3 to 0.2 m"),
        ({"end": 0.6}, "0.5 m, the length of the rods"),
        ({"points": 0}, "t.points: got 0"),
        ({"stiffness": -1.0}, "t.stiffness: got -1.0"),
        ({"dissipation": -1.0}, "t.dissipation: got -1.0"),
        ({"arms": "long"}, "t.arms"),
        ({"max_tension": -1.0}, "t.max_tension"),
        ({"displacement": float("nan")}, "t.displacement"),
    ],
)
def test_unusable_tendons_are_refused_by_name(values: Any, said: str) -> None:
    errors, _ = tt.Tendon("t", **({"rods": manipulator(), "y": 0.01} | values)).check()
    assert any(said in str(finding) for finding in errors), errors


def test_random_motions_suit_it() -> None:
    tendon = tt.Tendon("t", manipulator(), y=0.01, arms=[0.1, 0.2])
    assert random_motion(tendon, np.random.default_rng(0)).q.shape == (26,)
