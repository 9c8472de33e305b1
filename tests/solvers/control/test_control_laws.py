"""Controllers of all kinds as one function of measurements."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.control.sliders import controller, lead
from titop.solvers.control.control_laws import LinearWiring, controller_law, scheduled_law, state_space_law

WIRING = LinearWiring(("rail.q",), ("rail.q",), ("motor",), np.array([[-1.0]]), np.array([[1.0]]))


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
    law = state_space_law(K, WIRING, step)
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
    law = scheduled_law(scheduled, scheduled.at({"rail.q": 0.0}), WIRING, {"rail.q": "rail.q"})
    _, u = law.update(0.0, np.zeros(0), np.array([0.25]), np.array([0.0]), np.array([0.75]))
    np.testing.assert_allclose(u, -(1.0 + 0.75 * 2.0) * 0.25, rtol=1e-14)
