"""Outputs that are functions ``f(q, v, a, u)`` of users."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.consistency import mobility, of_each_term
from titop.solvers.equilibrium.linear_validity import reaches
from titop.solvers.mechanism.coordinate_sizes import coordinate_sizes
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs

_COMPLEX_STEP = 1e-30
#: Where the search for the step of differences begins, over what the state is.
_FIRST_STEP = 1e-3
#: Coordinates, rates, accelerations and inputs below this part of what counts as one, or does as much, are errors of an
#: equilibrium, and tell no step.
_ERRORS = 1e-8
#: By how much at most a step is longer than where its search begins.
_LONGER = 256.0**4
#: How well complex steps and differences have to agree for the former to be believed: of the derivative, and over the rounding
#: of the function's values.
_AGREEMENT, _NOISE = 1e-6, 1e3
#: Slopes ahead and behind have to come together over steps this many times shorter, or differ by less than this part of what
#: the function changes.
_SHORTER, _KINK = 16.0, 1e-3


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
    """Return the change (outputs, z) of a function: by complex steps if it takes them, else by differences.

    Warns
    -----
    ModelWarning
        Where no step of differences is good: of functions that jump, are noisy or have a kink.
    """
    actuators = np.zeros((at.model.nu, len(inputs.channels)))
    for column, channel in enumerate(inputs.channels):
        if channel.kind == Kind.INPUT and channel.entry < at.model.nu:
            actuators[channel.entry, column] = 1.0
    q_change = at.model.configuration_derivatives(at.q) @ change.q
    changes = (q_change, change.v, change.a, actuators @ change.inputs)
    state = (at.q, at.v, at.a, at.inputs)

    def along_column(column: int, step: Any) -> list[Array]:
        q, *others = (x + step * dx[:, column] for x, dx in zip(state, changes, strict=True))
        if not isinstance(step, complex):  # quaternions stay unit ones, as the model's functions want them
            q = at.model.integrate(at.q, step * change.q[:, column])
        return [q, *others]

    whole = coordinate_sizes(at.model.assembly, np.diag(at.model.mass_matrix(at.q)), at.model.size)
    along = reaches(at.model, at.q)
    along = np.where(along > _ERRORS * whole, along, whole)
    rows = np.abs(np.vstack([change.q, *changes[1:]]))
    sizes = np.concatenate([along, *_noticed(at, along, rows[: len(along)], np.abs(change.a), actuators)])

    def of_column(column: int) -> list[_Difference]:
        starts = [_first_step(each, rows[: len(each), column]) for each in (sizes, whole)]

        @cache
        def value(s: float) -> Array:
            return function_value(name, function, *along_column(column, s))

        return [_difference(lambda s: float(value(s)[entry]), *starts) for entry in range(len(value(0.0)))]  # noqa: B023

    columns = range(q_change.shape[1])
    found = [of_column(column) for column in columns]
    differences, allowed, breaks = (np.array([[each[k] for each in column] for column in found]).T for k in (0, 1, 3))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            steps = [np.atleast_1d(function(*along_column(column, 1j * _COMPLEX_STEP))) for column in columns]
            exact = np.imag(np.column_stack(steps)) / _COMPLEX_STEP
        if (np.abs(exact - differences) <= allowed).all() and not breaks.any():
            return exact
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        pass
    if not all(each.settled and not each.breaks for column in found for each in column):
        got, expected = "no step at which differences ahead and behind agree", "smooth values near the point"
        advice = "its derivatives are wrong; smooth the function, or move the point"
        warn([Finding("not-smooth", f"outputs[{name!r}]", got, expected, advice)])
    return differences


def _first_step(sizes: Array, moved: Array) -> float:
    """Return the step that moves nothing by more than a part of its size; of a column that moves nothing of any size, one."""
    known = (sizes > 0) & (moved > 0)
    return _FIRST_STEP * (float((sizes[known] / moved[known]).min()) if known.any() else 1.0)


def _noticed(at: Snapshot, along: Array, by_q: Array, by_a: Array, actuators: Array) -> tuple[Array, Array, Array]:
    """Return the sizes of rates (nv), accelerations (nv) and inputs (nu), zero of those that are errors of an equilibrium.

    Parameters
    ----------
    at : Snapshot
    along : (nv,) array
        How far each coordinate goes until things look different.
    by_q, by_a : (nv, z) arrays
        How much coordinates and accelerations change with z, the inputs last.
    actuators : (nu, inputs) array
        Which of the inputs each actuator's is.
    """
    far = np.divide(along[:, None], by_q, out=np.full(by_q.shape, np.inf), where=by_q > 0).min(axis=0, initial=np.inf)
    pulled = by_a @ np.where(far < np.inf, far, 0.0)
    v, a, u = (np.abs(x) for x in (at.v, at.a, at.inputs))
    effects = by_a[:, by_a.shape[1] - actuators.shape[1] :] @ actuators.T
    pushing = (effects * u > _ERRORS * pulled[:, None]).any(axis=0) | ~effects.any(axis=0)
    pushes = at.model.external_pushes(at.wrenches, at.u)
    terms = pulled + of_each_term(at.model, at.q, at.v, pushes) + mobility(at.model, at.q) @ np.abs(at.tau)
    return v * (v > _ERRORS * np.sqrt(terms * along)), a * (a > _ERRORS * terms), u * pushing


class _Difference(NamedTuple):
    """A derivative by differences.

    Then how far a complex step may be from it, whether its step is a good one, and whether the function has a kink or noise.
    """

    slope: float
    allowed: float
    settled: bool
    breaks: bool


def _difference(value: Callable[[float], float], least: float, plain: float) -> _Difference:
    """Return the derivative of an output by a number at zero.

    Parameters
    ----------
    value : callable
    least, plain : float
        Where the search for the step begins: what the least of the state tells, and where this is so short that nothing may
        be seen, what the coordinates' own sizes do.
    """
    settled = settled_step(lambda s: [value(s)], least)
    if settled is None and _LONGER * least < plain:
        least = plain
        settled = settled_step(lambda s: [value(s)], least)
    step = settled or least
    slope = float(derivative(value, step))
    rounding = _NOISE * np.finfo(float).eps * abs(value(0.0)) / step
    is_good = settled is not None or bool(abs(slope) <= rounding)
    return _Difference(slope, _AGREEMENT * abs(slope) + rounding, is_good, _breaks(value, step, plain))


def _breaks(value: Callable[[float], float], step: float, plain: float) -> bool:
    """Return whether slopes ahead and behind differ, and over shorter steps no less: at a kink, or of noise.

    What rounding leaves of a constant far out is none: it would not be seen over `plain`, what the coordinates' own sizes tell.
    """
    here, sides = value(0.0), [value(step), value(-step)]
    change, rounding = max(abs(each - here) for each in sides), np.finfo(float).eps * max(map(abs, (here, *sides)))
    bends = [abs(value(s) + value(-s) - 2 * here) for s in (step, step / _SHORTER)]
    seen = max(_KINK * change, _NOISE * rounding * max(1.0, step / (_SHORTER * plain)))
    return bool(bends[1] > seen and _SHORTER * bends[1] > bends[0] / 2)
