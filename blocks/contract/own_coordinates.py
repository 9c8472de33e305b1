"""The own coordinates of a block: names, units of all that goes with them, and derivatives along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import REAL_STEP, complex_step, stack_columns, trusted_step
from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import imaginary_part, is_complex, real_part
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.programs.differentiation import slopes
from titop.blocks.programs.graph import Graph
from titop.blocks.programs.repetition import graph_of

#: Steps of second derivatives over those of differences, and their direction in the complex plane.
_SECOND, _DIAGONAL = 0.1, np.exp(0.25j * np.pi)


class OwnCoordinates:
    """The part of `Block` for its own coordinates: plain numbers by default.

    Notes
    -----
    Arguments of the methods: `q` the own configuration (nq); `v` and `dq` tangent vectors (n); `rng` a NumPy random generator.
    """

    coordinates: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    #: Range of each coordinate over which the block's functions are nearly linear (n, in its unit); if None, found by comparing
    #: steps.
    coordinate_scales: Sequence[float] | Array | None = None
    #: Whether derivatives may be complex steps: the block's functions accept complex arguments (`is_complex_safe` determines
    #: this when a system is checked), and its parameters are real.
    complex_safe: bool = True
    _steps: Array | None = None

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of the own coordinates."""
        return len(self.coordinates)

    @property
    def configuration_names(self) -> tuple[str, ...]:
        """Names of the numbers of the own configuration."""
        return self.coordinates

    @property
    def configuration_units(self) -> tuple[str, ...]:
        """Units of these numbers: those of the coordinates if the names are the same; otherwise "1" by default."""
        units = self.units if self.configuration_names == self.coordinates else ()
        return known_units(units, self.nq)

    @property
    def nq(self) -> int:
        """Number of numbers of the own configuration."""
        return len(self.configuration_names)

    def neutral(self) -> Array:
        """Return the configuration (nq) at which the coordinates are zero."""
        return np.zeros(self.nq)

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a random configuration (nq) within the coordinates' scales."""
        return self.integrate(self.neutral(), random_steps(self.steps, rng))

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return the configuration (nq) reached from `q` along the tangent vector `dq` (n)."""
        return q + dq

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the tangent vector (n) that leads from `q0` to `q1`."""
        return q1 - q0

    def integrate_derivatives(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """Return the derivatives of `integrate` by `q` and by `dq`: two n x n matrices between tangent vectors."""
        if not self._moves_otherwise(OwnCoordinates):
            return np.eye(self.nv), np.eye(self.nv)
        reached = self.integrate(q, dq)
        step = complex_step if self.complex_safe else trusted_step
        by_q = self.slopes(lambda x: self.difference(reached, self.integrate(x, dq)), q)
        return by_q, step(lambda x: self.difference(reached, self.integrate(q, x)), dq)

    def difference_derivatives(self, q0: Array, q1: Array) -> tuple[Array, Array]:
        """Return the derivatives of `difference` by tangent displacements of `q0` and of `q1`: two n x n matrices."""
        if not self._moves_otherwise(OwnCoordinates):
            return -np.eye(self.nv), np.eye(self.nv)
        return self.slopes(lambda x: self.difference(x, q1), q0), self.slopes(lambda x: self.difference(q0, x), q1)

    def _moves_otherwise(self, base: type) -> bool:
        """Tell whether the block overrides `integrate` or `difference` of a `base` of its class."""
        return redefines(self, "integrate", base) or redefines(self, "difference", base)

    def bracket(self, v: Array) -> Array:
        """Return the n x n matrix of the coordinates' Lie bracket: zero for plain coordinates."""
        return np.zeros((self.nv, self.nv))

    # -- derivatives along the coordinates -------------------------------------------------------------------------------

    def slopes(self, function: Callable[[Array], Any], q: Array) -> Array:
        """Return the derivatives of ``function(q)`` by each tangent direction, stacked along the last axis (n)."""
        return stack_columns([self.along(function, q, direction) for direction in np.eye(self.nv)], function, q)

    def along(self, function: Callable[[Array], Any], q: Array, direction: Array) -> Any:
        """Return the derivative of ``function(q)`` along a tangent `direction` (n).

        A complex step (Squire and Trapp, SIAM Review 40, 1998), or differences if imaginary parts are already used by an outer
        complex step.
        """
        if object in (q.dtype, direction.dtype) and (graph := graph_of(q) or graph_of(direction)):
            return np.tensordot(direction, self._recorded_slopes(graph, function, q)[1], 1)
        if self.complex_safe and not is_complex(q) and not is_complex(direction):
            return imaginary_part(np.asarray(function(self.integrate(q, 1j * COMPLEX_STEP * direction)))) / COMPLEX_STEP
        return self._by_differences(function, q, direction)

    def _by_differences(self, function: Callable[[Array], Any], q: Array, direction: Array) -> Any:
        if q.dtype == object:
            raise TypeError("derivatives by differences, through which time derivatives do not pass")
        reach = (np.abs(direction) / self.steps).max(initial=0.0)
        if not reach:
            return 0.0 * np.asarray(function(q))
        return derivative(lambda s: function(self.integrate(q, s * direction)), 1.0 / reach)

    def _with_slopes(self, function: Callable[[Array], Array], q: Array) -> tuple[Array, Array]:
        """Return ``function(q)``, and its derivatives along the coordinates stacked first."""
        if q.dtype == object and (graph := graph_of(q)):
            return self._recorded_slopes(graph, function, q)
        if self.complex_safe and not is_complex(q):  # the value is the real part of any of its complex steps
            steps = (self.integrate(q, 1j * COMPLEX_STEP * direction) for direction in np.eye(self.nv))
            stepped = np.array([np.array(function(moved)) for moved in steps])  # copied: functions may reuse their arrays
            return real_part(stepped[0]), imaginary_part(stepped) / COMPLEX_STEP
        return np.array(function(q)), np.array([self.along(function, q, direction) for direction in np.eye(self.nv)])

    def _recorded_slopes(self, graph: Graph, function: Callable[[Array], Any], q: Array) -> tuple[Array, Array]:
        """Return the same of numbers that are not known yet."""
        return slopes(function, lambda dq: self.integrate(q, dq), self.nv, graph)

    def takes_second(self, q: Array) -> bool:
        """Tell whether `second_along` is applicable: plain coordinates, and functions that accept complex numbers."""
        is_real = q.dtype != object and not is_complex(q)
        return self.nv > 0 and is_real and self.complex_safe and not self._moves_otherwise(OwnCoordinates)

    def second_along(self, function: Callable[[Array], Any], q: Array, direction: Array) -> Array:
        """Return the second derivative (own unit) of ``function(q)`` along a tangent `direction` (n); see `takes_second`.

        From two values, at complex steps of 45 degrees (after Lai and Crassidis, J. Computational and Applied Mathematics 219,
        2008): the imaginary part of their sum is ``s^2 f'' - s^6 f^(6) / 360``, and nothing cancels in it.
        """
        reach = (np.abs(direction) / self.steps).max(initial=0.0)
        if not reach:
            return 0.0 * np.array(function(q))
        s = _SECOND / reach
        ahead, behind = (np.array(function(self.integrate(q, z * direction))) for z in (s * _DIAGONAL, -s * _DIAGONAL))
        result: Array = np.imag(ahead + behind) / s**2
        return result

    def _with_second_slopes(self, function: Callable[[Array], Array], q: Array) -> tuple[Array, Array, Array]:
        """Return ``function(q)``, its derivatives along the coordinates (n, ...), and their derivatives (n, n, ...)."""
        value, first = self._with_slopes(function, q)
        steps, second = np.diag(self.steps), np.zeros((self.nv, *first.shape))
        for i, step in enumerate(steps):
            second[i, i] = self.second_along(function, q, step)
            for j, other in enumerate(steps[:i]):
                both = self.second_along(function, q, step + other)
                second[i, j] = second[j, i] = (both - second[i, i] - second[j, j]) / 2
        sizes = np.outer(self.steps, self.steps)
        return value, first, second / sizes.reshape(*sizes.shape, *[1] * (first.ndim - 1))

    @property
    def steps(self) -> Array:
        """The initial steps (n) of differences along the coordinates: a hundredth of the coordinates' scales."""
        if self._steps is None:
            scales = self.coordinate_scales
            self._steps = self._found_steps() if scales is None else REAL_STEP * np.asarray(scales, dtype=float)
        return self._steps

    def forget_steps(self) -> None:
        """Discard the steps, so that they are found again for changed parameters."""
        self._steps = None

    def take_real_steps(self, steps: Array) -> None:
        """Take derivatives by differences with the initial `steps` (n), since parameters are complex."""
        self.complex_safe, self._steps = False, steps

    def bending_parts(self) -> Callable[[Array], Sequence[Array]]:
        """Return a function of the configuration with all quantities whose derivatives are taken, for the choice of steps."""
        raise NotImplementedError

    def _found_steps(self) -> Array:
        """Return good steps for all quantities in `bending_parts`, for each coordinate alone and then with the others moved."""
        steps, moved = np.full(self.nv, REAL_STEP), np.zeros(self.nv)
        if not self.nv:
            return steps
        rest, parts_at = self.neutral(), self.bending_parts()
        for _ in range(2):
            for j, direction in enumerate(np.eye(self.nv)):
                others = moved * (direction == 0)

                def parts(s: float, direction: Array = direction, others: Array = others) -> Sequence[Array]:
                    return parts_at(self.integrate(rest, others + s * direction))

                steps[j] = settled_step(parts, steps[j]) or steps[j]
            moved = 0.3 / REAL_STEP * steps * np.resize([1.0, -1.0], self.nv)
        return steps


def redefines(value: object, name: str, base: type) -> bool:
    """Tell whether an object overrides a method of a `base` of its class."""
    return getattr(type(value), name) is not getattr(base, name) or name in vars(value)


def random_steps(steps: Array, rng: np.random.Generator) -> Array:
    """Return random displacements (n) within the scales of coordinates, given the initial `steps` (n) of differences."""
    return rng.uniform(-1.0, 1.0, len(steps)) * steps / REAL_STEP


# -- units -----------------------------------------------------------------------------------------------------------


def known_units(units: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the units of `count` numbers: `units` if there is one for each, else "1" for all."""
    return tuple(units) if len(units) == count else ("1",) * count


def rate_unit(unit: str) -> str:
    """Return the unit of the rate of a coordinate of the given unit."""
    return f"{unit}/s"


def acceleration_unit(unit: str) -> str:
    """Return the unit of the acceleration of a coordinate of the given unit."""
    return f"{unit}/s^2"


def effort_unit(unit: str) -> str:
    """Return the unit of the effort on a coordinate of the given unit: effort times coordinate is in J."""
    known = {"m": "N", "rad": "N m", "1": "J"}
    return known[unit] if unit in known else f"J/{in_brackets(unit)}"


def inertia_unit(unit: str) -> str:
    """Return the unit of the inertia of a coordinate of the given unit: inertia times squared rate is in J."""
    known = {"m": "kg", "rad": "kg m^2", "1": "J s^2"}
    return known[unit] if unit in known else f"J s^2/{in_brackets(unit)}^2"


def ratio_unit(unit: str, other: str) -> str:
    """Return the unit of a coordinate over that of another one."""
    return "1" if unit == other else f"{unit}/{in_brackets(other)}"


def in_brackets(unit: str) -> str:
    """Return a unit as a factor or denominator, in brackets if it is compound."""
    return f"({unit})" if " " in unit or "/" in unit else unit
