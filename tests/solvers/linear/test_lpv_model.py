"""Families between their points."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import HINGES, spinner
from tests.solvers.linear.families import ARMS, SPINS


def test_trims_of_the_outputs(family: tt.LPVModel) -> None:
    model = spinner()
    for k in range(len(SPINS)):
        q, v, rest = family.q[0, k], family.v[0, k], np.zeros(3)
        expected = [q[2], *model.motion("left", q, v, rest)[:3], *model.reaction("left_hinge", q, v, rest)]
        assert family.y[0, k] == pytest.approx(expected, abs=1e-12)


def test_between_points(family: tt.LPVModel) -> None:
    middle = 0.5 * (SPINS[2] + SPINS[3])
    found = family.at(left_mass=1.15, shaft_v=middle)
    mean = 0.25 * sum(family.A[i, k] for i in (0, 1) for k in (2, 3))
    assert np.abs(found.A - mean).max() < 1e-12
    point = tt.trim(spinner(), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": middle}, parameters={"left.mass": 1.15})
    exact = tt.linearize(spinner(), point)
    error = np.abs(found.A - exact.A).max()
    assert 1e-4 < error < 0.2  # interpolation: second order in steps of 0.4 rad/s and 0.3 kg


def test_poles_are_continuous(family: tt.LPVModel) -> None:
    finer = tt.lpv(spinner(), {"shaft.v": np.linspace(6.0, 4.0, 41)}, **ARMS)
    steps = np.abs(np.diff(finer.eigenvalues, axis=0)).max(axis=0)
    # a step of 0.05 rad/s moves frequencies near the spin rate by about as much
    assert steps.max() < 0.3
    shuffled = np.sort_complex(finer.eigenvalues)
    assert np.abs(np.diff(shuffled, axis=0)).max() >= steps.max() - 1e-12
