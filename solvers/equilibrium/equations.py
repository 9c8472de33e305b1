"""The equations of equilibria, at rest and moving.

At a relative equilibrium the accelerations vanish, ``a(q, v) = 0``, and go on doing so while the configuration moves with v:
``a_q v = 0``. Coordinates on which the accelerations do not depend may move at any rate. A closed loop stays closed:
``closure_error(q) = 0`` and ``J v = 0``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.balance import alone, parts_of
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.root_search import of_one_size
from titop.solvers.equilibrium.sizes import Sizes
from titop.solvers.equilibrium.unknown_differences import by_unknown
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.model.model import Model
from titop.solvers.signals.quantities import Kind

#: How far from a point, in coordinates' sizes, its slopes are compared with those around it.
_AROUND = 1e-4
#: What rounding leaves of springs' accelerations at rest, in parts of those a coordinate's way or size away.
_ROUNDING = 1e-13


class Equations(NamedTuple):
    """Residuals of the equilibrium's equations over what counts as one; that; what they are: ``"an opening of pin.x"``."""

    values: Array
    sizes: Array
    names: tuple[str, ...]


def equations(point: OperatingPoint, moving: bool, sizes: Sizes) -> Equations:
    """Return the residuals: accelerations, then how they change along the motion if the point moves, then closures."""
    model = point.model
    if not moving:
        values, names = [point.residual], [*model.coordinate_names]
    else:
        a, A, _ = model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.driving)
        values, names = [a], [*model.coordinate_names]
        values.append(A[model.nv :, : model.nv] @ point.v)
        names += [f"{name} while it moves" for name in model.coordinate_names]
    left = [f"an acceleration of {name}" for name in names]
    for error, what in zip(_closures(point), ("an opening of {}", "a rate of opening of {}"), strict=True):
        values.append(error)
        left += [what.format(name) for name in model.constraint_names]
    ones = equation_sizes(model, moving, sizes)
    return Equations(np.concatenate(values) / ones, ones, tuple(left))


class Motion:
    """The equations over the unknowns of a search, and their derivatives.

    Parameters
    ----------
    unknowns : Unknowns
    moving : bool
        Whether the point moves.
    bounds : (unknowns,) arrays, optional
        Of x, beyond which nothing is evaluated.
    """

    #: Multipliers among the unknowns; see `Balance`.
    held = 0

    def __init__(self, unknowns: Unknowns, moving: bool, bounds: tuple[Array, Array] | None = None) -> None:
        self.unknowns, self.moving, self._bounds = unknowns, moving, bounds

    def begin(self, x: Array) -> Array:
        """Return x: there are no multipliers."""
        return x

    def lengths(self, count: int) -> Array:
        """Return what changes of so many unknowns count: one."""
        return np.ones(count)

    def residual(self, x: Array) -> Array:
        """Return the residuals at x; infinite where parameters or configurations cannot be."""
        return _residual(self.unknowns, x, self.moving)

    def derivatives(self, x: Array) -> Array:
        """Return their derivatives by x."""
        return equation_derivatives(self.unknowns, x, self.moving, self._bounds)


def _residual(unknowns: Unknowns, x: Array, moving: bool) -> Array:
    try:
        return equations(unknowns.at(x), moving, unknowns.sizes).values
    except ModelError:
        return np.full(len(equation_sizes(unknowns.guess.model, moving, unknowns.sizes)), np.inf)


def equation_sizes(model: Model, moving: bool, sizes: Sizes) -> Array:
    """Return what counts as one for each residual."""
    parts = [sizes.accelerations, sizes.drifts] if moving else [sizes.accelerations]
    if model.is_constrained:
        openings = np.where(model.angular_constraints, 1.0, sizes.length)
        parts += [openings, openings * sizes.rate]
    return np.concatenate(parts)


def equation_derivatives(unknowns: Unknowns, x: Array, moving: bool, bounds: tuple[Array, Array] | None = None) -> Array:
    """Return the derivatives of the residuals by x: exact, but for those by parameters and along the motion."""
    point = unknowns.at(x)
    model, nv = point.model, point.model.nv
    ones = equation_sizes(model, moving, unknowns.sizes)[:, None]
    by_x = differences(unknowns, x, moving, bounds) * ones
    by_q, by_v, by_tau = point.forward_derivatives
    for kind, matrix in ((Kind.POSITION, by_q), (Kind.RATE, by_v), (Kind.EFFORT, by_tau)):
        unknowns.put(kind, matrix, x, by_x[:nv])
    if unknowns.select(Kind.INPUT)[0]:
        driven = model.actuation_matrix(point.q)
        unknowns.put(Kind.INPUT, by_tau @ (driven if point.following is None else driven + point.following.by_u), x, by_x[:nv])
    if model.is_constrained:
        closed, turning = _closure_derivatives(point)
        opening = by_x[len(by_x) - 2 * len(closed) :]
        unknowns.put(Kind.POSITION, np.vstack([closed, turning]), x, opening)
        unknowns.put(Kind.RATE, np.vstack([0.0 * closed, closed]), x, opening)
    return by_x / ones


def differences(unknowns: Unknowns, x: Array, moving: bool, bounds: tuple[Array, Array] | None = None) -> Array:
    """Return the derivatives of the residuals by x from differences of exact functions, within bounds.

    They stand for those by parameters and those along the motion (second derivatives of the dynamics); an error here slows the
    search down, and changes no equilibrium.
    """
    result = np.zeros((len(equation_sizes(unknowns.guess.model, moving, unknowns.sizes)), len(x)))
    for k, entry in enumerate(unknowns.entries):
        if entry.kind == Kind.PARAMETER or moving:
            result[:, k] = by_unknown(lambda x: _residual(unknowns, x, moving), x, k, bounds)
    return result


def excess(unknowns: Unknowns, x: Array, moving: bool, values: Array, by_x: Array, tolerance: float) -> Array:
    """Return the residuals at x in parts of what is allowed.

    Accelerations may be a tolerance of what each term would do alone and of what the size of each unknown that is no coordinate
    contributes, and what rounding leaves: no spring, however stiff, excuses what accelerates others. The other residuals may be
    a tolerance of what each unknown's own size contributes to them.

    A kink of the energy, such as that where a stretch of tendon ends in a point, has endless slopes that would excuse anything:
    no slope counts for more than those a little to both sides.

    Where next to nothing acts, all terms are rounding, and so is what they allow. Residuals are none, too, if unknowns that
    change by what rounding leaves of their sizes take them all away: then the point is the equilibrium as well as numbers tell.

    Parameters
    ----------
    unknowns : Unknowns
    x : (n,) array
    moving : bool
    values : (k,) array
        Residuals at x.
    by_x : (k, n) array
        Their derivatives by x.
    tolerance : float
    """
    point, sizes = unknowns.at(x), np.maximum(unknowns.least, np.abs(x))
    nv, moved = point.model.nv, np.array([entry.kind == Kind.POSITION for entry in unknowns.entries], dtype=bool)
    counted = np.where(moved, 0.0, sizes)

    def allowed(slopes: Array) -> Array:
        parts: Array = tolerance * (1.0 + np.abs(slopes) @ sizes)
        parts[:nv] = tolerance * np.abs(slopes[:nv]) @ counted
        return parts

    own = np.zeros(len(values))
    own[:nv] = _of_terms(point, unknowns, tolerance) / unknowns.sizes.accelerations
    result = parts_of(np.abs(values), own + allowed(by_x))
    refused = bool((result > 1.0).any())
    if refused and (_beside_root(values, by_x, sizes, tolerance) > 1.0).any():
        return result
    if not refused and (not moved.any() or (np.abs(values) <= tolerance).all()):
        return result
    around = [np.abs(equation_derivatives(unknowns, x + sign * _AROUND * moved * sizes, moving)) for sign in (1.0, -1.0)]
    slopes = np.minimum(np.abs(by_x), np.maximum(*around))
    if refused:
        return np.minimum(result, _beside_root(values, np.copysign(slopes, by_x), sizes, tolerance))
    return parts_of(np.abs(values), own + allowed(slopes))


def _beside_root(values: Array, by_x: Array, sizes: Array, tolerance: float) -> Array:
    """Return residuals (k) in parts of what unknowns change them by that are off by rounding.

    What no change of unknowns takes away may be a tolerance of what such changes do.
    """
    rows, columns, scaled = of_one_size(by_x)
    step, rounded = columns * np.linalg.lstsq(scaled, rows * values, rcond=None)[0], _ROUNDING * sizes
    left = parts_of(np.abs(values - by_x @ step), tolerance * np.abs(by_x) @ rounded)
    off: Array = np.maximum(left, np.abs(step / rounded).max(initial=0.0))
    return off


def _of_terms(point: OperatingPoint, unknowns: Unknowns, tolerance: float) -> Array:
    """Return the accelerations (nv) that a tolerance of each term would give alone, and those that rounding leaves.

    That is a part of springs' over their own coordinates' sizes, where they do not balance loads, of springs' over what others
    are and have come, and of the largest term's.
    """
    model, coordinates = point.model, unknowns.sizes.coordinates
    by_q, _, by_effort = point.forward_derivatives
    each = alone(point, coordinates, by_effort)
    gone = sum(np.abs(model.difference(model.neutral(), known.q)) for known in (point, unknowns.guess))
    stiff = np.maximum(*(np.abs(np.diag(known.forward_derivatives[0])) for known in (point, unknowns.guess)))
    rounded = np.abs(by_q) @ gone + coordinates * (stiff + (each / coordinates).max(initial=0.0))
    return tolerance * each + _ROUNDING * rounded


class Later(NamedTuple):
    """What becomes of a point's constant rates at some instants: zeros (instants, nv) as long as it lasts.

    `accelerations`, and how far coordinates and rates have to be corrected for closures and gears to hold.
    """

    accelerations: Array
    openings: Array
    rates: Array


def later_along(point: OperatingPoint, sizes: Sizes) -> Later:
    """Return what is found at three instants of a point's motion, up to a few radians, or lengths of the system, away.

    With closures or gears, the moved state is projected onto them first. A point at rest has no instants.

    Raises
    ------
    ConvergenceError
        If a moved state is so far from closed that none is found.
    """
    model, fastest = point.model, sizes.speed(point.v)
    instants = np.array([0.7, 1.9, 3.7]) / fastest if fastest else np.zeros(0)
    found = np.zeros((3, len(instants), model.nv))
    for k, t in enumerate(instants):
        moved, v = model.integrate(point.q, t * point.v), point.v
        q = model.assemble(moved) if model.is_constrained else moved
        v = model.assemble_velocity(q, v) if model.is_constrained else v
        a = model.forward_dynamics(q, v, point.tau, point.wrenches or None, u=point.driving)
        found[:, k] = a, model.difference(moved, q), v - point.v
    return Later(*found)


def _closures(point: OperatingPoint) -> tuple[Array, Array]:
    """Return how far rigid closures and gears are from closed, in position and velocity; nothing for a tree."""
    model = point.model
    if not model.is_constrained:
        return np.zeros(0), np.zeros(0)
    rows = model.engine.dynamics.constraints(point.q, point.v)
    return rows.error, rows.jacobian @ point.v


def _closure_derivatives(point: OperatingPoint) -> tuple[Array, Array]:
    """Return the closures' Jacobian J (k, nv), and the derivative of ``J v`` by q (k, nv)."""
    model = point.model
    return model.engine.dynamics.constraints(point.q, point.v).jacobian, model.engine.derivatives.closure_rate(point.q, point.v)
