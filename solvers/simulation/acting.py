"""What acts on a model in a simulation as functions of time and state: efforts, inputs and wrenches, as users give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.reading import all_finite, read_state, read_wrench
from titop.solvers.model.model import Model
from titop.solvers.support.interpolated import Interpolated

_ARRAY, _FLOAT = np.ndarray, np.dtype(float)


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


class Asked:
    """Efforts (nv), or motors' inputs, as a function of time and state, which is asked at every stage of a step.

    It is given copies of the state, which it may change, and keep. What it returns has to be an array of the right length;
    others are read with care. Whether efforts are finite is seen by what they do: compiled code looks at them, and `check` says
    what is not.

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
Acting = Constant | Sampled | Asked


def check_functions(tau: Any, wrenches: Mapping[str, Any], u: Any) -> None:
    """Refuse functions that do not take time and state.

    Raises
    ------
    ModelError
        Naming the argument.
    """
    several = u if isinstance(u, Mapping) else {}
    given = {"tau": tau, "u": u, **{f"u[{name!r}]": value for name, value in several.items()}}
    given |= {f"wrenches[{port!r}]": value for port, value in wrenches.items()}
    for where, value in given.items():
        if callable(value):
            check_function(where, value, "t, q, v")


def read_efforts(model: Model, times: Array, tau: Any) -> Acting:
    """Return the efforts (nv)."""
    names = model.coordinate_names
    if callable(tau):
        return Asked(tau, lambda value: _real("tau", read_state("tau", value, names)), model.nv, True)
    values = _real("tau", read_state("tau", np.zeros(model.nv) if tau is None else tau, names, stacked=True))
    return Constant(values) if values.ndim == 1 else _sampled(values, times, "tau")


def read_inputs(model: Model, times: Array, u: Any) -> Acting:
    """Return the inputs (nu); None for none."""
    if u is None:
        return Constant(None)
    read = model.inputs.read
    if callable(u):
        only_motors = not (model.inputs.places or model.inputs.own or model.inputs.acting)
        return Asked(u, lambda value: _real("u", read(value)), model.nu, only_motors)
    if isinstance(u, Mapping) and any(callable(value) for value in u.values()):
        return Asked(_each(u), lambda value: _real("u", read(value)), model.nu, False)
    if not isinstance(u, Mapping) and axes_of(u) == 2:
        return _sampled(_real("u", read_state("u", u, model.input_names, stacked=True)), times, "u")
    return Constant(_real("u", read(u)))


def read_wrench_function(port: str, wrench: Callable[[float, Array, Array], Any]) -> Asked:
    """Return the wrench (6) on a port."""
    return Asked(wrench, lambda value: _real(f"wrenches[{port!r}]", read_wrench(port, value)), 6, False)


def _each(u: Mapping[str, Any]) -> Callable[[float, Array, Array], dict[str, Any]]:
    """Return numbers and functions of time and state, by name, as one function, each with a state of its own."""

    def inputs(t: float, q: Array, v: Array) -> dict[str, Any]:
        return {name: value(t, q.copy(), v.copy()) if callable(value) else value for name, value in u.items()}

    return inputs


def _sampled(values: Array, times: Array, name: str) -> Sampled:
    """Return the linear interpolation of samples at the output times."""
    if len(values) != len(times):
        expected = f"one for each of the {len(times)} output times"
        raise ModelError(Finding("wrong-length", name, f"{len(values)} samples", expected, "sample at t"))
    return Sampled(Interpolated(times, values))


def _real(name: str, array: Array) -> Array:
    if array.dtype.kind == "c":
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", "simulations are real"))
    return array
