"""Wrenches and inputs of their own for each of several stacked states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.arguments import check_stacks, read_state, store

if TYPE_CHECKING:
    from titop.solvers.dynamics import Dynamics


def are_stacked(q: Any, wrenches: Any, u: Any) -> bool:
    """Tell whether wrenches or inputs of stacked states are given by row: as arrays of two axes."""
    if np.ndim(q) != 2:
        return False
    given = [*wrenches.values()] if isinstance(wrenches, Mapping) else []
    return any(isinstance(each, np.ndarray | list | tuple) and np.ndim(each) == 2 for each in (*given, u))


def by_row(
    model: Dynamics, function: Callable[..., Array], name: str, arguments: tuple[Any, Any, Any], loads: Mapping[str, Any]
) -> Array:
    """Return a function of stacked states q, v, x, each with its own wrenches and inputs.

    Parameters
    ----------
    model : Dynamics
    function : callable
        ``function(q, v, x, wrenches=wrenches, u=u)`` at one state.
    name : str
        Of the argument x.
    arguments : tuple of array_like
        q, v and x, of which the last may be None, for zeros.
    loads : mapping
        ``wrenches``, ``u`` and ``out``; those of two axes have a row a state, others act on all states.

    Raises
    ------
    ModelError
        For unequal numbers of rows, and whatever the function refuses.
    """
    wrenches, u, out = loads["wrenches"] or {}, loads["u"], loads["out"]
    q, v = model._read_q(arguments[0], stacked=True), model._read_v("v", arguments[1], True)
    x = np.zeros(v.shape) if arguments[2] is None else model._read_v(name, arguments[2], True)
    own = {port: np.asarray(wrench) for port, wrench in wrenches.items() if np.ndim(wrench) == 2}
    driven = not isinstance(u, Mapping) and np.ndim(u) == 2
    inputs = read_state("u", u, model.input_names, stacked=True) if driven else None
    by_name = {f"wrenches[{port!r}]": wrench for port, wrench in own.items()}
    check_stacks({"q": q, "v": v, name: x, **by_name, **({} if inputs is None else {"u": inputs})})
    result = [
        function(
            q[row],
            v[row],
            x[row],
            wrenches={**wrenches, **{port: wrench[row] for port, wrench in own.items()}},
            u=u if inputs is None else inputs[row],
        )
        for row in range(len(q))
    ]
    return store(np.array(result).reshape(x.shape), out)
