"""Dynamics in any causality by the passes, and the constraints at a state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.constraints.closure import relative_pose
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.mechanism import Constraints, finite_constraints
from titop.solvers.engines.reference.passes import Passes, port_kinematics
from titop.solvers.mechanism.conditioning import Pivots, find_pivots
from titop.solvers.mechanism.inputs import Push, WrenchPlace
from titop.solvers.model.prepared import PreparedDynamics


class ReferenceDynamics:
    """The dynamics of the reference engine; see `DynamicsCore` for its functions."""

    def __init__(self, passes: Passes) -> None:
        self._passes, self._mechanism, self._nv = passes, passes.mechanism, passes.nv
        self._none, self._all = np.zeros(self._nv, dtype=bool), np.ones(self._nv, dtype=bool)
        self._zero = np.zeros(self._nv)

    # -- of the tree -----------------------------------------------------------------------------------------------------

    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        return self._passes.resolve(q, v, a, tau, mask, pushes)[:2]

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        return self._passes.resolve(q, v, a, self._zero, self._all, pushes)[1]

    def tree_inverse_and_constraints(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> tuple[Array, Array, Array]:
        rows = self.constraints(q, v)
        return self.tree_inverse(q, v, a, pushes), rows.error, rows.jacobian

    def tree_forward(self, q: Array, v: Array, tau: Array) -> Array:
        if self._mechanism.gear_count:
            return closed_dynamics.open_accelerations(self._mechanism, q, v, tau, [])
        return self.tree_hybrid(q, v, tau, self._zero, self._none, [])[0]

    def bare_inverse(self, q: Array, v: Array, a: Array) -> Array:
        return self._passes.resolve(q, v, a, self._zero, self._all, (), bare=True)[1]

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        passes, rest = self._passes, self._zero
        states = passes.resting_states(q, mask)
        response = np.zeros((efforts.shape[1] + 1, self._nv), np.result_type(passes.dtype, q, efforts))
        for column, a in zip((rest, *efforts.T), response, strict=True):
            passes.complete(states, rest, a, column.astype(response.dtype), mask, np.zeros(3))
        return (response[1:] - response[0]).T

    def responses(self, q: Array, efforts: Array) -> Array:
        rows = [self.tree_response(each, own.T, self._none).T for each, own in zip(q, efforts, strict=True)]
        return np.array(rows).reshape(efforts.shape)

    def mass_matrix(self, q: Array) -> Array:
        passes, rest = self._passes, self._zero
        states = passes.resting_states(q, self._all)
        efforts = np.zeros((self._nv + 1, self._nv), np.result_type(passes.dtype, q))
        for unit, column in zip((rest, *np.eye(self._nv)), efforts, strict=True):
            passes.complete(states, rest, unit.astype(efforts.dtype), column, self._all, np.zeros(3))
        return (efforts[1:] - efforts[0]).T

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """Return the Coriolis matrix from 2 nv inverse dynamics.

        The inertial terms h are quadratic in v, so that differences give dh/dv to rounding: of any length, and taken where h
        compares with gravity.
        """
        mechanism, matrix = self._mechanism, self.mass_matrix(q)
        sizes = mechanism.scale.coordinates_of(np.real(np.diag(matrix)))
        speed = float(np.abs(v / sizes).max(initial=0.0))
        rate = float(np.sqrt(np.linalg.norm(mechanism.assembly.gravity) / mechanism.scale.length)) or speed
        coriolis = matrix @ mechanism.bracket(v)
        if not speed:
            return coriolis
        fast = rate / speed * v
        resting, base = (self.bare_inverse(q, rates, self._zero) for rates in (0.0 * v, fast))
        for j, direction in enumerate(np.diag(rate * sizes)):
            pushed, alone = (self.bare_inverse(q, rates, self._zero) for rates in (fast + direction, direction))
            coriolis[:, j] += (pushed - base - (alone - resting)) / direction[j] * (speed / rate)
        return 0.5 * coriolis

    def pivots(self, q: Array) -> Pivots:
        return find_pivots(self._passes.parts(self._passes.outward_kinematics(q, self._zero)), self._none)

    # -- with constraints ------------------------------------------------------------------------------------------------

    def prepare(self, places: Sequence[WrenchPlace], imposed: Array) -> PreparedDynamics:
        return PreparedDynamics(self._mechanism, places, imposed)

    def constraints(self, q: Array, v: Array) -> Constraints:
        passes, states = self._passes, self._passes.outward_kinematics(q, v)
        jacobians = passes.element_jacobians(states)
        at_rest = passes.accelerations(states, self._zero, np.zeros(6))
        parts = []
        for loop in self._mechanism.rigid_loops:
            ports = (loop.first, loop.second)
            relative = relative_pose(*(passes.port_pose(states, q, ref.block.name, ref.name) for ref in ports))
            twists = [passes.port_twist(states, q, v, ref.block.name, ref.name) for ref in ports]
            rates, bias = loop.closure.jacobians(*relative), loop.closure.bias(*relative, *twists)
            jacobian = np.zeros((len(bias), self._nv))
            for ref, rate in zip(ports, rates, strict=True):
                k = passes.index[ref.block.name]
                node = passes.nodes[k]
                rotation, position, _, gamma = port_kinematics(node.block, ref.name, q[node.q], v[node.v], states[k].V)
                jacobian = jacobian + rate @ passes.port_jacobian(states, jacobians, q, ref.block.name, ref.name)
                bias = bias + rate @ (twist_transport(rotation, position) @ at_rest[k] + gamma)
            parts.append(Constraints(loop.closure.error(*relative), jacobian, bias))
        parts += [Constraints(gear.error(q), gear.jacobian(self._nv), np.zeros(1)) for gear in self._mechanism.gear_constraints]
        if not parts:
            return Constraints(np.zeros(0), np.zeros((0, self._nv)), np.zeros(0))
        return finite_constraints(*(np.concatenate(part) for part in zip(*parts, strict=True)))
