"""Linear controllers, against python-control and closed forms."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import MASS, largest, lead, slider
from tests.tolerances import ACCURACY, TIGHT


@pytest.mark.parametrize("reference", [0.3, lambda t: np.sin(2 * t)])
def test_a_linear_plant_responds_as_the_interconnection_of_control(reference: Any) -> None:
    model, t = slider(stiffness=5.0, damping=0.7), np.linspace(0, 4, 101)
    plant = control.ss([[0, 1], [-5.0 / MASS, -0.7 / MASS]], [[0], [1 / MASS]], [[1, 0]], [[0]])
    closed = control.feedback(plant * lead(), 1)
    # forced_response takes its input as linear between the times; so does an array of references
    values = np.full(len(t), reference) if np.isscalar(reference) else reference(t)
    expected = control.forced_response(closed, t, values).outputs
    trajectory = tt.simulate(model, t, [0.0], [0.0], controller=lead(), reference=values, **TIGHT)
    # at each of the hundred kinks of the reference the integrator's estimate of its error is coarser
    assert largest(trajectory.q[:, 0] - expected) < 10 * ACCURACY
    assert trajectory.control is not None
    assert trajectory.control.x.shape == (101, 2)
    by_name = tt.simulate(model, t, [0.0], [0.0], controller=lead(), reference={"ruler": reference}, **TIGHT)
    # linear interpolation of sin(2 t) over 0.04 s errs by 4 (0.04)^2 / 8
    assert largest(by_name.q - trajectory.q) < 8e-4


def test_an_accelerometer_may_act_through_a_lag() -> None:
    K = control.ss([[-1.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["accelerometer_x"], outputs=["motor"])
    t = np.linspace(0, 3, 31)
    trajectory = tt.simulate(slider(), t, [0.0], [0.0], controller=K, reference=[2.0], **TIGHT)
    rate = 1 + 1 / MASS  # du/dt = -u + 2 - u / m
    assert largest(trajectory.u[:, 0] - 2 / rate * (1 - np.exp(-rate * t))) < ACCURACY
    assert largest(trajectory.signal("accelerometer.x") - trajectory.u[:, 0] / MASS) < 1e-12


def test_a_continuous_controller_is_sampled_by_tustins_rule() -> None:
    t, common = np.linspace(0, 1, 6), {"reference": [0.2]}
    sampled = tt.simulate(slider(), t, [0.0], [0.0], controller=lead(), sample_time=0.02, **common)
    given = tt.simulate(slider(), t, [0.0], [0.0], controller=control.sample_system(lead(), 0.02, "tustin"), **common)
    assert np.array_equal(sampled.q, given.q)
    continuous = tt.simulate(slider(), t, [0.0], [0.0], controller=lead(), **common)
    errors = []
    for step in (0.01, 0.005):
        fine = tt.simulate(slider(), t, [0.0], [0.0], controller=lead(), sample_time=step, **common)
        errors.append(largest(fine.q - continuous.q))
    assert 1.7 < errors[0] / errors[1] < 2.4  # the hold delays by half a sample: first order
