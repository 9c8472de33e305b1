"""What tendons and chambers in rods have in common: power, and rods in series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from tests.blocks.interactions.rod_lines import bent, helix, motion_at, polyline, routings


@pytest.mark.parametrize("k", range(5))
def test_a_tension_takes_the_power_of_its_length(k: int) -> None:
    """``efforts . v = -T dl/dt``, with dl/dt from points on the line in two poses."""
    rod = manipulator(points=100)
    line, q, v = routings(rod, points=40)[k], bent(), bent(1)
    efforts = line.act(motion_at(q, v, 3.0))[1]

    def length(t: float) -> Any:
        coarse, fine = (polyline(line, q + t * v, pieces) for pieces in (200, 400))
        return fine + (fine - coarse) / 3

    rate = (length(1e-4) - length(-1e-4)) / 2e-4
    # differences of 1e-4: 1e-8 of the third derivative; quadrature by eight points 1e-6 of the strains of order 4
    assert efforts @ v == pytest.approx(-3.0 * rate, rel=1e-5)
    assert line.rate(q, v) == pytest.approx(rate, rel=1e-5)


def test_tendons_run_through_rods_in_series() -> None:
    """Two halves with constant strains are one rod with piecewise constant ones."""
    fields: dict[str, Any] = {"young": 1e6, "density": 1000.0}
    halves = [
        tt.Rod(f"half{k}", 0.25, tt.Section.circle(ends), strains={"torsion": 0, "bending_z": 0}, **fields)
        for k, ends in enumerate(([0.03, 0.0225], [0.0225, 0.015]))
    ]
    two = tt.StrainBasis.piecewise_constant(2)
    whole = tt.Rod("whole", 0.5, tt.Section.circle([0.03, 0.015]), strains={"torsion": two, "bending_z": two}, **fields)
    q = np.array([0.3, 0.8, -0.4, 1.1])  # coordinates of the whole rod are strains times its length
    for routing in (
        {"y": (0.9, 0.3), "relative": True},
        {"y": lambda X: 0.01 + 0.02 * X, "z": 0.01},
        {"y": 0.01, "start": 0.1},
    ):
        one, other = tt.Tendon("t", whole, **routing), tt.Tendon("t", halves, **routing)
        split = 0.5 * q[[0, 2, 1, 3]]
        assert other.measure(split) == pytest.approx(one.measure(q), rel=1e-13)
        np.testing.assert_allclose(0.5 * other.path.gradient(split)[[0, 2, 1, 3]], one.path.gradient(q), atol=1e-15)


@pytest.mark.parametrize(
    ("name", "value", "matters"),
    [
        ("density", 900.0, False),
        ("young", 2e6, False),
        ("length", 0.6, True),
        ("section.radius.base", 0.04, True),
        ("reference_strain.bending_z", 0.5, True),
    ],
)
def test_lines_follow_whatever_changes_their_rods(name: str, value: float, matters: bool) -> None:
    """One after another: a line in a changed rod is as one that is made in it, and made anew only where it matters."""
    rod = tt.Rod("rod", 0.5, tt.Section.circle([0.03, 0.015]), young=1e6, density=1000.0, strains={"bending_z": 1})
    line = tt.Tendon("t", rod, y=0.9, z=0.2, relative=True)
    for changes in ({"damping": 3.0}, {name: value}, {"damping": 1.0}):
        before, rod = line, rod.with_parameters(changes)  # type: ignore[assignment]
        line = before.among({"rod": rod})  # type: ignore[assignment]
        assert line.rods == (rod,)
        assert (line.path is before.path) == (not matters or name not in changes)
    q = np.array([0.3, -0.4])
    made = tt.Tendon("t", rod, y=0.9, z=0.2, relative=True, end=None)
    assert line.measure(q) == made.measure(q)
    np.testing.assert_array_equal(line.path.gradient(q), made.path.gradient(q))
    step = rod.with_parameters({"length": 0.5 + 1e-20j})  # as derivatives by parameters take it
    assert np.imag(line.among({"rod": step}).measure(q)) != 0  # type: ignore[attr-defined]


# -- what is suspicious about where lines run in rods


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
