"""Frequency responses of linear models, and how far they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array

if TYPE_CHECKING:
    from control import StateSpace


def frequencies_around(system: StateSpace, count: int = 40) -> Array:
    """Return frequencies (rad/s), evenly spaced in their logarithm, from below the slowest pole to beyond the fastest."""
    sizes = np.abs(np.linalg.eigvals(system.A)) if system.nstates else np.ones(1)
    sizes = sizes[sizes > 1e-4 * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if len(sizes) and sizes.max() > 1e-6 else (1.0, 1.0)
    return np.geomspace(0.1 * low, 10.0 * high, count)


def response(system: StateSpace, omega: Array) -> Array:
    """Return the frequency response (n, outputs, inputs)."""
    eye = np.eye(system.nstates)
    return np.array([system.C @ np.linalg.solve(1j * w * eye - system.A, system.B) + system.D for w in omega])


def largest_difference(found: Array, right: Array) -> float:
    """Return the largest difference of two responses over frequencies, in parts of the norm of the response there."""
    if not right.size:
        return 0.0
    sizes = np.linalg.norm(right, axis=(1, 2))
    return float((np.linalg.norm(found - right, axis=(1, 2)) / np.where(sizes > 0, sizes, 1.0)).max())
