"""Members of an uncertain family, made anew by `linearize`: what linear fractional models are compared with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelWarning
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.system_loop import moved_state
from titop.solvers.lft.uncertain import Uncertainty, gain_names
from titop.solvers.linear.linearize import linearize
from titop.solvers.model.model import Model

if TYPE_CHECKING:
    from control import StateSpace


class Members(NamedTuple):
    """What `linearize` needs to know to make members: the arguments of `lft`, and accelerations `a` (nv) of the point."""

    point: OperatingPoint
    uncertainty: Uncertainty
    a: Array
    inputs: Any
    outputs: Any
    omit: Any
    hold: Any
    independent: Any

    def changed_point(self, values: Mapping[str, float]) -> OperatingPoint:
        """Return the operating point with values by path, its efforts those that hold it."""
        model = self.point.model.changed(self.uncertainty.of_model(values))[0]
        q, v = moved_state(self.point, values)
        tau = self.point.tau + self._needed(model, q, v) - self._needed(self.point.model, self.point.q, self.point.v)
        return OperatingPoint(model, q, v, tau, self.point.u, self.point.wrenches)

    def _needed(self, model: Model, q: Array, v: Array) -> Array:
        """Return the efforts (nv) that the tree needs, as if no loop were closed: closures carry what they do."""
        pushes = model.external_pushes(self.point.wrenches, self.point.u)
        return model.engine.dynamics.tree_inverse(q, v, self.a, pushes)

    def linearized(self, values: Mapping[str, float]) -> StateSpace:
        """Return the member at values by path, gains included."""
        point = self.changed_point(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # of the point, which `lft` has warned of once
            system = linearize(point.model, point, self.inputs, self.outputs, self.omit, self.hold, self.independent)
        columns, rows = (self._gains(system, labels, values) for labels in (system.input_labels, system.output_labels))
        system.B, system.C, system.D = system.B * columns, system.C * rows[:, None], rows[:, None] * system.D * columns
        return system

    @staticmethod
    def _gains(system: StateSpace, labels: list[str], values: Mapping[str, float]) -> Array:
        """Return the gains of signals."""
        paths = [system.signals[label].path for label in labels]
        return np.array([next((values[name] for name in gain_names(path) if name in values), 1.0) for path in paths])
