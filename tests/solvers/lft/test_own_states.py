"""States of the first order in linear fractional models: exact in the parameters, or refused by name."""

from __future__ import annotations

import pytest

import titop as tt
from tests.stated_systems import Lag, jointed


def test_models_with_states_are_exact() -> None:
    s = jointed()
    s.gravity = [0, 0, 0]
    m = s.resolve()
    ranges = {"b.mass": (1.5, 2.5), "soft.stiffness": (4.0, 6.0)}
    model = tt.lft(m, tt.trim(m), ranges, ["driven.command", "rail"], ["soft.creep", "c.dv", "soft.reaction", "driven.q"])
    assert model.check() < 1e-10  # linearize at corners and in between, along frequencies


def lagging() -> tt.Model:
    """Return a rotor with a lag."""
    s = tt.System("lagging", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=2.0), tt.Revolute("shaft", stiffness=3.0))
    s.add_interaction(Lag("motor", 0.5), "shaft")
    return s.resolve()


def test_laws_that_are_not_polynomial_are_refused_by_name() -> None:
    m = lagging()
    with pytest.raises(tt.ModelError, match=r"motor\.T"):  # 1 / T
        tt.lft(m, tt.trim(m), {"motor.T": (0.4, 0.6)}, ["motor.command"], ["shaft.q"])
    fitted = tt.lft(m, tt.trim(m), {"motor.T": (0.45, 0.55)}, ["motor.command"], ["shaft.q"], fits=["motor.T"])
    assert fitted.check() < 1e-3  # of the fit


def test_equilibria_that_move_are_refused() -> None:
    m = lagging()
    with pytest.raises(tt.ModelError) as refusal:
        tt.lft(m, tt.trim(m), {"shaft.stiffness": (2.5, 3.5)}, ["motor.command"], ["shaft.q"], equilibrium=tt.trim)
    assert refusal.value.code == "moving-states"
