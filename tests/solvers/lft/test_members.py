"""Members of linear fractional models put back into the system, whatever has been closed and appended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.closed_crafts import VALUES, craft, model, rate_control
from tests.solvers.lft.satellites import INPUTS, arm, bent

#: Responses computed in two ways, beside their size.
ROUNDING = 1e-9

S = 0.8j


@pytest.fixture(scope="module")
def loop() -> tt.LFTModel:
    return craft().append("wheels", "wheels", 0.1).close(rate_control(0.02), stages=2)


def test_a_point_is_linearised_and_simulated(loop: tt.LFTModel) -> None:
    point = loop.operating_point(VALUES)
    assert point.q[model().coordinate_names.index("sada_right") + 1] == VALUES["sada_right.q"]  # behind a quaternion
    system = tt.linearize(point.model, point, ["wheels"], ["gyro"])
    assert system(S) == pytest.approx(craft().at(VALUES)(S), rel=ROUNDING)
    trajectory = tt.simulate(point.model, [0.0, 0.1], point.q, point.v, tau=point.tau)
    assert trajectory.v[-1] == pytest.approx(0.0, abs=1e-9)  # its spring at 0.4 rad is held


def test_values_are_parameters(loop: tt.LFTModel) -> None:
    values = loop.values(VALUES)
    del values["sada_right.q"]
    changed = model().with_parameters(values).parameters()
    assert changed["panel_right.mode1.frequency"][0] == pytest.approx(1.8)
    assert loop.operating_point(VALUES).model.parameters() == changed


def test_efforts_hold_the_member() -> None:
    """Under gravity: no acceleration, with another mass and another configuration."""
    m = arm()
    swing = tt.lft(m, bent(m), {"b2.mass": (1.5, 2.6), "j2.q": (-1.0, -0.5)}, ["j1"], ["j1.q"])
    point = swing.operating_point(b2_mass=2.5, j2_q=-0.6)
    assert np.abs(point.residual).max() < ROUNDING
    assert np.abs(replace(point, tau=np.asarray(bent(m)[2])).residual).max() > 0.1


def test_results_name_other_blocks_too(loop: tt.LFTModel) -> None:
    """Left out where the system is meant; zero, or refused, where a response is."""
    member = {**VALUES, "wheels": np.full((3, 3), 0.1j)}
    assert loop.values(member) == loop.values(VALUES)
    assert loop.operating_point(member).model.parameters() == loop.operating_point(VALUES).model.parameters()
    z = np.exp(0.1j)
    assert loop.at({**VALUES, "wheels": np.zeros((3, 3))})(z) == pytest.approx(loop.at(VALUES)(z), rel=1e-14)
    with pytest.raises(tt.ModelError, match="complex-value"):
        loop.at(member)


def test_gains_are_no_part_of_a_system() -> None:
    gained = tt.lft(model(), craft().members.point, {"wheels.gain": (0.8, 1.1)}, INPUTS, ["gyro"])  # type: ignore[union-attr]
    gained.operating_point()
    with pytest.warns(tt.ModelWarning, match=r"wheels\.gain.*gain-left-out"):
        gained.operating_point({"wheels.gain": 0.9})


def test_bad_input(loop: tt.LFTModel) -> None:
    with pytest.raises(tt.ModelError, match="unknown-parameter"):
        loop.values({"hub.mas": 1.0})
    with pytest.raises(tt.ModelError, match="unknown-parameter"):
        loop.operating_point(hub_mas=1.0)
    with pytest.raises(tt.ModelError, match=r"loaded or composed model.*no-model"):
        replace(loop, members=None).operating_point()
