"""Gauss's rules on a length, on radii of a sector, and on an arc.

After Da Fies and Vianello, "Trigonometric Gaussian quadrature on subintervals of the period" (2012): cosines up to ``cos n t``
are polynomials of degree 2n in ``sin(t/2)``, and sines add up to nothing, so that Gauss points in ``sin(t/2)`` know them all.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array


def gauss(count: int, length: float) -> tuple[Array, Array]:
    """Return points and weights of Gauss and Legendre from 0 to a length: exact up to degree ``2 count - 1``."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * length * (points + 1.0), 0.5 * length * weights


def gauss_radii(count: int, radius: float) -> tuple[Array, Array]:
    """Return points and weights of ``int f(r) r dr`` from 0 to a radius: exact for f up to degree ``2 count - 1``."""
    r, weights = gauss(count + 1, 1.0)
    points, shares = _gauss_of(r, weights * r, count)
    return radius * points, radius**2 * shares


def gauss_angles(count: int, angle: float) -> tuple[Array, Array]:
    """Return angles and weights on an arc of at most a turn, its middle at 0: exact for ``cos n t, sin n t``, ``n < count``.

    On a turn they are equal.
    """
    t, weights = gauss(_FINE + 2 * count, angle)
    points, shares = _gauss_of(np.sin(0.5 * (t - 0.5 * angle)), weights, count)
    return 2.0 * np.arcsin(points), shares


#: Points that know polynomials of the first degrees in the sine of a quarter of a turn to rounding.
_FINE = 32


def _gauss_of(points: Array, weights: Array, count: int) -> tuple[Array, Array]:
    """Return so many Gauss points, and their weights, of the measure that more of them make (Golub and Welsch)."""
    root = np.sqrt(weights)
    middle, half = 0.5 * (points.max() + points.min()), 0.5 * np.ptp(points)
    basis, _ = np.linalg.qr(root[:, None] * np.polynomial.legendre.legvander((points - middle) / half, count - 1))
    nodes, vectors = np.linalg.eigh(basis.T @ (points[:, None] * basis))
    return nodes, weights.sum() * vectors[0] ** 2
