"""Controllers of all kinds as one, and how linear ones are wired by names."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.control.sliders import MASS, controller, largest, lead, slider
from tests.tolerances import ACCURACY, TIGHT
from titop.solvers.control.control_laws import LinearLaw, controller_law, sampled_law, scheduled_law


def error_law(K: Any) -> LinearLaw:
    """Return the law of a controller of the error of the position."""
    return LinearLaw(("rail.q",), ("rail.q",), ("motor",), tuple(K.state_labels), K, np.array([[-1.0]]), np.array([[1.0]]))


def test_functions_are_called_as_they_are() -> None:
    law = controller_law(controller(update=lambda t, x, y, r: (x + t, 2 * y - r)), ("rail.q",), ("motor",))
    after, u = law.update(3.0, np.array([1.0]), np.array([5.0]), np.array([4.0]), np.array([9.0]))
    assert (after.tolist(), u.tolist()) == ([4.0], [6.0])
    assert (law.states, law.references, law.sample_time) == (("x[0]",), ("rail.q",), 0.1)


@pytest.mark.parametrize(
    "returned", [None, 3.0, ([0.0],), ([0.0], [1.0, 2.0]), ([0.0], [np.nan]), ([0.0], ["fast"]), [[0.0], [1.0]]]
)
def test_what_they_return_is_checked(returned: Any) -> None:
    law = controller_law(controller(update=lambda t, x, y, r: returned), ("rail.q",), ("motor",))
    with refusal("bad-update", "(x_next, u): 1 states and 1 commands, all finite") as caught:
        law.update(0.3, np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1))
    assert caught.value.where == "controller.update at t = 0.3 s"


def test_a_sampled_state_space_steps_as_scipys() -> None:
    """Tustin's rule, by python-control's own simulation of the error as an input."""
    K, step = lead(), 0.05
    law = sampled_law(error_law(K), step)
    x, errors, found = law.initial_state, [1.0, 0.5, -0.3, 0.0, 2.0], []
    for k, error in enumerate(errors):
        x, u = law.update(k * step, x, np.array([0.2]), np.array([0.2 + error]), np.array([0.2]))
        found.append(float(u[0]))
    expected = control.forced_response(control.sample_system(K, step, "tustin"), step * np.arange(5), errors).outputs
    np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-12)
    assert len(law.states) == 2


def test_scheduled_gains_follow_what_is_measured() -> None:
    """The gain follows the measured value itself; what it acts on is the deviation."""

    def family(rho: Any) -> Any:
        return control.ss([], [], [], [[1.0 + 2.0 * rho["rail.q"]]], 0.1, inputs=["rail_q"], outputs=["motor"])

    scheduled = tt.ScheduledController(family, {"rail.q": "rail.q"}, 0.1)
    law = scheduled_law(scheduled, error_law(scheduled.at({"rail.q": 0.0})), {"rail.q": "rail.q"}, {"rail.q": 0.0})
    _, u = law.update(0.0, np.zeros(0), np.array([0.25]), np.array([0.0]), np.array([0.75]))
    np.testing.assert_allclose(u, -(1.0 + 0.75 * 2.0) * 0.25, rtol=1e-14)


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
