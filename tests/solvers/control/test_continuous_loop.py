"""Loops in continuous time: controllers as tables."""

from __future__ import annotations

import numpy as np

from titop.solvers.control.continuous_loop import LinearFeedback


def test_offsets_are_written_at_their_times() -> None:
    limits, motors, thrust = np.array([[-1.0], [1.0]]), np.ones((2, 1)), np.zeros((0, 1))
    feedback = LinearFeedback(np.eye(3), lambda t: np.array([t, t**2, 1.0]), True, limits, motors, thrust)
    offsets = np.zeros((4, 3))
    feedback.write([0.0, 0.5, 0.5, 2.0], offsets)
    assert offsets.tolist() == [[0.0, 0.0, 1.0], [0.5, 0.25, 1.0], [0.5, 0.25, 1.0], [2.0, 4.0, 1.0]]
    assert feedback.drives.tolist() == [[-1.0], [1.0], [1.0], [1.0]]
