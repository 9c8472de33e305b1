"""Inputs that act one way only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from titop.solvers.constraints.interaction_loads import refuse_pushing


def finger(**fields: Any) -> tt.Model:
    """Return a rod with a motor at its base, a tendon and a chamber."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1e3, strains={"bending_z": 0})
    s = tt.System("finger")
    s.connect("world", rod, tt.Revolute("base"))
    s.add_actuator(tt.Motor("motor", "base"))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.008, **fields))
    s.add_interaction(tt.PressureChamber("chamber", rod, area=1e-5, y=-0.005))
    return s.resolve("reference")


MODEL = finger()


def test_motors_may_turn_back() -> None:
    assert MODEL.input_names == ("motor", "flexor.tension", "chamber.pressure")
    refuse_pushing(MODEL.mechanism, np.array([-3.0, 0.0, 2.0]))
    refuse_pushing(MODEL.mechanism, None)


def test_tendons_and_chambers_do_not() -> None:
    with refusal("one-sided", "flexor.tension: got -2 N; expected 0 N or more") as caught:
        refuse_pushing(MODEL.mechanism, np.array([0.0, -2.0, -1e5]))
    assert [finding.where for finding in caught.value.findings] == ["flexor.tension", "chamber.pressure"]
    refuse_pushing(finger(push=True).mechanism, np.array([0.0, -2.0, 0.0]))


def test_the_worst_time_is_told() -> None:
    u = np.zeros((3, 3))
    u[:, 1] = [5.0, -4.0, -1.0]
    with refusal("one-sided", "got -4 N at t = 0.5 s"):
        refuse_pushing(MODEL.mechanism, u, np.array([0.0, 0.5, 1.0]))


@pytest.mark.parametrize(("least", "refused"), [(-1e-10, False), (-1e-8, True)])
def test_rounding_is_no_push(least: float, refused: bool) -> None:
    u = np.array([[0.0, 1.0, 0.0], [0.0, least, 0.0]])
    if refused:
        with refusal("one-sided", "flexor.tension"):
            refuse_pushing(MODEL.mechanism, u)
    else:
        refuse_pushing(MODEL.mechanism, u)
