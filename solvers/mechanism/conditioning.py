"""How much inertia elimination leaves to each coordinate, and what rounding does to it.

A pivot is what is left of a coordinate's inertia when all that it carries moves freely. It is a difference of larger numbers,
each rounded. What rounding may do to the inertia ``M A`` of a subtree is a sum of squares ``A^T N A``, in units of rounding:
at every joint on the way the diagonal of the inertia before its elimination, seen through the motion that is left free there.
The ratio of a pivot to the same coordinate's entry of N has no unit, and is at most one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array

#: A pivot below this part of what it is computed from is rounding: the coordinate moves no inertia.
NO_INERTIA = 1e-14

#: Estimated errors of a coordinate's inertia above this are worth a warning: other engines are met to 1e-10.
_MUCH = 1e-10

#: Six entries of a row are each rounded a few times on the way to the parent.
_ROUNDING = 32.0 * float(np.finfo(float).eps)


class Conditioning(NamedTuple):
    """What rounding does to forward dynamics at a configuration.

    Attributes
    ----------
    ratios : (nv,) array
        Of each coordinate's inertia, all that it carries moving freely, to the numbers without signs that it is computed from:
        0.1 to 1 in ordinary robots, 1e-16 where nothing is left but rounding. No unit, whatever the coordinates.
    error : float
        Estimate of the relative error of accelerations; infinite where a coordinate moves no inertia.
    coordinate : str
        The coordinate of the smallest ratio.
    """

    ratios: Array
    error: float
    coordinate: str


class Pivots(NamedTuple):
    """The pivots of all coordinates (nv each, no unit).

    Attributes
    ----------
    ratios : array
        To what they are computed from; zero where there is none.
    shares : array
        To what the coordinates carry with all other joints held, as the kernels bound it.
    """

    ratios: Array
    shares: Array


class Part(NamedTuple):
    """A block, joint or element, as elimination meets it.

    Attributes
    ----------
    parent : int
        Its parent's place in the sequence.
    v : slice
        Where its n coordinates stand.
    inertia : (6 + n, 6 + n) array
        Its own, at its parent port.
    rounded : (6 + n, 6 + n) array
        The squares that rounding has added to the inertia itself, beside its diagonal.
    transport : (6, 6 + m) array
        From the motion of its parent, which has m coordinates, to its own.
    """

    parent: int
    v: slice
    inertia: Array
    rounded: Array
    transport: Array


def conditioning(pivots: Pivots, names: Sequence[str]) -> Conditioning:
    """Return what the pivots say of the coordinates of these names."""
    if not names:
        return Conditioning(pivots.ratios, 0.0, "")
    worst = int(np.argmin(pivots.ratios))
    with np.errstate(divide="ignore", over="ignore"):
        error = float(_ROUNDING * (1.0 / np.maximum(pivots.ratios, 0.0)).sum())
    return Conditioning(pivots.ratios, error, names[worst])


def conditioning_findings(found: Sequence[Conditioning], own: Collection[str] = ()) -> list[Finding]:
    """Return a warning if elimination loses much at one of some configurations where every coordinate moves inertia.

    Parameters
    ----------
    found : sequence of Conditioning
    own : collection of str
        Coordinates that are bodies' own.
    """
    usable = [each for each in found if np.isfinite(each.error)]
    worst = min(usable, key=lambda each: each.ratios.min(initial=1.0), default=None)
    error = 0.0 if worst is None else _ROUNDING / worst.ratios.min(initial=1.0)
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


@np.errstate(all="ignore")  # numbers out of range have no pivots
def find_pivots(parts: Sequence[Part], imposed: Array) -> Pivots:
    """Return the pivots of the free coordinates; imposed ones have the ratio 1.

    Parameters
    ----------
    parts : sequence of Part
        Parents first; the first is the world.
    imposed : (nv,) array of bool
    """
    ratios, shares = np.ones(len(imposed)), np.ones(len(imposed))
    inertias = [part.inertia.copy() for part in parts]
    noises = [np.zeros(matrix.shape) for matrix in inertias]
    carried = [_held(part) for part in parts]
    for k in range(len(parts) - 1, 0, -1):
        part, M, held = parts[k], inertias[k], carried[k]
        N = noises[k] + part.rounded
        N[np.diag_indices(len(N))] += np.abs(M.diagonal())
        for j in reversed(range(part.v.stop - part.v.start)):
            at, e = part.v.start + j, 6 + j
            pivot = M[e, e]
            if imposed[at]:
                continue
            if not pivot > 0.0:
                ratios[at] = shares[at] = 0.0
                continue
            ratios[at], shares[at] = pivot / max(N[e, e], pivot), pivot / held[2 + j]
            response = M[e] / pivot
            M = M - M[:, e, None] * response
            N = N - response[:, None] * N[e]
            N = N - N[:, e, None] * response
        if part.parent:
            B = part.transport
            inertias[part.parent] += B.T @ M[:6, :6] @ B
            noises[part.parent] += B.T @ N[:6, :6] @ B
            carried[part.parent] += _carry(held, B)
    return Pivots(ratios, shares)


def _held(part: Part) -> Array:
    """Return mass and inertia of a part along and about all axes, and what it has along each coordinate."""
    own = np.abs(part.inertia.diagonal()) + part.rounded.diagonal()
    return np.concatenate([own[:6].reshape(2, 3).sum(axis=1), own[6:]])


def _carry(held: Array, B: Array) -> Array:
    """Return what a subtree's mass and inertia about all axes are to the part that carries it, and to its coordinates."""
    mass, turning = held[:2]
    moving, turned = (B * B).reshape(2, 3, -1).sum(axis=1)
    return np.concatenate([[mass, turning + mass * moving[3:6].sum() / 2], moving[6:] * mass + turned[6:] * turning])
