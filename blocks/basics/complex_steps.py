"""Derivatives by complex steps, and by differences where imaginary parts get lost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import imaginary_part
from titop.blocks.basics.tolerances import COMPLEX_STEP, DIFFERENCE_ERROR, SAME

#: Relative tolerance between differences and correct complex steps.
_TRUST = 10 * DIFFERENCE_ERROR
#: Real steps over the coordinates' scales.
REAL_STEP = 1e-2
#: For shorter steps differences may see no change although there is one.
_DOUBTFUL = SAME * REAL_STEP


def complex_step(function: Callable[[Array], Any], x: Array) -> Array:
    """Return the derivatives of ``function(x)`` by the entries of x, stacked along the last axis: exact to rounding."""
    steps = 1j * COMPLEX_STEP * np.eye(len(x))
    return stack_columns([imaginary_part(np.asarray(function(x + step))) / COMPLEX_STEP for step in steps], function, x)


def trusted_step(function: Callable[[Array], Any], x: Array) -> Array:
    """Return the derivatives of ``function(x)`` as `complex_step` does, or by differences if imaginary parts get lost.

    The two are compared along one direction.
    """
    direction = np.linspace(0.6, 1.0, len(x))
    start = REAL_STEP * (float(np.abs(x).max(initial=0.0)) or 1.0)

    def moved(s: float) -> Any:
        return function(x + s * direction)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            by_complex_steps = complex_step(function, x)
        except TypeError:
            return by_differences(function, x)

    def agrees(expected: Array) -> bool:
        size = np.abs(by_complex_steps) @ np.abs(direction) + np.abs(expected)
        return bool(np.all(np.abs(by_complex_steps @ direction - expected) <= _TRUST * size.max(initial=0.0)))

    expected = derivative(moved, start)
    is_telling = expected.any() or start > _DOUBTFUL
    if (is_telling and agrees(expected)) or agrees(derivative(moved, _good_step(moved, start))):
        return by_complex_steps
    return by_differences(function, x)


def by_differences(function: Callable[[Array], Any], x: Array) -> Array:
    """Return differences of ``function(x)`` by the entries of x, stacked along the last axis."""
    start, columns = REAL_STEP * (float(np.abs(x).max(initial=0.0)) or 1.0), []
    for direction in np.eye(len(x)):

        def at(s: float, direction: Array = direction) -> Any:
            return function(x + s * direction)

        columns.append(derivative(at, _good_step(at, start)))
    return stack_columns(columns, function, x)


def _good_step(function: Callable[[float], Any], start: float) -> float:
    """Return a good step, searched from `start` on, or from `REAL_STEP` if x is so small that nothing changes."""

    def alone(s: float) -> tuple[Any]:
        return (function(s),)

    return settled_step(alone, start) or settled_step(alone, REAL_STEP) or start


def stack_columns(columns: list[Array], function: Callable[[Array], Any], x: Array) -> Array:
    """Return the columns stacked along the last axis; without columns the array still has the shape of ``function(x)``."""
    return np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(function(x)), 0))
