"""The worst complex and full blocks at values of the real ones: their loop closed, a power iteration for what is left.

At all values at once (Packard, Doyle 1993, "The complex structured singular value"). Of one repeated number, and of one full
block, that is the largest eigenvalue or singular value; of several a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.robust.least_size import Singular
from titop.solvers.robust.structure import Structure

#: Steps.
_ITERATIONS = 40


class WorstComplex(NamedTuple):
    """Uncertainties that make ``1 - M Δ`` singular: one over their sizes (k), and values (k, ...) by block."""

    values: Array
    deltas: list[Array]

    def singular(self, k: int) -> Singular:
        """Return one of them."""
        return Singular(float(self.values[k]), [self.values[k] * own[k] for own in self.deltas])


def worst_complex(M: Array, structure: Structure, reals: Array, rng: np.random.Generator) -> WorstComplex:
    """Return the worst uncertainties with values (k, real blocks) of the real blocks, which are not all.

    Parameters
    ----------
    M : array (columns of z, rows of w)
    structure : Structure
    reals : array
    rng : Generator
        Of the vectors with which iterations begin.
    """
    free = [k for k in range(len(structure.blocks)) if k not in structure.real]
    closed = _closed(M, structure, free, reals)
    own = Structure.of([structure.blocks[k] for k in free])
    places = list(zip(own.blocks, own.w, own.z, strict=True))
    back = closed.conj().swapaxes(1, 2)
    b, w = _unit(rng.normal(size=(2, len(reals), own.shape[0], 2)) @ (1, 1j))
    for _ in range(_ITERATIONS):
        a = _unit(_times(closed, b))
        z = np.concatenate([_through(block, w[:, i], a[:, o]) for block, i, o in places], axis=1)
        w = _unit(_times(back, z))
        b = np.concatenate([_through(block, a[:, o], w[:, i]) for block, i, o in places], axis=1)
    delta = np.zeros((len(reals), *own.shape), dtype=complex)
    for block, i, o in places:
        if block.kind == "full":
            delta[:, i, o] = _unit(w[:, i])[:, :, None] * _unit(a[:, o]).conj()[:, None]
        else:
            delta[:, i, o] = _phases(a[:, o], w[:, i])[:, :, None] * np.eye(block.repetitions)
    values = np.linalg.eigvals(closed @ delta)
    largest = np.take_along_axis(values, np.abs(values).argmax(axis=1)[:, None], axis=1)[:, 0]
    size = np.abs(largest)
    turn = np.divide(1, largest, out=np.zeros_like(largest), where=size > 0)
    delta *= turn[:, None, None]
    smallest = np.divide(1, size, out=np.full(len(size), np.inf), where=size > 0)
    sizes = np.maximum(np.abs(reals).max(axis=1, initial=0.0), smallest)
    deltas = [*reals.T]
    for k, (block, i, o) in zip(free, places, strict=True):
        deltas.insert(k, delta[:, i, o] if block.kind == "full" else delta[:, i.start, o.start])
    return WorstComplex(1 / sizes, deltas)


def _closed(M: Array, structure: Structure, free: list[int], reals: Array) -> Array:
    """Return M (k, columns of z, rows of w) of the free blocks with the real ones held."""
    rows, columns = (np.concatenate([np.r_[place[k]] for k in free]) for place in (structure.z, structure.w))
    if not structure.real:
        return np.tile(M, (len(reals), 1, 1))
    own_rows, own_columns = (np.concatenate([np.r_[place[k]] for k in structure.real]) for place in (structure.z, structure.w))
    numbers = np.repeat(reals, [structure.blocks[k].repetitions for k in structure.real], axis=1)[:, None]
    loop = np.eye(len(own_rows)) - M[np.ix_(own_rows, own_columns)] * numbers
    into, out = M[np.ix_(own_rows, columns)], M[np.ix_(rows, own_columns)] * numbers
    try:
        return M[np.ix_(rows, columns)] + out @ np.linalg.solve(loop, into[None])
    except np.linalg.LinAlgError:  # some are singular without the free blocks
        return M[np.ix_(rows, columns)] + out @ np.linalg.pinv(loop) @ into


def _through(block: DeltaBlock, x: Array, along: Array) -> Array:
    """Return what a block of size one makes of vectors (k, n), as much along others as it can."""
    if block.kind == "full":
        return np.asarray(np.linalg.norm(x, axis=1)[:, None] * _unit(along))
    return _phases(x, along) * x


def _phases(x: Array, along: Array) -> Array:
    """Return the phases (k, 1) of products of vectors, one where that is zero."""
    product = (x.conj() * along).sum(axis=1, keepdims=True)
    size = np.abs(product)
    return np.divide(product, size, out=np.ones_like(product), where=size > 0)


def _unit(x: Array) -> Array:
    """Return vectors (..., n) of length one, zero ones as they are."""
    size = np.linalg.norm(x, axis=-1, keepdims=True)
    return x / np.where(size > 0, size, 1.0)


def _times(M: Array, x: Array) -> Array:
    return (M @ x[:, :, None])[:, :, 0]
