"""The equations of motion in implicit form, and their derivatives, for integrators that solve them at the end of a step.

``ID(q, v, a) - tau - J^T lambda = 0`` where motion is not prescribed, beside ``closure_error(q) = 0`` (index 3). States of the
first order follow by the trapezoidal rule, ``x1 = x0 + h (f0 + f1) / 2``, solved by Newton's method for every state (q, v) that
a step tries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.closed_derivatives import inverse_derivatives
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.rate_jacobian import feedback_derivatives


class ImplicitDerivatives(NamedTuple):
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
    plant : DrivenModel
    """

    def __init__(self, plant: DrivenModel) -> None:
        self.plant, self.model = plant, plant.model
        self._chosen: Array | None = None
        self._left = 0.0

    def residual(self, t: float, q: Array, v: Array, a: Array, multipliers: Array) -> Residual:
        """Return what is left of the equations at a state; `multipliers` (k) are those of the weighted constraints."""
        efforts, pushes = self.plant.loads(t, q, v)
        dynamics = self.model.mechanism.engine.dynamics
        if not self.model.is_constrained:
            missing = dynamics.tree_inverse(q, v, a, pushes) - efforts
            return Residual(missing, np.zeros(0), np.zeros((0, self.model.nv)))
        needed, error, jacobian = dynamics.tree_inverse_and_constraints(q, v, a, pushes)
        weights = self.model.mechanism.scale.weights
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
    ) -> ImplicitDerivatives:
        """Return the derivatives at a state, all closures acting; analytic but for efforts that are functions of the state.

        States of the first order follow over `half` a step (s).

        Forces of stiff compliant closures are way off at a guess of the state; give `forces` (6 each) that are not.
        """
        model = self.model
        _, pushes = self.plant.loads(t, q, v)
        stiffness, damping, _ = inverse_derivatives(
            model.mechanism, q, v, a, pushes, model.mechanism.scale.weights * multipliers, forces
        )
        if self.plant.feedback or self.plant.answer is not None:
            by_q, by_v = feedback_derivatives(self.plant, t, q, v)
            stiffness, damping = stiffness - by_q, damping - by_v
        if model.nx:
            by_q, by_v = _by_following_states(self.plant, t, q, v, half)
            stiffness, damping = stiffness - by_q, damping - by_v
        return ImplicitDerivatives(stiffness, damping)

    def independent(self, jacobian: Array) -> Array:
        """Return which rows (indices) of the weighted constraints' Jacobian are independent where motion is free.

        Next to a singular configuration they are fewer than elsewhere: a step across it then keeps the others. As many as act,
        once chosen, are kept while what is left of the last of them is at least half of what it was then.
        """
        comparable = (jacobian * self.model.mechanism.scale.coordinates)[:, ~self.plant.motion.mask]
        rank, chosen = self.plant.prepared.rank, self._chosen
        if chosen is not None and len(chosen) == rank and 2.0 * _least_left(comparable[chosen]) >= self._left:
            return chosen
        rows = independent_rows(comparable, rank, self.model.mechanism.gear_count)
        self._chosen, self._left = (rows, _least_left(comparable[rows])) if len(rows) == rank else (None, 0.0)
        return rows


def _least_left(rows: Array) -> float:
    """Return what is left of the row of which least is beside those before it, over the largest."""
    if len(rows) == 0:
        return 1.0
    left = np.abs(np.diag(dgeqrf(rows.T)[0]))
    return float(left.min() / left.max()) if left.max() > 0.0 else 0.0


class FirstOrderStates(NamedTuple):
    """States of the first order (nx) and their rates."""

    x: Array
    rate: Array


def first_order_states(plant: DrivenModel, t: float, q: Array, v: Array) -> FirstOrderStates | None:
    """Return the states that act on a plant now, and how they change there; None if it has none."""
    return FirstOrderStates(plant.x, plant.model.state_rates(q, v, u=plant.inputs(t, q, v))) if plant.model.nx else None


class FirstOrderStep:
    """A step of the states of the first order.

    Parameters
    ----------
    plant : DrivenModel
    begin : FirstOrderStates
    h : float, s
    """

    def __init__(self, plant: DrivenModel, begin: FirstOrderStates, h: float) -> None:
        self._plant, self._half = plant, 0.5 * h
        self._begun, self._guess = begin.x + self._half * begin.rate, begin.x + h * begin.rate
        self._inverse = np.eye(len(begin.x))

    def at(self, t: float, q: Array, v: Array) -> FirstOrderStates:
        """Return the states where the step ends in a state, which act from now on; not numbers where none are found."""
        plant, u = self._plant, self._plant.inputs(t, q, v)
        assert u is not None
        states = plant.model.mechanism.engine.states
        x, self._inverse = states.following(q, v, u, self._begun, self._guess, self._half)
        if np.isfinite(x).all():
            self._guess = x
        plant.x = x
        return FirstOrderStates(x, (x - self._begun) / self._half)

    def filtered(self, x: Array) -> Array:
        """Return small differences of states as far as the step does not damp them."""
        return self._inverse @ x


def _by_following_states(plant: DrivenModel, t: float, q: Array, v: Array, half: float) -> tuple[Array, Array]:
    """Return what states that follow over `half` a step (s) change of the efforts (nv, nv each), by coordinates and rates."""
    u = plant.inputs(t, q, v)
    assert u is not None
    rates, efforts = plant.model.mechanism.engine.states.slopes(q, v, u)
    efforts = half * efforts @ np.linalg.inv(np.eye(plant.model.nx) - half * rates.by_x)
    return efforts @ rates.by_q, efforts @ rates.by_v
