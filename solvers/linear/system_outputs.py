"""What is read of a linear or nonlinear system: what names stand for, and functions of the state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.solvers.linear.function_derivatives import function_derivatives, function_value
from titop.solvers.signals.derivatives import derivative_of
from titop.solvers.signals.exported import Signal, components, exported, refuse_twice, signals_of
from titop.solvers.signals.grammar import OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import OF_COORDINATES, Quantity
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import value_of

if TYPE_CHECKING:
    from titop.solvers.equilibrium.operating_point import OperatingPoint
    from titop.solvers.model.model import Model

#: What says q, v, a and u.
State = Callable[[], tuple[Array, Array, Array, Array]]


class SystemOutputs(NamedTuple):
    """Some outputs of a system, read together.

    Attributes
    ----------
    signals : tuple of Signal
    value : callable
        From a snapshot to the outputs.
    derivatives : callable
        From a snapshot and its derivatives to the outputs'.
    of : Quantity or None
        What is read; None for functions.
    selects : bool
        Whether only coordinates are read. Then stacked snapshots have stacked values; about the point itself, derivatives need
        no snapshot and take stacked ones.
    """

    signals: tuple[Signal, ...]
    value: Callable[[Any], Array]
    derivatives: Callable[[Any, Any], Array]
    of: Quantity | None = None
    selects: bool = False


def read_outputs(model: Model, outputs: Any, inputs: SystemInputs, at: State | None = None) -> tuple[SystemOutputs, ...]:
    """Return what outputs stand for; see `linearize`.

    Functions of the state are asked `at` a state how many numbers they give; at rest in the neutral configuration by default.

    Raises
    ------
    ModelError
        For unknown names, signals named twice, and functions that cannot be called so.
    """
    found = tuple(_read(model, output, inputs, at) for output in read_names("outputs", outputs))
    refuse_twice("output", (signal for group in found for signal in group.signals))
    return found


def state_of(point: OperatingPoint) -> State:
    """Return a function that says a point's configuration, rates, accelerations and inputs."""

    def state() -> tuple[Array, Array, Array, Array]:
        u = np.zeros(point.model.nu) if point.u is None else point.u
        return point.q, point.v, point.model.forward_dynamics(point.q, point.v, point.tau, point.wrenches, u=point.driving), u

    return state


def _read(model: Model, output: Any, inputs: SystemInputs, at: State | None) -> SystemOutputs:
    if callable(output):
        output = (getattr(output, "__name__", "function"), output)
    if isinstance(output, tuple) and len(output) == 2 and isinstance(output[0], str) and callable(output[1]):
        return _function(model, *output, inputs, at)
    of = read_name(model, OUTPUT, output)
    return SystemOutputs(
        signals_of(model, of),
        partial(value_of, of=of),
        partial(derivative_of, of=of, inputs=inputs),
        of,
        of.kind in OF_COORDINATES,
    )


def _function(model: Model, name: str, function: Callable[..., Any], inputs: SystemInputs, at: State | None) -> SystemOutputs:
    if not exported(name).replace("_", "").isalnum():
        raise ModelError(Finding("bad-name", "outputs", name, "letters, digits and _", 'write ("power", function)'))
    check_function(f"outputs[{name!r}]", function, "q, v, a, u")
    rest = model.neutral(), np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nu)
    count = len(function_value(name, function, *(rest if at is None else at())))
    return SystemOutputs(
        components(name, "1", count),
        partial(_function_at, name=name, function=function),
        partial(function_derivatives, name=name, function=function, inputs=inputs),
    )


def _function_at(at: Any, name: str, function: Callable[..., Any]) -> Array:
    """Return the numbers of a user's function at a snapshot."""
    return function_value(name, function, at.q, at.v, at.a, at.inputs)
