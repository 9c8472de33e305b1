"""Derivatives by single unknowns from differences: to both sides where the system can be there, else to one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.spatial import Array

#: Step, in what counts as one of an unknown.
_STEP = 1e-5


def by_unknown(residual: Callable[[Array], Array], x: Array, k: int, bounds: tuple[Array, Array] | None = None) -> Array:
    """Return the derivative of residuals by the k-th of x, of second order; zero where the system can be to neither side.

    Parameters
    ----------
    residual : callable
        From x (n) to the equations' residuals, not finite where they cannot be evaluated.
    x : (n,) array
    k : int
    bounds : (n,) arrays, optional
        Between which x is, and is evaluated.
    """
    room = np.full(2, np.inf) if bounds is None else np.array([bounds[1][k] - x[k], x[k] - bounds[0][k]])
    step = min(_STEP, float(room.max()) / 2)

    def at(steps: int) -> Array | None:
        if abs(steps) * step > room[0 if steps > 0 else 1]:
            return None
        values = residual(x + steps * step * np.eye(len(x))[k])
        return values if np.isfinite(values).all() else None

    ahead, behind = at(1), at(-1)
    if ahead is not None and behind is not None:
        return (ahead - behind) / (2 * step)
    here = residual(x)
    for sign, near in ((1, ahead), (-1, behind)):
        far = None if near is None else at(2 * sign)
        if near is not None and far is not None:
            return sign * (4 * near - 3 * here - far) / (2 * step)
    return np.zeros(len(here))
