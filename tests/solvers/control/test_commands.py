"""Commands keep to the ranges of actuators."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.control.sliders import gain, slider


def test_inputs_keep_to_the_actuators_ranges_unless_told_otherwise() -> None:
    for step in (None, 0.01):
        run = tt.simulate(slider(limit=1.5), np.linspace(0, 2, 21), [1.0], [0.0], controller=gain(8.0, 5.0), sample_time=step)
        assert run.u.min() == -1.5
        assert run.control.u[0, 0] == -8.0
        assert run.violations() == []
        free = tt.simulate(
            slider(limit=1.5), np.linspace(0, 2, 21), [1.0], [0.0], controller=gain(8.0, 5.0), sample_time=step, saturate=False
        )
        assert free.u[0, 0] == -8.0
        assert [finding.where for finding in free.violations()] == ["motor input"]
