"""The generalised-alpha scheme on the configuration manifold, for stiff systems and closed loops.

The equations of motion and the closures are solved at the end of every step, configurations included (index 3), by Newton's
method with analytic slopes. The step is taken in the tangent space, so that quaternions need no chart::

    q1 = integrate(q0, h v0 + h^2 ((1/2 - beta) w0 + beta w1))      v1 = v0 + h ((1 - gamma) w0 + gamma w1)
    (1 - alpha_m) w1 + alpha_m w0 = (1 - alpha_f) a1 + alpha_f a0

The averaged accelerations w stand for those at ``t + offset h``, ``offset = alpha_m - alpha_f``. What depends on the step
is therefore scaled when it changes: ``w - a`` like h, and the velocity's part that would open the loops like h^2. That part is
of the scheme's own error, and would show as oscillating multipliers if it were removed; results are rid of it.

Sources: Chung and Hulbert (1993); Arnold and Bruels, Multibody System Dynamics 18 (2007) 185; Bruels, Cardona and Arnold,
Mechanism and Machine Theory 48 (2012) 121; key M, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from titop.blocks.checks import real_array
from titop.blocks.errors import ConvergenceError, Finding, ModelError
from titop.blocks.joint import Joint
from titop.blocks.spatial import Array
from titop.solvers.loops.loop_derivatives import compliant_forces
from titop.solvers.model import Model
from titop.solvers.simulation.constrained_integration import Plant
from titop.solvers.simulation.implicit_dynamics import ImplicitDynamics, Residual, Slopes

#: Newton's method stops when what is left to correct is this part of the tolerance of a step.
_NEWTON = 0.01
_ITERATIONS = 15
#: Slopes are found anew where they save more iterations than this.
_WORTH_SLOPES = 8
#: Rounding of lengths and angles.
_ROUNDING = 1e-13
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 2.0
#: A step that could grow by less is kept.
_WORTH_A_CHANGE = 1.2
#: Steps below this part of the simulated time are given up, and fixed ones that would have to be so much shorter.
_SMALLEST, _SHORTER = 1e-11, 2e-3
#: With rigid closures the spectral radius has to be less.
_LARGEST_RADIUS = 0.95


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The generalised-alpha scheme, as ``method`` of `simulate`; ``"generalized-alpha"`` stands for its defaults.

    Implicit, of second order, unconditionally stable for linear systems; solves rigid closures as they are (index 3). It suits
    stiff compliant closures, springs and flexible bodies, at tolerances of 1e-3 to 1e-6. Vibrations are resolved where their
    amplitudes exceed the tolerances, in q and in v; a fixed step passes over those that are faster than it.

    Parameters
    ----------
    spectral_radius : float
        What is left of the fastest vibrations after a step, from 0 (nothing) to 1 (no damping at all: the trapezoidal rule,
        which keeps the energy of linear vibrations). Slow vibrations are hardly damped whatever it is. With rigid closures
        0.95 at most: something has to damp the multipliers.
    step : float, s, optional
        Fixed step; shortened a little, so that steps of one length lead to the last output time, and halved where Newton's
        method fails. By default steps follow from `rtol` and `atol`.

    Raises
    ------
    ModelError
        For numbers out of range.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("mass", mass=1.0), joint=tt.Prismatic("slide", stiffness=1e6))
    >>> trajectory = tt.simulate(s.resolve(), [0, 1], [1e-3], [0.0], method=tt.GeneralizedAlpha(0.5, step=0.01))
    >>> trajectory.statistics["steps"], bool(abs(trajectory.q[-1, 0]) < 1e-12)
    (100, True)
    """

    spectral_radius: float = 0.8
    step: float | None = None

    def __post_init__(self) -> None:
        radius = real_array(self.spectral_radius)
        if radius is None or radius.shape != () or not 0 <= radius <= 1:
            expected, advice = "a number from 0 to 1", "0.8 suits most simulations"
            raise ModelError(Finding("bad-radius", "spectral_radius", self.spectral_radius, expected, advice))
        step = real_array(1.0 if self.step is None else self.step)
        if step is None or step.shape != () or not 0 < step < np.inf:
            raise ModelError(Finding("bad-step", "step", self.step, "a positive number (s) or None", "None adapts the step"))

    @cached_property
    def coefficients(self) -> Coefficients:
        """The scheme's numbers."""
        radius = float(self.spectral_radius)
        alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
        offset = alpha_m - alpha_f
        gamma = 0.5 - offset
        beta = 0.25 * (gamma + 0.5) ** 2
        curvature = 0.5 * (1 - alpha_f) - (1 - alpha_m) * (0.5 + offset)
        errors = beta + offset / 2 - 1 / 6, curvature + gamma * (0.5 + offset) - 1 / 6
        return Coefficients(alpha_m, alpha_f, beta, gamma, offset, *errors)


class Coefficients(NamedTuple):
    """Numbers of the scheme; a step's errors are ``error_q h^3 da/dt`` in q and ``error_v h^3 d2a/dt2`` in v."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    offset: float
    error_q: float
    error_v: float

    @property
    def share(self) -> float:
        """Change of a1 a unit of w1."""
        return (1 - self.alpha_m) / (1 - self.alpha_f)


class Node(NamedTuple):
    """Time, state and averaged acceleration w at the end of a step of length h, and dw/dt over it (None at the start).

    `v_closed` is the velocity with which the loops stay closed.
    """

    t: float
    q: Array
    v: Array
    v_closed: Array
    a: Array
    w: Array
    h: float
    jerk: Array | None


class AlphaSolver:
    """Steps of the scheme; see `Stepper` of `constrained_integration`.

    Parameters
    ----------
    plant : Plant
    scheme : GeneralizedAlpha
    start, end : float, s
    y0 : array
        ``[q, v]``, on the closures.
    rtol, atol : float
        Of the error of a step in q (tangent, from the neutral configuration) and v; Newton's method stops at a hundredth.
    max_step : float, s
    """

    def __init__(
        self,
        plant: Plant,
        scheme: GeneralizedAlpha,
        start: float,
        end: float,
        y0: Array,
        rtol: float,
        atol: float,
        max_step: float,
    ) -> None:
        if plant.model.is_constrained and scheme.spectral_radius > _LARGEST_RADIUS:
            expected, advice = f"at most {_LARGEST_RADIUS} with rigid closures", "multipliers would swing undamped; take 0.8"
            raise ModelError(Finding("bad-radius", "spectral_radius", scheme.spectral_radius, expected, advice))
        self.plant, self.model, self.scheme = plant, plant.model, scheme
        self.coefficients, self.equations = scheme.coefficients, ImplicitDynamics(plant)
        self.end, self.rtol, self.atol, self.span = end, rtol, atol, end - start
        self.free = ~plant.motion.mask
        self.counts = dict.fromkeys(("steps", "rejected", "evaluations", "iterations", "jacobians"), 0)
        self._slopes: Slopes | None = None
        q, v = plant.split(start, y0)
        a, _ = plant.dynamics(start, q, v)
        self.node = self.before = Node(start, q, v, v, a, a, 0.0, None)
        self.longest = max_step if scheme.step is None else self.span / math.ceil(self.span / scheme.step * (1 - 1e-12))
        self.h = min(self.longest, self.span)
        self.smallest = _SMALLEST * self.span if scheme.step is None else _SHORTER * self.longest
        if scheme.step is None:
            self.h = min(self.h, self._first_step())

    # -- what the loop asks for ----------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time (s) that is reached."""
        return self.node.t

    @property
    def y(self) -> Array:
        """State ``[q, v]`` that is reached."""
        return np.concatenate([self.node.q, self.node.v])

    @property
    def status(self) -> str:
        """Whether it is ``"running"`` or ``"finished"``."""
        return "running" if self.node.t < self.end else "finished"

    def statistics(self) -> dict[str, float]:
        """Return what was counted."""
        return dict(self.counts)

    def go_on(self, state: Array) -> None:
        """Take the closed state that belongs to the one that is reached."""
        q, v = self.plant.split(self.t, state)
        self.node = self.node._replace(q=q, v_closed=v)

    def dense_output(self) -> Callable[[float], Array]:
        """Return ``[q, v]`` as a function of time within the last step: a cubic in the tangent space, and its rate."""
        first, last, model = self.before, self.node, self.model
        delta = model.difference(first.q, last.q)
        begin, end = last.h * first.v, last.h * np.linalg.solve(tangent(model, delta), last.v)

        def state(t: float) -> Array:
            s = (t - first.t) / last.h
            along = s * s * (3 - 2 * s) * delta + s * (1 - s) * ((1 - s) * begin - s * end)
            rate = 6 * s * (1 - s) * delta + (1 - s) * (1 - 3 * s) * begin - s * (2 - 3 * s) * end
            return np.concatenate([model.integrate(first.q, along), tangent(model, along) @ rate / last.h])

        return state

    def step(self) -> None:
        """Make a step, of a length with which its error is small and Newton's method converges.

        Raises
        ------
        ConvergenceError
            If there is none.
        """
        grow, adaptive = True, self.scheme.step is None
        while True:
            h, t = self._until_end(self.h)
            if h < min(self.smallest, self.end - self.t):
                raise self._gave_up(h)
            step = Step(self, h, t)
            if not step.solve():
                self.h, grow = 0.5 * h, False
                self.counts["rejected"] += 1
                continue
            error = step.error() if adaptive else 0.0
            factor = float(np.clip(_SAFETY * max(error, 1e-10) ** (-1 / 3), _LEAST, _MOST))
            if error <= 1:
                break
            self.h, grow = h * min(factor, _SAFETY), False
            self.counts["rejected"] += 1
        self.before, self.node = self.node, step.node()
        self.counts["steps"] += 1
        if grow and not 1 <= factor < _WORTH_A_CHANGE and (adaptive or self.h < self.longest):
            self.h = min(self.h * factor, self.longest)

    # -- for the steps -------------------------------------------------------------------------------------------------

    def slopes(self, step: Step, renew: bool) -> Slopes:
        """Return the slopes to use: those of former steps, or if there are none, or to `renew` them, of a step's present state.

        Compliant closures are given the forces of the step's beginning: those of a guess would be way off.
        """
        if self._slopes is None or renew:
            forces = compliant_forces(self.model, self.node.q, self.node.v_closed)
            self._slopes = self.equations.slopes(step.t, step.q, step.v, step.a, step.multipliers, forces)
            self.counts["jacobians"] += 1
        return self._slopes

    def scales(self, h: float) -> tuple[Array, Array]:
        """Return what errors in q (nv) and v (nv) are measured by, for a step of length h."""
        size = np.abs(self.model.difference(self.model.neutral(), self.node.q))
        scale_q = self.atol + self.rtol * size + _ROUNDING
        return scale_q, self.atol + self.rtol * np.abs(self.node.v_closed) + _ROUNDING / h

    def _until_end(self, h: float) -> tuple[float, float]:
        """Return the length of a step and the time at its end, so that the last steps are not of unlike lengths."""
        rest = self.end - self.t
        if h > rest * (1 - 1e-9):
            return rest, self.end
        if self.scheme.step is None:
            h = min(h, 0.5 * rest)
        return h, self.t + h

    def _first_step(self) -> float:
        """Return a step with an error near the tolerance, from the change of the accelerations over a very short one."""
        node, h = self.node, 1e-6 * self.span
        q, v = self.plant.split(
            node.t + h, np.concatenate([self.model.integrate(node.q, h * node.v + 0.5 * h * h * node.a), node.v + h * node.a])
        )
        jerk = (self.plant.dynamics(node.t + h, q, v)[0] - node.a) / h
        scale_q, scale_v = self.scales(self.span)
        worst = max(np.abs(jerk / scale_q).max() / 6, np.abs(jerk / scale_v).max() / self.span / 6, np.finfo(float).tiny)
        return float(np.clip(0.5 * worst ** (-1 / 3), 1e-9 * self.span, 0.05 * self.span))

    def _gave_up(self, h: float) -> ConvergenceError:
        return ConvergenceError(
            f"generalized-alpha gave up after t = {self.t:.6g} s of {self.end:.6g} s (steps of {2 * h:.3g} s are too long); "
            "perhaps efforts that jump or grow without bound, or a singular configuration; try "
            + ("looser tolerances" if self.scheme.step is None else "a shorter step, or none")
        )


class Step:
    """A step that is being solved: time t, state and multipliers at its end, as far as they are known.

    Unknown are w where motion is not prescribed, and the multipliers of independent constraints.
    """

    def __init__(self, solver: AlphaSolver, h: float, t: float) -> None:
        self.solver, self.h, self.t = solver, h, t
        node, self.numbers = solver.node, solver.coefficients
        ratio = h / node.h if node.h else 0.0
        self.q0, self.a0 = node.q, node.a
        self.v0 = node.v_closed + ratio**2 * (node.v - node.v_closed)
        self.w0 = node.a + ratio * (node.w - node.a)
        self.guess()

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
        self.q, self.v = motion.impose(self.t, self.solver.model.integrate(self.q0, self.increment), v)
        a = ((1 - n.alpha_m) * w + n.alpha_m * self.w0 - n.alpha_f * self.a0) / (1 - n.alpha_f)
        self.a = np.where(self.solver.free, a, motion.acceleration(self.t))

    def residual(self) -> Residual:
        """Return what is left of the equations."""
        self.solver.counts["evaluations"] += 1
        return self.solver.equations.residual(self.t, self.q, self.v, self.a, self.multipliers)

    def solve(self) -> bool:
        """Find the step's end by Newton's method, at first with the slopes of former steps; tell whether it converged."""
        if self._newton(renew=False) and self._stays_near():
            return True
        self.guess()
        return self._newton(renew=True) and self._stays_near()

    def _stays_near(self) -> bool:
        """Tell whether the coordinates of the loops bend by less than a radian: loops may close in other ways further away."""
        bend = np.abs(self.increment - self.h * self.v0)
        return bool((self.reach * bend).max(initial=0.0) < 1.0)

    def _newton(self, renew: bool) -> bool:
        """Tell whether Newton's method converges, with new slopes whenever it is slow if it may `renew` them."""
        scale_q, scale_v = self.scales = self.solver.scales(self.h)
        to_q, to_v = self.h**2 * self.numbers.beta / scale_q, self.h * self.numbers.gamma / scale_v
        before, left = np.inf, np.inf
        for iteration in range(_ITERATIONS):
            self.solver.counts["iterations"] += 1
            residual = self.residual()
            if iteration == 0 or (renew and left > _WORTH_SLOPES):
                residual = self.linearise(residual, renew)
            change = self.correction(residual)
            if not np.isfinite(change).all():
                return False
            self.place(self.w + change)
            size = max(np.abs(to_q * change).max(), np.abs(to_v * change).max())
            rate = size / before
            if size <= _NEWTON or (0 < rate < 1 and rate / (1 - rate) * size <= _NEWTON):
                return True
            left = np.log(size / _NEWTON) / -np.log(min(rate, 0.99)) if iteration else 0.0
            if left > (_ITERATIONS if renew else _WORTH_SLOPES) and iteration > renew:
                return False
            before = size
        return False

    def linearise(self, residual: Residual, renew: bool) -> Residual:
        """Factor Newton's matrix at the present state, and return what the best multipliers leave of the equations.

        Masses and closures are those of the state; the other slopes may be of former steps, unless they are to `renew`.
        """
        solver, n, h = self.solver, self.numbers, self.h
        self.rows = solver.equations.independent(self.q, residual.jacobian)
        self.reach = np.abs(residual.jacobian).max(axis=0, initial=0.0)
        residual = self._with_multipliers(residual)
        self.mass = solver.model.mass_matrix(self.q)
        slopes = solver.slopes(self, renew)
        turn = tangent(solver.model, self.increment)
        matrix = n.share * self.mass + h * n.gamma * slopes.damping + h * h * n.beta * slopes.stiffness @ turn
        jacobian, free = residual.jacobian[self.rows], solver.free
        corner = np.zeros((len(jacobian), len(jacobian)))
        self.factors = lu_factor(
            np.block([[matrix[np.ix_(free, free)], -jacobian[:, free].T], [(jacobian @ turn)[:, free], corner]]),
            check_finite=False,
        )
        return residual

    def _with_multipliers(self, residual: Residual) -> Residual:
        if not len(self.rows):
            return residual
        kept, free = residual.jacobian[self.rows], self.solver.free
        carried = np.linalg.lstsq(kept[:, free].T, residual.efforts[free], rcond=None)[0]
        self.multipliers[self.rows] += carried
        return residual._replace(efforts=residual.efforts - kept.T @ carried)

    def correction(self, residual: Residual) -> Array:
        """Return Newton's correction of w; that of the multipliers is made."""
        wanted = -residual.error[self.rows] / (self.h**2 * self.numbers.beta)
        change, multipliers = self._solved(-residual.efforts, wanted)
        self.multipliers[self.rows] += multipliers
        return change

    def _solved(self, efforts: Array, opening: Array) -> tuple[Array, Array]:
        free = self.solver.free
        solution: Any = lu_solve(self.factors, np.concatenate([efforts[free], opening]), check_finite=False)
        change = np.zeros(len(free))
        change[free] = solution[: free.sum()]
        return change, solution[free.sum() :]

    def error(self) -> float:
        """Return the estimated error of the step beside the tolerances.

        The leading terms are passed through Newton's matrix, which leaves them where they are resolved and limits them to the
        amplitudes of vibrations that are not.
        """
        n, h, old = self.numbers, self.h, self.solver.node
        jerk = (self.w - self.w0) / h
        errors = [(n.error_q * h**3 * jerk, self.scales[0])]
        if old.jerk is not None:
            apart = 0.5 * (h + old.h) + n.offset * (h - old.h)
            errors.append((n.error_v * h**3 * (jerk - old.jerk) / apart, self.scales[1]))
        nothing = np.zeros(len(self.rows))
        return max(
            float(np.abs(self._solved(n.share * self.mass @ error, nothing)[0] / scale).max()) for error, scale in errors
        )

    def node(self) -> Node:
        """Return the end of the step."""
        return Node(self.t, self.q, self.v, self.v, self.a, self.w, self.h, (self.w - self.w0) / self.h)


def tangent(model: Model, dq: Array) -> Array:
    """Return how ``integrate(q, dq)`` moves, as a tangent there, with dq (nv x nv): the identity for plain coordinates."""
    matrix = np.eye(model.nv)
    for block in model.assembly.blocks_with_coordinates():
        if isinstance(block, Joint) and block.nq != block.nv:
            where = model.assembly.v_slices[block.name]
            matrix[where, where] = np.linalg.inv(block.difference_jacobian(dq[where]))
    return matrix
