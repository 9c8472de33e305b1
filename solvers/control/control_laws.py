"""Controllers of all kinds as one: what a control loop calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.control.controller import Controller
from titop.solvers.control.linear_controller import LinearWiring, sampled
from titop.solvers.control.scheduled_controller import ScheduledController


@dataclass(frozen=True)
class SampledLaw:
    """A controller in discrete time.

    Attributes
    ----------
    inputs, references, outputs : tuple of str
        Measured outputs, references and commands, in titop's spelling.
    states : tuple of str
    initial_state : (nx,) array
    sample_time : float, s
    update : callable ``f(t, x, y, r, measured) -> (x_next, u)``
        `y`, `r` and `u` are deviations from the operating point; `measured` holds the outputs themselves.
    """

    inputs: tuple[str, ...]
    references: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[str, ...]
    initial_state: Array
    sample_time: float
    update: Callable[[float, Array, Array, Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class ContinuousLaw:
    """A state space whose states are integrated with the model's."""

    wiring: LinearWiring
    K: Any


def controller_law(controller: Controller, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> SampledLaw:
    """Return the law of a controller whose signals have these names in titop's spelling."""
    start = controller.initial_state

    def update(t: float, x: Array, y: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        returned = controller.update(t, x, y, r)
        parts = [real_array(np.atleast_1d(part)) for part in returned] if isinstance(returned, tuple) else []
        shapes = [None if part is None or not np.isfinite(part).all() else part.shape for part in parts]
        if shapes == [x.shape, (len(outputs),)]:
            return parts[0], parts[1]  # type: ignore[return-value]
        expected = f"(x_next, u): {len(x)} states and {len(outputs)} commands, all finite"
        raise ModelError(
            Finding("bad-update", f"controller.update at t = {t:.6g} s", returned, expected, "check what update returns")
        )

    states = tuple(f"x[{k}]" for k in range(len(start)))
    return SampledLaw(inputs, inputs, outputs, states, start, controller.sample_time, update)


def state_space_law(K: Any, wiring: LinearWiring, sample_time: float) -> SampledLaw:
    """Return the law of a state space, sampled if it is continuous."""
    K = sampled(K, sample_time)
    A, B, C, D, from_y, from_r = K.A, K.B, K.C, K.D, wiring.from_y, wiring.from_r

    def update(t: float, x: Array, y: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        e = from_y.dot(y) + from_r.dot(r)
        return A.dot(x) + B.dot(e), C.dot(x) + D.dot(e)

    start = np.zeros(K.nstates)
    return SampledLaw(wiring.inputs, wiring.references, wiring.outputs, tuple(K.state_labels), start, sample_time, update)


def scheduled_law(controller: ScheduledController, first: Any, wiring: LinearWiring, schedule: dict[str, str]) -> SampledLaw:
    """Return the law of a scheduled controller, `first` its member at the start, `schedule` in titop's spelling."""
    inputs = tuple(dict.fromkeys((*wiring.inputs, *schedule.values())))
    where = {name: inputs.index(output) for name, output in schedule.items()}
    ny = len(wiring.inputs)

    def update(t: float, x: Array, y: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        K = controller.at({name: float(measured[k]) for name, k in where.items()}, like=first)
        e = wiring.from_y @ y[:ny] + wiring.from_r @ r
        return K.A @ x + K.B @ e, K.C @ x + K.D @ e

    start = np.zeros(first.nstates)
    states = tuple(first.state_labels)
    return SampledLaw(inputs, wiring.references, wiring.outputs, states, start, controller.sample_time, update)
