"""External loads of a model: wrenches and inputs with their time derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.mechanism.inputs import ActingPush, Inputs, OwnPush, PortPush, Push


def read_numbers(field: str, value: Any) -> Array:
    """Return real numbers as a new array.

    Raises
    ------
    ModelError
        If they are no real numbers, or have no regular shape.
    """
    try:
        array = np.array(value)
        if array.dtype.kind == "c":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError):
        raise ModelError(
            Finding("wrong-type", field, value, "real numbers", "give an array, or lists of equal length")
        ) from None


def read_stack(field: str, value: Any, rows: int, columns: int, names: Sequence[str] = ()) -> Array:
    """Return numbers with their derivatives (rows, columns).

    Raises
    ------
    ModelError
        If they are no numbers, have another shape, or are not finite.
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

    Parameters
    ----------
    wrenches : mapping of port name to (6,) or (rows, 6), optional
        Constant, or with derivatives.
    u : (nu,) or (rows, nu) array_like, or mapping of input name to number or (rows,), optional
    rows : int
        Number of rows of each stack: the values and their derivatives.

    Raises
    ------
    ModelError
        For unusable arguments, and for a model with first-order states.
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
    pushes += [OwnPush(block, q, v, values[:, own]) for block, q, v, own in inputs.own]
    pushes += [ActingPush(name, values[:, own]) for name, own in inputs.acting]
    return pushes, values @ inputs.motors.T


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
    return [
        push._replace(wrench=push.wrench[: order + 1]) if isinstance(push, PortPush) else push._replace(u=push.u[: order + 1])
        for push in pushes
    ]


def at_start(pushes: Sequence[Push]) -> list[Push]:
    """Return pushes with their values only, without derivatives."""
    return [
        push._replace(wrench=push.wrench[0]) if isinstance(push, PortPush) else push._replace(u=push.u[0]) for push in pushes
    ]
