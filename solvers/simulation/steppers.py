"""Base of the integrators: steps that keep loops closed, also across singular configurations.

With accelerations that satisfy the constraints (index 1), errors of the integrator still open the loops slowly. After every
step the state is therefore projected onto the closures (the configuration by the least change, then the velocity), and the
integrator continues from there. The rank of the constraints is kept: slightly off the closures redundant constraints look
independent.

Next to a singular configuration closure errors are divided by the distance from it, or by its square, and look like motion.
There the states within a step are projected too, and no step ends so near that rounding alone has this effect.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, NEGLIGIBLE, SAME
from titop.solvers.arguments.reading import all_finite
from titop.solvers.kernels.ports.guards import PARTS, exactness
from titop.solvers.simulation.closed_states import NEAR, UTMOST, ClosedState, explain_trial, project, project_rows, went_too_far
from titop.solvers.simulation.driven_model import DrivenModel

#: Explicit methods.
EXPLICIT = ("DOP853", "RK45", "RK23")
#: Methods that can continue from a projected state. Multistep methods cannot: their history would have to be projected as well.
_PROJECTING = (*EXPLICIT, "Radau")

#: Distance from singular configurations below which no step ends: the smallest independent constraint, relative to the largest
#: of the motion so far.
_LANDING = NEGLIGIBLE
#: Parts of a step that are tried in its place if it ends too near to a singular configuration.
_SHORTER = (0.95, 0.9, 0.8, 0.65)
#: Steps next to a singular configuration that are shorter than this part of the whole time lead into it, not across it.
_STUCK = SAME
#: Time derivatives of gaps are differences over this part of a step.
_RATE = CLOSE


def require_projecting(method: str) -> None:
    """Reject methods that cannot keep loops closed."""
    if method not in _PROJECTING:
        expected = " or ".join((*_PROJECTING, "generalized-alpha"))
        advice = 'with rigid closures or gears take "Radau" for stiff systems, "DOP853" for others'
        raise ModelError(Finding("unknown-method", "method", method, expected, advice))


class Tolerances(NamedTuple):
    """Tolerances of a step's error: relative, absolute of each entry of the state; and the longest step (s)."""

    rtol: float
    atol: Array
    max_step: float


class Stepper(ABC):
    """Makes steps from a state on the closures to an end.

    `is_clear`: whether compiled code saw no guarded gap switch in the last steps; None if it did not check.
    """

    is_clear: bool | None = None

    @property
    @abstractmethod
    def t(self) -> float:
        """The time (s) reached."""

    @property
    @abstractmethod
    def begin(self) -> float:
        """Where the last step began (s)."""

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Whether the end has not been reached yet."""

    @abstractmethod
    def step(self, watch: float) -> ClosedState:
        """Make a step; return the state on the closures at its end.

        Unless every step has to be seen, it may make several, until one reaches the time `watch` (s).

        Raises `ConvergenceError` if the integrator gives up, or runs into a singular configuration, and `ModelError` if an
        error of the model there is the reason.
        """

    @abstractmethod
    def go_on(self, closed: ClosedState) -> None:
        """Continue from the projection of the state reached."""

    @abstractmethod
    def end_at(self, t: float) -> ClosedState:
        """End the last step at a time (s) within it, or before; return the state on the closures there."""

    @abstractmethod
    def pass_over(self, t: float) -> ClosedState | None:
        """Move the start of the next step to a time `t` (s) just behind the last step's end, past a discontinuity at that end.

        Returns the state at `t`, on the closures. One-step methods return None and start at the end itself: there the
        discontinuity lies in the first stage of a step, and only shortens it.
        """

    @abstractmethod
    def go_to(self, end: float, anew: bool) -> bool:
        """Set a later end (s); tell whether that is possible.

        The loads may have a kink here; if the integration begins `anew`, they may jump.
        """

    @abstractmethod
    def dense_output(self) -> Callable[[Array], Array]:
        """Return the states (m, n) within the last step as a function of times (m)."""

    @abstractmethod
    def statistics(self) -> dict[str, float]:
        """Return counts of steps and the like; see `Trajectory`."""

    @abstractmethod
    def memory(self) -> dict[str, Array]:
        """Return what the next step depends on besides the state: arrays by name."""

    @abstractmethod
    def recall(self, memory: Mapping[str, Array]) -> None:
        """Go on at the start as one of the same kind would that left a `memory` there."""


class OdeStepper(Stepper):
    """Steps of an integrator of dy/dt, `rate`; with rigid closures and gears it continues from projected states.

    - `start`, `end` (s);
    - `y0`: on the closures;
    - `name`: the method.
    """

    name: str
    #: Distance from a singular configuration, relative to the largest so far.
    _away = 1.0

    def __init__(self, plant: DrivenModel, start: float, end: float, y0: Array) -> None:
        self.plant, self._is_constrained = plant, plant.model.is_constrained
        self._refused: ModelError | None = None
        if self._is_constrained:
            self._least = _STUCK * abs(end - start)
            self._away = self._relative(project(plant, start, y0).distance)
        else:
            plant.dynamics(start, *plant.split(start, y0))  # raises what is wrong with it
            self._derivative, self._arguments = plant.derivative()

    def is_near(self) -> bool:
        """Tell whether a singular configuration is so near that states within the next step are projected too."""
        return self._is_constrained and self._away < NEAR

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt, at the projected state where it `is_near`.

        NaN where a trial state lies too far away, or its loops do not close, which makes the integrator take a shorter step.
        """
        dy = np.full(len(y), np.nan)
        if not np.isfinite(y).all():
            return dy
        try:
            if self._is_constrained:
                near = self.is_near()
                return self.plant.rate(t, project(self.plant, t, np.ascontiguousarray(y), UTMOST).y if near else y)
            self._derivative(dy, t, y, *self._arguments)
        except ConvergenceError:
            return np.full(len(y), np.nan)
        except ModelError as error:  # on trees, values of functions that are not finite are let pass too
            if not went_too_far(error) and (self._is_constrained or error.code != "not-finite"):
                raise
            self._refused = error
        return dy

    # -- to be defined by methods ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def y(self) -> Array:
        """The state reached, perhaps slightly off the closures."""

    @property
    @abstractmethod
    def end(self) -> float:
        """The time (s) at which it stops."""

    @abstractmethod
    def advance(self, watch: float) -> ClosedState | None:
        """Make a step, or several until one reaches the time `watch`; return the state reached, None if it has to be projected.

        Raises `ArithmeticError` if the integrator gives up.
        """

    @abstractmethod
    def go_back(self, length: float) -> None:
        """Return to the beginning of the last step, to make one of another length (s)."""

    @abstractmethod
    def move(self, y: Array) -> None:
        """Continue from another state."""

    def interpolate(self, t: float, is_behind: bool) -> bool:
        """End the last step at a time (s) within it or right behind it, by interpolation; tell whether that was done.

        One-step methods do not: they repeat the step with another length.
        """
        return False

    # -- steps -------------------------------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self.t < self.end

    def step(self, watch: float) -> ClosedState:
        return self._step_on_closures(watch) if self._is_constrained else self._step_of_tree(watch)

    def _step_of_tree(self, watch: float) -> ClosedState:
        plant, t, y = self.plant, self.t, self.y.copy()
        try:
            reached = self._try(watch)
            if reached is None or not plant.has_plain_states:
                reached = project(plant, self.t, self.y)
            if not all_finite(self.y) or self.t <= t:  # LSODA accepts these
                raise ConvergenceError(
                    f"{self.name} gave up after t = {t:.6g} s: numbers overflow, or steps are too short to count"
                )
        except ConvergenceError as error:
            plant.dynamics(t, *plant.split(t, y))
            raise error if self._refused is None else ConvergenceError(f"{error}; {explain_trial(self._refused)}") from None
        self._refused = None
        return reached

    def _step_on_closures(self, watch: float) -> ClosedState:
        """Make a step; a shorter one if it would end too near to a singular configuration."""
        closed = self._try(watch)
        if closed is not None:
            return closed
        length, closed = self.t - self.begin, self._closed_end()
        for part in _SHORTER if self._away > _LANDING else ():
            if closed is not None and self._relative(closed.distance) > _LANDING:
                break
            self.go_back(part * length)
            self._try(-math.inf)
            closed = self._closed_end()
        if self._away < _LANDING and self.t - self.begin < self._least and self.is_running:
            self._give_up("steps that shrink to nothing next to a singular configuration")
        return closed or project(self.plant, self.t, self.y)

    def _try(self, watch: float) -> ClosedState | None:
        try:
            return self.advance(watch)
        except ArithmeticError as error:
            self._give_up(f"{error}; perhaps a stiff system, looser tolerances, or a singular configuration")

    def _give_up(self, reason: str) -> NoReturn:
        raise ConvergenceError(f"{self.name} gave up after t = {self.t:.6g} s of {self.end:.6g} s: {reason}") from None

    def _closed_end(self) -> ClosedState | None:
        try:
            return project(self.plant, self.t, self.y)
        except ConvergenceError:
            return None

    def _relative(self, distance: float) -> float:
        """Return a distance from a singular configuration, relative to the largest so far."""
        prepared = self.plant.prepared
        prepared.farthest = max(prepared.farthest, distance)
        return distance / prepared.farthest if prepared.farthest else 1.0

    def go_on(self, closed: ClosedState) -> None:
        if self._is_constrained:  # others need no projection
            self._away = self._relative(closed.distance)
            self.move(closed.y)

    def end_at(self, t: float) -> ClosedState:
        if self.interpolate(t, False):
            return project(self.plant, self.t, self.y)
        self.go_back(t - self.begin)
        return self.step(-math.inf)

    def pass_over(self, t: float) -> ClosedState | None:
        return project(self.plant, self.t, self.y) if t < self.end and self.interpolate(t, True) else None


class LastStep:
    """The last step of a stepper: states and gaps within it.

    - `state`: at the end of the step, on the closures;
    - `begin`, `end` (s).
    """

    def __init__(self, plant: DrivenModel, stepper: Stepper, state: Array) -> None:
        self.plant, self.begin, self.end, self._stepper = plant, stepper.begin, stepper.t, stepper
        self._known = {self.end: state}
        self._dense: Callable[[Array], Array] | None = None

    @cached_property
    def exact(self) -> float:
        """Times (s) closer than this count as equal."""
        return exactness(self.end - self.begin, self.end)

    def split(self) -> list[float]:
        """Return the times (s) that divide it into equal parts."""
        return [self.begin + k / PARTS * (self.end - self.begin) for k in range(1, PARTS)]

    def state(self, t: float) -> Array:
        """Return the state on the closures at a time within the step."""
        return self._known[t] if t in self._known else self.states([t])[0]

    def states(self, times: Sequence[float]) -> list[Array]:
        """Return the states on the closures at times within the step; new ones are computed together and stored."""
        if unknown := [t for t in times if t not in self._known]:
            if self._dense is None:
                self._dense = self._stepper.dense_output()
            states = project_rows(self.plant, np.array(unknown), np.ascontiguousarray(self._dense(np.array(unknown))))
            self._known.update(zip(unknown, states, strict=True))
        return [self._known[t] for t in times]

    def gaps(self, times: Sequence[float]) -> tuple[Array, Array]:
        """Return the gaps (m, n) at times (m) within the step, its ends included, and their time derivatives."""
        gaps, step = self.plant.gaps, _RATE * (self.end - self.begin)
        if not gaps.follow_rates:
            return gaps.rows(*self._configurations(times), step)
        steps = np.array([step if t < 0.5 * (self.begin + self.end) else -step for t in times])
        q, v = self._configurations([*times, *(np.array(times) + steps).tolist()])
        here, aside = np.split(np.array([gaps.at(*state) for state in zip(q, v, strict=True)]), 2)
        return here, (aside - here) / steps[:, None]

    def _configurations(self, times: Sequence[float]) -> tuple[Array, Array]:
        return self.plant.split_rows(np.array(times), np.array(self.states(times)))
