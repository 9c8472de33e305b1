"""What is suspicious about where lines run in rods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from tests.blocks.interactions.rod_lines import bent, helix


def test_a_helix_wants_points() -> None:
    rod, q = manipulator(), bent()
    dense = helix(rod, points=100)
    errors = [np.abs(helix(rod, points=n).path.gradient(q) - dense.path.gradient(q)).max() for n in (6, 12, 24)]
    assert errors[0] > 1e-3 * np.abs(dense.path.gradient(q)).max()  # two turns in six points
    assert errors[2] < 1e-9 * np.abs(dense.path.gradient(q)).max()  # Gauss points of analytic functions
    assert errors[0] > errors[1] > errors[2]
    (warning,) = helix(rod, points=6).check()[1]
    assert warning.code == "coarse-routing"
    enough = int(warning.advice.removeprefix("write points="))
    assert not helix(rod, points=enough).check()[1]
    assert helix(rod, points=enough - 1).check()[1]


@pytest.mark.parametrize("sizes", [(0.02, 0.02), (0.03, 0.01)])
def test_lines_outside_or_without_lever_are_suspicious(sizes: tuple[float, float]) -> None:
    rod = tt.Rod("rod", 0.5, tt.Section.rectangle(*sizes), young=1e6, density=1000.0, strains={"bending_z": 1})
    codes = {
        "outside": (tt.Tendon("t", rod, y=0.5 * sizes[0] + 1e-5), "outside-the-section"),
        "across": (tt.Tendon("t", rod, y=(0.004, -0.003), z=lambda X: 0.9 * X * sizes[1]), None),
        "axis": (tt.Tendon("t", rod), "no-lever"),
        "other plane": (tt.Tendon("t", rod, z=0.001), "no-lever"),
        "surface": (tt.Tendon("t", rod, y=1.0, relative=True), None),
    }
    for what, (tendon, code) in codes.items():
        errors, warnings = tendon.check()
        assert not errors, what
        assert [finding.code for finding in warnings] == ([] if code is None else [code]), what


@pytest.mark.parametrize("line", [tt.Tendon, tt.PressureChamber])
def test_short_lines_are_looked_at_where_they_run(line: Any) -> None:
    """A thousandth of the rod, and the last millimetres of a line that leaves the section there."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 1})
    more = {"area": 1e-5} if line is tt.PressureChamber else {}
    assert line("t", rod, y=0.005, start=0.501, end=0.502, **more).check() == ([], [])
    (warning,) = line("t", rod, y=(0.0, 0.02), end=0.02, **more).check()[1]
    assert (warning.code, warning.expected) == (
        "outside-the-section",
        "a place in the section, which reaches 0.01 m and 0.01 m",
    )
    assert "X = 0.02 m" in str(warning.value)
    assert not line("t", rod, y=(0.0, 0.01), end=0.02, **more).check()[1]
