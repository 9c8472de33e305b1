"""Linear fractional models in other units of length, mass and time: the same responses, counted otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.scaled_systems import SI, UNITS, Units
from tests.systems import Array
from titop.solvers.lft.members import frequencies_around
from titop.solvers.linear.matrices import Matrices

#: Beside the response: members go through a reduction that may change 3e-11 of it.
EXACT = 1e-9
#: Small parts in metres, kilograms and seconds; a craft counted in small units.
SMALL = [Units(1e-3, 1e-9, 1.0), Units(1e-4, 2e-9, 1.0), Units(1e-5, 1e-6, 1.0), Units(3e-3, 1e-12, 1.0)]
MORE = [Units(1e4, 1e9, 1e4), Units(1e-6, 1e-15, 1e-4), *SMALL, *UNITS]
#: rad per second of SI.
OMEGA = np.array([0.3, 1.1, 2.7, 5.3, 9.1])


def arm(units: Units, gravity: float = 0.0) -> tt.Model:
    """Return an arm on a spring, with a bob that slides on it."""
    s = tt.System("arm", gravity=[0, 0, -gravity * units.length / units.time**2])
    L, M, spring, damper = units.length, units.mass, units.mass / units.time**2, units.mass / units.time
    own = tt.RigidBody("arm", M, com=[0.3 * L, 0, 0], inertia=0.1 * M * L**2, ports={"e": [0.5 * L, 0, 0]})
    s.connect("world", own, tt.Revolute("h", axis=[0, 1, 0], stiffness=40 * units.effort, damping=units.effort * units.time))
    bob = tt.RigidBody("bob", 0.5 * M, inertia=0.01 * M * L**2)
    s.connect(own.port("e"), bob, tt.Prismatic("p", axis=[1, 0, 0], stiffness=50 * spring, damping=damper))
    return s.resolve()


def winged(units: Units, hinged: bool = False) -> tt.Model:
    """Return a hub with a flexible panel of one mode, or one of two modes on a sprung hinge."""
    s = tt.System("winged", gravity=[0, 0, 0])
    L, M, T, effort = units.length, units.mass, units.time, units.effort
    hub = tt.RigidBody("hub", 20 * M, inertia=6 * M * L**2, ports={"side": [0, 0.5 * L, 0]})
    modes = np.array([[0, 0, 2.4, 3.4 * L, 0, 0], [0, 0, -1.0, 0.5 * L, 0, 0]])[: 1 + hinged] * np.sqrt(M)
    frequencies = np.array([2.0, 5.0])[: 1 + hinged] / T
    moments = np.array([4, 0.5, 4]) * M * L**2
    panel = tt.FlexibleBody("panel", 10 * M, [0, L, 0], moments, frequencies, modes, damping_ratios=0.05)
    s.connect("world", hub, tt.Revolute("h", axis=[1, 0, 0], stiffness=30 * effort, damping=2 * effort * T))
    joint = tt.Revolute("drive", axis=[1, 0, 0], stiffness=20 * effort) if hinged else tt.Weld("drive")
    s.connect(hub.port("side"), panel, joint)
    return s.resolve()


def members(build: Callable[..., tt.Model], units: Units, parameters: Mapping[str, object], **options: bool) -> list[Array]:
    """Return the responses of members from an effort to the angle of the hinge, counted in SI, at both ends and in between."""
    m = build(units, **options)
    model = tt.lft(m, m.neutral(), parameters, ["h"], ["h.q"])
    rows = [dict.fromkeys((block.name for block in model.blocks), delta) for delta in (-1.0, 0.0, 0.4, 1.0)]
    systems = [model.at({block.name: block.value(row[block.name]) for block in model.blocks}) for row in rows]
    points = 1j * OMEGA / units.time
    return [Matrices.of(own).responses(points).ravel() * units.effort for own in systems]


@pytest.mark.parametrize("units", MORE)
@pytest.mark.parametrize("name", ["arm.com.x", "bob.mass", "bob.inertia.yy"])
def test_nominal_values_in_the_middle(units: Units, name: str) -> None:
    """What rounding makes of the middle of a range stays rounding, however large numbers of other units are."""
    ends = {"arm.com.x": (0.2, 0.4), "bob.mass": (0.3, 0.7), "bob.inertia.yy": (0.006, 0.014)}[name]
    of = {"arm.com.x": units.length, "bob.mass": units.mass, "bob.inertia.yy": units.mass * units.length**2}[name]
    found = members(arm, units, {name: (ends[0] * of, ends[1] * of)})
    right = members(arm, SI, {name: ends})
    assert all(own == pytest.approx(other, rel=EXACT) for own, other in zip(found, right, strict=True))


@pytest.mark.parametrize("units", MORE)
@pytest.mark.parametrize("hinged", [False, True])
def test_flexible_bodies(units: Units, hinged: bool) -> None:
    """Terms of their laws have units of their own: none is rounding beside another."""
    for parameters in (
        {"h.stiffness": tt.percent(10)},
        {"panel.mode1.frequency": tt.percent(10), "panel.mass": tt.percent(10)},
    ):
        found = members(winged, units, parameters, hinged=hinged)
        right = members(winged, SI, parameters, hinged=hinged)
        assert all(own == pytest.approx(other, rel=EXACT) for own, other in zip(found, right, strict=True))


@pytest.mark.parametrize("units", [SI, *MORE])
def test_what_moves_of_equilibria(units: Units) -> None:
    """The arm sags and the bob slides by parts of the arm, whatever it measures; the error of the fit is that in SI."""
    m = arm(units, 9.81)
    model = tt.lft(m, tt.trim(m), {"bob.mass": tt.percent(40)}, ["h"], ["h.q"], equilibrium=tt.trim, progress=False)
    assert [own.name for own in model.moving] == ["h.q", "p.q"]
    assert 1e-5 < model.error < 1e-3  # 2.5e-4 with quotients of degree one, which keep to the tolerance of 1e-2


@pytest.mark.parametrize("time", [1e-9, 1.0, 1e12])
def test_frequencies_of_responses(time: float) -> None:
    """They lie about the poles however slow these are, and where none are known about what states do to each other."""
    m = arm(Units(1.0, 1.0, time))
    model = tt.lft(m, m.neutral(), {"bob.mass": tt.percent(40)}, ["h"], ["h.q"])
    poles, omega = np.abs(model.nominal.poles()), frequencies_around(model.nominal)
    assert omega[[0, -1]] == pytest.approx([0.1 * poles.min(), 10 * poles.max()], rel=1e-9)
    turned = np.array([[0.6, 0.8], [-0.8, 0.6]])
    free = control.ss(turned @ np.array([[0.0, 2.0 / time], [0.0, 0.0]]) @ turned.T, np.ones((2, 1)), np.ones((1, 2)), 0.0)
    assert 0.1 < frequencies_around(free).mean() * time < 10.0


@pytest.mark.parametrize("length", [2e-3, 2.0, 1e3])
@pytest.mark.parametrize("name", ["young", "iy", "density", "length"])
def test_beams_of_any_size(length: float, name: str) -> None:
    """Bending counts beside stretching, which is stiffer by the square of length over thickness, in other units."""
    beam = tt.Beam("beam", length, 2700.0, 2.5e-4 * length**2, 70e9, iy=6e-9 * length**4, iz=1e-8 * length**4, modes=1)
    s = tt.System("hinged", gravity=[0, 0, 0])
    stiffness, damping = 6e0 * length**3, 4e-4 * length**4
    s.connect("world", beam, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=stiffness, damping=damping))
    m = s.resolve()
    found = tt.lft(m, m.neutral(), {f"beam.{name}": tt.percent(5)}, ["hinge"], ["hinge.q"], progress=False)
    assert found.check(3) < 1e-8
