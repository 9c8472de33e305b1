"""Observations of the reference engine at a state: motion of ports, energy, momentum, efforts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.bodies.inertial_numbers import NAMES, wrenches_of_numbers
from titop.blocks.contract.applied import is_acted_on, weight_energy
from titop.blocks.contract.description import mass_and_moment
from titop.graph.network.connections import Joined
from titop.solvers.constraints import closed_dynamics, interaction_loads
from titop.solvers.engines.reference.passes import Passes
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.port_motion import PortMotion


class ReferenceObservations:
    """The observations of the reference engine; see `ObservationsCore` for its functions."""

    def __init__(self, passes: Passes) -> None:
        self._passes, self._mechanism, self._nv = passes, passes.mechanism, passes.nv
        self._all = np.ones(self._nv, dtype=bool)

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        return self.port_motions([port], q, v, a)[0]

    def port_motions(self, ports: Sequence[str], q: Array, v: Array, a: Array) -> list[PortMotion]:
        """Return the motions of several ports."""
        passes, gravity = self._passes, self._passes.assembly.gravity
        states = passes.outward_kinematics(q, v)
        passes.check_pivots(states, self._all)
        accelerations = passes.accelerations(states, a, np.concatenate([-gravity, np.zeros(3)]))
        return [passes.port_motion(states, accelerations, port, q, v, a) for port in ports]

    def jacobian(self, port: str, q: Array) -> Array:
        passes, states = self._passes, self._passes.resting_states(q, self._all)
        return passes.port_jacobian(states, passes.element_jacobians(states), q, *self._mechanism.ports[port])

    def joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        passes = self._passes
        _, _, states = passes.resolve(q, v, a, np.zeros(self._nv), self._all, pushes)
        child = passes.index[joint] + 1
        state = states[child]
        return twist_transport(*passes.nodes[child].mount).T @ (state.MA @ state.A + state.pA)

    def touches(self, loop: Joined, q: Array, v: Array, u: Array) -> Array:
        return interaction_loads.touch_rows(self._mechanism, loop, q, v, u)

    def passive_efforts(self, q: Array, v: Array) -> Array:
        efforts = self._passes.own_passive_efforts(q, v) + self._applied_efforts(q, v)
        for loop in self._mechanism.interactions:
            efforts = efforts + interaction_loads.interaction_efforts(self._mechanism, loop, q, v)
        return efforts

    def _applied_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) that blocks apply: see `Block.applied_efforts`."""
        passes, states = self._passes, self._passes.outward_kinematics(q, v)
        efforts = np.zeros(self._nv, np.result_type(q, v, passes.dtype))
        for node, state, jacobian in zip(passes.nodes, states, passes.element_jacobians(states), strict=True):
            if is_acted_on(node.block):
                applied = node.block.applied_efforts(q[node.q], v[node.v], state.V, state.rotation, state.position)
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
            elastic = elastic + loop.closure.stored(passes.target_motion(states, loop, q, v, None))
        for node, state in zip(passes.nodes[1:], states[1:], strict=True):
            x = np.concatenate([state.V, v[node.v]])
            kinetic = kinetic + 0.5 * x @ state.M @ x
            place = q[node.q], state.rotation, state.position
            gravity = gravity + weight_energy(node.block, *place, gravity_field)
            elastic = elastic + node.block.elastic_energy(q[node.q]) + node.block.applied_energy(*place)
        for limits in passes.assembly.limits:
            elastic = elastic + limits.energy(q[passes.assembly.place(limits.joint)[0]])
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

    def regressors(self, bodies: tuple[str, ...], q: Array, v: Array, a: Array) -> Array:
        result = np.zeros((len(q), self._nv, len(NAMES) * len(bodies)), np.result_type(q, v, a, self._passes.dtype))
        for row, state in enumerate(zip(q, v, a, strict=True)):
            for k, body in enumerate(bodies):
                motion = self.port_motion(body, *state)
                wrenches = wrenches_of_numbers(motion.twist, motion.acceleration)
                result[row, :, len(NAMES) * k : len(NAMES) * (k + 1)] = self.jacobian(body, state[0]).T @ wrenches
        return result

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        return closed_dynamics.multipliers(self._mechanism, q, v, a, pushes, applied)
