"""A model with all its loads, as a simulation integrates it: its states, accelerations and rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import all_finite, read_state
from titop.solvers.control.continuous_loop import ContinuousLoop, LinearFeedback
from titop.solvers.control.control_loop import ControlLoop
from titop.solvers.control.sampled_loop import at_output
from titop.solvers.engines.compiled.compiled_engine import CompiledEngine
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics
from titop.solvers.mechanism.inputs import WrenchPlace
from titop.solvers.model.model import Model
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.acting import NOWHERE, Constant, Drive
from titop.solvers.simulation.gaps import Gaps
from titop.solvers.simulation.path_signals import PathSignals

#: Above this number of output times a kernel for stacked states pays, which has to be compiled once.
_MANY = 200


class DrivenModel(Drive):
    """A model with all its loads, as a function of time and state ``y = [q, v, x]``.

    In closed loop y also has the states of a continuous controller. The model's first-order states in effect are those of the
    state that was `split` last, unless callers set them.

    - `model`, `times`, `tau`, `wrenches`, `u`, `loop`: see `Drive`;
    - `seed`: of the errors of devices; see `simulate`;
    - `prepared`: the dynamics under the loads; callers set its `rank` and `farthest`;
    - `in_x`: the place of the first-order states in y.
    """

    def __init__(
        self,
        model: Model,
        times: Array,
        tau: Any,
        wrenches: Mapping[str, Any],
        motion: PrescribedMotion,
        u: Any,
        loop: ControlLoop | None,
        seed: Any = 0,
    ) -> None:
        super().__init__(model, times, tau, wrenches, u, loop)
        self.motion, self._times = motion, times.tolist()
        connected = [] if loop is None else loop.connected
        for each in connected:
            each.measurements.plant = self
        is_stepwise = isinstance(self._inputs, Constant) and not isinstance(loop, ContinuousLoop)
        paths = PathSignals(model, times, connected, seed, is_stepwise)
        self.paths = paths if paths else None
        self.is_driven = self.is_driven or bool(paths.actuators)
        self._in_q, self._in_v = slice(model.nq), slice(model.nq, model.nq + model.nv)
        self.in_x = slice(self._in_v.stop, self._in_v.stop + model.nx)
        places = [WrenchPlace(port, False) for port in (*self.constant, *self.varying)]
        places += model.mechanism.inputs.places if self.is_driven else []
        self.prepared = model.mechanism.engine.dynamics.prepare(places, motion.mask)
        for row, wrench in zip(self.prepared.wrenches, self.constant.values(), strict=False):
            row[:] = wrench
        rows = self.prepared.wrenches[len(self.constant) :]
        self._varying_rows = list(zip(rows, self.varying.values(), strict=False))  # behind them, those of inputs
        #: What acted last where only commands change it, and by which of these.
        self._last: tuple[Any, tuple[Array, Any]] | None = None

    def kinks(self, tolerance: float) -> Array:
        """Return the times (s) at which sampled loads and splines have kinks that matter at a relative `tolerance`.

        Kinks of functions are unknown.
        """
        return np.unique(np.concatenate([np.zeros(0), *(table.kinks(tolerance) for table in self.samples), *self.motion.kinks]))

    @cached_property
    def gaps(self) -> Gaps:
        """The gaps of blocks, joints and interactions: functions that are zero where these switch."""
        return Gaps(self.model, self.prepared)

    def act(self, t: float, y: Array) -> float:
        """Put the controller's command at a state into effect, and what paths hold; return until when (s) they hold."""
        if self.paths is None:
            return math.inf if self.loop is None else self.loop.act(self, t, y)
        if self.command is None and self.loop is not None:
            self.command = self.loop.begin(self, t, y)
        self.paths.rest(t, self.commanded(t, *self.split(t, y)))
        self.paths.sense(self, t, y)
        until = math.inf if self.loop is None else self.loop.act(self, t, y)
        if until <= t + self.paths.margin and self.loop is not None:  # one instant but for rounding
            until = self.loop.act(self, until, y)
        if isinstance(self.loop, ContinuousLoop):
            self.command = self.loop.command_at(self, t, y)
        self._last = None
        return min(until, at_output(self.paths.drive(self, t, y), self._times, self.paths.margin))

    # -- states ------------------------------------------------------------------------------------------------------------

    @cached_property
    def has_plain_states(self) -> bool:
        """Whether y has q and v unchanged: no quaternion to normalise, no prescribed motion to impose."""
        return not (self.model.mechanism.quaternions or self.motion.names)

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q (unit quaternions) and v of a state, with prescribed motions imposed."""
        if self.loop is not None and not all_finite(y):
            largest = 0.0 if self.command is None else np.abs([*self.command.u, *self.command.tau]).max()
            got, advice = f"commands up to {largest:.3g}, and no finite state", "the loop is unstable, or the gains are wrong"
            raise ModelError(Finding("not-finite", f"controller at t = {t:.6g} s", got, "finite states", advice))
        self.x = y[self.in_x]
        if self.paths is not None:
            self.paths.seek(t)
        return self.motion.impose(t, self.model.mechanism.unit_configuration(y[self._in_q]), y[self._in_v])

    def split_rows(self, t: Array, y: Array) -> tuple[Array, Array]:
        """Return q (n, nq) and v (n, nv) of states (n, ...) at times (n, s); see `split`."""
        if self.loop is not None and not np.isfinite(y).all():
            k = np.isfinite(y).all(axis=1).argmin()
            self.split(float(t[k]), y[k])  # raises if a controller is the reason
        return self.motion.impose_rows(t, self.model.mechanism.unit_configuration(y[:, self._in_q]), y[:, self._in_v])

    # -- loads -----------------------------------------------------------------------------------------------------------

    def _act(self, t: float, q: Array, v: Array, follow: bool = False) -> tuple[Array, Any]:
        if not self.is_held or (self.has_states and not follow):
            return self._let_act(t, q, v)
        if self._last is None or self._last[0] is not self.command:
            self._last = self.command, self._let_act(t, q, v)
        return self._last[1]

    def _let_act(self, t: float, q: Array, v: Array) -> tuple[Array, Any]:
        self._push(t, q, v)
        return self.efforts(t, q, v), self._drive(t, q, v) if self.is_driven else 0.0

    def _push(self, t: float, q: Array, v: Array) -> None:
        for row, wrench in self._varying_rows:
            row[:] = wrench.at(t, q, v)

    def _drive(self, t: float, q: Array, v: Array) -> Any:
        u, inputs = self.inputs(t, q, v), self.model.mechanism.inputs
        if u is None:
            return 0.0
        u = np.asarray(u)
        if inputs.places:
            self.prepared.wrenches[-len(inputs.places) :] = inputs.wrenches(u)
        if inputs.driving:
            self.prepared.drive_interactions(u)
        return inputs.efforts(u, q)

    def act_held(self, tau: Array) -> None:
        """Set the loads that `is_held`, without sampled efforts and continuous controllers' commands; write all efforts."""
        if isinstance(self.loop, ContinuousLoop):
            tau[:] = self._efforts.at(0.0, *NOWHERE)
        elif self.is_sampled:
            tau[:] = self._drive(0.0, *NOWHERE) if self.is_driven else 0.0
        else:
            np.add(*self._act(0.0, *NOWHERE), out=tau)

    def act_at(self, t: float, q: Array, v: Array, tau: Array) -> None:
        """Set the loads of users' functions at a state; write all efforts (nv). Callers check whether they are finite."""
        np.add(*self._let_act(t, q, v), out=tau)

    def act_on(self, t: float, q: Array, v: Array) -> Array:
        """Put loads but first-order states into effect; return all efforts (nv). Commands come from `answer` if set."""
        if self.answer is not None:
            self.command = self.answer(t, q, v)
        tau: Array = np.add(*self._act(t, q, v, True))
        if not all_finite(tau):
            self.check_acting()
        return tau

    def acting_rows(self, t: Array, y: Array, q: Array, v: Array) -> tuple[Array, Array, dict[str, Array]]:
        """Return the loads at times t (n, s), where states are y (n, ...): q (n, nq) and v (n, nv).

        These are efforts (n, nv) that do not come from inputs; inputs (n, nu), zero where there are none; wrenches (n, 6) by
        port. Functions of the state are called once for each time, in this order.
        """
        n, model = len(t), self.model
        wrenches = {port: np.tile(self.constant.get(port, np.zeros(6)), (n, 1)) for port in (*self.constant, *self.varying)}
        if (histories := self.histories(t)) is not None:
            tau, inputs = histories
            return tau, np.zeros((n, model.nu)) if inputs is None else inputs, wrenches
        tau, inputs = np.empty((n, model.nv)), np.zeros((n, model.nu))
        for k, instant in enumerate(t.tolist()):
            if self.paths is not None:
                self.paths.seek(instant)
            if self.loop is not None:
                self.command = self.loop.command_at(self, instant, y[k])
            tau[k], u = self.efforts(instant, q[k], v[k]), self.inputs(instant, q[k], v[k])
            if u is not None:
                inputs[k] = model.mechanism.inputs.without_states(u)
            for port, wrench in self.varying.items():
                wrenches[port][k] = wrench.at(instant, q[k], v[k])
            if not (all_finite(tau[k]) and all_finite(inputs[k])):
                self.check_acting()
        return tau, inputs, wrenches

    # -- accelerations and rates -------------------------------------------------------------------------------------------

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and applied efforts, without those of motors."""
        tau, motors = self._act(t, q, v)
        try:
            a, efforts = self.prepared.dynamics(q, v, tau + motors, self.motion.acceleration(t))
        except ModelError:
            self.check_acting()
            raise
        return a, np.where(self.motion.mask, efforts - motors, tau)

    def dynamics_rows(
        self, t: Array, q: Array, v: Array, tau: Array, u: Array, wrenches: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Return accelerations and applied efforts (n, nv), without those of motors, at times t (n, s).

        States are q (n, nq) and v (n, nv). The loads are efforts `tau` (n, nv), inputs `u` (n, nu) followed by first-order
        states, and `wrenches` (n, 6).
        """
        model, inputs = self.model, self.model.mechanism.inputs
        if len(t) > _MANY and not (model.is_constrained or self.motion.names or self.prepared.stacks):
            loads, same = self.constant | {port: wrenches[port] for port in self.varying}, bool((u == u[0]).all())
            u_given = None if not inputs.count else u[0] if same else u
            return model.forward_dynamics(q, v, tau, loads or None, u=u_given), tau
        u = np.asarray(u)
        motors, places = inputs.efforts(u, q), inputs.wrenches(u) if self.is_driven else np.empty((len(t), 0, 6))
        pushes = np.concatenate([*(wrench[:, None] for wrench in wrenches.values()), places], axis=1)
        a, efforts = self.prepared.dynamics_rows(q, v, tau + motors, self.motion.accelerations(t), pushes, u)
        self._last = None
        return a, np.where(self.motion.mask, efforts - motors, tau)

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt, in closed loop with the rates of a continuous controller's states."""
        if isinstance(self.loop, ContinuousLoop):
            return self.loop.rate(self, t, y)
        if self.loop is None and not all_finite(y):  # `split` tells what a controller did
            names = *self.model.configuration_names, *self.model.coordinate_names, *self.model.state_names
            read_state("state", y, names)
        return self.rate_at(t, *self.split(t, y))

    def rate_at(self, t: float, q: Array, v: Array) -> Array:
        """Return dq/dt, the accelerations and dx/dt (nq + nv + nx) at a state."""
        tau, motors = self._act(t, q, v)
        try:
            return self.prepared.rate(q, v, tau + motors, self.motion.acceleration(t))
        except ModelError:
            self.check_acting()
            raise

    # -- compiled code ---------------------------------------------------------------------------------------------------

    def derivative(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return ``f(dy, t, y, *arguments)`` for the integrator, and the arguments; compiled if the whole system is."""
        model = self.model
        if self.is_plain and isinstance(model.mechanism.engine, CompiledEngine):
            tau, u = self.efforts(0.0, *NOWHERE), self.inputs(0.0, *NOWHERE)
            pushes = model.mechanism.external_pushes(self.constant, u)
            return model.mechanism.engine.state_derivative(
                pushes, tau if u is None else tau + model.mechanism.inputs.motors @ u
            )

        def derivative(dy: Array, t: float, y: Array) -> None:
            dy[:] = self.rate(t, y)

        return derivative, ()

    @property
    def is_plain(self) -> bool:
        """Whether the whole system is compiled and unconstrained, and loads are constant between commands."""
        model = self.model
        driven = bool(self.motion.names or model.nx) or isinstance(self.loop, ContinuousLoop) or not self.is_held
        engine = model.mechanism.engine
        return not driven and not model.is_constrained and isinstance(engine, CompiledEngine) and engine.is_compiled

    @cached_property
    def has_stages(self) -> bool:
        """Whether compiled code covers all of the motion, and a continuous controller: see `CompiledRungeKutta`."""
        dynamics = self.prepared
        if not isinstance(dynamics, CompiledPreparedDynamics) or dynamics.moving_otherwise:
            return False
        return not isinstance(self.loop, ContinuousLoop) or (self.is_held and self.linear_feedback is not None)

    @cached_property
    def linear_feedback(self) -> LinearFeedback | None:
        """Tables of a linear continuous controller, and of sampled efforts; None if tables cannot describe them."""
        if (efforts := self.sampled_efforts) is not None:
            nq, nv, nothing = self.model.nq, self.model.nv, np.zeros((0, 0))
            gains, motors = np.zeros((nv, nq + nv + self.model.nx)), np.zeros((nv, 0))
            return LinearFeedback(gains, efforts.samples, True, np.zeros((2, 0)), motors, nothing, efforts.rows)
        if not isinstance(self.loop, ContinuousLoop) or self.paths is not None:
            return None
        return self.loop.feedback(self.held_inputs)
