"""The course of a line in the sections of rods in series, and its length, which depends on the rods' strains alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import DIFFERENCE_STEP, NEGLIGIBLE, SAME
from titop.blocks.basics.user_functions import sampled
from titop.blocks.bodies.rods.discretisation import MAX_POINTS, breaks_of, gauss_points
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.rods.section import Dimension, along
from titop.blocks.bodies.rods.strains import COMPONENTS, reference_along
from titop.blocks.interactions.line import Measure

#: Offsets in steps of differences of sixth order, and their weights; the step as a fraction of a rod's length.
_STENCIL, _STEP = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)), 0.3 * DIFFERENCE_STEP

#: Number of points that kernels evaluate together.
_GROUP = 4

#: Number of places on each rod for checks of the line.
_PLACES = 33


class Routing(NamedTuple):
    """The course of a line through rods in series."""

    #: In the sections: m, or fractions of the sections' half widths if `relative`. Two numbers are those at `start` and `end`.
    y: Dimension
    z: Dimension
    relative: bool
    #: Abscissas (m), counted through all rods at their original lengths.
    start: float
    end: float
    points: int  #: Gauss points per smooth stretch of a rod.
    seams: Array  #: Abscissas of all rods' ends (2, rods + 1; m): at their original lengths, and at the current ones.

    def dimension(self, name: str, dimension: Dimension, abscissas: Array) -> Array:
        """Return a number, taper or function of X at abscissas (k, m)."""
        if callable(dimension):
            return sampled(name, dimension, abscissas, 1.0, ())
        places, (start, end) = (np.interp(X, self.seams[0].real, self.seams[1]) for X in (abscissas, (self.start, self.end)))
        return along(name, dimension, (places - start) / (end - start), 1.0)

    def places(self, rod: Rod, first: float, fractions: Array) -> Array:
        """Return y and z (2, k; m) at `fractions` of the length of a rod whose base is at the abscissa `first` (m)."""
        abscissas = first + rod.given_length * fractions
        offsets = np.array([self.dimension("y", self.y, abscissas), self.dimension("z", self.z, abscissas)])
        return offsets * rod.section.reach(fractions, rod.given_length) if self.relative else offsets

    def range_on(self, rod: Rod, first: float) -> tuple[float, float]:
        """Return where the line begins and ends on a rod, as fractions of its length; equal if it does not reach it."""
        start, stop = (min(max((end - first) / rod.given_length, 0.0), 1.0) for end in (self.start, self.end))
        return start, stop

    def slopes(self, rod: Rod, first: float, fractions: Array) -> Array:
        """Return the derivatives (2, k; m) of `places` by `fractions`, by differences that stay on the rod."""
        step = np.minimum(_STEP, np.minimum(fractions, 1.0 - fractions) / 3.0)
        ahead, behind = ([self.places(rod, first, fractions + side * k * step) for k, _ in _STENCIL] for side in (1, -1))
        total = sum(weight * (one - two) for (_, weight), one, two in zip(_STENCIL, ahead, behind, strict=True))
        return np.asarray(total / step)


class RodPart(NamedTuple):
    """A line's points on one rod, at which ``dr/dX = straight + onto q`` in the section's frame."""

    weights: Array  #: Of the quadrature (k, m), times the line's `content` per unit length.
    course: Array  #: y and z (m), and their derivatives by X (k, 4).
    reference: Array  #: The rod's reference strain ``[k; s]`` (k, 6; rad/m and no unit).
    #: Derivative of each coordinate's component of the strain by the coordinate (k, n; 1/m).
    shapes: Array
    components: Array

    @property
    def carried(self) -> Array:
        """Derivative of the direction by the strain (k, 3, 6): of ``s + k x d``."""
        y, z = self.course[:, 0], self.course[:, 1]
        matrix = np.zeros((len(y), 3, 6), self.course.dtype)
        matrix[:, 0, 1], matrix[:, 0, 2], matrix[:, 1, 0], matrix[:, 2, 0] = z, -y, -z, y
        matrix[:, [0, 1, 2], [3, 4, 5]] = 1.0
        return matrix

    @property
    def onto(self) -> Array:
        """Derivative of the direction by the coordinates (k, 3, n)."""
        return self.carried[:, :, self.components] * self.shapes[:, None, :]

    @property
    def straight(self) -> Array:
        """The direction (k, 3) at zero coordinates."""
        straight = (self.carried @ self.reference[:, :, None])[..., 0]
        straight[:, 1:] += self.course[:, 2:]
        return straight

    @property
    def sizes(self) -> Array:
        """The numbers of coordinates and of `groups`, and the first and last coordinate of each strain component (6 x 2)."""
        runs = [
            (int(columns.min()), int(columns.max()) + 1) if len(columns := np.flatnonzero(self.components == k)) else (0, 0)
            for k in range(len(COMPONENTS))
        ]
        return np.array([len(self.components), len(self.groups), *np.ravel(runs)])

    @property
    def groups(self) -> Array:
        """Weights, directions at rest, y and z and shapes of four points at a time (groups, 6 + n, 4).

        The last group is padded with points of zero weight.
        """
        columns = np.column_stack([self.weights, self.straight, self.course[:, :2], self.shapes])
        missing = np.zeros((-len(columns) % _GROUP, columns.shape[1]))
        missing[:, 1] = 1.0  # a direction
        return np.vstack([columns, missing]).reshape(-1, _GROUP, columns.shape[1]).transpose(0, 2, 1)


def rod_parts(rods: Sequence[Rod], routing: Routing, content: Dimension) -> list[RodPart]:
    """Return a line's points on every rod, none on rods that it does not reach.

    Its `content` is the integrand along it: 1, or the area of a chamber (m^2).
    """
    parts, first = [], 0.0
    for rod in rods:
        start, stop = routing.range_on(rod, first)
        fractions, weights = np.zeros(0), np.zeros(0)
        if stop > start:
            inner = [place for place in breaks_of(rod.strains.values()) if start < place < stop]
            fractions, weights = gauss_points([start, *inner, stop], routing.points)
        slopes = routing.slopes(rod, first, fractions) / rod.length
        shapes = [basis.values(fractions, rod.given_length) for basis in rod.strains.values()]
        components = [COMPONENTS.index(name) for name, basis in rod.strains.items() for _ in range(basis.count)]
        counts = routing.dimension("area", content, first + rod.given_length * fractions)
        parts.append(
            RodPart(
                weights * rod.length * counts,
                np.vstack([routing.places(rod, first, fractions), slopes]).T,
                reference_along(rod.reference_strain, fractions, rod.given_length),
                np.hstack(shapes) / rod.length,
                np.array(components, dtype=int),
            )
        )
        first += rod.given_length
    return parts


class Path(Measure):
    """The length, or volume, of a line through rods, with derivatives by the coordinates of all rods in series."""

    def __init__(self, parts: list[RodPart]) -> None:
        #: Points by rod.
        self.parts = parts
        self._affine = [(part.straight, part.onto) for part in parts]
        self._flattened = [onto.reshape(-1, onto.shape[-1]) for _, onto in self._affine]
        stops = np.cumsum([0, *(len(part.components) for part in parts)])
        self._slices = [slice(start, stop) for start, stop in pairwise(stops)]
        self.size = int(stops[-1])

    @cached_property
    def numbers(self) -> Array:
        """Sizes and groups of all parts, as kernels read them."""
        return np.concatenate([np.zeros(0), *(row for part in self.parts for row in (part.sizes, part.groups.ravel()))])

    def measured(self, q: Array) -> tuple[Any, Array]:
        measure, slopes = np.zeros(q.shape[:-1])[()], [np.zeros((*q.shape[:-1], 0))]
        for (units, sizes), part, onto in zip(self._directions(q), self.parts, self._flattened, strict=True):
            measure = measure + (sizes[..., None, :] @ part.weights)[..., 0]
            weighted = part.weights[:, None] * units
            slopes.append((weighted.reshape(*weighted.shape[:-2], 1, len(onto)) @ onto)[..., 0, :])
        return measure, np.concatenate(slopes, axis=-1)

    def hessian(self, q: Array) -> Array:
        """Return the second derivatives (n, n) of the measure at a configuration."""
        result = np.zeros((self.size, self.size), q.dtype)
        for (units, sizes), part, (_, onto), columns in zip(
            self._directions(q), self.parts, self._affine, self._slices, strict=True
        ):
            across = onto - units[:, :, None] * np.einsum("pi,pin->pn", units, onto)[:, None, :]
            result[columns, columns] = np.einsum("p,pin,pim->nm", part.weights / sizes, across, onto)
        return result

    def _directions(self, q: Array) -> list[tuple[Array, Array]]:
        """Return for every rod the unit directions (..., k, 3) at the points, and ``|dr/dX|`` (..., k)."""
        directions = []
        for (straight, _), onto, columns in zip(self._affine, self._flattened, self._slices, strict=True):
            course = straight + (q[..., None, columns] @ onto.T).reshape(*q.shape[:-1], *straight.shape)
            sizes = np.sqrt((course * course).sum(-1))
            directions.append((course / sizes[..., None], sizes))
        return directions


# -- checks --------------------------------------------------------------------------------------------------------------------


def routing_findings(
    name: str, rods: Sequence[Rod], routing: Routing, path_with: Callable[[int], Path], needs_lever: bool
) -> Iterator[Finding]:
    """Yield what is suspicious: lines outside the sections, lines that do nothing, too few points.

    `path_with` returns the line with a number of points. If it needs a lever it should not only shorten the rods.
    """
    X, places, reach, parts = _sampled_course(rods, routing)
    size, distance = reach.max(), np.hypot(*places)
    worst = int(parts.argmax())
    if parts[worst] > 1.0 + SAME:
        observed = f"y = {places[0, worst]:.4g} m, z = {places[1, worst]:.4g} m at X = {X[worst]:.4g} m"
        expected = f"a place in the section, which reaches {reach[0, worst]:.4g} m and {reach[1, worst]:.4g} m"
        advice = "check y, z and their unit, or write relative=True for parts of the half widths"
        yield Finding("outside-the-section", name, observed, expected, advice)
    rest = np.zeros(sum(rod.nv for rod in rods))
    gradient, dense = path_with(routing.points).gradient(rest), path_with(MAX_POINTS).gradient(rest)
    if needs_lever and distance.max() <= SAME * size:
        advice = "move it off the axis by y or z: along the axis it can only shorten"
        yield Finding("no-lever", name, "a line along the axis", "a distance from the axis", advice)
    elif np.abs(dense).max() <= SAME * np.abs(path_with(routing.points).measure(rest)):
        advice = "check y and z against the rod's free strains: bending_z wants y, bending_y wants z"
        yield Finding("no-lever", name, "no effect on any coordinate at rest", "a line that moves the rod", advice)
    elif np.abs(gradient - dense).max() > NEGLIGIBLE * np.abs(dense).max():
        error = NEGLIGIBLE * np.abs(dense).max()
        counts = range(routing.points + 1, MAX_POINTS)
        fine = (count for count in counts if np.abs(path_with(count).gradient(rest) - dense).max() <= error)
        enough = next(fine, MAX_POINTS)
        expected = f"{enough} points or more, which this routing needs for errors below {NEGLIGIBLE:.1%}"
        yield Finding("coarse-routing", f"{name}.points", routing.points, expected, f"write points={enough}")


def _sampled_course(rods: Sequence[Rod], routing: Routing) -> tuple[Array, Array, Array, Array]:
    """Return abscissas (k, m), y and z there, the sections' half widths (2, k each; m), and their ratio."""
    rows, first = [], 0.0
    for rod in rods:
        start, stop = routing.range_on(rod, first)
        if stop > start:
            fractions = start + (stop - start) * np.linspace(SAME, 1.0 - SAME, _PLACES)
            places = np.real(routing.places(rod, first, fractions))
            reach = np.real(rod.section.reach(fractions, rod.given_length))
            across = places / np.where(reach == 0.0, 1.0, reach)
            parts = np.abs(across).max(0) if rod.section.shape == "rectangle" else np.hypot(*across)
            rows.append(np.vstack([first + rod.given_length * fractions, places, reach, parts]))
        first += rod.given_length
    X, y, z, along_y, along_z, parts = np.hstack(rows)
    return X, np.array([y, z]), np.array([along_y, along_z]), parts
