"""References of a control loop as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array
from titop.solvers.signals.signal_tables import SignalTable
from titop.solvers.support.interpolated import Interpolated


class References:
    """References by name.

    Parameters
    ----------
    names : sequence of str
        In titop's spelling.
    given : mapping, array_like or callable, optional
        Numbers, arrays (n,) at the `times` or functions ``f(t)`` by name; or all in one: numbers (nr,), an array (n, nr) at
        the `times`, or a function ``f(t) -> (nr,)``. Linear between the times.
    times : (n,) array, s
    resting : (nr,) array
        References that are not given.

    Raises
    ------
    ModelError
        For unknown names, wrong shapes, and entries that are not finite.
    """

    def __init__(self, names: Sequence[str], given: Any, times: Array, resting: Array) -> None:
        self.names = tuple(names)
        self._resting = resting
        self._functions: list[tuple[Any, Callable[[float], Any]]] = []
        #: Whether they change in time.
        self.vary = given is not None
        if given is None:
            return
        if not isinstance(given, Mapping):
            self._functions = [(slice(None), _function("reference", given, times, (len(self.names),)))]
            return
        table = SignalTable("a reference of the controller", self.names)
        for key, value in given.items():
            entry = self.names.index(table.find("reference", str(key)))
            self._functions.append((entry, _function(f"reference[{key!r}]", value, times, ())))

    @property
    def given(self) -> tuple[str, ...]:
        """Names of those that are not at rest."""
        chosen = np.zeros(len(self.names), dtype=bool)
        for entry, _ in self._functions:
            chosen[entry] = True
        return tuple(name for name, own in zip(self.names, chosen, strict=True) if own)

    @property
    def tables(self) -> list[Interpolated]:
        """Those that are samples."""
        return [function for _, function in self._functions if isinstance(function, Interpolated)]

    def read(self, t: float) -> Array:
        """Return the references (nr) at time t (s)."""
        r = self._resting.copy()
        for entry, function in self._functions:
            r[entry] = function(t)
        return r


def _function(where: str, value: Any, times: Array, shape: tuple[int, ...]) -> Callable[[float], Any]:
    """Return a function of time with values of a shape."""
    if callable(value):
        check_function(where, value, "t")
        return lambda t: _read(where, value(t), shape)
    numbers = real_array(value)
    if numbers is not None and shape == (1,) and numbers.ndim == 1 and len(numbers) > 1:
        numbers = numbers[:, None]
    if numbers is not None and numbers.ndim == len(shape) + 1:
        samples = _read(where, numbers, (len(times), *shape))
        return Interpolated(times, samples)
    constant = _read(where, value, shape)
    return lambda t: constant


def _read(where: str, value: Any, shape: tuple[int, ...]) -> Array:
    numbers = real_array(value)
    if numbers is not None and shape == (1,) and numbers.shape == ():
        numbers = numbers.reshape(1)
    if numbers is None or numbers.shape != shape or not np.isfinite(numbers).all():
        expected = f"finite numbers of shape {shape}" if shape else "a finite number"
        advice = "one for each reference, or these at each output time"
        raise ModelError(Finding("wrong-shape", where, value, expected, advice))
    return numbers
