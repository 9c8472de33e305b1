"""Points whose loops are open are refused by everything that is made about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.refusals import refusal

MODEL = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2]), stiffness=5.0, damping=0.2).resolve()
CLOSED = MODEL.assemble([1.2, -0.9, -1.2])

USES: list[Callable[[tt.OperatingPoint], object]] = [
    lambda p: p.stability,
    lambda p: p.eigenvalues,
    lambda p: tt.linearize(MODEL, p),
    lambda p: tt.linear_matrices(MODEL, p),
    lambda p: tt.linear_matrices(MODEL, (p.q, p.v, p.tau)),
    lambda p: tt.lft(MODEL, p, {"crank.mass": tt.percent(10)}, ["q1"], ["q1.q"]),
    lambda p: tt.lpv(MODEL, {"crank.mass": [1.0]}, inputs=["q1"], outputs=["q1.q"], points=[p], progress=False),
    lambda p: MODEL.to_nlsys(["q1"], None, p),
]


@pytest.mark.parametrize(
    "use", USES, ids=["stability", "eigenvalues", "linearize", "matrices", "matrices of a state", "lft", "lpv", "nlsys"]
)
def test_open_points_are_refused(use: Callable[[tt.OperatingPoint], object]) -> None:
    with refusal("open-point", "loop 'pin' is open by 0."):
        use(tt.OperatingPoint(MODEL, CLOSED + np.array([0.3, 0.0, 0.0])))
    with refusal("open-point", " changing at "):
        use(tt.OperatingPoint(MODEL, CLOSED, [1.0, 0.0, 0.0]))


def test_a_point_of_a_model_whose_lengths_have_changed_is_open() -> None:
    longer = MODEL.with_parameters({"crank.end.position.x": 0.45})
    with refusal("open-point", "take point at m.assemble"):
        tt.linearize(longer, CLOSED)
    point = tt.trim(longer, q=longer.assemble(CLOSED))
    assert tt.linearize(longer, point).nstates == 2


def test_what_trim_and_assembling_leave_open_is_closed() -> None:
    nearly = CLOSED + 1e-8
    tt.linearize(MODEL, (nearly, np.zeros(3), MODEL.inverse_dynamics(CLOSED, np.zeros(3), np.zeros(3))))
