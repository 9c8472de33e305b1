"""Equilibria in other units of length, mass and time."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.scaled_systems import SI, UNITS, Units, bar, closed, linkage
from tests.systems import Array
from titop.solvers.equilibrium import unknowns as trim_unknowns
from titop.solvers.mechanism.scale import StateScale


@functools.cache
def equilibria(units: Units) -> list[tt.OperatingPoint]:
    """Return those of the geared linkage: the crank held by a motor, and hanging."""
    m = linkage(units, geared=True).resolve()
    q = closed(m, units)[0]
    return [tt.trim(m, ["A.tau"], q=q), tt.trim(m, q=q)]


def governor(units: Units) -> tt.Model:
    """Return a spinning shaft with an arm on a spring, and a weightless slider along the arm."""
    s = tt.System("governor", gravity=[0, -9.81 * units.length / units.time**2, 0])
    hub, arm = bar("hub", 0.1, units), bar("arm", 0.5, units)
    s.connect("world", hub, tt.Revolute("shaft", axis=[0, 1, 0]))
    s.connect(hub, arm, tt.Revolute("hinge", stiffness=2.0 * units.effort))
    slider = tt.Prismatic("slide", axis=[1, 0, 0], stiffness=300.0 * units.mass / units.time**2)
    s.connect(arm.port("end"), tt.RigidBody("weight", 0.2 * units.mass), slider)
    s.add_actuator(tt.Motor("motor", "hinge", effort_limit=20.0 * units.effort))
    return s.resolve()


def found_of(point: tt.OperatingPoint, units: Units) -> Array:
    """Return the governor's coordinates, rates, efforts and input in SI units."""
    lengths = np.array([1.0, 1.0, units.length])
    u = np.zeros(1) if point.u is None else point.u
    efforts = point.tau * lengths
    return np.concatenate([point.q / lengths, point.v * units.time / lengths, efforts / units.effort, u / units.effort])


def trimmed(units: Units, case: str) -> tt.OperatingPoint:
    """Return an equilibrium of the governor; each has other unknowns."""
    m, time, at = governor(units), units.time, {"slide": 0.02 * units.length}
    cases: dict[str, dict[str, Any]] = {
        "arm": {"unknowns": ["hinge", "slide"], "v": {"shaft": 7.0 / time}},
        "rate": {"unknowns": ["shaft.v", "slide"], "q": {"hinge": -0.3}, "v": {"shaft": 3.0 / time}},
        "motor": {"unknowns": ["motor", "slide"], "q": {"hinge": 0.2}, "v": {"shaft": 3.0 / time}},
        "parameter": {"unknowns": ["hinge.rest", "slide.rest"], "q": at, "v": {"shaft": 3.0 / time}},
        "effort": {"unknowns": ["hinge.tau", "slide.tau"], "q": {"hinge": 0.5, **at}, "v": {"shaft": 3.0 / time}},
    }
    return tt.trim(m, **cases[case])


@pytest.mark.parametrize("units", UNITS, ids=str)
class TestEquilibria:
    def test_of_closed_mechanisms(self, units: Units) -> None:
        (holding, hanging), (held, hung) = equilibria(SI), equilibria(units)
        np.testing.assert_allclose(held.tau / units.effort, holding.tau, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(hung.q, hanging.q, rtol=0, atol=1e-8)  # as trim's tolerance lets it
        assert (hung.rank, hung.free, hung.overdetermined) == (hanging.rank, hanging.free, hanging.overdetermined)
        with pytest.raises(tt.ConvergenceError, match="no equilibrium"):
            tt.trim(held.model, [], q=held.q)

    @pytest.mark.parametrize("case", ["arm", "rate", "motor", "parameter", "effort"])
    def test_in_motion(self, case: str, units: Units) -> None:
        plain, scaled = trimmed(SI, case), trimmed(units, case)
        np.testing.assert_allclose(found_of(scaled, units), found_of(plain, SI), rtol=1e-9, atol=1e-9)
        assert (scaled.rank, scaled.free, scaled.overdetermined) == (plain.rank, plain.free, plain.overdetermined)

    def test_of_systems_without_length(self, units: Units) -> None:
        """A point mass on a spring falls to where it is held: 2 kg * 9.81 m/s^2 / (3 N/m)."""
        s = tt.System("mass", gravity=[-9.81 * units.length / units.time**2, 0, 0])
        spring = tt.Prismatic("spring", axis=[1, 0, 0], stiffness=3.0 * units.mass / units.time**2)
        s.connect("world", tt.RigidBody("point", 2.0 * units.mass), spring)
        assert tt.trim(s.resolve()).q[0] / units.length == pytest.approx(-2 * 9.81 / 3.0, rel=1e-12)

    def test_where_an_input_is_at_its_bound(self, units: Units) -> None:
        m = governor(units)
        with pytest.raises(tt.ConvergenceError, match=r"motor at a bound"):
            tt.trim(m, ["motor", "slide"], q={"hinge": 0.2}, bounds={"motor": (0.0, 0.1 * units.effort)})

    def test_states_in_passing_are_none(self, units: Units) -> None:
        s = tt.System("passing", gravity=[0, -9.81 * units.length / units.time**2, 0])
        s.connect("world", bar("rod", 0.5, units), tt.Revolute("hinge"))
        s.connect("world", tt.RigidBody("wheel", units.mass, inertia=0.1 * units.mass * units.length**2), tt.Revolute("axle"))
        s.add_gear(tt.Gear("mesh", driver="hinge", driven="axle"))
        m = s.resolve()
        weight = m.gravity_effects(np.zeros(2))
        with pytest.raises(tt.ConvergenceError, match="no equilibrium"):
            tt.trim(m, [], v=np.full(2, 1.0 / units.time), tau=weight)
        assert tt.trim(m, [], tau=weight).unknowns == ()


def test_without_the_systems_sizes_some_units_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def absolute(point: tt.OperatingPoint) -> StateScale:
        ones = np.ones(point.model.nv)
        return StateScale(ones, 1.0, 1.0, ones, 1.0, 0.0)

    right = found_of(trimmed(SI, "arm"), SI)
    monkeypatch.setattr(trim_unknowns, "sizes_of", absolute)
    wrong = 0
    for units in UNITS[2:5]:
        try:
            found = found_of(trimmed(units, "arm"), units)
            wrong += not np.allclose(found, right, rtol=1e-9, atol=1e-9)
        except tt.ConvergenceError:
            wrong += 1
    assert wrong
