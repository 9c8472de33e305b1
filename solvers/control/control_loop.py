"""Control loops around a model: measurement, comparison and command, and their integration in time.

A sampled controller runs at ``t[0] + k T``. At each sample the outputs are read under the commands in effect until then (so
that accelerometers make no algebraic loop), and the controller is called. Its commands take effect at the sample, or after the
delay, and are held. A step of the integrator ends at every change of the commands.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.arguments.reading import all_finite
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.control_laws import SampledLaw
from titop.solvers.control.loop_signals import Command, Commands, Measurements, References
from titop.solvers.control.operating_values import OperatingValues
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import REFERENCE
from titop.solvers.signals.grammar import MEASURED, read_name
from titop.solvers.signals.signal_tables import check_names, measured_signals
from titop.solvers.signals.units import units_of


class ControlledModel(Protocol):
    """The model and its loads, as a loop needs them; `command` is the part that the loop adds."""

    model: Model
    command: Command | None

    def split(self, t: float, y: Array) -> tuple[Array, Array]: ...

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]: ...

    def rate_at(self, t: float, q: Array, v: Array) -> Array: ...

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array: ...

    def inputs(self, t: float, q: Array, v: Array) -> Array | None: ...

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]: ...


class ControlLoop(ABC):
    """Base class of the loops.

    Parameters
    ----------
    model : Model
    names : tuple of four tuples of str
        Measured outputs, references, commands and states of the controller.
    reference : see `References`
    operating : OperatingValues
    times : (n,) array, s
    saturate : bool
        Whether commands are limited to the actuators' ranges.

    Attributes
    ----------
    initial_state : (nx,) array
        States that are integrated together with the model's.
    """

    initial_state: Array
    sampled: bool
    #: Time between samples (s); infinite where there are none.
    sample_time: float

    def __init__(
        self,
        model: Model,
        names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]],
        reference: Any,
        operating: OperatingValues,
        times: Array,
        saturate: bool,
    ) -> None:
        inputs, references, outputs, states = names
        known = measured_signals(model)
        self.measurements = Measurements(model, inputs, operating.origin)
        self._accelerated = bool(self.measurements.dynamic.any())
        self.commands = Commands(model, outputs, saturate)
        self.trim, self.r_trim = operating.outputs(inputs), operating.outputs(references)
        self.references = References(references, reference, times, self.r_trim)
        self.resting = operating.command
        self._resting = np.concatenate(self.resting)
        self._names = {
            "outputs": inputs,
            "references": tuple(f"{REFERENCE}{name}" if name in known else name for name in references),
            "commands": outputs,
            "states": tuple(f"controller.{name}" for name in states),
        }
        check_names("controller", [name for names in self._names.values() for name in names])
        self._units = {
            "outputs": self.measurements.units,
            "references": tuple(_unit(model, name) if name in known else "1" for name in references),
            "commands": self.commands.units,
            "states": ("1",) * len(states),
        }

    @property
    def reference_units(self) -> tuple[str, ...]:
        """Units of the references."""
        return self._units["references"]

    def send(self, values: Array) -> Command:
        """Return the complete command for the controller's outputs, which are deviations from the operating point."""
        return self.commands.send(values, self._resting)

    def rows(self, t: Array, y: Any, r: Any, commands: list[Command], x: Any) -> ControlHistory:
        """Return the signals of the loop at times t (n,)."""
        rows = (y, r, self.commands.values(commands), x)
        columns = (len(names) for names in self._names.values())
        arrays = [np.array(part, dtype=float).reshape(len(t), n) for part, n in zip(rows, columns, strict=True)]
        return ControlHistory(t, arrays[0], arrays[1], arrays[2], arrays[3], self._names, self._units, self.sampled)

    @abstractmethod
    def act(self, plant: ControlledModel, t: float, y: Array) -> float:
        """Put the command at a state into effect; return until when (s) it holds."""

    @abstractmethod
    def command_at(self, plant: ControlledModel, t: float, y: Array) -> Command:
        """Return the command at an output time of the solution, where its state is y."""

    @abstractmethod
    def history(self, plant: ControlledModel, t: Array, y: Array) -> ControlHistory:
        """Return the signals of the loop for a solution."""


class _Instant(NamedTuple):
    """A time at which a sample is taken, or the commands of sample number `applied` take effect, or both."""

    time: float
    sample: bool
    applied: int


class _Sample(NamedTuple):
    """The controller's inputs at a time (s), outputs, references and its states, and its commands."""

    time: float
    measured: Array
    reference: Array
    state: Array
    command: Command


class SampledLoop(ControlLoop):
    """A loop with sample and hold.

    Parameters
    ----------
    delay : float, s
        From a sample to the commands.
    noise : (ny,) array
        Standard deviations of the outputs at the samples.
    rng : numpy.random.Generator
    """

    sampled = True
    initial_state = np.zeros(0)

    def __init__(
        self,
        model: Model,
        law: SampledLaw,
        delay: float,
        noise: Array,
        rng: np.random.Generator,
        reference: Any,
        operating: OperatingValues,
        times: Array,
        saturate: bool,
    ) -> None:
        names = law.inputs, law.references, law.outputs, law.states
        super().__init__(model, names, reference, operating, times, saturate)
        self._law, self._delay, self._noise, self._rng = law, delay / law.sample_time, noise, rng
        self._is_noisy = bool(noise.any())
        self.sample_time = law.sample_time
        self._samples: list[_Sample] = []
        self._instants: list[float] = []
        self._acting: list[Command] = []
        self._state = law.initial_state.copy()
        self._plan = self._instants_between(float(times[0]), float(times[-1]))
        self._next = next(self._plan)

    def act(self, plant: ControlledModel, t: float, y: Array) -> float:
        if not self._instants:
            self._act(plant, t, self.resting)
        while self._next.time <= t:
            if self._next.sample:
                self._state = self._sample(plant, t, y, self._state)
            if self._next.applied >= 0:
                self._act(plant, t, self._samples[self._next.applied].command)
            self._next = next(self._plan)
        return self._next.time

    def _instants_between(self, begin: float, end: float) -> Iterator[_Instant]:
        """Yield the instants and their actions; those that rounding has moved past the end are put there."""
        step = self._law.sample_time
        whole = int(np.floor(self._delay + SAME))
        part = self._delay - whole if self._delay - whole > SAME else 0.0
        last = end - SAME * step
        for k in range(int((end - begin) / step + SAME) + 1):
            sampled, late = begin + k * step, begin + (k + part) * step
            yield _Instant(end if sampled >= last else sampled, True, -1 if part else k - whole)
            if part and k >= whole and late <= end + SAME * step:
                yield _Instant(end if late >= last else late, False, k - whole)
        yield _Instant(math.inf, False, -1)

    def _act(self, plant: ControlledModel, t: float, command: Command) -> None:
        self._acting.append(command)
        self._instants.append(t)
        plant.command = command

    def _sample(self, plant: ControlledModel, t: float, state: Array, x: Array) -> Array:
        """Take a sample, call the controller, store its commands, and return its next states."""
        q, v = plant.split(t, state)
        if self._accelerated:
            measured = plant.measure(self.measurements, t, q, v, plant.dynamics(t, q, v)[0])
        else:
            measured = self.measurements.read_kinematic(q, v)
        if self._is_noisy:
            measured = measured + self._noise * self._rng.standard_normal(len(measured))
        r = self.references.read(t, q, v)
        x_next, u = self._law.update(t, x.copy(), measured - self.trim, r - self.r_trim, measured)
        if not (all_finite(x_next) and all_finite(u)):
            advice = "the loop is unstable, or the controller's numbers are wrong"
            raise ModelError(Finding("not-finite", f"controller at t = {t:.6g} s", u, "finite commands and states", advice))
        self._samples.append(_Sample(t, measured, r, x, self.send(u)))
        return x_next

    def command_at(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return self._acting[bisect_right(self._instants, t + SAME * self._law.sample_time) - 1]

    def history(self, plant: ControlledModel, t: Array, y: Array) -> ControlHistory:
        instants, outputs, references, states = ([sample[k] for sample in self._samples] for k in range(4))
        return self.rows(np.array(instants), outputs, references, [sample.command for sample in self._samples], states)


def _unit(model: Model, output: str) -> str:
    """Return the unit of an output of the model."""
    return units_of(model, read_name(model, MEASURED, output))[0]
