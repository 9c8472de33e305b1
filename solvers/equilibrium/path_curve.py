"""The curve of equilibria that unknowns and a load factor make: its equations, its tangent, and the next point on it.

A step goes along the tangent and back to the curve at right angles to it (Keller 1977, pseudo-arclength), so that it passes
points at which the load factor turns round. Lengths are those of `Unknowns`, the load factor as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.effort_balance import Balance
from titop.solvers.equilibrium.equations import Motion, equation_derivatives, equations, excess
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.refusals import refuse_passing, refuse_residual
from titop.solvers.equilibrium.root_search import Course, least_step, newton
from titop.solvers.equilibrium.sizes import sizes_of
from titop.solvers.equilibrium.unknowns import Unknown, Unknowns
from titop.solvers.signals.quantities import Kind

#: What the cosine of the angle between the tangents at both ends of a step is at least.
_STRAIGHT = 0.9

#: Newton steps back to the curve.
_ITERATIONS = 12


class Station(NamedTuple):
    """An equilibrium on the curve.

    Attributes
    ----------
    y : (n,) array
        Load factor, unknowns, and multipliers where loops are closed.
    tangent : (n,) array
        Of length one without multipliers, the way the curve is followed.
    point : OperatingPoint
    """

    y: Array
    tangent: Array
    point: OperatingPoint


class Curve:
    """Equilibria over a load factor.

    Parameters
    ----------
    start : OperatingPoint
        The equilibrium at a load factor of zero.
    names : sequence of str
        What the load factor changes.
    unknowns : sequence of str or Unknown
        What is searched for.
    changes : (m,) array
        By how much the first change while the factor goes from zero to one, in their own units.
    tolerance : float
        As in `trim`.
    axes : (nq,) array, optional
        The configuration along whose axes positions of free joints are those; the start by default.
    """

    def __init__(
        self,
        start: OperatingPoint,
        names: Sequence[str],
        unknowns: Sequence[str | Unknown],
        changes: Array,
        tolerance: float,
        axes: Array | None = None,
    ) -> None:
        loaded = Unknowns(start, names)
        sizes = sizes_of(loaded.valued(loaded.values() + changes))
        self._unknowns, self._tolerance = Unknowns(start, [*names, *unknowns], sizes, axes), tolerance
        self._moving = bool(start.v.any()) or bool(self._unknowns.select(Kind.RATE)[0])
        self._equations = Motion(self._unknowns, self._moving) if self._moving else Balance(self._unknowns)
        count, loads, held = len(self._unknowns.entries), len(names), self._equations.held
        #: From y to the unknowns and multipliers of the equations.
        self._spread = np.zeros((count + held, 1 + count - loads + held))
        self._spread[:loads, 0] = changes / self._unknowns.scales[:loads]
        self._spread[loads:, 1:] = np.eye(count - loads + held)
        #: What counts as length.
        self._measured = np.repeat([1.0, 0.0], [1 + count - loads, held])
        self._turns = np.zeros(len(self._measured))
        self._turns[1 : 1 + count - loads] = [self._turn(k) for k in range(loads, count)]
        self._free = np.full((2, len(self._measured)), [[-np.inf], [np.inf]])

    def _turn(self, k: int) -> float:
        """Return what a whole turn is of an unknown; zero of those that do not turn."""
        model, entry = self._unknowns.guess.model, self._unknowns.entries[k]
        plain = entry.kind == Kind.POSITION and model.has_plain_coordinates(entry.number)
        turns = plain and model.assembly.coordinate_units[entry.number] == "rad"
        return 2 * np.pi / self._unknowns.scales[k] if turns else 0.0

    def begin(self) -> Station:
        """Return the start, the load growing.

        Raises
        ------
        ConvergenceError
            If it is no equilibrium.
        """
        growing, start = np.eye(len(self._measured))[0], np.zeros(len(self._measured))
        count = len(self._unknowns.entries)
        start[len(start) - self._equations.held :] = self._equations.begin(np.zeros(count))[count:]
        station = self.across(start, growing, growing)
        station.y[0] = 0.0  # but for rounding it is
        return station

    def residual(self, y: Array) -> Array:
        """Return what is left of the equations; infinite where parameters or configurations cannot be."""
        return self._equations.residual(self._spread @ y)

    def derivatives(self, y: Array) -> Array:
        """Return the derivatives of the residuals by y."""
        by_y: Array = self._equations.derivatives(self._spread @ y) @ self._spread
        return by_y

    def station(self, y: Array, towards: Array) -> Station:
        """Return the equilibrium at y, its tangent less than a right angle away from a direction.

        Raises
        ------
        ConvergenceError
            If it is none.
        """
        unknowns = self._unknowns
        x = (self._spread @ y)[: len(unknowns.entries)]
        point, by_x = unknowns.at(x), equation_derivatives(unknowns, x, self._moving)
        found = equations(point, self._moving, unknowns.sizes)
        left = excess(unknowns, x, self._moving, found.values, by_x, self._tolerance)
        anywhere = np.full((2, len(x)), [[-np.inf], [np.inf]])
        refuse_residual(point, found, left, unknowns, x, (anywhere[0], anywhere[1]))
        refuse_passing(point, by_x, self._tolerance, unknowns)
        by_y = self.derivatives(y)
        sizes = np.abs(by_y).max(axis=1, keepdims=True)
        bordered = np.vstack([by_y / np.where(sizes > 0, sizes, 1.0), self._measured * towards])
        tangent = least_step(bordered, -np.eye(len(bordered))[-1], y, (self._free[0], self._free[1]))
        return Station(y, tangent / np.linalg.norm(self._measured * tangent), point)

    def across(self, start: Array, normal: Array, towards: Array) -> Station:
        """Return the equilibrium next to `start` in the plane through it.

        Parameters
        ----------
        start, normal, towards : (n,) arrays
            Where to start, what the plane is at right angles to, and in what direction the tangent is to point.

        Raises
        ------
        ConvergenceError
            If Newton's method does not go straight to one, or a block refuses the start's parameters.
        """
        if not np.isfinite(self.residual(start)).all():
            raise ConvergenceError("a block refuses its parameters, or cannot be evaluated")
        stiffest = float(np.abs(self.derivatives(start)).max(initial=0.0))
        weight = stiffest or 1.0  # beside stiff equations that of the plane counts
        plane, course = weight * self._measured * normal, Course(strict=True)
        y = newton(
            lambda y: np.append(self.residual(y), plane @ (y - start)),
            lambda y: np.vstack([self.derivatives(y), plane]),
            start,
            (self._free[0], self._free[1]),
            self._free[1],
            _ITERATIONS,
            course,
            lengths=self._equations.lengths(len(start) - self._equations.held),
        )
        station = self.station(y, towards)
        if course.strayed:
            raise ConvergenceError("another branch is near")
        return station

    def product(self, first: Array, second: Array) -> float:
        """Return the product of two vectors, multipliers left out."""
        return float((self._measured * first) @ second)

    def distance(self, near: Station, far: Station) -> float:
        """Return the length of the straight line between two stations."""
        return float(np.linalg.norm(self._measured * (far.y - near.y)))

    def turned(self, station: Station, towards: Station) -> Station:
        """Return a station with its angles turned by whole turns, as close to another one as that brings them."""
        turns = np.divide(towards.y - station.y, self._turns, out=np.zeros(len(self._turns)), where=self._turns > 0)
        return station._replace(y=station.y + self._turns * np.round(turns))

    def along(self, station: Station, length: float) -> Station:
        """Return the equilibrium a step from a station: of some length along its tangent, then across.

        Raises
        ------
        ConvergenceError
            If there is none, or the curve bends so much that it may be another one.
        """
        reached = self.across(station.y + length * station.tangent, station.tangent, station.tangent)
        if self.product(reached.tangent, station.tangent) < _STRAIGHT:
            raise ConvergenceError("the path bends too sharply")
        return reached

    def between(self, near: Station, far: Station, part: float = 0.5) -> Station:
        """Return the equilibrium next to a place on the line between two stations, in the plane across that line.

        Parameters
        ----------
        near, far : Station
        part : float
            Of the line, from `near` on.

        Raises
        ------
        ConvergenceError
            If Newton's method does not go straight to one.
        """
        line = (far.y - near.y) / self.distance(near, far)
        return self.across(near.y + part * (far.y - near.y), line, line)

    def at_factor(self, near: Station, far: Station, factor: float) -> Station:
        """Return the equilibrium at a load factor that lies between those of two stations.

        Raises
        ------
        ConvergenceError
            If Newton's method does not go straight to one.
        """
        part = (factor - near.y[0]) / (far.y[0] - near.y[0])
        start = near.y + part * (far.y - near.y)
        start[0] = factor
        return self.across(start, np.eye(len(start))[0], near.tangent)
