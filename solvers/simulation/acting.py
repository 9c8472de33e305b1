"""What acts on a model in a simulation as functions of time and state: efforts, inputs and wrenches, as users give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.solvers.arguments import read_state, read_wrench
from titop.solvers.interpolated import Interpolated
from titop.solvers.model import Model

#: Of time and state.
Function = Callable[[float, Array, Array], Array]


class Constant:
    """A function of time and state that is always the same."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        return self.value


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


def read_efforts(model: Model, times: Array, tau: Any) -> Function:
    """Return the efforts (nv)."""
    names = model.coordinate_names
    if callable(tau):
        return lambda t, q, v: _real("tau", read_state("tau", tau(t, q, v), names))
    values = _real("tau", read_state("tau", np.zeros(model.nv) if tau is None else tau, names, stacked=True))
    return Constant(values) if values.ndim == 1 else _sampled(values, times, "tau")


def read_inputs(model: Model, times: Array, u: Any) -> Callable[[float, Array, Array], Array | None]:
    """Return the inputs (nu); None for none."""
    if u is None:
        return Constant(None)
    read = model.inputs.read
    if callable(u):
        return lambda t, q, v: _real("u", read(u(t, q, v)))
    if isinstance(u, Mapping) and any(callable(value) for value in u.values()):
        return lambda t, q, v: _real("u", read({name: x(t, q, v) if callable(x) else x for name, x in u.items()}))
    if not isinstance(u, Mapping) and np.ndim(u) == 2:
        return _sampled(_real("u", read_state("u", u, model.input_names, stacked=True)), times, "u")
    return Constant(_real("u", read(u)))


def read_wrench_function(port: str, wrench: Callable[[float, Array, Array], Any]) -> Function:
    """Return the wrench (6) on a port."""
    return lambda t, q, v: _real(f"wrenches[{port!r}]", read_wrench(port, wrench(t, q, v)))


def _sampled(values: Array, times: Array, name: str) -> Function:
    """Return the linear interpolation of samples at the output times."""
    if len(values) != len(times):
        expected = f"one for each of the {len(times)} output times"
        raise ModelError(Finding("wrong-length", name, f"{len(values)} samples", expected, "sample at t"))
    samples = Interpolated(times, values)
    return lambda t, q, v: samples(t)


def _real(name: str, array: Array) -> Array:
    if array.dtype.kind == "c":
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", "simulations are real"))
    return array
