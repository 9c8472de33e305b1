"""A model's parts: its coordinates and constraints, the engine that computes, and what acts from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.devices.sensors import WheelMomentum
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import coordinate_mask, of_one_state, read_wrenches
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.constraints.mechanism import Engine
from titop.solvers.mechanism.inputs import Inputs, PortPush, Push
from titop.solvers.mechanism.shared import structural
from titop.solvers.signals.line_readings import line_places
from titop.solvers.signals.quantities import Quantity
from titop.solvers.signals.sensors import sensed, sensor_entries


class Resolved(ClosedLoops):
    """The coordinates and constraints of a system with an engine: what all functions of a model rest on.

    Parameters
    ----------
    assembly : Assembly
    engine : callable
        ``engine(mechanism, assembly)`` returns the engine of a mechanism.
    """

    def __init__(self, assembly: Assembly, engine: Callable[[Any, Assembly], Engine]) -> None:
        super().__init__(assembly)
        self.engine = engine(self, assembly)
        self._shapes.sizes["nu"] = self.nu

    @cached_property
    def _calls(self) -> Any:
        """The engine's kernels."""
        return self.engine.calls

    @cached_property
    def assembly(self) -> Assembly:
        """The connected blocks, with the parameters' current values."""
        return self.engine.assembly

    @property
    def gravity(self) -> Array:
        """Gravity (3, m/s^2) in inertial components; a copy."""
        return self.engine.gravity.copy()

    @structural
    def line_places(self) -> dict[str, tuple[Array, Array]]:
        """Where the coordinates of what each line runs through stand in q and in v (n, no unit), by the line's name."""
        return line_places(self._assembly)

    @cached_property
    def sensed(self) -> list[Quantity]:
        """What the sensors read."""
        weighed = any(isinstance(sensor, WheelMomentum) for sensor in self._assembly.sensors)  # by what has parameters
        assembly = self.assembly if weighed else self._assembly
        return [sensed(assembly, sensor) for sensor in assembly.sensors]

    @structural
    def sensor_entries(self) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """Place of a sensor, and which of its outputs (None: all), by names of sensors, outputs and their vectors."""
        return sensor_entries(self._assembly.sensors)

    def of(self, assembly: Assembly) -> Self:
        """Return the model of another assembly on an engine of this kind."""
        kind: Any = type(self.engine)
        return type(self)(assembly, kind)

    def twin(self, engine: Callable[[Any], Engine], moved: bool) -> Self:
        """Return a model of the same structure on an engine of its own; `moved` says if ports may stand elsewhere."""
        model, structural, geometric = object.__new__(type(self)), self._structural, {} if moved else self._geometric
        model.__dict__ = structural | geometric
        model._structural, model._geometric, model._make_engine = structural, geometric, engine
        model.regular_before = self.regular_configuration if moved else self.regular_before
        return model

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the kernels, which cannot be sent to another process, and what is found again: it loads its own."""
        left = ("_calls", "_make_engine", "_kept_sensitivities", "_cuts", "_openings", "measured_signals", "commanded_signals")
        parts, shared = (
            {name: part for name, part in room.items() if name not in left} for room in (self.__dict__, self._structural)
        )
        return parts | {"engine": self.engine, "_structural": shared}

    # -- what acts from outside ----------------------------------------------------------------------------------------

    @structural
    def inputs(self) -> Inputs:
        """The inputs of actuators and blocks: names, units, ranges."""
        return Inputs(self.assembly)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs ``u``."""
        return self.inputs.names

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs.names)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states ``x`` of the first order, of blocks and interactions."""
        return self.inputs.state_names

    @structural
    def nx(self) -> int:
        """Number of states of the first order."""
        return len(self.inputs.state_names)

    def motor_efforts(self, u: Any) -> Any:
        """Return what the motors' inputs among `u` do to the coordinates (nv)."""
        return 0.0 if u is None else self.inputs.motors @ self.inputs.given(of_one_state(self.inputs.whole(u)))

    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]:
        """Return the external `wrenches` and what the inputs `u` do to ports and own coordinates."""
        given = {} if wrenches is None else read_wrenches(wrenches, self.ports)
        pushes: list[Push] = [PortPush(port, False, wrench) for port, wrench in given.items()]
        return pushes if u is None else pushes + self.inputs.pushes(of_one_state(self.inputs.whole(u)))

    def _prescribed(self, names: Sequence[str]) -> Array:
        """Return a mask (nv) of the coordinates whose motion is prescribed."""
        return coordinate_mask(names, self._assembly)

    def _actuated(self, names: Sequence[str] | None) -> Array | None:
        """Return a mask (nv) of the actuated coordinates; None where every motion is possible without looking."""
        if names is None:
            return np.ones(self.nv, dtype=bool) if self.is_constrained else None
        return self._chosen("actuated", names)
