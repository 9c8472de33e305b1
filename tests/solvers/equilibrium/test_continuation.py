"""Branches of equilibria along a parameter."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import HINGES, ROUNDING, opening, spinner, swing


def test_along_a_parameter() -> None:
    points = tt.trim_along(spinner(), "shaft.v", [5.0, 3.6], HINGES, steps=14, q=dict.fromkeys(HINGES, 1.0), v={"shaft": 5.0})
    spins = [point.v[0] for point in points]
    assert spins == pytest.approx(np.linspace(5.0, 3.6, 15).tolist())
    assert [point.q[1] for point in points] == pytest.approx([opening(w) for w in spins], abs=ROUNDING)
    masses = tt.trim_along(spinner(), "left.mass", np.linspace(1, 3, 5), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": 5.0})
    assert [p.q[2] for p in masses] == pytest.approx([opening(5.0, mass=m) for m in np.linspace(1, 3, 5)], abs=ROUNDING)
    assert masses[-1].parameters == {"left.mass": 3.0}
    # one long step is corrected and, where that fails, divided
    far = tt.trim_along(spinner(), "shaft.v", [30.0, 3.6], HINGES, q=dict.fromkeys(HINGES, 1.5), v={"shaft": 30.0})
    assert far[-1].q[1] == pytest.approx(opening(3.6), abs=ROUNDING)


def test_a_branch_that_ends() -> None:
    """The largest torque that the pendulum can hold, 2 kg * 9.81 m/s^2 * 1 m, is 19.62 N m."""
    with pytest.raises(tt.ConvergenceError, match=r"end near hinge.tau = 19.6\d*, before 20:"):
        tt.trim_along(swing(), "hinge.tau", [0.0, 25.0], steps=10)


def test_bad_continuations_are_refused() -> None:
    model = swing()
    for arguments, code, text in (
        (("hing", [0, 1]), "unknown-unknown", "did you mean 'hinge'"),
        (("hinge.tau", []), "wrong-type", "np.linspace"),
        (("hinge.tau", [0, np.inf]), "wrong-type", "np.linspace"),
    ):
        with refusal(code, text):
            tt.trim_along(model, *arguments)
    with refusal("wrong-type", "1 or more"):
        tt.trim_along(model, "hinge.tau", [0, 1], steps=0)
    free = satellite().resolve()
    with refusal("not-scalar", "base.x"):
        tt.trim_along(free, "base", [0, 1])
    with refusal("no-number", "base.rx"):
        tt.trim_along(free, "base.rx", [0, 1])
    with refusal("no-number", "bounds"):
        tt.trim(free, ["base.rx"], bounds={"base.rx": (0, 1)})
