"""Parts of a system that a parameter may change: a block's law and ports, loads, and closures.

A port at g moves to ``g exp(eta)``. The derivative of the displacement eta by the block's own coordinates is
``dS + ad(eta) S``, where dS is the change of the port's motion subspace S; its time derivative is that times v. An effort that
acts on the system reduces the efforts of inverse dynamics by the same amount.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np

from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, twist_cross
from titop.blocks.constraints.closure import MultiplierClosure, relative_pose
from titop.blocks.constraints.relation import Relation
from titop.blocks.contract import applied
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.blocks.devices.loads import Load
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint, is_elementary
from titop.blocks.surroundings.gravity_field import GravityField
from titop.graph.network.assembly import Assembly
from titop.solvers.constraints.closed_mechanism import GearConstraint
from titop.solvers.constraints.interaction_loads import interaction_efforts
from titop.solvers.mechanism.inputs import Inputs, acting_inputs
from titop.solvers.mechanism.movable_ports import MovablePlace
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.sensitivities.effects import ConstraintTurn, Effect, Move, SensitivityState, Stepped

_AT_REST = PortMotion(np.eye(3), np.zeros(3), np.zeros(6), np.zeros(6))


class ChangedPart:
    """A part of a system that changes with a parameter.

    `name`: name of the block that it belongs to.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, stepped: Stepped) -> Any:
        """Return the object of a system on which the part depends; by default the parameter's block."""
        return stepped.block

    def parts(self, part: Any, state: SensitivityState) -> list[Array]:
        """Return the part's numbers at a state, from the object that `of` returns."""
        raise NotImplementedError

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        """Add the effect of `changes`, the derivatives of these numbers."""
        raise NotImplementedError

    def _named(self, stepped: Stepped) -> Any:
        """Return the block of the part's name, which may depend on a parameter of another block."""
        return stepped.block if stepped.block.name == self.name else stepped.assembly.blocks[self.name]


# -- laws and ports --------------------------------------------------------------------------------------------------------


class ChangedLaw(ChangedPart):
    """The law of a body or a joint: its part (6 + n) of inverse dynamics."""

    def of(self, stepped: Stepped) -> Block:
        block: Block = self._named(stepped)
        return block

    def parts(self, block: Block, state: SensitivityState) -> list[Array]:
        return [_force(block, state, state.model.mechanism.assembly.gravity)]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        force, (_, rows) = changes[0], state.coordinates_of(self.name)
        if force.dtype == object or force[:6].any():  # numbers that are not known yet
            effect.efforts += state.parent_jacobian(self.name).T @ force[:6]
        effect.efforts[rows] += force[6:]


class ChangedPorts(ChangedPart):
    """The ports of a body or a joint to which something is attached: pose, motion subspace S and ``dS/dt v`` of each."""

    def __init__(self, name: str, ports: tuple[str, ...]) -> None:
        super().__init__(name)
        self.ports = ports

    def parts(self, block: Block, state: SensitivityState) -> list[Array]:
        return [part for port in self.ports for part in _at_port(block, port, state)]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        block = state.model.mechanism.assembly.blocks[self.name]
        for k, port in enumerate(self.ports):
            effect.moves += _moves(block, port, state, *changes[3 * k : 3 * k + 3])


class ChangedPlacement(ChangedPart):
    """The placement of a joint: its pose in its parent's port."""

    def of(self, stepped: Stepped) -> Pose:
        return stepped.assembly.connection_of_joint[self.name].placement

    def parts(self, placement: Pose, state: SensitivityState) -> list[Array]:
        return [_matrix(placement)]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        eta = _displacement_of(_matrix(state.model.mechanism.assembly.connection_of_joint[self.name].placement), changes[0])
        effect.moves.append(Move.still(MovablePlace(self.name, None), eta))


def _matrix(pose: Pose) -> Array:
    return np.vstack([pose.rotation, pose.position])


def _force(block: Block, state: SensitivityState, gravity: Array) -> Array:
    in_q, in_v = state.coordinates_of(block.name)
    q, v = state.q[in_q], state.v[in_v]
    if is_elementary(block):  # without mass: its law depends on its coordinates only
        rotation, position, twist, acceleration = _AT_REST
    else:
        rotation, position, twist, acceleration = state.parent_port(block.name)
    force = block.mass_matrix(q) @ np.concatenate([acceleration, state.a[in_v]]) + block.gyroscopic(q, v, twist)
    if block.nv:
        force = force - np.concatenate([np.zeros(6), block.passive_efforts(q, v)])
    if applied.is_acted_on(block):
        force = force - applied.efforts_at(block, applied.BlockMotion(q, v, twist, rotation, position), gravity)
    return force


def _at_port(block: Block, port: str, state: SensitivityState) -> tuple[Array, Array, Array]:
    in_q, in_v = state.coordinates_of(block.name)
    rotation, position, S = current_form(block, "pose_and_subspace")(port, state.q[in_q])
    return np.vstack([rotation, position]), S, block.subspace_rate(port, state.q[in_q], state.v[in_v])


def _moves(block: Block, port: str, state: SensitivityState, pose: Array, subspace: Array, rate: Array) -> list[Move]:
    """Return the moves of what is attached to a port, for changes of its pose, S and ``dS/dt v``.

    If the block itself is attached to its parent by this port, it moves back.
    """
    _, rows = state.coordinates_of(block.name)
    v, a = state.v[rows], state.a[rows]
    port_pose, S, bias = _at_port(block, port, state)
    eta = _displacement_of(port_pose, pose)
    by_rows = subspace + twist_cross(eta) @ S
    eta_rate = by_rows @ v
    by_time = rate + twist_cross(eta_rate) @ S @ v + twist_cross(eta) @ bias
    move = Move(MovablePlace(block.name, port), eta, eta_rate, by_time + by_rows @ a, rows, by_rows)
    if not any(part.dtype == object or part.any() for part in (eta, by_rows, move.acceleration)):
        return []
    return [move, *_move_back(block, port, state, eta)]


def _move_back(block: Block, port: str, state: SensitivityState, eta: Array) -> list[Move]:
    """Return the opposite move of a body, if it is attached to its parent by this port."""
    hanging = state.model.mechanism.assembly.hanging.get(block.name)
    return [] if hanging is None or hanging.child.name != port else [Move.still(MovablePlace(block.name, None), -eta)]


def _displacement_of(pose: Array, change: Array) -> Array:
    """Return the small twist (6) of a frame for a `change` of its `pose`, both as rotation above position (4 x 3)."""
    back = pose[:3].T
    spin = back @ change[:3]
    return np.array([*(back @ change[3]), spin[2, 1], spin[0, 2], spin[1, 0]])


def attached_ports(assembly: Assembly, block: Block, pushed: Collection[str]) -> tuple[str, ...]:
    """Return the ports of a block that are attached to something, or that are among those `pushed` (dotted names)."""
    if block.name in assembly.connection_of_joint:
        return block.ports
    names = {port: f"{block.name}.{port}" for port in block.ports}
    return tuple(port for port, name in names.items() if name in assembly.used_ports or name in pushed)


# -- loads -----------------------------------------------------------------------------------------------------------------


class ChangedEfforts(ChangedPart):
    """A load on the system: its efforts (nv) at a state.

    `name`: name of the block that acts; `efforts`: from the block and a `SensitivityState` to efforts.
    """

    def __init__(self, name: str, efforts: Callable[[Any, SensitivityState], Array]) -> None:
        super().__init__(name)
        self._efforts = efforts

    def parts(self, acting: Any, state: SensitivityState) -> list[Array]:
        return [self._efforts(acting, state)]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        effect.efforts -= changes[0]


def load_efforts(load: Load, state: SensitivityState) -> Array:
    """Return the efforts (nv) of a load."""
    port = str(load.target)
    return state.efforts_of(port, load.wrench(state.motion(port).rotation))


def passive_efforts(joint: Joint, state: SensitivityState) -> Array:
    """Return the efforts (nv) of spring, damper, friction and stops of a joint."""
    in_q, in_v = state.coordinates_of(joint.name)
    at_joint = joint.passive_efforts(state.q[in_q], state.v[in_v])
    efforts = np.zeros(state.model.nv, at_joint.dtype)
    efforts[in_v] = at_joint
    return efforts


def stop_efforts(limits: CoordinateLimits, state: SensitivityState) -> Array:
    """Return the efforts (nv) of stops of a coordinate of a body."""
    at_q, at_v = state.model.mechanism.assembly.place(limits.joint)
    effort = limits.effort(state.q[at_q], state.v[at_v])
    efforts = np.zeros(state.model.nv, np.result_type(np.asarray(effort), float))
    efforts[at_v] = effort
    return efforts


def _interaction_efforts(interaction: Interaction, state: SensitivityState) -> Array:
    loop = next(each for each in state.model.mechanism.interactions if each.closure.name == interaction.name)
    u = acting_inputs(state.pushes).get(interaction.name)
    return interaction_efforts(state.model.mechanism, replace(loop, closure=interaction), state.q, state.v, u)


def _driven(inputs: Inputs, state: SensitivityState) -> Array:
    return inputs.matrix(state.model, state.q) @ state.u if state.u.any() else np.zeros(state.model.nv)


class ChangedInteraction(ChangedEfforts):
    """An interaction; the parameter may belong to a block with which the interaction was made."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _interaction_efforts)

    def of(self, stepped: Stepped) -> Interaction:
        interaction: Interaction = self._named(stepped)
        return interaction


class ChangedInputs(ChangedEfforts):
    """The efforts of the inputs of actuators and blocks."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _driven)

    def of(self, stepped: Stepped) -> Inputs:
        return Inputs(stepped.assembly)


class ChangedGravity(ChangedPart):
    """Gravity along an axis of the inertial frame; its efforts are linear in the parameter."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._direction = np.eye(3)["xyz".index(name)]
        self._weighing: Any = None

    def of(self, stepped: Stepped) -> None:
        return None

    def parts(self, nothing: None, state: SensitivityState) -> list[Array]:
        return []

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        """Add the efforts that balance a unit of gravity."""
        weighing = self._weighing or state.model.mechanism.with_assembly(
            replace(state.model.mechanism.assembly, gravity=self._direction)
        )
        effect.efforts += weighing.engine.dynamics.weight(state.q)
        self._weighing = weighing


class ChangedTurning(ChangedPart):
    """The world's angular velocity and its derivative; efforts are quadratic in these."""

    def parts(self, field: GravityField, state: SensitivityState) -> list[Array]:
        return [field.turning]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        assembly, (change,) = state.model.mechanism.assembly, changes
        if (largest := np.abs(change).max()) > 0:
            step = np.abs(assembly.turning).max() / largest
            ahead, back = (
                state.model.mechanism.with_assembly(replace(assembly, turning=assembly.turning + side * step * change))
                for side in (1.0, -1.0)
            )
            efforts = (each.engine.dynamics.bare_inverse(state.q, state.v, state.a) for each in (ahead, back))
            effect.efforts += (next(efforts) - next(efforts)) / (2 * step)


# -- constraints -----------------------------------------------------------------------------------------------------------


class ChangedClosure(ChangedPart):
    """A rigid closure."""

    def parts(self, closure: MultiplierClosure, state: SensitivityState) -> list[Array]:
        """Return the derivatives of the loop's errors by both ports' twists (k x 12), and their second time derivatives (k)."""
        loop = next(each for each in state.model.mechanism.rigid_loops if each.closure.name == self.name)
        one, two = (state.motion(str(ref)) for ref in loop.ports)
        R, r = relative_pose((one.rotation, one.position), (two.rotation, two.position))
        rates = np.hstack(closure.jacobians(R, r))
        return [rates, rates @ np.concatenate([one.acceleration, two.acceleration]) + closure.bias(R, r, one.twist, two.twist)]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        rates, opening = changes
        first = 0
        for loop in state.model.mechanism.rigid_loops:
            count = len(loop.closure.constraint_names)
            if loop.closure.name == self.name:
                ports = np.vstack([state.jacobian(str(ref)) for ref in loop.ports])
                effect.turns.append(ConstraintTurn(slice(first, first + count), rates @ ports, opening))
            first += count


class ChangedGear(ChangedPart):
    """A gear."""

    def parts(self, gear: Relation, state: SensitivityState) -> list[Array]:
        """Return the gear's row (1 x nv) of the constraints' Jacobian."""
        return [GearConstraint.of(gear, state.model.mechanism.assembly).jacobian(state.model.nv)]

    def add(self, effect: Effect, state: SensitivityState, changes: list[Array]) -> None:
        names = [constraint.gear.name for constraint in state.model.mechanism.gear_constraints]
        row = len(state.model.constraint_names) - len(names) + names.index(self.name)
        effect.turns.append(ConstraintTurn(slice(row, row + 1), changes[0], changes[0] @ state.a))
