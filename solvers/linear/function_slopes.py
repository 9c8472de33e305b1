"""Outputs that are functions ``f(q, v, a, u)`` of users."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.errors import Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.linear.drives import Drives
from titop.solvers.linear.variation import Snapshot, Variation

_COMPLEX_STEP = 1e-30
_REAL_STEP = 1e-3
#: Sixth-order central difference: offset in steps, weight.
_STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
#: How well complex steps and differences have to agree for the former to be believed.
_AGREEMENT = 1e-6


def function_value(name: str, function: Callable[..., Any], q: Array, v: Array, a: Array, u: Array) -> Array:
    """Return a function's finite real result as a vector.

    Raises
    ------
    ModelError
        If it is none.
    """
    returned = function(q, v, a, u)
    try:
        value = np.atleast_1d(np.asarray(returned, dtype=float))
    except (TypeError, ValueError):
        value = np.array([[np.nan]])
    if value.ndim != 1 or not np.isfinite(value).all():
        raise ModelError(
            Finding("bad-output", f"outputs[{name!r}]", returned, "a finite number or vector of them", "check the function")
        )
    return value


def function_slopes(at: Snapshot, change: Variation, name: str, function: Callable[..., Any], drives: Drives) -> Array:
    """Return the change (outputs, z) of a function: by complex steps if it takes them, else by sixth-order differences."""
    actuators = np.zeros((at.model.nu, len(drives.channels)))
    for column, drive in enumerate(drives.channels):
        if drive.kind == "actuator":
            actuators[drive.entry, column] = 1.0
    q_change = at.model.configuration_slopes(at.q) @ change.q
    changes = (q_change, change.v, change.a, actuators @ change.inputs)
    state = (at.q, at.v, at.a, at.inputs)

    def along(column: int, step: Any) -> list[Array]:
        return [x + step * dx[:, column] for x, dx in zip(state, changes, strict=True)]

    columns = range(q_change.shape[1])
    differences = np.column_stack([_difference(name, function, along, column) for column in columns])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            steps = [np.atleast_1d(function(*along(column, 1j * _COMPLEX_STEP))) for column in columns]
            exact = np.imag(np.column_stack(steps)) / _COMPLEX_STEP
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        return differences
    scale = max(1.0, float(np.abs(differences).max(initial=0.0)))
    return exact if np.abs(exact - differences).max(initial=0.0) < _AGREEMENT * scale else differences


def _difference(name: str, function: Callable[..., Any], along: Callable[[int, Any], list[Array]], column: int) -> Array:
    total: Any = 0.0
    for k, weight in _STENCIL:
        ahead, behind = (function_value(name, function, *along(column, sign * k * _REAL_STEP)) for sign in (1, -1))
        total = total + weight / _REAL_STEP * (ahead - behind)
    return np.asarray(total)
