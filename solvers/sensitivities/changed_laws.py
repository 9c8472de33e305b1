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
from titop.blocks.joints.joint import CHILD_PORT, is_elementary
from titop.graph.network.assembly import Assembly
from titop.solvers.mechanism.movable_ports import Place
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.sensitivities.effect import Effect, Move
from titop.solvers.sensitivities.state import State

_AT_REST = PortMotion(np.eye(3), np.zeros(3), np.zeros(6), np.zeros(6))


@dataclass(frozen=True)
class ChangedLaw:
    """A body or a joint whose law changes."""

    name: str

    def parts(self, assembly: Assembly, state: State) -> list[Array]:
        """Return the block's part (6 + n) of inverse dynamics at a state."""
        return [_force(assembly.blocks[self.name], state, assembly.gravity)]

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

    def parts(self, assembly: Assembly, state: State) -> list[Array]:
        """Return of each port pose, S, and ``dS/dt v``."""
        block = assembly.blocks[self.name]
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
    rotation, position, S = block.pose_and_subspace(port, state.q[in_q])
    return np.vstack([rotation, position]), S, block.subspace_rate(port, state.q[in_q], state.v[in_v])


def _moves(block: Block, port: str, state: State, pose: Array, subspace: Array, rate: Array) -> list[Move]:
    """Return how what is attached to a port moves where the port's pose, S and ``dS/dt v`` change: also what it hangs by."""
    _, own = state.own(block.name)
    v, a = state.v[own], state.a[own]
    now, S, bent = _at_port(block, port, state)
    eta = displacement_of(now, pose)
    by_own = subspace + twist_cross(eta) @ S
    faster = by_own @ v
    turning = rate + twist_cross(faster) @ S @ v + twist_cross(eta) @ bent
    move = Move(Place(block.name, port), eta, faster, turning + by_own @ a, own, by_own)
    if not any(part.any() for part in (eta, by_own, move.acceleration)):
        return []
    return [move, *_hanging_back(block, port, state, eta)]


def _hanging_back(block: Block, port: str, state: State, eta: Array) -> list[Move]:
    """Return how a body moves in the joint by whose child port it hangs, where it hangs by this port: back."""
    hanging = next((each for each in state.model.assembly.connections if each.child.block is block), None)
    if hanging is None or hanging.child.name != port:
        return []
    return [Move(Place(hanging.joint.name, CHILD_PORT), -eta, np.zeros(6), np.zeros(6), slice(0, 0), np.zeros((6, 0)))]


def displacement_of(pose: Array, change: Array) -> Array:
    """Return the small twist (6) of a frame whose pose, rotation above position (4 x 3), changes."""
    back = pose[:3].T
    spin = back @ change[:3]
    return np.array([*(back @ change[3]), spin[2, 1], spin[0, 2], spin[1, 0]])


@dataclass(frozen=True)
class ChangedPlacement:
    """A joint that stands elsewhere."""

    joint: str

    def parts(self, assembly: Assembly, state: State) -> list[Array]:
        """Return the pose of the joint in its parent's port."""
        return [_matrix(_placement(assembly, self.joint))]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the parts do to an effect."""
        eta = displacement_of(_matrix(_placement(state.model.assembly, self.joint)), changes[0])
        effect.moves.append(Move(Place(self.joint, None), eta, np.zeros(6), np.zeros(6), slice(0, 0), np.zeros((6, 0))))


def _placement(assembly: Assembly, joint: str) -> Pose:
    return next(each.placement for each in assembly.connections if each.joint.name == joint)


def _matrix(pose: Pose) -> Array:
    return np.vstack([pose.rotation, pose.position])


def attached_ports(assembly: Assembly, block: Block, pushed: Collection[str]) -> tuple[str, ...]:
    """Return the ports of a block to which something is attached, or which are among those `pushed`, by their whole names."""
    refs = [ref for each in assembly.connections for ref in (each.parent, each.child)]
    refs += [ref for loop in assembly.loops for ref in loop.ports]
    refs += [each.target for each in (*assembly.loads, *assembly.actuators) if hasattr(each, "target")]
    used = {str(ref.name) for ref in refs if ref.block.name == block.name}
    is_joint = any(each.joint is block for each in assembly.connections)
    return tuple(port for port in block.ports if is_joint or port in used or f"{block.name}.{port}" in pushed)
