"""How efforts that are functions of the state change with it."""

from __future__ import annotations

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.simulation.plant import Plant

#: Step of the one-sided differences by which efforts that depend on the state are differentiated; of all slopes only these
#: are not exact, which costs Newton's method a little of its speed and the solution nothing.
_DIFFERENCE = 1e-7


def feedback_slopes(plant: Plant, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the slopes (nv, nv) by tangent changes of q, and by v, of what the user's functions apply, the system held."""
    model, nothing = plant.model, np.zeros(plant.model.nv)

    def applied(q_seen: Array, v_seen: Array) -> Array:
        efforts, pushes = plant.loads(t, q_seen, v_seen)
        return efforts - model.tree_inverse(q, v, nothing, pushes)

    here, steps = applied(q, v), _DIFFERENCE * np.eye(model.nv)
    by_q = [applied(model.integrate(q, step), v) - here for step in steps]
    by_v = [applied(q, v + step) - here for step in steps]
    return np.array(by_q).T / _DIFFERENCE, np.array(by_v).T / _DIFFERENCE
