"""What acts on a model in a simulation, as functions of time and state: efforts, inputs, wrenches, and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import all_finite, read_state, read_wrench, read_wrenches
from titop.solvers.control.control_loop import ControlLoop
from titop.solvers.control.loop_signals import Command, Measurements
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.model.model import Model
from titop.solvers.support.interpolated import Interpolated

_ARRAY, _FLOAT = np.ndarray, np.dtype(float)
#: A state for functions that do not look at it.
NOWHERE = (np.zeros(0), np.zeros(0))


class Constant:
    """A function of time and state that is always the same."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def at(self, t: float, q: Array, v: Array) -> Any:
        """Return the value."""
        return self.value

    def rows(self, t: Array) -> Any:
        """Return the value at times (n, s), a row each; None for none."""
        return None if self.value is None else np.tile(self.value, (len(t), 1))


class Sampled:
    """Samples as a function of time and state, which does not matter."""

    def __init__(self, samples: Interpolated) -> None:
        self.samples = samples

    def at(self, t: float, q: Array, v: Array) -> Any:
        """Return the value at time t (s)."""
        return self.samples(t)

    def rows(self, t: Array) -> Any:
        """Return the values at times (n, s), a row each."""
        return self.samples.rows(t)


class FeedbackFunction:
    """Efforts (nv), or motors' inputs, as a function of time and state, which is asked at every stage of a step.

    It is passed copies of the state, which it may change and keep. An array of the right length is taken as it is; anything
    else it returns is read with care. Compiled code sees efforts that are not finite; `check` then names them.

    Parameters
    ----------
    function : callable ``f(t, q, v)``
    read : callable
        From what it returns to an array; refuses what is unusable.
    count : int
        How many numbers it returns.
    efforts : bool
        Whether these are efforts; others, which may act where nothing moves, are looked at here.
    """

    def __init__(
        self, function: Callable[[float, Array, Array], Any], read: Callable[[Any], Array], count: int, efforts: bool
    ) -> None:
        self._function, self._read, self._count, self._efforts = function, read, count, efforts
        self._last: Any = np.zeros(count)

    def at(self, t: float, q: Array, v: Array) -> Array:
        """Return what the function says."""
        value = self._last = self._function(t, q.copy(), v.copy())
        is_ready = type(value) is _ARRAY and value.dtype is _FLOAT and value.ndim == 1 and value.size == self._count
        return value if is_ready and (self._efforts or all_finite(value)) else self._read(value)

    def check(self) -> None:
        """Refuse what was returned last if it is not finite.

        Raises
        ------
        ModelError
            Naming the entry.
        """
        self._read(self._last)


#: What acts, as a function of time and state.
Acting = Constant | Sampled | FeedbackFunction


def _check_functions(tau: Any, wrenches: Mapping[str, Any], u: Any) -> None:
    """Refuse functions that do not take time and state.

    Raises
    ------
    ModelError
        Naming the argument.
    """
    several = u if isinstance(u, Mapping) else {}
    arguments = {"tau": tau, "u": u, **{f"u[{name!r}]": value for name, value in several.items()}}
    arguments |= {f"wrenches[{port!r}]": value for port, value in wrenches.items()}
    for where, value in arguments.items():
        if callable(value):
            check_function(where, value, "t, q, v")


def _read_efforts(model: Model, times: Array, tau: Any) -> Acting:
    """Return the efforts (nv)."""
    names = model.coordinate_names
    if callable(tau):
        return FeedbackFunction(tau, lambda value: _real("tau", read_state("tau", value, names)), model.nv, True)
    values = _real("tau", read_state("tau", np.zeros(model.nv) if tau is None else tau, names, stacked=True))
    return Constant(values) if values.ndim == 1 else _interpolate(values, times, "tau")


def _read_inputs(model: Model, times: Array, u: Any) -> Acting:
    """Return the inputs (nu); None for none."""
    if u is None:
        return Constant(None)
    read = model.mechanism.inputs.read
    if callable(u):
        only_motors = not (model.mechanism.inputs.places or model.mechanism.inputs.own or model.mechanism.inputs.acting)
        return FeedbackFunction(u, lambda value: _real("u", read(value)), model.nu, only_motors)
    if isinstance(u, Mapping) and any(callable(value) for value in u.values()):
        return FeedbackFunction(_each(u), lambda value: _real("u", read(value)), model.nu, False)
    if not isinstance(u, Mapping) and axes_of(u) == 2:
        return _interpolate(_real("u", read_state("u", u, model.input_names, stacked=True)), times, "u")
    return Constant(_real("u", read(u)))


def _read_wrench_function(port: str, wrench: Callable[[float, Array, Array], Any]) -> FeedbackFunction:
    """Return the wrench (6) on a port."""
    return FeedbackFunction(wrench, lambda value: _real(f"wrenches[{port!r}]", read_wrench(port, value)), 6, False)


def _each(u: Mapping[str, Any]) -> Callable[[float, Array, Array], dict[str, Any]]:
    """Return numbers and functions of time and state, by name, as one function, each with a state of its own."""

    def inputs(t: float, q: Array, v: Array) -> dict[str, Any]:
        return {name: value(t, q.copy(), v.copy()) if callable(value) else value for name, value in u.items()}

    return inputs


def _interpolate(values: Array, times: Array, name: str) -> Sampled:
    """Return the linear interpolation of samples at the output times."""
    if len(values) != len(times):
        expected = f"one for each of the {len(times)} output times"
        raise ModelError(Finding("wrong-length", name, f"{len(values)} samples", expected, "sample at t"))
    return Sampled(Interpolated(times, values))


def _real(name: str, array: Array) -> Array:
    if array.dtype.kind == "c":
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", "simulations are real"))
    return array


class Drive:
    """All that acts on a model, as functions of time and state.

    Parameters
    ----------
    model : Model
    times : (n,) array, s
        Of the outputs, at which samples are.
    tau, wrenches, u
        As in `simulate`.
    loop : ControlLoop or None

    Attributes
    ----------
    command : Command or None
        What the controller adds now.
    answer : callable or None
        What a continuous controller commands at the end of a step of an implicit integrator, as a function of the state.
    x : (nx,) array
        The states of the first order, as they act now.
    constant, varying : dict of port name to wrench
        Constant ones (6; N and N m), and functions.
    has_states : bool
        Whether the model has states of the first order.
    is_driven : bool
        Whether inputs act.
    feedback : bool
        Whether what acts is a function that may depend on the state.
    """

    def __init__(
        self, model: Model, times: Array, tau: Any, wrenches: Mapping[str, Any], u: Any, loop: ControlLoop | None
    ) -> None:
        self.model, self.loop = model, loop
        self.command: Command | None = None
        self.answer: Callable[[float, Array, Array], Command] | None = None
        _check_functions(tau, wrenches, u)
        self._efforts = _read_efforts(model, times, tau)
        read_wrenches(
            {port: np.zeros(6) if callable(value) else value for port, value in wrenches.items()}, model.mechanism.ports
        )
        self.constant = {port: np.asarray(value, dtype=float) for port, value in wrenches.items() if not callable(value)}
        self.varying = {port: _read_wrench_function(port, value) for port, value in wrenches.items() if callable(value)}
        self._inputs = _read_inputs(model, times, u)
        self.x = np.zeros(model.nx)
        self.has_states, self._has_inputs = model.nx > 0, model.nu > 0
        self.is_driven = u is not None or loop is not None or self.has_states
        functions = self._efforts, self._inputs, *self.varying.values()
        self.feedback = any(isinstance(function, FeedbackFunction) for function in functions)

    @property
    def samples(self) -> list[Interpolated]:
        """The samples that act; those that a controller holds apart."""
        references = [] if self.loop is None or self.loop.sampled else self.loop.references.tables
        return [acts.samples for acts in (self._efforts, self._inputs) if isinstance(acts, Sampled)] + references

    @property
    def sampled_efforts(self) -> Sampled | None:
        """Efforts as samples, if only these change: see `is_sampled`."""
        return self._efforts if self.is_sampled and isinstance(self._efforts, Sampled) else None

    @cached_property
    def is_held(self) -> bool:
        """Whether what acts stays as it is between commands, but for states of the first order.

        Efforts of blocks' own inputs turn with the state.
        """
        return self._has_held_inputs and isinstance(self._efforts, Constant)

    @cached_property
    def is_sampled(self) -> bool:
        """Whether what acts is efforts that are known at all times, beside what `is_held`."""
        return self.loop is None and self._has_held_inputs and isinstance(self._efforts, Sampled)

    @property
    def _has_held_inputs(self) -> bool:
        """Whether inputs and wrenches stay as they are between commands; efforts of blocks' own inputs turn with the state."""
        turns = self.is_driven and bool(self.model.mechanism.inputs.own)
        return isinstance(self._inputs, Constant) and not (self.varying or turns)

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        """Return all efforts on the coordinates that are not inputs."""
        efforts = self._efforts.at(t, q, v)
        return efforts if self.command is None else efforts + self.command.tau

    def inputs(self, t: float, q: Array, v: Array) -> Array | None:
        """Return all inputs, in closed loop within the actuators' ranges, and the states behind them; None for none."""
        u = self._inputs.at(t, q, v)
        if self.command is not None and self.loop is not None and self._has_inputs:
            u = self.loop.commands.within_limits(self.command.u if u is None else self.command.u + u)
        return self.model.mechanism.inputs.with_states(u, self.x) if self.has_states else u

    @property
    def held_inputs(self) -> Array | None:
        """The inputs beside a controller's commands where these `is_held`; None for none."""
        return self._inputs.at(0.0, *NOWHERE)

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return all external wrenches."""
        return self.constant | {port: value.at(t, q, v) for port, value in self.varying.items()}

    def histories(self, t: Array) -> tuple[Array, Array | None] | None:
        """Return efforts (n, nv) and inputs (n, nu), None for none, at times t (n, s); None where the state has to be known."""
        if self.feedback or self.loop is not None:
            return None
        tau, u = (acts.rows(t) for acts in (self._efforts, self._inputs) if isinstance(acts, Constant | Sampled))
        return tau, u

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return applied efforts, the motors' included, and all else that acts; commands as `answer` says, if it does.

        Copies: functions may write into the same arrays when they are asked again.
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
        """Refuse efforts and inputs that are not finite, of those that functions returned last."""
        for function in (self._efforts, self._inputs):
            if isinstance(function, FeedbackFunction):
                function.check()
