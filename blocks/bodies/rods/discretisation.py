"""A rod as the numbers from which its law is computed. Places along it are in parts of the length.

Points are Gauss points of every smooth stretch, and the ends of these. Between neighbouring points, a distance h apart, the
strain ``xi = xi* + Phi q`` is taken at two places, and the pose changes by the exponential of (Zanna, SIAM Journal on Numerical
Analysis 36(4), 1999)::

    Omega = h (xi_1 + xi_2) / 2 + sqrt(3) h^2 [xi_1, xi_2] / 12

which errs by ``h^5``. A port is reached by one more such step from the point before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, RANK, SAME
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.rods.section import Section
from titop.blocks.bodies.rods.section_shapes import SectionMoments
from titop.blocks.bodies.rods.strains import COMPONENTS, LINEAR_FIRST, StrainBasis, reference_along
from titop.blocks.bodies.water.immersion import LineWater, Water, diagonals, water_numbers

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
    """Report bases whose functions depend on each other, everywhere or at `count` Gauss points of a stretch."""
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


#: Where the strain is taken between two points, in parts of their distance.
COLLOCATION = 0.5 + np.sqrt(3.0) / 6.0 * np.array([-1.0, 1.0])


class RodMaterial(NamedTuple):
    """Young's modulus and shear modulus (Pa), density (kg/m^3) and viscosity (Pa s) of a rod."""

    young: Any
    shear: Any
    density: Any
    viscosity: Any


class RodNumbers(NamedTuple):
    """The numbers (k, SI units) of a rod with m intervals between points, p ports and n coordinates."""

    components: Array  #: (n): which component of the strain ``[k; s]`` each coordinate moves.
    fractions: Array  #: (m + 1): places of the points, in parts of the length.
    before: Array  #: (p): the point from which each port is reached.
    steps: Array  #: (m + p; m): lengths of the intervals, then of the steps to the ports.
    reference: Array  #: (m + p, 2, 6): the reference strain ``[k; s]`` (rad/m and no unit) at the two places of every step.
    shapes: Array  #: (m + p, 2, n; 1/m): what a unit of each coordinate adds to its component there.
    inertia: Array  #: (m + 1, 4): of every point: mass (kg), and moments of inertia about x, y and z (kg m^2)
    stiffness: Array  #: (n, n): N m or N a unit of each coordinate.
    damping: Array  #: (n, n): the same by seconds.
    water: Water | None = None  #: What a fluid does at every point, if the rod is in one.


class RodLayout(NamedTuple):
    """Where the points and ports of a rod are, in parts of its length; nothing here depends on its parameters.

    At `cuts` stretches end that are smooth otherwise.
    """

    bases: Mapping[str, StrainBasis]
    points: int
    ports: Sequence[float]
    given_length: float
    cuts: Sequence[float] = ()


def rod_numbers(
    layout: RodLayout, length: Any, section: Section, material: RodMaterial, reference: Any, around: LineWater | None = None
) -> RodNumbers:
    """Return the numbers of a rod's law in the fluid around it; complex parameters make them complex.

    The reference strain is ``[k; s]``, or a function of X.
    """
    breaks = breaks_of(layout.bases.values(), layout.cuts)
    fractions, weights = rod_points(breaks, layout.points)
    ports = np.array(layout.ports, dtype=float)
    before = np.searchsorted(fractions, ports + EXACT, side="right") - 1
    starts = np.concatenate([fractions[:-1], fractions[before]])
    steps = np.concatenate(
        [np.diff(fractions), np.where(np.abs(ports - fractions[before]) <= EXACT, 0.0, ports - fractions[before])]
    )
    places = (starts[:, None] + COLLOCATION * steps[:, None]).ravel()
    components = np.repeat([COMPONENTS.index(name) for name in layout.bases], [basis.count for basis in layout.bases.values()])
    poisson = material.young / (2.0 * material.shear) - 1.0
    moments = section.moments(fractions, layout.given_length, poisson)
    fine, fine_weights = fine_points(breaks, layout.points)
    fine_moments = section.moments(fine, layout.given_length, poisson)
    shapes = _shapes(layout, fine) / length
    weighted = fine_weights * length

    def gram(along: Array) -> Array:
        same = components[:, None] == components
        return same * (shapes.T @ (weighted[:, None] * along[components].T * shapes))

    return RodNumbers(
        components,
        fractions,
        before,
        steps * length,
        reference_along(reference, places, layout.given_length).reshape(-1, 2, 6),
        _shapes(layout, places).reshape(len(steps), 2, -1) / length,
        _inertia(moments, weights * length * material.density),
        gram(rigidities(fine_moments, material.young, material.shear)),
        gram(rigidities(fine_moments, 3.0 * material.viscosity, material.viscosity)),
        around
        and around.at(
            section.reach(fractions, layout.given_length), moments.area, fractions, weights * length, layout.given_length
        ),
    )


def pack(numbers: RodNumbers, mountings: Sequence[Pose]) -> Array:
    """Return the numbers in one row (see `Rod.law_numbers`), with the pose of each port in the frame at the end of its step."""
    intervals, count = len(numbers.fractions) - 1, len(numbers.steps)
    steps = np.column_stack([numbers.steps, numbers.reference.reshape(count, -1), numbers.shapes.reshape(count, -1)])
    parts: list[Any] = [numbers.components, steps[:intervals], numbers.inertia, numbers.stiffness, numbers.damping]
    for k, pose in enumerate(mountings):
        parts += [numbers.before[k], steps[intervals + k], pose.rotation, pose.position]
    row, water = np.concatenate([np.ravel(part) for part in parts]), numbers.water
    if water is None:
        return np.concatenate([[intervals, 0.0, 0.0], row])
    whole = water.added + diagonals([*numbers.inertia[:, [0, 0, 0, 1, 2, 3]].T]) if water.moves_along else np.zeros(0)
    end = 3 + len(row)
    head = [intervals, end if water.moves_along else 0, end + whole.size]
    return np.concatenate([head, row, whole.ravel(), water_numbers(water)])


def pack_to_places(numbers: RodNumbers) -> tuple[Array, int, Array]:
    """Return, of numbers with steps to some places, where these are reached, how many steps lead there, and all in one row.

    Where a place is a point of the rod it is reached by no step of its own, and is the point's number; others have those behind
    the points'. The steps' ends stand for ports. What a fluid does is left out.
    """
    points = len(numbers.fractions)
    places, between = numbers.before.astype(float), np.flatnonzero(numbers.steps[points - 1 :])
    places[between] = points + np.arange(len(between))
    kept = np.concatenate([np.arange(points - 1), points - 1 + between])
    left = numbers._replace(
        before=numbers.before[between],
        steps=numbers.steps[kept],
        reference=numbers.reference[kept],
        shapes=numbers.shapes[kept],
        water=None,
    )
    return places, len(between), pack(left, [Pose()] * len(between))


def _shapes(layout: RodLayout, fractions: Array) -> Array:
    """Return the values (k, n) of all functions, of every component, at places along a rod."""
    return np.hstack([basis.values(fractions, layout.given_length) for basis in layout.bases.values()])


def _inertia(moments: SectionMoments, weights: Array) -> Array:
    """Return mass and moments of inertia (k, 4) of sections; no weight means none, whatever the section."""
    return (weights * np.array([moments.area, moments.iy + moments.iz, moments.iy, moments.iz])).T


def rigidities(moments: SectionMoments, young: Any, shear: Any) -> Array:
    """Return the rigidities (6, k; N m^2 and N) of sections against the components ``[k; s]``."""
    axial = [young * moments.iy, young * moments.iz, young * moments.area]
    return np.array([shear * moments.torsion_constant, *axial, *(shear * moments.area * moments.shear_factors)])


def as_twists(strains: Array) -> Array:
    """Return strains (..., 6) ``[k; s]`` as twists a unit of length, linear first."""
    return strains[..., LINEAR_FIRST]
