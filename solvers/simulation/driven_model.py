"""A model with everything that acts on it, as a simulation integrates it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import all_finite, read_state, read_wrenches
from titop.solvers.control.commands import Command
from titop.solvers.control.control_loop import ContinuousLoop, ControlLoop
from titop.solvers.control.linear_feedback import LinearFeedback
from titop.solvers.control.measurements import Measurements
from titop.solvers.engines.compiled.engine import CompiledEngine
from titop.solvers.engines.compiled.prepared import NO_GUARDS, CompiledPreparedDynamics
from titop.solvers.mechanism.inputs import Place, PortPush, Push
from titop.solvers.model.model import Model
from titop.solvers.model.prepared import Closed, PreparedDynamics
from titop.solvers.simulation.acting import (
    Asked,
    Constant,
    Sampled,
    check_functions,
    read_efforts,
    read_inputs,
    read_wrench_function,
)
from titop.solvers.simulation.compiled_stages import CompiledStages
from titop.solvers.simulation.findings import HalfTurns
from titop.solvers.simulation.gaps import Gaps
from titop.solvers.simulation.prescribed import PrescribedMotion

if TYPE_CHECKING:
    from titop.solvers.simulation.tableaus import Tableau

#: More output times than these are worth a kernel for stacked states, which has to be compiled once.
_MANY = 200
#: A state for functions that do not look at it.
_NOWHERE = (np.zeros(0), np.zeros(0))


class DrivenModel:
    """A model with everything that acts on it, as a function of time and state ``y = [q, v, x]``.

    In closed loop `command` is what the controller adds now, and y goes on with the states of a continuous controller. The
    model's states of the first order act as those of the last state that was `split` say, or as callers set them.
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
    ) -> None:
        self.motion = motion
        self.loop = loop
        self.command: Command | None = None
        #: What a continuous controller commands at the end of a step of an implicit integrator, as a function of the state.
        self.answer: Callable[[float, Array, Array], Command] | None = None
        check_functions(tau, wrenches, u)
        self._efforts = read_efforts(model, times, tau)
        read_wrenches({port: np.zeros(6) if callable(value) else value for port, value in wrenches.items()}, model.ports)
        self.constant = {port: np.asarray(value, dtype=float) for port, value in wrenches.items() if not callable(value)}
        self.varying = {port: read_wrench_function(port, value) for port, value in wrenches.items() if callable(value)}
        self.model = model
        self._in_q, self._in_v = slice(model.nq), slice(model.nq, model.nq + model.nv)
        #: Where the states of the first order stand in y, and what they are now.
        self.in_x = slice(self._in_v.stop, self._in_v.stop + model.nx)
        self.x = np.zeros(model.nx)
        self._inputs = read_inputs(model, times, u)
        self._is_driven = u is not None or loop is not None or model.nx > 0
        self._dynamics = self._prepared(self._is_driven)
        rows = self._dynamics.wrenches[len(self.constant) :]
        self._varying_rows = list(zip(rows, self.varying.values(), strict=False))  # behind them, those of inputs
        #: Whether nothing that acts changes but commands, and what acted last by them.
        self._steady = not self.varying and isinstance(self._efforts, Constant) and isinstance(self._inputs, Constant)
        self._last: tuple[Command | None, tuple[Array, Any]] | None = None
        #: Whether what acts is a function that may depend on the state.
        self.feedback = any(isinstance(acts, Asked) for acts in (self._efforts, self._inputs, *self.varying.values()))
        #: Springs that pass half a turn.
        self.half_turns = HalfTurns(model)
        #: What the integrator counted.
        self.counted: dict[str, float] = {}

    def kinks(self, tolerance: float) -> Array:
        """Return the times (s) at which samples and splines that act bend, as far as a relative `tolerance` lets it count.

        What functions say is not known.
        """
        tables = [acts.samples for acts in (self._efforts, self._inputs) if isinstance(acts, Sampled)]
        if self.loop is not None and not self.loop.sampled:
            tables += self.loop.references.tables
        return np.unique(np.concatenate([np.zeros(0), *(table.kinks(tolerance) for table in tables), *self.motion.kinks]))

    @cached_property
    def gaps(self) -> Gaps:
        """What blocks, joints and interactions say is zero where they switch."""
        return Gaps(self.model, self._dynamics)

    @property
    def guards(self) -> Array:
        """Rows that guard all gaps in compiled code, none where that does not know them."""
        return self.gaps.guards if self.gaps.is_guarded else NO_GUARDS

    def clears(self, t: float, y: Array, length: float) -> bool:
        """Tell whether none of the `guards` came near zero in a step of a `length` (s) to a state."""
        dynamics = self._dynamics
        return isinstance(dynamics, CompiledPreparedDynamics) and dynamics.clears(self.guards, length, *self.split(t, y))

    def _prepared(self, driven: bool) -> PreparedDynamics:
        """Return the dynamics, constant wrenches acting; inputs act too if the model is `driven` by them."""
        at_ports = [Place(port, False) for port in (*self.constant, *self.varying)]
        dynamics = self.model.engine.dynamics.prepared(
            [*at_ports, *(self.model.inputs.places if driven else ())], self.motion.mask
        )
        for row, wrench in enumerate(self.constant.values()):
            dynamics.wrenches[row] = wrench
        return dynamics

    @property
    def held_rank(self) -> int:
        """How many constraints act on the coordinates that are not prescribed."""
        return self._dynamics.rank

    @held_rank.setter
    def held_rank(self, rank: int) -> None:
        self._dynamics.rank = rank

    @property
    def farthest(self) -> float:
        """The largest distance from a singular configuration of the motion so far."""
        return self._dynamics.farthest

    @farthest.setter
    def farthest(self, distance: float) -> None:
        self._dynamics.farthest = distance

    def act(self, t: float, y: Array) -> float:
        """Let act what is commanded from a state on; return until when (s) it does."""
        return math.inf if self.loop is None else self.loop.act(self, t, y)

    def count(self, numbers: Mapping[str, float]) -> None:
        """Add to what is counted."""
        self.counted |= {name: self.counted.get(name, 0) + number for name, number in numbers.items()}

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q (unit quaternions) and v of a state, prescribed motions imposed.

        Raises
        ------
        ModelError
            For a state that a controller has driven to infinity.
        """
        if self.loop is not None and not all_finite(y):
            largest = 0.0 if self.command is None else np.abs([*self.command.u, *self.command.tau]).max()
            found, advice = f"commands up to {largest:.3g}, and no finite state", "the loop is unstable, or the gains are wrong"
            raise ModelError(Finding("not-finite", f"controller at t = {t:.6g} s", found, "finite states", advice))
        self.x = y[self.in_x]
        return self.motion.impose(t, self.model.unit_configuration(y[self._in_q]), y[self._in_v])

    def split_rows(self, t: Array, y: Array) -> tuple[Array, Array]:
        """Return q (n, nq) and v (n, nv) of states (n, ...) at times (n, s); see `split`."""
        if self.loop is not None and not (finite := np.isfinite(y).all(axis=1)).all():
            self.split(float(t[finite.argmin()]), y[finite.argmin()])  # tells what a controller did
        return self.motion.impose_rows(t, self.model.unit_configuration(y[:, self._in_q]), y[:, self._in_v])

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        """Return all efforts on the coordinates that are not inputs."""
        efforts = self._efforts.at(t, q, v)
        return efforts if self.command is None else efforts + self.command.tau

    def inputs(self, t: float, q: Array, v: Array) -> Array | None:
        """Return all inputs, in closed loop within the actuators' ranges, and the states behind them; None for none."""
        given = self._inputs.at(t, q, v)
        if self.command is not None and self.loop is not None and self.model.nu:
            given = self.loop.commands.within_limits(self.command.u if given is None else self.command.u + given)
        return self.model.inputs.joined(given, self.x) if self.model.nx else given

    def known(self, t: Array) -> tuple[Array, Array | None] | None:
        """Return efforts (n, nv) and inputs (n, nu), None for none, at times t (n, s); None where the state has to be known."""
        if self.feedback or self.loop is not None:
            return None
        tau, u = (acts.rows(t) for acts in (self._efforts, self._inputs) if isinstance(acts, Constant | Sampled))
        return tau, u

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return outputs at a state with accelerations `a`."""
        return measurements.read(q, v, a, self.wrenches(t, q, v), self.inputs(t, q, v), self.efforts(t, q, v))

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return all external wrenches."""
        return self.constant | {port: value.at(t, q, v) for port, value in self.varying.items()}

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return applied efforts, the motors' included, and all else that acts; commands as `answer` says, if it does.

        Copies: functions may write into the same arrays when they are asked again.
        """
        if self.answer is not None:
            self.command = self.answer(t, q, v)
        tau, u, inputs = self.efforts(t, q, v).copy(), self.inputs(t, q, v), self.model.inputs
        if not (all_finite(tau) and (u is None or all_finite(u))):
            self.check_acting()
        pushes: list[Push] = [PortPush(port, False, wrench.copy()) for port, wrench in self.wrenches(t, q, v).items()]
        if u is None:
            return tau, pushes
        return tau + inputs.motors @ inputs.given(u), pushes + inputs.pushes(np.array(u))

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and applied efforts, but for the motors'."""
        tau, motors = self._act(t, q, v)
        try:
            a, efforts = self._dynamics.dynamics(q, v, tau + motors, self.motion.acceleration(t))
        except ModelError:
            self.check_acting()
            raise
        return a, np.where(self.motion.mask, efforts - motors, tau)

    def dynamics_rows(
        self, t: Array, q: Array, v: Array, tau: Array, u: Array, wrenches: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Return accelerations and applied efforts (n, nv), but for the motors', at times t (n, s).

        States are q (n, nq) and v (n, nv); what acts there are efforts `tau` (n, nv), inputs `u` (n, nu), with states of the
        first order behind them, and `wrenches` (n, 6).
        """
        model, inputs = self.model, self.model.inputs
        if len(t) > _MANY and not (model.is_constrained or self.motion.names):
            loads, same = self.constant | {port: wrenches[port] for port in self.varying}, bool((u == u[0]).all())
            given = None if not inputs.count else u[0] if same else u
            return model.forward_dynamics(q, v, tau, loads or None, u=given), tau
        u = np.asarray(u)
        motors, places = inputs.efforts(u, q), inputs.wrenches(u) if self._is_driven else np.empty((len(t), 0, 6))
        pushes = np.concatenate([*(wrench[:, None] for wrench in wrenches.values()), places], axis=1)
        a, efforts = self._dynamics.dynamics_rows(q, v, tau + motors, self.motion.accelerations(t), pushes, u)
        self._last = None
        return a, np.where(self.motion.mask, efforts - motors, tau)

    def _act(self, t: float, q: Array, v: Array) -> tuple[Array, Any]:
        """Let wrenches and inputs act; return the efforts, and the inputs'."""
        if not self.is_held or self.model.nx:
            return self._let_act(t, q, v)
        if self._last is None or self._last[0] is not self.command:
            self._last = self.command, self._let_act(t, q, v)
        return self._last[1]

    def _let_act(self, t: float, q: Array, v: Array) -> tuple[Array, Any]:
        self._push(t, q, v)
        return self.efforts(t, q, v), self._drive(t, q, v) if self._is_driven else 0.0

    def _push(self, t: float, q: Array, v: Array) -> None:
        """Let act wrenches that vary."""
        for row, wrench in self._varying_rows:
            row[:] = wrench.at(t, q, v)

    def _drive(self, t: float, q: Array, v: Array) -> Any:
        """Let inputs act; return their efforts."""
        u, inputs = self.inputs(t, q, v), self.model.inputs
        if u is None:
            return 0.0
        u = np.asarray(u)
        if inputs.places:
            self._dynamics.wrenches[-len(inputs.places) :] = inputs.wrenches(u)
        if inputs.driving:
            self._dynamics.drive_interactions(u)
        return inputs.efforts(u, q)

    def act_held(self, tau: Array) -> None:
        """Let act what `is_held`, but for sampled efforts and a continuous controller's commands; write all efforts (nv)."""
        if isinstance(self.loop, ContinuousLoop):
            tau[:] = self._efforts.at(0.0, *_NOWHERE)
        elif self.is_sampled:
            tau[:] = self._drive(0.0, *_NOWHERE) if self._is_driven else 0.0
        else:
            np.add(*self._act(0.0, *_NOWHERE), out=tau)

    @property
    def has_plain_states(self) -> bool:
        """Whether states are q and v as they are: nothing is to be normalised or imposed."""
        return not (self.model.quaternions or self.motion.names)

    def act_at(self, t: float, q: Array, v: Array, tau: Array) -> None:
        """Let act what functions say at a state; write all efforts (nv). Compiled code has to look whether these are finite."""
        tau[:] = self._efforts.at(t, q, v)
        if self.command is not None:
            tau += self.command.tau
        if self._varying_rows:
            self._push(t, q, v)
        if self._is_driven:
            tau += self._drive(t, q, v)

    def check_acting(self) -> None:
        """Refuse efforts and inputs that are not finite, of those that functions said last."""
        for function in (self._efforts, self._inputs):
            if isinstance(function, Asked):
                function.check()

    @cached_property
    def is_held(self) -> bool:
        """Whether what acts stays as it is between commands, but for states of the first order.

        Efforts of blocks' own inputs turn with the state.
        """
        return self._steady and not (self._is_driven and self.model.inputs.own)

    @cached_property
    def is_sampled(self) -> bool:
        """Whether what acts is efforts that are known at all times, beside what `is_held`."""
        held = isinstance(self._inputs, Constant) and not (self.varying or (self._is_driven and self.model.inputs.own))
        return self.loop is None and held and isinstance(self._efforts, Sampled)

    def derivative(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return ``f(dy, t, y, *arguments)`` for the integrator, and the arguments: compiled where the whole system is."""
        model = self.model
        if self.is_plain and isinstance(model.engine, CompiledEngine):
            tau, u = self.efforts(0.0, *_NOWHERE), self.inputs(0.0, *_NOWHERE)
            pushes = model.external_pushes(self.constant, u)
            return model.engine.state_derivative(pushes, tau if u is None else tau + model.inputs.motors @ u)

        def derivative(dy: Array, t: float, y: Array) -> None:
            dy[:] = self.rate(t, y)

        return derivative, ()

    @property
    def is_plain(self) -> bool:
        """Whether the system is compiled as a whole, unconstrained, and nothing changes what acts between commands."""
        model = self.model
        driven = bool(self.motion.names or model.nx) or isinstance(self.loop, ContinuousLoop) or not self.is_held
        engine = model.engine
        return not driven and not model.is_constrained and isinstance(engine, CompiledEngine) and engine.is_compiled

    @cached_property
    def has_stages(self) -> bool:
        """Whether compiled code knows all that moves, and what a continuous controller does: see `stages`."""
        dynamics = self._dynamics
        if not isinstance(dynamics, CompiledPreparedDynamics) or dynamics.moving_otherwise:
            return False
        return not isinstance(self.loop, ContinuousLoop) or (self.is_held and self._feedback is not None)

    @cached_property
    def _feedback(self) -> LinearFeedback | None:
        """What a continuous controller does as tables, if these can say it; sampled efforts likewise."""
        if isinstance(self._efforts, Sampled) and self.is_sampled:
            efforts, nq, nv, nothing = self._efforts, self.model.nq, self.model.nv, np.zeros((0, 0))
            gains, motors = np.zeros((nv, nq + nv + self.model.nx)), np.zeros((nv, 0))
            return LinearFeedback(gains, efforts.samples, True, np.zeros((2, 0)), motors, nothing, efforts.rows)
        return self.loop.feedback(self._inputs.at(0.0, *_NOWHERE)) if isinstance(self.loop, ContinuousLoop) else None

    def stages(self, method: Tableau) -> CompiledStages | None:
        """Return the compiled stages of an explicit method, if it `has_stages`."""
        dynamics = self._dynamics
        if not self.has_stages or not isinstance(dynamics, CompiledPreparedDynamics):
            return None
        return CompiledStages(self, dynamics, self._feedback, method, self.guards)

    def closed(self, t: float, y: Array, precision: float) -> Closed:
        """Return the state on the closures next to a given one, prescribed motions imposed; see `PreparedDynamics.closed`."""
        return self._dynamics.closed(*self.split(t, y), precision)

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
            return self._dynamics.rate(q, v, tau + motors, self.motion.acceleration(t))
        except ModelError:
            self.check_acting()
            raise
