"""Controllers as users give them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import controller, gain, held, largest, lead, slider, state
from tests.tolerances import ACCURACY, TIGHT


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"update": 3.0}, "wrong-type"),
        ({"initial_state": [[1.0]]}, "wrong-type"),
        ({"initial_state": [np.nan]}, "wrong-type"),
        ({"inputs": "rail.q"}, "wrong-type"),
        ({"outputs": ["motor", "motor"]}, "duplicate-name"),
        ({"sample_time": -1.0}, "bad-time"),
        ({"sample_time": np.inf}, "bad-time"),
    ],
)
def test_bad_controllers(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        controller(**changes)
    assert caught.value.code == code


def test_a_scheduled_controller_follows_its_parameter() -> None:
    step, x, expected = 0.1, np.array([1.0, 0.0]), []
    A, B = held(step)

    def family(rho: dict[str, float]) -> Any:
        return gain(4.0 * (1 + rho["place"] ** 2), 3.0)

    for _ in range(21):
        expected.append(x)
        x = A @ x - B * (4.0 * (1 + x[0] ** 2) * x[0] + 3.0 * x[1])
    t = np.arange(21) * step
    for given in (family, SimpleNamespace(at=family)):
        scheduled = tt.ScheduledController(given, {"place": "ruler"}, step)
        run = tt.simulate(slider(), t, [1.0], [0.0], controller=scheduled, **TIGHT)
        assert largest(state(run) - expected) < ACCURACY
    steady = tt.ScheduledController(lambda rho: lead(), {"rho": "rail.q"}, 0.02)
    runs = [
        tt.simulate(slider(), t, [0.0], [0.0], controller=K, sample_time=0.02, reference={"ruler": 1.0})
        for K in (steady, lead())
    ]
    assert np.array_equal(runs[0].q, runs[1].q)


def test_members_of_a_family_must_have_the_same_states() -> None:
    def family(rho: dict[str, float]) -> Any:
        return lead() if rho["x"] > 0.4 else gain(1.0, inputs=["ruler"])

    with pytest.raises(tt.ModelError, match="same states and signals"):
        tt.simulate(slider(), [0, 1], [0.5], [-1.0], controller=tt.ScheduledController(family, {"x": "rail.q"}, 0.1))


def test_members_of_a_family_must_name_their_states_alike() -> None:
    """As many states of other meaning would go on from one sample to the next as if they were the same."""

    def family(rho: dict[str, float]) -> Any:
        names = ["position", "rate"] if rho["x"] > 0.4 else ["rate", "position"]
        A = np.diag([-1.0, -2.0])
        return control.ss(A, [[1.0], [1.0]], [[1.0, 1.0]], 0.0, states=names, inputs=["ruler"], outputs=["motor"])

    with pytest.raises(tt.ModelError, match="state_labels"):
        tt.simulate(slider(), [0, 1], [0.5], [-1.0], controller=tt.ScheduledController(family, {"x": "rail.q"}, 0.1))
