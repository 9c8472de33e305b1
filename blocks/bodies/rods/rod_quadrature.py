"""Points along a rod, and whether they are enough for its strains. Places are in parts of the length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial.legendre import leggauss

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import RANK, SAME
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.rods.strain_basis import StrainBasis

#: Gauss points of a stretch that integrate stiffness: exactly for polynomials of degree 63.
_FINE = 32
#: Most points of a stretch.
MAX_POINTS = 100


def breaks_of(bases: Iterable[StrainBasis], cuts: Iterable[float] = ()) -> list[float]:
    """Return where the stretches between cuts, and jumps and kinks of bases, begin and end, from 0 to 1."""
    places = [0.0]
    for place in sorted({*cuts, *(place for basis in bases for place in basis.breaks)}):
        if place - places[-1] > SAME and 1.0 - place > SAME:
            places.append(place)
    return [*places, 1.0]


def gauss_points(breaks: list[float], count: int) -> tuple[Array, Array]:
    """Return the Gauss points and weights of all stretches, `count` for each."""
    roots, weights = _gauss(count)
    parts = [(start + (stop - start) * roots, (stop - start) * weights) for start, stop in pairwise(breaks)]
    return np.concatenate([places for places, _ in parts]), np.concatenate([weights for _, weights in parts])


def rod_points(breaks: list[float], count: int) -> tuple[Array, Array]:
    """Return the points of a rod and their weights: Gauss points, and with no weight both ends of every stretch."""
    places, weights = gauss_points(breaks, count)
    rows = np.arange(len(breaks)) * count
    return np.insert(places, rows, breaks), np.insert(weights, rows, 0.0)


def fine_points(breaks: list[float], count: int) -> tuple[Array, Array]:
    """Return points and weights that integrate stiffness, for rods of `count` Gauss points a stretch."""
    return gauss_points(breaks, max(_FINE, count + 4))


def check_points(reader: FieldReader, bases: Mapping[str, StrainBasis], count: int, length: float) -> None:
    """Report bases whose functions depend on each other, everywhere or at the points.

    Parameters
    ----------
    reader : FieldReader
    bases : mapping of component to StrainBasis
    count : int
        Gauss points of a stretch.
    length : float, m
    """
    breaks = breaks_of(bases.values())
    for name, basis in bases.items():
        try:
            if _is_independent(basis, breaks, count, length):
                continue
            solvable = _is_independent(basis, breaks, MAX_POINTS, length)
        except ModelError as error:
            where = f"{reader.owner}.strains.{name}"
            reader.findings += [replace(finding, where=where) for finding in error.findings]
            continue
        if not solvable:
            advice = "leave out those that the others make up, or widen them apart"
            reader.report("singular-basis", f"strains.{name}", basis, "functions that do not depend on each other", advice)
            continue
        enough = next(more for more in range(count + 1, MAX_POINTS + 1) if _is_independent(basis, breaks, more, length))
        what = f"{enough} for the {basis.count} functions of {name}"
        reader.report("too-few-points", "points", count, f"at least {what}", f"write points={enough}")


def _is_independent(basis: StrainBasis, breaks: list[float], count: int, length: float) -> bool:
    places, weights = gauss_points(breaks, count)
    values = basis.values(places, length) * np.sqrt(weights)[:, None]
    sizes = np.sqrt((values**2).sum(0))
    if len(values) < basis.count or not (sizes > 0).all():
        return False
    singular = np.linalg.svd(values / sizes, compute_uv=False)
    return decided_rank(singular, RANK * singular[0]) == len(singular)


@lru_cache(maxsize=MAX_POINTS)
def _gauss(count: int) -> tuple[Array, Array]:
    """Return Gauss points and weights between 0 and 1."""
    roots, weights = leggauss(count)
    return (1.0 + roots) / 2.0, weights / 2.0
