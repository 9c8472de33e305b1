"""Control loops around a model: measurement, comparison and command, and their integration in time.

`sampled_loop` has the loops with sample and hold, `continuous_loop` the one whose states are integrated with the model's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.control_laws import ControlLaw
from titop.solvers.control.loop_signals import Command, Commands, Exchange, Measurements, References, reference_unit
from titop.solvers.control.operating_values import OperatingValues
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import REFERENCE
from titop.solvers.signals.grammar import SignalTable, check_names, measured_signals
from titop.solvers.support.interpolated import Interpolated

#: What a controller needs to go on later, beside the states that are integrated: arrays by name.
Memory = dict[str, Array]


class ControlledModel(Protocol):
    """The model and its loads, as a loop needs them; `command` is the part that the loop adds."""

    model: Model
    command: Command | None

    def split(self, t: float, y: Array) -> tuple[Array, Array]: ...

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]: ...

    def rate_at(self, t: float, q: Array, v: Array) -> Array: ...

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array: ...

    def inputs(self, t: float, q: Array, v: Array) -> Array | None: ...

    def commanded(self, t: float, q: Array, v: Array) -> Array: ...

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]: ...


class ConnectedController:
    """A controller, connected to a model and to other controllers by the names of its signals.

    - `exchange`: signals of all controllers;
    - `place`: in the list of controllers;
    - `reference`, see `References`; `times` (n, s);
    - `saturate`: whether commands are limited to the actuators' ranges;
    - `accelerated`: whether an output depends on accelerations;
    - `resting` (nu + nv + signals): the inputs and efforts of the operating point;
    - `reads` (nr, signals): references that are signals of controllers before.
    """

    def __init__(
        self,
        law: ControlLaw,
        model: Model,
        exchange: Exchange,
        place: int,
        reference: Any,
        operating: OperatingValues,
        times: Array,
        saturate: bool,
    ) -> None:
        self.law: Any = law
        inputs, references, outputs, states = law.inputs, law.references, law.outputs, law.states
        self.place, self.times, self.measurements = place, times, Measurements(model, inputs, operating.origin)
        self.accelerated = bool(self.measurements.dynamic.any())
        self.commands = Commands(model, outputs, saturate, exchange, place)
        self.trim, self.r_trim = operating.outputs(inputs), operating.outputs(references)
        self.references = References(references, reference, times, self.r_trim)
        self.rest_at(np.concatenate([*operating.command, np.zeros(len(exchange.names))]))
        shown = shown_references(references, measured_signals(model))
        self.names = {
            "outputs": inputs,
            "references": shown,
            "commands": outputs,
            "states": tuple(f"controller.{name}" for name in states),
        }
        check_names("controller", self.signal_names)
        self._units = {
            "outputs": self.measurements.units,
            "references": tuple(reference_unit(model, name) for name in shown),
            "commands": self.commands.units,
            "states": ("1",) * len(states),
        }
        self.reads = exchange.read_by(place, shown)
        self._reads_any = bool(self.reads.any())
        twice = set(self.references.specified).intersection(self._read_names)
        if twice:
            expected, advice = "no number: a controller before sets it", "leave it out, or add both in a controller"
            raise ModelError(Finding("driven-reference", "reference", ", ".join(sorted(twice)), expected, advice))

    @property
    def _read_names(self) -> list[str]:
        return [self.references.names[k] for k in np.flatnonzero(self.reads.any(axis=1))]

    @property
    def followed(self) -> tuple[str, ...]:
        """References that are given, or set by controllers before."""
        return (*self.references.specified, *self._read_names)

    @property
    def signal_names(self) -> tuple[str, ...]:
        """Names of its signals, as in its history."""
        return tuple(name for names in self.names.values() for name in names)

    @property
    def reference_units(self) -> tuple[str, ...]:
        """Units of the references."""
        return self._units["references"]

    def rest_at(self, resting: Array) -> None:
        """Set the inputs and efforts to which commands are added, and zero for each signal (nu + nv + signals)."""
        self.resting = resting

    def read_references(self, t: float, q: Array, v: Array, signals: Array) -> Array:
        """Return the references (nr) at time t (s) and a state, under `signals` of controllers."""
        r = self.references.read(t, q, v)
        return r + self.reads @ signals if self._reads_any else r

    def send(self, values: Array) -> Command:
        """Return the command for the controller's outputs, which are deviations from the operating point."""
        return self.commands.send(values, self.resting)

    def rows(self, t: Array, y: Any, r: Any, commands: list[Command], x: Any, held: bool) -> ControlHistory:
        """Return the signals of the loop at times t (n,); whether commands are `held` between them."""
        rows = (y, r, self.commands.values(commands), x)
        columns = (len(names) for names in self.names.values())
        arrays = [np.array(part, dtype=float).reshape(len(t), n) for part, n in zip(rows, columns, strict=True)]
        return ControlHistory(t, arrays[0], arrays[1], arrays[2], arrays[3], self.names, self._units, held)


def shown_references(references: Sequence[str], measured: SignalTable) -> tuple[str, ...]:
    """Return names of references as histories and other controllers have them: ``r_<output>`` for those of outputs."""
    return tuple(f"{REFERENCE}{name}" if name in measured else name for name in references)


class ControlLoop(ABC):
    """Base class of the loops of controllers around a model.

    - `initial_state` (nx): states that are integrated together with the model's;
    - `commands`: of one of the controllers: all have the same limits.
    """

    initial_state: Array
    commands: Commands
    #: Whether steps have to end where commands jump.
    sampled: bool
    #: Time between samples (s); infinite where there are none.
    sample_time: float

    @property
    @abstractmethod
    def connected(self) -> list[ConnectedController]:
        """The controllers, in the order of the list."""

    @property
    def tables(self) -> list[Interpolated]:
        """Samples whose kinks the commands have at once."""
        return []

    @abstractmethod
    def begin(self, plant: ControlledModel, t: float, y: Array) -> Command:
        """Return the command at the first state, before the first samples."""

    @abstractmethod
    def act(self, plant: ControlledModel, t: float, y: Array) -> float:
        """Put the command at a state into effect; return until when (s) it holds."""

    @abstractmethod
    def command_at(self, plant: ControlledModel, t: float, y: Array) -> Command:
        """Return the command at an output time of the solution, where its state is y."""

    @abstractmethod
    def histories(self, plant: ControlledModel, t: Array, y: Array) -> tuple[ControlHistory, ...]:
        """Return the signals of each controller for a solution."""

    @abstractmethod
    def memory(self) -> list[Memory]:
        """Return what each controller needs to go on later."""

    @abstractmethod
    def recall(self, memory: Sequence[Memory]) -> None:
        """Go on where a `memory` was left. Raises `ModelError` if another controller left it."""


def check_memory(
    where: str, kind: str, known: Mapping[str, Array], now: Mapping[str, Array], open_rows: Collection[str]
) -> None:
    """Refuse a memory that is not of the arrays that one of the same `kind` has `now`; some have any number of rows."""
    for name, array in now.items():
        then, first = known.get(name), int(name in open_rows)
        if then is None or then.dtype.kind != array.dtype.kind or then.shape[first:] != array.shape[first:]:
            refuse_memory(where, None if then is None else f"{name} of shape {then.shape}", f"{name} of this {kind}", kind)


def refuse_memory(where: str, got: Any, expected: str, kind: str = "controller") -> NoReturn:
    """Refuse to go on with another controller, or another path, than before."""
    advice = f"go on with the same {kind}s, or begin anew: q0=start.q[-1], v0=start.v[-1]"
    raise ModelError(Finding(f"other-{kind}", where, got, expected, advice))
