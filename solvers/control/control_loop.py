"""Control loops around a model: measurement, comparison and command, and their integration in time.

`sampled_loop` has the loops with sample and hold, `continuous_loop` the one whose states are integrated with the model's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, SAME
from titop.solvers.arguments.reading import read_state, read_wrenches
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.control_laws import ControlLaw
from titop.solvers.control.loop_signals import Command, Commands, Exchange, Measurements, References, reference_unit
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import REFERENCE
from titop.solvers.signals.grammar import SignalTable, check_names, commanded_signals, measured_signals
from titop.solvers.support.interpolated import Interpolated

#: The entries of the result of `trim_at` of a family.
_TRIMS = {"q", "v", "tau", "u", "y"}


class OperatingValues:
    """Outputs and commands at an operating point; zero where not given.

    - `given`: outputs and inputs by name. An object has a state ``q``, ``v`` at which the outputs are read, or outputs ``y``;
      it also has inputs ``u``, and if they are not zero efforts ``tau``, accelerations ``a`` and external ``wrenches``, and a
      ``model`` if its parameters differ from the simulated one's. ``y`` and ``u`` may be mappings. The result of
      `LPVModel.trim_at` stands for an object with its state and inputs;
    - `origin` (nq): the configuration, neutral if unknown;
    - `wrenches` (6): by port.
    """

    def __init__(self, model: Model, given: Any) -> None:
        self._model = model
        self.origin = model.neutral()
        self.wrenches: dict[str, Array] = {}
        self._state: tuple[Array, Array, Array] | None = None
        self._outputs: dict[str, float] = {}
        u, tau = np.zeros(model.nu), np.zeros(model.nv)
        self._x: Any = None
        if isinstance(given, Mapping) and set(given) - {"x"} == _TRIMS:
            given = SimpleNamespace(**given)
        if isinstance(given, Mapping):
            measured, commanded = measured_signals(model), commanded_signals(model)
            for name, value in given.items():
                number = float(read_state(f"operating_point[{name!r}]", [value], (str(name),))[0])
                if name in measured:
                    self._outputs[measured.find("operating_point", name)] = number
                    continue
                table = SignalTable("an output or input of the model", (*measured.names, *commanded.names))
                entry = commanded.names.index(table.find("operating_point", str(name)))
                (u if entry < model.nu else tau)[entry if entry < model.nu else entry - model.nu] = number
        elif given is not None:
            u, tau = self._read_object(given, measured_signals(model))
        self.command = Command(u, tau)

    def _read_object(self, given: Any, measured: SignalTable) -> tuple[Array, Array]:
        model = self._model
        zero = np.zeros(model.nv)
        if hasattr(given, "q"):
            self._model = self._read_model(given)
            parts = (getattr(given, name, None) for name in ("v", "a"))
            v, a = (
                zero if part is None else read_state(f"operating_point.{name}", part, model.coordinate_names)
                for name, part in zip("va", parts, strict=True)
            )
            self.origin = read_state("operating_point.q", given.q, model.configuration_names)
            self._state, self._x = (self.origin, v, a), getattr(given, "x", None)
            self.wrenches = read_wrenches(getattr(given, "wrenches", None) or {}, model.mechanism.ports)
        elif isinstance(getattr(given, "y", None), Mapping):
            self._outputs = {measured.find("operating_point.y", name): float(value) for name, value in given.y.items()}
        elif hasattr(given, "y"):
            y = read_state("operating_point.y", given.y, model.output_names)
            self._outputs = dict(zip(model.output_names, y.tolist(), strict=True))
        else:
            advice = "give a mapping of signal names to numbers"
            raise ModelError(Finding("wrong-type", "operating_point", given, "an object with q and u, or y and u", advice))
        u, tau = getattr(given, "u", None), getattr(given, "tau", None)
        return (
            np.zeros(model.nu) if u is None else model.mechanism.inputs.read(u),
            zero if tau is None else read_state("operating_point.tau", tau, model.coordinate_names),
        )

    def _read_model(self, given: Any) -> Model:
        other = getattr(given, "model", self._model)
        if not isinstance(other, Model) or other.coordinate_names != self._model.coordinate_names:
            got, expected = f"a point of {getattr(other, 'name', other)!r}", f"a point of {self._model.name!r}"
            raise ModelError(Finding("other-model", "operating_point", got, expected, "trim this model"))
        return other

    def outputs(self, names: Sequence[str]) -> Array:
        """Return the outputs with these names (titop's spelling); zero for names that are no outputs."""
        if self._state is None:
            return np.array([self._outputs.get(name, 0.0) for name in names])
        return self._read_outputs(names, *self._state)

    def drifts(self, names: Sequence[str]) -> Array:
        """Return the rates (per second) of the outputs with these names along the motion of the point; zero if constant.

        Outputs of points without a state are constant.
        """
        if self._state is None or not self._state[1].any():
            return np.zeros(len(names))
        q, v, a = self._state
        rate = float(np.abs(v / self._model.mechanism.scale.coordinates).max())
        t = CLOSE / rate
        before, after = (self._read_outputs(names, self._model.integrate(q, h * v), v + h * a, a) for h in (-t, t))
        change, sizes = after - before, self._sizes(names, rate)
        return np.where(np.abs(change) > SAME * np.maximum(sizes, np.abs(after)), change / (2 * t), 0.0)

    def _measurements(self, names: Sequence[str]) -> Measurements:
        known = measured_signals(self._model)
        return Measurements(self._model, [name for name in names if name in known], self.origin)

    def _sizes(self, names: Sequence[str], rate: float) -> Array:
        """Return the scale of the outputs with these names, at a rate (1/s)."""
        measurements, scale = self._measurements(names), self._model.mechanism.scale.at_rate(rate)
        sizes = dict(zip(measurements.names, map(scale.of_unit, measurements.units), strict=True))
        return np.array([sizes.get(name, 1.0) for name in names])

    def _read_outputs(self, names: Sequence[str], q: Array, v: Array, a: Array) -> Array:
        measurements = self._measurements(names)
        u = self._model.mechanism.inputs.whole(self.command.u, self._x if self._model.nx else None)
        read = measurements.read(q, v, a, self.wrenches, u, self.command.tau)
        values = dict(zip(measurements.names, read, strict=True))
        return np.array([values.get(name, 0.0) for name in names])


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
        shown, own = shown_references(references, measured_signals(model)), tuple(f"controller.{name}" for name in states)
        self.names = {"outputs": inputs, "references": shown, "commands": outputs, "states": own}
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
