"""The loads on a model in a simulation, as functions of time and state: efforts, inputs, wrenches, and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import function_of_state
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import all_finite, read_state, read_wrench, read_wrenches
from titop.solvers.control.control_loop import ControlLoop
from titop.solvers.control.loop_signals import Command, Measurements
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.model.model import Model
from titop.solvers.simulation.path_signals import PathSignals
from titop.solvers.support.interpolated import Interpolated

_ARRAY, _FLOAT = np.ndarray, np.dtype(float)
#: A dummy state, for functions that ignore it.
NOWHERE = (np.zeros(0), np.zeros(0))


class Constant:
    """A constant as a function of time and state."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def at(self, t: float, q: Array, v: Array) -> Any:
        """Return the value."""
        return self.value

    def rows(self, t: Array) -> Any:
        """Return the value for each of the times (n, s), one row each; None if there is no value."""
        return None if self.value is None else np.tile(self.value, (len(t), 1))


class Sampled:
    """Interpolated samples as a function of time; the state is ignored."""

    def __init__(self, samples: Interpolated) -> None:
        self.samples = samples

    def at(self, t: float, q: Array, v: Array) -> Any:
        """Return the value at time t (s)."""
        return self.samples(t)

    def rows(self, t: Array) -> Any:
        """Return the values at times (n, s), one row each."""
        return self.samples.rows(t)


class FeedbackFunction:
    """Efforts (nv), or actuator inputs, as a function of time or of time and state, called at every stage of a step.

    The function is passed copies of the state, so it may change or store them. An array of the right length is taken as it is;
    any other result is validated. Compiled code detects efforts that are not finite; `check` then names them.

    - `where`: what messages call it;
    - `function`, ``f(t)`` or ``f(t, q, v)``;
    - `read`: converts the function's result into an array; rejects an unusable one;
    - `count`: the length of the result;
    - `efforts`: whether these are efforts. Other loads are checked here, because they may act where nothing moves.
    """

    def __init__(self, where: str, function: Any, read: Callable[[Any], Array], count: int, efforts: bool) -> None:
        self._function = function_of_state(where, function)
        self._read, self._count, self._efforts = read, count, efforts
        self._last: Any = np.zeros(count)

    def at(self, t: float, q: Array, v: Array) -> Array:
        """Return the function's value."""
        value = self._last = self._function(t, q.copy(), v.copy())
        is_ready = type(value) is _ARRAY and value.dtype is _FLOAT and value.ndim == 1 and value.size == self._count
        return value if is_ready and (self._efforts or all_finite(value)) else self._read(value)

    def check(self) -> None:
        """Reject the last returned value if it is not finite."""
        self._read(self._last)


#: A load as a function of time and state.
Acting = Constant | Sampled | FeedbackFunction


def read_efforts(model: Model, times: Array, tau: Any) -> Acting:
    """Return the efforts `tau` of `simulate` as a load."""
    names = model.coordinate_names
    if callable(tau):
        return FeedbackFunction("tau", tau, lambda value: _real("tau", read_state("tau", value, names)), model.nv, True)
    values = _real("tau", read_state("tau", np.zeros(model.nv) if tau is None else tau, names, stacked=True))
    return Constant(values) if values.ndim == 1 else _interpolate(values, times, "tau")


def read_inputs(model: Model, times: Array, u: Any) -> Acting:
    """Return the inputs `u` of `simulate` as a load."""
    if u is None:
        return Constant(None)
    read = model.mechanism.inputs.read
    if callable(u):
        only_motors = not (model.mechanism.inputs.places or model.mechanism.inputs.own or model.mechanism.inputs.acting)
        return FeedbackFunction("u", u, lambda value: _real("u", read(value)), model.nu, only_motors)
    if isinstance(u, Mapping) and any(callable(value) for value in u.values()):
        return FeedbackFunction("u", _each(u), lambda value: _real("u", read(value)), model.nu, False)
    if not isinstance(u, Mapping) and axes_of(u) == 2:
        return _interpolate(_real("u", read_state("u", u, model.input_names, stacked=True)), times, "u")
    return Constant(_real("u", read(u)))


def _read_wrench_function(port: str, wrench: Any) -> FeedbackFunction:
    where = f"wrenches[{port!r}]"
    return FeedbackFunction(where, wrench, lambda value: _real(where, read_wrench(port, value)), 6, False)


def _each(u: Mapping[str, Any]) -> Callable[[float, Array, Array], dict[str, Any]]:
    """Return numbers and functions of time and state, by name, as one function; each gets its own copy of the state."""
    functions = {name: function_of_state(f"u[{name!r}]", value) for name, value in u.items() if callable(value)}

    def inputs(t: float, q: Array, v: Array) -> dict[str, Any]:
        return {name: functions[name](t, q.copy(), v.copy()) if name in functions else value for name, value in u.items()}

    return inputs


def _interpolate(values: Array, times: Array, name: str) -> Sampled:
    if len(values) != len(times):
        expected = f"one for each of the {len(times)} output times"
        raise ModelError(Finding("wrong-length", name, f"{len(values)} samples", expected, "sample at t"))
    return Sampled(Interpolated(times, values))


def _real(name: str, array: Array) -> Array:
    if array.dtype.kind == "c":
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", "simulations are real"))
    return array


class Drive:
    """All loads on a model, as functions of time and state.

    - `times` (n, s): output times, at which samples are given;
    - `tau`, `wrenches`, `u`: as in `simulate`;
    - `command`: the controller's present command;
    - `answer`: the command of a continuous controller at the end of an implicit integrator's step, as a function of the state;
    - `x` (nx): the first-order states that are in effect now;
    - `constant`, `varying`: constant wrenches (6; N and N m), and functions;
    - `has_states`: whether the model has first-order states;
    - `is_driven`: whether there are inputs;
    - `feedback`: whether a load is a function that may depend on the state;
    - `paths`: what commands and measurements pass, if anything but filters.
    """

    def __init__(
        self, model: Model, times: Array, tau: Any, wrenches: Mapping[str, Any], u: Any, loop: ControlLoop | None
    ) -> None:
        self.model, self.loop = model, loop
        self.command: Command | None = None
        self.answer: Callable[[float, Array, Array], Command] | None = None
        self._efforts = read_efforts(model, times, tau)
        read_wrenches(
            {port: np.zeros(6) if callable(value) else value for port, value in wrenches.items()}, model.mechanism.ports
        )
        self.constant = {port: np.asarray(value, dtype=float) for port, value in wrenches.items() if not callable(value)}
        self.varying = {port: _read_wrench_function(port, value) for port, value in wrenches.items() if callable(value)}
        self._inputs = read_inputs(model, times, u)
        self.x = np.zeros(model.nx)
        self.has_states, self._has_inputs = model.nx > 0, model.nu > 0
        self.is_driven = u is not None or loop is not None or self.has_states
        self.paths: PathSignals | None = None
        functions = self._efforts, self._inputs, *self.varying.values()
        self.feedback = any(isinstance(function, FeedbackFunction) for function in functions)

    @property
    def samples(self) -> list[Interpolated]:
        """The samples among the loads, without those that a controller holds."""
        references = [] if self.loop is None else self.loop.tables
        return [acts.samples for acts in (self._efforts, self._inputs) if isinstance(acts, Sampled)] + references

    @property
    def sampled_efforts(self) -> Sampled | None:
        """Efforts as samples, if nothing else varies: see `is_sampled`."""
        return self._efforts if self.is_sampled and isinstance(self._efforts, Sampled) else None

    @cached_property
    def is_held(self) -> bool:
        """Whether the loads are constant between commands, except for first-order states.

        Efforts of the inputs of users' blocks may still vary with the state.
        """
        return self._has_held_inputs and isinstance(self._efforts, Constant)

    @cached_property
    def is_sampled(self) -> bool:
        """Whether the only loads that vary between commands, except for first-order states, are efforts known at all times."""
        return self.loop is None and self._has_held_inputs and isinstance(self._efforts, Sampled)

    @property
    def _has_held_inputs(self) -> bool:
        """Whether inputs and wrenches are constant between commands; efforts of blocks' inputs may vary with the state."""
        turns = self.is_driven and bool(self.model.mechanism.inputs.own)
        return isinstance(self._inputs, Constant) and not (self.varying or turns)

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        """Return all efforts on the coordinates that do not come from inputs."""
        efforts = self._efforts.at(t, q, v)
        return efforts if self.command is None else efforts + self.command.tau

    def inputs(self, t: float, q: Array, v: Array) -> Array | None:
        """Return all inputs, followed by the first-order states, or None; in closed loop clipped to the actuators' ranges.

        They are behind the paths of actuators, but for filters.
        """
        u = self._commanded(t, q, v)
        if self.paths is not None:
            u = self.paths.apply(u)
        return self.model.mechanism.inputs.with_states(u, self.x) if self.has_states else u

    def _commanded(self, t: float, q: Array, v: Array) -> Array | None:
        u = self._inputs.at(t, q, v)
        if self.command is not None and self.loop is not None and self._has_inputs:
            u = self.loop.commands.within_limits(self.command.u if u is None else self.command.u + u)
        return u

    def commanded(self, t: float, q: Array, v: Array) -> Array:
        """Return the inputs (nu) before the paths of actuators."""
        u = self._commanded(t, q, v)
        return np.zeros(self.model.nu) if u is None else np.array(u)

    @property
    def held_inputs(self) -> Array | None:
        """The inputs without the controller's commands, where they are constant (`is_held`); otherwise None."""
        return self._inputs.at(0.0, *NOWHERE)

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return all external wrenches."""
        return self.constant | {port: value.at(t, q, v) for port, value in self.varying.items()}

    def histories(self, t: Array) -> tuple[Array, Array | None] | None:
        """Return efforts (n, nv) and inputs (n, nu, or None) at times t (n, s); None if they depend on the state."""
        if self.feedback or self.loop is not None or self.paths is not None:
            return None
        tau, u = (acts.rows(t) for acts in (self._efforts, self._inputs) if isinstance(acts, Constant | Sampled))
        return tau, u

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return the applied efforts, those of motors included, and all other loads; commands come from `answer` if it is set.

        They are copies: functions may reuse their arrays in the next call.
        """
        if self.answer is not None:
            self.command = self.answer(t, q, v)
        tau, u, inputs = self.efforts(t, q, v).copy(), self.inputs(t, q, v), self.model.mechanism.inputs
        if not (all_finite(tau) and (u is None or all_finite(u))):
            self.check_acting()
        pushes: list[Push] = [PortPush(port, False, wrench.copy()) for port, wrench in self.wrenches(t, q, v).items()]
        if u is None:
            return tau, pushes
        return tau + inputs.motors @ inputs.without_states(u), pushes + inputs.pushes(np.array(u))

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return outputs at a state with accelerations `a`."""
        return measurements.read(q, v, a, self.wrenches(t, q, v), self.inputs(t, q, v), self.efforts(t, q, v))

    def check_acting(self) -> None:
        """Reject efforts and inputs that are not finite, among the last returned values of functions."""
        for function in (self._efforts, self._inputs):
            if isinstance(function, FeedbackFunction):
                function.check()
