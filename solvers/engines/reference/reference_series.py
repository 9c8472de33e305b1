"""Time derivatives of the tree's dynamics, by the recursion of Newton and Euler on numbers that carry their derivatives.

Key L, Algorithm 2, but by body twists: with ``A = dV/dt - R^T g`` in the frame of each block, ``W = M A + h``.
Where the configuration runs through a Taylor series, every block's own functions give the series of its ports and of its law
(see `titop.blocks.basics.taylor`); what passes from block to block are arrays of series (`titop.blocks.basics.series_arrays`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.series_arrays import SeriesArray, crossing, derivatives, join_arrays, moving, numbers, stacked
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import taylor_array
from titop.blocks.contract.applied import BlockMotion, efforts_at, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.blocks.interactions.interaction import motion_among
from titop.graph.network.assembly import refuse_unsteady
from titop.graph.network.connections import Joined
from titop.solvers.constraints.engine_interface import EquationSeries, PortSeries
from titop.solvers.engines.reference.passes import Passes
from titop.solvers.mechanism.coordinates import configuration_series
from titop.solvers.mechanism.inputs import ActingPush, OwnPush, PortPush, Push, acting_inputs, own_efforts, port_pushes

#: An array along a motion; a plain one stands still.
Along = SeriesArray | Array


class Moving(NamedTuple):
    """The motion of a block: pose of its parent port in the inertial frame, twist, acceleration minus gravity.

    `onto` (6, 6 + n): what takes twist and rates of the parent block to the twist.
    """

    rotation: Along
    position: Along
    V: Along
    A: Along
    onto: Along


class LawSeries(NamedTuple):
    """A block's mass matrix, gyroscopic efforts (6 + n) and passive efforts (n)."""

    M: Along
    h: Along
    passive: Along


class MovingTree:
    """The blocks of a tree along a motion.

    - `q` (nq);
    - `v_series` (order + 1, nv): velocity and its derivatives;
    - `order`: the last power of the series; of accelerations and efforts it is unknown, and taken as zero;
    - `v`: rates of all coordinates (nv).
    """

    def __init__(self, passes: Passes, q: Array, v_series: Array) -> None:
        self._passes = passes
        refuse_unsteady(passes.assembly)
        self.order, self.v = len(v_series) - 1, SeriesArray.of_derivatives(v_series)
        self._q, self._v = np.empty(len(q), dtype=object), numbers(self.v)  # as functions of blocks take them
        for node in passes.nodes[1:]:
            if node.block.nv:
                self._q[node.q] = configuration_series(node.block, q[node.q], v_series[:, node.v])
        self.blocks = self._moving()

    def _moving(self) -> list[Moving]:
        """From the root outwards: poses, twists and accelerations."""
        passes, gravity = self._passes, self._passes.assembly.gravity
        turning = np.concatenate([np.zeros(3), passes.assembly.turning[:3]])
        blocks = [Moving(np.eye(3), np.zeros(3), turning, passes.base, np.zeros((6, 0)))]
        for node in passes.nodes[1:]:
            up = blocks[node.parent]
            rotation, position, transport = self._port(node.parent, node.port)
            onto = self._transport(*node.mount) @ transport
            twist = moving(onto @ join_arrays([up.V, self.v[passes.nodes[node.parent].v]], self.order), self.order)
            turned = up.rotation @ (rotation @ node.mount[0])
            acceleration = twist.rate - join_arrays([turned.T @ gravity, np.zeros(3)], self.order)
            place = up.position + up.rotation @ (position + rotation @ node.mount[1])
            blocks.append(Moving(turned, place, twist, acceleration, onto))
        return blocks

    def law(self, k: int) -> LawSeries:
        """Return the law of the k-th block."""
        node = self._passes.nodes[k]
        block, q, v = node.block, self._q[node.q], self._v[node.v]
        with asking(block):
            parts = block.mass_matrix(q), block.gyroscopic(q, v, numbers(self.blocks[k].V))
            passive = block.passive_efforts(q, v) if block.nv else np.zeros(0)
        return LawSeries(*(stacked(part, self.order) for part in (*parts, passive)))

    def at_port(self, block: str, port: str | None) -> tuple[Along, Along, Along]:
        """Return a port's pose in the inertial frame, and its twist in its own."""
        k = self._passes.index[block]
        at, (rotation, position, transport) = self.blocks[k], self._port(k, port)
        twist = transport @ join_arrays([at.V, self.v[self._passes.nodes[k].v]], self.order)
        return at.rotation @ rotation, at.position + at.rotation @ position, twist

    def _port(self, k: int, port: str | None) -> tuple[Along, Along, Along]:
        """Return a port's pose in the k-th block's parent port, and what takes twist and rates of the block to its twist."""
        node = self._passes.nodes[k]
        if port not in node.block.ports:
            return np.eye(3), np.zeros(3), np.hstack([np.eye(6), np.zeros((6, node.block.nv))])
        with asking(node.block):
            parts = current_form(node.block, "pose_and_subspace")(port, self._q[node.q])
        rotation, position, subspace = (stacked(part, self.order) for part in parts)
        return rotation, position, join_arrays([self._transport(rotation, position), subspace], self.order, axis=1)

    def _transport(self, rotation: Along, position: Along) -> Along:
        """Return what takes twists to a pose; see `titop.blocks.basics.spatial.twist_transport`."""
        back = rotation.T
        upper = join_arrays([back, -(back @ crossing(position))], self.order, axis=1)
        return join_arrays([upper, join_arrays([np.zeros((3, 3)), back], self.order, axis=1)], self.order)

    # -- what acts ---------------------------------------------------------------------------------------------------------

    def acting(self, pushes: Sequence[Push]) -> tuple[SeriesArray, list[Along]]:
        """Return the efforts (nv) on the coordinates, and what acts on each block (6 + n), but for its own passive efforts.

        Numbers of `pushes` are stacked with their derivatives.
        """
        passes, pushes = self._passes, [self._with_numbers(push) for push in pushes]
        efforts = np.zeros(passes.nv, dtype=object) + own_efforts(pushes, self._q, passes.nv)
        pressing: list[Along] = [np.zeros(6 + node.block.nv) for node in passes.nodes]
        for k, node in enumerate(passes.nodes[1:], start=1):
            if is_acted_on(node.block):
                block = self.blocks[k]
                state = self._q[node.q], self._v[node.v]
                place = BlockMotion(*state, *(numbers(part) for part in (block.V, block.rotation, block.position)))
                with asking(node.block):
                    pressing[k] = stacked(efforts_at(node.block, place, passes.assembly.gravity), self.order)
        for load in passes.assembly.loads:
            port = load.target.block.name, load.target.name
            self._press(pressing, port, load.wrench(numbers(self.at_port(*port)[0])))
        for name, inertial, wrench in port_pushes(pushes):
            port = passes.mechanism.ports[name]
            if inertial:
                back = numbers(self.at_port(*port)[0]).T
                wrench = np.concatenate([back @ wrench[:3], back @ wrench[3:]])
            self._press(pressing, port, wrench)
        self._interact(passes.mechanism.interactions, pushes, pressing, efforts)
        for limits in passes.assembly.limits:
            in_q, in_v = passes.assembly.place(limits.joint)
            with asking(limits):
                efforts[in_v] = efforts[in_v] + limits.effort(self._q[in_q], self._v[in_v])
        return moving(stacked(efforts, self.order), self.order), pressing

    def _press(self, pressing: list[Along], port: tuple[str, str | None], wrench: Array) -> None:
        """Add what a wrench on a port, of numbers with derivatives, does to its block."""
        k = self._passes.index[port[0]]
        pressing[k] = pressing[k] + self._port(k, port[1])[2].T @ stacked(wrench, self.order)

    def weighing(self) -> tuple[Along, list[Along]]:
        """Return the same of a field of gravity alone."""
        passes, loops = self._passes, self._passes.mechanism.interactions
        pressing: list[Along] = [np.zeros(6 + node.block.nv) for node in passes.nodes]
        efforts = np.zeros(passes.nv, dtype=object)
        self._interact([loop for loop in loops if loop.closure.is_gravity], (), pressing, efforts)
        return moving(stacked(efforts, self.order), self.order), pressing

    def _interact(self, loops: Iterable[Joined], pushes: Sequence[Push], pressing: list[Along], efforts: Array) -> None:
        """Add the loads of interactions on ports and coordinates."""
        assembly, mechanism, inputs = self._passes.assembly, self._passes.mechanism, acting_inputs(pushes)
        for loop in loops:
            ports = [(ref.block.name, ref.name) for ref in loop.ports]
            motions = [[numbers(part) for part in self.at_port(*port)] for port in ports]
            places = [assembly.place(name) for name in loop.coordinates]
            along = self._q[[at for at, _ in places]], self._v[[at for _, at in places]]
            u = inputs.get(loop.closure.name, np.zeros(len(loop.closure.inputs)))
            poses, twists = [(rotation, position) for rotation, position, _ in motions], [twist for *_, twist in motions]
            with asking(loop.closure):
                wrenches, on_coordinates = loop.closure.act(motion_among(poses, twists, *along, u, mechanism.scale.reach))
            for port, wrench in zip(ports, wrenches, strict=True):
                self._press(pressing, port, wrench)
            for (_, at), effort in zip(places, on_coordinates, strict=True):
                efforts[at] += effort

    def _with_numbers(self, push: Push) -> Push:
        """Return a push, whose numbers are stacked with their derivatives, with numbers that carry these."""
        if isinstance(push, PortPush):
            return push._replace(wrench=self._padded(push.wrench))
        assert isinstance(push, OwnPush | ActingPush)
        return push._replace(u=self._padded(push.u))

    def _padded(self, stack: Array) -> Array:
        """Return numbers that carry derivatives; unknown derivatives are zero."""
        return taylor_array(np.concatenate([stack, np.zeros((self.order + 1 - len(stack), *stack.shape[1:]))]))


@contextmanager
def asking(block: Block) -> Iterator[None]:
    """Name the block with a function that does not accept numbers with derivatives, in the error."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        advice: Any = "write them with NumPy's functions and without float(), or leave the block out of the model"
        expected = "functions that take arrays of numbers with their time derivatives (dtype object)"
        raise ModelError(Finding("no-series", block.name, str(error), expected, advice)) from error


class ReferenceSeries:
    """The series of the reference engine; see `SeriesCore` for its functions."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        tree = MovingTree(self._passes, q, v_series)
        efforts, pressing = tree.acting(pushes)
        accelerations, tau = tree.v.rate, -efforts
        for k in range(len(tree.blocks) - 1, 0, -1):
            node, block, (M, h, passive) = self._passes.nodes[k], tree.blocks[k], tree.law(k)
            wrench = M @ join_arrays([block.A, accelerations[node.v]], tree.order) + h - pressing[k]
            tau[node.v] = tau[node.v] + wrench[6:] - passive
            if node.parent:
                pressing[node.parent] = pressing[node.parent] - block.onto.T @ wrench[:6]
        return self._finite(derivatives(tau, tree.order - 1))

    def tree_hybrid(self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]) -> None:
        """Leave it to `titop.solvers.series.causality`, which goes order by order."""

    def shared_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push], driven: Array, actuated: Array) -> Array | None:
        """Leave it to `titop.solvers.series.causality`."""

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        tree, nv = MovingTree(self._passes, q, v_series), self._passes.nv
        efforts, pressing = tree.acting(pushes)
        mass, nothing = moving(np.zeros((nv, nv)), tree.order), moving(np.zeros(nv), tree.order)
        weight, pulled = tree.weighing()
        coriolis, gravity, external = nothing, -weight, weight - efforts
        jacobians = [moving(np.zeros((6, nv)), tree.order)]
        for k, node in enumerate(self._passes.nodes[1:], start=1):
            columns, parent = np.eye(nv)[node.v], np.eye(nv)[self._passes.nodes[node.parent].v]
            block, (M, h, passive) = tree.blocks[k], tree.law(k)
            jacobians.append(moving(block.onto @ join_arrays([jacobians[node.parent], parent], tree.order), tree.order))
            # twist and rates of the block per unit of each coordinate
            moved = moving(join_arrays([jacobians[k], columns], tree.order), tree.order)
            mass = mass + moved.T @ (M @ moved)
            drift = moved.rate @ tree.v
            if self._passes.assembly.turning.any():
                carried = block.V - jacobians[k] @ tree.v
                drift = drift + join_arrays([moving(carried, tree.order).rate, np.zeros(len(columns))], tree.order)
            coriolis = coriolis + moved.T @ (M @ drift + h)
            fall = M[:, :3] @ (block.rotation.T @ self._passes.assembly.gravity)
            gravity = gravity - moved.T @ (fall + pulled[k])
            external = external - moved.T @ (pressing[k] - pulled[k])
            external[node.v] = external[node.v] - passive
        return EquationSeries(*(derivatives(part, tree.order - 1) for part in (mass, coriolis, gravity, external)))

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        tree = MovingTree(self._passes, q, v_series)
        places = (tree.at_port(*self._passes.mechanism.ports[port]) for port in ports)
        return [PortSeries(*(derivatives(part, tree.order) for part in place)) for place in places]

    def _finite(self, efforts: Array) -> Array:
        """Return efforts (r + 1, nv). Raises `ModelError`, naming order and coordinate, for those that are no numbers."""
        if np.isfinite(efforts).all():
            return efforts
        order, entry = (int(k) for k in np.argwhere(~np.isfinite(efforts))[0])
        where, expected = (self._passes.assembly.coordinate_names[entry], f"a finite number, its derivative of order {order}")
        advice = "numbers are too large for double precision, or a function has no derivatives here, as a root has none at zero"
        raise ModelError(Finding("not-finite", where, efforts[order, entry], expected, advice))
