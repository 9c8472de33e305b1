"""Poles of members that neither decay nor grow: on the imaginary axis, but for rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.spatial import Array

#: Errors of rounding of poles, relative to the largest, a state.
_ROUNDING = 100 * float(np.finfo(float).eps)

#: States that move by so much of the largest motion of a pole, each in its own unit, are named.
_NAMED = 0.1


def abscissa(A: Array) -> Array:
    """Return the largest real part of the poles (k) of members (k, n, n), infinite where there is no response."""
    result = np.full(len(A), np.inf)
    finite = np.isfinite(A).all(axis=(1, 2))
    result[finite] = np.linalg.eigvals(A[finite]).real.max(axis=1, initial=-np.inf)
    return result


def rounding_of_poles(A: Array) -> float:
    """Return by what poles of a member (n, n) are uncertain, zero where there is no response."""
    if not np.isfinite(A).all():
        return 0.0
    return float(_ROUNDING * len(A) * np.abs(np.linalg.eigvals(A)).max(initial=0.0))


def marginal_poles(A: Array, states: Sequence[str], rate: float) -> str:
    """Say which poles of a member (n, n; poles in parts of a rate in rad/s) neither decay nor grow, and of which states."""
    values, vectors = np.linalg.eig(A)
    rounding = rounding_of_poles(A)
    at = np.abs(values.real) <= rounding
    size, omega = np.abs(vectors[:, at]), np.abs(values[at].imag)
    moving = (size >= _NAMED * size.max(axis=0)).any(axis=1)
    names = ", ".join(name for name, moves in zip(states, moving, strict=True) if moves)
    where = ", ".join(dict.fromkeys(f"{w * rate:.4g}" for w in np.sort(np.where(omega <= rounding, 0.0, omega)).tolist()))
    return f"a member neither decays nor grows at {where} rad/s, in {names}: omit=, damp or control these states"
