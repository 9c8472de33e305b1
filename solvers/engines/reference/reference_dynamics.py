"""Dynamics of the tree in any causality, constraints, and observations at a state, by the passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.bodies.inertial_numbers import inertial_derivatives, wrenches_of_numbers
from titop.blocks.constraints.closure import relative_pose
from titop.blocks.contract.applied import is_acted_on, weight_energy
from titop.blocks.contract.description import mass_and_moment
from titop.blocks.programs.branches import explored
from titop.graph.network.connections import Joined
from titop.solvers.constraints import closed_dynamics, interaction_loads
from titop.solvers.constraints.engine_interface import Constraints, finite_constraints
from titop.solvers.engines.reference.passes import Passes, port_kinematics
from titop.solvers.mechanism.conditioning import Pivots, find_pivots
from titop.solvers.mechanism.inputs import Push, WrenchPlace
from titop.solvers.mechanism.port_motion import PortMotion
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

    def tree_forward(self, q: Array, v: Array, tau: Array) -> Array:
        if self._mechanism.gear_count:
            return closed_dynamics.open_accelerations(self._mechanism, q, v, tau, [])
        return self.tree_hybrid(q, v, tau, self._zero, self._none, [])[0]

    def bare_inverse(self, q: Array, v: Array, a: Array) -> Array:
        return self._passes.resolve(q, v, a, self._zero, self._all, (), bare=True)[1]

    def weight(self, q: Array) -> Array:
        passes, resting = self._passes, replace(self._passes.assembly, turning=np.zeros(6))
        rest = Passes(passes.mechanism, resting, passes.dtype)
        return rest.resolve(q, self._zero, self._zero, self._zero, self._all, (), bare=True)[1]

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        passes, rest = self._passes, self._zero
        states = passes.resting_states(q, mask)
        response = np.zeros((efforts.shape[1] + 1, self._nv), np.result_type(passes.dtype, q, efforts))
        for column, a in zip((rest, *efforts.T), response, strict=True):
            passes.complete(states, rest, a, column.astype(response.dtype), mask, np.zeros(6))
        return (response[1:] - response[0]).T

    def responses(self, q: Array, efforts: Array) -> Array:
        rows = [self.tree_response(each, columns.T, self._none).T for each, columns in zip(q, efforts, strict=True)]
        return np.array(rows).reshape(efforts.shape)

    def mass_matrix(self, q: Array) -> Array:
        passes, rest = self._passes, self._zero
        states, matrix = passes.resting_states(q, self._all), np.zeros((self._nv, self._nv), np.result_type(passes.dtype, q))
        passes.inward_elimination(states, rest, rest, rest.astype(matrix.dtype), self._all)
        for k, (node, state) in enumerate(zip(passes.nodes, states, strict=True)):
            column, place = state.M_hat[:, 6:], k
            matrix[node.v, node.v] = column[6:]
            while place:
                column, place = states[place].B.T @ column[:6], passes.nodes[place].parent
                own = passes.nodes[place].v
                matrix[own, node.v], matrix[node.v, own] = column[6:], column[6:].T
        return matrix

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """Return the Coriolis matrix from 2 nv inverse dynamics.

        The inertial terms h are quadratic in v, so that differences give dh/dv to rounding: of any length, and taken where h
        compares with gravity. What a world that turns adds is linear in v: a skew matrix at any v, counted as a whole.
        """
        mechanism, matrix = self._mechanism, self.mass_matrix(q)
        sizes = mechanism.scale.coordinates_of(np.real(np.diag(matrix)))
        speed = float(np.abs(v / sizes).max(initial=0.0))
        rate = float(np.sqrt(mechanism.falling)) or speed
        coriolis = matrix @ mechanism.bracket(v)
        if (turning := np.abs(mechanism.assembly.turning[:3]).max()) > 0:
            for j, direction in enumerate(np.diag(turning * sizes)):
                ahead, back = (self.bare_inverse(q, rates, self._zero) for rates in (direction, -direction))
                coriolis[:, j] += (ahead - back) / direction[j]
        if not speed:
            return 0.5 * coriolis
        fast = rate / speed * v
        resting, base = (self.bare_inverse(q, rates, self._zero) for rates in (0.0 * v, fast))
        for j, direction in enumerate(np.diag(rate * sizes)):
            pushed, alone = (self.bare_inverse(q, rates, self._zero) for rates in (fast + direction, direction))
            coriolis[:, j] += (pushed - base - (alone - resting)) / direction[j] * (speed / rate)
        return 0.5 * coriolis

    def pivots(self, q: Array) -> Pivots:
        if q.ndim == 2:
            rows = np.array([self.pivots(each) for each in q]).reshape(len(q), 3, self._nv)
            return Pivots(*np.moveaxis(rows, 1, 0))
        return find_pivots(self._passes.parts(self._passes.outward_kinematics(q, self._zero)), self._none)

    # -- with constraints ------------------------------------------------------------------------------------------------

    def prepare(self, places: Sequence[WrenchPlace], imposed: Array) -> PreparedDynamics:
        return PreparedDynamics(self._mechanism, places, imposed)

    def constraints(self, q: Array, v: Array) -> Constraints:
        passes, states = self._passes, self._passes.outward_kinematics(q, v)
        jacobians = passes.element_jacobians(states)
        at_rest = passes.accelerations(states, self._zero, np.concatenate([np.zeros(3), passes.assembly.turning[3:]]))
        parts = []
        for loop in self._mechanism.rigid_loops:
            ports = (loop.first, loop.second)
            relative = relative_pose(*(passes.port_pose(states, q, ref.block.name, ref.name) for ref in ports))
            twists = [passes.port_twist(states, q, v, ref.block.name, ref.name) for ref in ports]
            rates, bias = explored(loop.closure.jacobians, *relative), explored(loop.closure.bias, *relative, *twists)
            jacobian = np.zeros((len(bias), self._nv))
            for ref, rate in zip(ports, rates, strict=True):
                k = passes.index[ref.block.name]
                node = passes.nodes[k]
                rotation, position, _, gamma = port_kinematics(node.block, ref.name, q[node.q], v[node.v], states[k].V)
                jacobian = jacobian + rate @ passes.port_jacobian(states, jacobians, q, ref.block.name, ref.name)
                bias = bias + rate @ (twist_transport(rotation, position) @ at_rest[k] + gamma)
            parts.append(Constraints(explored(loop.closure.error, *relative), jacobian, bias))
        parts += [Constraints(gear.error(q), gear.jacobian(self._nv), np.zeros(1)) for gear in self._mechanism.gear_constraints]
        if not parts:
            return Constraints(np.zeros(0), np.zeros((0, self._nv)), np.zeros(0))
        return finite_constraints(self._mechanism.assembly, *(np.concatenate(part) for part in zip(*parts, strict=True)))


class ReferenceObservations:
    """The observations of the reference engine; see `ObservationsCore` for its functions."""

    def __init__(self, passes: Passes) -> None:
        self._passes, self._mechanism, self._nv = passes, passes.mechanism, passes.nv
        self._all = np.ones(self._nv, dtype=bool)

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        return self.port_motions([port], q, v, a)[0]

    def port_motions(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[PortMotion]:
        """Return the motions of several ports."""
        passes = self._passes
        states = passes.outward_kinematics(q, v)
        passes.check_pivots(states, self._all)
        accelerations = passes.accelerations(states, a, passes.base)
        return [passes.port_motion(states, accelerations, port, q, v, a) for port in ports]

    def jacobian(self, port: str, q: Array) -> Array:
        passes, states = self._passes, self._passes.resting_states(q, self._all)
        return passes.port_jacobian(states, passes.element_jacobians(states), q, *self._mechanism.ports[port])

    def joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        passes = self._passes
        _, _, states = passes.resolve(q, v, a, np.zeros(self._nv), self._all, pushes)
        child = passes.index[joint] + 1
        state = states[child]
        return twist_transport(*passes.nodes[child].mount).T @ state.W

    def touches(self, loop: Joined, q: Array, v: Array, u: Array) -> Array:
        return interaction_loads.touch_rows(self._mechanism, loop, q, v, u)

    def passive_efforts(self, q: Array, v: Array) -> Array:
        efforts = self._passes.own_passive_efforts(q, v) + self._applied_efforts(q, v)
        for loop in (loop for loop in self._mechanism.interactions if not loop.closure.is_gravity):
            efforts = efforts + interaction_loads.interaction_efforts(self._mechanism, loop, q, v)
        return efforts

    def _applied_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) that blocks apply: see `Block.applied_efforts`."""
        passes, states = self._passes, self._passes.outward_kinematics(q, v)
        efforts = np.zeros(self._nv, np.result_type(q, v, passes.dtype))
        for node, state, jacobian in zip(passes.nodes, states, passes.element_jacobians(states), strict=True):
            if is_acted_on(node.block):
                applied = explored(node.block.applied_efforts, q[node.q], v[node.v], state.V, state.rotation, state.position)
                efforts = efforts + jacobian.T @ applied[:6]
                efforts[node.v] += applied[6:]
        return efforts

    def actuation_matrix(self, q: Array) -> Array:
        matrix = self._mechanism.inputs.matrix(self._mechanism, q)
        interaction_loads.write_input_columns(self._mechanism, self._mechanism.inputs, q, matrix)
        return matrix

    def along_line(self, line: Any, q: Array) -> tuple[Any, Array]:
        measure, gradient = line.path.measured(q)
        return measure, gradient

    def line_curvature(self, line: Any, q: Array) -> Array:
        return np.asarray(line.path.hessian(q))

    def energy(self, q: Array, v: Array) -> tuple[Any, Any, Any]:
        passes, gravity_field = self._passes, self._passes.assembly.gravity
        kinetic: Any = 0.0
        gravity: Any = 0.0
        elastic: Any = 0.0
        states = passes.outward_kinematics(q, v)
        for loop in self._mechanism.interactions:
            stored = explored(loop.closure.stored, passes.target_motion(states, loop, q, v, None))
            gravity, elastic = (gravity + stored, elastic) if loop.closure.is_gravity else (gravity, elastic + stored)
        for node, state in zip(passes.nodes[1:], states[1:], strict=True):
            x = np.concatenate([state.V, v[node.v]])
            kinetic = kinetic + 0.5 * x @ state.M @ x
            place = q[node.q], state.rotation, state.position
            gravity = gravity + explored(weight_energy, node.block, *place, gravity_field)
            elastic = elastic + explored(node.block.elastic_energy, q[node.q]) + explored(node.block.applied_energy, *place)
        for limits in passes.assembly.limits:
            elastic = elastic + explored(limits.energy, q[passes.assembly.place(limits.joint)[0]])
        return kinetic, gravity, elastic

    def momentum(self, q: Array, v: Array) -> Array:
        total = np.zeros(6, dtype=np.result_type(q, v))
        for node, state in zip(self._passes.nodes[1:], self._passes.outward_kinematics(q, v)[1:], strict=True):
            momentum = (state.M @ np.concatenate([state.V, v[node.v]]))[:6]
            total = total + twist_transport(state.rotation, state.position).T @ momentum
        return total

    def mass_center(self, q: Array) -> Array:
        mass, moment = 0.0, np.zeros(3)
        states = self._passes.outward_kinematics(q, np.zeros(self._nv))
        for node, state in zip(self._passes.nodes[1:], states[1:], strict=True):
            block_mass, first = mass_and_moment(state.M - node.block.added_inertia(q[node.q]))
            mass = mass + block_mass
            moment = moment + block_mass * state.position + state.rotation @ first
        with np.errstate(invalid="ignore", divide="ignore"):  # a system without mass has no centre
            return np.append(np.divide(moment, mass), mass)

    def regressors(self, own: bool, names: tuple[str, ...], q: Array, v: Array, a: Array) -> Array:
        asked, rows = self._mechanism.inertial.asked(own, names), []
        for state in zip(q, v, a, strict=True):
            of_bodies = {body: self._efforts_of(body, own, *state) for body, _ in asked}
            rows += [of_bodies[body][k] for body, k in asked]
        return np.array(rows, self._passes.dtype).reshape(len(q), len(asked), self._nv)

    def _efforts_of(self, body: str, own: bool, q: Array, v: Array, a: Array) -> Array:
        """Return the efforts (10 x nv) a unit of each number of a body, or of each of its `own` parameters."""
        motion, block = self.port_motion(body, q, v, a), cast(Any, self._mechanism.assembly.blocks[body])
        wrenches = wrenches_of_numbers(motion.twist, motion.acceleration)
        if own:
            wrenches = wrenches @ inertial_derivatives(block)
        return wrenches.T @ self.jacobian(body, q)

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        return closed_dynamics.multipliers(self._mechanism, q, v, a, pushes, applied)
