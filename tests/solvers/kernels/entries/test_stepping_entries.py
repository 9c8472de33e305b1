"""Entries for integrators."""

from __future__ import annotations

import numpy as np

import titop as tt
from titop.solvers.kernels.interface import layout


def test_states_of_the_wrong_size_do_not_reach_memory() -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    function, arguments = s.resolve().mechanism.engine.state_derivative([], np.zeros(1))
    for rates, state in ((1, 2), (2, 1), (3, 3)):
        dy = np.zeros(rates)
        assert function(dy, 0.0, np.zeros(state), *arguments) == layout.WRONG_SIZE
        assert np.isnan(dy).all()
    function, arguments = s.resolve().mechanism.engine.state_derivative([], np.zeros(0))
    assert function(np.zeros(2), 0.0, np.zeros(2), *arguments) == layout.WRONG_SIZE
