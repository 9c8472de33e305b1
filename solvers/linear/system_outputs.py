"""What is read of a linear or nonlinear system: what names stand for, and functions ``f(q, v, a, u)`` of users."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, COMPLEX_STEP, DIFFERENCE_ERROR, DIFFERENCE_STEP, EPS, NEGLIGIBLE
from titop.blocks.basics.user_functions import check_function
from titop.solvers.constraints.branch import accelerations_by_term, mobility
from titop.solvers.equilibrium.linear_validity import reaches
from titop.solvers.signals.exported import Signal, components, exported_name, refuse_twice, signals_of
from titop.solvers.signals.grammar import OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import DEPENDENT, OF_COORDINATES, Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import derivative_of, quantity_value

if TYPE_CHECKING:
    from titop.solvers.equilibrium.operating_point import OperatingPoint
    from titop.solvers.model.model import Model

#: By how much at most a step is longer than where its search begins.
_LONGER = 256.0**4
#: So much more than the rounding of a function's values is no noise.
_NOISE = 1e3
#: Slopes ahead and behind have to come together over steps this many times shorter.
_SHORTER = 16.0

#: What says q, v, a and u.
AtState = Callable[[], tuple[Array, Array, Array, Array]]


class SystemOutputs(NamedTuple):
    """Some outputs of a system, read together.

    - `value`: from a snapshot to the outputs;
    - `derivatives`: from a snapshot and its derivatives to the outputs';
    - `of`: what is read; None for functions;
    - `selects`: whether only coordinates are read. Then stacked snapshots have stacked values; about the point itself,
      derivatives need no snapshot and take stacked ones.
    """

    signals: tuple[Signal, ...]
    value: Callable[[Any], Array]
    derivatives: Callable[[Any, Any], Array]
    of: Quantity | None = None
    selects: bool = False


def read_outputs(model: Model, outputs: Any, inputs: SystemInputs, at: AtState | None = None) -> tuple[SystemOutputs, ...]:
    """Return what outputs stand for; see `linearize`.

    Functions of the state are asked `at` a state how many numbers they give; at rest in the neutral configuration by default.

    Raises `ModelError` for unknown names, signals named twice, and functions that cannot be called so.
    """
    found = tuple(_read(model, output, inputs, at) for output in read_names("outputs", outputs))
    refuse_twice("output", (signal for group in found for signal in group.signals))
    return found


def state_of(point: OperatingPoint) -> AtState:
    """Return a function that says a point's configuration, rates, accelerations and inputs."""

    def state() -> tuple[Array, Array, Array, Array]:
        u = np.zeros(point.model.nu) if point.u is None else point.u
        return point.q, point.v, point.model.forward_dynamics(point.q, point.v, point.tau, point.wrenches, u=point.driving), u

    return state


def _read(model: Model, output: Any, inputs: SystemInputs, at: AtState | None) -> SystemOutputs:
    if callable(output):
        output = (getattr(output, "__name__", "function"), output)
    if isinstance(output, tuple) and len(output) == 2 and isinstance(output[0], str) and callable(output[1]):
        return _function(model, *output, inputs, at)
    of = read_name(model, OUTPUT, output)
    value, derivatives = partial(quantity_value, of=of), partial(derivative_of, of=of, inputs=inputs)
    if of.kind in DEPENDENT:  # members of a family have other numbers each
        value = partial(_value_of_name, name=output)
        derivatives = partial(_derivatives_of_name, name=output, inputs=inputs)
    return SystemOutputs(signals_of(model, of), value, derivatives, of, of.kind in OF_COORDINATES)


def _value_of_name(at: Snapshot, name: str) -> Array:
    return quantity_value(at, read_name(at.model, OUTPUT, name))


def _derivatives_of_name(at: Snapshot, change: SnapshotChanges, name: str, inputs: SystemInputs) -> Array:
    return derivative_of(at, change, read_name(at.model, OUTPUT, name), inputs)


def _function(model: Model, name: str, function: Callable[..., Any], inputs: SystemInputs, at: AtState | None) -> SystemOutputs:
    if not exported_name(name).replace("_", "").isalnum():
        raise ModelError(Finding("bad-name", "outputs", name, "letters, digits and _", 'write ("power", function)'))
    check_function(f"outputs[{name!r}]", function, "q, v, a, u")
    rest = model.neutral(), np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nu)
    count = len(_function_value(name, function, *(rest if at is None else at())))
    return SystemOutputs(
        components(name, "1", count),
        partial(_function_at, name=name, function=function),
        partial(_function_derivatives, name=name, function=function, inputs=inputs),
    )


def _function_at(at: Any, name: str, function: Callable[..., Any]) -> Array:
    return _function_value(name, function, at.q, at.v, at.a, at.inputs)


def _function_value(name: str, function: Callable[..., Any], q: Array, v: Array, a: Array, u: Array) -> Array:
    """Return a function's finite real result as a vector; it is given copies, which it may change."""
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
        advice = "check the function"
        raise ModelError(Finding("bad-output", f"outputs[{name!r}]", returned, "a finite number or vector of them", advice))
    return value


def _function_derivatives(
    at: Snapshot, change: SnapshotChanges, name: str, function: Callable[..., Any], inputs: SystemInputs
) -> Array:
    """Return the change (outputs, z) of a function: by complex steps if it takes them, else by differences.

    Warns where no step of differences is good: of functions that jump, are noisy or have a kink.
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

    whole = at.model.mechanism.scale.coordinates_of(np.diag(at.model.mass_matrix(at.q)))
    along = reaches(at.model, at.q)
    along = np.where(along > BALANCED * whole, along, whole)
    rows = np.abs(np.vstack([change.q, *changes[1:]]))
    sizes = np.concatenate([along, *_noticeable(at, along, rows[: len(along)], np.abs(change.a), actuators)])

    def of_column(column: int) -> list[_Difference]:
        starts = [_first_step(each, rows[: len(each), column]) for each in (sizes, whole)]

        @cache
        def value(s: float) -> Array:
            return _function_value(name, function, *along_column(column, s))

        return [_difference(lambda s: float(value(s)[entry]), *starts) for entry in range(len(value(0.0)))]  # noqa: B023

    columns = range(q_change.shape[1])
    found = [of_column(column) for column in columns]
    differences, allowed, breaks = (np.array([[each[k] for each in column] for column in found]).T for k in (0, 1, 3))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            steps = [np.atleast_1d(function(*along_column(column, 1j * COMPLEX_STEP))) for column in columns]
            exact = np.imag(np.column_stack(steps)) / COMPLEX_STEP
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
    return DIFFERENCE_STEP * (float((sizes[known] / moved[known]).min()) if known.any() else 1.0)


def _noticeable(at: Snapshot, along: Array, by_q: Array, by_a: Array, actuators: Array) -> tuple[Array, Array, Array]:
    """Return the sizes of rates (nv), accelerations (nv) and inputs (nu), zero of those that are errors of an equilibrium.

    `along` (nv) is how far each coordinate goes until things look different; `by_q` and `by_a` (nv, z) are how much coordinates
    and accelerations change with z, the inputs last; `actuators` (nu, inputs) tells which input is an actuator's.
    """
    far = np.divide(along[:, None], by_q, out=np.full(by_q.shape, np.inf), where=by_q > 0).min(axis=0, initial=np.inf)
    pulled = by_a @ np.where(far < np.inf, far, 0.0)
    v, a, u = (np.abs(x) for x in (at.v, at.a, at.inputs))
    effects = by_a[:, by_a.shape[1] - actuators.shape[1] :] @ actuators.T
    pushing = (effects * u > BALANCED * pulled[:, None]).any(axis=0) | ~effects.any(axis=0)
    pushes = at.model.mechanism.external_pushes(at.wrenches, at.u)
    terms = (
        pulled
        + accelerations_by_term(at.model.mechanism, at.q, at.v, pushes)
        + mobility(at.model.mechanism, at.q) @ np.abs(at.tau)
    )
    return v * (v > BALANCED * np.sqrt(terms * along)), a * (a > BALANCED * terms), u * pushing


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

    The search for the step begins at what the `least` of the state tells, and where this is so short that nothing may be seen,
    at what the coordinates' own sizes tell (`plain`).
    """
    settled = settled_step(lambda s: [value(s)], least)
    if settled is None and _LONGER * least < plain:
        least = plain
        settled = settled_step(lambda s: [value(s)], least)
    step = settled or least
    slope = float(derivative(value, step))
    rounding = _NOISE * EPS * abs(value(0.0)) / step
    is_good = settled is not None or bool(abs(slope) <= rounding)
    return _Difference(slope, DIFFERENCE_ERROR * abs(slope) + rounding, is_good, _breaks(value, step, plain))


def _breaks(value: Callable[[float], float], step: float, plain: float) -> bool:
    """Return whether slopes ahead and behind differ, and over shorter steps no less: at a kink, or of noise.

    What rounding leaves of a constant far out is none: it would not be seen over `plain`, what the coordinates' own sizes tell.
    """
    here, sides = value(0.0), [value(step), value(-step)]
    change, rounding = max(abs(each - here) for each in sides), EPS * max(map(abs, (here, *sides)))
    bends = [abs(value(s) + value(-s) - 2 * here) for s in (step, step / _SHORTER)]
    seen = max(NEGLIGIBLE * change, _NOISE * rounding * max(1.0, step / (_SHORTER * plain)))
    return bool(bends[1] > seen and _SHORTER * bends[1] > bends[0] / 2)
