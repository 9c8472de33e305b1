"""Members of an uncertain family, made anew by `linearize`: what linear fractional models are compared with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelWarning
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.connections.closing import Closing
from titop.solvers.lft.model.responses import response
from titop.solvers.lft.uncertainty.equilibria import Equilibria
from titop.solvers.lft.uncertainty.gains import gains_of
from titop.solvers.lft.uncertainty.point_values import held_point, is_of_point
from titop.solvers.lft.uncertainty.uncertain import Uncertainty
from titop.solvers.linear.linearize import linearize

if TYPE_CHECKING:
    from control import StateSpace


class Members(NamedTuple):
    """What makes members: the arguments of `lft`, accelerations `a` (nv) of the point, equilibria, closed controllers."""

    point: OperatingPoint
    uncertainty: Uncertainty
    a: Array
    inputs: Any
    outputs: Any
    omit: Any
    hold: Any
    independent: Any
    equilibria: Equilibria | None = None
    closings: tuple[Closing, ...] = ()

    def changed_point(self, values: Mapping[str, float]) -> OperatingPoint:
        """Return the operating point with values by path, its efforts those that hold it."""
        parameters = self.uncertainty.of_model(values)
        if self.equilibria is not None:
            found = self.equilibria.at(values)
        else:
            found = held_point(self.point, self.point.model.changed(parameters)[0], values, self.a)
        return replace(found, parameters=parameters)

    def refuse_impossible(self, values: Mapping[str, float]) -> None:
        """Refuse values by path that no model can have.

        Raises
        ------
        ModelError
            As `Model.with_parameters`.
        """
        self.point.model.changed(self.uncertainty.of_model(values))

    def gains(self, values: Mapping[str, float]) -> list[str]:
        """Return the gains among values that are not one: of signals, not of the system."""
        model = self.point.model
        of_system = {path for path in values if path in model.parameter_names or is_of_point(model, path)}
        return [path for path, value in values.items() if path not in of_system and value != 1.0]

    def linearized(self, values: Mapping[str, float]) -> StateSpace:
        """Return the member at values by path, gains included."""
        point = self.changed_point(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # of the point, which `lft` has warned of once
            system = linearize(point.model, point, self.inputs, self.outputs, self.omit, self.hold, self.independent)
        inputs, outputs = ([system.signals[label].path for label in own] for own in (system.input_labels, system.output_labels))
        columns, rows = (
            np.array([1.0 if name is None else values[name] for name in names]) for names in gains_of(values, inputs, outputs)
        )
        system.B, system.C, system.D = system.B * columns, system.C * rows[:, None], rows[:, None] * system.D * columns
        return system

    def response(self, values: Mapping[str, float], omega: Array, points: Array) -> Array:
        """Return the member's response (n, outputs, inputs), all controllers closed, at frequencies (rad/s), and s or z there.

        Inputs that are held are sampled exactly. Delays in continuous time are exact unless the loop is sampled later.
        """
        system, closings = self.linearized(values), self.closings
        sampling = next((k + 1 for k, closing in enumerate(closings) if closing.sampling), 0)
        matrices = system.A, system.B, system.C, system.D
        for closing in closings[:sampling]:
            matrices = closing.exact(matrices)
        result = response(matrices, points)
        for closing in closings[sampling:]:
            result = np.array([closing.of_response(*each) for each in zip(result, points, omega, strict=True)])
        return result
