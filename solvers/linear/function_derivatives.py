"""Outputs that are functions ``f(q, v, a, u)`` of users."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.balance import reaches
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs

_COMPLEX_STEP = 1e-30
#: Where the search for the step of differences begins, over what the state is.
_FIRST_STEP = 1e-3
#: How well complex steps and differences have to agree for the former to be believed: of the derivative, and over the rounding
#: of the function's values.
_AGREEMENT, _NOISE = 1e-6, 1e3


def function_value(name: str, function: Callable[..., Any], q: Array, v: Array, a: Array, u: Array) -> Array:
    """Return a function's finite real result as a vector; it is given copies, which it may change.

    Raises
    ------
    ModelError
        If it is none.
    """
    try:
        returned = function(q.copy(), v.copy(), a.copy(), u.copy())
    except Exception as error:
        error.add_note(f"in the function of outputs[{name!r}]")
        raise
    try:
        value = np.atleast_1d(np.asarray(returned, dtype=float))
    except (TypeError, ValueError):
        value = np.array([[np.nan]])
    if value.ndim != 1 or not np.isfinite(value).all():
        raise ModelError(
            Finding("bad-output", f"outputs[{name!r}]", returned, "a finite number or vector of them", "check the function")
        )
    return value


def function_derivatives(
    at: Snapshot, change: SnapshotChanges, name: str, function: Callable[..., Any], inputs: SystemInputs
) -> Array:
    """Return the change (outputs, z) of a function: by complex steps if it takes them, else by differences."""
    actuators = np.zeros((at.model.nu, len(inputs.channels)))
    for column, channel in enumerate(inputs.channels):
        if channel.kind == Kind.INPUT:
            actuators[channel.entry, column] = 1.0
    q_change = at.model.configuration_derivatives(at.q) @ change.q
    changes = (q_change, change.v, change.a, actuators @ change.inputs)
    state = (at.q, at.v, at.a, at.inputs)

    def along(column: int, step: Any) -> list[Array]:
        q, *others = (x + step * dx[:, column] for x, dx in zip(state, changes, strict=True))
        if not isinstance(step, complex):  # quaternions stay unit ones, as the model's functions want them
            q = at.model.integrate(at.q, step * change.q[:, column])
        return [q, *others]

    sizes = np.concatenate([reaches(at.model, at.q), *(np.abs(x) for x in state[1:])])
    moved = np.abs(np.vstack([change.q, *changes[1:]]))

    def difference(column: int) -> tuple[Array, Array]:
        both = (sizes > 0) & (moved[:, column] > 0)
        start = _FIRST_STEP * float((sizes[both] / moved[both, column]).min(initial=np.inf))
        return _difference(
            lambda s: function_value(name, function, *along(column, s)), start if start < np.inf else _FIRST_STEP
        )

    columns = range(q_change.shape[1])
    pairs = [difference(column) for column in columns]
    differences, allowed = (np.column_stack(part) for part in zip(*pairs, strict=True))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            steps = [np.atleast_1d(function(*along(column, 1j * _COMPLEX_STEP))) for column in columns]
            exact = np.imag(np.column_stack(steps)) / _COMPLEX_STEP
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        return differences
    return exact if (np.abs(exact - differences) <= allowed).all() else differences


def _difference(value: Callable[[float], Array], start: float) -> tuple[Array, Array]:
    """Return the derivative of a function of a number at zero, and how far complex steps may be from it."""
    step = settled_step(lambda s: list(value(s)), start) or start
    found = derivative(value, step)
    rounding = np.finfo(float).eps * np.abs(value(0.0)) / step
    return found, _AGREEMENT * np.abs(found) + _NOISE * rounding
