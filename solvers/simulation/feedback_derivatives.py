"""How efforts that are functions of the state change with it."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.mechanism.inputs import Push
from titop.solvers.simulation.plant import Plant

#: Step of the one-sided differences by which efforts that depend on the state are differentiated, over what counts as one of
#: coordinates and rates; of all derivatives only these are not exact, which costs Newton's method a little of its speed and the
#: solution nothing.
_DIFFERENCE = 1e-7


def feedback_derivatives(plant: Plant, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the derivatives (nv, nv) by tangent changes of q, and by v, of what the user's functions apply, the system held.

    Functions of time alone are known by what they apply when all coordinates and rates move at once, each by a part of its
    own: nothing else. They cost one more evaluation.
    """
    model, nothing = plant.model, np.zeros(plant.model.nv)

    def applied(q_seen: Array, v_seen: Array) -> Array:
        efforts, pushes = plant.loads(t, q_seen, v_seen)
        return efforts - model.engine.dynamics.tree_inverse(q, v, nothing, pushes)

    efforts, pushes = plant.loads(t, q, v)
    held, inertia = model.engine.dynamics.tree_inverse(q, v, nothing, pushes), np.diag(model.mass_matrix(q))
    sizes = model.scale.coordinates_of(inertia)
    steps = _DIFFERENCE * sizes
    steps_v = steps * _rate(sizes, inertia, v, np.abs(efforts) + np.abs(held))
    unlike = 1.0 + np.sqrt(2.0) * np.arange(model.nv) % 1.0
    everywhere = model.integrate(q, unlike * steps), v + unlike[::-1] * steps_v
    if _same(plant.loads(t, *everywhere), (efforts, pushes)):
        return np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    by_q = [applied(model.integrate(q, step), v) - (efforts - held) for step in np.diag(steps)]
    by_v = [applied(q, v + step) - (efforts - held) for step in np.diag(steps_v)]
    return np.array(by_q).T / steps, np.array(by_v).T / steps_v


def _same(loads: tuple[Array, list[Push]], others: tuple[Array, list[Push]]) -> bool:
    """Tell whether the same numbers are applied."""
    (efforts, pushes), (other_efforts, other_pushes) = loads, others
    if len(pushes) != len(other_pushes) or not np.array_equal(efforts, other_efforts):
        return False
    pairs = zip(pushes, other_pushes, strict=True)
    return all(one[:-1] == other[:-1] and np.array_equal(one[-1], other[-1]) for one, other in pairs)


def _rate(sizes: Array, inertia: Array, v: Array, efforts: Array) -> float:
    """Return the rate (1/s) at which motion, or else efforts, make things look different."""
    pulled = np.divide(efforts, inertia * sizes, out=np.zeros(len(v)), where=inertia > 0)
    return float(max(np.abs(v / sizes).max(initial=0.0), np.sqrt(pulled.max(initial=0.0)))) or 1.0
