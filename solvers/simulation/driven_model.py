"""A model with everything that acts on it, as a simulation integrates it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.errors import Finding, ModelError
from titop.blocks.functions import check_function
from titop.blocks.spatial import Array
from titop.solvers.arguments import read_state, read_wrenches
from titop.solvers.compiled import CompiledModel
from titop.solvers.control.commands import Command
from titop.solvers.control.control_loop import ContinuousLoop, ControlLoop
from titop.solvers.control.measurements import Measurements
from titop.solvers.inputs import Push
from titop.solvers.model import Model
from titop.solvers.simulation.half_turns import HalfTurns
from titop.solvers.simulation.prescribed import PrescribedMotion

Efforts = Callable[[float, Array, Array], Array]

#: A state for functions that do not look at it.
_NOWHERE = (np.zeros(0), np.zeros(0))


class DrivenModel:
    """A model with everything that acts on it, as a function of time and state ``y = [q, v]``.

    In closed loop `command` is what the controller adds now, and y goes on with the states of a continuous controller.
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
        _check_functions(tau, wrenches, u)
        self._efforts = _read_efforts(model, times, tau)
        read_wrenches({port: np.zeros(6) if callable(value) else value for port, value in wrenches.items()}, model.ports)
        self.varying = {port: value for port, value in wrenches.items() if callable(value)}
        self.constant = {port: np.asarray(value, dtype=float) for port, value in wrenches.items() if not callable(value)}
        self.model = model
        self._inputs = _read_inputs(model, times, u)
        functions = (tau, *self.varying.values(), u, *(u.values() if isinstance(u, Mapping) else ()))
        #: Whether what acts is a function that may depend on the state.
        self.feedback = any(callable(function) for function in functions)
        #: Springs that pass half a turn.
        self.half_turns = HalfTurns(model)
        #: What the integrator counted.
        self.counted: dict[str, float] = {}
        #: How many constraints act on the coordinates that are not prescribed.
        self.held_rank = 0

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
        if self.loop is not None and not np.isfinite(y).all():
            largest = 0.0 if self.command is None else np.abs([*self.command.u, *self.command.tau]).max()
            found, advice = f"commands up to {largest:.3g}, and no finite state", "the loop is unstable, or the gains are wrong"
            raise ModelError(Finding("not-finite", f"controller at t = {t:.6g} s", found, "finite states", advice))
        q, v = self.model.unit_configuration(y[: self.model.nq]), y[self.model.nq : self.model.nq + self.model.nv]
        return self.motion.impose(t, q, v)

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        """Return all efforts on the coordinates that are not inputs."""
        efforts = self._efforts(t, q, v)
        return efforts if self.command is None else efforts + self.command.tau

    def inputs(self, t: float, q: Array, v: Array) -> Array | None:
        """Return all inputs, in closed loop within the actuators' ranges; None for none."""
        given = self._inputs(t, q, v)
        if self.command is None or self.loop is None or not self.model.nu:
            return given
        return self.loop.commands.within_limits(self.command.u if given is None else self.command.u + given)

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return outputs at a state with accelerations `a`."""
        return measurements.read(q, v, a, self.wrenches(t, q, v), self.inputs(t, q, v), self.efforts(t, q, v))

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return all external wrenches."""
        return self.constant | {port: np.asarray(value(t, q, v), dtype=float) for port, value in self.varying.items()}

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return applied efforts, the motors' included, and all that acts on ports."""
        tau, u, inputs = self.efforts(t, q, v), self.inputs(t, q, v), self.model.inputs
        pushes = [Push(port, False, value) for port, value in read_wrenches(self.wrenches(t, q, v), self.model.ports).items()]
        return (tau, pushes) if u is None else (tau + inputs.motors @ u, pushes + inputs.pushes(u))

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and applied efforts."""
        tau, wrenches, u = self.efforts(t, q, v), self.wrenches(t, q, v), self.inputs(t, q, v)
        if self.motion.mask.any():
            given = q, v, tau, self.motion.acceleration(t), self.motion.mask
            return self.model.masked_dynamics(*given, wrenches, u, self.held_rank)
        if self.model.is_constrained:
            efforts, pushes = tau + self.model.motor_efforts(u), self.model.external_pushes(wrenches, u)
            return self.model.held_dynamics(q, v, efforts, self.held_rank, pushes), tau
        return self.model.forward_dynamics(q, v, tau, wrenches or None, u=u), tau

    def derivative(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return ``f(dy, t, y, *arguments)`` for the integrator, and the arguments: compiled where the whole system is."""
        model = self.model
        free = not self.varying and not self.motion.mask.any() and not isinstance(self.loop, ContinuousLoop)
        constant = isinstance(self._efforts, _Constant) and isinstance(self._inputs, _Constant)
        if free and constant and isinstance(model, CompiledModel) and model.is_compiled:
            tau, u = self.efforts(0.0, *_NOWHERE), self.inputs(0.0, *_NOWHERE)
            return model.loaded(self.constant, u).state_derivative(tau if u is None else tau + model.inputs.motors @ u)

        def derivative(dy: Array, t: float, y: Array) -> None:
            dy[:] = self.rate(t, y)

        return derivative, ()

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt, in closed loop with the rates of a continuous controller's states."""
        if isinstance(self.loop, ContinuousLoop):
            q, v, a, own = self.loop.rates(self, t, y)
            return np.concatenate([self.model.configuration_rate(q, v), a, own])
        q, v = self.split(t, y)
        return np.concatenate([self.model.configuration_rate(q, v), self.dynamics(t, q, v)[0]])


class _Constant:
    """A function of time and state that is always the same."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        return self.value


def _check_functions(tau: Any, wrenches: Mapping[str, Any], u: Any) -> None:
    """Refuse functions that do not take time and state."""
    several = u if isinstance(u, Mapping) else {}
    given = {"tau": tau, "u": u, **{f"u[{name!r}]": value for name, value in several.items()}}
    given |= {f"wrenches[{port!r}]": value for port, value in wrenches.items()}
    for where, value in given.items():
        if callable(value):
            check_function(where, value, "t, q, v")


def _read_efforts(model: Model, times: Array, tau: Any) -> Efforts:
    if callable(tau):
        return lambda t, q, v: read_state("tau", tau(t, q, v), model.coordinate_names)
    values = read_state("tau", np.zeros(model.nv) if tau is None else tau, model.coordinate_names, stacked=True)
    if values.ndim == 1:
        return _Constant(values)
    return _sampled(values, times, "tau")


def _read_inputs(model: Model, times: Array, u: Any) -> Callable[[float, Array, Array], Array | None]:
    if u is None:
        return _Constant(None)
    if callable(u):
        return lambda t, q, v: model.inputs.read(u(t, q, v))
    if isinstance(u, Mapping) and any(callable(value) for value in u.values()):
        return lambda t, q, v: model.inputs.read({name: x(t, q, v) if callable(x) else x for name, x in u.items()})
    if not isinstance(u, Mapping) and np.ndim(u) == 2:
        return _sampled(read_state("u", u, model.input_names, stacked=True), times, "u")
    return _Constant(model.inputs.read(u))


def _sampled(values: Array, times: Array, name: str) -> Callable[[float, Array, Array], Array]:
    """Return the linear interpolation of samples at the output times."""
    if len(values) != len(times):
        expected = f"one for each of the {len(times)} output times"
        raise ModelError(Finding("wrong-length", name, f"{len(values)} samples", expected, "sample at t"))
    return lambda t, q, v: np.array([np.interp(t, times, column) for column in values.T])
