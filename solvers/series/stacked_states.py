"""Functions of one state with its derivatives, at stacked states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.arguments.rowwise import stacked
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.series.acting_series import read_numbers


def at_states(
    mechanism: ClosedLoops, function: Callable[..., Any], states: Mapping[str, Any], loads: Mapping[str, Any] | None = None
) -> Any:
    """Return a function's results at stacked states, stacked; of a tuple each entry is stacked.

    Parameters
    ----------
    mechanism : ClosedLoops
    function : callable
        ``function(q, ..., **loads)`` at one state.
    states : mapping of name to array_like
        q (n, nq), vectors (n, nv) and stacks of derivatives (n, rows, nv).
    loads : mapping, optional
        ``wrenches`` and ``u``: those with three axes have a stack of derivatives for each state, others act on all states.

    Raises
    ------
    ModelError
        For arguments that are no numbers, for unequal numbers of states, and for all that the function refuses.
    """
    arrays = {name: read_numbers(name, value) for name, value in states.items()}
    for name, array in arrays.items():
        if array.ndim < 2:
            advice = "stack states along the first axis of all arguments"
            raise ModelError(Finding("wrong-shape", name, f"shape {array.shape}", "one row or stack for each state", advice))
    loads = loads or {}
    names = tuple(loads)
    wrenches = {port: _load_array(f"wrenches[{port!r}]", value) for port, value in _mapping(loads.get("wrenches")).items()}
    u = _load_array("u", loads.get("u"))
    by_name = {f"wrenches[{port!r}]": value for port, value in wrenches.items()} | {"u": u}
    stacks = arrays | {name: value for name, value in by_name.items() if _is_by_state(value)}
    if len({len(array) for array in stacks.values()}) > 1:
        found = ", ".join(str(array.shape) for array in stacks.values())
        advice = "stack all along the first axis"
        raise ModelError(Finding("wrong-length", ", ".join(stacks), found, "as many states in all", advice))

    def at(row: int) -> Any:
        acting = {"wrenches": {port: _of(value, row) for port, value in wrenches.items()} or None, "u": _of(u, row)}
        return function(*(array[row] for array in arrays.values()), **{name: acting[name] for name in names})

    if count := len(arrays["q"]):
        return stacked([at(row) for row in range(count)])
    closed = mechanism.regular_configuration if mechanism.is_constrained else None
    start = mechanism.neutral() if closed is None else closed
    return stacked([function(start, *(np.zeros(array.shape[1:]) for array in [*arrays.values()][1:]))], slice(0, 0))


def _mapping(wrenches: Any) -> Mapping[str, Any]:
    return {} if wrenches is None else read_mapping("wrenches", wrenches)


def _load_array(where: str, value: Any) -> Any:
    """Return wrenches or inputs as an array; mappings, functions and None as they are."""
    return read_numbers(where, value) if isinstance(value, np.ndarray | list | tuple) else value


def _is_by_state(value: Any) -> bool:
    """Tell whether a load has its own derivatives for each state."""
    return isinstance(value, np.ndarray) and value.ndim == 3


def _of(value: Any, row: int) -> Any:
    return value[row] if _is_by_state(value) else value
