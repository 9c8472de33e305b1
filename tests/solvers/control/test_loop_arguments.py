"""What is told about a control loop: what cannot be is refused."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import controller, gain, lead, slider


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_seeds_that_are_none_are_refused(seed: Any) -> None:
    with pytest.raises(tt.ModelError, match="bad-seed"):
        tt.simulate(slider(), [0, 1], [0.5], [0.0], controller=gain(1.0, 1.0), sample_time=0.1, seed=seed)


def test_sample_times_that_never_end_are_refused() -> None:
    K = tt.Controller(lambda t, x, y, r: (x, y), [], ["rail.q"], ["motor"], 1e-12)
    for given in ({"controller": gain(1.0, 1.0), "sample_time": 1e-12}, {"controller": K}):
        with pytest.raises(tt.ModelError, match="1e-12 s, 1e\\+12 samples"):
            tt.simulate(slider(), [0, 1], [0.5], [0.0], **given)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"controller": gain(1.0, inputs=["rail_qq"])}, "unknown-signal"),
        ({"controller": control.ss([], [], [], [[1.0]])}, "unknown-signal"),
        ({"controller": gain(1.0, inputs=["rail_q"], outputs=["moter"])}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0, inputs=["rail_q", "rail_q"])}, "duplicate-name"),
        (
            {"controller": control.ss([], [], [], [[1.0], [2.0]], inputs=["rail_q"], outputs=["motor", "motor"])},
            "duplicate-name",
        ),
        ({"controller": controller(inputs=["rail.w"])}, "unknown-signal"),
        ({"controller": controller(outputs=["rail.q"])}, "unknown-signal"),
        ({"controller": controller(), "sample_time": 0.2}, "other-sample-time"),
        ({"controller": gain(1.0, 1.0, dt=0.1), "sample_time": 0.2}, "other-sample-time"),
        ({"controller": gain(1.0, 1.0, dt=True)}, "no-sample-time"),
        ({"controller": control.tf([1], [1, 1])}, "wrong-type"),
        ({"controller": gain(1.0, 1.0), "delay": 0.1}, "no-sample-time"),
        ({"controller": gain(1.0, 1.0), "noise": 0.1}, "no-sample-time"),
        ({"controller": gain(1.0, 1.0), "sample_time": 0.0}, "bad-time"),
        ({"controller": controller(), "delay": -0.1}, "bad-time"),
        ({"controller": controller(), "delay": "late"}, "bad-time"),
        ({"controller": controller(), "noise": -1.0}, "bad-noise"),
        ({"controller": controller(), "noise": [1.0, 2.0]}, "bad-noise"),
        ({"controller": controller(), "noise": {"rail.v": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.a": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "reference": [1.0]}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.q": [1.0, 2.0, 3.0]}}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.q": lambda t: np.nan}}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "operating_point": {"rial.q": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "operating_point": {"rail.q": np.nan}}, "not-finite"),
        ({"controller": gain(1.0, 1.0), "operating_point": 3.0}, "wrong-type"),
        ({"controller": controller(update=lambda t, x, y, r: y)}, "bad-update"),
        ({"controller": controller(update=lambda t, x, y, r: ([1.0, 2.0], y))}, "bad-update"),
        ({"controller": controller(update=lambda t, x, y, r: (x, [np.nan]))}, "bad-update"),
        ({"reference": [1.0]}, "no-controller"),
        ({"delay": 0.1}, "no-controller"),
        ({"noise": 0.1}, "no-controller"),
        ({"controller": tt.ScheduledController(lambda rho: 1.0, {"rho": "rail.q"}, 0.1)}, "wrong-type"),
        ({"controller": tt.ScheduledController(lambda rho: lead(), {"rho": "accelerometer.x"}, 0.1)}, "dynamic-schedule"),
        ({"controller": tt.ScheduledController(lambda rho: lead(), {"rho": "rail.x"}, 0.1)}, "unknown-signal"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(slider(), [0, 1], [0.5], [0.0], **arguments)
    assert caught.value.code == code
