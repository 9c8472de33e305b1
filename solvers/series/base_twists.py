"""Twists of free bases, and wrenches on them, in inertial axes about the inertial origin, as in key L.

``V_s = Ad(g) V_b`` and ``W_b = Ad(g)^T W_s`` with g the pose of the base in the inertial frame; ``dg/dt = V_s g = g V_b``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import (
    Array,
    cross,
    matrix_quaternion,
    quaternion_conjugate,
    quaternion_matrix,
    twist_transport,
)
from titop.blocks.basics.taylor import derivatives_of, taylor_array
from titop.graph.network.connections import Connection
from titop.solvers.constraints.closed_mechanism import ClosedMechanism
from titop.solvers.mechanism.coordinates import configuration_series, integral, quaternion_series

#: The frames of twists of free bases: the base's own, as for all velocities of titop, or the inertial one.
TWISTS = ("body", "spatial")


class BaseTwists:
    """Conversion between body and spatial twists, and wrenches, of the free joints on the world.

    Raises `ModelError` if `twists` is neither "body" nor "spatial".

    `twists`: the frame in which users give and get these. With ``"body"`` nothing is converted.
    """

    def __init__(self, mechanism: ClosedMechanism, twists: str) -> None:
        if not isinstance(twists, str) or twists not in TWISTS:
            expected = '"body" or "spatial"'
            raise ModelError(Finding("unknown-twists", "twists", twists, expected, did_you_mean(str(twists), TWISTS)))
        self._assembly = mechanism.assembly
        connections = mechanism.assembly.connections if twists == "spatial" else ()
        self._bases = [each for each in connections if each.joint.quaternion.start and each.parent.block.name == "world"]

    def __bool__(self) -> bool:
        """Whether any twist is to be converted."""
        return bool(self._bases)

    def to_body(self, q: Array, v_series: Array) -> Array:
        """Return a stack (r + 1, nv) with the bases' spatial twists converted to body twists."""
        stack = v_series.copy()
        for base in self._bases:
            twist = taylor_array(v_series[:, self._columns(base)])
            body_twist = twist_transport(*_moving_pose(*self._start(base, q), twist)) @ twist
            stack[:, self._columns(base)] = derivatives_of(body_twist, len(stack) - 1)
        return stack

    def to_spatial(self, q: Array, v_series: Array) -> Array:
        """Return a stack (r + 1, nv) of body twists with the bases' twists converted to spatial twists."""
        stack = v_series.copy()
        for base in self._bases:
            twist = _adjoint(*self._poses(base, q, v_series)) @ taylor_array(v_series[:, self._columns(base)])
            stack[:, self._columns(base)] = derivatives_of(twist, len(stack) - 1)
        return stack

    def wrenches_to_body(self, q: Array, v_series: Array, efforts: Array) -> Array:
        """Return efforts (r + 1, nv) with the wrenches on bases converted to their frames; `v_series` are body twists."""
        return self._wrenches(q, v_series, efforts, _adjoint)

    def wrenches_to_spatial(self, q: Array, v_series: Array, efforts: Array) -> Array:
        """Return efforts (r + 1, nv) with the wrenches on bases converted to the inertial frame; `v_series` are body twists."""
        return self._wrenches(q, v_series, efforts, twist_transport)

    def _wrenches(self, q: Array, v_series: Array, efforts: Array, transport: Callable[[Array, Array], Array]) -> Array:
        """Return efforts with the wrenches on bases multiplied by the transpose of ``transport(*pose)``."""
        stack = efforts.copy()
        for base in self._bases:
            poses = self._poses(base, q, v_series[: len(efforts)])
            wrench = transport(*poses).T @ taylor_array(efforts[:, self._columns(base)])
            stack[:, self._columns(base)] = derivatives_of(wrench, len(stack) - 1)
        return stack

    def check_whole(self, imposed: Array) -> None:
        """Refuse `imposed` coordinates (nv, bool) that are some, but not all, of a base's: inertial axes mix them.

        Raises `ModelError`, naming the joint.
        """
        for base in self._bases:
            if imposed[self._columns(base)].any() and not imposed[self._columns(base)].all():
                expected, advice = "all six coordinates of a base, or none", 'prescribe the joint, or take twists="body"'
                raise ModelError(Finding("part-of-base", "prescribed", base.joint.name, expected, advice))

    def _columns(self, base: Connection) -> slice:
        return self._assembly.v_slices[base.joint.name]

    def _start(self, base: Connection, q: Array) -> tuple[Array, Array]:
        """Return the pose of a base in the inertial frame."""
        return _placed(base, *base.joint.pose(base.joint.ports[0], q[self._assembly.q_slices[base.joint.name]]))

    def _poses(self, base: Connection, q: Array, v_series: Array) -> tuple[Array, Array]:
        """Return the pose of a base with its derivatives; `v_series` are body twists."""
        start, twists = q[self._assembly.q_slices[base.joint.name]], v_series[:, self._columns(base)]
        return _placed(base, *base.joint.pose(base.joint.ports[0], configuration_series(base.joint, start, twists)))


def _placed(base: Connection, rotation: Array, position: Array) -> tuple[Array, Array]:
    """Return a base's pose in the inertial frame, from its pose in the joint's frame."""
    world, port, placement = base.parent.block, base.parent.name, base.placement
    rotation, position = placement.rotation @ rotation, placement.position + placement.rotation @ position
    if port not in world.ports:
        return rotation, position
    port_rotation, port_position = world.pose(port, world.neutral())
    return port_rotation @ rotation, port_position + port_rotation @ position


def _adjoint(rotation: Array, position: Array) -> Array:
    """Return ``Ad(g)`` (6 x 6)."""
    return twist_transport(rotation.T, -rotation.T @ position)


def _moving_pose(rotation: Array, position: Array, twist: Array) -> tuple[Array, Array]:
    """Return a pose with its derivatives, from its start and its twist in inertial axes about the inertial origin."""
    # the inverse rotation has minus this angular velocity in its own axes
    rotations = quaternion_matrix(quaternion_series(quaternion_conjugate(matrix_quaternion(rotation)), -twist[3:])).T
    positions = taylor_array(np.vstack([position, np.zeros((twist[0].order, 3))]))
    for _ in range(twist[0].order):  # each pass makes one more order correct
        rate = twist[:3] + cross(twist[3:], positions)
        positions = np.array([integral(start, each) for start, each in zip(position, rate, strict=True)])
    return rotations, positions
