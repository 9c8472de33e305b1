"""Kernels of two kinds of systems from one function: rigid ones, and those with blocks of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from titop.solvers.native.kernel import Kernel
from titop.solvers.native.signatures import IN_LANES, INTEGER, OF_MEMBERS, SINGLE, Signature, Type

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
    members : Pair or None
        The same for those whose tables are their own as well.
    """

    rigid: Kernel
    mixed: Kernel
    stacked: Any = None
    members: Any = None


def pair(
    *arguments: Type, result: Type = INTEGER, whole: bool = False, closed: bool | None = None
) -> Callable[[Callable[..., Any]], Pair]:
    """Return a decorator that makes a function of such arguments, which asks for `LAWS`, a `Pair`; see `Kernel` of `whole`.

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
            return kernel(title, False, form), kernel(f"{title}_of_all", True, form)

        own = {kind.stacked for kind in arguments} - {""}
        forms = IN_LANES if own - {"table"} else None, OF_MEMBERS if "table" in own else None
        return Pair(*both(SINGLE), *(form and Pair(*both(form)) for form in forms))

    return decorate
