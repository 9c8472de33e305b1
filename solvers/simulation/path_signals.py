"""The signals of devices with paths in a simulation: sampled, delayed, with errors and limits; filters are in the model.

What is sampled, or changes at once, is constant between instants; there the integrator's steps end. At an instant sensors are
sampled first, then controllers, then commands to actuators. The elements act in the order that `SignalPath` gives.
"""

from __future__ import annotations

import json
import math
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.device import Device
from titop.blocks.devices.sensors import Sensor
from titop.blocks.devices.signal_path import PER_CHANNEL
from titop.solvers.control.control_history import margin_of
from titop.solvers.control.control_loop import ConnectedController, ControlledModel, check_memory, refuse_memory
from titop.solvers.control.loop_signals import Measurements
from titop.solvers.control.sampled_loop import read_generator
from titop.solvers.model.model import Model


class PathChain:
    """The elements of one device's path, apart from its filter.

    - `times` (n, s): the first sample is at the first;
    - `held`: whether values are constant between instants;
    - `shown` (channels): the values in effect: the last, or those at the time of `seek`. None before the first instant.
    """

    def __init__(self, device: Device, times: Sequence[float] | Array, rng: np.random.Generator, held: bool) -> None:
        path = device.path
        assert path is not None
        self.device, self.held, self._rng, self._begin = device, held, rng, float(times[0])
        self._errors_first, count = isinstance(device, Sensor), len(device.channels)
        self.period, self._delay = path.sample_time, path.delay
        self._per_channel = {name: np.broadcast_to(getattr(path, name), count) for name in PER_CHANNEL}
        limits = (-np.inf, np.inf) if path.limits is None else path.limits
        self._lower, self._upper = (np.broadcast_to(limit, count) for limit in limits)
        self._least = device.least_command
        self.margin = margin_of(self.period or self._delay, times) if self.period or self._delay else 0.0
        self._taken, self._walk, self._last = 0, np.zeros(count), np.full(count, np.nan)
        lasting, share = path.drifts if np.any(path.bias_instability) else (np.zeros(0), 0.0)
        #: Processes of the bias instability, of unit deviation, their size, and how much of each remains after a sample.
        self._drift, self._drifting = np.zeros((len(lasting), count)), share * self._per_channel["bias_instability"]
        self._remaining = np.exp(-(self.period or 0.0) / lasting)[:, None]
        self._pending: deque[tuple[float, Array]] = deque()
        self._received: Array | None = None
        self._instants: list[float] = []
        self._values: list[Array] = []
        self.shown: Array | None = None

    @property
    def next(self) -> float:
        """The time (s) of the next sample, or of the next delayed value; infinite if there is none."""
        return min(self._next_sample, self._pending[0][0] if self._pending else math.inf)

    @property
    def _next_sample(self) -> float:
        return math.inf if self.period is None else self._begin + self._taken * self.period

    def is_due(self, t: float) -> bool:
        """Tell whether a sample is due."""
        return self._next_sample <= t + self.margin

    def rest(self, t: float, signal: Array) -> None:
        """Begin with a constant signal (channels), without noise."""
        self._put(t, self.change(signal, limited=True))

    def take(self, t: float, signal: Array) -> None:
        """Sample a signal (channels), or follow it if it changes at once."""
        if self.period is None and self._received is not None and (signal == self._received).all():
            return
        then = t if self.period is None else self._next_sample
        self._received = signal
        value = self.change(signal, self._draw(), limited=True)
        self._taken += 1
        if not self._delay or self.shown is None:  # before the first delayed value, sensors show the first one
            self._put(t, value)
        if self._delay:
            self._pending.append((then + self._delay, value))

    def release(self, t: float) -> bool:
        """Put into effect what the delay has held until now; tell whether there was any."""
        is_any = bool(self._pending) and self._pending[0][0] <= t + self.margin
        while self._pending and self._pending[0][0] <= t + self.margin:
            self._put(t, self._pending.popleft()[1])
        return is_any

    def seek(self, t: float) -> None:
        """Show the values that were in effect at a time (s)."""
        if self._instants:
            self.shown = self._values[max(bisect_right(self._instants, t + self.margin) - 1, 0)]

    def change(self, signal: Array, noise: Array | float = 0.0, which: Any = slice(None), limited: bool = False) -> Array:
        """Return what the elements make of some channels' signals; rates are limited only if `limited`."""
        numbers = {name: values[which] for name, values in self._per_channel.items()}
        added = noise + numbers["bias"]
        value = signal + added if self._errors_first else signal
        if numbers["dead_zone"].any():
            value = np.sign(value) * np.maximum(np.abs(value) - numbers["dead_zone"], 0.0)
        value = np.minimum(np.maximum(value, self._lower[which]), self._upper[which])
        if self._least:
            value = np.where(np.abs(value) < self._least * (1 - SAME), 0.0, value)
        if limited and self.period is not None:
            most = numbers["rate_limit"] * self.period
            value = np.where(np.isnan(self._last), value, np.clip(value, self._last - most, self._last + most))
            self._last = value
        quantum = numbers["quantum"]
        if quantum.any():
            value = np.where(quantum > 0, quantum * np.round(value / np.where(quantum > 0, quantum, 1.0)), value) + 0.0
        return value if self._errors_first else value + added

    def _draw(self) -> Array | float:
        """Return the random errors (channels) of the next sample."""
        density, walk = self._per_channel["noise_density"], self._per_channel["random_walk"]
        if self.period is None:
            return 0.0
        if walk.any() and self._taken:
            self._walk = self._walk + walk * math.sqrt(self.period) * self._rng.standard_normal(len(walk))
        error = self._walk
        if density.any():
            error = error + density / math.sqrt(self.period) * self._rng.standard_normal(len(density))
        if not len(self._drift):
            return error
        remaining = self._remaining if self._taken else 0.0  # they have always been: the first sample is one of many
        fresh = self._rng.standard_normal(self._drift.shape)
        self._drift = remaining * self._drift + np.sqrt(1.0 - np.square(remaining)) * fresh
        return error + self._drifting * self._drift.sum(axis=0)

    def _put(self, t: float, value: Array) -> None:
        self._instants.append(t)
        self._values.append(value)
        self.shown = value

    def memory(self) -> dict[str, Array]:
        """Return what the chain needs to go on later (see `recall`): its grid, errors, pending values and generator."""
        count = len(self._walk)
        shown = np.full(count, np.nan) if self.shown is None else self._values[-1]
        received = np.full(count, np.nan) if self._received is None else self._received
        pending = [[then, *value] for then, value in self._pending]
        return {
            "grid": np.array([self._begin, self._taken, self.period or 0.0, self._delay]),
            "values": np.array([shown, received, self._walk, self._last, *self._drift]),
            "pending": np.reshape(pending, (-1, 1 + count)).astype(float),
            "generator": np.array(json.dumps(self._rng.bit_generator.state, default=np.ndarray.tolist)),
        }

    def recall(self, memory: Mapping[str, Array], t: float) -> None:
        """Go on at a time (s) from what `memory` returned."""
        where = f"{self.device.name}.path"
        check_memory(where, "path", memory, self.memory(), ("pending",))
        if not np.isfinite(memory["grid"]).all():
            refuse_memory(where, memory["grid"], "the times of this path", "path")
        begin, taken, *times = memory["grid"].tolist()
        for name, then, now in zip(("sample_time", "delay"), times, (self.period or 0.0, self._delay), strict=True):
            if abs(then - now) > SAME * now:
                refuse_memory(f"{where}.{name}", f"{now:g} s", f"{then:g} s, as before", "path")
        self._begin, self._taken = begin, int(taken)
        shown, received, self._walk, self._last = memory["values"][:4]
        self._drift = memory["values"][4:]
        self._received = None if np.isnan(received).any() else received
        self._pending = deque((float(row[0]), row[1:]) for row in memory["pending"])
        self._rng = read_generator(where, memory["generator"])
        if not np.isnan(shown).any():
            self._put(t, shown)


class PathSignals:
    """The chains of all devices whose paths are more than filters.

    - `times` (n, s);
    - `connected`: the controllers: sensors that none of them reads are left out;
    - `seed`: as in `simulate`;
    - `is_stepwise`: whether commands change only at instants.
    """

    def __init__(
        self, model: Model, times: Array, connected: Sequence[ConnectedController], seed: Any, is_stepwise: bool
    ) -> None:
        assembly, self._model, findings = model.mechanism.assembly, model, list[Finding]()
        measurements = [each.measurements for each in connected]
        read = {name for each in measurements for name in each.names}
        self.actuators: list[tuple[PathChain, list[int]]] = []
        self.sensors: dict[str, tuple[PathChain, Measurements]] = {}
        sensors = [sensor for sensor in assembly.sensors if read.intersection(sensor.output_names)]
        devices = list(_devices((*assembly.actuators, *sensors)))
        generators = _generators(seed, [device.name for device in devices])
        for device in devices:
            findings += _refusals(device, is_stepwise)
            path = device.path
            assert path is not None
            held = path.sample_time is not None or bool(path.delay or np.any(path.quantum))
            chain = PathChain(device, times, generators[device.name], held)
            if isinstance(device, Actuator):
                self.actuators.append((chain, [model.input_names.index(name) for name in device.input_names]))
            elif isinstance(device, Sensor):
                chain.held = path.sample_time is not None
                self.sensors[device.name] = chain, Measurements(model, device.output_names, model.neutral())
        refuse(findings)
        self._read = [self._places(each) for each in measurements]
        for each, places in zip(connected, self._read, strict=True):
            each.measurements.senses = (lambda values, places=places: self._sensed(values, places)) if places else None
            warn([*_uneven(getattr(each, "sample_time", None), [chain for chain, *_ in places])])
        self._latest, self._is_latest = float(times[0]), True

    def __bool__(self) -> bool:
        return bool(self.actuators or self.sensors)

    @property
    def margin(self) -> float:
        """Time (s) within which instants are the same."""
        return min((chain.margin for chain in self._chains if chain.margin), default=0.0)

    @property
    def _chains(self) -> list[PathChain]:
        return [chain for chain, _ in (*self.actuators, *self.sensors.values())]

    def _places(self, measurements: Measurements) -> list[tuple[PathChain, list[int], list[int]]]:
        """Return the chains of measured sensors, with the rows of their outputs, and the channels."""
        places = []
        for chain, own in self.sensors.values():
            pairs = [(k, own.names.index(name)) for k, name in enumerate(measurements.names) if name in own.names]
            if pairs:
                places.append((chain, *map(list, zip(*pairs, strict=True))))
        return places  # type: ignore[return-value]

    def _sensed(self, values: Array, places: list[tuple[PathChain, list[int], list[int]]]) -> Array:
        """Return measurements as controllers read them."""
        values = values.copy()
        for chain, rows, channels in places:
            if chain.held and chain.shown is not None:
                values[rows] = chain.shown[channels]
            elif not chain.held:
                values[rows] = chain.change(values[rows], which=channels)
        return values

    def apply(self, u: Array | None) -> Array:
        """Return the inputs (nu) behind the paths: what filters receive, or what acts."""
        u = np.zeros(self._model.nu) if u is None else np.array(u)
        for chain, columns in self.actuators:
            u[columns] = chain.shown if chain.held and chain.shown is not None else chain.change(u[columns])
        return u

    def rest(self, t: float, u: Array) -> None:
        """Begin with constant commands (nu)."""
        for chain, columns in self.actuators:
            if chain.held and chain.shown is None:
                chain.rest(t, u[columns])

    def sense(self, plant: ControlledModel, t: float, y: Array) -> None:
        """Sample sensors that are due, and pass on what their delays have held."""
        self._latest, self._is_latest = t, True
        for chain, own in self.sensors.values():
            if chain.is_due(t):
                q, v = plant.split(t, y)
                needs = own.dynamic.any()
                a = plant.dynamics(t, q, v)[0] if needs else np.zeros(len(v))
                chain.take(t, plant.measure(own, t, q, v, a))
            chain.release(t)

    def drive(self, plant: ControlledModel, t: float, y: Array) -> float:
        """Take commands that are due; return the time (s) of the next instant of any path."""
        commands: Array | None = None
        for chain, columns in self.actuators:
            if chain.held and (chain.period is None or chain.is_due(t)):
                commands = plant.commanded(t, *plant.split(t, y)) if commands is None else commands
                chain.take(t, commands[columns])
            chain.release(t)
        return min((chain.next for chain in self._chains if chain.held), default=math.inf)

    def seek(self, t: float) -> None:
        """Show the values that were in effect at a time (s)."""
        if t >= self._latest and self._is_latest:
            return
        self._is_latest = t >= self._latest
        for chain in self._chains:
            chain.seek(t)

    def memory(self) -> dict[str, dict[str, Array]]:
        """Return what the paths need to go on later, by the devices' names."""
        return {chain.device.name: chain.memory() for chain in self._chains}

    def recall(self, memory: Mapping[str, Mapping[str, Array]], t: float) -> None:
        """Go on at a time (s) from what `memory` returned; paths that it does not have begin anew."""
        for chain in self._chains:
            if chain.device.name in memory:
                chain.recall(memory[chain.device.name], t)


def _devices(devices: Sequence[Device]) -> Iterator[Device]:
    for device in devices:
        if device.path is not None and device.path.described().keys() - {"filter", "scale_factor", "misalignment"}:
            yield device


def _seed_sequence(seed: Any) -> np.random.SeedSequence:
    """Return the root of the seeds of all devices; a generator draws it, so that none of them shares its numbers."""
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(2**32, size=4).tolist())
    try:
        return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    except (TypeError, ValueError):
        expected = "a whole number, zero or more, a numpy.random.SeedSequence or Generator"
        raise ModelError(Finding("bad-seed", "seed", seed, expected, "0 will do")) from None


def _generators(seed: Any, names: Sequence[str]) -> dict[str, np.random.Generator]:
    """Return a generator for the errors of each device, independent of those of others."""
    if not names:
        return {}
    root = _seed_sequence(seed)
    keys = {name: (*root.spawn_key, zlib.crc32(name.encode())) for name in names}
    return {name: np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=key)) for name, key in keys.items()}


def _uneven(step: float | None, sensors: Sequence[PathChain]) -> Iterator[Finding]:
    """Yield a finding for each sensor that a controller reads each `step` (s), no multiple or part of its own sample time."""
    for sensor in sensors:
        period = sensor.period
        if step is None or period is None:
            continue
        ratio = max(period, step) / min(period, step)
        if abs(ratio - round(ratio)) > SAME * ratio:
            got, expected = f"{period:g} s, read each {step:g} s", "sample times of which one is a multiple of the other"
            advice = f"the sensor holds its last sample: what is read is 0 to {period:g} s old, a changing delay"
            yield Finding("uneven-samples", f"{sensor.device.name}.path.sample_time", got, expected, advice)


def _refusals(device: Device, is_stepwise: bool) -> Iterator[Finding]:
    path, advice = device.path, f"give the path of {device.name!r} a sample_time"
    assert path is not None
    if path.sample_time is not None:
        return
    for name in ("noise_density", "random_walk", "bias_instability", "rate_limit"):
        value = getattr(path, name)
        if np.any(np.isfinite(value) & (np.asarray(value) != 0)):
            expected = "a sample time: " + ("steps" if name == "rate_limit" else "white noise in continuous time has no values")
            yield Finding("no-sample-time", f"{device.name}.path.{name}", value, expected, advice)
    if path.delay and (isinstance(device, Sensor) or not is_stepwise):
        expected = "a sampled signal" if isinstance(device, Sensor) else "a sampled command"
        yield Finding("no-sample-time", f"{device.name}.path.delay", path.delay, expected, advice)
    if np.any(path.quantum) and isinstance(device, Actuator) and not is_stepwise:
        yield Finding("no-sample-time", f"{device.name}.path.quantum", path.quantum, "a command that changes in steps", advice)
