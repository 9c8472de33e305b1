"""Twists of free bases in inertial axes about the inertial origin, as key L has them, and wrenches on them likewise.

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
from titop.solvers.constraints.mechanism import ClosedMechanism
from titop.solvers.mechanism.configuration_series import configuration_series, integral, quaternion_series

#: How twists of free bases may be given: in the base's frame, as all velocities of titop, or in the inertial one.
TWISTS = ("body", "spatial")


class BaseTwists:
    """The free joints that hang on the world.

    Parameters
    ----------
    model : ClosedMechanism
    twists : {"body", "spatial"}
        How users give and get the twists and wrenches of these.

    Raises
    ------
    ModelError
        If `twists` is neither.
    """

    def __init__(self, model: ClosedMechanism, twists: str) -> None:
        if not isinstance(twists, str) or twists not in TWISTS:
            expected = '"body" or "spatial"'
            raise ModelError(Finding("unknown-twists", "twists", twists, expected, did_you_mean(str(twists), TWISTS)))
        self._assembly = model.assembly
        connections = model.assembly.connections if twists == "spatial" else ()
        self._bases = [each for each in connections if each.joint.quaternion.start and each.parent.block.name == "world"]

    def __bool__(self) -> bool:
        """Whether anything is to be turned."""
        return bool(self._bases)

    def to_body(self, q: Array, v_series: Array) -> Array:
        """Return a stack (r + 1, nv) with the bases' twists in their own frames."""
        stack = v_series.copy()
        for base in self._bases:
            own, twist = self._assembly.v_slices[base.joint.name], taylor_array(v_series[:, self._own(base)])
            stack[:, own] = derivatives_of(twist_transport(*_carried(*self._start(base, q), twist)) @ twist, len(stack) - 1)
        return stack

    def to_spatial(self, q: Array, v_series: Array) -> Array:
        """Return a stack (r + 1, nv) of body twists with those of the bases in the inertial frame."""
        stack = v_series.copy()
        for base in self._bases:
            turned = _outwards(*self._poses(base, q, v_series)) @ taylor_array(v_series[:, self._own(base)])
            stack[:, self._own(base)] = derivatives_of(turned, len(stack) - 1)
        return stack

    def wrenches_to_body(self, q: Array, v_series: Array, efforts: Array) -> Array:
        """Return efforts (r + 1, nv) with the wrenches on bases, which move by body twists, in their frames."""
        return self._wrenches(q, v_series, efforts, _outwards)

    def wrenches_to_spatial(self, q: Array, v_series: Array, efforts: Array) -> Array:
        """Return efforts (r + 1, nv) with the wrenches on bases, which move by body twists, in the inertial frame."""
        return self._wrenches(q, v_series, efforts, twist_transport)

    def _wrenches(self, q: Array, v_series: Array, efforts: Array, turning: Callable[[Array, Array], Array]) -> Array:
        """Return efforts with the wrenches on bases turned by the transpose of what `turning` makes of their poses."""
        stack = efforts.copy()
        for base in self._bases:
            poses = self._poses(base, q, v_series[: len(efforts)])
            turned = turning(*poses).T @ taylor_array(efforts[:, self._own(base)])
            stack[:, self._own(base)] = derivatives_of(turned, len(stack) - 1)
        return stack

    def check_whole(self, imposed: Array) -> None:
        """Refuse `imposed` coordinates (nv, bool) that are some of a base's, but not all: inertial axes mix them.

        Raises
        ------
        ModelError
            Naming the joint.
        """
        for base in self._bases:
            if imposed[self._own(base)].any() and not imposed[self._own(base)].all():
                expected, advice = "all six coordinates of a base, or none", 'prescribe the joint, or take twists="body"'
                raise ModelError(Finding("part-of-base", "prescribed", base.joint.name, expected, advice))

    def _own(self, base: Connection) -> slice:
        return self._assembly.v_slices[base.joint.name]

    def _start(self, base: Connection, q: Array) -> tuple[Array, Array]:
        """Return the pose of a base in the inertial frame."""
        return _placed(base, *base.joint.pose(base.joint.ports[0], q[self._assembly.q_slices[base.joint.name]]))

    def _poses(self, base: Connection, q: Array, v_series: Array) -> tuple[Array, Array]:
        """Return the pose of a base that moves by body twists, with its derivatives."""
        own = configuration_series(base.joint, q[self._assembly.q_slices[base.joint.name]], v_series[:, self._own(base)])
        return _placed(base, *base.joint.pose(base.joint.ports[0], own))


def _placed(base: Connection, rotation: Array, position: Array) -> tuple[Array, Array]:
    """Return a pose in the joint's frame as one in the inertial frame."""
    world, port, placement = base.parent.block, base.parent.name, base.placement
    rotation, position = placement.rotation @ rotation, placement.position + placement.rotation @ position
    if port not in world.ports:
        return rotation, position
    turned, place = world.pose(port, world.neutral())
    return turned @ rotation, place + turned @ position


def _outwards(rotation: Array, position: Array) -> Array:
    """Return ``Ad(g)`` (6 x 6)."""
    return twist_transport(rotation.T, -rotation.T @ position)


def _carried(rotation: Array, position: Array, twist: Array) -> tuple[Array, Array]:
    """Return a pose that a twist in inertial axes about the inertial origin moves, with its derivatives."""
    # the inverse rotation turns against it in its own axes
    turned = quaternion_matrix(quaternion_series(quaternion_conjugate(matrix_quaternion(rotation)), -twist[3:])).T
    place = taylor_array(np.vstack([position, np.zeros((twist[0].order, 3))]))
    for _ in range(twist[0].order):  # each round is right by one order more
        rate = twist[:3] + cross(twist[3:], place)
        place = np.array([integral(start, each) for start, each in zip(position, rate, strict=True)])
    return turned, place
