"""The equations of motion in implicit form, and their derivatives, for integrators that solve them at the end of a step.

``ID(q, v, a) - tau - J^T lambda = 0`` where motion is not prescribed, beside ``closure_error(q) = 0`` (index 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.closed_derivatives import inverse_derivatives
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.simulation.alpha_states import following
from titop.solvers.simulation.feedback_derivatives import feedback_derivatives
from titop.solvers.simulation.plant import Plant


class Derivatives(NamedTuple):
    """Derivatives (nv, nv) of ``ID - tau - J^T lambda`` by small tangent changes of q (`stiffness`), and by v (`damping`)."""

    stiffness: Array
    damping: Array


class Residual(NamedTuple):
    """What is left of the equations: efforts (nv); weighted errors of the closures and their Jacobian (k, k x nv)."""

    efforts: Array
    error: Array
    jacobian: Array


class ImplicitDynamics:
    """The equations of a plant.

    Parameters
    ----------
    plant : Plant
    """

    def __init__(self, plant: Plant) -> None:
        self.plant, self.model = plant, plant.model
        self._chosen: Array | None = None
        self._left = 0.0

    def residual(self, t: float, q: Array, v: Array, a: Array, multipliers: Array) -> Residual:
        """Return what is left of the equations at a state; `multipliers` (k) are those of the weighted constraints."""
        efforts, pushes = self.plant.loads(t, q, v)
        dynamics = self.model.engine.dynamics
        if not self.model.is_constrained:
            missing = dynamics.tree_inverse(q, v, a, pushes) - efforts
            return Residual(missing, np.zeros(0), np.zeros((0, self.model.nv)))
        needed, error, jacobian = dynamics.tree_inverse_and_constraints(q, v, a, pushes)
        weights = self.model.scale.weights
        jacobian = weights[:, None] * jacobian
        return Residual(needed - efforts - jacobian.T @ multipliers, weights * error, jacobian)

    def derivatives(
        self,
        t: float,
        q: Array,
        v: Array,
        a: Array,
        multipliers: Array,
        forces: list[Array] | None = None,
        half: float = 0.0,
    ) -> Derivatives:
        """Return the derivatives at a state, all closures acting; analytic but for efforts that are functions of the state.

        States of the first order follow over `half` a step (s).

        Forces of stiff compliant closures are way off at a guess of the state; give `forces` (6 each) that are not.
        """
        model = self.model
        _, pushes = self.plant.loads(t, q, v)
        stiffness, damping, _ = inverse_derivatives(model, q, v, a, pushes, model.scale.weights * multipliers, forces)
        if self.plant.feedback or self.plant.answer is not None:
            by_q, by_v = feedback_derivatives(self.plant, t, q, v)
            stiffness, damping = stiffness - by_q, damping - by_v
        if model.nx:
            by_q, by_v = following(self.plant, t, q, v, half)
            stiffness, damping = stiffness - by_q, damping - by_v
        return Derivatives(stiffness, damping)

    def independent(self, jacobian: Array) -> Array:
        """Return which rows (indices) of the weighted constraints' Jacobian are independent where motion is free.

        Next to a singular configuration they are fewer than elsewhere: a step across it then keeps the others. As many as act,
        once chosen, are kept while what is left of the last of them is at least half of what it was then.
        """
        comparable = (jacobian * self.model.scale.coordinates)[:, ~self.plant.motion.mask]
        kept = self._chosen
        if kept is not None and len(kept) == self.plant.held_rank and 2.0 * _least_left(comparable[kept]) >= self._left:
            return kept
        rows = independent_rows(comparable, self.plant.held_rank, self.model.gear_count)
        acts = len(rows) == self.plant.held_rank
        self._chosen, self._left = (rows, _least_left(comparable[rows])) if acts else (None, 0.0)
        return rows


def _least_left(rows: Array) -> float:
    """Return what is left of the row of which least is beside those before it, over the largest."""
    if len(rows) == 0:
        return 1.0
    left = np.abs(np.diag(dgeqrf(rows.T)[0]))
    return float(left.min() / left.max()) if left.max() > 0.0 else 0.0
