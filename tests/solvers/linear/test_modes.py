"""Tables of modes: textbook frequencies and effective masses, sum rules, python-control's damping."""

from __future__ import annotations

import control
import numpy as np
import pytest
from matplotlib.figure import Figure

import titop as tt
from tests.closed_systems import four_bar
from tests.refusals import refusal

#: Roots x of ``1 + cos cosh = 0``, and effective masses of a clamped beam, ``(2 (sinh - sin) / (cosh + cos) / x)^2``.
ROOTS = np.array([1.8751040687119611, 4.694091132974174, 7.854757438237612])
BENDING = (2 * (np.sinh(ROOTS) - np.sin(ROOTS)) / (np.cosh(ROOTS) + np.cos(ROOTS)) / ROOTS) ** 2


def boom(**fields: float) -> tt.Beam:
    """Return a beam of 2 kg and 2 m with six modes in each plane."""
    section = {"length": 2.0, "density": 1.0, "area": 1.0, "young": 1e4, "iy": 1e-4, "iz": 3e-4}
    return tt.Beam("boom", **(section | {"modes": 6, "torsion_modes": 8, "axial_modes": 8} | fields))


def test_a_clamped_beam_has_the_textbooks_effective_masses() -> None:
    """61.3 %, 18.8 % and 6.5 % in bending; ``8 / ((2 k - 1) pi)^2`` of stretch and torsion; all along their own axes."""
    assert pytest.approx([0.613, 0.188, 0.065], abs=5e-4) == BENDING
    table = tt.modes(boom(damping_ratio=0.02))
    assert table.total_mass == pytest.approx([2, 2, 2, 2 * 4e-4, 2 * 4 / 3, 2 * 4 / 3])
    quarter = 8 / (np.pi * np.array([1, 3])) ** 2
    for direction, shares, root, speed in (
        ("z", BENDING, ROOTS**2 / 4, np.sqrt(1e4 * 1e-4)),
        ("y", BENDING, ROOTS**2 / 4, np.sqrt(1e4 * 3e-4)),
        ("x", quarter, np.pi / 4 * np.array([1, 3]), np.sqrt(1e4)),
        ("rx", quarter, np.pi / 4 * np.array([1, 3]), np.sqrt(1e4 / 2.6)),
    ):
        rows = [row for row in table.rows if row.direction == direction][: len(shares)]
        # Craig-Bampton modes converge with the fourth power of their number, and slowest in the highest mode
        assert [row.share for row in rows] == pytest.approx(shares, rel=2e-3)
        assert [2 * np.pi * row.frequency for row in rows] == pytest.approx(root * speed, rel=2e-3)
        assert [row.damping for row in rows] == pytest.approx([0.02] * len(rows), rel=1e-6)
    assert "boom.C_z" in str(table).splitlines()[2]
    assert table.participation.sum(axis=1) == pytest.approx(np.ones(len(table.names)))
    # all modes together are what moves against the base: the whole less the part that the shapes leave at the clamp
    assert (table.effective_mass[:, :3].sum(axis=0) / 2 > 0.94).all()
    assert (table.effective_mass.sum(axis=0) < table.total_mass * (1 + 1e-9)).all()


def test_a_rod_is_such_a_beam() -> None:
    rod = tt.Rod("rod", length=2.0, section=tt.Section.circle(radius=0.02), young=1e8, density=1000.0)
    area, second = np.pi * 4e-4, np.pi * 1.6e-7 / 4
    first = tt.modes(rod).rows[0]
    assert first.direction in "yz"
    # quadratic bending curvatures, and shear, of a slender rod
    assert 2 * np.pi * first.frequency == pytest.approx(ROOTS[0] ** 2 / 4 * np.sqrt(1e8 * second / (1000 * area)), rel=5e-3)
    assert first.share == pytest.approx(BENDING[0], rel=5e-3)


def masses(floating: bool = False) -> tt.Model:
    """Return two equal masses in a row on equal springs, or the row afloat."""
    s = tt.System("row", gravity=[0, 0, 0])
    one, two = (tt.RigidBody(name, 1.0, inertia=0.1) for name in ("one", "two"))
    s.connect("world", one, tt.Prismatic("first", [1, 0, 0], **({} if floating else {"stiffness": 9.0, "damping": 0.6})))
    s.connect(one, two, tt.Prismatic("second", [1, 0, 0], stiffness=9.0, damping=0.6))
    return s.resolve()


def test_two_masses_in_a_row_have_their_golden_modes() -> None:
    """Frequencies ``3 / g`` and ``3 g``, g the golden ratio; shares ``(5 + 2 sqrt 5) / 10``; the sum is the mass."""
    table, golden = tt.modes(masses()), (1 + np.sqrt(5)) / 2
    assert 2 * np.pi * table.frequency == pytest.approx([3 / golden, 3 * golden], rel=1e-12)
    assert table.damping == pytest.approx([0.1 / golden, 0.1 * golden], rel=1e-12)  # 0.6 / 9 w / 2
    assert [row.share for row in table.rows] == pytest.approx([(5 + 2 * np.sqrt(5)) / 10, (5 - 2 * np.sqrt(5)) / 10], rel=1e-12)
    assert table.effective_mass[:, 0].sum() == pytest.approx(2.0, rel=1e-12)
    assert [row.dominant for row in table.rows] == ["first", "second"]
    afloat = tt.modes(masses(True))
    assert afloat.frequency == pytest.approx([0.0, np.sqrt(18) / (2 * np.pi)])
    assert afloat.rows[0].share == pytest.approx(1.0)
    assert afloat.rows[1].direction == ""  # one mass against the other: nothing that the world feels


def test_poles_are_those_of_python_control() -> None:
    """Of the same system as a linear model, of a controlled one, and sampled."""
    model = masses()
    system = tt.linearize(model, model.neutral(), ["first"], ["first.q", "second.q"])
    loop = control.feedback(system[0, 0], control.ss([], [], [], [[3.0]]))
    for each in (system, loop, control.c2d(system, 0.01)):
        table = tt.modes(each)
        natural, damping, _ = control.damp(each, doprint=False)
        order = np.argsort(natural)[::2]
        assert 2 * np.pi * table.frequency == pytest.approx(natural[order], rel=1e-9)
        assert table.damping == pytest.approx(damping[order], rel=1e-9)
        assert np.isnan(table.effective_mass).all()
        assert table.participation.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert tt.modes(system).rows[0].dominant.startswith("first")


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # of points that are no equilibria that last
def test_a_closed_linkage_and_a_fall() -> None:
    """One mode of a linkage, as its pole; upside down it diverges."""
    model = four_bar(tt.RigidClosure("pin", "planar_revolute")).resolve()
    point = tt.trim(model, q=model.assemble([-1.5, 1.2, -2.0]))
    table = tt.modes(model, point)
    poles = tt.linearize(point.model, point).poles()
    assert 2 * np.pi * table.frequency == pytest.approx(np.abs(poles[:1]), rel=1e-8)
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, 1]), tt.Revolute("hinge", [0, 1, 0]))
    falling = tt.modes(s.resolve())
    assert falling.damping == pytest.approx([-1.0])
    assert 2 * np.pi * falling.frequency == pytest.approx([np.sqrt(9.81)])
    spun = tt.modes(s.resolve(), ([np.pi], [2.0]))
    assert np.isnan(spun.effective_mass).all()


def test_filters_of_actuators_are_held() -> None:
    """The normal modes of a mass on a spring, sqrt(50 / 2) rad/s; a filter in its motor is a pole of the linear model alone."""
    s = tt.System("driven", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=50.0, damping=0.4))
    s.add_actuator(tt.Motor("motor", "rail", path=tt.SignalPath.lag(0.1)))
    model = s.resolve("reference")
    table = tt.modes(model)
    assert 2 * np.pi * table.frequency == pytest.approx([5.0])
    assert table.damping == pytest.approx([0.4 / (2 * np.sqrt(50.0 * 2.0))])
    assert table.effective_mass[0, 0] == pytest.approx(2.0)
    poles = tt.modes(tt.linearize(model, model.neutral()))
    assert 2 * np.pi * poles.frequency == pytest.approx([5.0, 10.0])


def test_delays_of_whole_samples_are_modes_too() -> None:
    """They have poles at z = 0, the limit of ever faster real ones; others are as without them."""
    lag = control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    table = tt.modes(control.append(lag, control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]], 0.1)))
    assert table.frequency == pytest.approx([np.log(2.0) / 0.1 / (2 * np.pi), np.inf])
    assert table.damping == pytest.approx([1.0, 1.0])
    assert isinstance(table.plot(), Figure)


def test_pictures_and_refusals() -> None:
    model = masses()
    resting = tt.System("rail", gravity=[0, 0, 0])
    resting.connect("world", tt.RigidBody("slider", 1.0), tt.Prismatic("guide"))
    assert isinstance(tt.modes(resting.resolve()).plot(), Figure)  # without frequencies
    assert isinstance(tt.modes(model).plot(), Figure)
    assert isinstance(tt.modes(tt.linearize(model, model.neutral())).plot(), Figure)
    with refusal("wrong-type", "model_or_system"):
        tt.modes(3)
    with refusal("no-coordinates", "block"):
        tt.modes(tt.RigidBody("block", 1.0))
    with refusal("bad-value", "point"):
        tt.modes(tt.linearize(model, model.neutral()), model.neutral())
