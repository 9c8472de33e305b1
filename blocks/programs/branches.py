"""Functions that branch on unknown numbers: followed along every path, and what comes out is chosen by the branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.programs.graph import ANSWER, BranchError, Unknown, chosen_of

#: So many paths through one call are followed: six branches one after the other.
_MOST = 64


def explored(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``function(*arguments)``; where it branches on unknown numbers, what it returns on every path, merged by choices.

    Raises `BranchError` for too many paths, and for results of different shapes.
    """
    token = ANSWER.set(None)
    try:
        return function(*arguments)
    except BranchError:
        return _Paths().merged(lambda: function(*arguments), ())
    finally:
        ANSWER.reset(token)


class _Paths:
    """The ways through a function."""

    def __init__(self) -> None:
        self.count = 0

    def merged(self, call: Callable[[], Any], ways: tuple[bool, ...]) -> Any:
        """Return the result where the first branches go these ways, and all others both ways."""
        asked: list[Unknown] = []
        known: dict[int, bool] = {}
        self.count += 1
        if self.count > _MOST:
            raise BranchError(f"more than {_MOST} ways through branches that look at numbers that are not known yet")

        def answer(truth: Unknown) -> bool:
            operation, arguments = truth.value
            if operation == "not":
                return not bool(truth.graph.known(arguments[0]))
            orders = (truth.graph.put("less", *pair).place for pair in (arguments, arguments[::-1]) if operation == "equal")
            if operation == "equal" and not any(known.get(order, True) for order in orders):
                return True  # none of them is less than the other: NumPy's sign asks so
            if truth.place not in known:
                known[truth.place] = ways[len(asked)] if len(asked) < len(ways) else True
                asked.append(truth)
            return known[truth.place]

        token = ANSWER.set(answer)
        try:
            result = call()
        finally:
            ANSWER.reset(token)
        for k in range(len(asked) - 1, len(ways) - 1, -1):
            other = self.merged(call, (*ways, *[True] * (k - len(ways)), False))
            result = _chosen(asked[k], result, other)
        return result


def _chosen(truth: Unknown, x: Any, y: Any) -> Any:
    """Return one of two results: numbers, arrays, or tuples and lists of these."""
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*(_chosen(truth, a, b) for a, b in zip(x, y, strict=True)))
    if isinstance(x, tuple | list):
        return type(x)(_chosen(truth, a, b) for a, b in zip(x, y, strict=True))
    if np.shape(x) != np.shape(y):
        raise BranchError(f"a branch on numbers that are not known yet leads to shapes {np.shape(x)} and {np.shape(y)}")
    return x if x is y else chosen_of(truth, x, y)
