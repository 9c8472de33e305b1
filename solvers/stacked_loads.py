"""Functions of a state at several stacked ones, with wrenches and inputs for all of them or for each its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from titop.solvers.arguments import check_stacks, read_mapping, read_state

if TYPE_CHECKING:
    from titop.solvers.dynamics import Dynamics

Method = TypeVar("Method", bound=Callable[..., Any])


def are_stacked(q: Any, wrenches: Any, u: Any) -> bool:
    """Tell whether wrenches or inputs of stacked states are given by row: as arrays of two axes."""
    if np.ndim(q) != 2:
        return False
    given = [*wrenches.values()] if isinstance(wrenches, Mapping) else []
    return any(isinstance(each, np.ndarray | list | tuple) and np.ndim(each) == 2 for each in (*given, u))


def rowwise(function: Method) -> Method:
    """Let a method of one state (`q`, and others of `v`, `a`, `tau`) take stacked ones as well.

    Its results are stacked then, those of tuples each for itself. Wrenches and inputs of two axes have a row a state.
    """
    signature = inspect.signature(function)
    place = list(signature.parameters).index("q") - 1

    @functools.wraps(function)
    def of_any(self: Any, *arguments: Any, **named: Any) -> Any:
        q = arguments[place] if len(arguments) > place else named.get("q")
        if getattr(q, "ndim", 0) == 1 or q is None or np.ndim(q) != 2:
            return function(self, *arguments, **named)
        given = signature.bind(self, *arguments, **named).arguments
        del given["self"]
        return each_row(function, self, given)

    return cast(Method, of_any)


def each_row(function: Callable[..., Any], model: Dynamics, given: Mapping[str, Any]) -> Any:
    """Return a method of a state at stacked ones, whatever it is `given` by name.

    Raises
    ------
    ModelError
        For unequal numbers of rows, and whatever the method refuses.
    """
    vectors = {name: model._read_v(name, given[name], True) for name in ("v", "a", "tau") if given.get(name) is not None}
    state = {"q": model._read_q(given["q"], stacked=True), **vectors}
    wrenches, u = given.get("wrenches") or {}, given.get("u")
    own = {port: np.asarray(wrench) for port, wrench in read_mapping("wrenches", wrenches).items() if np.ndim(wrench) == 2}
    driven = u is not None and not isinstance(u, Mapping) and np.ndim(u) == 2
    inputs = {"u": read_state("u", u, model.input_names, stacked=True)} if driven else {}
    check_stacks({**state, **{f"wrenches[{port!r}]": wrench for port, wrench in own.items()}, **inputs})

    def at(row: int) -> Any:
        here = {name: x[row] for name, x in (state | inputs).items()}
        loads = {"wrenches": {**wrenches, **{port: wrench[row] for port, wrench in own.items()}}} if own else {}
        return function(model, **{**given, **here, **loads})

    if not len(state["q"]):
        nothing = {name: np.zeros(model.nv) for name in vectors} | {"wrenches": None, "u": None}
        one = function(model, **{**given, "q": model.neutral(), **{name: x for name, x in nothing.items() if name in given}})
        return _stacked([one], slice(0, 0))
    return _stacked([at(row) for row in range(len(state["q"]))])


def _stacked(results: list[Any], rows: slice = slice(None)) -> Any:
    """Return arrays, or tuples of them, as stacks."""
    if not isinstance(results[0], tuple):
        return np.array(results)[rows]
    parts = [np.array(part)[rows] for part in zip(*results, strict=True)]
    return type(results[0])(*parts) if hasattr(results[0], "_fields") else tuple(parts)
