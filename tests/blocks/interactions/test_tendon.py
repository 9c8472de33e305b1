"""What tendons and pressure chambers do to soft rods: their length, what they pull with, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from tests.blocks.interactions.rod_lines import bent, motion_at
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


# -- pressure chambers in rods: tendons that push, and what they refuse


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
