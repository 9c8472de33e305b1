"""One search for an equilibrium, and the criteria of an equilibrium.

Newton's method solves the equations from the guess; where it ends without a root, scipy's trust-region method continues. The
residuals are compared with the effect of rounding and a tolerance, and for a moving point checked again along its motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, ROUNDING, TYPED
from titop.solvers.equilibrium.equations import AccelerationEquations, Equations, easiest, with_rank
from titop.solvers.equilibrium.linear_validity import ratios, term_accelerations, unsteady_state
from titop.solvers.equilibrium.newton import Bounds, Course, equilibrate, newton, trust_region
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.model.sections import overlaps
from titop.solvers.signals.quantities import Kind

#: Longest step of a coordinate (rad, or m for a system of size one), or, in parts of its guess, of a parameter in which the
#: equations are nonlinear: longer steps lead to distant equilibria.
_REACH = 0.5

#: How much larger residuals may be a few radians, or lengths of the system, later in the motion.
_LATER = 1e3


def search(
    unknowns: TrimUnknowns,
    bounds: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    start: Array | None = None,
    course: Course | None = None,
    wider: bool = True,
) -> OperatingPoint:
    """Return the equilibrium found from a start (by default the guess), and record the course of the search.

    Least-norm Newton steps come first. If they end without an equilibrium, and the search may go `wider`, scipy's trust-region
    method follows, from the guess if the start is impossible, as with a mass below zero.

    Raises `ModelError` for unusable bounds, and `ConvergenceError` if there is none.
    """
    limits = unknowns.bounds(bounds)
    judged = AccelerationEquations(unknowns, limits)
    sought = easiest(judged)
    x = np.clip(np.zeros(len(unknowns.entries)) if start is None else start, *limits)
    if start is not None and not np.isfinite(judged.residual(x)).all():
        x = np.clip(np.zeros(len(x)), *limits)
    x = _newton(sought, x, limits, max_iterations, course)
    candidate = Candidate(judged, x, tolerance)
    if wider and (candidate.excess > 1).any():
        if course is not None:
            course.strayed = True
        x = trust_region(judged.residual, judged.derivatives, x, limits, max_iterations)
        candidate = Candidate(judged, _newton(judged, x, limits, max_iterations), tolerance)
    candidate.refuse()
    if changing := unsteady_state(candidate.point, unknowns.sizes, tolerance):
        advice = "its rate does not depend on it there: let what it follows from be an unknown, or give other values"
        raise ConvergenceError(f"no equilibrium: {changing[0]} goes on changing by {changing[1]}; {advice}")
    return with_rank(candidate.point, candidate.by_x, unknowns)


def _newton(equations: Equations, x: Array, limits: Bounds, iterations: int, course: Course | None = None) -> Array:
    """Return the end of Newton steps from x; multipliers are not bounded."""
    if not len(x):
        return x
    unknowns, anything = equations.unknowns, np.full(equations.multipliers, np.inf)
    bodies = unknowns.guess.model.mechanism.own_coordinates
    parameters = np.array([entry.kind == Kind.PARAMETER for entry in unknowns.entries])
    turning = [entry.kind == Kind.POSITION and entry.name not in bodies for entry in unknowns.entries]  # others are stiff
    reach, straight = (np.where(bounded, _REACH, np.inf) for bounded in (parameters | turning, turning))
    end = newton(
        equations.residual,
        equations.derivatives,
        equations.begin(x),
        (np.append(limits[0], -anything), np.append(limits[1], anything)),
        np.append(reach, anything),
        iterations,
        course,
        np.append(straight, anything),
        equations.lengths(len(x)),
    )
    return end[: len(x)]


class Candidate:
    """The result x of a search, and the residuals there.

    - `by_x` (k, n): derivatives of the residuals by x;
    - `excess` (k): residuals in parts of their allowed values.
    """

    def __init__(self, equations: AccelerationEquations, x: Array, tolerance: float) -> None:
        self._equations, self._unknowns, self._x, self._tolerance = equations, equations.unknowns, x, tolerance
        self.point = self._unknowns.at(x)
        self._values, self.by_x = equations.residual(x), equations.derivatives(x)
        self.excess = self._excess()

    def _excess(self) -> Array:
        """Return each residual divided by its allowed value: an equilibrium has none above one.

        For an acceleration, the tolerance allows a part of the acceleration that each force alone would give, and of the change
        due to each unknown effort, input or parameter of its size. Coordinates do not count: a stiff spring would excuse any
        acceleration of the body it holds. For other residuals it allows a part of the change due to each unknown of its size.

        At a kink of the energy, such as where a stretch of tendon shrinks to a point, derivatives are infinite and would excuse
        anything. So each derivative is limited by those a little to both sides.

        Where loads nearly vanish, all forces are rounding. There residuals are also allowed if changes of the unknowns by
        rounding remove them: the point is then as close to the equilibrium as floating-point numbers can be.
        """
        unknowns, values, nv = self._unknowns, np.abs(self._values), self.point.model.nv
        sizes = np.maximum(unknowns.least, np.abs(self._x))
        is_position = np.array([entry.kind == Kind.POSITION for entry in unknowns.entries], dtype=bool)
        terms = self._term_tolerances() / unknowns.sizes.accelerations

        def allowed(slopes: Array) -> Array:
            parts: Array = self._tolerance * (1.0 + np.abs(slopes) @ sizes)
            parts[:nv] = self._tolerance * np.abs(slopes[:nv]) @ np.where(is_position, 0.0, sizes) + terms
            return parts

        excess = ratios(values, allowed(self.by_x))
        is_refused = bool((excess > 1.0).any())
        if is_refused and (self._rounding_excess(self.by_x, sizes) > 1.0).any():
            return excess
        if not is_refused and (not is_position.any() or (values <= self._tolerance).all()):
            return excess
        unbounded, shift = AccelerationEquations(unknowns), CLOSE * is_position * sizes
        beside = [np.abs(unbounded.derivatives(self._x + sign * shift)) for sign in (1.0, -1.0)]
        slopes = np.minimum(np.abs(self.by_x), np.maximum(*beside))
        if is_refused:
            return np.minimum(excess, self._rounding_excess(np.copysign(slopes, self.by_x), sizes))
        return ratios(values, allowed(slopes))

    def _term_tolerances(self) -> Array:
        """Return the accelerations (nv) allowed for each force, and for rounding.

        Rounding is a part of the spring forces when their own coordinates change by their sizes and all others by their
        distance from neutral, and of the largest force.
        """
        point, guess, coordinates = self.point, self._unknowns.guess, self._unknowns.sizes.coordinates
        by_q, _, by_effort = point.forward_derivatives
        each, neutral = term_accelerations(point, coordinates, by_effort), point.model.neutral()
        distance = sum(np.abs(point.model.difference(neutral, known.q)) for known in (point, guess))
        stiff = np.maximum(*(np.abs(np.diag(known.forward_derivatives[0])) for known in (point, guess)))
        rounded = np.abs(by_q) @ distance + coordinates * (stiff + (each / coordinates).max(initial=0.0))
        return self._tolerance * each + ROUNDING * rounded

    def _rounding_excess(self, slopes: Array, sizes: Array) -> Array:
        """Return residuals (k) divided by the changes that rounding of the unknowns makes.

        The part that no change of the unknowns removes is divided by the tolerance's share of that.
        """
        rows, columns, scaled = equilibrate(slopes)
        step, rounded = columns * np.linalg.lstsq(scaled, rows * self._values, rcond=None)[0], ROUNDING * sizes
        left = ratios(np.abs(self._values - slopes @ step), self._tolerance * np.abs(slopes) @ rounded)
        return np.maximum(left, np.abs(step / rounded).max(initial=0.0))

    def refuse(self) -> None:
        """Reject a point that is no equilibrium, or one only for an instant of its motion.

        Raises `ConvergenceError` if residuals exceed their allowed values, at the point or along the motion.
        """
        if (self.excess > 1).any():
            equations, worst = self._equations, int(self.excess.argmax())
            left = f"{equations.names[worst]}, {self._values[worst] * equations.sizes[worst]:.3g}, is left"
            opening = worst - len(equations.names) + len(self.point.model.constraint_names)
            if isinstance(equations, AccelerationEquations) and opening >= 0:
                row = self.point.model.mechanism.engine.dynamics.constraints(self.point.q, self.point.v).jacobian[opening]
                tied = [f"{name}.v" for name, share in zip(self.point.model.coordinate_names, row, strict=True) if share]
                left += f" (it ties {', '.join(tied)}: let those not given be unknown)"
            raise ConvergenceError(
                f"no equilibrium near the guess: {left} at {self._where() or 'the given point'}; {self._hints()}"
                "try another guess, or more unknowns"
            )
        if self.point.v.any() or self.point.a.any():
            self._refuse_passing()

    def _where(self) -> str:
        names = self._unknowns.names[:8]
        values = zip(names, TrimUnknowns(self.point, names).values(), strict=True)
        shown = [f"{name} = {value:.6g}" for name, value in values if not np.isnan(value)]
        return ", ".join(shown) + (", ..." if len(self._unknowns.entries) > 8 else "")

    def _hints(self) -> str:
        at_bound: list[str] = []
        if self._equations.bounds is not None:
            lower, upper = self._equations.bounds
            near = np.minimum(self._x - lower, upper - self._x) < TYPED
            at_bound = [name for name, is_near in zip(self._unknowns.names, near, strict=True) if is_near]
        hint = f"{', '.join(at_bound)} at a bound; " if at_bound else ""
        return hint + "".join(f"{each.where} has {each.value}; " for each in overlaps(self.point.model, self.point.q[None]))

    def _refuse_passing(self) -> None:
        """Reject a state whose accelerations vanish, or whose closures and gears hold, only for an instant.

        The state is checked again at three instants of its motion, up to a few radians, or lengths of the system, away. With
        closures or gears the later state is projected onto them first.
        """
        model, sizes, allowed = self.point.model, self._unknowns.sizes, _LATER * self._tolerance
        try:
            accelerations, openings, rates = self._later()
        except ConvergenceError as error:
            raise ConvergenceError(f"no equilibrium: at constant rates, {error}") from None
        size = sizes.accelerations * (1.0 + np.abs(self.by_x[: model.nv]) @ self._unknowns.least)
        accelerated = np.abs(accelerations).max(axis=0) / (allowed * size)
        opened = np.maximum(np.abs(openings), np.abs(rates) / (sizes.rate + sizes.speed(self.point.v)))
        opened = (opened / sizes.coordinates).max(axis=0) / allowed
        for parts, what in (
            (accelerated, "the accelerations vanish, or are the point's, but not while the system moves"),
            (opened, "closures and gears do not hold while the system moves at constant rates"),
        ):
            if (parts > 1).any():
                raise ConvergenceError(
                    f"no equilibrium: {what} ({model.coordinate_names[int(parts.argmax())]}); "
                    "let only coordinates move on which nothing depends"
                )

    def _later(self) -> Array:
        """Return accelerations beyond the point's, and corrections of q and v, at some later instants (3, instants, nv)."""
        point, model, sizes = self.point, self.point.model, self._unknowns.sizes
        speed = max(sizes.speed(point.v), float(np.sqrt(np.abs(point.a / sizes.coordinates).max(initial=0.0))))
        instants = np.array([0.7, 1.9, 3.7]) / speed
        later = np.zeros((3, len(instants), model.nv))
        for k, t in enumerate(instants):
            q, v = point.reference(t)
            if model.is_constrained:
                closed = model.assemble(q)
                kept = model.assemble_velocity(closed, v)
                later[1:, k] = model.difference(q, closed), kept - v
                q, v = closed, kept
            later[0, k] = model.forward_dynamics(q, v, point.tau, point.wrenches or None, u=point.driving) - point.a
        return later
