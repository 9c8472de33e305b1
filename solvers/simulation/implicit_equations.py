"""The equations of implicit integrators, and their derivatives.

The generalised-alpha scheme solves the equations of motion in implicit form at the end of a step (`ImplicitDynamics`),
``ID(q, v, a) - tau - J^T lambda = 0`` where motion is not prescribed, together with ``closure_error(q) = 0`` (index 3),
and ``J v = 0`` of what constrains velocities alone.

Scipy's integrators take the Jacobian of dy/dt by ``y = [q, v, x, z]`` (`RateJacobian`): x are the first-order states, z those
of a continuous controller. Derivatives of the dynamics are by tangent displacements of q, derivatives of y by the entries of q.
An entry of q matters only as far as it changes the configuration: quaternions are normalised before they are used, prescribed
motions are imposed. The rates of free and spherical coordinates change with the configuration, ``d(dq)/dt = dv - ad(v) dq``
along the tangents, which is found here as the derivative of the entries' rates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf

from titop.blocks.basics.errors import ConvergenceError, ModelError
from titop.blocks.basics.spatial import Array, quaternion_matrix, skew
from titop.blocks.basics.tolerances import CENTRAL_STEP, ONE_SIDED_STEP
from titop.blocks.contract.block import Block
from titop.solvers.constraints.closed_derivatives import inverse_derivatives
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.control.continuous_loop import ContinuousLoop
from titop.solvers.mechanism.inputs import Push
from titop.solvers.model.prepared import FollowingStates, Residual
from titop.solvers.simulation.closed_states import UTMOST, project
from titop.solvers.simulation.driven_model import DrivenModel


class ImplicitDerivatives(NamedTuple):
    """Derivatives (nv, nv) of ``ID - tau - J^T lambda`` by tangent displacements of q (`stiffness`), and by v (`damping`)."""

    stiffness: Array
    damping: Array


class ImplicitDynamics:
    """The implicit equations of motion of a plant."""

    def __init__(self, plant: DrivenModel) -> None:
        self.plant, self.model = plant, plant.model
        self._chosen: Array | None = None
        self._left = 0.0

    def residual(
        self, t: float, q: Array, v: Array, a: Array, multipliers: Array, following: FollowingStates, whole: bool
    ) -> Residual:
        """Return the residual of the equations at a state; see `PreparedDynamics.equations`. States found then act."""
        efforts = self.plant.act_on(t, q, v)
        result = self.plant.prepared.equations(q, v, a, efforts, multipliers, following, whole)
        self.plant.x = following.x.copy()
        return result

    def derivatives(
        self, t: float, q: Array, v: Array, a: Array, multipliers: Array, forces: list[Array] | None = None, half: float = 0.0
    ) -> ImplicitDerivatives:
        """Return the derivatives at a state, all closures active; analytic but for efforts that are functions of the state.

        First-order states follow over `half` a step (s).

        At a guessed state, forces of stiff compliant closures are far off; pass better `forces` (6 each) there.
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
        """Return the rows (indices) of the weighted constraint Jacobian that are independent where motion is free.

        Next to a singular configuration they are fewer than elsewhere; a step across it keeps the choice made before. While the
        number of independent rows is the rank, the choice is kept as long as its least independent row is at least half as
        independent as when it was chosen.
        """
        comparable = (jacobian * self.model.mechanism.scale.coordinates)[:, ~self.plant.motion.mask]
        rank, chosen = self.plant.prepared.rank, self._chosen
        if chosen is not None and len(chosen) == rank and 2.0 * _least_left(comparable[chosen]) >= self._left:
            return chosen
        rows = independent_rows(comparable, rank, self.model.mechanism.gear_count)
        self._chosen, self._left = (rows, _least_left(comparable[rows])) if len(rows) == rank else (None, 0.0)
        return rows


def _least_left(rows: Array) -> float:
    """Return the smallest remainder of a row orthogonal to those before it, over the largest."""
    if len(rows) == 0:
        return 1.0
    left = np.abs(np.diag(dgeqrf(rows.T)[0]))
    return float(left.min() / left.max()) if left.max() > 0.0 else 0.0


def _by_following_states(plant: DrivenModel, t: float, q: Array, v: Array, half: float) -> tuple[Array, Array]:
    """Return derivatives of efforts (nv, nv each) by q and v through first-order states that follow over `half` a step (s)."""
    u = plant.inputs(t, q, v)
    assert u is not None
    rates, efforts = plant.model.mechanism.engine.states.slopes(q, v, u)
    efforts = half * efforts @ np.linalg.inv(np.eye(plant.model.nx) - half * rates.by_x)
    return efforts @ rates.by_q, efforts @ rates.by_v


#: Step of the one-sided differences for efforts that depend on the state, over the scale of coordinates and rates. Only these
#: derivatives are not exact; this slows Newton's method a little, and does not change the solution.
_DIFFERENCE = ONE_SIDED_STEP
#: Step of the central differences of the projection (radians, the system's size, and these per second).
_STEP = CENTRAL_STEP


class RateJacobian:
    """The Jacobian of a plant's dy/dt as a function of time and state, exact to rounding.

    There are two exceptions: efforts, inputs and wrenches that are functions of the state are differentiated by one-sided
    differences, and their effect on the rates of x is left out. With rigid closures and gears the Jacobian is that at the
    state on the closures next to y. If there is no such state (at a trial state, or a singular configuration), the last
    Jacobian is kept. All this slows the integrator's iteration a little, and does not change the solution. Near a singular
    configuration dy/dt is evaluated at projected states, so that constraint violations do not grow; the projection is then
    differentiated by central differences.

    `is_near`: tells whether dy/dt is evaluated at projected states.
    """

    def __init__(self, plant: DrivenModel, is_near: Callable[[], bool] = lambda: False) -> None:
        self.plant, self.is_near = plant, is_near
        self._last: Array | None = None

    def __call__(self, t: float, y: Array) -> Array:
        """Return the Jacobian (ny, ny). `t` (s); `y` (ny)."""
        try:
            self._last = self._at(t, y)
        except (ModelError, ConvergenceError):
            if self._last is None:
                raise
        return self._last

    def _at(self, t: float, y: Array) -> Array:
        plant, model = self.plant, self.plant.model
        nq, nv = model.nq, model.nv
        q, v = plant.split(t, project(plant, t, y).y if model.is_constrained else y)
        if isinstance(plant.loop, ContinuousLoop):
            plant.command = plant.loop.command_at(plant, t, y)
        rates = self._rates(t, q, v, y)
        free = ~plant.motion.mask
        jacobian = np.zeros((len(y), len(y)))
        for block in model.mechanism.assembly.blocks_with_coordinates:
            in_q, in_v = model.mechanism.assembly.q_slices[block.name], model.mechanism.assembly.v_slices[block.name]
            tangents = _coordinate_tangents(block, q[in_q], v[in_v])
            tangents.by_numbers[~free[in_v]] = 0.0
            for start in model.mechanism.quaternions:
                if in_q.start <= start < in_q.stop:
                    tangents.by_numbers[:, start - in_q.start : start - in_q.start + 4] /= np.linalg.norm(y[start : start + 4])
            jacobian[in_q, in_q] = tangents.rates @ tangents.by_numbers
            jacobian[in_q, nq + in_v.start : nq + in_v.stop] = tangents.derivatives * free[in_v]
            jacobian[nq:, in_q] = rates[:, in_v] @ tangents.by_numbers
        jacobian[nq:, nq : nq + nv] = rates[:, nv : 2 * nv] * free
        jacobian[nq:, nq + nv :] = rates[:, 2 * nv :]
        return jacobian @ self._projection(t, y) if self.is_near() else jacobian

    def _projection(self, t: float, y: Array) -> Array:
        """Return the derivative of the projected state (ny, ny) by y."""
        model = self.plant.model
        lengths = np.array(
            [
                unit == "m"
                for unit in (*model.mechanism.assembly.configuration_units, *model.mechanism.assembly.coordinate_units)
            ]
        )
        steps = np.full(len(y), _STEP)
        steps[: len(lengths)][lengths] *= model.mechanism.scale.length
        ends = [[project(self.plant, t, y + way, UTMOST).y for way in (step, -step)] for step in np.diag(steps)]
        return np.array([after - before for after, before in ends]).T / (2 * steps)

    def _rates(self, t: float, q: Array, v: Array, y: Array) -> Array:
        """Return the derivatives of the accelerations, dx/dt and dz/dt by tangents, v, x and z."""
        plant, model, mask = self.plant, self.plant.model, self.plant.motion.mask
        efforts, pushes = plant.loads(t, q, v)
        if mask.any():
            derivatives = model.mechanism.engine.derivatives.hybrid(q, v, efforts, plant.motion.acceleration(t), mask, pushes)
            by_q, by_v, by_tau = derivatives.da_dq, derivatives.da_dv, derivatives.da_dtau
        else:
            by_q, by_v, by_tau = model.mechanism.engine.derivatives.forward(q, v, efforts, pushes)
        by_state = np.hstack([by_q, by_v])
        if plant.feedback:
            by_state = by_state + by_tau @ np.hstack(feedback_derivatives(plant, t, q, v))
        if isinstance(plant.loop, ContinuousLoop):
            by_state = plant.loop.derivatives(plant, t, y, by_state, by_tau)
        return by_state if not model.nx else self._with_states(by_state, by_tau, q, v, plant.inputs(t, q, v))

    def _with_states(self, by_state: Array, by_tau: Array, q: Array, v: Array, u: Array | None) -> Array:
        """Insert rows and columns of x into derivatives of accelerations and dz/dt by tangents, v and z."""
        model, nv = self.plant.model, self.plant.model.nv
        by, more = model.state_rates_derivatives(q, v, u=u), len(by_state) - nv
        by_x = np.vstack([by_tau @ model.state_efforts(q, v, u=u), np.zeros((more, model.nx))])
        whole = np.hstack([by_state[:, : 2 * nv], by_x, by_state[:, 2 * nv :]])
        rows = np.hstack([by.by_q, by.by_v, by.by_x, np.zeros((model.nx, more))])
        return np.vstack([whole[:nv], rows, whole[nv:]])


class CoordinateTangents(NamedTuple):
    """How the entries of q depend on its tangents.

    - `derivatives`, `rates` (nq, nv): derivatives of q and dq/dt by tangents;
    - `by_numbers` (nv, nq): derivatives of tangents by q.
    """

    derivatives: Array
    by_numbers: Array
    rates: Array


def _coordinate_tangents(block: Block, q: Array, v: Array) -> CoordinateTangents:
    if block.configuration_names == block.coordinates:
        return CoordinateTangents(np.eye(block.nv), np.eye(block.nv), np.zeros((block.nv, block.nv)))
    if block.quaternion.start:
        rotation, turn = quaternion_matrix(q[3:]), _quaternion_tangents(q[3:], v[3:])
        derivatives, by_numbers, rates = np.zeros((7, 6)), np.zeros((6, 7)), np.zeros((7, 6))
        derivatives[:3, :3], by_numbers[:3, :3] = rotation, rotation.T
        derivatives[3:, 3:], by_numbers[3:, 3:], rates[3:, 3:] = turn
        rates[:3, 3:] = -rotation @ skew(v[:3])  # the position's rate is the velocity, in body axes
        return CoordinateTangents(derivatives, by_numbers, rates)
    if block.quaternion.stop:
        return _quaternion_tangents(q, v)
    derivatives = block.slopes(lambda x: x, q)
    return CoordinateTangents(
        derivatives, np.linalg.pinv(derivatives), block.slopes(lambda x: block.along(lambda y: y, x, v), q)
    )


def _quaternion_tangents(quaternion: Array, w: Array) -> CoordinateTangents:
    """Return the part of a quaternion that turns with angular velocity w: ``dq/dt = q (w, 0) / 2``."""
    vector, scalar = quaternion[:3], quaternion[3]
    derivatives = 0.5 * np.vstack([scalar * np.eye(3) + skew(vector), -vector])
    by_quaternion = 0.5 * np.block([[-skew(w), w[:, None]], [-w, np.zeros(1)]])
    return CoordinateTangents(derivatives, 4.0 * derivatives.T, by_quaternion @ derivatives)


def feedback_derivatives(plant: DrivenModel, t: float, q: Array, v: Array) -> tuple[Array, Array]:
    """Return the derivatives (nv, nv), by tangents of q and by v, of the loads of users' functions, with the system at a state.

    Functions of time alone are recognised by one evaluation with all coordinates and rates changed by different amounts: their
    loads stay the same.
    """
    model, nothing = plant.model, np.zeros(plant.model.nv)

    def efforts_seen(q_seen: Array, v_seen: Array) -> Array:
        efforts, pushes = plant.loads(t, q_seen, v_seen)
        return efforts - model.mechanism.engine.dynamics.tree_inverse(q, v, nothing, pushes)

    efforts, pushes = plant.loads(t, q, v)
    held, inertia = model.mechanism.engine.dynamics.tree_inverse(q, v, nothing, pushes), np.diag(model.mass_matrix(q))
    sizes = model.mechanism.scale.coordinates_of(inertia)
    steps = _DIFFERENCE * sizes
    steps_v = steps * _typical_rate(sizes, inertia, v, np.abs(efforts) + np.abs(held))
    unlike = 1.0 + np.sqrt(2.0) * np.arange(model.nv) % 1.0
    everywhere = model.integrate(q, unlike * steps), v + unlike[::-1] * steps_v
    if _same(plant.loads(t, *everywhere), (efforts, pushes)):
        return np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    by_q = [efforts_seen(model.integrate(q, step), v) - (efforts - held) for step in np.diag(steps)]
    by_v = [efforts_seen(q, v + step) - (efforts - held) for step in np.diag(steps_v)]
    return np.array(by_q).T / steps, np.array(by_v).T / steps_v


def _same(loads: tuple[Array, list[Push]], others: tuple[Array, list[Push]]) -> bool:
    (efforts, pushes), (other_efforts, other_pushes) = loads, others
    if len(pushes) != len(other_pushes) or not np.array_equal(efforts, other_efforts):
        return False
    pairs = zip(pushes, other_pushes, strict=True)
    return all(one[:-1] == other[:-1] and np.array_equal(one[-1], other[-1]) for one, other in pairs)


def _typical_rate(sizes: Array, inertia: Array, v: Array, efforts: Array) -> float:
    """Return the rate (1/s) at which motion, or else efforts, change the state noticeably."""
    pulled = np.divide(efforts, inertia * sizes, out=np.zeros(len(v)), where=inertia > 0)
    return float(max(np.abs(v / sizes).max(initial=0.0), np.sqrt(pulled.max(initial=0.0)))) or 1.0
