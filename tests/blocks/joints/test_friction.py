"""Dry friction of joints."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt


def test_friction_stops_a_sliding_mass_and_follows_its_curve():
    friction = tt.Friction(coulomb=2.0, breakaway=3.0, stribeck_velocity=0.1, smoothing=1e-3)
    s = tt.System("slide", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail", friction=friction))
    for engine in ("compiled", "reference"):
        m = s.resolve(engine)
        for v in (-2.0, -0.05, 0.0, 1e-4, 0.03, 1.5):
            expected = -(2.0 + 1.0 * np.exp(-((v / 0.1) ** 2))) * np.tanh(v / 1e-3)
            assert m.passive_efforts([0.0], [v])[0] == pytest.approx(expected, rel=1e-13)
    trajectory = tt.simulate(s.resolve(), [0, 5], [0], [4.0], method="Radau")
    assert abs(trajectory.v[-1, 0]) < 1e-6
    assert trajectory.q[-1, 0] == pytest.approx(4.0, abs=0.01)  # v^2 / (2 F_c), a little less for the breakaway
    assert s.resolve().with_parameters({"rail.friction.coulomb": 1.0}).passive_efforts([0], [9])[0] == -1.0
