"""Telling that explicit steps are bounded by stiffness, not by what moves."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.solvers.simulation.driven_model import DrivenModel

#: A simulation that takes longer than this (s) is looked at.
_LOOK_AFTER = 1.0

#: Steps times the largest eigenvalue, where stability bounds them: 2.5 to 6 on the axes, by the method. Tolerances that let
#: errors of the fastest motion bound the steps keep them below one.
_BOUNDED = 1.5

#: What else bounds steps, the longest that are allowed or the instants of a controller, has to leave room for so many: two or
#: three steps of Radau, which are needed there too, take as long as 35 (34 coordinates) to 250 (2 coordinates) of DOP853.
_ROOM = 100


class Fastest(NamedTuple):
    """The fastest of what is integrated.

    Attributes
    ----------
    rate : float
        Size of the largest eigenvalue (1/s).
    name : str
        The coordinate that has most of it.
    creeps : bool
        Whether it decays more than it oscillates.
    """

    rate: float
    name: str
    creeps: bool


class StiffnessWatch:
    """Looks once, after a second, whether the steps so far were as long as stability lets them.

    Parameters
    ----------
    plant : DrivenModel
    method : str
    start : float, s
    longest : float, s
        Longest step that is allowed.
    """

    def __init__(self, plant: DrivenModel, method: str, start: float, longest: float = np.inf) -> None:
        self._plant, self._method, self._start, self._longest = plant, method, start, longest
        self._look_at: float = time.perf_counter() + _LOOK_AFTER

    @property
    def is_due(self) -> bool:
        """Whether it is time to look."""
        return time.perf_counter() >= self._look_at

    def look(self, t: float, y: Array, steps: int, pieces: int = 1) -> None:
        """Look at the time `t` (s) and state `y` that so many steps have reached, in pieces at whose ends they were cut.

        Warns
        -----
        ModelWarning
            Naming the coordinate that bounds the steps, and the methods to take.
        """
        if not (self.is_due and steps):
            return
        self._look_at = np.inf
        step = (t - self._start) / steps
        if steps < _ROOM * pieces or _ROOM * step > self._longest:
            return
        rate, name, creeps = fastest(self._plant, t, y)
        if step * rate < _BOUNDED:
            return
        suits_multistep = creeps and pieces <= 1 and not self._plant.model.is_constrained
        others = '"Radau"' + (', or "BDF"' if suits_multistep else "")
        value = f"{self._method} with steps of {step:.1e} s, bounded by its stability for {name} ({rate:.1e} 1/s)"
        warn([Finding("stiff", "method", value, "an implicit method for a stiff system", f"take {others}")])


def fastest(plant: DrivenModel, t: float, y: Array) -> Fastest:
    """Return the fastest of what is integrated; of rate zero where there is no Jacobian."""
    from titop.solvers.simulation.rate_jacobian import RateJacobian  # imports scipy

    model = plant.model
    try:
        jacobian = RateJacobian(plant)(t, y)
    except (ModelError, ConvergenceError):
        return Fastest(0.0, "", False)
    values, right = np.linalg.eig(jacobian)
    k = int(np.abs(values).argmax())
    left = np.linalg.lstsq(right, np.eye(len(y)), rcond=None)[0][k]
    shares = np.abs(left * right[:, k])[model.nq :]
    at = int(shares.argmax())
    names = *model.coordinate_names, *model.state_names
    name = names[at] if at < len(names) else "the controller's states"
    return Fastest(float(np.abs(values[k])), name, bool(abs(values[k].real) > abs(values[k].imag)))
