"""Linear outputs that are reactions, against differences."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.solvers.linear.nonlinear_systems import Array


def test_reactions_of_a_closed_chain() -> None:
    """Of a closure, a joint and a sensor, by the crank's angle and rate, its effort and a wrench: against differences."""
    s = four_bar()
    s.add_sensor(tt.ReactionSensor("cell", "q2"))
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = s.resolve()
    point = tt.trim(model, ["q1", "q2", "q3"], q={"q1": -1.5, "q2": 1.0, "q3": 1.0})
    outputs = ["pin.reaction", "q1.reaction", "cell"]
    system = tt.linearize(model, point, ["q1", "coupler.end"], outputs, independent=["q1"])

    def reactions(x: Array) -> Array:
        q = model.assemble([point.q[0] + x[0], *point.q[1:]], fixed=["q1"])
        v = model.assemble_velocity(q, [x[1], 0.0, 0.0], fixed=["q1"])
        tau, wrenches = np.array([x[2], 0.0, 0.0]), {"coupler.end": x[3:]}
        a = model.forward_dynamics(q, v, tau, wrenches)
        return np.concatenate([model.reaction(name, q, v, a, wrenches, tau=tau) for name in ("pin", "q1", "q2")])

    step = 1e-5
    slopes = np.column_stack([(reactions(d) - reactions(-d)) / (2 * step) for d in step * np.eye(9)])
    # second-order differences of forces near 10 N with a step of 1e-5: about 1e-9
    assert np.abs(np.hstack([system.C, system.D]) - slopes).max() < 1e-7
    assert np.abs(slopes).max() > 1
