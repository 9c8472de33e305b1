"""What a parameter changes of the law of one block, and of the place of what is attached to its ports.

A port at g moves to ``g exp(eta)``. Along the own coordinates the displacement eta changes by ``dS + ad(eta) S``, where dS is
the change of the port's motion subspace S; in the course of the motion by that times v.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, twist_cross
from titop.blocks.contract import applied
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.blocks.joints.joint import is_elementary
from titop.graph.network.assembly import Assembly
from titop.solvers.mechanism.movable_ports import Place
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.sensitivities.effect import Effect, Move
from titop.solvers.sensitivities.state import State
from titop.solvers.sensitivities.stepped import Stepped

_AT_REST = PortMotion(np.eye(3), np.zeros(3), np.zeros(6), np.zeros(6))


@dataclass(frozen=True)
class ChangedLaw:
    """A body or a joint whose law changes."""

    name: str

    def of(self, stepped: Stepped) -> Block:
        """Return the block."""
        return stepped.block if stepped.block.name == self.name else stepped.assembly.blocks[self.name]

    def parts(self, block: Block, state: State) -> list[Array]:
        """Return the block's part (6 + n) of inverse dynamics at a state."""
        return [_force(block, state, state.model.assembly.gravity)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the parts do to an effect."""
        force, (_, own) = changes[0], state.own(self.name)
        if force[:6].any():
            effect.efforts += state.parent_jacobian(self.name).T @ force[:6]
        effect.efforts[own] += force[6:]


@dataclass(frozen=True)
class ChangedPorts:
    """A body or a joint whose ports stand elsewhere.

    Attributes
    ----------
    name : str
    ports : tuple of str
        Those to which something is attached.
    """

    name: str
    ports: tuple[str, ...]

    def of(self, stepped: Stepped) -> Block:
        """Return the block."""
        return stepped.block

    def parts(self, block: Block, state: State) -> list[Array]:
        """Return of each port pose, S, and ``dS/dt v``."""
        return [part for port in self.ports for part in _at_port(block, port, state)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the parts do to an effect."""
        block = state.model.assembly.blocks[self.name]
        for k, port in enumerate(self.ports):
            effect.moves += _moves(block, port, state, *changes[3 * k : 3 * k + 3])


def _force(block: Block, state: State, gravity: Array) -> Array:
    in_q, in_v = state.own(block.name)
    q, v = state.q[in_q], state.v[in_v]
    if is_elementary(block):  # without mass: all it does is between its coordinates
        rotation, position, twist, acceleration = _AT_REST
    else:
        rotation, position, twist, acceleration = state.parent_port(block.name)
    force = block.mass_matrix(q) @ np.concatenate([acceleration, state.a[in_v]]) + block.gyroscopic(q, v, twist)
    if block.nv:
        force = force - np.concatenate([np.zeros(6), block.passive_efforts(q, v)])
    if applied.is_acted_on(block):
        force = force - applied.efforts_at(block, applied.Place(q, v, twist, rotation, position), gravity)
    return force


def _at_port(block: Block, port: str, state: State) -> tuple[Array, Array, Array]:
    in_q, in_v = state.own(block.name)
    rotation, position, S = current_form(block, "pose_and_subspace")(port, state.q[in_q])
    return np.vstack([rotation, position]), S, block.subspace_rate(port, state.q[in_q], state.v[in_v])


def _moves(block: Block, port: str, state: State, pose: Array, subspace: Array, rate: Array) -> list[Move]:
    """Return how what is attached to a port moves where the port's pose, S and ``dS/dt v`` change: also what it hangs by."""
    _, own = state.own(block.name)
    v, a = state.v[own], state.a[own]
    now, S, bent = _at_port(block, port, state)
    eta = _displacement_of(now, pose)
    by_own = subspace + twist_cross(eta) @ S
    faster = by_own @ v
    turning = rate + twist_cross(faster) @ S @ v + twist_cross(eta) @ bent
    move = Move(Place(block.name, port), eta, faster, turning + by_own @ a, own, by_own)
    if not any(part.any() for part in (eta, by_own, move.acceleration)):
        return []
    return [move, *_hanging_back(block, port, state, eta)]


def _hanging_back(block: Block, port: str, state: State, eta: Array) -> list[Move]:
    """Return how a body moves where it hangs, if it does so by this port: back."""
    hanging = state.model.assembly.hung.get(block.name)
    return [] if hanging is None or hanging.child.name != port else [Move.still(Place(block.name, None), -eta)]


def _displacement_of(pose: Array, change: Array) -> Array:
    """Return the small twist (6) of a frame whose pose, rotation above position (4 x 3), changes."""
    back = pose[:3].T
    spin = back @ change[:3]
    return np.array([*(back @ change[3]), spin[2, 1], spin[0, 2], spin[1, 0]])


@dataclass(frozen=True)
class ChangedPlacement:
    """A joint that stands elsewhere."""

    joint: str

    def of(self, stepped: Stepped) -> Pose:
        """Return the pose of the joint in its parent's port."""
        return stepped.assembly.joined_by[self.joint].placement

    def parts(self, placement: Pose, state: State) -> list[Array]:
        """Return the pose as a matrix."""
        return [_matrix(placement)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the parts do to an effect."""
        eta = _displacement_of(_matrix(state.model.assembly.joined_by[self.joint].placement), changes[0])
        effect.moves.append(Move.still(Place(self.joint, None), eta))


def _matrix(pose: Pose) -> Array:
    return np.vstack([pose.rotation, pose.position])


def attached_ports(assembly: Assembly, block: Block, pushed: Collection[str]) -> tuple[str, ...]:
    """Return the ports of a block to which something is attached, or which are among those `pushed`, by their whole names."""
    if block.name in assembly.joined_by:
        return block.ports
    names = {port: f"{block.name}.{port}" for port in block.ports}
    return tuple(port for port, name in names.items() if name in assembly.attached or name in pushed)
