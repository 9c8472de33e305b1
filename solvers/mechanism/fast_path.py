"""The one way from a user's call into a kernel, without a look at its arguments, and what it goes back to where that fails.

A kernel writes its results into arrays that it is given, and returns a status: `DONE`, or that something is wrong. It refuses
arguments that are not its own (lists, integers, complex numbers, stacked states) with an error among `UNREADY`. What comes then
asks it once more with lists, integers and strided arrays made ready; at last it reads the arguments with care, and either finds
what is wrong with them or computes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import check_stacks, made_ready
from titop.solvers.arguments.rowwise import bound

Method = TypeVar("Method", bound=Callable[..., Any])

#: The status of a kernel that has written its results.
DONE = 0

#: What is raised where arguments are not the kernels', or where there is no kernel.
UNREADY = (AttributeError, IndexError, KeyError, TypeError, ValueError)

#: The arguments of a state.
_NAMES = ("q", "v", "a")


class NoCalls:
    """The kernels of an engine that has none: every one is None, and calling it a `TypeError`."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    @property
    def at_ports(self) -> NoCalls:
        """Of the ports there is none either."""
        return self

    def __getitem__(self, port: str) -> NoCalls:
        return self


NO_CALLS: Any = NoCalls()


def of_state(*sizes: str | int, still: int = 0) -> Callable[[Method], Method]:
    """Let a method of a state (q; q and v; q, v and a) ask the kernel of its name first, and take stacked states.

    Parameters
    ----------
    *sizes : str or int
        Shape of the result, sizes of the model by name.
    still : int
        How many vectors of zeros the kernel takes behind the state.

    Notes
    -----
    The method itself says what is computed at one state that was read, by an engine without such a kernel.
    """

    def decorate(method: Method) -> Method:
        name, signature = method.__name__, inspect.signature(method)
        names = tuple(signature.parameters)[1:]

        @functools.wraps(method)
        def call(self: Any, *state: Any, **named: Any) -> Any:
            kernel = getattr(self._calls, name)
            try:
                if named:
                    state, named = (*state, *in_order(names[len(state) :], named)), {}
                result = np.empty(self._shapes[sizes])
                if kernel(*state, *self._stills[still], result) == DONE:
                    return result
            except UNREADY:
                pass
            if named or len(state) != len(names):
                state = bound(method, signature, (self, *state), named).args[1:]
            return with_care(self, kernel, functools.partial(method, self), state, self._shapes[sizes], self._stills[still])

        return cast(Method, call)

    return decorate


def between_configurations(size: str) -> Callable[[Method], Method]:
    """Let a method of two configurations, or one and a step, ask the kernel of its name first; both may be stacked.

    Parameters
    ----------
    size : str
        Name of the size of its result.

    Notes
    -----
    The method itself reads its arguments, and computes without a kernel.
    """

    def decorate(method: Method) -> Method:
        name, names = method.__name__, tuple(inspect.signature(method).parameters)[1:]

        @functools.wraps(method)
        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            try:
                first, second = (*arguments, *in_order(names[len(arguments) :], named)) if named else arguments
                kernel = getattr(self._calls, name)
                if first.ndim == 1:
                    result = np.empty((1, *self._shapes[size,]))
                    if kernel(first[None], second[None], result) == DONE:
                        return result[0]
                else:
                    result = np.empty((len(first), *self._shapes[size,]))
                    if kernel(first, second, result) == DONE:
                        return result
            except UNREADY:
                pass
            if ready := made_ready(*arguments):
                return call(self, *ready, **named)
            return method(self, *arguments, **named)

        return cast(Method, call)

    return decorate


def derivatives_between(method: Method) -> Method:
    """Let a method that gives two matrices (nv, nv) of two configurations, or one and a step, ask its kernel likewise."""
    name, names = method.__name__, tuple(inspect.signature(method).parameters)[1:]

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            first, second = (*arguments, *in_order(names[len(arguments) :], named)) if named else arguments
            single = first.ndim == 1
            rows = (first[None], second[None]) if single else (first, second)
            shape = (len(rows[0]), *self._shapes["nv", "nv"])
            one, other = np.empty(shape), np.empty(shape)
            if getattr(self._calls, name)(*rows, one, other) == DONE:
                return (one[0], other[0]) if single else (one, other)
        except UNREADY:
            pass
        if ready := made_ready(*arguments):
            return call(self, *ready, **named)
        return method(self, *arguments, **named)

    return cast(Method, call)


def in_order(names: tuple[str, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return arguments given by name in the order of `names`.

    Raises
    ------
    KeyError
        Where these are not their names.
    """
    if len(names) != len(named):
        raise KeyError
    return tuple([named[name] for name in names])


def with_care(
    model: Any,
    kernel: Any,
    one: Callable[..., Array],
    given: tuple[Any, ...],
    shape: tuple[int, ...],
    still: tuple[Array, ...] = (),
) -> Array:
    """Return a function of a state (q; q and v; q, v and a) at what is `given`, which is read with care; stacked if that is.

    Parameters
    ----------
    model : Mechanism
    kernel : callable or None
        Takes a state, `still` and an array for the result, and returns a status.
    one : callable
        The function of one state, where there is no kernel.
    given : tuple of array_like
    shape : tuple of int
        Of the function's result.
    still : tuple of arrays

    Raises
    ------
    ModelError
        For unusable states, for complex ones if there is a kernel, and whatever the function refuses.
    """
    if kernel is not None and (ready := made_ready(*given)):
        try:
            result = np.empty(shape)
            if kernel(*ready, *still, result) == DONE:
                return result
        except UNREADY:
            pass
    states = read_given(model, given)
    if kernel is None:
        if states[0].ndim == 1:
            return one(*states)
        return np.array([one(*row) for row in zip(*states, strict=True)]).reshape(len(states[0]), *shape)
    model.engine.raise_pending()
    states = [np.ascontiguousarray(real_only(x, name), float) for x, name in zip(states, _NAMES, strict=False)]
    if states[0].ndim == 1:
        result = np.empty(shape)
        model.engine.raise_for(kernel(*states, *still, result))
        return result
    stack = np.empty((len(states[0]), *shape))
    for *row, result in zip(*states, stack, strict=True):
        status = kernel(*row, *still, result)
        if status != DONE:
            model.engine.raise_for(status)
    return stack


def read_given(model: Any, given: tuple[Any, ...]) -> list[Array]:
    """Return a state (q; q and v; q, v and a) as arrays, equally stacked or not.

    Raises
    ------
    ModelError
        For unusable states.
    """
    states = [read(model, name, x) for name, x in zip(_NAMES, given, strict=False)]
    check_stacks(dict(zip(_NAMES, states, strict=False)))
    return states


def read(model: Any, name: str, value: Any) -> Array:
    """Return an argument of a model's function as an array, stacked or not."""
    array: Array = model._read_q(value, stacked=True) if name == "q" else model._read_v(name, value, stacked=True)
    return array


def real_only(array: Array, name: str) -> Array:
    """Return an argument that kernels take.

    Raises
    ------
    ModelError
        If it is complex.
    """
    if array.dtype.kind == "c":
        advice = "use resolve(engine='reference') for complex arguments"
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", advice))
    return array


def names_key(names: Any) -> tuple[str, ...] | None:
    """Return names of coordinates as a key.

    Raises
    ------
    TypeError
        Where they have to be read with more care.
    """
    if not isinstance(names, list | tuple | None):
        raise TypeError
    return None if names is None else tuple(names)


def driven_by(tau: Any, driven: Array | None) -> Any:
    """Return the sum of efforts and those of inputs, if there are any.

    Raises
    ------
    TypeError
        Where `tau` has to be read with more care: a sum may hide what it is.
    """
    if driven is None:
        return tau
    if type(tau) is not np.ndarray or tau.shape != driven.shape:
        raise TypeError
    return tau + driven


class Shapes(dict[tuple[str | int, ...], tuple[int, ...]]):
    """Shapes by the names of their sizes, which are given by name."""

    def __init__(self, **sizes: int) -> None:
        super().__init__()
        self.sizes = sizes

    def __missing__(self, sizes: tuple[str | int, ...]) -> tuple[int, ...]:
        self[sizes] = shape = tuple(self.sizes[size] if isinstance(size, str) else size for size in sizes)
        return shape
