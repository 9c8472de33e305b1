"""Slopes of feedback in implicit dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from titop.solvers.simulation import implicit_dynamics

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def test_stiff_feedback_is_differentiated(monkeypatch: pytest.MonkeyPatch) -> None:
    model = four_bar().resolve()
    q = model.assemble([0.5, 0.5, -1.5], fixed=["q1"])

    def servo(t, q, v):
        return np.array([-1e5 * (q[0] - 0.6) - 2e3 * v[0], 0, 0])

    arguments = {"tau": servo, "method": "generalized-alpha", "rtol": 1e-5, "atol": 1e-5}
    run = tt.simulate(model, [0, 0.5, 1], q, np.zeros(3), **arguments)
    assert run.statistics["steps"] < 300
    assert run.q[-1][0] == pytest.approx(0.6, abs=1e-3)  # gravity over stiffness, 1e-4, and the tolerance
    monkeypatch.setattr(implicit_dynamics, "feedback_derivatives", lambda *_: (np.zeros((3, 3)),) * 2)
    blind = tt.simulate(model, [0, 0.02], q, np.zeros(3), **arguments)
    seeing = run.statistics["steps"] + run.statistics["rejected"]
    assert blind.statistics["steps"] + blind.statistics["rejected"] > seeing, (
        "the negative control, over a fiftieth of the time"
    )
