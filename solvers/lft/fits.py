"""Functions of a few numbers in [-1, 1], zero where all are, as linear fractions with few repetitions.

They are fitted by polynomials and by quotients of them. A quotient ``y = N / (1 + D)`` is the solution of
``y = [N, -D] [1; y]``: a row of two polynomials, which is what it is kept as. As a linear fraction it costs no more repetitions
than a polynomial of its degree, and is often nearer by decades.

Then by fractions ``y = C Δ (1 - A Δ)^-1 B``, Δ diagonal with so many copies of each number: quotients whose numerator and
denominator share their copies. Of two numbers one copy each holds what polynomials need five for. All entries are sought by
least squares, first with a copy of each number, then with one more where that is best.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, EXACT
from titop.solvers.lft.fractions import Fractional, reduce_fraction
from titop.solvers.lft.loops import LinearLoop
from titop.solvers.lft.polynomials import Polynomial

#: Terms that are together smaller than this part of the tolerance are left out.
_NOTHING = 0.1
#: Times that equations of a quotient are weighed anew, by the denominator found before.
_WEIGHED = 4
#: What the terms of a denominator have together, at most, in parts of one: it is zero nowhere in the box.
_LARGEST = 0.9

#: Size of new entries with which searches begin, and how often each begins with others.
_BEGIN, _STARTS = 0.1, 3
#: Steps of a search, and the weight of entries: of fractions that differ by units of their copies alone the smallest is found.
_STEPS, _RIDGE = 200, float(np.sqrt(CANCELLED))
#: Largest spectral radius of ``A Δ`` at the points, corners of the box among them: where it is one there may be no solution.
_WELL_POSED = 0.9


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
    return np.sin(math.pi * (inside - 0.5))


def fit_polynomial(deltas: tuple[str, ...], points: Array, values: Array, degree: int, tolerance: float) -> Polynomial:
    """Return the polynomial of a total degree that meets values (k) at points (k, n) best, without terms that do nothing."""
    exponents = terms(points.shape[1], degree)
    matrix = products(points, exponents)
    coefficients = np.linalg.lstsq(matrix, values, rcond=None)[0]
    kept = np.abs(coefficients) > _NOTHING * tolerance / len(exponents)
    if kept.any() and not kept.all():
        exponents = [e for e, keep in zip(exponents, kept, strict=True) if keep]
        coefficients = np.linalg.lstsq(matrix[:, kept], values, rcond=None)[0]
    return Polynomial(deltas, tuple(exponents), tuple(np.array([[x]]) for x in coefficients))


def fit_quotient(deltas: tuple[str, ...], points: Array, values: Array, degree: int, tolerance: float) -> Polynomial | None:
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
            weighed = matrix[:, kept] / weights[:, None]
            coefficients[:] = 0.0
            coefficients[kept] = np.linalg.lstsq(weighed, values / weights, rcond=None)[0]
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


# -- as linear fractions --------------------------------------------------------------------------------------------------


def fraction_of(polynomial: Polynomial, deltas: Sequence[str]) -> Fractional:
    """Return a polynomial (1, 1), or the quotient of a row (1, 2), as a linear fraction, in the order of these deltas.

    With few repetitions: by Horner's scheme, outermost in the delta of the highest degree. A last block, of 1/s, has no states.
    """
    loop = LinearLoop()
    given = loop.columns("u", polynomial.matrices[0].shape[1])
    value = _highest_first(polynomial).apply(loop, given)
    A, B, C, D, sizes = loop.fraction(deltas, value[:0], value)
    again = B[:, 1:]  # what the value itself drives, of a row
    return reduce_fraction(Fractional(A + again @ C[: again.shape[1]], B[:, :1], C, D[:, :1], sizes))


def _highest_first(polynomial: Polynomial) -> Polynomial:
    """Return a polynomial with its deltas in the order of falling degree."""
    powers = np.array(polynomial.exponents).reshape(len(polynomial.exponents), -1)
    order = np.argsort(-powers.max(axis=0, initial=0), kind="stable")
    deltas = tuple(polynomial.deltas[k] for k in order)
    exponents = tuple(tuple(row) for row in powers[:, order].tolist())
    return Polynomial(deltas, exponents, polynomial.matrices)


def smallest_fraction(
    points: Array, values: Array, most: Sequence[int], is_near: Callable[[Fractional], bool]
) -> Fractional | None:
    """Return a fraction with fewer repetitions than `most` together that is near enough; None where none was found.

    `values` (k; no unit): of the function there; `most`: one a number, zero of those on which it does not depend: how many
    repetitions another fit has.
    """
    sizes = [min(1, count) for count in most]
    found = _fit_fraction(points, values, sizes, None)
    while sum(sizes) < sum(most):
        if _is_well_posed(found, points) and is_near(found):
            return found
        tried = []
        for k in np.flatnonzero(most):
            larger = [count + int(j == k) for j, count in enumerate(sizes)]
            candidate = _fit_fraction(points, values, larger, found)
            tried.append((float(np.linalg.norm(fraction_at(candidate, points) - values)), larger, candidate))
        _, sizes, found = min(tried, key=lambda one: one[0])
    return None


def fraction_at(fraction: Fractional, points: Array) -> Array:
    """Return the values (k) of a fraction (1, 1) at points (k, n) of its deltas but for the last, of 1/s, without states."""
    A, B, C = fraction.A, fraction.B[:, 0], fraction.C[0]
    deltas = np.repeat(points, fraction.sizes[:-1], axis=1)
    z = np.linalg.solve(np.eye(len(A)) - A * deltas[:, None, :], np.broadcast_to(B[:, None], (len(points), len(A), 1)))
    return np.asarray((deltas * z[:, :, 0]) @ C)


def _fit_fraction(points: Array, values: Array, sizes: Sequence[int], start: Fractional | None) -> Fractional:
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

    begun = [_first(points, values, owners)] if start is None else [_enlarge(owners, start, seed) for seed in range(_STARTS)]
    found = [
        least_squares(misfit, np.concatenate([A.ravel(), B, C]), slopes, method="lm", max_nfev=_STEPS, xtol=EXACT, ftol=EXACT)
        for A, B, C in begun
    ]
    A, B, C = _parts(min(found, key=lambda one: one.cost).x, n)
    return Fractional(A, B[:, None], C[None], np.zeros((1, 1)), (*sizes, 0))


def _parts(x: Array, n: int) -> tuple[Array, Array, Array]:
    return x[: n * n].reshape(n, n), x[n * n : n * n + n], x[n * n + n :]


def _first(points: Array, values: Array, owners: Array) -> tuple[Array, Array, Array]:
    """Return matrices of the quotient of linear functions that is nearest, a copy of each number."""
    linear = points[:, owners]
    above, below = np.split(np.linalg.lstsq(np.hstack([linear, -values[:, None] * linear]), values, rcond=None)[0], 2)
    return np.tile(-below[:, None], len(owners)), above, np.ones(len(owners))


def _enlarge(owners: Array, start: Fractional, seed: int) -> tuple[Array, Array, Array]:
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


def substitute(model: Fractional, fractions: Sequence[Fractional | None]) -> Fractional:
    """Return a model with some of its deltas replaced, each repetition by a fraction in the deltas that stay.

    `fractions`: one for each delta of the model but the last, 1/s; None keeps it. Those of the fractions are the deltas that
    stay, in their order; they are zero where these are.

    The deltas of the result are those that stay and 1/s; what came from the fractions stands behind what was there.
    """
    from scipy.linalg import block_diag

    parts, last = model.parts, len(model.sizes) - 1
    places = [[np.arange(parts[k].start, parts[k].stop)] for k in range(last + 1) if k == last or fractions[k] is None]
    n = len(model.A)
    # columns: w of the model, then of the fractions; what is replaced is C w of its fraction, whose z is A w + B z
    kept = np.eye(n)
    inner: list[Array] = [np.zeros((0, 0))]
    returned: list[Array] = []
    into: list[Array] = [np.zeros((0, n))]
    for k, fraction in enumerate(fractions):
        if fraction is None:
            continue
        eye, before = np.eye(model.sizes[k]), n + sum(len(A) for A in inner)
        A, B, C = (np.kron(matrix, eye) for matrix in fraction[:3])
        chosen = np.eye(n)[parts[k]]
        kept = kept - chosen.T @ chosen
        returned.append(chosen.T @ C)
        inner.append(A)
        into.append(B @ chosen)
        for place, part in zip(places, fraction.parts[:-1], strict=False):
            place.append(before + np.arange(part.start * len(eye), part.stop * len(eye)))
    w, driving = np.hstack([kept, *returned]), np.vstack(into)
    z = np.vstack([model.A @ w, driving @ model.A @ w])
    z[n:, n:] += block_diag(*inner)
    groups = [np.concatenate(place) for place in places]
    order = np.concatenate(groups)
    B = np.vstack([model.B, driving @ model.B])
    sizes = tuple(len(group) for group in groups)
    return Fractional(z[np.ix_(order, order)], B[order], (model.C @ w)[:, order], model.D, sizes)
