"""Families at points of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import opening, spinner
from tests.solvers.linear.families import ARMS
from tests.solvers.linear.nonlinear_systems import cart


def test_given_points() -> None:
    model = cart().resolve()
    values = np.linspace(0.0, 1.0, 5)
    points = [tt.trim(model, ["lower.tau", "upper.tau"], q={"lower": x}) for x in values]
    family = tt.lpv(model, {"lower.q": values}, points, ["rail", "lower"], ["upper.q"])
    for k, point in enumerate(points):
        A, B = tt.linear_matrices(model, point)
        assert np.array_equal(family.A[k], A)
        assert np.array_equal(family.B[k], B[:, :2])
    again = tt.lpv(model, {"lower.q": values}, points, ["rail", "lower"], ["upper.q"], workers=2)
    assert np.array_equal(family.A, again.A)
    with refusal("other-value", "points[4]"):
        tt.lpv(model, {"lower.q": [*values[:-1], 1.1]}, points)
    with refusal("wrong-length", "5 points"):
        tt.lpv(model, {"lower.q": values[:-1]}, points)
    with refusal("wrong-type", "tt.OperatingPoint"):
        tt.lpv(model, {"lower.q": values}, [1, 2, 3, 4, 5])  # type: ignore[list-item]
    with refusal("other-model", "points of 'spinner'"):
        tt.lpv(spinner(), {"shaft.v": values}, points)
    falling = [tt.OperatingPoint(model, [0.0, x, 0.0]) for x in values]
    with pytest.warns(tt.ModelWarning, match="4 of 5"):
        tt.lpv(model, {"lower.q": values}, falling)


def test_a_list_of_points() -> None:
    values = {"left.mass": [1.0, 1.3, 1.0, 1.3, 1.1], "shaft.v": [6.0, 6.0, 5.0, 5.0, 5.5]}
    family = tt.lpv(spinner(), values, grid=False, **ARMS)
    assert family.shape == (5,)
    assert family.q[:, 2] == pytest.approx([opening(w, mass=m) for m, w in zip(*values.values(), strict=True)], abs=1e-11)
    assert np.abs(family.at(left_mass=1.1, shaft_v=5.5).A - family.A[4]).max() < 1e-9
    with refusal("outside", "shaft.v = 7"):
        family.at(left_mass=1.1, shaft_v=7.0)
    line = tt.lpv(spinner(), {"shaft.v": [6.0, 5.0, 5.5]}, grid=False, **ARMS)
    assert np.array_equal(line.at(shaft_v=5.5).A, line.A[2])
    assert np.array_equal(line.at(shaft_v=5.75).A, (line.A[0] + line.A[2]) / 2)
    alone = tt.lpv(spinner(), {"left.mass": [1.2], "shaft.v": [6.0]}, grid=False, **ARMS)
    assert np.array_equal(alone.at(left_mass=1.2, shaft_v=6.0).A, alone.A[0])
    with refusal("outside", "shaft.v = 6.1"):
        alone.at(left_mass=1.2, shaft_v=6.1)


def test_a_list_of_parameters_tied_together() -> None:
    both = {"left.mass": [1.0, 1.3, 1.1], "right.mass": [1.0, 1.3, 1.1], "shaft.v": [6.0, 6.0, 6.0]}
    family = tt.lpv(spinner(), both, grid=False, **ARMS)
    for mass, expected in ((1.3, family.A[1]), (1.05, (family.A[0] + family.A[2]) / 2)):
        found = family.at(left_mass=mass, right_mass=mass, shaft_v=6.0)
        assert np.abs(found.A - expected).max() < 1e-9  # rounding of the place on the line, against entries of 10
    with refusal("outside", "right.mass = 1.2"):
        family.at(left_mass=1.1, right_mass=1.2, shaft_v=6.0)
