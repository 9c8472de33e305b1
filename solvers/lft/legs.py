"""Legs: the way from a block's parent port to one of its child ports, in steps, with the own coordinates that act at its end.

Joints that split into elementary ones have one leg for each of these, so that each angle has its own step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, twist_cross
from titop.blocks.contract.block import Block
from titop.blocks.joints.joint import Joint, is_elementary, unit_vector
from titop.graph.network.connections import Connection
from titop.solvers.lft.laws import Change, Rest
from titop.solvers.lft.loops import Affine, Loop, Signal, zeros
from titop.solvers.lft.steps import Rotate, Shift, Step, Turn, carried_back, moved_outwards
from titop.solvers.lft.uncertain import Uncertainty

#: ``-ad(e_i)`` of each unit twist (6, 6, 6).
MOTION_CROSS = np.array([-twist_cross(unit) for unit in np.eye(6)])


class Own(NamedTuple):
    """Own coordinates at the end of a leg, n of them.

    Attributes
    ----------
    entries : (n,) int array
        Among the block's own.
    subspace : (6, n) array
        S.
    bends : (n, 6, n) array
        dS/dq.
    rate : (6,) array
        ``dS/dt v`` at the operating point, with derivatives
    by_q, by_v : (6, n) arrays
    """

    entries: Array
    subspace: Array
    bends: Array
    rate: Array
    by_q: Array
    by_v: Array


class Leg(NamedTuple):
    """Steps, then own coordinates."""

    steps: tuple[Step, ...]
    own: Own | None = None

    def rest(self, constants: Loop, rest: Rest, v: Signal, a: Array) -> Rest:
        """Return the motion at the end at the operating point; `v` and `a` those of all own coordinates of the block."""
        twist = moved_outwards(constants, self.steps, rest.twist)
        acceleration = moved_outwards(constants, self.steps, rest.acceleration)
        if self.own is None:
            return Rest(twist, acceleration)
        entries, S, _, rate, _, _ = self.own
        relative = S @ v[entries]
        twist += relative
        given = Signal((S @ a[entries] + rate)[:, None])
        turned = constants.bilinear(constants, -MOTION_CROSS, relative, twist)
        return Rest(twist, acceleration + given + turned)

    def change(self, loop: Loop, constants: Loop, start: Rest, change: Change, v: Signal, a: Array) -> Change:
        """Return the small changes at the end."""
        displacement = moved_outwards(loop, self.steps, change.displacement)
        twist = moved_outwards(loop, self.steps, change.twist)
        acceleration = moved_outwards(loop, self.steps, change.acceleration)
        if self.own is None:
            return change._replace(displacement=displacement, twist=twist, acceleration=acceleration)
        entries, S, bends, _, by_q, by_v = self.own
        dq, dv, da = change.q[entries], change.v[entries], change.a[entries]
        carried = [-twist_cross(column) for column in S.T]
        twist_0, acceleration_0 = (moved_outwards(constants, self.steps, x) for x in start)
        relative = S @ v[entries]
        bent_v = bends.transpose(1, 0, 2) @ v.padded(1)[entries, 0] if bends.any() else np.zeros((6, len(entries)))
        relative_change = S @ dv + bent_v @ dq
        displacement += S @ dq
        twist += relative_change + loop.bilinear(constants, carried, twist_0, dq)
        acceleration += S @ da + by_q @ dq + by_v @ dv + loop.bilinear(constants, carried, acceleration_0, dq)
        if bends.any():
            acceleration += (bends.transpose(1, 0, 2) @ a[entries]) @ dq
        acceleration += loop.bilinear(constants, -MOTION_CROSS, relative, twist)
        acceleration += loop.bilinear(constants, TWIST_COLUMNS, twist_0 + relative, relative_change)
        return change._replace(displacement=displacement, twist=twist, acceleration=acceleration)

    def rest_back(self, constants: Loop, wrench: Signal, n: int) -> tuple[Signal, Signal]:
        """Return wrench (6) about the start and efforts (n) of a wrench about the end, at the operating point."""
        efforts = zeros(n)
        if self.own is not None:
            efforts = np.eye(n)[:, self.own.entries] @ (self.own.subspace.T @ wrench)
        return carried_back(constants, self.steps, wrench), efforts

    def change_back(
        self, loop: Loop, constants: Loop, wrench_0: Signal, wrench: Signal, change: Change, n: int
    ) -> tuple[Signal, Signal]:
        """Return the changes of wrench and efforts; `wrench_0` acts at the operating point."""
        if self.own is None:
            return carried_back(loop, self.steps, wrench), zeros(n)
        entries, S, bends, *_ = self.own
        dq = change.q[entries]
        efforts = S.T @ wrench
        if bends.any():
            efforts += loop.bilinear(constants, [bend.T for bend in bends], wrench_0, dq)
        wrench += loop.bilinear(constants, [-twist_cross(column).T for column in S.T], wrench_0, dq)
        return carried_back(loop, self.steps, wrench), np.eye(n)[:, entries] @ efforts


#: From a twist c and a change s to ``ad(c) s = sum_i ad_i s_i``, ad_i the i-th column of ad as a matrix that acts on c.
TWIST_COLUMNS = np.array([[twist_cross(unit)[:, i] for unit in np.eye(6)] for i in range(6)]).transpose(0, 2, 1)


def position_names(path: str) -> list[str]:
    """Return the names of a position's components."""
    return [f"{path}.position.{axis}" for axis in "xyz"]


def mount_steps(connection: Connection, joint: bool, uncertainty: Uncertainty) -> tuple[Step, ...]:
    """Return the steps from the port on which a joint or a body hangs to its reference frame."""
    if joint:
        names = position_names(f"{connection.joint.name}.placement")
        return Shift(uncertainty.vector(names, connection.placement.position)), Rotate(connection.placement.rotation)
    block, port = connection.child.block, connection.child.name
    if port not in block.ports:
        return ()
    rotation, position = block.pose(port, block.neutral())
    own = uncertainty.vector(position_names(f"{block.name}.{port}"), position)
    return Rotate(rotation.T), Shift(Affine(-own.value, tuple((delta, -slope) for delta, slope in own.slopes)))


def legs_of(
    block: Block, port: str | None, q: Array, v: Array, names: Mapping[int, str], uncertainty: Uncertainty
) -> list[Leg]:
    """Return the legs from a block's parent port to a child port.

    Parameters
    ----------
    block : Block
    port : str or None
    q, v : arrays
        Own coordinates.
    names : mapping of int to str
        Names of the own coordinates.
    uncertainty : Uncertainty
    """
    if port not in block.ports:
        return []
    if is_elementary(block) and all(link.kind in ("axial", "weld") for link in block.chain):  # type: ignore[attr-defined]
        return _links(block, q, names, uncertainty)  # type: ignore[arg-type]
    for k in range(block.nv):
        if uncertainty.at(f"{names[k]}.q") or uncertainty.at(f"{names[k]}.v"):
            advice = "angles and rates of revolute and prismatic joints, and of those made of them, are rational"
            raise ModelError(Finding("not-rational", "parameters", names[k], "a coordinate of a plain joint", advice))
    rotation, position = block.pose(port, q)
    steps = Shift(uncertainty.vector(position_names(f"{block.name}.{port}"), position)), Rotate(rotation)
    if not block.nv:
        return [Leg(steps)]
    subspace, rate = block.motion_subspace(port, q), block.subspace_rate(port, q, v)
    own = Own(np.arange(block.nv), subspace, *_bent(block, port, q, v, rate))
    return [Leg(steps, own)]


def _bent(block: Block, port: str, q: Array, v: Array, rate: Array) -> tuple[Array, Array, Array, Array]:
    bends, by_q, by_v = block.subspace_slopes(port, q, v)
    return bends, rate, by_q, by_v


def _links(joint: Joint, q: Array, names: Mapping[int, str], uncertainty: Uncertainty) -> list[Leg]:
    legs = []
    for k, link in enumerate(joint.chain if joint.nv else ()):
        axis = unit_vector(getattr(joint, link.axis) if isinstance(link.axis, str) else np.array(link.axis))
        linear = getattr(joint, link.linear)[0] if isinstance(link.linear, str) else link.linear
        along = np.concatenate([linear * axis, link.angular * axis])[:, None]
        nothing = np.zeros((6, 1))
        own = Own(np.array([k]), along, np.zeros((1, 6, 1)), np.zeros(6), nothing, nothing)
        steps: tuple[Step, ...] = ()
        path = f"{names[k]}.q"
        found = uncertainty.at(path)
        if found and linear and link.angular:
            advice = "a screw's angle is not rational in its position: keep it fixed"
            raise ModelError(Finding("not-rational", "parameters", path, "a coordinate that turns or slides", advice))
        if linear:
            slopes = ((found[0].name, found[1].half * linear * axis),) if found else ()
            steps += (Shift(Affine(q[k] * linear * axis, slopes)),)
        if link.angular:
            steps += (Rotate(rotation_exp(link.angular * q[k] * axis)),)
            if found:
                turn = Turn(np.sign(link.angular) * axis, found[0].name, found[1].half)
                steps += (turn,) * (found[0].block.part // 2)
        legs.append(Leg(steps, own))
    return legs
