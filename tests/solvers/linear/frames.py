"""Straight beams of finite elements in space, with consistent masses (Przemieniecki): sparse mass and stiffness."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array

#: Length (m), mass per length (kg/m) and polar moment (kg m), stiffnesses EA (N), GJ, EI_y, EI_z (N m^2).
LENGTH, LINE, POLAR, EA, GJ, EIY, EIZ = 2.0, 0.5, 4e-3, 1e4, 20.0, 30.0, 50.0


def element(length: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mass and stiffness (12, 12) of an element along x, the six motions of one node after those of the other."""
    M, K = np.zeros((12, 12)), np.zeros((12, 12))
    for k, mass, stiffness in ((0, LINE, EA), (3, POLAR, GJ)):
        at = np.ix_([k, k + 6], [k, k + 6])
        M[at], K[at] = mass * length / 6 * np.array([[2, 1], [1, 2]]), stiffness / length * np.array([[1, -1], [-1, 1]])
    a, b = 6 * length, length**2
    bending = np.array([[12, a, -12, a], [a, 4 * b, -a, 2 * b], [-12, -a, 12, -a], [a, 2 * b, -a, 4 * b]]) / length**3
    c, d = 22 * length, 13 * length
    inertia = (
        np.array([[156, c, 54, -d], [c, 4 * b, d, -3 * b], [54, d, 156, -c], [-d, -3 * b, -c, 4 * b]]) * LINE * length / 420
    )
    for entries, stiffness, turn in (([1, 5, 7, 11], EIZ, 1.0), ([2, 4, 8, 10], EIY, -1.0)):
        sign = np.array([1.0, turn, 1.0, turn])
        at, signs = np.ix_(entries, entries), np.outer(sign, sign)
        M[at], K[at] = signs * inertia, signs * stiffness * bending
    return M, K


def beam(elements: int) -> tuple[Any, Any]:
    """Return mass and stiffness of a beam along x; node k has the coordinates from 6 k on."""
    places = 6 * np.arange(elements)[:, None] + np.arange(12)
    rows, columns, n = np.repeat(places, 12, axis=1).ravel(), np.tile(places, 12).ravel(), 6 * (elements + 1)
    M, K = (csc_array((np.tile(x.ravel(), elements), (rows, columns)), (n, n)) for x in element(LENGTH / elements))
    return M, K
