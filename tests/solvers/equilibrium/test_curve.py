"""Steps along a curve of equilibria in closed form, and where its load turns round, or stability changes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY, swing
from titop.solvers.equilibrium import curve as curves
from titop.solvers.equilibrium.curve import Curve, PathEvent, Station, events_between, steps_along

SPRING, LENGTH, WEIGHT = 2.0, 0.5, 10.0


def post(side: float = 0.0) -> tt.Model:
    """Return an upright post on a hinge with a spring, which stands while ``m g l < k``; and a mass on it to be changed."""
    s = tt.System("post", gravity=[0, 0, -WEIGHT])
    bar = tt.RigidBody("bar", 1e-3, com=[0, 0, LENGTH], inertia=1e-3)
    s.connect("world", bar, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=SPRING, rest=side))
    return s.resolve()


def curve(model: tt.Model) -> Curve:
    """Return the equilibria over a mass from 0 to 1 kg, from next to nothing."""
    guess = tt.trim(model)
    return Curve(guess, ["bar.mass"], list(model.coordinate_names), np.array([1.0]), 1e-9)


def happening(path: Curve, stations: list[Station]) -> list[PathEvent]:
    return [event for pair in pairwise(stations) for event in events_between(path, *pair)]


def along(path: Curve, lengths: int, step: float) -> list[Station]:
    stations = [path.begin()]
    for _ in range(lengths):
        stations.append(path.along(stations[-1], step))
    return stations


def test_an_upright_post_falls_at_the_buckling_mass() -> None:
    """``m = k / g l``: in one direction of one the stiffness gets negative."""
    path = curve(post())
    stations = along(path, 3, 0.2)
    (event,) = happening(path, stations)
    assert event.kind == "bifurcation"
    mass = event.station.point.parameters["bar.mass"]
    assert mass == pytest.approx(SPRING / (WEIGHT * LENGTH), rel=1e-6)
    assert not event.station.point.q.any()


def test_a_step_to_another_branch_is_refused() -> None:
    """One degree off, the post leans further and further; beyond the buckling mass others lean the other way."""
    path = curve(post(np.deg2rad(1.0)))
    before, after = path.begin(), path.across(np.array([0.6, -0.1]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    assert after.point.q[0] < 0
    with pytest.raises(tt.ConvergenceError):
        events_between(path, before, after)


def test_a_post_that_leans_bends_without_an_event() -> None:
    """Its equilibria ``k (q - rest) = m g l sin q`` go on beside the upright ones."""
    path = curve(post(0.3))
    stations = along(path, 6, 0.1)
    assert happening(path, stations) == []
    for station in stations:
        (q,), mass = station.point.q, station.point.parameters["bar.mass"]
        assert SPRING * (q - 0.3) == pytest.approx(mass * WEIGHT * LENGTH * np.sin(q), abs=1e-8)
    assert stations[-1].point.q[0] > 0.6


def test_a_load_that_turns_round_is_a_limit() -> None:
    """A weight on an arm, turned by a torque: ``T = m g l cos q`` is largest where the arm is level, at q = 0."""
    s = tt.System("arm", gravity=[0, 0, -WEIGHT])
    s.connect("world", tt.RigidBody("arm", 1.0, com=[LENGTH, 0, 0], inertia=0.1), tt.Revolute("hinge", axis=[0, -1, 0]))
    model = s.resolve()
    guess = tt.OperatingPoint(model, [-np.pi / 3], tau=[WEIGHT * LENGTH * 0.5])
    path = Curve(guess, ["hinge.tau"], ["hinge"], np.array([WEIGHT * LENGTH]), 1e-9)
    stations = along(path, 8, 0.3)
    (limit,) = happening(path, stations)
    assert limit.kind == "limit"
    assert limit.station.point.tau[0] == pytest.approx(WEIGHT * LENGTH, rel=1e-9)
    assert limit.station.point.q[0] == pytest.approx(0.0, abs=1e-5)  # the torque is flat there


def swings() -> Curve:
    """Return the equilibria of a pendulum over the torque on it, as a part of what turns it most (N m)."""
    return Curve(tt.OperatingPoint(swing(), [0.0]), ["hinge.tau"], ["hinge"], np.array([2.0 * GRAVITY]), 1e-9)


def test_steps_end_where_a_range_does() -> None:
    """``T = m g sin q``: at half of the largest torque after 30 degrees."""
    path = swings()
    steps = [*steps_along(path, path.begin(), 0.2, (-1.0, 0.5))]
    assert [step.end for step in steps] == [""] * (len(steps) - 1) + ["left"]
    assert steps[-1].reached.y[0] == 0.5
    assert steps[-1].reached.point.q[0] == pytest.approx(np.pi / 6, abs=1e-9)
    lengths = [path.distance(a.reached, b.reached) for a, b in pairwise(steps)]
    assert max(lengths) < 0.2 / 0.9  # at right angles to where they began, and straight to 0.9


def test_steps_that_lead_astray_are_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to where all do, and that is told: nothing is found out about what happens beyond 0.3 of the torque."""

    def events_between(curve: Curve, before: Station, after: Station) -> list[PathEvent]:
        if after.y[0] > 0.3:
            raise tt.ConvergenceError("another branch is near")
        return []

    monkeypatch.setattr(curves, "events_between", events_between)
    path, reached = swings(), []
    with pytest.raises(tt.ConvergenceError, match=r"path ends near a load factor of 0\.[23]\d*: another branch is near"):
        reached.extend(step.reached.y[0] for step in steps_along(path, path.begin(), 0.2, (-1.0, 1.0)))
    assert 0.3 - 1e-6 < max(reached) <= 0.3
