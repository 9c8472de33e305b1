"""The passes over a tree whose numbers are uncertain: motions outwards, wrenches back, as signals of one loop.

First at the operating point (a loop of constants, whose one column is one), then of small changes about it. Accelerations are
less gravity's, as in the reference resolver, whose tree this is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.solvers.engines.reference.passes import Node, Passes
from titop.solvers.lft.block_laws import law_of
from titop.solvers.lft.legs import Leg, legs_of, mount_steps
from titop.solvers.lft.loops import LinearLoop, Signals, stack, zeros
from titop.solvers.lft.matrix_laws import UncertainLaw
from titop.solvers.lft.other_values import ChangedBlock, LawPoint, UncertainCoordinates
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.lft.steps import Change, FrameStep, Rest, carry_back, carry_vector
from titop.solvers.lft.uncertainty import Uncertainty
from titop.solvers.model.model import Model


class NominalState(NamedTuple):
    """The operating point in the middle of all ranges: model, configuration, rates and accelerations."""

    model: Model
    q: Array
    v: Array
    a: Array


class Applied(NamedTuple):
    """A wrench (6, 1), perhaps uncertain, on a port in its frame, or in inertial axes."""

    port: str
    inertial: bool
    wrench: Polynomial


class Tree:
    """The blocks of a model, each with its legs and its law.

    `applied`: wrenches at the operating point; `driven` (n, n): slopes of the efforts of blocks' own inputs, by the blocks'
    names.

    `rests`: the motion of each parent port at the operating point; `wrenches`: that each subtree needs at its parent port at
    the operating point.
    """

    def __init__(
        self, state: NominalState, applied: list[Applied], driven: Mapping[str, Array], uncertainty: Uncertainty
    ) -> None:
        self.state, self.uncertainty = state, uncertainty
        assembly = state.model.mechanism.assembly
        reference = Passes(state.model.mechanism, assembly)
        self.nodes, self.index, self.ports = reference.nodes, reference.index, state.model.mechanism.ports
        self.constants = LinearLoop()
        self.one = self.constants.columns("u", 1)
        self._legs: dict[tuple[int, str | None], list[Leg]] = {}
        self.mounts: list[tuple[FrameStep, ...]] = [()]
        for connection in assembly.connections:
            self.mounts += [mount_steps(connection, joint, uncertainty) for joint in (True, False)]
        gravity = uncertainty.vector([f"gravity.{axis}" for axis in "xyz"], assembly.gravity)
        self.gravity = gravity.column().apply(self.constants, self.one)
        rates = uncertainty.vector([f"{name}.v" for name in state.model.coordinate_names], state.v)
        self.rates = rates.column().apply(self.constants, self.one)
        self.rests = self._rest_outwards()
        states = reference.outward_kinematics(state.q, state.v)
        self.poses = [(each.rotation, each.position) for each in states]
        self.laws: list[UncertainLaw | None] = [None]
        for k, node in enumerate(self.nodes[1:], start=1):
            rest = self.rests[k]
            twist, acceleration = (signal.pad(1)[:, 0] for signal in rest[:2])
            coordinates_0 = state.q[node.q], state.v[node.v], state.a[node.v]
            slopes = driven.get(node.block.name, np.zeros((node.block.nv, node.block.nv)))
            at = LawPoint(*coordinates_0, twist, acceleration, *self.poses[k], assembly.gravity, slopes)
            coordinates = UncertainCoordinates.of(state.model.coordinate_names[node.v], uncertainty)
            spin, turned = self.constants.deltas_of(rest.twist), bool(self.constants.channels_of(rest.acceleration))
            self.laws.append(law_of(assembly, node.block, at, uncertainty, coordinates, spin, turned))
        self.applied = applied
        self.wrenches = self._rest_inwards()

    def legs(self, k: int, port: str | None) -> list[Leg]:
        """Return the legs from a node's parent port to one of its child ports."""
        if (k, port) not in self._legs:
            node, state = self.nodes[k], self.state
            names = dict(enumerate(state.model.coordinate_names[node.v]))
            coordinates_0 = state.q[node.q], state.v[node.v], state.a[node.v]
            uncertain = self.uncertainty.of_block(node.block.name)
            changing = ChangedBlock(state.model.mechanism.assembly, node.block, uncertain, self.uncertainty)
            self._legs[k, port] = legs_of(changing, port, *coordinates_0, names)
        return self._legs[k, port]

    def way(self, k: int, port: str | None) -> list[FrameStep]:
        """Return the steps from the world to a port of a node."""
        steps = [step for leg in self.legs(k, port) for step in leg.steps]
        while k > 0:
            node = self.nodes[k]
            before = [step for leg in self.legs(node.parent, node.port) for step in leg.steps]
            steps = [*before, *self.mounts[k], *steps]
            k = node.parent
        return steps

    # -- at the operating point ----------------------------------------------------------------------------------------

    def _rest_outwards(self) -> list[Rest]:
        turn, faster = np.kron([[0], [1]], self.state.model.mechanism.engine.turning.reshape(2, 1, 3)).reshape(2, 6)
        base = np.vstack([-np.eye(3), np.zeros((3, 3))]) @ self.gravity
        moving = turn[:, None] @ self.one, faster[:, None] @ self.one, np.outer(turn, turn).reshape(36, 1) @ self.one
        rests = [Rest(moving[0], base + moving[1], moving[2])]
        for k, node in enumerate(self.nodes[1:], start=1):
            parent = self.nodes[node.parent]
            rest = self.rest_at(rests[node.parent], node.parent, parent, node.port)
            rests.append(rest.carry(self.constants, self.mounts[k]))
        return rests

    def rest_at(self, rest: Rest, k: int, node: Node, port: str | None) -> Rest:
        """Return the motion at the end of a node's legs at the operating point."""
        for leg in self.legs(k, port):
            rest = leg.rest(self.constants, rest, self.rates[node.v], self.state.a[node.v])
        return rest

    def _rest_inwards(self) -> list[Signals]:
        """Return the wrench at each node's parent port, all that it carries included."""
        wrenches = [
            zeros(6) if law is None else law.at_rest(self.constants, rest)[:6]
            for law, rest in zip(self.laws, self.rests, strict=True)
        ]
        for push in self.applied:
            k, port = self.place(push.port)
            wrenches[k] += self._rest_back(k, port, -self.applied_at_rest(push))
        for k in range(len(self.nodes) - 1, 0, -1):
            node = self.nodes[k]
            if node.parent:
                carried = carry_back(self.constants, self.mounts[k], wrenches[k])
                wrenches[node.parent] += self._rest_back(node.parent, node.port, carried)
        return wrenches

    def place(self, port: str) -> tuple[int, str | None]:
        block, name = self.ports[port]
        return self.index[block], name

    def applied_at_rest(self, push: Applied) -> Signals:
        """Return an applied wrench at the operating point in the axes of its port."""
        wrench = push.wrench.apply(self.constants, self.one)
        if not push.inertial:
            return wrench
        way = self.way(*self.place(push.port))
        return stack(*(carry_vector(self.constants, way, part) for part in (wrench[:3], wrench[3:])))

    def _rest_back(self, k: int, port: str | None, wrench: Signals) -> Signals:
        for leg in reversed(self.legs(k, port)):
            wrench, _ = leg.rest_back(self.constants, wrench, self.nodes[k].block.nv)
        return wrench


class Changes:
    """Small changes of a tree's motion, and of what this needs.

    `q`, `v`, `a` (nv): of all coordinates.

    - `at`: of each node;
    - `wrenches`: at each node's parent port, that it needs with all that it carries;
    - `closing`: wrenches of rigid closures on their second ports, where these determine them;
    - `measured`: what interactions measure;
    - `carried`: at the port on which a node hangs;
    - `efforts` (nv): that the coordinates need, less passive ones.
    """

    def __init__(self, tree: Tree, loop: LinearLoop, q: Signals, v: Signals, a: Signals) -> None:
        self.tree, self.loop, self.q, self.v, self.a = tree, loop, q, v, a
        nothing = zeros(6)
        self.at = [Change(nothing, nothing, nothing, zeros(36), zeros(0), zeros(0), zeros(0))]
        for k, node in enumerate(tree.nodes[1:], start=1):
            moved = self.at_port(node.parent, node.port).carry(loop, tree.mounts[k])
            self.at.append(moved._replace(q=q[node.v], v=v[node.v], a=a[node.v]))
        self.wrenches: list[Signals] = []
        self.efforts = zeros(tree.state.model.nv)
        self.carried: dict[int, Signals] = {}
        self.closing: dict[str, Signals] = {}
        self.measured: dict[str, Signals] = {}
        self._pushed = [zeros(6) for _ in tree.nodes]

    def at_port(self, k: int, port: str | None) -> Change:
        """Return the changes at a port of a node."""
        tree, node, change, rest = self.tree, self.tree.nodes[k], self.at[k], self.tree.rests[k]
        for leg in tree.legs(k, port):
            motion_0 = tree.rates[node.v], tree.state.a[node.v]
            change = leg.change(self.loop, tree.constants, rest, change, *motion_0)
            rest = leg.rest(tree.constants, rest, *motion_0)
        return change

    def port_acceleration(self, k: int, port: str | None) -> Signals:
        """Return the change of a port's spatial acceleration (6): what is less gravity's, and gravity's as it turns."""
        tree, change = self.tree, self.at_port(k, port)
        if tree.gravity.is_zero:
            return change.acceleration
        gravity = carry_vector(tree.constants, tree.way(k, port), tree.gravity)
        turned = self.loop.bilinear(tree.constants, CROSS, gravity, change.displacement[3:])
        return stack(change.acceleration[:3] + turned, change.acceleration[3:])

    def push(self, port: str, wrench: Signals, inertial: bool = False) -> None:
        """Apply a wrench (6) to a port, in its frame or in inertial axes."""
        k, name = self.tree.place(port)
        if inertial:
            way = self.tree.way(k, name)
            wrench = stack(*(carry_vector(self.loop, way, part) for part in (wrench[:3], wrench[3:])))
        self._back(k, name, zeros(6), -wrench)

    def hold(self, push: Applied) -> None:
        """Apply what a wrench of the operating point adds when its port moves."""
        tree = self.tree
        k, name = tree.place(push.port)
        at_rest = tree.applied_at_rest(push)
        change = zeros(6)
        if push.inertial:
            turned = self.at_port(k, name).displacement[3:]
            change = self.loop.bilinear(tree.constants, TURNED, at_rest, turned)
        self._back(k, name, -at_rest, -change)

    def _back(self, k: int, port: str | None, wrench_0: Signals, wrench: Signals) -> None:
        tree, node, n = self.tree, self.tree.nodes[k], self.tree.nodes[k].block.nv
        if k == 0:
            return
        for leg in reversed(tree.legs(k, port)):
            wrench, efforts = leg.change_back(self.loop, tree.constants, wrench_0, wrench, self.at[k], n)
            wrench_0 = leg.rest_back(tree.constants, wrench_0, n)[0]
            self._add_efforts(node, efforts)
        self._pushed[k] += wrench

    def _add_efforts(self, node: Node, efforts: Signals) -> None:
        if len(efforts):
            self.efforts += np.eye(len(self.efforts))[:, node.v] @ efforts

    def inwards(self) -> None:
        """Gather all wrenches and efforts, from the leaves to the root."""
        tree = self.tree
        self.wrenches = [zeros(6) for _ in tree.nodes]
        for k in range(len(tree.nodes) - 1, 0, -1):
            node, law = tree.nodes[k], tree.laws[k]
            assert law is not None
            total = law.change(self.loop, tree.constants, tree.rests[k], self.at[k])
            self._add_efforts(node, total[6:])
            self.wrenches[k] = total[:6] + self._pushed[k]
            self.carried[k] = carry_back(self.loop, tree.mounts[k], self.wrenches[k])
            wrench_0 = carry_back(tree.constants, tree.mounts[k], tree.wrenches[k])
            self._back(node.parent, node.port, wrench_0, self.carried[k])


#: ``value x unit`` of each unit vector as a matrix that acts on the value: ``sum_i CROSS_i value s_i = value x s``.
CROSS = np.array([-skew(unit) for unit in np.eye(3)])
#: The change of a wrench of inertial direction, in its port's axes, by the port's rotation: ``part x turned``.
TURNED = np.array([np.kron(np.eye(2), -skew(unit)) for unit in np.eye(3)])
