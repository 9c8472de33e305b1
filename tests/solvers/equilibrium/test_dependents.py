"""Coordinates that follow others are unknowns without being named."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import geared_hand
from tests.solvers.linear.constrained_families import chain, four_bar
from tests.systems import Array
from titop.solvers.equilibrium.dependents import with_dependents
from titop.solvers.equilibrium.unknowns import Unknowns

ANGLES = np.linspace(1.0, 3.0, 5)


def torque(m: tt.Model, q: Array) -> float:
    """Return the crank's torque: the derivative of the potential energy of closed configurations by its angle."""
    step = 1e-5
    ahead, behind = (m.assemble(q + sign * step * np.eye(3)[0], fixed=["q0"]) for sign in (1, -1))
    return float(m.energy(ahead, np.zeros(3)).potential - m.energy(behind, np.zeros(3)).potential) / (2 * step)


class TestCranks:
    """Only the crank's torque is named; its angle is given or varied."""

    def test_at_an_angle(self) -> None:
        m = four_bar()
        point = tt.trim(m, ["q0.tau"], q={"q0": 1.0, "q1": -1.0, "q2": -1.0})
        assert point.q[0] == 1.0
        assert np.abs(m.closure_error(point.q)).max() < 1e-9  # the tolerance of trim
        assert point.tau[0] == pytest.approx(torque(m, point.q), rel=1e-6)  # central differences
        assert set(point.unknowns) == {"q0.tau", "q1", "q2"}

    def test_in_families(self) -> None:
        m = four_bar()
        q = m.assemble([1.0, -1.0, -1.0], fixed=["q0"])
        points = tt.trim_along(m, "q0.q", ANGLES, ["q0.tau"], q=q)
        family = tt.lpv(m, {"q0.q": ANGLES}, unknowns=["q0.tau"], q=q, inputs=["q0"], progress=False)
        path = tt.equilibrium_path(m, {"q0.q": (1.0, 3.0)}, ["q0.tau"], q=q, within=(0.0, 1.0), progress=False)
        for point, trim in zip(points, family.q, strict=True):
            assert trim == pytest.approx(point.q, abs=1e-8)  # two searches, each to the tolerance of trim
            assert point.tau[0] == pytest.approx(torque(m, point.q), rel=1e-6, abs=1e-6)
        assert path.points[-1].q == pytest.approx(points[-1].q, abs=1e-8)

    def test_a_closed_guess_is_kept(self) -> None:
        """Nothing follows what does not move: the rest stays, as said."""
        m = four_bar()
        q = m.assemble([1.0, -1.0, -1.0], fixed=["q0"])
        assert tt.trim(m, ["q0.tau"], q=q).unknowns == ("q0.tau",)


def test_what_is_held_by_its_effort_is_no_follower() -> None:
    """Of a five-bar with two motors, one of which is moved, the passive angles follow."""
    m = chain((0.4, 0.8, 0.8, 0.4), 1.0)
    guess = tt.OperatingPoint(m, m.assemble([0.5, 0.8, -1.6, -1.0], fixed=["q0"]))
    names = ["q0.tau", "q3.tau"]
    found = with_dependents(guess, Unknowns(guess, names).entries, Unknowns(guess, ["q0.q"]).entries)
    assert [entry.name for entry in found] == [*names, "q1", "q2"]
    also = with_dependents(guess, Unknowns(guess, [*names, "q1", "q2"]).entries, Unknowns(guess, ["q0.q"]).entries)
    assert [entry.name for entry in also] == [*names, "q1", "q2"]


def test_followers_of_gears() -> None:
    m = geared_hand().resolve()
    guess = tt.OperatingPoint(m, m.assemble(0.3 * np.ones(m.nv)))
    found = with_dependents(guess, Unknowns(guess, ["wrist.tau"]).entries, Unknowns(guess, ["l"]).entries)
    followers = {entry.name for entry in found[1:]}
    assert len(followers) == m.nv - len(m.independent_coordinates(guess.q))
    assert not followers & {"l", "wrist"}


def test_trees_have_none() -> None:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    guess = tt.OperatingPoint(s.resolve(), [0.3])
    entries = Unknowns(guess, ["hinge.tau"]).entries
    assert with_dependents(guess, entries) == entries
