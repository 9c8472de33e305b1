"""Linear fractional models as matrices, and their reduction: states and repetitions that nothing reaches or shows are left out.

With ``Δ = diag(δ_1 1, ..., δ_k 1, 1/s)`` a model is ``y = (D + C Δ (1 - A Δ)^-1 B) u``. One subspace a delta, closed under all
blocks of A, holds what the inputs reach; the smallest such subspaces are found, then what the outputs see of them. Minimal
where the deltas are taken not to commute.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, EXACT, ROUNDING, SAME, TINY
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import middle_rate, paces

#: A direction is new where it is longer than the first of each pair times what rounding may have made of it, and than the
#: second times the vector that had it; a little less is enough before a wide gap. The first pair is taken that changes the
#: response by less than `_RIGHT` of its largest entry, or the next if that has as few states and repetitions, and `EXACT` is
#: not met yet.
_NEW = ((1e3, 1e-7), (10, 1e-8), (1, 1e-9), (0.1, 1e-9), (1e-2, 1e-9), (1e-4, 1e-9), (0, 1e-8), (0, 1e-10), (0, 1e-12))
_RIGHT = 30 * EXACT
#: Sizes fall by this factor at a gap: of beams they fall by less from one to the next, all the way down.
_WIDE = 1e8
#: No direction is turned farther than into any other.
_TURNED = 1.0
#: How often units are taken half of the way to where the largest entries of rows, and of columns, are one.
_HALF_WAYS = 8


class Fractional(NamedTuple):
    """``[z; y] = [[A, B], [C, D]] [w; u]`` with ``w = Δ z``, `sizes` rows for each delta."""

    A: Array
    B: Array
    C: Array
    D: Array
    sizes: tuple[int, ...]

    @property
    def parts(self) -> list[slice]:
        """Where each delta stands."""
        edges = np.cumsum([0, *self.sizes]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(edges)]

    def ports(self, states: int) -> Matrices:
        """Return the matrices of a model whose first inputs and outputs are states now and next, its channels first."""
        x, rest = slice(states), slice(states, None)
        B, C = np.hstack([self.C[x], self.D[x, rest]]), np.vstack([self.B[:, x], self.D[rest, x]])
        return Matrices(self.D[x, x], B, C, np.block([[self.A, self.B[:, rest]], [self.C[rest], self.D[rest, rest]]]))

    def dual(self) -> Fractional:
        """Return the transposed model."""
        return Fractional(self.A.T, self.C.T, self.B.T, self.D.T, self.sizes)

    def project(self, bases: Sequence[Array]) -> Fractional:
        """Return the model in subspaces with orthonormal bases, one for each delta."""
        from scipy.linalg import block_diag

        T = block_diag(*bases)
        return Fractional(T.T @ self.A @ T, T.T @ self.B, self.C @ T, self.D, tuple(basis.shape[1] for basis in bases))

    def spread(self, values: Sequence[complex] | Array) -> Array:
        """Return a value of each delta as one of each row."""
        return np.repeat(values, self.sizes)


def response_at(model: Fractional, deltas: Sequence[complex] | Array) -> Array:
    """Return the response at values of all deltas."""
    values = model.spread(deltas)
    return model.D + (model.C * values) @ solve_loop(model.A * values, model.B)


def solve_loop(loop: Array, right: Array) -> Array:
    """Return z (n, m) of ``z = loop z + right``, of a loop (n, n) in units in which it is balanced.

    Entries of unlike units are no pivots then.

    Raises `LinAlgError` where there is none.
    """
    from scipy.linalg import matrix_balance

    if not np.isfinite(loop).all():
        raise np.linalg.LinAlgError("a loop that is not finite")
    balanced, (scale, _) = matrix_balance(loop, permute=False, separate=True)
    return scale[:, None] * np.linalg.solve(np.eye(len(loop)) - balanced, right / scale[:, None])


def singular_at(loop: Array) -> tuple[float, float]:
    """Return the numbers t < 0 and t > 0 nearest to zero at which ``1 - t loop`` is singular, infinite if there are none."""
    values = np.linalg.eigvals(loop)
    real = values.real[np.abs(values.imag) <= SAME * (1 + np.abs(values))]
    low, high = float(real.min(initial=0.0)), float(real.max(initial=0.0))
    return 1 / low if low < 0 else -np.inf, 1 / high if high > 0 else np.inf


def close_deltas(model: Fractional, values: Sequence[float | None]) -> Fractional:
    """Return the model with some deltas at fixed values; None leaves one open.

    Raises `LinAlgError` where the model has no response.
    """
    fixed = model.spread([value is not None for value in values])
    deltas = model.spread([value or 0.0 for value in values])[fixed]
    of, to = np.flatnonzero(fixed), np.flatnonzero(~fixed)
    driven = deltas[:, None] * solve_loop(model.A[np.ix_(of, of)] * deltas, np.hstack([model.A[np.ix_(of, to)], model.B[of]]))
    by_w, by_u = driven[:, : len(to)], driven[:, len(to) :]
    into, out = model.A[np.ix_(to, of)], model.C[:, of]
    sizes = tuple(size for size, value in zip(model.sizes, values, strict=True) if value is None)
    A, B, C, D = model.A[np.ix_(to, to)], model.B[to], model.C[:, to], model.D
    return Fractional(A + into @ by_w, B + into @ by_u, C + out @ by_w, D + out @ by_u, sizes)


def recentre(model: Fractional, middles: Sequence[float]) -> Fractional:
    """Return the model in deltas that are zero where those given have values `middles`, and the same at -1 and 1.

    With k one of these values, ``d = k + (1 - k^2) δ / (1 + k δ)``: ``w = k z + (1 - k^2) w'``, ``w' = δ (z - k w')``.
    """
    k = model.spread(middles)
    n, off = len(k), np.flatnonzero(k)
    into, out = model.A[:, off] * k[off], model.C[:, off] * k[off]
    z = np.hstack([model.A * (1 - k**2), model.B])
    driving = solve_loop(into[off], z[off])  # states, and what stays, close no loop
    z += into @ driving
    y = np.hstack([model.C * (1 - k**2), model.D]) + out @ driving
    z[:, :n] -= np.diag(k)
    return Fractional(z[:, :n], z[:, n:], y[:, :n], y[:, n:], model.sizes)


# -- reduction ----------------------------------------------------------------------------------------------------------


def degrees(model: Fractional, count: int, rng: np.random.Generator, sampled: bool = False) -> list[int]:
    """Return the McMillan degree in each of the first `count` deltas, the others (1/s, the last, too) at random values.

    Any model of the same response has as many repetitions or more. Of `sampled` models the last is 1/z, whose size is one:
    many of their poles, of delays and held inputs, are zero.
    """
    found = []
    slow = 1.0 if sampled else 1.0 / middle_rate(model.A[model.parts[-1], model.parts[-1]])
    for k in range(count):
        values: list[float | None] = [
            *rng.uniform(-0.8, 0.8, count),
            *(slow * rng.uniform(0.3, 0.7, len(model.sizes) - count)).tolist(),
        ]
        values[k] = None
        found.append(reduce_fraction(close_deltas(model, values), points=()).sizes[0])
    return found


def reduce_fraction(model: Fractional, points: Sequence[Sequence[complex]] | Array | None = None) -> Fractional:
    """Return a model of the same response with as few states and repetitions as deltas that do not commute allow.

    Of what may be rounding, as much is left out as does not change the response at some values of the deltas. Costs a singular
    value decomposition of each delta's block for each step in which its subspace grows.

    `points`: where responses are compared; random ones by default, with the last, 1/s, around the poles.
    """
    model = trim_zeros(model)
    scaled, scale = balance(model)
    if points is None:
        points = _points(model)
    right = [response_at(model, point) for point in points]
    terms = [_size_of_terms(model, point) for point in points]
    if right and all(np.abs(y).max(initial=0.0) <= ROUNDING * size for y, size in zip(right, terms, strict=True)):
        nothing = [np.zeros((size, 0)) for size in model.sizes]
        return model.project(nothing)  # all that there is cancels
    best: tuple[Fractional, float] | None = None
    for new in _NEW:
        result = _narrow(scaled, new)
        error = max((_difference(response_at(result, x), y) for x, y in zip(points, right, strict=True)), default=0.0)
        if best is None and error < _RIGHT:
            best = result, error
        elif best is not None:
            if result.sizes == best[0].sizes and error < best[1]:
                best = result, error
            break
        if best is not None and error < EXACT:
            break
    if best is None:
        return model
    result = best[0]
    pairs = zip(model.parts, model.sizes, result.sizes, strict=True)
    back = np.concatenate([scale[part] if size == new_size else np.ones(new_size) for part, size, new_size in pairs])
    return result._replace(A=result.A * back[:, None] / back, B=result.B * back[:, None], C=result.C / back)


def reduce_static(model: Fractional) -> Fractional:
    """Return what `reduce_fraction` does of a model without states whose inputs and outputs have units of their own."""
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (3, len(model.sizes)))
    rows, columns = equal_sizes(np.sum([np.abs(response_at(model, point)) for point in points], axis=0))
    alike = model._replace(B=model.B / columns, C=model.C / rows, D=model.D / rows / columns)
    small = reduce_fraction(alike, points)
    return small._replace(B=small.B * columns, C=small.C * rows, D=model.D)


def trim_zeros(model: Fractional) -> Fractional:
    """Return a model without states and channels that zeros alone keep from any input, or from any output."""
    joined = (model.A != 0).astype(float)
    kept = reach(joined, (model.B != 0).any(axis=1)) & reach(joined.T, (model.C != 0).any(axis=0))
    sizes = tuple(int(kept[part].sum()) for part in model.parts)
    return Fractional(model.A[np.ix_(kept, kept)], model.B[kept], model.C[:, kept], model.D, sizes)


def reach(joined: Array, start: Array) -> Array:
    """Return what is reached (n booleans) from a start along non-zero entries (n, n), from columns to rows."""
    while True:
        more = start | (joined @ start > 0)
        if (more == start).all():
            return start
        start = more


def balance(model: Fractional) -> tuple[Fractional, Array]:
    """Return the model with each state and channel divided by a scale so that what drives it is as large as its effect.

    The scales, powers of two, are returned too.
    """
    scale = np.ones(len(model.A))
    for _ in range(10):
        A = np.abs(model.A) * scale / scale[:, None]
        np.fill_diagonal(A, 0.0)
        rows = A.sum(axis=1) + np.abs(model.B).sum(axis=1) / scale
        columns = A.sum(axis=0) + np.abs(model.C).sum(axis=0) * scale
        usable = (rows > 0) & (columns > 0)
        factor = np.where(usable, np.sqrt(rows / np.where(usable, columns, 1.0)), 1.0)
        factor = 2.0 ** np.round(np.log2(np.where(factor > 0, factor, 1.0)))
        if (factor == 1.0).all():
            break
        scale *= factor
    return model._replace(A=model.A * scale / scale[:, None], B=model.B / scale[:, None], C=model.C * scale), scale


def equal_sizes(matrices: Array) -> tuple[Array, Array]:
    """Return by what rows (..., m, 1) and columns (..., 1, n) of matrices are divided: powers of two, ones of zeros.

    The rows and columns of symmetric matrices have the same units.
    """
    sizes = np.abs(matrices)
    rows, columns = np.ones((*sizes.shape[:-1], 1)), np.ones((*sizes.shape[:-2], 1, sizes.shape[-1]))
    for _ in range(_HALF_WAYS):
        left = sizes / rows / columns
        rows = rows * _halfway(left.max(axis=-1, keepdims=True, initial=0.0))
        columns = columns * _halfway(left.max(axis=-2, keepdims=True, initial=0.0))
    return rows, columns


def _halfway(largest: Array) -> Array:
    """Return the powers of two next to the roots of some numbers, one for zeros."""
    return np.exp2(np.round(np.log2(np.where(largest > 0, largest, 1.0)) / 2))


def separate_parts(matrix: Array) -> list[tuple[Array, Array]]:
    """Return rows and columns of the parts into which a matrix falls, without rows and columns of zeros."""
    joined, parts = matrix != 0, []
    left = joined.any(axis=1)
    while left.any():
        rows, more = np.zeros(len(matrix), dtype=bool), np.arange(len(matrix)) == left.argmax()
        while (more != rows).any():
            rows = more
            columns = joined[rows].any(axis=0)
            more = joined[:, columns].any(axis=1)
        parts.append((np.flatnonzero(rows), np.flatnonzero(columns)))
        left &= ~rows
    return parts


def _points(model: Fractional) -> list[list[complex]]:
    """Return values of all deltas, the last 1/s about the poles."""
    rng, rates = np.random.default_rng(0), paces(model.A[model.parts[-1], model.parts[-1]])
    speeds = np.quantile(rates, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]) if len(rates) else np.ones(1)
    return [[*rng.uniform(-1.0, 1.0, len(model.sizes) - 1), 1.0 / (0.9j * w + 0.03 * w)] for w in speeds]


def _difference(one: Array, right: Array) -> float:
    return float(np.abs(one - right).max(initial=0.0)) / max(float(np.abs(right).max(initial=0.0)), TINY)


def _size_of_terms(model: Fractional, deltas: Sequence[complex] | Array) -> float:
    """Return the largest sum of the terms of a response at values of all deltas, none of which cancel."""
    values = np.abs(model.spread(deltas))
    terms = np.abs(model.D) + (np.abs(model.C) * values) @ np.abs(solve_loop(model.A * model.spread(deltas), model.B))
    return float(terms.max(initial=0.0))


def _narrow(model: Fractional, new: tuple[float, float]) -> Fractional:
    """Return a model with what is seen, then what is reached of it: the less is seen the more certain is what is reached."""
    dual = model.dual()
    seen = dual.project(_reachable(dual, new)).dual()
    return seen.project(_reachable(seen, new))


def _reachable(model: Fractional, least: tuple[float, float]) -> list[Array]:
    """Return orthonormal bases of what the inputs reach, one for each delta; unit vectors where that is everything.

    With every direction goes how far rounding may have turned it; `least` is an entry of `_NEW`.
    """
    parts = model.parts
    sizes = [[np.linalg.norm(model.A[to, part]) for part in parts] for to in parts]
    bases = [np.zeros((size, 0)) for size in model.sizes]
    new = []
    for basis, part in zip(bases, parts, strict=True):
        columns = model.B[part]
        new.append(_beyond(basis, columns, EPS * np.linalg.norm(columns, axis=0), least))
    while any(len(noise) for _, noise in new):
        bases = [np.hstack([basis, added]) for basis, (added, _) in zip(bases, new, strict=True)]
        grown = []
        for basis, to, norms in zip(bases, parts, sizes, strict=True):
            images = [model.A[to, part] @ added for part, (added, _) in zip(parts, new, strict=True)]
            noises = [
                norm * noise + EPS * np.linalg.norm(np.abs(model.A[to, part]) @ np.abs(added), axis=0)
                for norm, part, (added, noise) in zip(norms, parts, new, strict=True)
            ]
            grown.append(_beyond(basis, np.hstack(images), np.concatenate(noises), least))
        new = grown
    return [np.eye(len(basis)) if basis.shape[1] == len(basis) else basis for basis in bases]


def _beyond(basis: Array, vectors: Array, noise: Array, least: tuple[float, float]) -> tuple[Array, Array]:
    """Return an orthonormal basis of what vectors have beyond a basis, and how far rounding may have turned each of it."""
    lengths = np.linalg.norm(vectors, axis=0)
    kept = (noise > 0) & (lengths > 0)
    if not kept.any():
        return np.zeros((len(basis), 0)), np.zeros(0)
    floor = np.maximum(least[0] * noise[kept], least[1] * lengths[kept])
    rest = vectors[:, kept] / floor
    for _ in range(2):
        rest = rest - basis @ (basis.T @ rest)
    left, sizes, right = _separate_svd(rest)
    rank = decided_rank(sizes, 1.0, _WIDE)
    new: Array = left[:, :rank]
    noises = np.minimum(np.linalg.norm(right[:rank] * (noise[kept] / floor), axis=1) / sizes[:rank], _TURNED)
    return new - basis @ (basis.T @ new), noises


def _separate_svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Return a singular value decomposition whose vectors join nothing that shares no row and no column."""
    left, sizes, right = [np.zeros((len(matrix), 0))], [np.zeros(0)], [np.zeros((0, matrix.shape[1]))]
    for rows, columns in separate_parts(matrix):
        u, s, vt = np.linalg.svd(matrix[np.ix_(rows, columns)], full_matrices=False)
        left.append(np.eye(len(matrix))[:, rows] @ u)
        sizes.append(s)
        right.append(vt @ np.eye(matrix.shape[1])[columns])
    order = np.argsort(-np.concatenate(sizes), kind="stable")
    return np.hstack(left)[:, order], np.concatenate(sizes)[order], np.vstack(right)[order]
