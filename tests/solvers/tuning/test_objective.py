"""All goals of all members as one function: its points, and its smooth stand-in."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.solvers.tuning.loops import TUNABLES, objective_of, two_masses

FORCES = ["push", "pull"]


def test_smooth_stand_in_has_the_same_points() -> None:
    """Margins of two places have a scaling that is sought along, though the H2 norm stands in for the gain alone."""
    goals = [tt.Goal.gain(FORCES, ["near", "far"]), tt.Goal.margins(FORCES)]
    objective = objective_of(two_masses(), TUNABLES["matrix"], goals)
    smooth = objective.smooth()
    assert smooth is not None
    assert smooth.size == objective.size == len(objective.coordinates) + 1
    x = np.zeros(objective.size)
    pieces = smooth(x)
    assert pieces is not None
    assert len(pieces[0].gradient) == objective.size


def test_points_far_away_are_infinite_without_a_warning() -> None:
    """A positive number is sought by its logarithm: its box is that of the others, in units."""
    objective = objective_of(two_masses(), TUNABLES["low_pass"], tt.Goal.gain("push", "near"))
    for far in (500.0, -500.0, 30.0):
        x = np.zeros(objective.size)
        x[0] = far
        assert objective(x) is None
        assert objective.abscissa(x) is None
    assert objective.abscissa(np.zeros(objective.size)) is not None
