"""Functions of a few numbers in [-1, 1], zero where all are, fitted by polynomials."""

from __future__ import annotations

import itertools
import math

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.interpolation import Polynomial

#: Terms that are together smaller than this part of the tolerance are left out.
_NOTHING = 0.1


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


def products(points: Array, exponents: list[tuple[int, ...]]) -> Array:
    """Return the products (k, terms) of the entries of points (k, n)."""
    return np.stack([np.prod(points ** np.array(e), axis=1) for e in exponents], axis=1)
