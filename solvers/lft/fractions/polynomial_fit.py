"""Functions of a few numbers in [-1, 1], zero where all are, fitted by polynomials and by quotients of them.

A quotient ``y = N / (1 + D)`` is the solution of ``y = [N, -D] [1; y]``: a row of two polynomials, which is what it is kept as.
As a linear fraction it costs no more repetitions than a polynomial of its degree, and is often nearer by decades.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.interpolation import Polynomial

#: Terms that are together smaller than this part of the tolerance are left out.
_NOTHING = 0.1

#: Times that equations of a quotient are weighed anew, by the denominator found before.
_WEIGHED = 4

#: What the terms of a denominator have together, at most, in parts of one: it is zero nowhere in the box.
_LARGEST = 0.9


def terms(count: int, degree: int) -> list[tuple[int, ...]]:
    """Return the exponents of all products of so many numbers up to a total degree, but of the constant."""
    chosen = itertools.combinations_with_replacement(range(count + 1), degree)
    found = (tuple(factors.count(k) for k in range(count)) for factors in chosen)
    return sorted((e for e in found if any(e)), key=lambda e: (sum(e), e))


def number_of_terms(count: int, degree: int) -> int:
    """Return how many `terms` there are."""
    return math.comb(count + degree, degree) - 1


def spread_points(count: int, n: int) -> Array:
    """Return n points in [-1, 1]^count, evenly spread and denser near the ends; any first of them are spread as well."""
    golden = 2.0
    for _ in range(60):  # the root of x^(count + 1) = x + 1
        golden = (1.0 + golden) ** (1.0 / (count + 1))
    steps = golden ** -np.arange(1.0, count + 1)
    inside = (0.5 + np.arange(1, n + 1)[:, None] * steps) % 1.0
    points: Array = np.sin(math.pi * (inside - 0.5))
    return points


def fitted(deltas: tuple[str, ...], points: Array, values: Array, degree: int, tolerance: float) -> Polynomial:
    """Return the polynomial of a total degree that meets values (k) at points (k, n) best, without terms that do nothing."""
    exponents = terms(points.shape[1], degree)
    matrix = products(points, exponents)
    coefficients = np.linalg.lstsq(matrix, values, rcond=None)[0]
    kept = np.abs(coefficients) > _NOTHING * tolerance / len(exponents)
    if kept.any() and not kept.all():
        exponents = [e for e, keep in zip(exponents, kept, strict=True) if keep]
        coefficients = np.linalg.lstsq(matrix[:, kept], values, rcond=None)[0]
    return Polynomial(deltas, tuple(exponents), tuple(np.array([[x]]) for x in coefficients))


def fitted_quotient(deltas: tuple[str, ...], points: Array, values: Array, degree: int, tolerance: float) -> Polynomial | None:
    """Return the row of a quotient of a degree that meets values (k) at points (k, n) well; None where it may be infinite.

    By linear equations ``N - y D = y``, weighed by the denominator (Sanathanan, Koerner 1963).
    """
    exponents = terms(points.shape[1], degree)
    matrix = products(points, exponents)
    matrix = np.hstack([matrix, -values[:, None] * matrix])
    kept, coefficients = np.ones(matrix.shape[1], dtype=bool), np.zeros(matrix.shape[1])
    for last in (False, True):
        weights = np.ones(len(points))
        for _ in range(_WEIGHED):
            own = matrix[:, kept] / weights[:, None]
            coefficients[:] = 0.0
            coefficients[kept] = np.linalg.lstsq(own, values / weights, rcond=None)[0]
            above, below = np.split(coefficients, 2)
            if np.abs(below).sum() > _LARGEST:
                return None
            weights = 1 + products(points, exponents) @ below
        if not last:
            kept = np.abs(coefficients) > _NOTHING * tolerance / len(coefficients)
    rows = {e: np.array([[n, -d]]) for e, n, d in zip(exponents, above, below, strict=True) if n or d}
    return Polynomial(deltas, tuple(rows), tuple(rows.values())) if rows else None


def products(points: Array, exponents: list[tuple[int, ...]]) -> Array:
    """Return the products (k, terms) of the entries of points (k, n)."""
    return np.stack([np.prod(points ** np.array(e), axis=1) for e in exponents], axis=1)
