"""Sampled controllers, with the paths of devices, as one whose law changes from step to step of a cycle.

The step is the largest of which all sample times are multiples, the cycle their least common multiple. Where a controller has
no sample its states stay, and its outputs are held: these are further states of the loop. So are samples of sensors, and of
commands to actuators, where these have sample times that do not divide those of the controllers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.arguments.reading import read_duration
from titop.solvers.control.controllers import Loop, discretise, naming
from titop.solvers.lft.delta_blocks import Connectable
from titop.solvers.lft.feedback import Closing, read_closing, tap_outputs
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.path_series import PathTiming
from titop.solvers.linear.state_space import named_signals, read_linear
from titop.solvers.signals.exported import Signal

#: Steps of a cycle, at most.
_STEPS = 1000


def read_controllers(loops: Sequence[Loop]) -> tuple[list[tuple[int, Loop]], list[tuple[int, Loop]]]:
    """Return the loops in continuous time and those that are sampled, each with its place in the list.

    Raises `ModelError` for what is no linear system, and for unusable sample times.
    """
    parts: tuple[list[tuple[int, Loop]], list[tuple[int, Loop]]] = [], []
    for k, loop in enumerate(loops):
        with naming(k if len(loops) > 1 else None):
            K = read_linear("controller", loop.controller)
            if loop.sample_time is not None:
                K = _sampled(K, read_duration("sample_time", loop.sample_time))
            parts[bool(K.dt)].append((k, Loop(K, delay=loop.delay)))
    return parts


def _sampled(K: Any, step: float) -> Any:
    """Return a controller in discrete time, its sample time that of the loop."""
    K = discretise(K, step)
    if K.dt is None or K.dt is True:
        import control

        labels = {"inputs": K.input_labels, "outputs": K.output_labels, "states": K.state_labels}
        return control.ss(K.A, K.B, K.C, K.D, step, **labels)
    return K


class Sampler(NamedTuple):
    """What samples one signal each `hold` (zero for never) from the first step on, and delays it `before` and `after` (s)."""

    hold: float = 0.0
    before: float = 0.0
    after: float = 0.0

    def at_step(self, k: int, step: float) -> Matrices:
        """Return it as a sampled system, at the k-th step (s) of the cycle; delays last until the next step."""
        passing = Matrices.constant(np.ones((1, 1)))
        first, last = (tap_outputs(passing, [(0, _steps_of(delay, step))]) for delay in (self.before, self.after))
        return first.in_series(_hold(k % round(self.hold / step) == 0) if self.hold else passing).in_series(last)


class Devices(NamedTuple):
    """What the paths of devices do to the signals of controllers.

    - `sensors`: of each output of the model;
    - `actuators`, `delays`: of each output of each controller, and how late (s) it acts behind that;
    - `outside`: inputs of the model which are sampled or delayed when they come from outside;
    - `rates`: names and sample times (s) of what is held;
    - `timed`: signals whose delays are exact here.
    """

    sensors: list[Sampler]
    actuators: list[list[Sampler]]
    delays: list[list[float]]
    outside: Mapping[int, PathTiming]
    rates: list[tuple[str, float]]
    timed: tuple[str, ...]


def read_devices(
    inputs: Sequence[Signal], outputs: Sequence[Signal], paths: Sequence[PathTiming], parts: Sequence[Closing]
) -> Devices:
    """Return what `paths` do to controllers, `parts`, between the inputs and outputs of a model."""
    known = {timing.path: timing for timing in paths}
    of_inputs, of_outputs = ([known.get(signal.path) for signal in signals] for signals in (inputs, outputs))
    sensors = [Sampler() if timing is None else _sensor(timing, k, parts) for k, timing in enumerate(of_outputs)]
    pairs = [
        [_actuator(of_inputs[k], part.step, delay) for k, delay in zip(part.driven, part.delays.tolist(), strict=True)]
        for part in parts
    ]
    driven = {k for part in parts for k in part.driven}
    outside = {k: timing for k, timing in enumerate(of_inputs) if timing is not None and k in driven}
    held = [(outputs[k].path, sensor) for k, sensor in enumerate(sensors)]
    held += [
        (inputs[k].path, one)
        for part, two in zip(parts, pairs, strict=True)
        for k, (one, _) in zip(part.driven, two, strict=True)
    ]
    rates = [(f"{path}.path.sample_time", sampler.hold) for path, sampler in held if sampler.hold]
    timed = *(outputs[k].path for k, sensor in enumerate(sensors) if any(sensor)), *(each.path for each in outside.values())
    actuators, delays = ([[pair[j] for pair in two] for two in pairs] for j in (0, 1))
    return Devices(sensors, actuators, delays, outside, rates, timed)  # type: ignore[arg-type]


def join_closings(
    model: Connectable,
    paths: Sequence[PathTiming],
    loops: Sequence[tuple[int, Loop]],
    stages: Any,
    order: Any,
    sign: Any,
    several: bool,
) -> Closing:
    """Return sampled controllers as one, with the paths of devices; `several` if controllers were listed.

    Raises `ModelError` for what cannot be connected, for sample times without a common multiple, and for paths of sampled
    models.
    """
    parts = []
    for k, loop in loops:
        with naming(k if several else None):
            parts.append(read_closing(model, loop.controller, stages, loop.delay, order, sign, mixed=several))
    (w, z), (_, inputs, outputs), period = model.channels, named_signals(model.M), float(model.M.dt or 0.0)
    devices = read_devices(inputs[w:], outputs[z:], paths, parts)
    if period and devices.timed:
        expected, advice = "a model in continuous time", "close all controllers at once, as a list"
        refuse(Finding("sampled-path", f"{path}.path", "a sampled model", expected, advice) for path in devices.timed)
    base = [("model", period)] if period else []
    step, every = _common_step([*base, *(("sample_time", part.step) for part in parts), *devices.rates])
    if period and every[0] != 1:
        expected, advice = f"multiples of the model's {period:g} s", "close all controllers of a continuous model at once"
        raise ModelError(Finding("other-sample-time", "controller", step, expected, advice))
    known = list(dict.fromkeys(signal for part in parts for signal in part.references))
    laws, counts = [], every[len(base) : len(base) + len(parts)]
    for k in range(math.lcm(*every)):
        held = [_at_step(part, k, count, len(known), known) for part, count in zip(parts, counts, strict=True)]
        held = [law.in_series(_at_steps(of, k, step)) for law, of in zip(held, devices.actuators, strict=True)]
        laws.append(side_by_side([_side_by_side(held, parts), Matrices.constant(np.eye(len(devices.outside)))]))
    states: list[str] = []
    for (k, _), part, count, samplers in zip(loops, parts, counts, devices.actuators, strict=True):
        names = [*part.states, *(f"{name}.held" for name in part.outputs if count > 1)]
        names += _state_names(part.outputs, samplers, step)
        states += [f"controller[{k}].{name}" if several else name for name in names]
    closing = parts[0]._replace(
        laws=tuple(laws),
        states=tuple(states),
        outputs=(*(name for part in parts for name in part.outputs), *(each.path for each in devices.outside.values())),
        taken=[k for part in parts for k in part.taken],
        driven=[*(k for part in parts for k in part.driven), *devices.outside],
        references=tuple(known),
        delays=np.array([*itertools.chain(*devices.delays), *(each.delay for each in devices.outside.values())]),
        step=step,
        timed=devices.timed,
        passed=tuple(devices.outside),
    )
    if any(any(sensor) for sensor in devices.sensors):
        sensed = _state_names([signal.path for signal in outputs[z:]], devices.sensors, step)
        closing = closing._replace(sensors=tuple(_at_steps(devices.sensors, k, step) for k in range(len(laws))), sensed=sensed)
    return closing


def _sensor(timing: PathTiming, k: int, parts: Sequence[Closing]) -> Sampler:
    """Return what samples and delays the k-th output on its way to its readers: its age alone where that is always the same."""
    T, steps = timing.sample_time, [part.step for part in parts if k in part.taken]
    if not T or not steps:
        return Sampler()
    age = T * _steps_of(timing.delay, T)
    if all(_divides(T, step) and _divides(step, age) for step in steps):
        return Sampler(after=age)
    return Sampler(T, after=timing.delay)


def _actuator(timing: PathTiming | None, step: float, delay: float) -> tuple[Sampler, float]:
    """Return what samples a command, and how late (s) it acts behind that; `delay` (s) is that of the loop."""
    if timing is None or not timing.sample_time:
        return Sampler(), delay + (0.0 if timing is None else timing.delay)
    if _divides(timing.sample_time, step):
        return Sampler(), timing.sample_time * _steps_of(delay, timing.sample_time) + timing.delay
    return Sampler(timing.sample_time, before=delay), timing.delay


def _steps_of(time: float, step: float) -> int:
    """Return the whole steps (s) that a time (s) takes, the last one begun."""
    return math.ceil(time / step - SAME)


def _divides(step: float, time: float) -> bool:
    return abs(time / step - round(time / step)) <= SAME * max(1.0, time / step)


def _at_steps(samplers: Sequence[Sampler], k: int, step: float) -> Matrices:
    return side_by_side([each.at_step(k, step) for each in samplers])


def _state_names(paths: Sequence[str], samplers: Sequence[Sampler], step: float) -> tuple[str, ...]:
    counts = [len(each.at_step(0, step).A) for each in samplers]
    return tuple(f"{path}.sampled[{j}]" for path, count in zip(paths, counts, strict=True) for j in range(count))


def _hold(is_sample: bool) -> Matrices:
    """Return what takes and passes on a sample of one signal, or holds the last one, which is its state."""
    return Matrices(*(np.full((1, 1), float(k)) for k in ((0, 1, 0, 1) if is_sample else (1, 0, 1, 0))))


def _at_step(part: Closing, k: int, every: int, references: int, known: Sequence[Any]) -> Matrices:
    """Return the law of a controller with a sample at each `every` step, at step k; references are all `known` ones."""
    A, B, C, D = part.laws[0]
    taken = len(part.taken)
    columns = [*range(taken), *(taken + known.index(signal) for signal in part.references)]
    wide = np.eye(taken + references)[columns]  # from all references to its own
    law = Matrices(A, B @ wide, C, D @ wide)
    if every == 1:
        return law
    if k % every:
        law = replace(law, A=np.eye(len(A)), B=np.zeros_like(law.B))
    return law.in_series(side_by_side([_hold(k % every == 0)] * len(C)))


def _side_by_side(laws: Sequence[Matrices], parts: Sequence[Closing]) -> Matrices:
    """Return laws as one that takes all of their outputs, then the references, which they share."""
    whole = side_by_side(laws)
    starts = np.cumsum([0, *(law.D.shape[1] for law in laws)])
    taken = [start + j for start, part in zip(starts, parts, strict=False) for j in range(len(part.taken))]
    shared = laws[0].D.shape[1] - len(parts[0].taken)
    to_inputs: Array = np.zeros((starts[-1], len(taken) + shared))
    to_inputs[taken, np.arange(len(taken))] = 1.0
    for start, part in zip(starts, parts, strict=False):
        to_inputs[start + len(part.taken) + np.arange(shared), len(taken) + np.arange(shared)] = 1.0
    return Matrices(whole.A, whole.B @ to_inputs, whole.C, whole.D @ to_inputs)


def _common_step(named: Sequence[tuple[str, float]]) -> tuple[float, list[int]]:
    """Return the largest step (s) of which sample times, each with its name, are multiples, and how many steps each is."""
    times = [time for _, time in named]
    least = min(times)
    ratios = [Fraction(time / least).limit_denominator(_STEPS) for time in times]
    shared = math.lcm(*(ratio.denominator for ratio in ratios))
    every = [int(ratio * shared) for ratio in ratios]
    for (name, time), ratio in zip(named, ratios, strict=True):
        if abs(time / least - ratio) > SAME * ratio:
            expected, advice = f"a simple fraction of {least:g} s", "choose rates with a common multiple, or simulate"
            raise ModelError(Finding("no-common-period", name, time, expected, advice))
    if (count := math.lcm(*every)) > _STEPS:
        found = f"{count} steps of {least / shared:.3g} s until all sample again"
        advice = "choose rates in simple proportions"
        raise ModelError(Finding("no-common-period", "sample_time", found, f"{_STEPS} at most", advice))
    return least / shared, every
