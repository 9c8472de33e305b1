"""Arguments with their time derivatives: states, wrenches and inputs, also stacked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.arguments.rowwise import at_row, stacked
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.mechanism.inputs import ActingPush, Inputs, OwnPush, PortPush, Push


def read_numbers(field: str, value: Any) -> Array:
    """Return real numbers as a new array. Raises `ModelError` if they are no real numbers, or have no regular shape."""
    return read_array(Finding("wrong-type", field, value, "real numbers", "give an array, or lists of equal length"))


def read_stack(field: str, value: Any, rows: int, columns: int, names: Sequence[str] = ()) -> Array:
    """Return numbers with their derivatives (rows, columns).

    Raises `ModelError` if they are no numbers, have another shape, or are not finite.
    """
    stack = read_numbers(field, value)
    if stack.shape != (rows, columns):
        advice = f"one row for each derivative, its entries {', '.join(names[:8])}" if names else "one row for each derivative"
        raise ModelError(Finding("wrong-shape", field, f"shape {stack.shape}", f"shape ({rows}, {columns})", advice))
    if not np.isfinite(stack).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(stack))[0])
        where = f"{field}[{row}, {column}]"
        raise ModelError(Finding("not-finite", where, stack[row, column], "finite numbers", f"a derivative of order {row}"))
    return stack


def acting_series(
    inputs: Inputs, ports: Mapping[str, Any], wrenches: Mapping[str, Any] | None, u: Any, rows: int
) -> tuple[list[Push], Array]:
    """Return wrenches and inputs as pushes, each stacked with its derivatives, and the motors' efforts (rows, nv).

    Raises `ModelError` for unusable arguments, and for a model with first-order states. `wrenches` (6), (rows, 6): constant,
    or with derivatives. `u` (nu), (rows, nu), (rows). `rows`: number of rows of each stack: the values and their derivatives.
    """
    if inputs.state_names:
        expected, advice = "a model without first-order states", "take time derivatives of simulated trajectories"
        raise ModelError(Finding("no-series", "model", ", ".join(inputs.state_names[:4]), expected, advice))
    pushes: list[Push] = []
    for port, value in ({} if wrenches is None else read_mapping("wrenches", wrenches)).items():
        where = f"wrenches[{port!r}]"
        if port not in ports:
            raise ModelError(Finding("unknown-port", where, port, "a port of the model", did_you_mean(port, ports)))
        pushes.append(PortPush(port, False, read_stack(where, _held(read_numbers(where, value), rows, 1), rows, 6)))
    if u is None:
        return pushes, np.zeros((rows, len(inputs.motors)))
    values = _read_inputs(inputs, u, rows)
    for place, column, unit in zip(inputs.places, inputs.columns, inputs.units_at_places, strict=True):
        pushes.append(PortPush(*place, values[:, column, None] * unit))
    pushes += [OwnPush(block, q, v, values[:, columns]) for block, q, v, columns in inputs.own]
    pushes += [ActingPush(name, values[:, columns]) for name, columns in inputs.acting]
    return pushes, values @ inputs.motors.T


def stacked_series(
    inputs: Inputs, ports: Mapping[str, Any], wrenches: Mapping[str, Any] | None, u: Any, count: int, rows: int
) -> tuple[list[Push], Array]:
    """Return what `acting_series` does for `count` states: each push stacked once more, and efforts (count, rows, nv).

    Loads as `at_states` has them. Raises `ModelError` as `acting_series`, and `TypeError` for stacks of another length.
    """

    def flat(value: Any, axes: int) -> Array:
        array = _held(read_numbers("loads", value), rows, axes)
        shape = array.shape[len(array.shape) - axes - 1 :]
        if array.ndim > axes + 2 or (array.ndim == axes + 2 and len(array) not in (1, count)):
            raise TypeError(f"{array.shape} are no loads of {count} states")
        return np.broadcast_to(array, (count, *shape)).reshape(-1, *shape[1:])

    acting = {port: flat(wrench, 1) for port, wrench in read_mapping("wrenches", wrenches or {}).items()}
    if u is not None:
        u = {name: flat(value, 0) for name, value in u.items()} if isinstance(u, Mapping) else flat(u, 1)
    pushes, driven = acting_series(inputs, ports, acting, u, count * rows)
    return _rows_of(pushes, np.arange(count * rows).reshape(count, rows)), driven.reshape(count, rows, len(inputs.motors))


def _read_inputs(inputs: Inputs, u: Any, rows: int) -> Array:
    if not isinstance(u, Mapping):
        return read_stack("u", _held(read_numbers("u", u), rows, 1), rows, len(inputs.names), inputs.names)
    values = np.zeros((rows, len(inputs.names)))
    for name, value in u.items():
        place = inputs.place_of.get(name)
        if place is None:
            raise ModelError(Finding("unknown-input", "u", name, "an input of the model", did_you_mean(name, inputs.names)))
        where = f"u[{name!r}]"
        column = _held(read_numbers(where, value), rows, 0)
        values[:, [place]] = read_stack(where, column[:, None] if column.ndim == 1 else column, rows, 1)
    return values


def _held(array: Array, rows: int, axes: int) -> Array:
    """Return a value that has only `axes` axes, thus no derivatives, with zero derivatives added."""
    if array.ndim != axes:
        return array
    return np.concatenate([array[None], np.zeros((rows - 1, *array.shape))])


def up_to(pushes: Sequence[Push], order: int) -> list[Push]:
    """Return pushes with their derivatives up to an order."""
    return _rows_of(pushes, slice(order + 1))


def at_start(pushes: Sequence[Push]) -> list[Push]:
    """Return pushes with their values only, without derivatives."""
    return _rows_of(pushes, 0)


def _rows_of(pushes: Sequence[Push], rows: Any) -> list[Push]:
    return [
        push._replace(wrench=push.wrench[rows]) if isinstance(push, PortPush) else push._replace(u=push.u[rows])
        for push in pushes
    ]


def at_states(
    mechanism: ClosedLoops, function: Callable[..., Any], states: Mapping[str, Any], loads: Mapping[str, Any] | None = None
) -> Any:
    """Return a function's results at stacked states, stacked; of a tuple each entry is stacked.

    Raises `ModelError` for arguments that are no numbers, for unequal numbers of states, and for all that the function
    refuses, with a note that says at which row. `function`: ``function(q, ..., **loads)`` at one state. `states`: q (n, nq),
    vectors (n, nv) and stacks of derivatives (n, rows, nv). `loads`: ``wrenches`` and ``u``: those with three axes have a stack
    of derivatives for each state, others act on all states.
    """
    arrays = {name: read_numbers(name, value) for name, value in states.items()}
    for name, array in arrays.items():
        if array.ndim < 2:
            advice = "stack states along the first axis of all arguments"
            raise ModelError(Finding("wrong-shape", name, f"shape {array.shape}", "one row or stack for each state", advice))
    loads = loads or {}
    names = tuple(loads)
    given = read_mapping("wrenches", {} if loads.get("wrenches") is None else loads["wrenches"])
    wrenches = {port: _load_array(f"wrenches[{port!r}]", value) for port, value in given.items()}
    u = _load_array("u", loads.get("u"))
    by_name = {f"wrenches[{port!r}]": value for port, value in wrenches.items()} | {"u": u}
    stacks = arrays | {name: value for name, value in by_name.items() if _is_by_state(value)}
    if len({len(array) for array in stacks.values()}) > 1:
        got = ", ".join(str(array.shape) for array in stacks.values())
        advice = "stack all along the first axis"
        raise ModelError(Finding("wrong-length", ", ".join(stacks), got, "as many states in all", advice))

    def at(row: int) -> Any:
        acting = {"wrenches": {port: _of(value, row) for port, value in wrenches.items()} or None, "u": _of(u, row)}
        return function(*(array[row] for array in arrays.values()), **{name: acting[name] for name in names})

    if count := len(arrays["q"]):
        return stacked([at_row(row, at, row) for row in range(count)])
    closed = mechanism.regular_configuration if mechanism.is_constrained else None
    start = mechanism.neutral() if closed is None else closed
    return stacked([function(start, *(np.zeros(array.shape[1:]) for array in [*arrays.values()][1:]))], slice(0, 0))


def _load_array(where: str, value: Any) -> Any:
    """Return wrenches or inputs as an array; mappings, functions and None as they are."""
    return read_numbers(where, value) if isinstance(value, np.ndarray | list | tuple) else value


def _is_by_state(value: Any) -> bool:
    """Tell whether a load has its own derivatives for each state."""
    return isinstance(value, np.ndarray) and value.ndim == 3


def _of(value: Any, row: int) -> Any:
    return value[row] if _is_by_state(value) else value
