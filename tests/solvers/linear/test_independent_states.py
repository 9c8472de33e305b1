"""Linear models of closed systems have the states of their freedom."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import slider_crank
from tests.refusals import refusal

pytestmark = pytest.mark.portable


def test_a_closed_chain_has_the_states_of_its_freedom() -> None:
    """A slider-crank about a moving state, by any of its coordinates: the same poles, and the slopes of its Lagrangian."""
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = slider_crank().resolve()
    q = model.assemble([0.7, -1.0, 0.3], fixed=["q1"])
    v = model.assemble_velocity(q, [1.3, 0.0, 0.0], fixed=["q1"])
    point = tt.OperatingPoint(model, q, v, np.array([0.4, 0.0, 0.0]))
    with pytest.warns(tt.ModelWarning, match="equilibrium"):
        by_crank = tt.linearize(model, point, ["q1"], independent=["q1"])
    with pytest.warns(tt.ModelWarning, match="equilibrium"):
        by_rod = tt.linearize(model, point, ["q1"], ["q1.q"], independent=["q2"])
    assert by_crank.state_labels == ["q1_q", "q1_v"]
    assert by_rod.state_labels == ["q2_q", "q2_v"]

    def crank(x: float, w: float, effort: float) -> float:
        closed = model.assemble([x, q[1], q[2]], fixed=["q1"])
        rates = model.assemble_velocity(closed, [w, 0.0, 0.0], fixed=["q1"])
        return float(model.forward_dynamics(closed, rates, [effort, 0.0, 0.0])[0])

    step = 1e-4
    at = np.array([q[0], 1.3, 0.4])
    slopes = [(crank(*(at + d)) - crank(*(at - d))) / (2 * step) for d in step * np.eye(3)]
    # central differences of second order with a step of 1e-4, of functions of order ten: 1e-6
    assert by_crank.A[1] == pytest.approx(slopes[:2], rel=1e-6)
    assert by_crank.B[1, 0] == pytest.approx(slopes[2], rel=1e-6)
    with refusal("not-independent", "q1"):
        tt.linearize(model, point, ["q1"], independent=["q1", "q2"])
