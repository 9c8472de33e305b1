"""Integration by the generalised-alpha scheme: the step length follows its error and the convergence of Newton's method."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, NEGLIGIBLE, ONE_SIDED_STEP, SAME, TINY
from titop.solvers.control.continuous_loop import ContinuousLoop
from titop.solvers.simulation.alpha_step import AlphaSystem, Step, StepEnd, tangent
from titop.solvers.simulation.closed_states import ClosedState, project
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.generalized_alpha import FirstOrderStates, GeneralizedAlpha, cubic, model_states
from titop.solvers.simulation.steppers import Stepper, Tolerances

_SAFETY, _LEAST, _MOST = 0.9, 0.2, 2.0
#: The step length is kept if it could grow by less than this factor.
_WORTH_A_CHANGE = 1.2
#: The integrator gives up below this part of the simulated time, and where a fixed step would have to be so much shorter.
_SMALLEST, _SHORTER = EXACT, 2 * NEGLIGIBLE
#: Step of the differences that give rates of the accelerations: at the end of a step in parts of it, at the start in parts of
#: the whole time.
_BESIDE = 10 * ONE_SIDED_STEP
#: Upper bound of the spectral radius with rigid closures.
_LARGEST_RADIUS = 0.95


class AlphaSolver(Stepper):
    """Steps of the scheme.

    - `start`, `end` (s);
    - `y0`: ``[q, v]``, on the closures;
    - `rtol`, `atol`: tolerances of a step's error in q (tangent, from the neutral configuration) and v; Newton's method stops
      at a hundredth; `max_step` (s).
    """

    def __init__(
        self, plant: DrivenModel, scheme: GeneralizedAlpha, start: float, end: float, y0: Array, tolerances: Tolerances
    ) -> None:
        if plant.model.is_constrained and scheme.spectral_radius > _LARGEST_RADIUS:
            expected = f"at most {_LARGEST_RADIUS} with rigid closures or gears"
            advice = "multipliers would swing undamped; take 0.8"
            raise ModelError(Finding("bad-radius", "spectral_radius", scheme.spectral_radius, expected, advice))
        self.plant, self.model, self.scheme = plant, plant.model, scheme
        self.system = AlphaSystem(plant, scheme, tolerances)
        self.end, self.span, self._max_step = end, end - start, tolerances.max_step
        self._begin_anew(start, y0)

    def _begin_anew(self, t: float, y: Array) -> None:
        """Start from a state without the history of earlier steps, towards the end."""
        q, v = self.plant.split(t, y)
        control = self._first_answer(t, y)
        a, _ = self.plant.dynamics(t, q, v)
        states = model_states(self.plant, t, q, v)
        self.node = self.before = self._earlier = StepEnd(t, q, v, v, a, a, 0.0, None, control, states)
        self._rounds = False
        self.system.forget()
        self.system.look(self.node)
        self._set_out()
        self.h = min(self.longest, self.span)
        if self.scheme.step is None:
            self.h = min(self.h, self._first_step())

    def _set_out(self) -> None:
        step, self.span = self.scheme.step, self.end - self.t
        self.longest = self._max_step if step is None else self.span / math.ceil(self.span / step * (1 - EXACT))
        self.smallest = _SMALLEST * self.span if step is None else _SHORTER * self.longest

    @property
    def t(self) -> float:
        return self.node.t

    @property
    def y(self) -> Array:
        """State ``[q, v]`` at the present time, followed by first-order states and those of a controller."""
        return np.concatenate([self.node.q, self.node.v, *self._others()])

    def _others(self, later: float = 0.0) -> list[Array]:
        """Return the first-order states and those of a controller, a time `later` (s)."""
        return [part.x + later * part.rate for part in (self.node.first_order, self.node.control) if part is not None]

    @property
    def begin(self) -> float:
        return self.before.t

    @property
    def is_running(self) -> bool:
        return self.node.t < self.end

    def statistics(self) -> dict[str, float]:
        return dict(self.system.counts)

    def go_on(self, closed: ClosedState) -> None:
        q, v = self.plant.split(self.t, closed.y)
        self.node = self.node._replace(q=q, v_closed=v)
        if self._rounds and self.is_running:
            self._begin_anew(self.t, self.y)
        else:
            self.system.look(self.node)

    def memory(self) -> dict[str, Array]:
        node, numbers = self.node, (self.node.h, self.h, float(self._rounds))
        jerk = np.zeros(0) if node.jerk is None else node.jerk
        states = [np.concatenate(part[:2]) if part else np.zeros(0) for part in (node.first_order, node.control)]
        found = {"numbers": np.array(numbers), "jerk": jerk, "first_order": states[0], "control": states[1]}
        return found | {name: getattr(node, name) for name in ("q", "v", "v_closed", "a", "w")} | self.system.memory()

    def recall(self, memory: Mapping[str, Array]) -> None:
        last, self.h, rounds = memory["numbers"].tolist()
        first_order, control = self.node.first_order, self.node.control
        if first_order is not None:
            x, rate = np.split(memory["first_order"], 2)
            first_order = first_order._replace(x=x, rate=rate)
        if control is not None:
            x, rate = np.split(memory["control"], 2)
            control = control._replace(x=x, rate=rate)
        q, v, v_closed, a, w = (memory[name] for name in ("q", "v", "v_closed", "a", "w"))
        jerk = memory["jerk"] if len(memory["jerk"]) else None
        self.node = StepEnd(self.t, q, v, v_closed, a, w, last, jerk, control, first_order)
        self.before, self._earlier, self._rounds = self.node, self.node, bool(rounds)
        self.system.recall(memory)

    def dense_output(self) -> Callable[[Array], Array]:
        """Return the state in the last step: a cubic in the tangent space, and its rate."""
        first, last, model = self.before, self.node, self.model
        delta = model.difference(first.q, last.q)
        begin, end = last.h * first.v, last.h * np.linalg.solve(tangent(model, delta), last.v)

        def state(t: float) -> Array:
            s = (t - first.t) / last.h
            along = s * s * (3 - 2 * s) * delta + s * (1 - s) * ((1 - s) * begin - s * end)
            rate = 6 * s * (1 - s) * delta + (1 - s) * (1 - 3 * s) * begin - s * (2 - 3 * s) * end
            pairs = (first.first_order, last.first_order), (first.control, last.control)
            others = [cubic(one, two, last.h, s) for one, two in pairs if one is not None and two is not None]
            return np.concatenate([model.integrate(first.q, along), tangent(model, along) @ rate / last.h, *others])

        return lambda times: np.array([state(t) for t in times])

    def end_at(self, t: float) -> ClosedState:
        """Repeat the last step with its end at a time.

        The shorter length is not used for later steps: these keep the length chosen before, if it reaches the time.
        """
        end, wanted, self.node, self.before = self.end, self.h, self.before, self._earlier
        self.end, self.h = t, t - self.node.t
        self.system.counts["steps"] -= 1
        try:
            return self.step(-math.inf)
        finally:
            self.end = end
            if self.t == t:
                self.h = wanted

    def pass_over(self, t: float) -> ClosedState | None:
        return None

    def go_to(self, end: float, anew: bool) -> bool:
        """Restart without history where accelerations jump.

        They may jump wherever steps end, also if `anew` is false: at knots of splines, too.
        """
        self.end = end
        if self._rounds or self._jumps():
            self._begin_anew(self.t, self.y)
        else:
            self._bend()
            self._set_out()
            self.h = min(self.h if self.scheme.step is None else self.longest, self.longest)
        return True

    def _bend(self) -> None:
        """Add the change of slope of the loads here to the rate of the accelerations and to the averaged acceleration."""
        node, plant, step = self.node, self.plant, _BESIDE * self.node.h
        if node.jerk is None or isinstance(plant.loop, ContinuousLoop):
            return
        y = np.concatenate([node.q, node.v_closed, *self._others()])
        after, before, now = (plant.dynamics(t, *plant.split(t, y))[0] for t in (self.t + step, self.t - step, self.t))
        bend = (after + before - 2.0 * now) / step
        self.node = node._replace(w=node.w + self.system.coefficients.offset * node.h * bend, jerk=node.jerk + bend)

    def _jumps(self) -> bool:
        """Tell whether accelerations jump by more than the tolerances allow in a step."""
        if isinstance(self.plant.loop, ContinuousLoop):
            return self.plant.loop.sampled
        self.system.let_act(self.node)
        a, _ = self.plant.dynamics(self.t, self.node.q, self.node.v_closed)
        return bool((self.h * np.abs(a - self.node.a) > self.system.scales(self.h)[1]).any())

    def step(self, watch: float) -> ClosedState:
        """Make one step, with a length at which its error is small and Newton's method converges; `watch` is ignored."""
        grow, adaptive = True, self.scheme.step is None
        while True:
            h, t = self._until_end(self.h)
            if h < min(self.smallest, self.end - self.t):
                raise self._failure(h)
            step = Step(self.system, self.before, self.node, h, t)
            if not step.solve():
                self.h, grow = 0.5 * h, False
                self.system.counts["rejected"] += 1
                continue
            error = step.error() if adaptive else 0.0
            factor = min(_MOST, max(_LEAST, _SAFETY * max(error, TINY) ** (-1 / 3)))  # the least if it is not a number
            if error <= 1:
                break
            self.h, grow = h * min(factor, _SAFETY), False
            self.system.counts["rejected"] += 1
        self._earlier, self.before, self.node = self.before, self.node, step.node()
        self._rounds = step.rounds
        if step.has_renewed:
            self.system.holds_for = 0.0
        self.system.counts["steps"] += 1
        if grow and not 1 <= factor < _WORTH_A_CHANGE and (adaptive or self.h < self.longest):
            self.h = min(self.h * factor, self.longest)
        return project(self.plant, self.t, self.y)

    def _first_answer(self, t: float, y: Array) -> FirstOrderStates | None:
        """Return the states of a continuous controller at the beginning, with its command in effect; None without one."""
        plant, model = self.plant, self.model
        if not isinstance(plant.loop, ContinuousLoop):
            return None
        plant.answer = None
        rate = plant.loop.rate(plant, t, y)
        x = slice(model.nq + model.nv + model.nx, None)
        plant.command = plant.loop.command_at(plant, t, y)
        return FirstOrderStates(y[x], rate[x], plant.command)

    def _until_end(self, h: float) -> tuple[float, float]:
        """Return the length of a step and the time at its end, chosen so that the last steps have about the same length."""
        rest = self.end - self.t
        if h > rest * (1 - SAME):
            return rest, self.end
        if self.scheme.step is None:
            h = min(h, 0.5 * rest)
        return h, self.t + h

    def _first_step(self) -> float:
        """Return a first step with an error near the tolerance, from the change of the accelerations over a very short one."""
        node, h = self.node, _BESIDE * self.span
        ahead = self.model.integrate(node.q, h * node.v + 0.5 * h * h * node.a), node.v + h * node.a
        q, v = self.plant.split(node.t + h, np.concatenate([*ahead, *self._others(h)]))
        jerk = (self.plant.dynamics(node.t + h, q, v)[0] - node.a) / h
        scale_q, scale_v = self.system.scales(self.span)
        worst = max(np.abs(jerk / scale_q).max() / 6, np.abs(jerk / scale_v).max() / self.span / 6, TINY)
        return float(np.clip(0.5 * worst ** (-1 / 3), SAME * self.span, 0.05 * self.span))

    def _failure(self, h: float) -> ConvergenceError:
        return ConvergenceError(
            f"generalized-alpha gave up after t = {self.t:.6g} s of {self.end:.6g} s (steps of {2 * h:.3g} s are too long); "
            "perhaps efforts that jump or grow without bound, or a singular configuration; try "
            + ("looser tolerances" if self.scheme.step is None else "a shorter step, or none")
        )
