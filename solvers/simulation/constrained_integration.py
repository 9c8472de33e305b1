"""Integrating systems with rigid closures in time, step by step.

Accelerations keep the loops closed to second order only (index 1), so that errors of the integrator would open them. After
every step the state is therefore projected onto the closures (the configuration by least change, then the velocity), and the
integrator goes on from there; outputs and events are projected too. The rank of the constraints is held: at states that the
integrator has moved off the closures redundant constraints look independent by as little as they are off. Next to a singular
configuration what a state is off the closures, over the distance or its square, would be taken for motion: there the states
within a step are projected too, and no step ends so near that rounding alone would do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.integrate import DOP853, RK23, RK45, DenseOutput, OdeSolver, Radau
from scipy.optimize import brentq

from titop.blocks.errors import ConvergenceError, Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.inputs import Push
from titop.solvers.loops.assembling import open_loops, project_configuration, project_velocity, refuse_flipped
from titop.solvers.loops.closed_dynamics import rank_of_free
from titop.solvers.loops.multipliers import independence, independent_rows
from titop.solvers.model import Model
from titop.solvers.simulation.solution_pieces import Found, Reached

#: Integrators that can go on from a projected state. Those of several steps cannot: their history would have to move as well.
METHODS: dict[str, type[OdeSolver]] = {"DOP853": DOP853, "RK45": RK45, "RK23": RK23, "Radau": Radau}

#: Start values that miss the closures by less (rad and m, for a system of size one; and their rates) are projected.
_START = 1e-6

#: Distances from singular configurations, by the least independent constraint, relative to the largest of the motion so far.
#: Below the first states within a step are projected, below the second no step ends.
_NEAR = 0.3
_LANDING = 1e-3
#: Parts of a step that ended too near to a singular configuration that are tried in its place.
_SHORTER = (0.95, 0.9, 0.8, 0.65)
#: How well loops are closed after each step, and near singular configurations (rad, and m for a system of size one).
_CLOSED = 1e-13
_ROUNDING = 1e-17

#: An event: its function of time and state, with `terminal` and `direction` as attributes.
Watched = Callable[[float, Array], float]


class Plant(Protocol):
    """A model with all that acts on it, as a function of time and state ``y = [q, v]``, in closed loop with a controller's.

    See `titop.solvers.simulation.driven_model`.
    """

    model: Model
    motion: Any
    held_rank: int
    feedback: bool

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q and v, prescribed motions imposed."""

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt."""

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and efforts."""

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return efforts (nv), the motors' included, and what acts on ports; functions of the state if `feedback` is true."""


class Stepper(Protocol):
    """An integrator as `integrate_steps` sees it: time t (s) and state y that it has reached."""

    @property
    def t(self) -> float: ...

    @property
    def y(self) -> Array: ...

    @property
    def status(self) -> str:
        """``"running"`` until the end is reached."""

    def step(self) -> None:
        """Make a step, or raise a `ConvergenceError`."""

    def dense_output(self) -> Callable[[float], Array]:
        """Return the state within the last step as a function of time."""

    def go_on(self, state: Array) -> None:
        """Go on from the state on the closures that belongs to y."""

    def statistics(self) -> dict[str, float]:
        """Return what was counted; see `Trajectory`."""


def require_method(method: str) -> type[OdeSolver]:
    """Return the integrator of a name.

    Raises
    ------
    ModelError
        If it cannot keep loops closed.
    """
    if method not in METHODS:
        expected = " or ".join((*METHODS, "generalized-alpha"))
        advice = 'with rigid closures or gears take "Radau" for stiff systems, "DOP853" for others'
        raise ModelError(Finding("unknown-method", "method", method, expected, advice))
    return METHODS[method]


def closed_start(model: Model, q: Array, v: Array, fixed: Sequence[str]) -> tuple[Array, Array]:
    """Return start values on the closures; prescribed motions (`fixed`) keep theirs.

    Raises
    ------
    ModelError
        If they are further away than rounding explains.
    """
    rows = model.constraints(q, v)
    names = f", fixed={list(fixed)}" if fixed else ""
    if np.abs(model.closure_weights * rows.error).max() > _START:
        found, advice = f"{open_loops(model, q)} q0 leaves it so", f"start from m.assemble(q0{names})"
        raise ModelError(Finding("open-start", "q0", found, "a configuration that closes the loops", advice))
    rates = model.closure_weights * (rows.jacobian @ v)
    if np.abs(rates).max() > _START * max(1.0, np.abs(v).max()):
        worst = int(np.abs(rates).argmax())
        found = f"{model.constraint_names[worst]} changing at {(rows.jacobian @ v)[worst]:.3g}"
        advice = f"start with m.assemble_velocity(q0, v0{names})"
        raise ModelError(Finding("open-start", "v0", found, "a velocity that keeps the loops closed", advice))
    refuse_flipped(model, q)
    q = model.assemble(q, fixed)
    return q, model.assemble_velocity(q, v, fixed)


class Projected:
    """An integrator of scipy's that goes on from projected states.

    Parameters
    ----------
    plant : Plant
    integrator : subclass of scipy.integrate.OdeSolver
    start, end : float, s
    y0 : array
        On the closures.
    **options
        ``rtol``, ``atol`` and ``max_step`` of the integrator; ``jac`` of an implicit one.
    """

    def __init__(self, plant: Plant, integrator: type[OdeSolver], start: float, end: float, y0: Array, **options: Any) -> None:
        self._plant, self._steps = plant, 0
        self._farthest = 0.0
        self._near = False
        self._solver = integrator(_right_hand_side(plant, lambda: self._near), start, y0, end, **options)
        self._look(y0)

    @property
    def t(self) -> float:
        """Time (s) that is reached."""
        return float(self._solver.t)

    @property
    def y(self) -> Array:
        """State that is reached."""
        return self._solver.y

    @property
    def status(self) -> str:
        """``"running"`` until the end is reached."""
        return str(self._solver.status)

    def step(self) -> None:
        """Make a step.

        Raises
        ------
        ConvergenceError
            If the integrator gives up.
        """
        start = vars(self._solver).copy()
        self._try()
        length = self._solver.step_size
        for part in _SHORTER:
            if self._distance(self.y) > _LANDING:
                break
            counted = {name: getattr(self._solver, name) for name in ("nfev", "njev", "nlu")}
            vars(self._solver).update(start | counted | {"h_abs": part * length})
            self._try()
        self._steps += 1

    def _try(self) -> None:
        before, message = self.t, self._solver.step()
        if self.status == "failed":
            raise ConvergenceError(
                f"{type(self._solver).__name__} gave up after t = {before:.6g} s of {self._solver.t_bound:.6g} s ({message}); "
                "perhaps a stiff system, looser tolerances, or a singular configuration"
            )

    def _distance(self, y: Array) -> float:
        """Return the distance from a singular configuration, relative to the largest so far."""
        model, free = self._plant.model, ~self._plant.motion.mask
        if not model.is_constrained:
            return 1.0
        weighted = model.closure_weights[:, None] * model.closure_jacobian(y[: model.nq])
        distance = independence(weighted[:, free], self._plant.held_rank)
        self._farthest = max(self._farthest, distance)
        return distance / self._farthest if self._farthest else 1.0

    def _look(self, y: Array) -> None:
        self._near = self._distance(y) < _NEAR

    def dense_output(self) -> DenseOutput:
        """Return the state within the last step as a function of time."""
        return self._solver.dense_output()

    def go_on(self, state: Array) -> None:
        """Go on from a state."""
        self._look(state)
        self._solver.y = state
        self._solver.f = self._solver.fun(self.t, state)  # both kinds of integrator keep it for the next step

    def statistics(self) -> dict[str, float]:
        """Return what was counted."""
        return {"steps": self._steps, "evaluations": self._solver.nfev, "jacobians": int(self._solver.njev)}


def integrate_steps(
    plant: Plant,
    times: Array,
    events: Sequence[Watched],
    solver: Stepper,
    advance: Callable[[float, Array], None],
    reached: Reached,
) -> None:
    """Integrate to the end, or a terminal event.

    Parameters
    ----------
    plant : Plant
    times : (n,) array, s
    events : sequence of callable
    solver : Stepper
    advance : callable
        Is told time and state after every step.
    reached : Reached
        Its last state is on the closures; gets the states at the output times, and those at events.
    """
    values = [event(*reached.last) for event in events]
    while solver.status == "running":
        before = solver.t
        solver.step()
        state = project(plant, solver.t, solver.y)
        _follow_branch(plant, state)
        step = _Step(plant, before, solver, state, values)
        end = step.find(events, reached.found)
        ahead = times[len(reached.outputs) :]
        reached.outputs += [step.state(t) for t in ahead[ahead <= (solver.t if end is None else end)]]
        reached.ended = end is not None
        if reached.ended:
            break
        reached.last = solver.t, state
        values = step.values
        solver.go_on(state)
        advance(solver.t, state)


def _right_hand_side(plant: Plant, near: Callable[[], bool]) -> Callable[[float, Array], Array]:
    """Return dy/dt, at the projected state if it is `near` a singular configuration.

    NaN where a trial step went so far that numbers overflow or loops do not close, for the integrator to take a shorter one.
    """

    def derivative(t: float, y: Array) -> Array:
        if not np.isfinite(y).all():
            return np.full(len(y), np.nan)
        try:
            return plant.rate(t, project(plant, t, np.ascontiguousarray(y), _ROUNDING) if near() else y)
        except ConvergenceError:
            return np.full(len(y), np.nan)
        except ModelError as error:
            if (error.code, error.where) != ("not-finite", "result"):
                raise
            return np.full(len(y), np.nan)

    return derivative


def project(plant: Plant, t: float, y: Array, precision: float = _CLOSED) -> Array:
    """Return the state on the closures next to a given one, prescribed motions imposed."""
    model, fixed, rank = plant.model, plant.motion.mask, plant.held_rank
    q, v = plant.split(t, y)
    if not model.is_constrained:
        return np.concatenate([q, v, y[model.nq + model.nv :]])
    try:
        q = project_configuration(model, q, fixed, rank, precision)
        return np.concatenate([q, project_velocity(model, q, v, fixed, rank), y[model.nq + model.nv :]])
    except ConvergenceError as error:
        raise ConvergenceError(f"at t = {t:.6g} s {error}") from None


def _follow_branch(plant: Plant, state: Array) -> None:
    """Count the constraints that act anew, unless the state on the closures is next to a singular configuration."""
    model = plant.model
    if not model.is_constrained:
        return
    q = state[: model.nq]
    weighted = model.closure_weights[:, None] * model.closure_jacobian(q)
    if len(independent_rows(weighted[:, ~plant.motion.mask])) != plant.held_rank:
        try:
            plant.held_rank = rank_of_free(model, q, plant.motion.mask)
        except ModelError:
            return


class _Step:
    """A step of the integrator: states within it, and events."""

    def __init__(self, plant: Plant, before: float, solver: Stepper, state: Array, values: list[float]) -> None:
        self.plant, self.before, self.solver, self.last, self.values = plant, before, solver, state, values
        self.after = solver.t
        self._dense: Callable[[float], Array] | None = None

    def state(self, t: float) -> Array:
        """Return the state at a time within the step, on the closures."""
        if t == self.after:
            return self.last
        if self._dense is None:
            self._dense = self.solver.dense_output()
        return project(self.plant, t, self._dense(t))

    def find(self, events: Sequence[Watched], found: list[Found]) -> float | None:
        """Add the events within the step to what is found; return the time of the first terminal one."""
        old, self.values = self.values, [event(self.after, self.last) for event in events]
        zeros: list[tuple[float, int]] = []
        for k, (event, value, new) in enumerate(zip(events, old, self.values, strict=True)):
            direction = event.direction  # type: ignore[attr-defined]
            if (value < 0 <= new and direction >= 0) or (value > 0 >= new and direction <= 0):
                zeros.append((self._zero(event, value), k))
        for t, k in sorted(zeros):
            found[k].times.append(t)
            found[k].states.append(self.state(t))
            if events[k].terminal:  # type: ignore[attr-defined]
                return t
        return None

    def _zero(self, event: Watched, value: float) -> float:
        def along(t: float) -> float:
            return value if t == self.before else event(t, self.state(t))

        zero: float = brentq(along, self.before, self.after, xtol=4 * np.finfo(float).eps, rtol=4 * np.finfo(float).eps)
        return zero
