"""Functions of a few numbers in [-1, 1], zero where all are, fitted by linear fractions with as few repetitions as will do.

``y = C Δ (1 - A Δ)^-1 B``, Δ diagonal with so many copies of each number, is a quotient whose numerator and denominator share
their copies: of two numbers one copy each holds what polynomials need five for. All entries are sought by least squares, first
with a copy of each number, then with one more where that is best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.structured_reduction import Fractional

#: Size of new entries with which searches begin, and how often each begins with others.
_BEGIN, _STARTS = 0.1, 3

#: Steps of a search, and the weight of entries: of fractions that differ by units of their copies alone the smallest is found.
_STEPS, _RIDGE = 200, 1e-7

#: Largest spectral radius of ``A Δ`` at the points, corners of the box among them: where it is one there may be no solution.
_WELL_POSED = 0.9


def smallest_fraction(
    points: Array, values: Array, most: Sequence[int], is_near: Callable[[Fractional], bool]
) -> Fractional | None:
    """Return a fraction with fewer repetitions than `most` together that is near enough; None where none was found.

    Parameters
    ----------
    points : array (k, n), no unit
    values : array (k,), no unit
        Of the function there.
    most : sequence of int
        One a number, zero of those on which it does not depend: how many repetitions another fit has.
    is_near : callable
    """
    sizes = [min(1, own) for own in most]
    found = _fitted(points, values, sizes, None)
    while sum(sizes) < sum(most):
        if _is_well_posed(found, points) and is_near(found):
            return found
        tried = []
        for k in np.flatnonzero(most):
            larger = [own + int(j == k) for j, own in enumerate(sizes)]
            candidate = _fitted(points, values, larger, found)
            tried.append((float(np.linalg.norm(fraction_at(candidate, points) - values)), larger, candidate))
        _, sizes, found = min(tried, key=lambda one: one[0])
    return None


def fraction_at(fraction: Fractional, points: Array) -> Array:
    """Return the values (k) of a fraction (1, 1) at points (k, n) of its deltas but for the last, of 1/s, without states."""
    A, B, C = fraction.A, fraction.B[:, 0], fraction.C[0]
    deltas = np.repeat(points, fraction.sizes[:-1], axis=1)
    z = np.linalg.solve(np.eye(len(A)) - A * deltas[:, None, :], np.broadcast_to(B[:, None], (len(points), len(A), 1)))
    return np.asarray((deltas * z[:, :, 0]) @ C)


def _fitted(points: Array, values: Array, sizes: Sequence[int], start: Fractional | None) -> Fractional:
    """Return the fraction of some sizes that meets values best, sought from one with fewer copies."""
    from scipy.optimize import least_squares

    n, owners = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    deltas, eye = points[:, owners], np.eye(n)

    def loop(x: Array) -> tuple[Array, Array, Array]:
        A, B, C = _parts(x, n)
        inverse = np.linalg.pinv(eye - A * deltas[:, None, :])
        return deltas * (inverse @ B), np.einsum("kj,kji->ki", deltas * C, inverse), C

    def misfit(x: Array) -> Array:
        w, _, C = loop(x)
        return np.concatenate([w @ C - values, _RIDGE * x])

    def slopes(x: Array) -> Array:
        w, left, _ = loop(x)
        return np.vstack(
            [np.hstack([(left[:, :, None] * w[:, None, :]).reshape(len(w), -1), left, w]), _RIDGE * np.eye(len(x))]
        )

    begun = [_first(points, values, owners)] if start is None else [_grown(owners, start, seed) for seed in range(_STARTS)]
    found = [
        least_squares(misfit, np.concatenate([A.ravel(), B, C]), slopes, method="lm", max_nfev=_STEPS, xtol=1e-12, ftol=1e-12)
        for A, B, C in begun
    ]
    A, B, C = _parts(min(found, key=lambda one: one.cost).x, n)
    return Fractional(A, B[:, None], C[None], np.zeros((1, 1)), (*sizes, 0))


def _parts(x: Array, n: int) -> tuple[Array, Array, Array]:
    """Return A, B and C of all entries."""
    return x[: n * n].reshape(n, n), x[n * n : n * n + n], x[n * n + n :]


def _first(points: Array, values: Array, owners: Array) -> tuple[Array, Array, Array]:
    """Return matrices of the quotient of linear functions that is nearest, a copy of each number."""
    linear = points[:, owners]
    above, below = np.split(np.linalg.lstsq(np.hstack([linear, -values[:, None] * linear]), values, rcond=None)[0], 2)
    return np.tile(-below[:, None], len(owners)), above, np.ones(len(owners))


def _grown(owners: Array, start: Fractional, seed: int) -> tuple[Array, Array, Array]:
    """Return the matrices of a fraction with fewer copies, and small entries for the new ones."""
    n, rng = len(owners), np.random.default_rng(seed)
    A, B, C = _BEGIN * rng.normal(size=(n, n)), _BEGIN * rng.normal(size=n), _BEGIN * rng.normal(size=n)
    known = np.repeat(np.arange(len(start.sizes) - 1), start.sizes[:-1])
    kept = np.concatenate([np.flatnonzero(owners == k)[: (known == k).sum()] for k in np.unique(known)])
    A[np.ix_(kept, kept)], B[kept], C[kept] = start.A, start.B[:, 0], start.C[0]
    return A, B, C


def _is_well_posed(fraction: Fractional, points: Array) -> bool:
    """Tell whether the loop has a solution on all ways from zero to the points."""
    if not np.isfinite(fraction.A).all():
        return False
    loops = fraction.A * np.repeat(points, fraction.sizes[:-1], axis=1)[:, None, :]
    return bool(np.abs(np.linalg.eigvals(loops)).max(initial=0.0) < _WELL_POSED)
