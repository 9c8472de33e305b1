"""Controllers with states of their own, called at samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array
from titop.solvers.signals.signal_tables import check_names


class Controller:
    """A sampled controller: a function that is called at every sample, and the states that it keeps.

    Parameters
    ----------
    update : callable ``f(t, x, y, r) -> (x_next, u)``
        From the time (s), the states, the measured outputs and the references at a sample to the states at the next sample
        and the commands from this sample on. With an operating point, `y`, `r` and `u` are deviations from it.
    initial_state : array_like (nx,)
        May be empty.
    inputs : sequence of str
        Measured outputs, in the order of `y`: sensors' outputs, ``joint.q``, ``joint.v``, or parts of a port's motion
        such as ``hub.P.w[0]``. `r` has a reference for each, in the same order.
    outputs : sequence of str
        Actuators' inputs or efforts of joints (``joint`` or ``joint.tau``), in the order of `u`.
    sample_time : float, s

    Raises
    ------
    ModelError
        For unusable arguments.

    Examples
    --------
    A counter of the samples that pushes harder each time:

    >>> import titop as tt
    >>> def update(t, x, y, r):
    ...     return x + 1, x
    >>> controller = tt.Controller(update, [0.0], inputs=["rail.q"], outputs=["rail.tau"], sample_time=0.1)
    """

    def __init__(
        self,
        update: Callable[[float, Array, Array, Array], tuple[Any, Any]],
        initial_state: Any,
        inputs: Sequence[str],
        outputs: Sequence[str],
        sample_time: float,
    ) -> None:
        check_function("update", update, "t, x, y, r")
        state = real_array(initial_state)
        if state is None or state.ndim != 1 or not np.isfinite(state).all():
            raise ModelError(Finding("wrong-type", "initial_state", initial_state, "a list of finite numbers", "[] for none"))
        self.update = update
        self.initial_state = state
        self.inputs = read_names("inputs", inputs)
        self.outputs = read_names("outputs", outputs)
        self.sample_time = read_duration("sample_time", sample_time)


def read_names(where: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names of signals, none of them twice.

    Raises
    ------
    ModelError
        If they are no list of names, or one is there twice.
    """
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ModelError(Finding("wrong-type", where, names, "a list of names", 'write ["hinge.q"]'))
    check_names(where, names)
    return tuple(names)


def read_duration(where: str, value: Any, zero: bool = False) -> float:
    """Return a positive (or, if `zero`, non-negative) finite time (s).

    Raises
    ------
    ModelError
        If it is none.
    """
    number = real_array(value)
    if number is None or number.shape != () or not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        expected = "a time in seconds, zero or more" if zero else "a time in seconds, more than zero"
        raise ModelError(Finding("bad-time", where, value, expected, "check the value"))
    return float(number)
