"""Flexible bodies whose modes, or all of whose mass, are uncertain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import INPUTS, OUTPUTS, panel, satellite, still, tied

#: Beside the response's norm: see `test_lft`.
EXACT = 1e-9


@pytest.mark.parametrize(
    ("names", "given", "repetitions"),
    [
        (tied("panel_*.mode1.stiffness"), tt.percent(20), 2),
        ("panel_right.mass_scale", tt.percent(20), 7),
        ("panel_right.mode1.participation.x", (-0.1, 0.1), 2),
        ("panel_right.tip.mode1.z", tt.percent(20), 2),
    ],
)
def test_repetitions_with_forces_at_a_tip(names: str | tuple[str, ...], given: Any, repetitions: int) -> None:
    m = satellite()
    model = tt.lft(m, still(m), {names: given}, ("wheels", "panel_right.tip.F"), (*OUTPUTS, "panel_right.tip.v"))
    assert [(block.repetitions, block.degree) for block in model.blocks] == [(repetitions, repetitions)]
    assert model.check(5) < EXACT


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.3, 0.0, -1.0)])
def test_all_kinds_together(gravity: tuple[float, ...]) -> None:
    m = satellite(gravity)
    parameters = {
        "panel_right.mode1.stiffness": tt.percent(-10, 20),
        tied("panel_*.mass_scale"): tt.percent(10),
        "panel_left.mode2.frequency": tt.percent(5),
        "panel_right.com.x": (2.35, 2.45),
        "hub.mass": tt.percent(20),
        "sada_right.q": (-0.7, 1.0),
    }
    point = still(m) if not any(gravity) else (*still(m)[:2], m.inverse_dynamics(*still(m)))
    assert tt.lft(m, point, parameters, INPUTS, OUTPUTS).check(6) < EXACT


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_participation_under_gravity() -> None:
    """A panel that its mass pulls out of shape: its centre of mass moves with the modes, by their participation."""
    m = satellite((0.3, 0.0, -1.0))
    q = still(m)[0]
    q[m.mechanism.assembly.place("panel_right.mode1")[0]] = 0.2
    point = q, np.zeros(m.nv), m.inverse_dynamics(q, np.zeros(m.nv), np.zeros(m.nv))
    parameters = {"panel_right.mode1.participation.z": (3.3, 3.6), "panel_right.mode2.participation.rz": tt.percent(3)}
    assert tt.lft(m, point, parameters, INPUTS, OUTPUTS).check(6) < EXACT
    with pytest.raises(tt.ModelError, match=r"panel_right\.mass_scale.*neither deformed.*not-rational"):
        tt.lft(m, point, {"panel_right.mass_scale": tt.percent(5)}, INPUTS, OUTPUTS)


def test_members_are_put_back() -> None:
    """What follows from a number goes into the model: the member there is that of `linearize`."""
    m = satellite()
    model = tt.lft(m, still(m), {"panel_left.mass_scale": tt.percent(10), "hub.mass": tt.percent(5)}, INPUTS, OUTPUTS)
    worst = {"panel_left.mass_scale": 1.08, "hub.mass": 205.0}
    values = model.values(worst)
    assert values["panel_left.mass"] == pytest.approx(27.0)
    assert "panel_left.mass_scale" not in values
    member = tt.linearize(m.with_parameters(values), still(m), INPUTS, OUTPUTS)
    put_back = model.operating_point(worst)
    assert put_back.model.parameters()["panel_left.mass"][0] == pytest.approx(27.0)
    assert model.at(worst)(0.9j) == pytest.approx(member(0.9j), rel=1e-9, abs=1e-12)


def test_rescaled_amplitudes_are_not_read() -> None:
    m = satellite()
    with pytest.raises(tt.ModelError, match=r"panel_right\.mode1.*rescaled-coordinate"):
        tt.lft(m, still(m), {"panel_right.mass_scale": tt.percent(5)}, INPUTS, ["panel_right.q"])
    assert tt.lft(m, still(m), {"panel_right.mass_scale": tt.percent(5)}, INPUTS, ["panel_left.q"]).check(2) < EXACT


def test_modes_that_change_places() -> None:
    """Ratios stay with their modes where frequencies cross."""
    ratios = {f"mode{k + 1}.damping": 0.01 * (k + 1) for k in range(4)}
    s = tt.System("panel", gravity=[0, 0, 0])
    s.connect("world", panel("panel").with_parameters(ratios), joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=10.0))
    m = s.resolve()
    point = m.neutral(), np.zeros(m.nv)
    for name, top in (("frequency", 5.6), ("stiffness", 31.0)):
        assert tt.lft(m, point, {f"panel.mode1.{name}": (1.9, top)}, ["hinge"], ["hinge.q"]).check(6) < EXACT
