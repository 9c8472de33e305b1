"""Channels of linear systems, inverted."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.linear.nonlinear_systems import cart


def test_an_inverted_channel_gives_the_effort_back() -> None:
    """Driving a joint by its acceleration, and the effort as output: the inverse of driving it by its effort."""
    model = cart().resolve()
    forward = tt.linearize(model, model.neutral(), ["rail", "lower"], ["rail.a", "upper.q"])
    inverse = tt.linearize(model, model.neutral(), ["rail.a", "lower"], ["rail.tau", "upper.q"])
    inverted = tt.invert_channels(forward, ["rail"])
    for s in (0.3j, 2.0 + 1j):
        assert np.abs(inverted(s) - inverse(s)).max() < 1e-10  # the same rational function, evaluated
    assert np.abs(inverse(2j) - forward(2j)).max() > 1e-2


def test_no_channels_are_refused_as_such() -> None:
    model = cart().resolve()
    forward = tt.linearize(model, model.neutral(), ["rail"], ["rail.a"])
    with pytest.raises(tt.ModelError, match=r"channels: got \[\]; expected one channel at least.*no-channel"):
        tt.invert_channels(forward, [])
