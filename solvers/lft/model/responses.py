"""Frequency responses of linear models, and how far they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array

if TYPE_CHECKING:
    from control import StateSpace


#: What rounding makes of poles that are zero, twice each where states are positions and rates.
_ROUNDED = 1e-7


def frequencies_around(system: StateSpace, count: int = 40) -> Array:
    """Return frequencies (rad/s), evenly spaced in their logarithm, from below the slowest pole to beyond the fastest.

    Of sampled systems they end below half the sampling frequency.
    """
    sizes, rate = np.abs(_poles(system)), _rate(system)
    sizes = sizes[sizes > 1e-4 * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.max(initial=0.0) > _ROUNDED * rate else (rate or 1.0, rate or 1.0)
    if system.dt:
        end = 0.99 * np.pi / system.dt
        return np.geomspace(min(0.1 * low, 0.01 * end), min(10.0 * high, end), count)
    return np.geomspace(0.1 * low, 10.0 * high, count)


def _rate(system: StateSpace) -> float:
    """Return how fast states drive each other (1/s): what poles that are zero are rounding of."""
    from scipy.linalg import matrix_balance

    return float(np.abs(matrix_balance(system.A, permute=False)[0]).max(initial=0.0)) if not system.dt else 1.0 / system.dt


def _poles(system: StateSpace) -> Array:
    """Return poles (rad/s); of sampled systems, of the continuous ones whose samples they have."""
    poles = np.linalg.eigvals(system.A)
    if system.dt:
        poles = np.log(poles[np.abs(poles) > 1e-6].astype(complex)) / system.dt
    return poles


def points_at(system: StateSpace, omega: Array) -> Array:
    """Return the values of s, or of z of sampled systems, at frequencies (rad/s)."""
    points: Array = np.exp(1j * omega * system.dt) if system.dt else 1j * omega
    return points


def response(matrices: Sequence[Array], points: Array) -> Array:
    """Return the response (n, outputs, inputs) of A, B, C, D at values of s or z."""
    A, B, C, D = matrices
    eye = np.eye(len(A))
    return np.array([C @ np.linalg.solve(x * eye - A, B) + D for x in points])


def largest_difference(found: Array, right: Array) -> float:
    """Return the largest difference of two responses over frequencies, in parts of the norm of the response there."""
    if not right.size:
        return 0.0
    sizes = np.linalg.norm(right, axis=(1, 2))
    return float((np.linalg.norm(found - right, axis=(1, 2)) / np.where(sizes > 0, sizes, 1.0)).max())
