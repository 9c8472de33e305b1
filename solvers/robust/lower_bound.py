"""Lower bound of mu at a frequency: an uncertainty that makes the loop singular.

Of real blocks alone eigenvalues are followed along the edges of their box. That ``1 - M Δ`` is singular are two equations.
Where the largest number is as small as may be, all but one are as large as that (a vertex of a linear programme): Δ lies along
the edges of a box, ``r diag(±1, .., t, .., ±1)``, and 1/r is an eigenvalue of ``M Δ / r`` where that is real.

With others the real numbers are sampled, and the complex and full blocks are as bad there as they can be: the loop of the real
ones is closed, and a power iteration finds the others, at all samples at once (Packard, Doyle 1993, "The complex structured
singular value"). Of one repeated number, and of one full block, that is the largest eigenvalue or singular value; of several a
lower bound.

All that is found is made smaller by linear programmes, and what is returned is singular to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, TYPED
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.robust.least_size import NONE, LeastSize, Singular

#: The nearest on edges, and among samples, that are made smaller.
_ON_EDGES, _NEAREST = 4, 4

#: Samples of real numbers, and rounds of them, each in the box that is left.
_SAMPLES, _ROUNDS = 160, 2

#: Samples nearer than this part of their box are alike.
_ALIKE = 0.1

#: Starts where there are no real numbers.
_STARTS = 16

#: How far is looked where nothing bounds it: so many times the reach of the gain.
_FARTHEST = 1e3

#: Eigenvalue problems that are solved, about, and fewest places along an edge.
_PROBLEMS, _PLACES = 1200, 9

#: Edges are looked at as closely as if there were so many, at most.
_FEW = 12

#: An eigenvalue is followed to the axis this far, in parts of the distance of two places.
_NEAR = 1.5

#: Steps of Newton's method along an edge.
_NEWTON = 8

#: Steps of the power iteration.
_ITERATIONS = 40


def lower_bound(M: Array, structure: Structure, enough: float = np.inf, seed: int = 0) -> Singular:
    """Return a lower bound of mu of a matrix (columns of z, rows of w), zero where nothing is found.

    `enough`: an upper bound: where it is met the search ends.
    """
    best, rng = NONE, np.random.default_rng(seed)
    for _ in range(1 if structure.is_real or not structure.real else _ROUNDS):
        for start in _starts(M, structure, best, rng):
            best = max(best, smallest(M, structure, start), key=lambda one: one.value)
            if best.value >= enough * (1 - TYPED):
                return best
    return best


def smallest(M: Array, structure: Structure, start: Singular) -> Singular:
    """Return the smallest uncertainty found near another, singular to rounding; of value zero if there is none."""
    found = LeastSize(M, structure, [d / start.value for d in start.deltas]).run()
    best = NONE
    for one in (found, start):
        if one.value > best.value:
            best = max(best, LeastSize(M, structure, [d / one.value for d in one.deltas]).exact(), key=lambda one: one.value)
    return best


def _starts(M: Array, structure: Structure, best: Singular, rng: np.random.Generator) -> Iterator[Singular]:
    if structure.is_real:
        yield from islice(along_edges(M, structure), _ON_EDGES)
        return
    nothing = worst_complex(M, structure, np.zeros((1, len(structure.real))), rng)
    largest = max(best.value, float(nothing.values[0]), float(np.linalg.norm(M, 2)) / _FARTHEST)
    reals = _samples(M, structure, 1 / largest, rng) if largest else np.zeros((1, len(structure.real)))
    found = worst_complex(M, structure, reals, rng)
    taken: list[int] = []
    for k in np.argsort(-found.values, kind="stable").tolist():
        if len(taken) == _NEAREST or not found.values[k]:
            break
        if all(np.abs(reals[k] - reals[other]).max(initial=np.inf) > _ALIKE / largest for other in taken):
            taken.append(k)
            yield found.singular(k)


def _samples(M: Array, structure: Structure, radius: float, rng: np.random.Generator) -> Array:
    """Return values (k, real blocks) in a box: random ones, some towards corners, and where eigenvalues come near."""
    n = len(structure.real)
    if not n:
        return np.zeros((_STARTS, 0))
    box = radius * rng.uniform(-1, 1, (_SAMPLES, n))
    toward = _SAMPLES // 2
    box[:toward] = radius * rng.uniform(size=(toward, 1)) * rng.choice((-1.0, 1.0), (toward, n))
    rows, columns = structure.entries(structure.real)
    values = np.linalg.eigvals(M[np.ix_(rows, columns)] * _at_entries(structure, box))
    with np.errstate(divide="ignore", invalid="ignore"):
        places = (1 / values).real
    near = (places[:, :, None] * box[:, None]).reshape(-1, n)
    return np.concatenate([box, near[np.abs(near).max(axis=1) <= radius]])


def along_edges(M: Array, structure: Structure, seed: int = 0) -> list[Singular]:
    """Return uncertainties of real blocks that make a loop singular, largest values first; of all edges, or random ones.

    `structure`: of real blocks alone.
    """
    owners = np.repeat(np.arange(len(structure.blocks)), [b.repetitions for b in structure.blocks])
    edges = _edges(len(structure.blocks), np.random.default_rng(seed))
    places = np.linspace(-1, 1, max(_PLACES, _PROBLEMS // max(len(edges), _FEW)))
    found = []
    for free, signs in edges:
        edge = _Edge(M, owners, free, signs)
        values, slopes = edge.eigenvalues(places)
        away = np.divide(-values.imag, slopes.imag, out=np.zeros_like(slopes.imag), where=slopes.imag != 0)
        is_real = np.abs(values.imag) <= EXACT * np.abs(values)
        near = is_real | ((np.abs(away) <= _NEAR * (places[1] - places[0])) & (slopes.imag != 0))
        found += [edge.singular(float(places[i]), complex(values[i, j])) for i, j in np.argwhere(near)]
    return sorted((one for one in found if one.value > 0), key=lambda one: -one.value)


def _edges(n: int, rng: np.random.Generator) -> list[tuple[int, Array]]:
    """Return which number is free, and all numbers (n), of edges: one of each pair of opposite ones, or random ones."""
    if n * 2 ** max(n - 2, 0) > _PROBLEMS // _PLACES:
        return [(int(rng.integers(n)), rng.choice((-1.0, 1.0), n)) for _ in range(_PROBLEMS // _PLACES)]
    signs = [np.array([1.0, *others])[: n - 1] for others in product((1.0, -1.0), repeat=max(n - 2, 0))]
    return [(free, np.insert(others, free, 1.0)) for free in range(n) for others in signs]


class _Edge(NamedTuple):
    """``M diag(numbers)`` along an edge, one of the numbers free.

    `owners` (n): block of each channel; `free`: block whose number is free; `numbers`: one a block.
    """

    M: Array
    owners: Array
    free: int
    numbers: Array

    def eigenvalues(self, places: Array) -> tuple[Array, Array]:
        """Return eigenvalues (k, n) at values of the free number, and their derivatives by it; zero where there are none."""
        numbers = np.tile(self.numbers, (len(places), 1))
        numbers[:, self.free] = places
        values, right = np.linalg.eig(self.M * numbers[:, None, self.owners])
        try:
            left = np.linalg.inv(right)
        except np.linalg.LinAlgError:  # some have fewer vectors than values
            left = np.linalg.pinv(right)
        free = self.owners == self.free
        return values, np.einsum("kij,jl,kli->ki", left, self.M[:, free], right[:, free])

    def singular(self, place: float, value: complex) -> Singular:
        """Return the uncertainty next to a place where an eigenvalue is real, by Newton's method; of value zero if none is."""
        for _ in range(_NEWTON):
            values, slopes = self.eigenvalues(np.array([place]))
            k = int(np.argmin(np.abs(values[0] - value)))
            value, slope = complex(values[0, k]), complex(slopes[0, k])
            if abs(value.imag) <= EXACT * abs(value):
                break
            if not slope.imag:
                return Singular(0.0, [])
            away = -value.imag / slope.imag
            place, value = place + away, value + away * slope
        if abs(place) > 1 or abs(value.imag) > EXACT * abs(value) or not value.real:
            return Singular(0.0, [])
        sign = np.sign(value.real)
        deltas = sign * self.numbers
        deltas[self.free] = sign * place
        return Singular(abs(value.real), deltas.tolist())


class WorstComplex(NamedTuple):
    """Uncertainties that make ``1 - M Δ`` singular: one over their sizes (k), and values (k, ...) by block."""

    values: Array
    deltas: list[Array]

    def singular(self, k: int) -> Singular:
        """Return one of them."""
        return Singular(float(self.values[k]), [self.values[k] * values[k] for values in self.deltas])


def worst_complex(M: Array, structure: Structure, reals: Array, rng: np.random.Generator) -> WorstComplex:
    """Return the worst uncertainties with values (k, real blocks) of the real blocks, which are not all.

    `rng`: of the vectors with which iterations begin.
    """
    free = [k for k in range(len(structure.blocks)) if k not in structure.real]
    closed = _close_real(M, structure, free, reals)
    others = Structure.of([structure.blocks[k] for k in free])
    places = list(zip(others.blocks, others.w, others.z, strict=True))
    back = closed.conj().swapaxes(1, 2)
    b, w = _unit(rng.normal(size=(2, len(reals), others.shape[0], 2)) @ (1, 1j))
    for _ in range(_ITERATIONS):
        a = _unit(_times(closed, b))
        z = np.concatenate([_through(block, w[:, i], a[:, o]) for block, i, o in places], axis=1)
        w = _unit(_times(back, z))
        b = np.concatenate([_through(block, a[:, o], w[:, i]) for block, i, o in places], axis=1)
    delta = np.zeros((len(reals), *others.shape), dtype=complex)
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


def _close_real(M: Array, structure: Structure, free: list[int], reals: Array) -> Array:
    """Return M (k, columns of z, rows of w) of the free blocks with the real ones held."""
    if not structure.real:
        return np.tile(M, (len(reals), 1, 1))
    (rows, columns), (held_rows, held_columns) = structure.entries(free), structure.entries(structure.real)
    numbers = _at_entries(structure, reals)
    loop = np.eye(len(held_rows)) - M[np.ix_(held_rows, held_columns)] * numbers
    into, out = M[np.ix_(held_rows, columns)], M[np.ix_(rows, held_columns)] * numbers
    try:
        return M[np.ix_(rows, columns)] + out @ np.linalg.solve(loop, into[None])
    except np.linalg.LinAlgError:  # some are singular without the free blocks
        return M[np.ix_(rows, columns)] + out @ np.linalg.pinv(loop) @ into


def _at_entries(structure: Structure, reals: Array) -> Array:
    """Return values (k, real blocks) of the real blocks at each of their entries (k, 1, entries)."""
    return np.repeat(reals, [structure.blocks[k].repetitions for k in structure.real], axis=1)[:, None]


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
