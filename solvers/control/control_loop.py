"""Control loops around a model: measurement, comparison and command, and their integration in time.

`sampled_loop` has the loops with sample and hold, `continuous_loop` the one whose states are integrated with the model's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.loop_signals import Command, Commands, Measurements, References
from titop.solvers.control.operating_values import OperatingValues
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import REFERENCE
from titop.solvers.signals.grammar import MEASURED, read_name
from titop.solvers.signals.signal_tables import check_names, measured_signals
from titop.solvers.signals.units import units_of
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
    resting : Command
        The inputs and efforts of the operating point.
    """

    initial_state: Array
    #: Whether steps have to end where commands jump.
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
        self.rest_at(operating.command)
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
    def signal_names(self) -> list[tuple[str, ...]]:
        """Names of the signals of each controller, as in its history."""
        return [tuple(name for names in self._names.values() for name in names)]

    @property
    def reference_units(self) -> tuple[str, ...]:
        """Units of the references."""
        return self._units["references"]

    @property
    def all_measurements(self) -> list[Measurements]:
        """What each controller measures."""
        return [self.measurements]

    @property
    def tables(self) -> list[Interpolated]:
        """Samples whose kinks the commands have at once."""
        return []

    def rest_at(self, resting: Command) -> None:
        """Set the inputs and efforts to which commands are added."""
        self.resting, self._resting = resting, np.concatenate(resting)

    def send(self, values: Array) -> Command:
        """Return the complete command for the controller's outputs, which are deviations from the operating point."""
        return self.commands.send(values, self._resting)

    def rows(self, t: Array, y: Any, r: Any, commands: list[Command], x: Any, held: bool) -> ControlHistory:
        """Return the signals of the loop at times t (n,); whether commands are `held` between them."""
        rows = (y, r, self.commands.values(commands), x)
        columns = (len(names) for names in self._names.values())
        arrays = [np.array(part, dtype=float).reshape(len(t), n) for part, n in zip(rows, columns, strict=True)]
        return ControlHistory(t, arrays[0], arrays[1], arrays[2], arrays[3], self._names, self._units, held)

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
        """Go on where a `memory` was left.

        Raises
        ------
        ModelError
            If another controller left it.
        """


def refuse_memory(where: str, got: Any, expected: str) -> NoReturn:
    """Refuse to go on with another controller than before."""
    advice = "go on with the same controllers, or begin anew: q0=start.q[-1], v0=start.v[-1]"
    raise ModelError(Finding("other-controller", where, got, expected, advice))


def _unit(model: Model, output: str) -> str:
    """Return the unit of an output of the model."""
    return units_of(model, read_name(model, MEASURED, output))[0]
