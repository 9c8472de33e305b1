"""Controllers and weights with numbers that are none are refused wherever they are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import hinged, refusal

MODEL = hinged().resolve()


def controller(name: str, step: float, value: float = np.nan) -> Any:
    """Return a controller one entry of which is no number."""
    matrices = {"A": [[-1.0]], "B": [[1.0]], "C": [[1.0]], "D": [[0.5]]} | {name: [[value]]}
    return control.ss(*matrices.values(), step, inputs=["hinge_q"], outputs=["hinge_tau"])


def family() -> tt.LFTModel:
    return tt.lft(MODEL, MODEL.neutral(), {"arm.mass": tt.percent(10)}, ["hinge"], ["hinge.q"])


USES: list[Callable[[Any], object]] = [
    lambda K: family().close(K),
    lambda K: tt.simulate(MODEL, [0, 1], [0], [0], controller=K, sample_time=0.01),
    lambda K: tt.simulate(
        MODEL,
        [0, 1],
        [0],
        [0],
        controller=tt.ScheduledController(lambda rho: K, schedule={"hinge.q": "hinge.q"}, sample_time=0.01),
    ),
]


@pytest.mark.parametrize("use", USES, ids=["close", "simulate", "scheduled"])
@pytest.mark.parametrize("name", ["A", "B", "C", "D"])
def test_controllers(use: Callable[[Any], object], name: str) -> None:
    for step in (0.0, 0.01):
        K = controller(name, step)
        K = control.ss(K.A, K.B, K.C, K.D, step, inputs=["hinge_q"], outputs=["hinge"]) if use is USES[0] else K
        with refusal("not-finite", f"{name}[0, 0] of "):
            use(K)


def test_weights() -> None:
    with refusal("not-finite", "D[0, 0] of "):
        family().append("modes", "hinge", control.ss([], [], [], [[np.inf]]))
