"""Linear fractional models as matrices: their deltas closed, moved to a nominal value, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.lft.fractions.structured_reduction import Fractional, loop_solved, reduced

if TYPE_CHECKING:
    from control import StateSpace

#: What blocks say of the sizes of w and z.
_SIZES = ("repetitions", "columns")

#: Eigenvalues count as real whose imaginary part is below this part of them.
_REAL = 1e-9


def real_fraction(M: StateSpace, blocks: Sequence[DeltaBlock]) -> Fractional:
    """Return a model as a fraction in its real deltas, then 1/s or 1/z; its other blocks are zero."""
    w, z = (np.repeat([b.kind == "real" for b in blocks], [getattr(b, size) for b in blocks]) for size in _SIZES)
    of, to = np.flatnonzero(w), np.flatnonzero(z)
    u, y = np.arange(len(w), M.ninputs), np.arange(len(z), M.noutputs)
    A = np.block([[M.D[np.ix_(to, of)], M.C[to]], [M.B[:, of], M.A]])
    B, C = np.vstack([M.D[np.ix_(to, u)], M.B[:, u]]), np.hstack([M.D[np.ix_(y, of)], M.C[y]])
    sizes = *(block.repetitions for block in blocks if block.kind == "real"), M.nstates
    return Fractional(A, B, C, M.D[np.ix_(y, u)], sizes)


def closed(model: Fractional, values: Sequence[float | None]) -> Fractional:
    """Return the model with some deltas at fixed values; None leaves one open.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where the model has no response.
    """
    fixed = np.concatenate([np.full(size, value is not None) for size, value in zip(model.sizes, values, strict=True)])
    deltas = np.concatenate([np.full(size, value or 0.0) for size, value in zip(model.sizes, values, strict=True)])[fixed]
    of, to = np.flatnonzero(fixed), np.flatnonzero(~fixed)
    driving = loop_solved(model.A[np.ix_(of, of)] * deltas, np.hstack([model.A[np.ix_(of, to)], model.B[of]]))
    driven = deltas[:, None] * driving
    by_w, by_u = driven[:, : len(to)], driven[:, len(to) :]
    into, out = model.A[np.ix_(to, of)], model.C[:, of]
    sizes = tuple(size for size, value in zip(model.sizes, values, strict=True) if value is None)
    return Fractional(
        model.A[np.ix_(to, to)] + into @ by_w,
        model.B[to] + into @ by_u,
        model.C[:, to] + out @ by_w,
        model.D + out @ by_u,
        sizes,
    )


def recentred(model: Fractional, middles: Sequence[float]) -> Fractional:
    """Return the model in deltas that are zero where those given have values `middles`, and the same at -1 and 1.

    With k one of these values, ``d = k + (1 - k^2) δ / (1 + k δ)``: ``w = k z + (1 - k^2) w'``, ``w' = δ (z - k w')``.
    """
    k = np.concatenate([np.full(size, value) for size, value in zip(model.sizes, middles, strict=True)])
    n, moved = len(k), np.flatnonzero(k)
    into, out = model.A[:, moved] * k[moved], model.C[:, moved] * k[moved]
    z = np.hstack([model.A * (1 - k**2), model.B])
    driving = loop_solved(into[moved], z[moved])  # states, and what stays, close no loop
    z += into @ driving
    y = np.hstack([model.C * (1 - k**2), model.D]) + out @ driving
    z[:, :n] -= np.diag(k)
    return Fractional(z[:, :n], z[:, n:], y[:, :n], y[:, n:], model.sizes)


def degrees(model: Fractional, count: int, rng: np.random.Generator) -> list[int]:
    """Return the McMillan degree in each of the first `count` deltas, the others (1/s, the last, too) at random values.

    Any model of the same response has as many repetitions or more.
    """
    found = []
    poles = np.abs(np.linalg.eigvals(model.A[model.parts[-1], model.parts[-1]]))
    slow = 1.0 / (float(np.median(poles)) or 1.0) if len(poles) else 1.0
    for k in range(count):
        values: list[float | None] = [
            *rng.uniform(-0.8, 0.8, count),
            *(slow * rng.uniform(0.3, 0.7, len(model.sizes) - count)).tolist(),
        ]
        values[k] = None
        found.append(reduced(closed(model, values), checked=False).sizes[0])
    return found


def singular_at(loop: Array) -> tuple[float, float]:
    """Return the numbers t < 0 and t > 0 nearest to zero at which ``1 - t loop`` is singular, infinite if there are none."""
    values = np.linalg.eigvals(loop)
    real = values.real[np.abs(values.imag) <= _REAL * (1 + np.abs(values))]
    low, high = float(real.min(initial=0.0)), float(real.max(initial=0.0))
    return 1 / low if low < 0 else -np.inf, 1 / high if high > 0 else np.inf
