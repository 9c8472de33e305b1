"""Controllers for the tests of closed linear fractional models, and uncertainties closed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import control
import numpy as np

import titop as tt
from tests.solvers.lft.satellites import satellite, still, tied

RATES, TORQUES = [f"gyro_{axis}" for axis in "xyz"], [f"wheels_{axis}" for axis in "xyz"]

#: A member of `craft` away from the nominal values.
VALUES = {"hub.mass": 170.0, "panel_left.mode1.frequency": 1.8, "sada_right.q": 0.4}


@cache
def model() -> tt.Model:
    """Return the satellite with one mode of each panel."""
    return satellite(modes=1)


@cache
def craft(*outputs: str) -> tt.LFTModel:
    """Return the satellite with one mode of each panel as a linear fractional model."""
    parameters = {"hub.mass": (150.0, 230.0), tied("panel_*.mode1.frequency"): tt.percent(20), "sada_right.q": (-0.5, 1.0)}
    return tt.lft(model(), still(model()), parameters, ["wheels"], outputs or ["gyro"])


def rate_control(period: float = 0.0, feedthrough: float = 400.0) -> control.StateSpace:
    """Return damping by the wheels, with a slow state for each axis; sampled with a period (s)."""
    A, C = (0.9, -1.0) if period else (-0.5, -2.0)
    one = np.eye(3)
    time_base = (period,) if period else ()
    return control.ss(A * one, one, C * one, -feedthrough * one, *time_base, inputs=RATES, outputs=TORQUES)


def by_hand(model: tt.LFTModel, point: complex, deltas: Sequence[Any]) -> np.ndarray:
    """Return the response at s or z with a number or a matrix for each block, by the feedback's definition."""
    M, (w, z) = model.M(point, squeeze=False), model.channels
    delta, row, column = np.zeros((w, z), dtype=complex), 0, 0
    for block, value in zip(model.blocks, deltas, strict=True):
        own = value if block.kind == "full" else value * np.eye(block.repetitions)
        delta[row : row + block.repetitions, column : column + block.columns] = own
        row, column = row + block.repetitions, column + block.columns
    return np.asarray(M[z:, w:] + M[z:, :w] @ delta @ np.linalg.solve(np.eye(z) - M[:z, :w] @ delta, M[:z, w:]))
