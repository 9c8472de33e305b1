"""Time derivatives of the tree's dynamics: the passes over block objects, on numbers that carry their derivatives.

Where the configuration runs through a Taylor series, every block's own functions give the series of its ports and of its law
(see `titop.blocks.basics.taylor`), and the recursion of Newton and Euler those of wrenches and efforts (key L, Algorithm 2, but
by body twists): with ``A = dV/dt - R^T g`` in the frame of each block, ``W = M A + h``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.basics.taylor import Taylor, derivatives_of, taylor_array
from titop.blocks.contract.applied import Place, efforts_at, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import motion_among
from titop.solvers.constraints.mechanism import EquationSeries, PortSeries
from titop.solvers.engines.reference.passes import Passes
from titop.solvers.mechanism.configuration_series import configuration_series
from titop.solvers.mechanism.inputs import ActingPush, OwnPush, PortPush, Push, acting_inputs, own_efforts, port_pushes


class Moving(NamedTuple):
    """How a block moves: pose of its parent port in the inertial frame, twist, acceleration less gravity's (dtype object).

    Attributes
    ----------
    onto : (6, 6 + n) array
        What takes twist and rates of the parent block to the twist.
    """

    rotation: Array
    position: Array
    V: Array
    A: Array
    onto: Array


class ReferenceSeries:
    """The series of the reference engine; see `SeriesCore` for its functions."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        order, passes = len(v_series) - 2, self._passes
        at_q, at_v = self._configurations(q, v_series), taylor_array(v_series)
        blocks, at_a = self._outward(at_q, at_v), _rates(at_v)
        pushes = [_as_numbers(push, len(v_series)) for push in pushes]
        efforts, pressing = self._acting(blocks, at_q, at_v, pushes)
        tau = np.zeros(passes.nv, dtype=object) - efforts
        for k in range(len(blocks) - 1, 0, -1):
            node, block = passes.nodes[k], blocks[k]
            own_q, own_v = at_q[node.q], at_v[node.v]
            with _asking(node.block):
                M, h = np.array(node.block.mass_matrix(own_q)), node.block.gyroscopic(own_q, own_v, block.V)
                passive = node.block.passive_efforts(own_q, own_v) if node.block.nv else np.zeros(0)
            wrench = M @ np.concatenate([block.A, at_a[node.v]]) + h - pressing[k]
            tau[node.v] = tau[node.v] + wrench[6:] - passive
            if node.parent:
                pressing[node.parent] = pressing[node.parent] - block.onto.T @ wrench[:6]
        return self._finite(derivatives_of(tau, order))

    def tree_hybrid(self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]) -> None:
        """Leave it to `titop.solvers.series.causality`, which goes order by order."""

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        order, passes = len(v_series) - 2, self._passes
        at_q, at_v = self._configurations(q, v_series), taylor_array(v_series)
        blocks = self._outward(at_q, at_v)
        efforts, pressing = self._acting(blocks, at_q, at_v, [_as_numbers(push, len(v_series)) for push in pushes])
        mass, (coriolis, gravity) = np.zeros((passes.nv, passes.nv), dtype=object), np.zeros((2, passes.nv), dtype=object)
        external = -efforts
        jacobians = [np.zeros((6, passes.nv))]
        for node, block, pressed in zip(passes.nodes[1:], blocks[1:], pressing[1:], strict=True):
            own, parent = np.eye(passes.nv)[node.v], np.eye(passes.nv)[passes.nodes[node.parent].v]
            jacobians.append(block.onto @ np.vstack([jacobians[node.parent], parent]))
            moved = np.vstack([jacobians[-1], own])  # twist and rates of the block a unit of each coordinate
            with _asking(node.block):
                M, h = (
                    np.array(node.block.mass_matrix(at_q[node.q])),
                    node.block.gyroscopic(at_q[node.q], at_v[node.v], block.V),
                )
                if node.block.nv:
                    external[node.v] = external[node.v] - node.block.passive_efforts(at_q[node.q], at_v[node.v])
            mass = mass + moved.T @ M @ moved
            turning = np.array([_rates(row) @ at_v for row in moved])
            coriolis = coriolis + moved.T @ (M @ turning + h)
            gravity = gravity - moved.T @ (M[:, :3] @ (block.rotation.T @ passes.assembly.gravity))
            external = external - moved.T @ pressed
        return EquationSeries(*(derivatives_of(part, order) for part in (mass, coriolis, gravity, external)))

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        at_q, at_v, order = self._configurations(q, v_series), taylor_array(v_series), len(v_series) - 1
        blocks, found = self._outward(at_q, at_v), []
        for block, name in (self._passes.mechanism.ports[port] for port in ports):
            k = self._passes.index[block]
            rotation, position, transport = self._at_port(blocks, at_q, block, name)
            twist = transport @ np.concatenate([blocks[k].V, at_v[self._passes.nodes[k].v]])
            found.append(PortSeries(*(derivatives_of(part, order) for part in (rotation, position, twist))))
        return found

    def _finite(self, efforts: Array) -> Array:
        """Return efforts (r + 1, nv).

        Raises
        ------
        ModelError
            Naming order and coordinate, for those that are no numbers.
        """
        if np.isfinite(efforts).all():
            return efforts
        order, entry = (int(k) for k in np.argwhere(~np.isfinite(efforts))[0])
        where, expected = (
            self._passes.assembly.coordinate_names[entry],
            f"a finite number, its derivative of order {order}",
        )
        advice = "numbers are too large for double precision, or a function has no derivatives here, as a root has none at zero"
        raise ModelError(Finding("not-finite", where, efforts[order, entry], expected, advice))

    # -- motion ------------------------------------------------------------------------------------------------------------

    def _configurations(self, q: Array, v_series: Array) -> Array:
        """Return the configuration (nq) with its derivatives, up to as many as there are rates."""
        configurations = np.empty(len(q), dtype=object)
        for node in self._passes.nodes[1:]:
            if node.block.nv:
                configurations[node.q] = configuration_series(node.block, q[node.q], v_series[:, node.v])
        return configurations

    def _outward(self, q: Array, v: Array) -> list[Moving]:
        """From the root outwards: poses, twists and accelerations."""
        passes, nothing = self._passes, np.zeros(6)
        gravity = passes.assembly.gravity
        blocks = [Moving(np.eye(3), np.zeros(3), nothing, np.concatenate([-gravity, np.zeros(3)]), np.zeros((6, 0)))]
        for node in passes.nodes[1:]:
            up, parent = blocks[node.parent], passes.nodes[node.parent]
            rotation, position, transport = _port(parent.block, node.port, q[parent.q])
            onto = twist_transport(*node.mount) @ transport
            twist = onto @ np.concatenate([up.V, v[parent.v]])
            turned = up.rotation @ rotation @ node.mount[0]
            acceleration = _rates(twist)
            acceleration[:3] = acceleration[:3] - turned.T @ gravity
            place = up.position + up.rotation @ (position + rotation @ node.mount[1])
            blocks.append(Moving(turned, place, twist, acceleration, onto))
        return blocks

    def _at_port(self, blocks: Sequence[Moving], q: Array, block: str, port: str | None) -> tuple[Array, Array, Array]:
        """Return a port's pose in the inertial frame, and what takes twist and rates of its block to its twist."""
        k = self._passes.index[block]
        node, moving = self._passes.nodes[k], blocks[k]
        rotation, position, transport = _port(node.block, port, q[node.q])
        return moving.rotation @ rotation, moving.position + moving.rotation @ position, transport

    # -- what acts ---------------------------------------------------------------------------------------------------------

    def _acting(self, blocks: Sequence[Moving], q: Array, v: Array, pushes: Sequence[Push]) -> tuple[Array, list[Array]]:
        """Return the efforts (nv) on the coordinates, and what acts on each block (6 + n), but for its own passive efforts."""
        passes = self._passes
        efforts = np.zeros(passes.nv, dtype=object) + own_efforts(pushes, q, passes.nv)
        pressing: list[Array] = [np.zeros(6 + node.block.nv, dtype=object) for node in passes.nodes]
        for node, block, pressed in zip(passes.nodes[1:], blocks[1:], pressing[1:], strict=True):
            if is_acted_on(node.block):
                with _asking(node.block):
                    pressed += efforts_at(node.block, Place(q[node.q], v[node.v], *_placed(block)), passes.assembly.gravity)
        for load in passes.assembly.loads:
            ref = load.target
            rotation, _, _ = self._at_port(blocks, q, ref.block.name, ref.name)
            self._press(pressing, q, (ref.block.name, ref.name), load.wrench(rotation))
        for name, inertial, wrench in port_pushes(pushes):
            port = passes.mechanism.ports[name]
            back = self._at_port(blocks, q, *port)[0].T
            turned = np.concatenate([back @ wrench[:3], back @ wrench[3:]]) if inertial else wrench
            self._press(pressing, q, port, turned)
        self._interact(blocks, q, v, pushes, pressing, efforts)
        for limits in passes.assembly.limits:
            in_q, in_v = passes.assembly.place(limits.joint)
            with _asking(limits):
                efforts[in_v] = efforts[in_v] + limits.effort(q[in_q], v[in_v])
        return efforts, pressing

    def _press(self, pressing: list[Array], q: Array, port: tuple[str, str | None], wrench: Array) -> None:
        k = self._passes.index[port[0]]
        node = self._passes.nodes[k]
        pressing[k] = pressing[k] + _port(node.block, port[1], q[node.q])[2].T @ wrench

    def _interact(
        self, blocks: Sequence[Moving], q: Array, v: Array, pushes: Sequence[Push], pressing: list[Array], efforts: Array
    ) -> None:
        """Add what interactions do to ports and coordinates."""
        passes, inputs = self._passes, acting_inputs(pushes)
        for loop in passes.mechanism.interactions:
            poses, twists = [], []
            for ref in loop.ports:
                rotation, position, transport = self._at_port(blocks, q, ref.block.name, ref.name)
                k = passes.index[ref.block.name]
                poses.append((rotation, position))
                twists.append(transport @ np.concatenate([blocks[k].V, v[passes.nodes[k].v]]))
            places = [passes.assembly.place(name) for name in loop.coordinates]
            own_q, own_v = q[[at for at, _ in places]], v[[at for _, at in places]]
            u = inputs.get(loop.closure.name, np.zeros(len(loop.closure.inputs)))
            with _asking(loop.closure):
                wrenches, own = loop.closure.act(motion_among(poses, twists, own_q, own_v, u))
            for ref, wrench in zip(loop.ports, wrenches, strict=True):
                self._press(pressing, q, (ref.block.name, ref.name), wrench)
            for name, effort in zip(loop.coordinates, own, strict=True):
                efforts[passes.assembly.place(name)[1]] += effort


def _port(block: Block, port: str | None, q: Array) -> tuple[Array, Array, Array]:
    """Return a port's pose in its block's parent port, and what takes twist and rates of the block to its twist."""
    if port not in block.ports:
        return np.eye(3), np.zeros(3), np.hstack([np.eye(6), np.zeros((6, block.nv))])
    with _asking(block):
        rotation, position, subspace = block.pose_and_subspace(port, q)
    return rotation, position, np.hstack([twist_transport(rotation, position), subspace])


def _rates(array: Array) -> Array:
    """Return the time derivatives of numbers, of which those without a series stand still."""
    result = np.zeros(len(array), dtype=object)
    result[:] = [each.rate if isinstance(each, Taylor) else 0.0 for each in array]
    return result


def _placed(block: Moving) -> tuple[Array, Array, Array]:
    return block.V, block.rotation, block.position


def _as_numbers(push: Push, count: int) -> Push:
    """Return a push, whose numbers are stacked with their derivatives, with numbers that carry `count` of these."""
    if isinstance(push, PortPush):
        return push._replace(wrench=_padded(push.wrench, count))
    assert isinstance(push, OwnPush | ActingPush)
    return push._replace(u=_padded(push.u, count))


def _padded(stack: Array, count: int) -> Array:
    """Return numbers that carry `count` derivatives, those that are not known as zeros."""
    return taylor_array(np.concatenate([stack, np.zeros((count - len(stack), *stack.shape[1:]))]))


@contextmanager
def _asking(block: Block) -> Iterator[None]:
    """Tell of which block a function does not take numbers with derivatives."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, NotImplementedError) as error:
        advice: Any = "write them with NumPy's functions and without float(), or leave the block out of the model"
        expected = "functions that take arrays of numbers with their time derivatives (dtype object)"
        raise ModelError(Finding("no-series", block.name, str(error), expected, advice)) from error
