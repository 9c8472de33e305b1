"""Names and units of signals as they leave titop."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite


def test_names_units_and_components() -> None:
    model = satellite().resolve()
    at = (model.neutral(), np.zeros(model.nv), np.zeros(model.nv))
    with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
        system = tt.linearize(model, at, ["elbow", "push.x", "arm.tip.F", "wheel.a"], ["gyro.y", "arm.tip.w[1]", "elbow.q"])
    assert system.name == "satellite"
    assert system.input_labels == ["elbow_first", "elbow_second", "push_x", *(f"arm_tip_F[{k}]" for k in range(3)), "wheel_a"]
    assert system.output_labels == ["gyro_y", "arm_tip_w[1]", "elbow_first_q", "elbow_second_q"]
    assert system.state_labels[:2] == ["base_x_q", "base_y_q"]
    table = tt.signal_table(system)
    assert table["arm_tip_F[2]"] == tt.Signal("arm.tip.F[2]", "N")
    assert table["wheel_a"].unit == "rad/s^2"
    assert table["base_x_v"].unit == "m/s"
    with pytest.raises(tt.ModelError, match="no-signals"):
        tt.signal_table(control.ss(system))
