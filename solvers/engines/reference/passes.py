"""The reference resolver: the executable specification of titop's dynamics.

Plain NumPy over block objects, complex-safe, one elimination for every kind of block. The compiled resolver is
held equal to it by tests.

The blocks form one algebraic loop; it is solved from the leaves to the root and back. With ``B = [Ad(g)^-1  S]`` of the port to
which a child is attached, the child's subtree adds ``B^T MA B`` and ``B^T (MA gamma + pA)`` to its parent's law. Elimination in
the block itself gives ``MA = M_PP - M_Pf M_ff^-1 M_fP`` and ``pA = h_P + M_Pm a_m + M_Pf M_ff^-1 (tau_f - h_f - M_fm a_m)``.

Symbols: ``V`` twist, ``A`` spatial acceleration less gravity's, ``W`` wrench applied to a block at
its parent port; ``M``, ``h`` a block's law; ``MA``, ``pA`` what a subtree presents at its parent port,
``W = MA A + pA``; a hat is a block's law with its children's subtrees added. Index sets ``f`` (effort imposed) and
``m`` (motion imposed) split the own coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array, is_finite, mirrored, solve, twist_transport
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.contract.applied import BlockMotion, efforts_at, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import port_terms
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import motion_among
from titop.blocks.programs.branches import explored
from titop.graph.checking.tree import massless_joint
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Connection, Joined
from titop.solvers.arguments.reading import overflow
from titop.solvers.mechanism.conditioning import EliminatedPart, eliminate
from titop.solvers.mechanism.inputs import Push, acting_inputs, own_efforts, port_pushes
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.model.mechanism import Mechanism


@dataclass(frozen=True)
class Node:
    """A block in the tree, parents before children.

    `mount` is the pose of the block's parent port in the port of the parent to which it is attached.
    """

    block: Block
    parent: int
    port: str | None
    mount: tuple[Array, Array]
    q: slice
    v: slice


@dataclass
class State:
    """The quantities of a block in the passes: pose, twist, transports, law, elimination, results.

    `MA` and `pA` are those of elimination, W that of motions that are all imposed.
    """

    rotation: Array
    position: Array
    V: Array
    B: Array
    gamma: Array
    M: Array
    h: Array
    M_hat: Array = field(default_factory=lambda: np.zeros((6, 6)))
    MA: Array = field(default_factory=lambda: np.zeros((6, 6)))
    pA: Array = field(default_factory=lambda: np.zeros(6))
    A: Array = field(default_factory=lambda: np.zeros(6))
    W: Array = field(default_factory=lambda: np.zeros(6))


class Passes:
    """The passes of one elimination over the blocks of a mechanism, whose parameters may be complex (`dtype`)."""

    def __init__(self, mechanism: Mechanism, assembly: Assembly, dtype: type = float) -> None:
        self.mechanism, self.assembly, self.dtype = mechanism, assembly, dtype
        self.nv = mechanism.nv

    @cached_property
    def nodes(self) -> list[Node]:
        """The world, then every joint and body, parents first."""
        nothing = slice(0, 0)
        nodes = [Node(self.assembly.world, -1, None, (np.eye(3), np.zeros(3)), nothing, nothing)]
        index = {"world": 0}
        for connection in self.assembly.connections:
            joint, body = connection.joint, connection.child.block
            placement = (connection.placement.rotation, connection.placement.position)
            for block, parent, port, mount in (
                (joint, connection.parent.block.name, connection.parent.name, placement),
                (body, joint.name, joint.ports[0], _inverse(self._child_pose(connection))),
            ):
                q, v = self.assembly.q_slices.get(block.name, nothing), self.assembly.v_slices.get(block.name, nothing)
                index[block.name] = len(nodes)
                nodes.append(Node(block, index[parent], port, mount, q, v))
        return nodes

    @staticmethod
    def _child_pose(connection: Connection) -> tuple[Array, Array]:
        block = connection.child.block
        return block.pose(name, block.neutral()) if (name := connection.child.name) in block.ports else (np.eye(3), np.zeros(3))

    # -- the passes ----------------------------------------------------------------------------------------------------

    def outward_kinematics(self, q: Array, v: Array, base: Array | None = None) -> list[State]:
        """From the root outwards: poses, twists, transports and each block's law; `base` (6): another twist of the world."""
        states: list[State] = []
        base = np.concatenate([np.zeros(3), self.assembly.turning[:3]]) if base is None else base
        for node in self.nodes:
            if node.parent < 0:
                states.append(State(np.eye(3), np.zeros(3), base, np.zeros((6, 0)), np.zeros(6), np.zeros((6, 6)), np.zeros(6)))
                continue
            parent, up = self.nodes[node.parent], states[node.parent]
            q_p, v_p = q[parent.q], v[parent.v]
            rotation, position, subspace, gamma = port_kinematics(parent.block, node.port, q_p, v_p, up.V)
            onto = twist_transport(*node.mount)
            to_port = twist_transport(rotation, position)
            twist = onto @ (to_port @ up.V + subspace @ v_p)
            states.append(
                State(
                    rotation=up.rotation @ rotation @ node.mount[0],
                    position=up.position + up.rotation @ (position + rotation @ node.mount[1]),
                    V=twist,
                    B=onto @ np.hstack([to_port, subspace]),
                    gamma=onto @ gamma,
                    M=np.array(explored(node.block.mass_matrix, q[node.q])),  # a copy: the block may return it again
                    h=explored(node.block.gyroscopic, q[node.q], v[node.v], twist),
                )
            )
        return states

    def add_external_wrenches(self, states: list[State], q: Array, pushes: Iterable[Push], loads: bool = True) -> None:
        """Subtract loads and pushes from the laws of the blocks on which they act."""
        for load in self.assembly.loads if loads else ():
            rotation = self.port_pose(states, q, load.target.block.name, load.target.name)[0]
            self._subtract(states, q, load.target.block.name, load.target.name, explored(load.wrench, rotation))
        for port, inertial, wrench in port_pushes(pushes):
            block, name = self.mechanism.ports[port]
            if inertial:
                back = self.port_pose(states, q, block, name)[0].T
                wrench = np.concatenate([back @ wrench[:3], back @ wrench[3:]])
            self._subtract(states, q, block, name, wrench)

    def add_surroundings(self, states: list[State], q: Array, v: Array, all_of_them: bool = True) -> None:
        """Subtract applied efforts from the blocks' laws; unless `all_of_them`, only gravity on weight that is not inertia."""
        for node, state in zip(self.nodes, states, strict=True):
            if is_acted_on(node.block):
                at = BlockMotion(q[node.q], v[node.v], state.V, state.rotation, state.position)
                state.h = state.h - explored(efforts_at, node.block, at, self.assembly.gravity, all_of_them)

    def add_interactions(
        self, states: list[State], q: Array, v: Array, inputs: Mapping[str, Array], all_of_them: bool = True
    ) -> Array:
        """Subtract the interactions' wrenches from the laws of the blocks on which they act; return their efforts (nv).

        Unless `all_of_them`, only those of a field of gravity.
        """
        total: Array = np.zeros(self.nv)
        for loop in (loop for loop in self.mechanism.interactions if all_of_them or loop.closure.is_gravity):
            motion = self.target_motion(states, loop, q, v, inputs.get(loop.closure.name))
            wrenches, efforts = explored(loop.closure.act, motion)
            for ref, wrench in zip(loop.ports, wrenches, strict=True):
                self._subtract(states, q, ref.block.name, ref.name, wrench)
            total = total.astype(np.result_type(total, efforts))
            for name, effort in zip(loop.coordinates, efforts, strict=True):
                total[self.assembly.place(name)[1]] += effort
        return total

    def target_motion(self, states: list[State], loop: Joined, q: Array, v: Array, u: Array | None) -> TargetMotion:
        poses = [self.port_pose(states, q, ref.block.name, ref.name) for ref in loop.ports]
        twists = [self.port_twist(states, q, v, ref.block.name, ref.name) for ref in loop.ports]
        places = [self.assembly.place(name) for name in loop.coordinates]
        own_q, own_v = q[[at for at, _ in places]], v[[at for _, at in places]]
        inputs, stated = loop.closure.inputs_and_states(u)
        return motion_among(poses, twists, own_q, own_v, inputs, self.mechanism.scale.reach, stated)

    def _subtract(self, states: list[State], q: Array, block: str, port: str | None, wrench: Array) -> None:
        k = self.index[block]
        node = self.nodes[k]
        rotation, position, subspace, _ = port_kinematics(node.block, port, q[node.q], np.zeros(node.block.nv), np.zeros(6))
        states[k].h = states[k].h - np.hstack([twist_transport(rotation, position), subspace]).T @ wrench

    def inward_elimination(
        self, states: list[State], v: Array, a: Array, effort: Array, imposed: Array
    ) -> list[tuple[Array, Array]]:
        """From the leaves inwards: every subtree becomes ``W = MA A + pA`` at its parent port."""
        hats = [(state.M.astype(effort.dtype), state.h.astype(effort.dtype)) for state in states]
        for k in range(len(states) - 1, 0, -1):
            node, state = self.nodes[k], states[k]
            M, h = hats[k]
            state.M_hat = M
            f, m = _split(imposed[node.v])
            state.MA, state.pA = M[:6, :6], h[:6] + M[:6, m] @ a[node.v][m - 6]
            if f.size:
                free = effort[node.v][f - 6] - h[f] - M[np.ix_(f, m)] @ a[node.v][m - 6]
                state.MA = mirrored(state.MA - M[:6, f] @ self._solve(M, f, M[f, :6]))
                state.pA = state.pA + M[:6, f] @ self._solve(M, f, free)
            M_parent, h_parent = hats[node.parent]
            if node.parent:
                M_parent += mirrored(state.B.T @ state.MA @ state.B)
                h_parent += state.B.T @ (state.MA @ state.gamma + state.pA)
        return hats

    def outward_accelerations(
        self, states: list[State], hats: list[tuple[Array, Array]], a: Array, effort: Array, imposed: Array, base: Array
    ) -> None:
        """From the root outwards: free accelerations into `a`, other efforts into `effort`; `base`: A of the world."""
        states[0].A = base
        for k in range(1, len(states)):
            node, state = self.nodes[k], states[k]
            parent = self.nodes[node.parent]
            state.A = state.B @ np.concatenate([states[node.parent].A, a[parent.v]]) + state.gamma
            M, h = hats[k]
            f, m = _split(imposed[node.v])
            along = a[node.v]
            if f.size:
                along[f - 6] = self._solve(
                    M, f, effort[node.v][f - 6] - h[f] - M[np.ix_(f, m)] @ along[m - 6] - M[f, :6] @ state.A
                )
            effort[node.v][m - 6] = M[m, :6] @ state.A + M[m, 6:] @ along + h[m]

    def balance(self, states: list[State], a: Array, effort: Array, base: Array) -> None:
        """Write the efforts of motions that are all imposed into `effort`: wrenches alone are passed inwards."""
        for node, state, A in zip(self.nodes, states, self.accelerations(states, a, base), strict=True):
            state.A = A
            needed = state.M @ np.concatenate([A, a[node.v]]) + state.h
            state.W, effort[node.v] = needed[:6], needed[6:]
        for node, state in zip(self.nodes[:0:-1], states[:0:-1], strict=True):
            carried = state.B.T @ state.W
            states[node.parent].W = states[node.parent].W + carried[:6]
            at = self.nodes[node.parent].v
            effort[at] = effort[at] + carried[6:]

    @staticmethod
    def _solve(M: Array, f: Array, right: Array) -> Array:
        """Return ``M_ff^-1 right``."""
        return solve(M[np.ix_(f, f)], right)

    def check_pivots(self, states: list[State], imposed: Array) -> None:
        """Refuse a state at which a free coordinate moves no inertia."""
        if not all(is_finite(state.M) and is_finite(state.B) for state in states):
            raise ModelError(overflow(self.assembly))
        if imposed.all() or any(object in (state.M.dtype, state.B.dtype) for state in states):
            return
        lost = eliminate(self.parts(states), imposed).ratios <= CANCELLED
        if lost.any():
            joint = next(node.block.name for node in reversed(self.nodes) if lost[node.v].any())
            raise ModelError(massless_joint(joint, "no inertia at this configuration"))

    def parts(self, states: list[State]) -> list[EliminatedPart]:
        """Return the parts of elimination with their rounding errors at a state."""
        inertias = [np.real(state.M).astype(float) for state in states]
        return [
            EliminatedPart(node.parent, node.v, M, np.zeros(M.shape), np.real(state.B))
            for node, state, M in zip(self.nodes, states, inertias, strict=True)
        ]

    def resolve(
        self, q: Array, v: Array, a: Array, tau: Array, imposed: Array, pushes: Sequence[Push], bare: bool = False
    ) -> tuple[Array, Array, list[State]]:
        """Return accelerations, applied efforts and the states of all blocks, for any causality.

        `bare` leaves passive efforts and loads out.
        """
        driven, inputs = own_efforts(pushes, q, self.nv), acting_inputs(pushes)
        loads = (*(push.wrench for push in port_pushes(pushes)), *inputs.values())
        dtype = np.result_type(self.dtype, q, v, a, tau, driven, *loads)
        passive = np.zeros(self.nv) if bare else self.own_passive_efforts(q, v)
        states = self.outward_kinematics(q, v)
        self.add_external_wrenches(states, q, pushes, loads=not bare)
        self.add_surroundings(states, q, v, all_of_them=not bare)
        passive = passive + driven + self.add_interactions(states, q, v, inputs, all_of_them=not bare)
        a, effort = a.astype(dtype), (tau + passive).astype(dtype)
        self.check_pivots(states, imposed)
        self.complete(states, v, a, effort, imposed, self.base)
        return a, effort - passive, states

    @property
    def base(self) -> Array:
        """The acceleration (6) of the world, less gravity's."""
        return np.concatenate([-self.assembly.gravity, self.assembly.turning[3:]])

    def complete(self, states: list[State], v: Array, a: Array, effort: Array, imposed: Array, base: Array) -> None:
        """Write free accelerations into `a`, and efforts of imposed motions into `effort`."""
        if imposed.all():
            self.balance(states, a, effort, base)
        else:
            hats = self.inward_elimination(states, v, a, effort, imposed)
            self.outward_accelerations(states, hats, a, effort, imposed, base)
        if not (is_finite(a) and is_finite(effort)):
            raise ModelError(overflow(self.assembly))

    def resting_states(self, q: Array, imposed: Array) -> list[State]:
        """Return the states of all blocks at rest, with inertia only, in a world at rest."""
        states = self.outward_kinematics(q, np.zeros(self.nv), np.zeros(6))
        self.check_pivots(states, imposed)
        return states

    def own_passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) of the blocks' own springs, dampers, stops and elasticity."""
        efforts = np.zeros(self.nv, np.result_type(q, v, self.dtype))
        for node in self.nodes[1:]:
            if node.block.nv:
                efforts[node.v] = explored(node.block.passive_efforts, q[node.q], v[node.v])
        for limits in self.assembly.limits:
            in_q, in_v = self.assembly.place(limits.joint)
            efforts[in_v] += explored(limits.effort, q[in_q], v[in_v])
        return efforts

    # -- blocks and their ports ------------------------------------------------------------------------------------------

    def element_jacobians(self, states: list[State]) -> list[Array]:
        """Return the Jacobians (6 x nv) of all blocks' twists."""
        jacobians = [np.zeros((6, self.nv))]
        for node, state in zip(self.nodes[1:], states[1:], strict=True):
            jacobian = state.B[:, :6] @ jacobians[node.parent]
            jacobian[:, self.nodes[node.parent].v] = jacobian[:, self.nodes[node.parent].v] + state.B[:, 6:]
            jacobians.append(jacobian)
        return jacobians

    def accelerations(self, states: list[State], a: Array, base: Array) -> list[Array]:
        """Return the accelerations of all blocks, that of the world given as `base`."""
        accelerations = [base]
        for node, state in zip(self.nodes[1:], states[1:], strict=True):
            of_parent = np.concatenate([accelerations[node.parent], a[self.nodes[node.parent].v]])
            accelerations.append(state.B @ of_parent + state.gamma)
        return accelerations

    def port_motion(
        self, states: list[State], accelerations: list[Array], port: str, q: Array, v: Array, a: Array
    ) -> PortMotion:
        block, name = self.mechanism.ports[port]
        k = self.index[block]
        node, state = self.nodes[k], states[k]
        rotation, position, subspace, gamma = port_kinematics(node.block, name, q[node.q], v[node.v], state.V)
        onto = np.hstack([twist_transport(rotation, position), subspace])
        return PortMotion(
            state.rotation @ rotation,
            state.position + state.rotation @ position,
            onto @ np.concatenate([state.V, v[node.v]]),
            onto @ np.concatenate([accelerations[k], a[node.v]]) + gamma,
        )

    def port_jacobian(self, states: list[State], jacobians: list[Array], q: Array, block: str, port: str | None) -> Array:
        """Return the Jacobian (6 x nv) of a port's twist from those of all blocks."""
        node, k = self.nodes[self.index[block]], self.index[block]
        rotation, position, subspace, _ = port_kinematics(node.block, port, q[node.q], np.zeros(node.block.nv), np.zeros(6))
        jacobian = twist_transport(rotation, position) @ jacobians[k]
        jacobian[:, node.v] = jacobian[:, node.v] + subspace
        return jacobian

    def port_pose(self, states: list[State], q: Array, block: str, port: str | None) -> tuple[Array, Array]:
        node, state = self.nodes[self.index[block]], states[self.index[block]]
        rotation, position, *_ = port_kinematics(node.block, port, q[node.q], np.zeros(node.block.nv), np.zeros(6))
        return state.rotation @ rotation, state.position + state.rotation @ position

    def port_twist(self, states: list[State], q: Array, v: Array, block: str, port: str | None) -> Array:
        node, state = self.nodes[self.index[block]], states[self.index[block]]
        rotation, position, subspace, _ = port_kinematics(node.block, port, q[node.q], v[node.v], state.V)
        return twist_transport(rotation, position) @ state.V + subspace @ v[node.v]

    @cached_property
    def index(self) -> dict[str, int]:
        return {node.block.name: k for k, node in enumerate(self.nodes)}


def port_kinematics(block: Block, port: str | None, q: Array, v: Array, twist: Array) -> tuple[Array, Array, Array, Array]:
    """Return rotation, position, motion subspace and acceleration bias of a port in its block's parent port."""
    if port not in block.ports:
        return np.eye(3), np.zeros(3), np.zeros((6, block.nv)), np.zeros(6)
    if not block.nv:
        return *explored(block.pose, port, q), np.zeros((6, 0)), np.zeros(6)
    return explored(port_terms, block, port, q, v, twist)


def _split(imposed: Array) -> tuple[Array, Array]:
    return 6 + np.flatnonzero(~imposed), 6 + np.flatnonzero(imposed)


def _inverse(pose: tuple[Array, Array]) -> tuple[Array, Array]:
    rotation, position = pose
    return rotation.T, -rotation.T @ position
