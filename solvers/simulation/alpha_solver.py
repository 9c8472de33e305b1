"""Integrating in time by the generalised-alpha scheme: steps whose length follows their errors and Newton's method."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.solvers.constraints.closed_derivatives import compliant_forces
from titop.solvers.control.control_loop import ContinuousLoop
from titop.solvers.control.implicit_control import Answer
from titop.solvers.model.model import Model
from titop.solvers.simulation.alpha_states import Stated, stated_at
from titop.solvers.simulation.alpha_step import Node, Step, tangent
from titop.solvers.simulation.closed_states import OnClosures, project
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.implicit_dynamics import Derivatives, ImplicitDynamics
from titop.solvers.simulation.plant import Plant

#: Rounding of coordinates, as a part of how far they reach.
_ROUNDING = 1e-13
_SAFETY, _LEAST, _MOST = 0.9, 0.2, 2.0
#: What a step leaves of the reach of coordinates and rates that errors are measured by.
_REMEMBERED = 0.99
#: A step that could grow by less is kept.
_WORTH_A_CHANGE = 1.2
#: By what steps may grow before derivatives are found anew.
_GROWN = 2.0
#: Steps below this part of the simulated time are given up, and fixed ones that would have to be so much shorter.
_SMALLEST, _SHORTER = 1e-11, 2e-3
#: How far to both sides of the end of a step what acts is looked at, in parts of the step.
_BESIDE = 1e-6
#: With rigid closures the spectral radius has to be less.
_LARGEST_RADIUS = 0.95


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
            expected, advice = (
                f"at most {_LARGEST_RADIUS} with rigid closures or gears",
                "multipliers would swing undamped; take 0.8",
            )
            raise ModelError(Finding("bad-radius", "spectral_radius", scheme.spectral_radius, expected, advice))
        self.plant, self.model, self.scheme = plant, plant.model, scheme
        self.coefficients, self.equations = scheme.coefficients, ImplicitDynamics(plant)
        self.end, self.rtol, self.atol, self.span = end, rtol, atol, end - start
        self.free = ~plant.motion.mask
        self.counts = dict.fromkeys(("steps", "rejected", "evaluations", "iterations", "jacobians"), 0)
        self._derivatives: Derivatives | None
        self._reach, self._alike, self._max_step = np.zeros((2, self.model.nv)), _alike(self.model), max_step
        self._begin_anew(start, y0)

    def _begin_anew(self, t: float, y: Array) -> None:
        """Begin at a state, knowing nothing of steps before, towards the end."""
        q, v = self.plant.split(t, y)
        control = self._first_answer(t, y)
        a, _ = self.plant.dynamics(t, q, v)
        own = stated_at(self.plant, t, q, v)
        self.node = self.before = self._earlier = Node(t, q, v, v, a, a, 0.0, None, control, own)
        self._derivatives, self._holds_for, self._rounds = None, 0.0, False
        self._look()
        self._set_out()
        self.h = min(self.longest, self.span)
        if self.scheme.step is None:
            self.h = min(self.h, self._first_step())

    def _set_out(self) -> None:
        """Let steps be of lengths that suit the way to the end."""
        step, self.span = self.scheme.step, self.end - self.t
        self.longest = self._max_step if step is None else self.span / math.ceil(self.span / step * (1 - 1e-12))
        self.smallest = _SMALLEST * self.span if step is None else _SHORTER * self.longest

    #: Whether nothing switched: nobody has looked.
    is_clear = None

    # -- what the loop asks for ----------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time (s) that is reached."""
        return self.node.t

    @property
    def y(self) -> Array:
        """State ``[q, v]`` that is reached, and states of the first order and of a controller."""
        return np.concatenate([self.node.q, self.node.v, *self._others()])

    def _others(self, later: float = 0.0) -> list[Array]:
        """Return states of the first order and of a controller, a time `later` (s)."""
        return [part.x + later * part.rate for part in (self.node.own, self.node.control) if part is not None]

    @property
    def begin(self) -> float:
        """Where the last step began (s)."""
        return self.before.t

    @property
    def status(self) -> str:
        """Whether it is ``"running"`` or ``"finished"``."""
        return "running" if self.node.t < self.end else "finished"

    def statistics(self) -> dict[str, float]:
        """Return what was counted."""
        return dict(self.counts)

    def go_on(self, closed: OnClosures) -> None:
        """Take the closed state that belongs to the one that is reached."""
        q, v = self.plant.split(self.t, closed.y)
        self.node = self.node._replace(q=q, v_closed=v)
        if self._rounds:
            self._begin_anew(self.t, self.y)
        else:
            self._look()

    def dense_output(self) -> Callable[[Array], Array]:
        """Return rows ``[q, v]`` as a function of times (m) in the last step: a cubic in the tangent space, and its rate."""
        first, last, model = self.before, self.node, self.model
        delta = model.difference(first.q, last.q)
        begin, end = last.h * first.v, last.h * np.linalg.solve(tangent(model, delta), last.v)

        def state(t: float) -> Array:
            s = (t - first.t) / last.h
            along = s * s * (3 - 2 * s) * delta + s * (1 - s) * ((1 - s) * begin - s * end)
            rate = 6 * s * (1 - s) * delta + (1 - s) * (1 - 3 * s) * begin - s * (2 - 3 * s) * end
            pairs = (first.own, last.own), (first.control, last.control)
            own = [_between(one, two, last.h, s) for one, two in pairs if one is not None and two is not None]
            return np.concatenate([model.integrate(first.q, along), tangent(model, along) @ rate / last.h, *own])

        return lambda times: np.array([state(t) for t in times])

    def end_at(self, t: float) -> OnClosures:
        """Make the last step again, up to a time (s) within it, or before; return the state on the closures there.

        How short it is says nothing of the steps behind it: these are of the length that was wanted, if it reaches the time.
        """
        end, wanted, self.node, self.before = self.end, self.h, self.before, self._earlier
        self.end, self.h = t, t - self.node.t
        self.counts["steps"] -= 1
        try:
            return self.step(-math.inf)
        finally:
            self.end = end
            if self.t == t:
                self.h = wanted

    def pass_over(self, t: float) -> OnClosures | None:
        """Tell that steps begin where others end."""
        return None

    def go_to(self, end: float, anew: bool) -> bool:
        """Go on to a later end (s); from a state alone where accelerations jump, so that those before say nothing.

        They may wherever steps end, `anew` or not: at knots of splines too.
        """
        self.end = end
        if self._jumps():
            self._begin_anew(self.t, self.y)
        else:
            self._bend()
            self._set_out()
            self.h = min(self.h if self.scheme.step is None else self.longest, self.longest)
        return True

    def _bend(self) -> None:
        """Let the rate of the accelerations, and what is averaged with it, be that of what acts from now on."""
        node, plant, step = self.node, self.plant, _BESIDE * self.node.h
        if node.jerk is None or isinstance(plant.loop, ContinuousLoop):
            return
        y = np.concatenate([node.q, node.v_closed, *self._others()])
        after, before, now = (plant.dynamics(t, *plant.split(t, y))[0] for t in (self.t + step, self.t - step, self.t))
        bend = (after + before - 2.0 * now) / step
        self.node = node._replace(w=node.w + self.coefficients.offset * node.h * bend, jerk=node.jerk + bend)

    def _jumps(self) -> bool:
        """Tell whether accelerations jump by more than the tolerances let pass in a step."""
        if isinstance(self.plant.loop, ContinuousLoop):
            return False
        self._let_states_act()
        a, _ = self.plant.dynamics(self.t, self.node.q, self.node.v_closed)
        return bool((self.h * np.abs(a - self.node.a) > self.scales(self.h)[1]).any())

    def step(self, watch: float) -> OnClosures:
        """Make one step, of a length with which its error is small and Newton's method converges, whatever to `watch` for.

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
            error = np.nan_to_num(step.error(), nan=np.inf) if adaptive else 0.0
            factor = float(np.clip(_SAFETY * max(error, 1e-10) ** (-1 / 3), _LEAST, _MOST))
            if error <= 1:
                break
            self.h, grow = h * min(factor, _SAFETY), False
            self.counts["rejected"] += 1
        self._earlier, self.before, self.node = self.before, self.node, step.node()
        self._rounds = step.rounds
        if step.has_renewed:
            self._holds_for = 0.0
        self.counts["steps"] += 1
        if grow and not 1 <= factor < _WORTH_A_CHANGE and (adaptive or self.h < self.longest):
            self.h = min(self.h * factor, self.longest)
        return project(self.plant, self.t, self.y)

    # -- for the steps -------------------------------------------------------------------------------------------------

    def derivatives(self, step: Step) -> Derivatives:
        """Return the derivatives at the start of a step, or those of a former one that still hold.

        They do not where Newton's method needed others since, nor for steps that have grown since: stiffness that has gone, as
        that of a stop that was left, does not show in short steps.
        """
        if self._derivatives is None or step.h > self._holds_for:
            node, equations, multipliers = self.node, self.equations, np.zeros(len(self.model.constraint_names))
            self._let_states_act()
            residual = equations.residual(node.t, node.q, node.v_closed, node.a, multipliers)
            rows = equations.independent(residual.jacobian)
            multipliers[rows] = step.carried(residual, rows)
            half = 0.5 * step.h
            self._derivatives = equations.derivatives(node.t, node.q, node.v_closed, node.a, multipliers, half=half)
            self._holds_for = _GROWN * step.h
            self.counts["evaluations"] += 1
            self.counts["jacobians"] += 1
        return self._derivatives

    def renewed(self, step: Step) -> Derivatives:
        """Return the derivatives at a step's present state.

        Compliant closures are given the forces of the step's beginning: those of a guess would be way off.
        """
        forces = compliant_forces(self.model, self.node.q, self.node.v_closed)
        self.counts["jacobians"] += 1
        return self.equations.derivatives(step.t, step.q, step.v, step.a, step.multipliers, forces, 0.5 * step.h)

    def _let_states_act(self) -> None:
        """Let the states of the first order act that are reached."""
        if self.node.own is not None:
            self.plant.x = self.node.own.x

    def scales(self, h: float) -> tuple[Array, Array]:
        """Return what errors in q (nv) and v (nv) are measured by, for a step of length h."""
        (reach_q, reach_v), rounding = self._reach, _ROUNDING * self._rounded
        return self.atol + self.rtol * reach_q + rounding, self.atol + self.rtol * reach_v + rounding / h

    def _look(self) -> None:
        """Note how far coordinates and rates reach: what swings is measured by its amplitude, where it passes zero too.

        Own coordinates of a body are measured by the one that goes farthest among those of the same unit. They round, and what
        others do to them: of these, those that reach farthest, and in loops the places of which these take differences.
        """
        now = np.abs([self.model.difference(self.model.neutral(), self.node.q), self.node.v_closed])
        order, first, of = self._alike
        if len(order):
            now[:, order] = np.maximum.reduceat(now[:, order], first, axis=1)[:, of]
        self._reach = np.maximum(now, _REMEMBERED * self._reach)
        sizes, (reach, _) = self.model.coordinate_weights, self._reach
        others = min(1.0, (reach / sizes).max()) if self.model.is_tree else 1.0
        self._rounded = np.maximum(reach, others * sizes)

    def _first_answer(self, t: float, y: Array) -> Answer | None:
        """Return what a continuous controller has come to at the beginning, its command acting; None without one."""
        plant, model = self.plant, self.model
        if not isinstance(plant.loop, ContinuousLoop):
            return None
        plant.answer = None
        rate = plant.loop.rate(plant, t, y)
        x = slice(model.nq + model.nv + model.nx, None)
        plant.command = plant.loop.command_at(plant, t, y)
        return Answer(y[x], rate[x], plant.command)

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
        moved = self.model.integrate(node.q, h * node.v + 0.5 * h * h * node.a), node.v + h * node.a
        q, v = self.plant.split(node.t + h, np.concatenate([*moved, *self._others(h)]))
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


def _between(first: Answer | Stated, last: Answer | Stated, h: float, s: float) -> Array:
    """Return states of the first order, or a controller's, within a step, the part s of it done: a cubic."""
    moved = last.x - first.x
    bend = s * (1 - s) * ((1 - s) * (h * first.rate - moved) - s * (h * last.rate - moved))
    between: Array = first.x + s * moved + bend
    return between


def _alike(model: Model) -> tuple[Array, Array, Array]:
    """Return the own coordinates of bodies, those of one body and unit side by side; where these begin, and which each is."""
    units, groups = np.array(model.assembly.coordinate_units), []
    for block in model.assembly.blocks_with_coordinates:
        if not isinstance(block, Joint):
            where = model.assembly.v_slices[block.name]
            own = np.arange(where.start, where.stop)
            groups += [own[units[where] == unit] for unit in np.unique(units[where])]
    sizes = np.array([len(group) for group in groups], dtype=int)
    order = np.concatenate([*groups, np.zeros(0, dtype=int)])
    return order, np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(int), np.repeat(np.arange(len(groups)), sizes)
