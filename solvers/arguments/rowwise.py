"""Functions of one state that take several stacked ones as well, row by row."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from titop.blocks.basics.user_input import axes_of
from titop.solvers.arguments.stacked_loads import each_row

Method = TypeVar("Method", bound=Callable[..., Any])

#: Names of arguments that are vectors of a state.
_VECTORS = ("v", "a", "tau", "dq", "dv", "dtau", "weights")


def rowwise(function: Method) -> Method:
    """Let a function of a model and one state (`q`, and vectors) take stacked ones as well.

    Its results are stacked then, those of tuples and of mappings each for itself. Wrenches and inputs of two axes have a row a
    state.
    """
    signature = inspect.signature(function)
    place = list(signature.parameters).index("q") - 1

    @functools.wraps(function)
    def of_any(model: Any, *arguments: Any, **named: Any) -> Any:
        q = arguments[place] if len(arguments) > place else named.get("q")
        if getattr(q, "ndim", 0) == 1 or q is None or axes_of(q) != 2:
            return function(model, *arguments, **named)
        _, *given = bound(function, signature, (model, *arguments), named).arguments.items()
        return at_rows(functools.partial(function, model), model.mechanism, dict(given))

    return cast(Method, of_any)


def bound(
    function: Callable[..., Any], signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]
) -> inspect.BoundArguments:
    """Return what a function is given, by the names of its arguments.

    Raises
    ------
    TypeError
        Where these are not its own; as Python says it, with the function's name.
    """
    try:
        return signature.bind(*given, **named)
    except TypeError as error:
        raise TypeError(f"{function.__qualname__}() {error}") from None


def at_rows(function: Callable[..., Any], mechanism: Any, given: dict[str, Any]) -> Any:
    """Return a function of a state at stacked ones, whatever it is `given` by name.

    Raises
    ------
    ModelError
        For unequal numbers of rows, and whatever the function refuses.
    """
    states = {"q": given["q"], **{name: given[name] for name in _VECTORS if given.get(name) is not None}}
    rows = each_row(mechanism, states, given.get("wrenches"), given.get("u"))

    def at(state: Any, wrenches: Any, u: Any) -> Any:
        loads = {name: load for name, load in (("wrenches", wrenches), ("u", u)) if name in given}
        return function(**{**given, **dict(zip(states, state, strict=True)), **loads})

    if rows:
        return stacked([at(*row) for row in rows])
    closed = mechanism.regular_configuration if mechanism.is_constrained else None
    nothing = [mechanism.neutral() if closed is None else closed, *(np.zeros(mechanism.nv) for _ in range(len(states) - 1))]
    return stacked([at(nothing, None, None)], slice(0, 0))


def stacked(results: list[Any], rows: slice = slice(None)) -> Any:
    """Return arrays, or tuples or mappings of them, as stacks."""
    if isinstance(results[0], Mapping):
        return {name: np.array([result[name] for result in results])[rows] for name in results[0]}
    if not isinstance(results[0], tuple):
        return np.array(results)[rows]
    parts = [np.array(part)[rows] for part in zip(*results, strict=True)]
    return type(results[0])(*parts) if hasattr(results[0], "_fields") else tuple(parts)
