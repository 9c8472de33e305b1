"""Checks of functions and switches that users pass, and values of functions of the abscissa along a rod."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import is_finite, read_array


def check_function(where: str, function: Any, arguments: str, advice: str = "take just these arguments, in this order") -> None:
    """Refuse what cannot be called with `arguments`, such as ``"t, q, v"``; functions without a signature are accepted.

    Raises `ModelError` naming the argument at `where`, and the function's own signature.
    """
    expected = f"a function f({arguments})"
    if not callable(function):
        raise ModelError(Finding("wrong-type", where, function, expected, f"write lambda {arguments}: ..."))
    signature = _signature(function)
    if signature is not None and not _binds(signature, arguments.split(", ")):
        raise _wrong_signature(where, function, signature, expected, advice)


def function_of_state(where: str, function: Any) -> Callable[[float, Any, Any], Any]:
    """Return a function of time and state, ``f(t, q, v)``; one of time alone, ``f(t)``, is passed the time alone.

    See `takes_state` for how the two are told apart.

    Raises `ModelError` for what can be called in neither way, naming the argument at `where`.
    """
    if takes_state(where, function):
        return function  # type: ignore[no-any-return]
    return lambda t, q, v: function(t)


def takes_state(where: str, function: Any) -> bool:
    """Tell whether a function is one of time and state, ``f(t, q, v)``, rather than of time alone, ``f(t)``.

    What further arguments with defaults mean is unknown (those of splines are orders of derivatives): such functions are of
    time alone, unless these arguments are called q and v. Functions without a signature are of time and state.

    Raises `ModelError` for what can be called in neither way, naming the argument at `where`.
    """
    expected, advice = "a function f(t) or f(t, q, v)", "take the time, or time, q and v in this order"
    if not callable(function):
        raise ModelError(Finding("wrong-type", where, function, expected, "write lambda t: ... or lambda t, q, v: ..."))
    signature = _signature(function)
    if signature is None:
        return True
    of_time, of_state = (_binds(signature, arguments) for arguments in ("t", "tqv"))
    if not (of_time or of_state):
        raise _wrong_signature(where, function, signature, expected, advice)
    parameters = signature.parameters.values()
    means_state = {"q", "v"} <= set(signature.parameters) or any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return of_state and (means_state or not of_time)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _wrong_signature(where: str, function: Any, signature: inspect.Signature, expected: str, advice: str) -> ModelError:
    name = getattr(function, "__name__", type(function).__name__)
    return ModelError(Finding("wrong-signature", where, f"{name}{signature}", expected, advice))


def _binds(signature: inspect.Signature, arguments: Iterable[str]) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def check_switch(where: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Raises `ModelError` naming the argument at `where`.
    """
    if type(value).__name__ not in ("bool", "bool_"):
        raise ModelError(Finding("wrong-type", where, value, "True or False", "choose one of the two, without quotes"))


def sampled(where: str, function: Callable[[float], Any], fractions: Array, length: float, shape: tuple[int, ...]) -> Array:
    """Return the values (k, \\*shape; units of the function) of a function of X (m) at places along a rod.

    `where`: dotted path of the function; `fractions` (k): the places, as fractions of the length; `length` (m); `shape`: of
    each value. Raises `ModelError` if the function fails, or a value has another shape or is not finite.
    """
    rows, expected = [], f"finite numbers of shape {shape}" if shape else "a finite number"
    for X in (fractions * length).tolist():
        try:
            value = function(X)
        except Exception as error:
            failure = f"{type(error).__name__}: {error} (X = {X:.4g})"
            raise ModelError(Finding("function-fails", where, failure, expected, "check the function")) from error
        wrong = Finding("bad-values", where, value, expected, f"check what the function returns at X = {X:.4g}")
        rows.append(read_array(wrong, lambda row: row.shape == shape and is_finite(row)))
    return np.array(rows)
