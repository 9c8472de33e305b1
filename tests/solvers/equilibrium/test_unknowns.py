"""Rates and parameters as unknowns of equilibria; coordinates that follow others are unknown without being named."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import geared_hand
from tests.solvers.equilibrium.spinners import GRAVITY, HINGES, ROUNDING, spinner
from tests.solvers.linear.constrained_families import chain, four_bar
from tests.systems import Array
from titop.solvers.equilibrium.unknowns import TrimUnknowns, with_dependents


def test_the_rate_may_be_the_unknown() -> None:
    point = tt.trim(spinner(), ["shaft.v"], q=dict.fromkeys(HINGES, 0.7), v={"shaft": 1.0})
    expected = np.sqrt((GRAVITY * np.sin(0.7) + 2 * 0.7) / (np.sin(0.7) * np.cos(0.7)))
    assert point.v[0] == pytest.approx(expected, abs=ROUNDING)


def test_a_parameter_may_be_the_unknown() -> None:
    model = spinner()
    point = tt.trim(model, ["right_hinge.stiffness", "left_hinge.stiffness"], q=dict.fromkeys(HINGES, 0.7), v={"shaft": 5.0})
    expected = (25 * np.sin(0.7) * np.cos(0.7) - GRAVITY * np.sin(0.7)) / 0.7
    # derivatives by parameters come from differences, the equations do not
    assert list(point.parameters.values()) == pytest.approx([expected] * 2, abs=ROUNDING)
    assert point.model.parameters()["left_hinge.stiffness"][0] == point.parameters["left_hinge.stiffness"]


@pytest.mark.parametrize("guess", [0.0, 1e-15, -1e-12, 1e-9, 1.0, 1e6])
def test_forces_may_be_guessed_next_to_nothing(guess: float) -> None:
    s = tt.System("lift", gravity=[0, 0, -GRAVITY])
    cabin = tt.RigidBody("cabin", 2.0)
    s.connect("world", cabin, tt.Prismatic("shaft", axis=[0, 0, 1]))
    s.add_load(tt.Load("push", cabin, force=[0, 0, 0], frame="world"))
    found = tt.trim(s.resolve(), ["push.force.z"], parameters={"push.force.z": guess})
    assert found.parameters["push.force.z"] == pytest.approx(2 * GRAVITY, rel=1e-9)


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
    found = with_dependents(guess, TrimUnknowns(guess, names).entries, TrimUnknowns(guess, ["q0.q"]).entries)
    assert [entry.name for entry in found] == [*names, "q1", "q2"]
    also = with_dependents(guess, TrimUnknowns(guess, [*names, "q1", "q2"]).entries, TrimUnknowns(guess, ["q0.q"]).entries)
    assert [entry.name for entry in also] == [*names, "q1", "q2"]


def test_followers_of_gears() -> None:
    m = geared_hand().resolve()
    guess = tt.OperatingPoint(m, m.assemble(0.3 * np.ones(m.nv)))
    found = with_dependents(guess, TrimUnknowns(guess, ["wrist.tau"]).entries, TrimUnknowns(guess, ["l"]).entries)
    followers = {entry.name for entry in found[1:]}
    assert len(followers) == m.nv - len(m.independent_coordinates(guess.q))
    assert not followers & {"l", "wrist"}


def test_trees_have_none() -> None:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    guess = tt.OperatingPoint(s.resolve(), [0.3])
    entries = TrimUnknowns(guess, ["hinge.tau"]).entries
    assert with_dependents(guess, entries) == entries
