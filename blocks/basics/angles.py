"""Functions of the angle that rotation vectors ask for, from its square: series where closed forms lose digits.

Of real and complex numbers, and of Taylor series. Kernels call them as they are written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Below this squared angle closed forms cancel, and the series are exact to rounding.
SMALL = 0.1


def rotation_coefficients(s: Any) -> tuple[Any, Any, Any]:
    """Return ``sin(t)/t``, ``(1 - cos t)/t^2`` and ``(t - sin t)/t^3`` from ``s = t^2``."""
    if s.real < SMALL:
        a = 1.0 - s * (1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s / 39916800))))
        b = 1 / 2 - s * (1 / 24 - s * (1 / 720 - s * (1 / 40320 - s * (1 / 3628800 - s / 479001600))))
        c = 1 / 6 - s * (1 / 120 - s * (1 / 5040 - s * (1 / 362880 - s * (1 / 39916800 - s / 6227020800))))
        return a, b, c
    t = np.sqrt(s)
    return np.sin(t) / t, (1.0 - np.cos(t)) / s, (t - np.sin(t)) / (s * t)


def coefficient_slopes(s: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return the derivatives of the last two `rotation_coefficients` b and c by s."""
    if s.real < SMALL:
        db = -1 / 24 + s * (1 / 360 - s * (1 / 13440 - s * (1 / 907200 - s * (1 / 95800320 - s / 14529715200))))
        dc = -1 / 120 + s * (1 / 2520 - s * (1 / 120960 - s * (1 / 9979200 - s * (1 / 1245404160 - s / 217945728000))))
        return db, dc
    return (0.5 * (1.0 - c * s) - b) / s, (b - 3.0 * c) / (2.0 * s)


def coupling_coefficients(s: Any) -> tuple[Any, Any]:
    """Return ``(t^2 + 2 cos t - 2)/(2 t^4)`` and ``(2 t - 3 sin t + t cos t)/(2 t^5)``: of SE(3)'s Jacobian."""
    if s.real < SMALL:
        c2 = 1 / 24 - s * (1 / 720 - s * (1 / 40320 - s * (1 / 3628800 - s / 479001600)))
        c3 = 1 / 120 - s * (1 / 2520 - s * (1 / 120960 - s * (1 / 9979200 - s / 1245404160)))
        return c2, c3
    t = np.sqrt(s)
    return (s + 2 * np.cos(t) - 2) / (2 * s * s), (2 * t - 3 * np.sin(t) + t * np.cos(t)) / (2 * s * s * t)


def half_cotangent(s: Any) -> Any:
    """Return ``1/t^2 - cot(t/2)/(2 t)`` from ``s = t^2``."""
    if s.real < SMALL:
        return 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s * (1 / 47900160 + s * 691 / 1307674368000))))
    t = np.sqrt(s)
    return 1.0 / s - np.cos(0.5 * t) / (2.0 * t * np.sin(0.5 * t))


def half_cotangent_slope(s: Any) -> Any:
    """Return the derivative of `half_cotangent` by s."""
    if s.real < SMALL:
        return 1 / 720 + s * (2 / 30240 + s * (3 / 1209600 + s * (4 / 47900160 + s * 5 * 691 / 1307674368000)))
    t = np.sqrt(s)
    sine = np.sin(0.5 * t)
    return -1.0 / (s * s) + np.cos(0.5 * t) / (4.0 * s * t * sine) + 1.0 / (8.0 * s * sine * sine)
