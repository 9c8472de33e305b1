"""Goals with weights that are narrower than any grid over the loop's frequencies, and values of goals that do not bind."""

from __future__ import annotations

import control
import numpy as np
import pytest

import titop as tt

GAIN, PERIOD, PLACE, WIDTH = 0.8, 0.1, 7.3, 1e-5
#: A resonance and a hole with one damping ratio, 30 thousand times as wide.
PEAK = control.tf([1, 0.6 * PLACE, PLACE**2], [1, 2 * WIDTH * PLACE, PLACE**2])
HOLE = control.tf([1, 2 * WIDTH * PLACE, PLACE**2], [1, 0.6 * PLACE, PLACE**2])
#: Frequencies: dense about the weight's place, so that the highest value is found to 1e-7.
OMEGA = PLACE * (1 + WIDTH * np.linspace(-20, 20, 40001))
GOALS = {
    "gain": (tt.Goal.gain("u", "x", weight=PEAK), lambda P, S, W: np.abs(P * S * W)),
    "rejection": (tt.Goal.rejection("u", PEAK), lambda P, S, W: np.abs(S * W)),
    "shape": (tt.Goal.shape("u", HOLE), lambda P, S, W: np.abs((1 - S) / W) / np.sqrt(2)),
}


@pytest.mark.parametrize("dt", [0.0, PERIOD])
@pytest.mark.parametrize("name", GOALS)
def test_narrow_weights_are_seen(name: str, dt: float) -> None:
    """A lag under a fixed gain: all by formulae; the highest goal, on the poles, leaves the weighted one unbound."""
    goal, formula = GOALS[name]
    plant = control.ss([[-1.0]], [[1.0]], [[1.0]], [[0.0]])
    if dt:
        plant = control.sample_system(plant, dt, "zoh")
    plant = control.ss(plant.A, plant.B, plant.C, plant.D, dt, inputs=["u"], outputs=["x"], name="lag")
    block = tt.Tunable.gain("k", "x", "u", start=GAIN, lower=GAIN, upper=GAIN)
    tuned = tt.tune(plant, block, [tt.Goal.poles(decay=1e7), goal], starts=1)
    a, b = float(plant.A[0, 0]), float(plant.B[0, 0])
    P = b / ((np.exp(1j * OMEGA * dt) if dt else 1j * OMEGA) - a)
    weight = HOLE if name == "shape" else PEAK
    expected = float(formula(P, 1 / (1 + GAIN * P), weight(1j * OMEGA)).max())
    assert tuned.goals[1].value == pytest.approx(expected, rel=1e-6)  # what the dense grid leaves
