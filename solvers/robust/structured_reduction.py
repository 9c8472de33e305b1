"""Reduction of linear fractional models: states and repetitions that nothing reaches, or that nothing shows, are left out.

With ``Δ = diag(δ_1 1, ..., δ_k 1, 1/s)`` a model is ``y = (D + C Δ (1 - A Δ)^-1 B) u``. One subspace a delta, closed under all
blocks of A, holds what the inputs reach; the smallest such subspaces are found, then what the outputs see of them. Minimal
where the deltas are taken not to commute.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array

#: What is left of a direction after those known are taken out counts as a new one above this part of it.
_NEW = 1e-9
#: Entries of a balanced matrix below this are rounding.
_ROUNDING = 1e-13


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

    def dual(self) -> Fractional:
        """Return the transposed model."""
        return Fractional(self.A.T, self.C.T, self.B.T, self.D.T, self.sizes)

    def projected(self, bases: Sequence[Array]) -> Fractional:
        """Return the model in subspaces with orthonormal bases, one for each delta."""
        from scipy.linalg import block_diag

        T = block_diag(*bases)
        return Fractional(T.T @ self.A @ T, T.T @ self.B, self.C @ T, self.D, tuple(basis.shape[1] for basis in bases))


def reduced(model: Fractional) -> Fractional:
    """Return a model of the same response with as few states and repetitions as deltas that do not commute allow.

    Costs a singular value decomposition of each delta's block for each step in which its subspace grows.
    """
    scaled, scale = balanced(model)
    reached = scaled.projected(_kept(scaled))
    dual = reached.dual()
    result = dual.projected(_kept(dual)).dual()
    back = np.concatenate(
        [
            scale[part] if size == own else np.ones(own)
            for part, size, own in zip(model.parts, model.sizes, result.sizes, strict=True)
        ]
    )
    return result._replace(A=result.A * back[:, None] / back, B=result.B * back[:, None], C=result.C / back)


def reachable(model: Fractional) -> list[Array]:
    """Return orthonormal bases of what the inputs reach, one for each delta."""
    parts = model.parts
    bases = [np.zeros((size, 0)) for size in model.sizes]
    floors = [_ROUNDING * max((np.abs(part[to]).max(initial=0.0) for part in (model.A, model.B)), default=0.0) for to in parts]
    new = [_beyond(basis, model.B[part], floor) for basis, part, floor in zip(bases, parts, floors, strict=True)]
    while any(basis.shape[1] for basis in new):
        bases = [np.hstack(pair) for pair in zip(bases, new, strict=True)]
        grown = []
        for basis, to, floor in zip(bases, parts, floors, strict=True):
            images = [model.A[to, part] @ own for own, part in zip(new, parts, strict=True) if own.shape[1]]
            grown.append(_beyond(basis, np.hstack(images), floor))
        new = grown
    return bases


def balanced(model: Fractional) -> tuple[Fractional, Array]:
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


def _kept(model: Fractional) -> list[Array]:
    """Return bases of what is reached; unit vectors where that is everything, so that nothing is turned in vain."""
    return [np.eye(len(basis)) if basis.shape[1] == len(basis) else basis for basis in reachable(model)]


def _beyond(basis: Array, vectors: Array, floor: float) -> Array:
    """Return an orthonormal basis of what vectors longer than `floor` have beyond a basis, each judged beside its length."""
    if not vectors.size:
        return np.zeros((len(basis), 0))
    lengths = np.linalg.norm(vectors, axis=0)
    kept = lengths > floor
    unit = vectors[:, kept] / lengths[kept]
    for _ in range(2):
        unit = unit - basis @ (basis.T @ unit)
    left, sizes, _ = np.linalg.svd(unit, full_matrices=False)
    found: Array = left[:, sizes > _NEW]
    return found - basis @ (basis.T @ found)
