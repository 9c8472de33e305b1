"""A common interface of all kinds of controllers, and the connection of linear ones by names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.reading import is_ready
from titop.solvers.control.controllers import Controller, FirstMember, ScheduledController, discretise
from titop.solvers.signals.exported import REFERENCE
from titop.solvers.signals.grammar import SignalTable, check_names

#: What the parameters of a scheduled controller follow, by name: outputs of the model, or functions of time.
Schedule = dict[str, str | Callable[[float], float]]


@dataclass(frozen=True)
class ControlLaw:
    """The signals of a controller.

    `inputs`, `references`, `outputs`: measured outputs, references and commands, in titop's spelling.
    """

    inputs: tuple[str, ...]
    references: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[str, ...]


@dataclass(frozen=True)
class SampledLaw(ControlLaw):
    """A controller in discrete time.

    - `initial_state` (nx); `sample_time` (s);
    - `update`, ``f(t, x, y, r, measured) -> (x_next, u)``: `y`, `r` and `u` are deviations from the operating point; `measured`
      has the absolute outputs;
    - `matrix` (nx + nu, nr + nx + ny): of a linear law, ``[x_next, u] = matrix [r, x, y]``. Its `update` takes stacks of `x`,
      `y` and `measured` as well, with the bits of single ones, and changes none.
    """

    initial_state: Array
    sample_time: float
    update: Callable[[float, Array, Array, Array, Array], tuple[Array, Array]]
    matrix: Array | None = None


@dataclass(frozen=True)
class LinearLaw(ControlLaw):
    """A state space `K` with the inputs ``e = from_y y + from_r r``; in continuous time its states are integrated.

    `from_y`, `from_r` (inputs of K, ny) and (inputs of K, nr).
    """

    K: Any
    from_y: Array
    from_r: Array


def controller_law(controller: Controller, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> SampledLaw:
    """Return the law of a controller with these names of signals, in titop's spelling."""
    start, sizes = controller.initial_state, (len(controller.initial_state), len(outputs))

    def update(t: float, x: Array, y: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        returned = controller.update(t, x, y, r)
        if isinstance(returned, tuple) and len(returned) == 2 and all(map(is_ready, returned, sizes)):
            return returned[0].copy(), returned[1].copy()
        parts = [real_array(np.atleast_1d(part)) for part in returned] if isinstance(returned, tuple) else []
        shapes = [None if part is None or not np.isfinite(part).all() else part.shape for part in parts]
        if shapes == [x.shape, (len(outputs),)]:
            return parts[0], parts[1]  # type: ignore[return-value]
        expected = f"(x_next, u): {len(x)} states and {len(outputs)} commands, all finite"
        advice = "check what update returns"
        raise ModelError(Finding("bad-update", f"controller.update at t = {t:.6g} s", returned, expected, advice))

    states = tuple(f"x[{k}]" for k in range(len(start)))
    return SampledLaw(inputs, inputs, outputs, states, start, controller.sample_time, update)


def sampled_law(law: LinearLaw, sample_time: float) -> SampledLaw:
    """Return the law of a state space, sampled if it is in continuous time."""
    K = discretise(law.K, sample_time)
    nx, (from_y, from_r) = K.nstates, (law.from_y, law.from_r)
    matrix = np.block([[K.B @ from_r, K.A, K.B @ from_y], [K.D @ from_r, K.C, K.D @ from_y]])

    def update(t: float, x: Array, y: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        if y.ndim == 1:  # terms are added in their order, whatever is stacked, unlike those of products
            both = np.add.accumulate(matrix.T * np.concatenate([r, x, y])[:, None], axis=0)[-1]
        else:
            terms = zip(matrix.T, (*r, *x.T, *y.T), strict=True)
            both = reduce(np.add, (column[:, None] * values for column, values in terms)).T
        return both[..., :nx], both[..., nx:]

    return SampledLaw(law.inputs, law.references, law.outputs, law.states, np.zeros(nx), sample_time, update, matrix)


def scheduled_law(
    controller: ScheduledController, first: LinearLaw, schedule: Schedule, at_start: dict[str, float]
) -> SampledLaw:
    """Return the law of a scheduled controller, from its `first` member's at the start, where parameters are `at_start`."""
    measured_names = (output for output in schedule.values() if isinstance(output, str))
    inputs = tuple(dict.fromkeys((*first.inputs, *measured_names)))
    ny, nx, filters = len(first.inputs), len(first.states), controller.rates
    kept = {name: 1 - np.exp(-controller.sample_time / constant) for name, constant in filters.items()}
    aligned = FirstMember(first.K)
    last: list[Any] = [None, None]

    def update(t: float, x: Array, y: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        rho = {k: float(measured[inputs.index(of)]) if isinstance(of, str) else of(t) for k, of in schedule.items()}
        slow = dict(zip(filters, x[nx:].tolist(), strict=True))
        rates = {name: (rho[name] - value) * kept[name] / controller.sample_time for name, value in slow.items()}
        if last[0] != (rho, rates):
            last[:] = (rho, rates), controller.member(rho, aligned, rates)
        K, e = last[1], first.from_y @ y[:ny] + first.from_r @ r
        followed = [value + kept[name] * (rho[name] - value) for name, value in slow.items()]
        return np.concatenate([K.A @ x[:nx] + K.B @ e, followed]), K.C @ x[:nx] + K.D @ e

    start = np.concatenate([np.zeros(nx), [at_start[name] for name in filters]])
    states = (*first.states, *(f"{name}.slow" for name in filters))
    return SampledLaw(inputs, first.references, first.outputs, states, start, controller.sample_time, update)


def wire(K: Any, measured: SignalTable, commanded: SignalTable, exogenous: Collection[str]) -> LinearLaw:
    """Return the connection of a state space to a model, by the names of its inputs and outputs.

    An input named like an output of the model gets the error, reference minus output; if the controller has an input
    ``r_<output>``, that gets the reference, and inputs named like outputs get the outputs themselves.

    - `measured`, `commanded`: signals of the model;
    - `exogenous`: references without an output.
    """
    for what, labels, count in (("input", K.input_labels, K.ninputs), ("output", K.output_labels, K.noutputs)):
        if len(labels) < count:  # python-control keeps only one of equal names
            got, expected = ", ".join(labels), f"{count} names that differ"
            raise ModelError(Finding("duplicate-name", f"controller.{what}_labels", got, expected, "rename the signals"))
    separate = any(_reference_of(label, measured) for label in K.input_labels)
    inputs: list[str] = []
    references: list[str] = []
    rows: list[tuple[str | None, str | None]] = []
    for label in K.input_labels:
        y, r = _input_of(label, measured, exogenous, separate)
        rows.append((y, r))
        inputs += [y] if y else []
        references += [r] if r else []
    check_names("controller.input_labels", inputs)
    check_names("controller.input_labels", references)
    from_y, from_r = np.zeros((len(rows), len(inputs))), np.zeros((len(rows), len(references)))
    for row, (y, r) in enumerate(rows):
        if y:
            from_y[row, inputs.index(y)] = 1.0 if separate else -1.0
        if r:
            from_r[row, references.index(r)] = 1.0
    outputs = output_names(K.output_labels, measured, commanded)
    check_names("controller.output_labels", outputs)
    return LinearLaw(tuple(inputs), tuple(references), outputs, tuple(K.state_labels), K, from_y, from_r)


def output_names(labels: Sequence[str], measured: SignalTable, commanded: SignalTable) -> tuple[str, ...]:
    """Return what a controller's outputs are: commands, references ``r_<output>`` of controllers after it, or other names."""
    names = []
    for label in labels:
        if label in commanded:
            names.append(commanded.find("controller.output_labels", label))
        elif _reference_of(label, measured):
            names.append(REFERENCE + measured.find("controller.output_labels", label.removeprefix(REFERENCE)))
        else:
            names.append(label)
    return tuple(names)


def _reference_of(label: str, measured: SignalTable) -> bool:
    return label not in measured and label.startswith(REFERENCE) and label.removeprefix(REFERENCE) in measured


def _input_of(label: str, measured: SignalTable, exogenous: Collection[str], separate: bool) -> tuple[str | None, str | None]:
    """Return the output and the reference of which an input of a controller is made."""
    where = "controller.input_labels"
    if _reference_of(label, measured):
        return None, measured.find(where, label.removeprefix(REFERENCE))
    if label in measured:
        y = measured.find(where, label)
        return y, None if separate else y
    if label in exogenous:
        return None, label
    advice = did_you_mean(label, [*measured.names, *exogenous])
    if label.startswith("u["):
        advice = "name the signals: control.ss(A, B, C, D, inputs=[...], outputs=[...]), or control.tf(num, den, inputs=...)"
    raise ModelError(Finding("unknown-signal", where, label, "an output of the model or a reference", advice))
