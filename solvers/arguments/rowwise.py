"""Functions of one state that also take stacked states, row by row."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of, is_masked
from titop.solvers.arguments.reading import check_stacks, read_mapping


def read_states(mechanism: Any, states: Mapping[str, Any], stacked: bool = False, unit: bool = True) -> list[Array]:
    """Return the state arguments q and vectors, given by name, as arrays; `stacked` ones have equally many rows.

    Raises `ModelError` for unusable arguments. With `unit`, quaternions are divided by their norms; functions that do this
    themselves, as kernels do, get them as they are, so that stacked states give the bits of single ones.
    """
    read = {
        name: mechanism._read_q(value, "q", stacked, unit) if name == "q" else mechanism._read_v(name, value, stacked)
        for name, value in states.items()
    }
    check_stacks(read)
    return list(read.values())


class Stack(NamedTuple):
    """Stacked states with their loads.

    Attributes
    ----------
    states : tuple of (n, ...) arrays
        q and vectors.
    wrenches : mapping of port name to (n, 6) array, or to one wrench for all states; or None
    u : (n, nu) array, or inputs for all states
    """

    states: tuple[Array, ...]
    wrenches: Mapping[str, Any] | None
    u: Any

    def rows(self) -> list[tuple[tuple[Array, ...], dict[str, Any] | None, Any]]:
        """Return each state with its own wrenches and inputs."""
        wrenches = self.wrenches or {}
        by_row = [port for port, wrench in wrenches.items() if axes_of(wrench) == 2]
        driven = not isinstance(self.u, Mapping) and axes_of(self.u) == 2
        return [
            (
                tuple(array[row] for array in self.states),
                {**wrenches, **{port: wrenches[port][row] for port in by_row}} if wrenches else None,
                self.u[row] if driven else self.u,
            )
            for row in range(len(self.states[0]))
        ]


def read_stack(mechanism: Any, states: Mapping[str, Any], wrenches: Mapping[str, Any] | None, u: Any) -> Stack:
    """Return stacked states with their own wrenches and inputs, as arrays.

    Raises `ModelError` for unusable arguments and unequal numbers of rows. `states`: q and vectors. `wrenches`, `u`: those
    with two axes have one row for each state, others act on all states.
    """
    arrays = read_states(mechanism, states, stacked=True, unit=False)
    if wrenches is None and u is None:
        return Stack(tuple(arrays), None, None)
    wrenches = None if wrenches is None else read_mapping("wrenches", wrenches)
    by_row = {port: _rows(port, wrench) for port, wrench in (wrenches or {}).items() if axes_of(wrench) == 2}
    if driven := not isinstance(u, Mapping) and axes_of(u) == 2:
        u = mechanism.inputs.whole(u)
    by_name = {f"wrenches[{port!r}]": wrench for port, wrench in by_row.items()}
    check_stacks({**dict(zip(states, arrays, strict=True)), **by_name, **({"u": u} if driven else {})})
    return Stack(tuple(arrays), {**wrenches, **by_row} if wrenches else None, u)


def _rows(port: str, wrenches: Any) -> Array:
    """Return wrenches (n, 6) of stacked states as an array of finite numbers."""
    array = np.asarray(wrenches)
    usable = array.dtype.kind in "fiubcO" and not is_masked(wrenches)
    wrong = np.argwhere(~np.isfinite(array)).tolist() if usable and array.dtype.kind != "O" else []
    if wrong or not usable:
        where, got = (f"{wrong[0]}", array[tuple(wrong[0])]) if wrong else ("", wrenches)
        expected, advice = "six finite numbers [F; T] a row", "linear first, in the port's frame"
        raise ModelError(Finding("wrong-shape", f"wrenches[{port!r}]{where}", got, expected, advice))
    return array


Method = TypeVar("Method", bound=Callable[..., Any])

#: Names of arguments that are vectors of a state.
_VECTORS = ("v", "a", "tau")


def rowwise(function: Method) -> Method:
    """Let a function of a model and one state (`q`, and vectors) also take stacked states.

    Its results are then stacked; of a tuple or mapping, each entry. Wrenches and inputs with two axes have one row for each
    state.
    """
    signature = inspect.signature(function)
    place = list(signature.parameters).index("q") - 1

    @functools.wraps(function)
    def of_any(model: Any, *arguments: Any, **named: Any) -> Any:
        q = arguments[place] if len(arguments) > place else named.get("q")
        if getattr(q, "ndim", 0) == 1 or q is None or axes_of(q) != 2:
            return function(model, *arguments, **named)
        _, *by_name = bound(function, signature, (model, *arguments), named).arguments.items()
        return at_rows(functools.partial(function, model), model.mechanism, dict(by_name))

    return cast(Method, of_any)


def bound(
    function: Callable[..., Any], signature: inspect.Signature, arguments: tuple[Any, ...], named: dict[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments of a call by their names.

    Raises `TypeError` if they do not fit the signature: Python's message, with the function's name.
    """
    try:
        return signature.bind(*arguments, **named)
    except TypeError as error:
        raise TypeError(f"{function.__qualname__}() {error}") from None


def at_rows(function: Callable[..., Any], mechanism: Any, arguments: dict[str, Any]) -> Any:
    """Return the results of a function of one state at stacked states, stacked; `arguments` are by name.

    Raises `ModelError` for unequal numbers of rows, and for all that the function refuses.
    """
    states = {"q": arguments["q"], **{name: arguments[name] for name in _VECTORS if arguments.get(name) is not None}}
    rows = read_stack(mechanism, states, arguments.get("wrenches"), arguments.get("u")).rows()

    def at(state: Any, wrenches: Any, u: Any) -> Any:
        loads = {name: load for name, load in (("wrenches", wrenches), ("u", u)) if name in arguments}
        return function(**{**arguments, **dict(zip(states, state, strict=True)), **loads})

    if rows:
        return stacked(each_row(at, rows))
    closed = mechanism.regular_configuration if mechanism.is_constrained else None
    nothing = [mechanism.neutral() if closed is None else closed, *(np.zeros(mechanism.nv) for _ in range(len(states) - 1))]
    return stacked([at(nothing, None, None)], slice(0, 0))


def each_row(function: Callable[..., Any], rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return what a function says of each row's arguments. What it raises says at which row."""
    return [at_row(k, function, *row) for k, row in enumerate(rows)]


def at_row(k: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function says of the arguments of row k; what it raises says so."""
    try:
        return function(*arguments)
    except Exception as error:
        error.add_note(f"in row {k} of the stacked states")
        raise


def stacked(results: list[Any], rows: slice = slice(None)) -> Any:
    """Stack a list of arrays, or of tuples or mappings of arrays."""
    if isinstance(results[0], Mapping):
        return {name: np.array([result[name] for result in results])[rows] for name in results[0]}
    if not isinstance(results[0], tuple):
        return np.array(results)[rows]
    parts = [np.array(part)[rows] for part in zip(*results, strict=True)]
    return type(results[0])(*parts) if hasattr(results[0], "_fields") else tuple(parts)
