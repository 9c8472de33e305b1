"""A step of the generalised-alpha scheme (see `generalized_alpha`), solved by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dgels, dgetrf, dgetrs

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, ROUNDING
from titop.blocks.joints.joint import Joint
from titop.solvers.arguments.reading import all_finite
from titop.solvers.constraints.closed_derivatives import compliant_forces
from titop.solvers.control.continuous_loop import ContinuousLoop
from titop.solvers.control.loop_signals import Command
from titop.solvers.model.model import Model
from titop.solvers.model.prepared import FollowingStates, Residual
from titop.solvers.simulation.closed_states import went_too_far
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.generalized_alpha import ControllerStep, FirstOrderStates, GeneralizedAlpha, ModelStep
from titop.solvers.simulation.implicit_equations import ImplicitDerivatives, ImplicitDynamics
from titop.solvers.simulation.steppers import Tolerances

#: Factor by which the extent of coordinates and rates, by which errors are measured, decays in a step.
_REMEMBERED = 0.99
#: Derivatives are renewed after steps have grown by this factor.
_GROWN = 2.0
#: Newton's method stops when the remaining correction is below this part of the tolerance of a step.
_NEWTON = 0.01
_ITERATIONS = 15
#: Derivatives are renewed where they save more iterations than this.
_WORTH_DERIVATIVES = 8

#: No first-order states.
_STATELESS = FollowingStates(0.0, np.zeros(0), np.zeros(0))
#: LU factors of Newton's matrix, and their pivots.
_LU = tuple[Array, Array]


class StepEnd(NamedTuple):
    """Time, state and averaged acceleration w at the end of a step of length h, and dw/dt over it (None at the start).

    `v_closed` is the velocity that satisfies the velocity constraints; `control` the states and commands of a continuous
    controller; `first_order` are the first-order states.
    """

    t: float
    q: Array
    v: Array
    v_closed: Array
    a: Array
    w: Array
    h: float
    jerk: Array | None
    control: FirstOrderStates | None = None
    first_order: FirstOrderStates | None = None


class AlphaSystem:
    """Data that all steps of a simulation share: equations, derivatives that remain valid, and tolerances."""

    def __init__(self, plant: DrivenModel, scheme: GeneralizedAlpha, tolerances: Tolerances) -> None:
        self.plant, self.model, self.rtol = plant, plant.model, tolerances.rtol
        nq, nv, place = self.model.nq, self.model.nv, self.model.mechanism.assembly.place
        self._atol_q = tolerances.atol[[place(name)[0] for name in self.model.coordinate_names]]  # of tangents
        self._atol_v, self.atol_x, self.atol_control = np.split(tolerances.atol[nq:], [nv, nv + self.model.nx])
        self.coefficients, self.equations = scheme.coefficients, ImplicitDynamics(plant)
        self.free = np.flatnonzero(~plant.motion.mask)
        self.square = np.ix_(self.free, self.free)
        self.slips = not self.model.mechanism.places.all()  # constraints of velocities need their rows in every iteration
        self.counts = dict.fromkeys(("steps", "rejected", "evaluations", "iterations", "jacobians"), 0)
        self._reach, self._groups = np.zeros((2, self.model.nv)), _coordinate_groups(self.model)
        self.forget()

    def forget(self) -> None:
        """Discard the derivatives, so that the next step computes new ones."""
        self._derivatives: ImplicitDerivatives | None = None
        self.holds_for = 0.0

    def memory(self) -> dict[str, Array]:
        """Return what later steps take from earlier ones."""
        kept = {} if self._derivatives is None else self._derivatives._asdict()
        return {"reach": self._reach, "holds_for": np.array(self.holds_for)} | kept

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Go on as after the steps that left a `memory`."""
        self._reach, self.holds_for = memory["reach"].copy(), float(memory["holds_for"])
        if "stiffness" in memory:
            self._derivatives = ImplicitDerivatives(memory["stiffness"], memory["damping"])

    def derivatives(self, step: Step) -> ImplicitDerivatives:
        """Return the derivatives at the start of a step, or earlier ones that are still valid.

        They are renewed if Newton's method has needed others since, and in steps that have grown: short steps do not show that
        a stiffness has vanished, such as that of a stop that the system has left.
        """
        if self._derivatives is None or step.h > self.holds_for:
            node, equations, multipliers = step.start, self.equations, np.zeros(len(self.model.constraint_names))
            self.let_act(node)
            held = FollowingStates(0.0, self.plant.x, self.plant.x.copy())
            residual = equations.residual(node.t, node.q, node.v_closed, node.a, multipliers, held, True)
            rows = equations.independent(residual.jacobian)
            multipliers[rows] = step.best_multipliers(residual, rows)
            half = 0.5 * step.h
            self._derivatives = equations.derivatives(node.t, node.q, node.v_closed, node.a, multipliers, half=half)
            self.holds_for = _GROWN * step.h
            self.counts["evaluations"] += 1
            self.counts["jacobians"] += 1
        return self._derivatives

    def renew_derivatives(self, step: Step) -> ImplicitDerivatives:
        """Return the derivatives at a step's present state.

        Compliant closures use the forces at the step's beginning: those at a guessed state would be far off.
        """
        forces = compliant_forces(self.model.mechanism, step.start.q, step.start.v_closed)
        self.counts["jacobians"] += 1
        return self.equations.derivatives(step.t, step.q, step.v, step.a, step.multipliers, forces, 0.5 * step.h)

    def let_act(self, node: StepEnd) -> None:
        """Put the first-order states at a node into effect."""
        if node.first_order is not None:
            self.plant.x = node.first_order.x

    def scales(self, h: float) -> tuple[Array, Array]:
        """Return the sizes by which errors in q (nv) and v (nv) are measured, for a step of length h."""
        (reach_q, reach_v), rounding = self._reach, ROUNDING * self._rounded
        return self._atol_q + self.rtol * reach_q + rounding, self._atol_v + self.rtol * reach_v + rounding / h

    def look(self, node: StepEnd) -> None:
        """Record the extent of coordinates and rates: an oscillation is measured by its amplitude, also where it passes zero.

        A body's own coordinates are measured by the largest of the same unit. The rounding of a coordinate depends on its own
        size and on that of the largest coordinate, which acts on it; with closures, which are differences of positions, on its
        whole size.
        """
        now = np.abs([self.model.difference(self.model.neutral(), node.q), node.v_closed])
        order, first, group = self._groups
        if len(order):
            now[:, order] = np.maximum.reduceat(now[:, order], first, axis=1)[:, group]
        self._reach = np.maximum(now, _REMEMBERED * self._reach)
        sizes, (reach, _) = self.model.mechanism.scale.coordinates, self._reach
        others = min(1.0, (reach / sizes).max()) if self.model.mechanism.is_tree else 1.0
        self._rounded = np.maximum(reach, others * sizes)


def _coordinate_groups(model: Model) -> tuple[Array, Array, Array]:
    """Return bodies' own coordinates (indices) grouped by body and unit, the groups' starts, and each one's group."""
    units, groups = np.array(model.mechanism.assembly.coordinate_units), []
    for block in model.mechanism.assembly.blocks_with_coordinates:
        if not isinstance(block, Joint):
            where = model.mechanism.assembly.v_slices[block.name]
            coordinates = np.arange(where.start, where.stop)
            groups += [coordinates[units[where] == unit] for unit in np.unique(units[where])]
    sizes = np.array([len(group) for group in groups], dtype=int)
    order = np.concatenate([*groups, np.zeros(0, dtype=int)])
    return order, np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(int), np.repeat(np.arange(len(groups)), sizes)


class Step:
    """A step that is being solved: time t, and the current iterate of state and multipliers at its end.

    Unknowns are w where motion is not prescribed, and the multipliers of independent constraints.
    """

    def __init__(self, system: AlphaSystem, before: StepEnd, start: StepEnd, h: float, t: float) -> None:
        self.system, self.before, self.start, self.h, self.t = system, before, start, h, t
        self.within = math.nextafter(t, -math.inf)  # what jumps where the step ends acts behind it
        node, plant, self.numbers = start, system.plant, system.coefficients
        ratio = h / node.h if node.h else 0.0
        self.q0, self.a0 = node.q, node.a
        self.v0 = node.v_closed + ratio**2 * (node.v - node.v_closed)
        self.w0 = node.a + ratio * (node.w - node.a)
        self.control, self.has_renewed, self.first_order = node.control, False, node.first_order
        self.first_order_step = None if node.first_order is None else ModelStep(plant, node.first_order, h)
        if node.control is not None and isinstance(plant.loop, ContinuousLoop):
            self.control_step = ControllerStep(plant.loop, plant, node.control, h)
            plant.answer = self.answer
        self.noise = 0.0
        self.guess()

    def answer(self, t: float, q: Array, v: Array) -> Command:
        """Return the controller's command at the end of the step, for a given state there."""
        self.control = self.control_step.end(t, q, v, self.a)
        assert self.control.command is not None
        return self.control.command

    def guess(self) -> None:
        """Extrapolate the accelerations at their last rate of change, as the initial guess."""
        jerk = self.start.jerk
        self.multipliers = np.zeros(len(self.system.model.constraint_names))
        self.place(self.w0 if jerk is None else self.w0 + self.h * jerk)

    def place(self, w: Array) -> None:
        """Set the state at the end of the step from its averaged acceleration."""
        n, h, motion = self.numbers, self.h, self.system.plant.motion
        self.w = w
        self.increment = h * self.v0 + h * h * ((0.5 - n.beta) * self.w0 + n.beta * w)
        v = self.v0 + h * ((1 - n.gamma) * self.w0 + n.gamma * w)
        self.q, self.v = motion.impose(self.within, self.system.model.integrate(self.q0, self.increment), v)
        a = ((1 - n.alpha_m) * w + n.alpha_m * self.w0 - n.alpha_f * self.a0) / (1 - n.alpha_f)
        self.a = np.where(motion.mask, motion.acceleration(self.within), a)

    def residual(self, whole: bool) -> Residual:
        """Return the residual of the equations, with their matrices if `whole`."""
        self.system.counts["evaluations"] += 1
        if self.system.plant.answer is not None:  # what is measured may depend on the states
            self.follow()
        following = _STATELESS if self.first_order_step is None else self.first_order_step.following
        return self.system.equations.residual(self.within, self.q, self.v, self.a, self.multipliers, following, whole)

    def follow(self) -> bool:
        """Let the first-order states follow; tell whether they are found."""
        if self.first_order_step is None:
            return True
        self.first_order = self.first_order_step.end(self.within, self.q, self.v)
        return all_finite(self.first_order.x)

    def solve(self) -> bool:
        """Solve for the step's end by Newton's method, first with the derivatives at its start; tell whether it converged."""
        self.at_start = self.system.derivatives(self)
        if self._newton(renew=False) and self._stays_near() and self.follow():
            return True
        self.guess()
        self.has_renewed = True
        return self._newton(renew=True) and self._stays_near() and self.follow()

    def _stays_near(self) -> bool:
        """Tell whether the loops' coordinates change by less than a radian: beyond it, loops may close on another branch."""
        bend = np.abs(self.increment - self.h * self.v0)
        return bool((self.reach * bend).max(initial=0.0) < 1.0)

    def _newton(self, renew: bool) -> bool:
        try:
            return self._converges(renew)
        except ModelError as error:
            if not went_too_far(error):
                raise
            return False

    def _converges(self, renew: bool) -> bool:
        scale_q, scale_v = self.scales = self.system.scales(self.h)
        weight = np.maximum(self.h**2 * self.numbers.beta / scale_q, self.h * self.numbers.gamma / scale_v)
        before, left = np.inf, np.inf
        for iteration in range(_ITERATIONS):
            self.system.counts["iterations"] += 1
            anew = iteration == 0 or (renew and left > _WORTH_DERIVATIVES)
            residual = self.residual(anew or self.system.slips)
            if anew:
                residual = self.linearise(residual, renew)
            change = self.correction(residual)
            if not np.isfinite(change).all():
                return False
            self.place(self.w + change)
            size = np.abs(weight * change).max()
            if iteration == 1 and size > _NEWTON:
                self.noise = (weight * self._rounding()).max()
            rate = size / before
            if size <= max(_NEWTON, self.noise) or (0 < rate < 1 and rate / (1 - rate) * size <= _NEWTON):
                return True
            left = np.log(size / _NEWTON) / -np.log(min(rate, 0.99)) if iteration else 0.0
            if left > (_ITERATIONS if renew else _WORTH_DERIVATIVES) and iteration > renew:
                return False
            before = size
        return False

    def linearise(self, residual: Residual, renew: bool) -> Residual:
        """Factor Newton's matrix at the present state, and return the residual with the best multipliers.

        Masses and constraint Jacobians are those of the state; the other derivatives are those of the start, unless `renew`.
        """
        self.rows = self.system.equations.independent(residual.jacobian)
        self.reach = np.abs(residual.jacobian).max(axis=0, initial=0.0)
        multipliers = self.best_multipliers(residual, self.rows)
        self.multipliers[self.rows] += multipliers
        self.mass, self.jacobian = residual.mass, residual.jacobian[self.rows]
        residual = residual._replace(efforts=residual.efforts - self.jacobian.T @ multipliers)
        self.factors = self._factor(self.system.renew_derivatives(self) if renew else self.at_start)
        return residual

    def best_multipliers(self, residual: Residual, rows: Array) -> Array:
        """Return the multipliers of some rows (k) that minimise the residual."""
        free = self.system.free
        if not len(rows):
            return np.zeros(0)
        solution: Any = dgels(residual.jacobian[rows][:, free].T, residual.efforts[free])[1]
        return solution[: len(rows)]

    def _factor(self, derivatives: ImplicitDerivatives) -> _LU:
        n, h, free, model = self.numbers, self.h, self.system.free, self.system.model
        stiffness = times_tangent(model, self.increment, derivatives.stiffness)
        opening = times_tangent(model, self.increment, self.jacobian)
        matrix = n.share * self.mass + h * n.gamma * derivatives.damping + h * h * n.beta * stiffness
        count, rows = len(free), len(self.rows)
        whole = np.zeros((count + rows, count + rows), order="F")
        whole[:count, :count], whole[:count, count:] = matrix[self.system.square], -self.jacobian[:, free].T
        whole[count:, :count] = opening[:, free]
        lu, pivots, _ = dgetrf(whole, overwrite_a=1)  # a singular matrix gives a correction that is not finite
        return lu, pivots

    def _rounding(self) -> Array:
        """Return the rounding of Newton's corrections of w: closure errors keep their rounding, which short steps amplify."""
        free, count = self.system.free, len(self.system.free)
        sizes = np.where(self.system.model.mechanism.places[self.rows], 1.0, self.h * self.numbers.beta / self.numbers.gamma)
        openings = np.vstack([np.zeros((count, len(self.rows))), np.diag(sizes)])
        solution: Any = dgetrs(*self.factors, openings)[0] if len(self.rows) else openings
        change = np.zeros(self.system.model.nv)
        change[free] = np.abs(solution[:count]).sum(axis=1)
        return 4 * EPS * change / (self.h**2 * self.numbers.beta)

    @property
    def rounds(self) -> bool:
        """Whether the step is so short that rounding of its accelerations exceeds the tolerances."""
        return self.noise > 1.0

    def correction(self, residual: Residual) -> Array:
        """Return Newton's correction of w; that of the multipliers is applied here."""
        wanted = -residual.error[self.rows] / (self.h**2 * self.numbers.beta)
        slips = ~self.system.model.mechanism.places[self.rows]
        wanted[slips] = -(residual.jacobian[self.rows[slips]] @ self.v) / (self.h * self.numbers.gamma)
        change, multipliers = self._solve(self.factors, -residual.efforts, wanted)
        self.multipliers[self.rows] += multipliers
        return change

    def _solve(self, factors: _LU, efforts: Array, opening: Array) -> tuple[Array, Array]:
        free = self.system.free
        solution: Any = dgetrs(*factors, np.concatenate([efforts[free], opening]))[0]
        change = np.zeros(self.system.model.nv)
        change[free] = solution[: len(free)]
        return change, solution[len(free) :]

    def error(self) -> float:
        """Return the estimated error of the step, relative to the tolerances.

        The leading error terms are filtered by Newton's matrix: it leaves resolved vibrations unchanged, and limits others to
        their amplitudes. The matrix at the step's start is taken into account too: a stop that is hit only at the end of the
        step had no vibration before.
        """
        n, h, old = self.numbers, self.h, self.start
        jerk = (self.w - self.w0) / h
        errors = [(n.error_q * h**3 * jerk, self.scales[0])]
        if old.jerk is not None:
            apart = 0.5 * (h + old.h) + n.offset * (h - old.h)
            errors.append((n.error_v * h**3 * (jerk - old.jerk) / apart, self.scales[1]))
        nothing = np.zeros(len(self.rows))
        filters = [self.factors, self._factor(self.at_start)] if self.has_renewed else [self.factors]
        errors_left = (
            self._solve(factors, n.share * self.mass @ error, nothing)[0] / scale
            for factors in filters
            for error, scale in errors
        )
        return max(self._first_order_error(), *(float(np.abs(part).max()) for part in errors_left))

    def _first_order_error(self) -> float:
        before, last, system, error = self.before, self.start.h, self.system, 0.0
        if self.first_order is not None and self.first_order_step is not None:
            error = self.first_order_step.error(before.first_order, last, self.first_order, system.rtol, system.atol_x)
        if self.control is not None:
            error = max(error, self.control_step.error(before.control, last, self.control, system.rtol, system.atol_control))
        return error

    def node(self) -> StepEnd:
        """Return the end of the step."""
        if self.control is not None:  # that of the state at the end, not of one before it
            self.answer(self.t, self.q, self.v)
        jerk = (self.w - self.w0) / self.h
        return StepEnd(self.t, self.q, self.v, self.v, self.a, self.w, self.h, jerk, self.control, self.first_order)


def tangent(model: Model, dq: Array) -> Array:
    """Return the derivative (nv x nv) of ``integrate(q, dq)`` by dq, in tangents there: the identity for plain coordinates."""
    return times_tangent(model, dq, np.eye(model.nv))


def times_tangent(model: Model, dq: Array, matrix: Array) -> Array:
    """Return the product of a matrix (k x nv) and `tangent`."""
    if model.nq == model.nv:  # of plain coordinates alone
        return matrix
    result = matrix.copy()
    for block in model.mechanism.assembly.blocks_with_coordinates:
        if isinstance(block, Joint) and block.nq != block.nv:
            where = model.mechanism.assembly.v_slices[block.name]
            result[:, where] = matrix[:, where] @ np.linalg.inv(block.difference_jacobian(dq[where]))
    return result
