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


def test_above_a_limit_nothing_more_is_asked() -> None:
    """Twice the limit is seen on a grid; at one above the value all is as without it."""
    goals = [tt.Goal.gain(FORCES, ["near", "far"]), tt.Goal.poles(decay=0.1)]
    objective, x = objective_of(two_masses(), TUNABLES["matrix"], goals), np.full(4, 0.1)
    pieces, poles = objective(x), objective.abscissa(x)
    assert pieces is not None
    assert poles is not None
    again = objective(x, pieces[0].value * 1.001)
    assert again is not None
    values = [[piece.value for piece in those] for those in (again, pieces)]
    np.testing.assert_allclose(*values, rtol=1e-9)  # peaks are sought again, from those that are known
    assert objective(x, pieces[0].value / 2) is None
    assert objective.abscissa(x, poles[0].value + 0.1) is not None
    assert objective.abscissa(x, poles[0].value - 0.1) is None


def test_numbers_between_bounds_are_nowhere_stuck() -> None:
    """Positive ones by their logarithms: the geometric middle at zero. Far from it a tangent hyperbolicus would be flat."""
    low_pass = tt.Tunable.low_pass("filter", "near", "push", 2.0, 0.7, bounds={"frequency": (0.2, 50.0), "damping": (0.0, 2.0)})
    coordinates = objective_of(two_masses(), low_pass, tt.Goal.gain("push", "near")).coordinates
    np.testing.assert_allclose(coordinates.values(np.zeros(3)), [np.sqrt(10.0), 1.0, 1.0], rtol=1e-12)
    start = np.array([2.0, 0.7, 1.0])
    np.testing.assert_allclose(coordinates.values(coordinates.places(start)), start, rtol=1e-12)
    sizes = []
    for x in np.linspace(-20.0, 20.0, 41)[:, None] * [1.0, 0.7, 1.0]:
        values, slopes = coordinates.values(x), coordinates.slopes(x)
        assert (values >= [0.2 * (1 - 1e-12), 0.0, 1.0]).all()
        assert (values <= [50.0 * (1 + 1e-12), 2.0, 1.0]).all()
        step = 1e-5  # central differences: the square of this, times derivatives of the third order below 100
        different = [(coordinates.values(x + step * e) - coordinates.values(x - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(np.diag(different), slopes, rtol=0, atol=1e-7)
        sizes.append(np.abs(slopes / np.maximum(values, 0.1))[:2])
    assert (np.median(sizes, axis=0) > 0.3).all()
    assert 1 - np.tanh(10.0) ** 2 < 1e-7
