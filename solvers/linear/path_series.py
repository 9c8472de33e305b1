"""Delays and noise of actuators and sensors in linear models: fractions in series, and inputs of unit white noise.

Filters of their paths are states of the model already. Other elements have slope one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_switch
from titop.blocks.devices.device import Device
from titop.blocks.devices.path_noises import NOISES
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, named_system
from titop.solvers.signals.exported import Signal
from titop.solvers.signals.grammar import INPUT, OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import NamedModel

if TYPE_CHECKING:
    from control import StateSpace

#: Of the fractions for delays of paths: even, so that what passes beside the states has gain one.
ORDER = 4

#: A, B, C and D (..., ., .) of one model or of stacked ones.
Stacked = tuple[Array, Array, Array, Array]


class PathTiming(NamedTuple):
    """When the signal of a device passes its path.

    - `path`: of the signal;
    - `delay`, `sample_time`: in s; a sample time of zero is none.
    """

    path: str
    delay: float
    sample_time: float


def read_timings(model: NamedModel, signals: Sequence[Signal]) -> tuple[PathTiming, ...]:
    """Return when signals pass their paths, of those that are delayed or sampled there."""
    devices, found = _channels(model), list[PathTiming]()
    for signal in signals:
        path = devices[signal.path][0].path if signal.path in devices else None
        if path is not None and (path.delay or path.sample_time):
            found.append(PathTiming(signal.path, path.delay, path.sample_time or 0.0))
    return tuple(found)


def without_fractions(M: StateSpace, paths: Sequence[str]) -> StateSpace:
    """Return a named system without the fractions for the delays of some signals: what they pass is not delayed any more."""
    states, inputs, outputs = named_signals(M)
    left = [k for k, state in enumerate(states) if not any(state.path.startswith(f"{path}.delay[") for path in paths)]
    matrices = M.A[np.ix_(left, left)], M.B[left], M.C[:, left], M.D
    return named_system(matrices, [states[k] for k in left], inputs, outputs, str(M.name), M.dt)


def pade(order: int, delay: float) -> Matrices:
    """Return the fraction of some order for a delay (s): of gain one at all frequencies, its phase alone is not exact.

    On the imaginary axis it differs from ``e^(-s delay)`` by less than ``n!^2 / ((2 n)! (2 n + 1)!) x^(2 n + 1)``, with n the
    order and x the delay times the frequency.
    """
    from scipy.signal import tf2ss

    n = order
    above = np.array([factorial(2 * n - k) / (factorial(k) * factorial(n - k)) for k in range(n, -1, -1)])
    A, B, C, D = tf2ss(above * (-1.0) ** np.arange(n, -1, -1), above)
    return Matrices(A / delay, B / delay, C, D)


def with_paths(
    model: NamedModel,
    matrices: Stacked,
    states: Sequence[Signal],
    inputs: Sequence[Signal],
    outputs: Sequence[Signal],
    before: int = 0,
) -> tuple[Stacked, list[Signal]]:
    """Return a linear model with the delays of its inputs and outputs, and what its noise inputs do; and its states.

    `before`: number of other inputs and outputs, which come first.
    """
    devices, named = _channels(model), list(states)
    for k, signal in enumerate(inputs, start=before):
        owner, ending = split_end(signal.path)
        if ending in NOISES and owner in devices:
            device, channel = devices[owner]
            rows = [before + j for j, output in enumerate(outputs) if output.path == owner]
            assert device.path is not None
            shaping = Matrices(*device.path.shaping(ending, _size(device, channel, ending)))
            A, B, C, D = matrices
            if not device.inputs:  # what a sensor says errs itself; to a command it is added
                D = D.copy()
                D[..., rows, k] = 1.0
            matrices = _behind_input((A, B, C, D), k, shaping)
            named += [Signal(f"{signal.path}[{j}]" if len(shaping.A) > 1 else signal.path, "1") for j in range(len(shaping.A))]
    for signals, behind in ((inputs, _behind_input), (outputs, _behind_output)):
        for k, signal in enumerate(signals, start=before):
            if delay := _delay(devices, signal):
                matrices = behind(matrices, k, pade(ORDER, delay))
                named += [Signal(f"{signal.path}.delay[{j}]", "1") for j in range(ORDER)]
    return matrices, named


def noise_inputs(model: NamedModel, inputs: Any, outputs: Any, noise: bool = True) -> list[str]:
    """Return the names of inputs, and of all noises of actuators and of the sensors among `outputs`.

    Raises `ModelError` for unknown names, and if `noise` is not True.
    """
    check_switch("noise", noise)
    given, read = read_names("inputs", inputs), read_names("outputs", outputs)
    known = {path for name in given for path in read_name(model, INPUT, name).paths}
    sensed = {path for name in read if isinstance(name, str) for path in read_name(model, OUTPUT, name).paths}
    acting = (
        f"{signal}.{ending}"
        for signal, (device, channel) in _channels(model).items()
        for ending in NOISES
        if (device.inputs or signal in sensed) and _size(device, channel, ending)
    )
    return [*given, *(name for name in acting if name not in known)]


def refuse_paths(model: NamedModel, paths: Sequence[str]) -> None:
    """Refuse signals of nonlinear systems with delays, and noise. Raises `ModelError` naming the device."""
    devices = _channels(model)
    for path in paths:
        owner, ending = split_end(path)
        if ending in NOISES and owner in devices:
            expected, advice = "an input of the nonlinear system", "give it to tt.linearize; simulate draws noise itself"
            raise ModelError(Finding("no-noise", "inputs", path, expected, advice))
        if delay := _delay(devices, Signal(path, "")):
            expected, advice = "no delay, which has no exact form as states", "join a fraction: control.pade, or use linearize"
            raise ModelError(Finding("no-delay", f"{devices[path][0].name}.path.delay", delay, expected, advice))


def _channels(model: NamedModel) -> dict[str, tuple[Device, int]]:
    """Return the devices with paths, and the number of the channel, by the names of their signals."""
    assembly = model.mechanism.assembly
    named = [(each, each.input_names) for each in assembly.actuators] + [(each, each.output_names) for each in assembly.sensors]
    return {name: (each, k) for each, names in named if each.path is not None for k, name in enumerate(names)}


def _size(device: Device, channel: int, noise: str) -> float:
    return float(np.broadcast_to(getattr(device.path, NOISES[noise]), len(device.channels))[channel])


def _delay(devices: dict[str, tuple[Device, int]], signal: Signal) -> float:
    path = devices[signal.path][0].path if signal.path in devices else None
    return 0.0 if path is None else path.delay


def _behind_input(matrices: Stacked, k: int, system: Matrices) -> Stacked:
    """Return a model whose input k passes a system first; the states of this come last."""
    (A, B, C, D), (a, b, c, d) = matrices, system
    n, lead, inner = A.shape[-1], A.shape[:-2], np.broadcast_to(a, (*A.shape[:-2], *a.shape))
    B_new, D_new, passed = B.copy(), D.copy(), np.zeros((*lead, len(a), B.shape[-1]))
    B_new[..., k], D_new[..., k], passed[..., k] = B[..., k] * d.item(), D[..., k] * d.item(), b[:, 0]
    A_new = np.block([[A, B[..., [k]] @ c], [np.zeros((*lead, len(a), n)), inner]])
    return A_new, np.concatenate([B_new, passed], axis=-2), np.concatenate([C, D[..., [k]] @ c], axis=-1), D_new


def _behind_output(matrices: Stacked, k: int, system: Matrices) -> Stacked:
    """Return a model whose output k passes a system last; the states of this come last."""
    return _dual(_behind_input(_dual(matrices), k, Matrices(*_dual((*system,)))))


def _dual(matrices: Stacked) -> Stacked:
    """Return the model whose inputs are the outputs, and the reverse: its response is transposed."""
    A, B, C, D = (np.swapaxes(matrix, -1, -2) for matrix in matrices)
    return A, C, B, D
