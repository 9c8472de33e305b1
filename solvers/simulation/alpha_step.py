"""A step of the generalised-alpha scheme (see `generalized_alpha`), solved by Newton's method."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dgels, dgetrf, dgetrs

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.solvers.control.commands import Command
from titop.solvers.control.control_loop import ContinuousLoop
from titop.solvers.control.implicit_control import Answer, TrapezoidalStep
from titop.solvers.model.model import Model
from titop.solvers.simulation.alpha_states import Stated, StateStep
from titop.solvers.simulation.generalized_alpha import Coefficients
from titop.solvers.simulation.implicit_dynamics import Derivatives, ImplicitDynamics, Residual
from titop.solvers.simulation.plant import Plant
from titop.solvers.simulation.trial_states import went_too_far

#: Newton's method stops when what is left to correct is this part of the tolerance of a step.
_NEWTON = 0.01
_ITERATIONS = 15
#: Rounding of closures, in the system's size and radians.
_ROUNDED_LOOPS = 4 * np.finfo(float).eps
#: Derivatives are found anew where they save more iterations than this.
_WORTH_DERIVATIVES = 8

#: LU factors of Newton's matrix, and their pivots.
Factors = tuple[Array, Array]


class Node(NamedTuple):
    """Time, state and averaged acceleration w at the end of a step of length h, and dw/dt over it (None at the start).

    `v_closed` is the velocity with which the loops stay closed; `control` what a continuous controller has come to, `own` the
    states of the first order.
    """

    t: float
    q: Array
    v: Array
    v_closed: Array
    a: Array
    w: Array
    h: float
    jerk: Array | None
    control: Answer | None = None
    own: Stated | None = None


class Solver(Protocol):
    """What a step knows of the solver that makes it; see `titop.solvers.simulation.alpha_solver`."""

    plant: Plant
    model: Model
    coefficients: Coefficients
    equations: ImplicitDynamics
    free: Array
    counts: dict[str, int]
    node: Node
    before: Node
    rtol: float
    atol: float

    def derivatives(self, step: Step) -> Derivatives: ...
    def renewed(self, step: Step) -> Derivatives: ...
    def scales(self, h: float) -> tuple[Array, Array]: ...


class Step:
    """A step that is being solved: time t, state and multipliers at its end, as far as they are known.

    Unknown are w where motion is not prescribed, and the multipliers of independent constraints.
    """

    def __init__(self, solver: Solver, h: float, t: float) -> None:
        self.solver, self.h, self.t = solver, h, t
        self.within = math.nextafter(t, -math.inf)  # what jumps where the step ends acts behind it
        node, self.numbers = solver.node, solver.coefficients
        ratio = h / node.h if node.h else 0.0
        self.q0, self.a0 = node.q, node.a
        self.v0 = node.v_closed + ratio**2 * (node.v - node.v_closed)
        self.w0 = node.a + ratio * (node.w - node.a)
        self.control, self.has_renewed, self.own = node.control, False, node.own
        self.states = None if node.own is None else StateStep(solver.plant, node.own, h)
        if node.control is not None and isinstance(solver.plant.loop, ContinuousLoop):
            self.controller = TrapezoidalStep(solver.plant.loop, solver.plant, node.control.x, node.control.rate, h)
            solver.plant.answer = self.answer
        self.noise = 0.0
        self.guess()

    def answer(self, t: float, q: Array, v: Array) -> Command:
        """Return what a controller commands where the step ends at such a state."""
        self.control = self.controller.answer(t, q, v, self.a)
        return self.control.command

    def guess(self) -> None:
        """Begin with accelerations that go on to change as they did."""
        jerk = self.solver.node.jerk
        self.multipliers = np.zeros(len(self.solver.model.constraint_names))
        self.place(self.w0 if jerk is None else self.w0 + self.h * jerk)

    def place(self, w: Array) -> None:
        """Set the state at the end of the step from its averaged acceleration."""
        n, h, motion = self.numbers, self.h, self.solver.plant.motion
        self.w = w
        self.increment = h * self.v0 + h * h * ((0.5 - n.beta) * self.w0 + n.beta * w)
        v = self.v0 + h * ((1 - n.gamma) * self.w0 + n.gamma * w)
        self.q, self.v = motion.impose(self.within, self.solver.model.integrate(self.q0, self.increment), v)
        if self.states is not None:
            self.own = self.states.at(self.within, self.q, self.v)
        a = ((1 - n.alpha_m) * w + n.alpha_m * self.w0 - n.alpha_f * self.a0) / (1 - n.alpha_f)
        self.a = np.where(self.solver.free, a, motion.acceleration(self.within))

    def residual(self) -> Residual:
        """Return what is left of the equations."""
        self.solver.counts["evaluations"] += 1
        if self.own is not None:
            self.solver.plant.x = self.own.x
        return self.solver.equations.residual(self.within, self.q, self.v, self.a, self.multipliers)

    def solve(self) -> bool:
        """Find the step's end by Newton's method, at first with the derivatives of its start; tell whether it converged."""
        self.at_start = self.solver.derivatives(self)
        if self._newton(renew=False) and self._stays_near():
            return True
        self.guess()
        self.has_renewed = True
        return self._newton(renew=True) and self._stays_near()

    def _stays_near(self) -> bool:
        """Tell whether the coordinates of the loops bend by less than a radian: loops may close in other ways further away."""
        bend = np.abs(self.increment - self.h * self.v0)
        return bool((self.reach * bend).max(initial=0.0) < 1.0)

    def _newton(self, renew: bool) -> bool:
        """Tell whether Newton's method converges, with new derivatives whenever it is slow if it may `renew` them."""
        try:
            return self._converges(renew)
        except ModelError as error:
            if not went_too_far(error):
                raise
            return False

    def _converges(self, renew: bool) -> bool:
        scale_q, scale_v = self.scales = self.solver.scales(self.h)
        to_q, to_v = self.h**2 * self.numbers.beta / scale_q, self.h * self.numbers.gamma / scale_v
        before, left = np.inf, np.inf
        for iteration in range(_ITERATIONS):
            self.solver.counts["iterations"] += 1
            residual = self.residual()
            if iteration == 0 or (renew and left > _WORTH_DERIVATIVES):
                residual = self.linearise(residual, renew)
                rounding = self._rounding()
                self.noise = max(np.abs(to_q * rounding).max(), np.abs(to_v * rounding).max())
            change = self.correction(residual)
            if not np.isfinite(change).all():
                return False
            self.place(self.w + change)
            size = max(np.abs(to_q * change).max(), np.abs(to_v * change).max())
            rate = size / before
            if size <= max(_NEWTON, self.noise) or (0 < rate < 1 and rate / (1 - rate) * size <= _NEWTON):
                return True
            left = np.log(size / _NEWTON) / -np.log(min(rate, 0.99)) if iteration else 0.0
            if left > (_ITERATIONS if renew else _WORTH_DERIVATIVES) and iteration > renew:
                return False
            before = size
        return False

    def linearise(self, residual: Residual, renew: bool) -> Residual:
        """Factor Newton's matrix at the present state, and return what the best multipliers leave of the equations.

        Masses and closures are those of the state; the other derivatives are of the start, unless they are to `renew`.
        """
        self.rows = self.solver.equations.independent(residual.jacobian)
        self.reach = np.abs(residual.jacobian).max(axis=0, initial=0.0)
        carried = self.carried(residual, self.rows)
        self.multipliers[self.rows] += carried
        self.mass, self.jacobian = self.solver.model.mass_matrix(self.q), residual.jacobian[self.rows]
        residual = residual._replace(efforts=residual.efforts - self.jacobian.T @ carried)
        self.factors = self._factored(self.solver.renewed(self) if renew else self.at_start)
        return residual

    def carried(self, residual: Residual, rows: Array) -> Array:
        """Return by what multipliers of some rows (k) the equations are left with least."""
        free = self.solver.free
        if not len(rows):
            return np.zeros(0)
        solution: Any = dgels(residual.jacobian[rows][:, free].T, residual.efforts[free])[1]
        carried: Array = solution[: len(rows)]
        return carried

    def _factored(self, derivatives: Derivatives) -> Factors:
        """Return the factors of Newton's matrix with some derivatives."""
        n, h, free, model = self.numbers, self.h, self.solver.free, self.solver.model
        turning, opening = turned(model, self.increment, derivatives.stiffness), turned(model, self.increment, self.jacobian)
        matrix = n.share * self.mass + h * n.gamma * derivatives.damping + h * h * n.beta * turning
        count, rows = np.count_nonzero(free), len(self.rows)
        whole = np.zeros((count + rows, count + rows), order="F")
        whole[:count, :count], whole[:count, count:] = matrix[np.ix_(free, free)], -self.jacobian[:, free].T
        whole[count:, :count] = opening[:, free]
        lu, pivots, _ = dgetrf(whole, overwrite_a=1)  # a singular matrix gives a correction that is not finite
        return lu, pivots

    def _rounding(self) -> Array:
        """Return by what Newton's corrections of w round: loops close up to rounding, which short steps amplify."""
        free, count = self.solver.free, np.count_nonzero(self.solver.free)
        openings = np.vstack([np.zeros((count, len(self.rows))), np.eye(len(self.rows))])
        solution: Any = dgetrs(*self.factors, openings)[0] if len(self.rows) else openings
        change = np.zeros(len(free))
        change[free] = np.abs(solution[:count]).sum(axis=1)
        return _ROUNDED_LOOPS * change / (self.h**2 * self.numbers.beta)

    @property
    def rounds(self) -> bool:
        """Whether it is so short that its accelerations are rounding."""
        return self.noise > _NEWTON

    def correction(self, residual: Residual) -> Array:
        """Return Newton's correction of w; that of the multipliers is made."""
        wanted = -residual.error[self.rows] / (self.h**2 * self.numbers.beta)
        change, multipliers = self._solved(self.factors, -residual.efforts, wanted)
        self.multipliers[self.rows] += multipliers
        return change

    def _solved(self, factors: Factors, efforts: Array, opening: Array) -> tuple[Array, Array]:
        free = self.solver.free
        solution: Any = dgetrs(*factors, np.concatenate([efforts[free], opening]))[0]
        change = np.zeros(len(free))
        change[free] = solution[: free.sum()]
        return change, solution[free.sum() :]

    def error(self) -> float:
        """Return the estimated error of the step beside the tolerances.

        The leading terms are passed through Newton's matrix, which leaves them where they are resolved and limits them to the
        amplitudes of vibrations that are not. That of the step's start has a say: a stop in which the step ends was not there
        to vibrate on.
        """
        n, h, old = self.numbers, self.h, self.solver.node
        jerk = (self.w - self.w0) / h
        errors = [(n.error_q * h**3 * jerk, self.scales[0])]
        if old.jerk is not None:
            apart = 0.5 * (h + old.h) + n.offset * (h - old.h)
            errors.append((n.error_v * h**3 * (jerk - old.jerk) / apart, self.scales[1]))
        nothing = np.zeros(len(self.rows))
        filters = [self.factors, self._factored(self.at_start)] if self.has_renewed else [self.factors]
        own = (
            self._solved(factors, n.share * self.mass @ error, nothing)[0] / scale
            for factors in filters
            for error, scale in errors
        )
        return max(self._control_error(), self._state_error(), *(float(np.abs(part).max()) for part in own))

    def _control_error(self) -> float:
        """Return the estimated error of a controller's states beside the tolerances."""
        old, before, now = self.solver.before.control, self.solver.node.control, self.control
        if old is None or before is None or now is None or not len(now.x):
            return 0.0
        return self._trapezoidal_error((old, before, now), self.controller)

    def _state_error(self) -> float:
        """Return the same of the states of the first order."""
        old, before, now = self.solver.before.own, self.solver.node.own, self.own
        if old is None or before is None or now is None or self.states is None:
            return 0.0
        return self._trapezoidal_error((old, before, now), self.states)

    def _trapezoidal_error(self, rows: tuple[Any, Any, Any], step: Any) -> float:
        """Return the error of states that follow by the trapezoidal rule, by the last three rates."""
        (old, before, now), h, last, solver = rows, self.h, self.solver.node.h, self.solver
        if not last:
            return 0.0
        bend = ((now.rate - before.rate) / h - (before.rate - old.rate) / last) / (0.5 * (h + last))
        scale = solver.atol + solver.rtol * np.maximum(np.abs(now.x), np.abs(before.x))
        return float(np.abs(step.filtered(h**3 / 12 * bend) / scale).max())

    def node(self) -> Node:
        """Return the end of the step."""
        if self.control is not None:  # that of the state at the end, not of one before it
            self.answer(self.t, self.q, self.v)
        jerk = (self.w - self.w0) / self.h
        return Node(self.t, self.q, self.v, self.v, self.a, self.w, self.h, jerk, self.control, self.own)


def tangent(model: Model, dq: Array) -> Array:
    """Return how ``integrate(q, dq)`` moves, as a tangent there, with dq (nv x nv): the identity for plain coordinates."""
    return turned(model, dq, np.eye(model.nv))


def turned(model: Model, dq: Array, matrix: Array) -> Array:
    """Return a matrix (k x nv) times `tangent`."""
    if model.nq == model.nv:  # of plain coordinates alone
        return matrix
    result = matrix.copy()
    for block in model.assembly.blocks_with_coordinates:
        if isinstance(block, Joint) and block.nq != block.nv:
            where = model.assembly.v_slices[block.name]
            result[:, where] = matrix[:, where] @ np.linalg.inv(block.difference_jacobian(dq[where]))
    return result
