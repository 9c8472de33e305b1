"""The operating point about which a controller was designed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, SAME
from titop.solvers.arguments.reading import read_state, read_wrenches
from titop.solvers.control.loop_signals import Command, Measurements
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import SignalTable, commanded_signals, measured_signals

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
