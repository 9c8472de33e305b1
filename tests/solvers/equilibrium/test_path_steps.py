"""Steps along a path: shorter where one of them leads astray, and what is said where all do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY, swing
from titop.solvers.equilibrium import path_steps
from titop.solvers.equilibrium.path_curve import Curve, Station
from titop.solvers.equilibrium.path_events import Event
from titop.solvers.equilibrium.path_steps import steps_along

#: What turns the pendulum of `swing` most (N m).
LARGEST = 2.0 * GRAVITY


def curve() -> Curve:
    """Return the equilibria of a pendulum over the torque on it, as a part of the largest one."""
    return Curve(tt.OperatingPoint(swing(), [0.0]), ["hinge.tau"], ["hinge"], np.array([LARGEST]), 1e-9)


def test_steps_end_where_a_range_does() -> None:
    """``T = m g sin q``: at half of the largest torque after 30 degrees."""
    path = curve()
    steps = [*steps_along(path, path.begin(), 0.2, (-1.0, 0.5))]
    assert [step.end for step in steps] == [""] * (len(steps) - 1) + ["left"]
    assert steps[-1].reached.y[0] == 0.5
    assert steps[-1].reached.point.q[0] == pytest.approx(np.pi / 6, abs=1e-9)
    lengths = [path.distance(a.reached, b.reached) for a, b in pairwise(steps)]
    assert max(lengths) < 0.2 / 0.9  # at right angles to where they began, and straight to 0.9


def test_steps_that_lead_astray_are_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to where all do, and that is told: nothing is found out about what happens beyond 0.3 of the torque."""

    def events_between(curve: Curve, before: Station, after: Station) -> list[Event]:
        if after.y[0] > 0.3:
            raise tt.ConvergenceError("another branch is near")
        return []

    monkeypatch.setattr(path_steps, "events_between", events_between)
    path, reached = curve(), []
    with pytest.raises(tt.ConvergenceError, match=r"path ends near a load factor of 0\.[23]\d*: another branch is near"):
        reached.extend(step.reached.y[0] for step in steps_along(path, path.begin(), 0.2, (-1.0, 1.0)))
    assert 0.3 - 1e-6 < max(reached) <= 0.3
