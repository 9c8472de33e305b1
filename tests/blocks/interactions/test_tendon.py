"""What tendons and pressure chambers do to soft rods: their length, what they pull with, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.manipulator import LENGTH, TIP, manipulator
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.interactions.interaction import TargetMotion, random_motion
from titop.blocks.interactions.rod_line import RodLine

TURNS = 4 * np.pi / LENGTH


def helix(rod: tt.Rod, **fields: Any) -> tt.Tendon:
    """Return the fourth tendon of key M's manipulator (Table 2)."""

    def y(X: float) -> float:
        return TIP * np.sin(TURNS * X)

    def z(X: float) -> float:
        return TIP * np.cos(TURNS * X)

    return tt.Tendon("helix", rod, y=y, z=z, **({"points": 24} | fields))


def routings(rod: tt.Rod, points: int = 24) -> list[RodLine]:
    return [
        tt.Tendon("straight", rod, y=0.01, points=points),
        tt.Tendon("oblique", rod, y=(0.02, -0.01), z=(0.0, 0.01), points=points),
        tt.Tendon("tapered", rod, y=np.sqrt(0.75), z=-0.5, relative=True, points=points),
        tt.Tendon("part", rod, y=0.01, z=0.02, start=0.05, end=0.45, points=points),
        helix(rod, points=points),
        tt.PressureChamber("chamber", rod, area=(2e-4, 1e-4), y=0.01),
    ]


def polyline(line: RodLine, q: Any, pieces: int) -> Any:
    """Return the length of a line from points on it: material points of sections whose poses the rod says."""
    (rod,) = line.rods
    X = np.linspace(line.start, line.end, pieces + 1)
    R, r = rod.section_poses(q, X)
    y, z = line._routing(1).places(rod, 0.0, X / rod.length)
    steps = np.diff(r + y[:, None] * R[:, :, 1] + z[:, None] * R[:, :, 2], axis=0)
    return np.sqrt((steps**2).sum(-1)).sum()


def bent(seed: int = 0) -> Any:
    return 0.5 * manipulator().coordinate_scales * np.random.default_rng(seed).normal(size=24)


def motion_at(q: Any, v: Any, *u: float) -> TargetMotion:
    return TargetMotion(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 6)), q, v, np.array(u))


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


@pytest.mark.parametrize("k", range(5))
def test_length_is_that_of_the_line_through_the_sections(k: int) -> None:
    """Polylines of n pieces err by n^-2; the rod has points enough that its poses are those of its strain."""
    rod = manipulator(points=100)
    line, q = routings(rod, points=40)[k], bent()
    errors = [line.measure(q) - polyline(line, q, pieces) for pieces in (50, 100, 200)]
    assert errors[0] > 0
    # of the order 2: 4 up to the next term, (pieces of a turn)^2, and up to what quadrature and poses leave (1e-9)
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=5e-2)
    richardson = polyline(line, q, 400) + (polyline(line, q, 400) - polyline(line, q, 200)) / 3
    assert line.measure(q) == pytest.approx(richardson, rel=1e-8)  # the next order, and eight Gauss points


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


@pytest.mark.parametrize("k", range(6))
def test_derivatives_are_exact(k: int) -> None:
    line, q = routings(manipulator())[k], bent()
    gradient, hessian = line.path.gradient(q), line.path.hessian(q)
    # complex steps err by rounding of sums of some hundred terms
    np.testing.assert_allclose(gradient, complex_step(line.measure, q), rtol=0, atol=1e-14 * np.abs(gradient).max() * 24)
    np.testing.assert_allclose(hessian, complex_step(line.path.gradient, q), rtol=0, atol=1e-13 * np.abs(hessian).max())
    stacked = np.array([q, 2 * q])
    np.testing.assert_allclose(line.measure(stacked), [line.measure(q), line.measure(2 * q)], rtol=1e-14)
    np.testing.assert_allclose(line.rate(stacked, stacked)[1], line.rate(2 * q, 2 * q), rtol=1e-12)


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


def test_a_chamber_is_a_tendon_that_pushes() -> None:
    rod, q, v = manipulator(), bent(), bent(1)
    chamber, tendon = tt.PressureChamber("chamber", rod, area=2e-4, y=0.01), tt.Tendon("tendon", rod, y=0.01, push=True)
    pushed, pulled = chamber.act(motion_at(q, v, 1e5))[1], tendon.act(motion_at(q, v, -20.0))[1]
    np.testing.assert_allclose(pushed, pulled, rtol=0, atol=1e-14 * np.abs(pulled).max())  # rounding
    assert chamber.measure(q) == pytest.approx(2e-4 * tendon.measure(q), rel=1e-14)
    assert chamber.input_ranges == ((0.0, np.inf),)
    assert tt.PressureChamber("c", rod, 1e-4, max_pressure=2e5, suction=True).input_ranges == ((-2e5, 2e5),)


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


def test_parts_of_the_half_widths_follow_the_section() -> None:
    rod, q = manipulator(), bent()
    absolute = tt.Tendon("absolute", rod, y=lambda X: 0.5 * (0.03 - 0.015 * X / LENGTH), z=lambda X: 0.03 - 0.015 * X / LENGTH)
    relative = tt.Tendon("relative", rod, y=0.5, z=1.0, relative=True)
    assert relative.measure(q) == pytest.approx(absolute.measure(q), rel=1e-13)  # slopes by differences of sixth order
    assert tt.Tendon("other", rod, y=0.5, z=0.9, relative=True).measure(q) != pytest.approx(absolute.measure(q), rel=1e-4)


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


@pytest.mark.parametrize("area", [-1e-4, 0.0, (1e-4, -2e-4), lambda X: -X])
def test_chambers_without_area_are_refused(area: Any) -> None:
    errors, _ = tt.PressureChamber("c", manipulator(), area=area).check()
    assert [finding.code for finding in errors] == ["bad-area"]


def test_a_displacement_without_stiffness_does_nothing() -> None:
    _, (warning,) = tt.Tendon("t", manipulator(), y=0.01, displacement=0.1).check()
    assert warning.code == "idle-displacement"


def test_random_motions_suit_it() -> None:
    tendon = tt.Tendon("t", manipulator(), y=0.01, arms=[0.1, 0.2])
    assert random_motion(tendon, np.random.default_rng(0)).q.shape == (26,)
