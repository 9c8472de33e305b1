"""Tangents of steps of the generalised-alpha scheme."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.simulation.alpha_systems import flying, swinging
from titop.solvers.simulation.alpha_step import tangent

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("start", [flying, swinging])
def test_tangent_is_the_slope_of_integrate(start) -> None:
    model, q, _ = start()
    step, rng = 1e-6, np.random.default_rng(0)
    dq = rng.normal(size=model.nv)
    there = model.integrate(q, dq)
    columns = [
        model.difference(model.integrate(q, dq - e), model.integrate(q, dq + e)) / (2 * step) for e in step * np.eye(model.nv)
    ]
    assert model.difference(there, model.integrate(q, dq)) == pytest.approx(0, abs=1e-14)
    assert tangent(model, dq) == pytest.approx(np.array(columns).T, abs=1e-8)  # central differences
    assert np.abs(tangent(model, dq) - np.eye(model.nv)).max() > 0.1
