"""Pivots of the elimination of coordinates, and the effect of rounding on them.

A pivot is the remaining inertia of a coordinate when all that it carries moves freely. It is a difference of larger, rounded
numbers. The possible error of the inertia ``M A`` of a subtree is a sum of squares ``A^T N A``, in units of rounding. At every
joint, N collects the diagonal of the inertia before the joint's elimination, projected on the motion that remains free there.
The ratio of a pivot to the same coordinate's entry of N has no unit, and is at most one.

Accelerations are also rounded on the way to the leaves, and their errors move all that is carried there. A coordinate that a
unit of effort accelerates by ``1/m`` while it carries the inertia ``M`` loses a factor of ``sqrt(M / m)``, measured by the root
of the kinetic energy, even if its pivot is accurate. Both are bounds for every order of summation; neither bounds the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, FEW_ROUNDINGS

#: A warning is given above this estimated error of a coordinate's inertia; other engines agree with titop to 1e-10.
_MUCH = 100 * EXACT


class Conditioning(NamedTuple):
    """The effect of rounding on forward dynamics at a configuration.

    - `ratios` (nv): pivot of each coordinate (its inertia when all that it carries moves freely), over the absolute sum of the
      numbers that it is computed from: 0.1 to 1 in ordinary robots, 1e-16 where only rounding remains. No unit, for all
      coordinates;
    - `error`: bound of the relative error of accelerations, for any order of summation; mostly ten to a thousand times the
      actual error. Infinite where a coordinate moves no inertia;
    - `coordinate`: the coordinate of the smallest ratio.
    """

    ratios: Array
    error: float
    coordinate: str


class Pivots(NamedTuple):
    """The pivots of all coordinates (nv each, no unit); of stacked states these stand along the first axis, as in what follows.

    - `ratios`: over the numbers that they are computed from; zero where there is no inertia;
    - `shares`: over the inertia that the coordinates carry with all other joints held, as the kernels bound it;
    - `spreads`: root of the inertia carried with all other joints held, times the acceleration by a unit of effort with all
      other joints free: at least one; infinite where a coordinate moves no inertia.
    """

    ratios: Array
    shares: Array
    spreads: Array


class Elimination(NamedTuple):
    """The results of elimination.

    - `pivots`, `ratios` (nv): inertia (in the coordinate's own unit), and its ratio to the numbers that it is computed from; 1
      for imposed ones;
    - `held` (nv): inertia that the coordinates carry with all other joints held, as the kernels bound it;
    - `responses`: for each part, accelerations of its own coordinates by its motion (n, 6 + n) without efforts: each by those
      before it.
    """

    pivots: Array
    ratios: Array
    held: Array
    responses: list[Array]


class EliminatedPart(NamedTuple):
    """A block, joint or element in the sequence of elimination.

    - `parent`: index of its parent in the sequence;
    - `v`: slice of its n coordinates;
    - `inertia` (6 + n, 6 + n): its own inertia, at its parent port;
    - `rounded` (6 + n, 6 + n): rounding errors (squares) of this inertia, in addition to its diagonal;
    - `transport` (6, 6 + m): from the motion of its parent, which has m coordinates, to its own.
    """

    parent: int
    v: slice
    inertia: Array
    rounded: Array
    transport: Array


def conditioning(pivots: Pivots, names: Sequence[str]) -> Conditioning:
    """Return the conditioning that follows from the pivots of the coordinates called `names`."""
    if not names:
        return Conditioning(pivots.ratios, 0.0, "")
    with np.errstate(divide="ignore", over="ignore"):
        error = 2 * FEW_ROUNDINGS * (1.0 / np.maximum(pivots.ratios, 0.0) + pivots.spreads).sum(axis=-1)
    worst: Any = np.array(names)[pivots.ratios.argmin(axis=-1)]
    return Conditioning(pivots.ratios, *((error, worst) if pivots.ratios.ndim == 2 else (float(error), str(worst))))


def conditioning_findings(found: Sequence[Conditioning], own: Collection[str] = ()) -> list[Finding]:
    """Return a warning if elimination loses much accuracy at a configuration where every coordinate moves inertia.

    `found`: at some configurations. `own`: names of bodies' own coordinates.
    """
    usable = [each for each in found if np.isfinite(each.error)]
    worst = min(usable, key=lambda each: each.ratios.min(initial=1.0), default=None)
    error = 0.0 if worst is None else 2 * FEW_ROUNDINGS / worst.ratios.min(initial=1.0)
    if worst is None or not error > _MUCH:
        return []
    value = f"an inertia whose relative error may be {error:.1g}"
    if worst.coordinate in own:
        body = owner_of(worst.coordinate)
        expected = f"less than {_MUCH:g}: coordinates of {body!r} that move it in ways of their own, each"
        advice = f"take a lower order of its basis, or fewer modes; compare {body}'s mass with what it carries"
    else:
        expected = f"less than {_MUCH:g}: masses and inertias of like size along a chain of joints"
        advice = "compare the masses and inertias that it carries, and their units"
    advice += "; m.conditioning(q) tells it anywhere"
    return [Finding("ill-conditioned", worst.coordinate, value, expected, advice)]


@np.errstate(all="ignore")  # for numbers out of range there are no pivots
def find_pivots(parts: Sequence[EliminatedPart], imposed: Array) -> Pivots:
    """Return the pivots of the free coordinates; imposed ones have the ratio 1.

    The `parts` are in order, parents first; the first is the world. `imposed` (nv) tells which coordinates are.
    """
    elimination = eliminate(parts, imposed)
    shares = np.where(elimination.ratios > 0.0, elimination.pivots / elimination.held, 0.0)
    spreads = np.sqrt(elimination.held * _mobilities(parts, elimination, imposed))
    spreads[elimination.ratios == 0.0] = np.inf
    return Pivots(elimination.ratios, np.where(imposed, 1.0, shares), spreads)


@np.errstate(all="ignore")
def eliminate(parts: Sequence[EliminatedPart], imposed: Array) -> Elimination:
    """Eliminate all coordinates, from the leaves to the world; arguments as those of `find_pivots`."""
    rows = np.broadcast_shapes(*(part.transport.shape[:-2] for part in parts))
    pivots, ratios, holding = np.ones((3, *rows, len(imposed)))
    inertias, carried = [part.inertia for part in parts], [_held(part) for part in parts]
    noises = [np.zeros(matrix.shape) for matrix in inertias]
    responses = [np.zeros((*rows, len(matrix.T) - 6, len(matrix.T))) for matrix in inertias]
    for k in range(len(parts) - 1, 0, -1):
        part, M, held = parts[k], inertias[k], carried[k]
        N = noises[k] + part.rounded
        N = N if N.ndim >= M.ndim else np.broadcast_to(N, M.shape).copy()
        N.reshape(*N.shape[:-2], -1)[..., :: len(N.T) + 1] += np.abs(_diagonal(M))
        for j in reversed(range(part.v.stop - part.v.start)):
            at, e = part.v.start + j, 6 + j
            pivot, holding[..., at] = M[..., e, e], held[..., 2 + j]
            if imposed[at]:
                continue
            moves, pivots[..., at] = pivot > 0.0, pivot
            ratio, response = pivot / np.maximum(N[..., e, e], pivot), M[..., e, :] / pivot[..., None]
            if not moves.all():
                ratio, response = np.where(moves, ratio, 0.0), np.where(moves[..., None], response, 0.0)
            ratios[..., at] = ratio
            responses[k][..., j, :e] = -response[..., :e]
            M = M - M[..., e, None] * response[..., None, :]
            N = N - response[..., None] * N[..., e, None, :]
            N = N - N[..., e, None] * response[..., None, :]
        if part.parent:
            B, back = part.transport, part.transport.swapaxes(-1, -2)
            inertias[part.parent] = inertias[part.parent] + back @ M[..., :6, :6] @ B
            noises[part.parent] = noises[part.parent] + back @ N[..., :6, :6] @ B
            carried[part.parent] = carried[part.parent] + _carry(held, B)
    return Elimination(pivots, ratios, holding, responses)


def _mobilities(parts: Sequence[EliminatedPart], found: Elimination, imposed: Array) -> Array:
    """Return the accelerations (nv) of coordinates by units of their own efforts, all others free: the diagonal of ``M^-1``.

    Computed from the world to the leaves as variances of accelerations. If the efforts have the mass matrix as covariance, each
    coordinate's acceleration follows from its part's motion, plus an independent term whose variance is one over its pivot.
    """
    variances = np.where((found.ratios > 0.0) & ~imposed, 1.0 / found.pivots, 0.0)
    rows, mobilities = found.ratios.shape[:-1], np.zeros(found.ratios.shape)
    covariances = [np.zeros((*rows, *part.inertia.shape[-2:])) for part in parts]
    for part, response, C in zip(parts[1:], found.responses[1:], covariances[1:], strict=True):
        C[..., :6, :6] = part.transport @ covariances[part.parent] @ part.transport.swapaxes(-1, -2)
        for e in range(6, C.shape[-1]):
            row = response[..., e - 6, :e]
            C[..., e, :e] = C[..., :e, e] = (row[..., None, :] @ C[..., :e, :e])[..., 0, :]
            along = (row * C[..., :e, e]).sum(axis=-1)
            C[..., e, e] = variances[..., part.v.start + e - 6] + np.maximum(along, 0.0)
        mobilities[..., part.v] = _diagonal(C)[..., 6:]
    return np.where(found.ratios > 0.0, mobilities, np.inf)


def _held(part: EliminatedPart) -> Array:
    """Return the mass of a part summed over the axes, its inertia likewise, and its inertia along each coordinate."""
    diagonal = np.abs(_diagonal(part.inertia)) + _diagonal(part.rounded)
    sums = diagonal[..., :6].reshape(*diagonal.shape[:-1], 2, 3).sum(axis=-1)
    return np.concatenate([sums, diagonal[..., 6:]], axis=-1)


def _diagonal(matrix: Array) -> Array:
    return np.diagonal(matrix, axis1=-2, axis2=-1)


def _carry(held: Array, B: Array) -> Array:
    mass, inertia, rows = held[..., :1], held[..., 1:2], np.broadcast_shapes(held.shape[:-1], B.shape[:-2])
    carried = np.empty((*rows, B.shape[-1] - 4))
    squares = (B * B).reshape(*B.shape[:-2], 2, 3, -1).sum(axis=-2)
    linear, angular = squares[..., 0, :], squares[..., 1, :]
    carried[..., :1] = mass
    carried[..., 1:2] = inertia + mass * linear[..., 3:6].sum(axis=-1, keepdims=True) / 2
    carried[..., 2:] = linear[..., 6:] * mass + angular[..., 6:] * inertia
    return carried
