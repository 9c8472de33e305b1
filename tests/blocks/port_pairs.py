"""Motions of two ports."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import pose_exp, rotation_exp

#: Sixth-order central differences: weights of the first and of the second derivative at -3 ... 3 steps.
FIRST = np.array([-1 / 60, 3 / 20, -3 / 4, 0, 3 / 4, -3 / 20, 1 / 60])

STEP = 1e-3


class Motion:
    """A port's pose over time, with twist V and spatial acceleration A at t = 0."""

    def __init__(self, rng, near=None, distance=1.0):
        turn, shift = rotation_exp(distance * rng.normal(size=3)), distance * rng.normal(size=3)
        self.rotation = turn if near is None else near.rotation @ turn
        self.position = shift if near is None else near.position + shift
        self.V, self.A = rng.normal(size=(2, 6))

    def __call__(self, t):
        turn, shift = pose_exp(self.V * t + self.A * t * t / 2)  # exact to second order in t
        return self.rotation @ turn, self.position + self.rotation @ shift
