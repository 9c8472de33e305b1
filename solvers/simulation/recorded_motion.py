"""What a simulation records: states over time, and what acted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.model.model import Model


@dataclass(frozen=True)
class RecordedMotion:
    """States over time, and what acted: see `titop.solvers.simulation.trajectory`."""

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    u: Array = field(default_factory=lambda: np.zeros((0, 0)))
    wrenches: dict[str, Array] = field(default_factory=dict)
    events: dict[str, Array] = field(default_factory=dict)
    control: ControlHistory | None = None
    statistics: dict[str, float] = field(default_factory=dict)
    x: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def outputs(self) -> Array:
        """Return what the model's sensors read (n, outputs) over time, each in its own unit."""
        return self.model.outputs(self.q, self.v, self.a, *self._acting())

    def _acting(self) -> tuple[dict[str, Array] | None, Array | None, Array]:
        """Return wrenches, inputs with states of the first order, and efforts over time, as functions of stacked states do."""
        u = self.model.inputs.joined(self.u, self.x) if self.model.nx else self.u if self.model.nu else None
        return self.wrenches or None, u, self.tau


def configurations(trajectory: RecordedMotion, times: Array) -> Array:
    """Return the configurations (n, nq) at `times` (n, s), along the shortest way between the trajectory's own."""
    t, q, model = trajectory.t, trajectory.q, trajectory.model
    before = np.clip(np.searchsorted(t, times, side="right") - 1, 0, max(len(t) - 2, 0))
    result = np.empty((len(times), model.nq))
    for row, (k, time) in enumerate(zip(before, times, strict=True)):
        after = min(k + 1, len(t) - 1)
        part = (time - t[k]) / (t[after] - t[k]) if after > k else 0.0
        result[row] = model.integrate(q[k], part * model.difference(q[k], q[after]))
    return result
