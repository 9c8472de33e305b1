"""Checks of functions and switches that users pass."""

from __future__ import annotations

import inspect
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError


def check_function(where: str, function: Any, arguments: str) -> None:
    """Refuse what cannot be called with `arguments`, such as ``"t, q, v"``; functions without a signature are accepted.

    Raises
    ------
    ModelError
        Naming the argument at `where`, and the function's own signature.
    """
    expected, advice = f"a function f({arguments})", "take just these arguments, in this order"
    if not callable(function):
        raise ModelError(Finding("wrong-type", where, function, expected, f"write lambda {arguments}: ..."))
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments.split(", "))
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        raise ModelError(Finding("wrong-signature", where, f"{name}{signature}", expected, advice)) from None


def check_switch(where: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Raises
    ------
    ModelError
        Naming the argument at `where`.
    """
    if type(value).__name__ not in ("bool", "bool_"):
        raise ModelError(Finding("wrong-type", where, value, "True or False", "choose one of the two, without quotes"))
