"""The stages of explicit Runge-Kutta methods in compiled code, for all that acts as functions of time alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.compiled_prepared import CompiledDynamics, no_control
from titop.solvers.control.linear_feedback import LinearFeedback
from titop.solvers.kernels import layout
from titop.solvers.native.callbacks import raise_pending

if TYPE_CHECKING:
    from titop.solvers.simulation.driven_model import DrivenModel
    from titop.solvers.simulation.tableaus import Tableau

#: What trial states may give that go too far: numbers that overflow, and loops that are open.
_TOO_FAR = (layout.NOT_FINITE, layout.SINGULAR, layout.INCONSISTENT)


class CompiledStages:
    """Fills in stages; see `Stages` of `runge_kutta`.

    Parameters
    ----------
    plant : DrivenModel
    dynamics : CompiledDynamics
        Its wrenches and inputs act.
    tau : (nv,) array
        Efforts, but for a controller's.
    feedback : LinearFeedback or None
        A continuous controller.
    method : Tableau
    """

    def __init__(
        self,
        plant: DrivenModel,
        dynamics: CompiledDynamics,
        tau: Array,
        feedback: LinearFeedback | None,
        method: Tableau,
    ) -> None:
        model, rows = plant.model, len(method.nodes)
        self._plant, self._raise_for, self._method = plant, dynamics.model.raise_for, method
        self._motions = np.zeros((rows, model.nq + 2 * model.nv))
        self._feedback = feedback if feedback is not None and feedback.varies else None
        control = no_control(model.nv, rows) if feedback is None else feedback.tables(rows)
        self._stages, self._offsets = dynamics.stages(plant.motion.moved, control, tau), control[1]

    def fill(self, first: int, last: int, t: float, h: float, states: Array, rates: Array) -> bool:
        """Write the rates from stage `first` on to before `last`, and the states up to that; tell whether all are finite."""
        if first < last and (self._plant.motion.names or self._feedback is not None):
            times = [t + c * h for c in self._method.nodes[first:last]]
            self._plant.motion.write(times, self._motions[first:last])
            if self._feedback is not None:
                self._feedback.write(times, self._offsets[first:last])
        status = self._stages(first, last, h, self._method.coefficients, states, rates, self._motions)
        if status == layout.OK:
            return True
        raise_pending()
        if status not in _TOO_FAR:
            self._raise_for(status)
        if self._plant.loop is not None:
            self._plant.command = self._plant.loop.command_at(self._plant, t, states[0])
            for state in states[first:last]:
                self._plant.split(t, state)  # tells what a controller did
        return False
