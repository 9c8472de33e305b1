"""What the sensors of a model read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.mechanism.shared import structural
from titop.solvers.model.changes import Changes
from titop.solvers.model.derivatives import Derivatives
from titop.solvers.model.equation_terms import EquationTerms
from titop.solvers.model.mass_dynamics import MassDynamics
from titop.solvers.model.own_states import OwnStates
from titop.solvers.model.sections import Sections
from titop.solvers.model.series import DynamicsSeries
from titop.solvers.signals.quantities import OF_LINES, Quantity
from titop.solvers.signals.signal_tables import SignalTable, commanded_signals, measured_signals
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.units import units_of
from titop.solvers.signals.values import value_of


class Outputs(DynamicsSeries, Sections, Derivatives, MassDynamics, OwnStates, EquationTerms, Changes):
    """What the sensors of a model read, which may be anything that can be read by name."""

    @structural
    def output_names(self) -> tuple[str, ...]:
        """Names of the sensors' outputs."""
        return tuple(name for sensor in self._assembly.sensors for name in sensor.output_names)

    @structural
    def output_units(self) -> tuple[str, ...]:
        """Units of the sensors' outputs."""
        return tuple(unit for of in self.sensed for unit in units_of(self, of))

    @structural
    def measured_signals(self) -> SignalTable:
        """What a controller can measure."""
        return measured_signals(self)

    @structural
    def commanded_signals(self) -> SignalTable:
        """What a controller can command."""
        return commanded_signals(self)

    def outputs(
        self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, tau: Any = None, x: Any = None
    ) -> Array:
        """Return what the sensors read (outputs, each in its own unit), in the order of `output_names`.

        Give the `wrenches`, inputs `u` and states `x` that act when the accelerations are `a`: reactions depend on them, and
        with rigid closures on the efforts `tau` (see `reaction`).
        """
        if x is not None:
            u = self.inputs.whole(u, x)
        readings = self._calls.readings
        if readings is None or readings.sensors is None:
            return self._outputs(q, v, a, wrenches, u, tau)
        read: Array = readings.sensors.read(q, v, a, wrenches, u, tau)
        return self._with_lines(read, np.asarray(q, float), np.asarray(v, float)) if self._lines_sensed else read

    @cached_property
    def _lines_sensed(self) -> list[Quantity]:
        """What the sensors read of lines."""
        return [of for of in self.sensed if of.kind in OF_LINES]

    @cached_property
    def _after_lines(self) -> Array:
        """Where each output stands in all that is read of lines, followed by all else."""
        of_lines = np.array([of.kind in OF_LINES for of in self.sensed for _ in of.entries], dtype=bool)
        return np.argsort(np.argsort(~of_lines, kind="stable"))

    def _with_lines(self, read: Array, q: Array, v: Array) -> Array:
        """Return all outputs at states that were read, from what kernels have `read` of all but the lines."""
        still = np.zeros_like(v)
        at = Snapshot(self, q, v, still, still, None, None)
        parts = [value_of(at, of) for of in self._lines_sensed]
        return np.concatenate([*parts, read], axis=-1)[..., self._after_lines]

    @rowwise
    def _outputs(self, q: Any, v: Any, a: Any, wrenches: Mapping[str, Any] | None, u: Any, tau: Any) -> Array:
        q, v, a = self._read_q(q), self._read_v("v", v), self._read_v("a", a)
        tau = None if tau is None else self._read_v("tau", tau)
        self.external_pushes(wrenches, u)  # refuses what is unusable, whether a sensor reads what it does or not
        at = Snapshot(self, q, v, a, tau, u, wrenches)
        parts = [value_of(at, of) for of in self.sensed]
        return np.concatenate(parts) if parts else np.zeros(0)
