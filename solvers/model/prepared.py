"""Dynamics for integrators, which call them thousands of times: arguments are checked once, when a run begins.

Results are checked at every call, so that non-finite numbers are noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.target_motion import TargetMotion
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.assembling import project_configuration, project_velocity
from titop.solvers.constraints.interaction_loads import read_rates, target_motion
from titop.solvers.constraints.multipliers import independence, independent_rows
from titop.solvers.mechanism.inputs import ActingPush, PortPush, Push, WrenchPlace, acting_inputs
from titop.solvers.model.mechanism import Mechanism


class Closed(NamedTuple):
    """A state on the closures.

    - `q`, `v` (nq);
    - `distance`: from a singular configuration: the smallest pivot of the independent rows of the scaled constraint Jacobian,
      over the largest (`independence`);
    - `rank`: number of independent constraints there, imposed coordinates held.
    """

    q: Array
    v: Array
    distance: float
    rank: int


class FollowingStates(NamedTuple):
    """States (nx) that follow over `half` a step (s): ``x = begun + half dx/dt``; x holds a guess, then what has been found."""

    half: float
    begun: Array
    x: Array


class Residual(NamedTuple):
    """What is left of the equations: ``ID(q, v, a) - tau - J^T lambda`` (nv), and the weighted constraints' values (k).

    Their Jacobian J (k, nv) and the tree's mass matrix (nv, nv) are empty if they were not asked for.
    """

    efforts: Array
    error: Array
    jacobian: Array
    mass: Array


class PreparedDynamics:
    """The dynamics of a mechanism in one causality, with wrenches that act at fixed places.

    Arguments of the methods are float arrays that are not checked: `q` (nq) with unit quaternions; `v`; the efforts `tau`
    (nv), read where the motion is free; the accelerations `a` (nv), read where it is imposed. Loops may be slightly open.

    - `imposed` (nv): coordinates whose motion is imposed;
    - `wrenches` (n, 6): wrenches at the places; callers write into it;
    - `rank`: number of independent constraints on the coordinates whose motion is free; callers set it;
    - `farthest`: the largest distance from a singular configuration that the motion has reached so far; callers set it.
    """

    def __init__(self, mechanism: Mechanism, places: Sequence[WrenchPlace], imposed: Array) -> None:
        self.mechanism, self.places, self.imposed = mechanism, places, imposed
        self.wrenches = np.zeros((len(places), 6))
        self.rank = 0
        self.farthest = 0.0
        self._u, self._driven = np.zeros(mechanism.inputs.count), list[Push]()

    def drive_interactions(self, u: Array) -> None:
        """From now on apply the interactions' entries of the inputs `u`, with the states behind them."""
        self._u, self._driven = u, [ActingPush(name, u[columns]) for name, columns in self.mechanism.inputs.driving]

    def rate(self, q: Array, v: Array, tau: Array, a: Array) -> Array:
        """Return ``[dq/dt; dv/dt; dx/dt]`` (nq + nv + nx), with the states x last passed to `drive_interactions`."""
        rates, inputs = (self.mechanism.rates(q, v), self.accelerations(q, v, tau, a)), acting_inputs(self._driven)
        with_states = [loop for loop in self.mechanism.interactions if loop.closure.state_names]
        motions = [target_motion(self.mechanism, loop, q, v, inputs.get(loop.closure.name)) for loop in with_states]
        return np.concatenate([*rates, *(read_rates(loop.closure, at) for loop, at in zip(with_states, motions, strict=True))])

    def accelerations(self, q: Array, v: Array, tau: Array, a: Array) -> Array:
        """Return all accelerations (nv)."""
        return self.dynamics(q, v, tau, a)[0]

    def dynamics(self, q: Array, v: Array, tau: Array, a: Array) -> tuple[Array, Array]:
        """Return all accelerations and efforts (nv)."""
        return closed_dynamics.hybrid(self.mechanism, q, v, tau, a, self.imposed, self._pushes(), self.rank)

    @property
    def stacks(self) -> bool:
        """Whether `dynamics_rows` takes less time than stacked functions of the model."""
        return False

    def dynamics_rows(self, q: Array, v: Array, tau: Array, a: Array, wrenches: Array, u: Array) -> tuple[Array, Array]:
        """Return accelerations and efforts (n, nv) of stacked states, each with `wrenches` (n, places, 6) and inputs (n, nu).

        Only the inputs of interactions are read. The loads of the last state go on acting after the call.
        """
        results = np.empty((2, *v.shape))
        for k in range(len(q)):
            self.wrenches[:] = wrenches[k]
            if self.mechanism.inputs.driving:
                self.drive_interactions(u[k])
            results[:, k] = self.dynamics(q[k], v[k], tau[k], a[k])
        return results[0], results[1]

    def equations(
        self, q: Array, v: Array, a: Array, tau: Array, multipliers: Array, following: FollowingStates, whole: bool
    ) -> Residual:
        """Return what is left of the equations of motion at a state, with the matrices if `whole`; states follow.

        `multipliers` (k) are those of the weighted constraints. The states found are written into `following`.
        """
        core, inputs, weights = self.mechanism.engine, self.mechanism.inputs, self.mechanism.scale.weights
        half, begun, guess = following
        if len(guess):
            x, _ = core.states.following(q, v, self._u, begun, guess, half)
            self.drive_interactions(inputs.with_states(inputs.without_states(self._u), x))
            guess[:] = np.where(np.isfinite(x).all(), x, guess)
        missing, rows = core.dynamics.tree_inverse(q, v, a, self._pushes()) - tau, core.dynamics.constraints(q, v)
        jacobian = weights[:, None] * rows.jacobian
        mass = core.dynamics.mass_matrix(q) if whole else np.zeros((0, 0))
        return Residual(missing - jacobian.T @ multipliers, weights * rows.error, jacobian, mass)

    def target_motions(self, q: Array, v: Array) -> list[TargetMotion]:
        """Return the motion of the targets of each interaction, in order; inputs are zero."""
        return [target_motion(self.mechanism, loop, q, v) for loop in self.mechanism.interactions]

    def project(self, q: Array, v: Array, precision: float) -> Closed:
        """Return the closed state next to a nearly closed one, imposed coordinates held.

        Errors (rad, and m for a system of size one) below `precision` remain, and those that no step makes smaller. Raises
        `ConvergenceError` if no closed state is found.
        """
        mechanism, rank = self.mechanism, self.rank
        q = project_configuration(mechanism, q, self.imposed, rank, precision)
        v = project_velocity(mechanism, q, v, self.imposed, rank)
        comparable = mechanism.scale.comparable(mechanism.constraints_at(q, v).jacobian)[:, ~self.imposed]
        independent = independent_rows(comparable, gears=mechanism.gear_count)
        return Closed(q, v, independence(comparable, rank, mechanism.gear_count), len(independent))

    def _pushes(self) -> list[Push]:
        on_ports = (PortPush(*place, wrench) for place, wrench in zip(self.places, self.wrenches.copy(), strict=True))
        return [*on_ports, *self._driven]
