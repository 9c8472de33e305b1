"""Displacements as inputs of families: a quarter car over a road, in closed form at every member."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.linear.quarter_car import quarter_car, response

RANGES = {"body.mass": tt.percent(20), "strut.damping": tt.percent(30), "tyre.stiffness": tt.percent(15)}
#: Two ways of computing responses, relative to them.
ROUNDING = 1e-10


@pytest.mark.parametrize("reduce", [True, False])
def test_members_answer_as_their_closed_form(reduce: bool) -> None:
    model = quarter_car()
    family = tt.lft(model, model.neutral(), RANGES, ["road.q", "strut"], ["body.dv[2]", "tyre.q", "strut.q"], reduce=reduce)
    assert [block.repetitions for block in family.blocks] == ([1, 1, 1] if reduce else [3, 3, 3])
    assert family.check(3) < ROUNDING
    member = family.at({"body.mass": 250.0, "strut.damping": 1000.0, "tyre.stiffness": 1.7e5})
    for omega in (1.0, 8.0, 70.0):
        expected = response(1j * omega, body=250.0, damping=1000.0, tyre=1.7e5)
        assert np.abs(member(1j * omega)[:, 0] - expected).max() < ROUNDING * np.abs(expected).max()


def test_the_worst_ride_of_a_closed_loop_is_found() -> None:
    """Bounds hold what the closed form says at corners, the suspension damped by a controller too."""
    model = quarter_car()
    family = tt.lft(model, model.neutral(), RANGES, ["road.q", "strut"], ["body.dv[2]", "strut.v"])
    loop = family.close(control.tf([-800.0], [1.0], inputs=["strut_v"], outputs=["strut"]))
    assert tt.robust_stability(loop).robust
    found = tt.worst_case_gain(loop, "road.q", "body.dv[2]")
    omega = np.linspace(5, 120, 400)
    corners = [
        max(abs(response(1j * w, body=body, damping=damping + 800.0, tyre=tyre)[0]) for w in omega)
        for body in (240.0, 360.0)
        for damping in (840.0, 1560.0)
        for tyre in (0.85 * 1.8e5, 1.15 * 1.8e5)
    ]
    assert max(corners) <= found.upper * (1 + 1e-9)  # the bound is one of all members
    assert found.lower >= max(corners) * (1 - 1e-3)  # of frequencies a third of a rad/s apart


def test_a_shaken_pendulum_keeps_its_members() -> None:
    s = tt.System("shaken", gravity=[0, 0, -9.81])
    cart, bob = tt.RigidBody("cart", 1.0), tt.RigidBody("bob", 2.0, com=[0.1, 0, -0.5], inertia=0.03)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect(cart, bob, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=3.0, damping=0.2))
    model = s.resolve()
    point = tt.trim(model, ["hinge"])
    ranges = {"bob.mass": tt.percent(20), "hinge.q": (point.q[1] - 0.3, point.q[1] + 0.3)}
    family = tt.lft(model, point, ranges, ["rail.q", "hinge"], ["hinge.q"])
    assert family.check(3) < ROUNDING
    assert [signal.path for signal in tt.signal_table(family.M).values()][:2] == ["hinge.q.remainder", "hinge.v.remainder"]


def test_outputs_of_members_that_need_rates_are_refused() -> None:
    """A damper at the road is there in some members alone."""
    model = quarter_car(tyre_damping=1e-3)
    with refusal("improper", "wheel.dv[2] needs the rate of road.q"):
        tt.lft(model, model.neutral(), {"tyre.damping": (0.0, 50.0)}, ["road.q"], ["wheel.dv[2]"])
