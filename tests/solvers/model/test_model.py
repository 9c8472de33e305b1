"""Models as objects."""

from __future__ import annotations

import functools
import pickle

import pytest

import titop as tt


def test_models_travel_to_other_processes() -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    model = s.resolve()
    first = model.forward_dynamics([0.3], [0.1])
    assert model.inverse_dynamics([0.3], [0.1], first) == pytest.approx(0.0, abs=1e-12)
    model.mass_matrix([0.3])
    model.forward_dynamics_derivatives([0.3], [0.1])
    model.inverse_dynamics_derivatives([0.3], [0.1], first)
    tt.linear_matrices(model, ([0.3], [0.1], [0.0]))
    model.gravity_effects([0.3])
    model.nonlinear_effects([0.3], [0.1])
    assert sum(isinstance(value, functools.partial) for value in vars(model.mechanism.engine.calls).values()) > 4
    copy = pickle.loads(pickle.dumps(model))
    assert copy.forward_dynamics([0.3], [0.1]) == first
