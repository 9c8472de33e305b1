"""Kernels of two kinds of systems from one function: rigid ones, and those with blocks of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from titop.solvers.native.kernel import Kernel
from titop.solvers.native.signatures import IN_LANES, INTEGER, SINGLE, Signature, Type

#: Arguments that kernels for rigid systems, and for systems without closures and gears, do without.
_OF_LAWS = ("numbers", "stages")
_OF_CLOSURES = ("precision", "sizes", "plain", "told", "tree", "loops")


class Pair(NamedTuple):
    """A function's kernels for two kinds of systems: numba drops from each what is the other's.

    Attributes
    ----------
    rigid : Kernel
        For systems without general blocks and interactions: the function's `LAWS` is False, and its `numbers` and `stages` are
        not among the arguments.
    mixed : Kernel
        For all: it is True.
    stacked : Pair or None
        The same for stacked states, of a function whose arguments say what each state has of its own.
    """

    rigid: Kernel
    mixed: Kernel
    stacked: Any = None


def pair(
    *arguments: Type, result: Type = INTEGER, whole: bool = False, closed: bool | None = None
) -> Callable[[Callable[..., Any]], Pair]:
    """Return a decorator that makes a function of such arguments a `Pair`; see `Kernel` of `whole`.

    Without asking for `LAWS` it has one kernel, which is both.
    A function that asks for `CLOSED` as well has a pair for systems that are `closed`, by rigid closures or gears, and one for
    those that are not.
    """

    def decorate(function: Callable[..., Any]) -> Pair:
        names = function.__code__.co_varnames
        title = function.__name__ if closed is None else f"{'closed' if closed else 'open'}_{function.__name__}"

        def kernel(name: str, laws: bool, form: str = SINGLE) -> Kernel:
            kind = FunctionType(function.__code__, {**function.__globals__, "LAWS": laws, "CLOSED": closed}, name)
            kind.__doc__ = function.__doc__
            left_out = (*(() if laws else _OF_LAWS), *(_OF_CLOSURES if closed is False else ()))
            types = (kind._replace(given=False) if at in left_out else kind for at, kind in zip(names, arguments, strict=False))
            return Kernel(kind, Signature(tuple(types), result), whole=whole, form=form)

        def both(form: str) -> tuple[Kernel, Kernel]:
            rigid = kernel(title, False, form)
            return rigid, kernel(f"{title}_of_all", True, form) if "LAWS" in function.__code__.co_names else rigid

        is_for_stacks = any(kind.stacked for kind in arguments)
        return Pair(*both(SINGLE), Pair(*both(IN_LANES)) if is_for_stacks else None)

    return decorate
