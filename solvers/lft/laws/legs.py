"""Legs: the way from a block's parent port to one of its child ports, in steps, with the own coordinates that act at its end.

Joints that split into elementary ones have one leg for each of these, so that each angle has its own step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp
from titop.blocks.contract.block_law import current_form
from titop.blocks.joints.joint import Joint, is_elementary, unit_vector
from titop.graph.network.connections import Connection
from titop.solvers.lft.fractions.loops import Affine, Loop, Signal, zeros
from titop.solvers.lft.fractions.steps import Rotate, Shift, Step, Turn, carried_back
from titop.solvers.lft.laws.changed_blocks import ChangedBlock
from titop.solvers.lft.laws.laws import Change, Rest
from titop.solvers.lft.laws.moved_ports import moved_port, moving_names
from titop.solvers.lft.laws.own_coordinates import OwnCoordinates, refuse_moving_port
from titop.solvers.lft.laws.own_motions import Own, OwnMotion
from titop.solvers.lft.laws.rotations import rotation_steps
from titop.solvers.lft.uncertainty.uncertain import Uncertainty


class Leg(NamedTuple):
    """Steps, then own coordinates."""

    steps: tuple[Step, ...]
    own: OwnMotion | None = None

    def rest(self, constants: Loop, rest: Rest, v: Signal, a: Array) -> Rest:
        """Return the motion at the end at the operating point; `v` and `a` those of all own coordinates of the block."""
        before = rest.moved(constants, self.steps)
        return before if self.own is None else self.own.rest(constants, before, v, a)

    def change(self, loop: Loop, constants: Loop, start: Rest, change: Change, v: Signal, a: Array) -> Change:
        """Return the small changes at the end."""
        before = change.moved(loop, self.steps)
        if self.own is None:
            return before
        return self.own.change(loop, constants, start.moved(constants, self.steps), before, v, a)

    def rest_back(self, constants: Loop, wrench: Signal, n: int) -> tuple[Signal, Signal]:
        """Return wrench (6) about the start and efforts (n) of a wrench about the end, at the operating point."""
        efforts = zeros(n) if self.own is None else self.own.efforts(constants, wrench, n)
        return carried_back(constants, self.steps, wrench), efforts

    def change_back(
        self, loop: Loop, constants: Loop, wrench_0: Signal, wrench: Signal, change: Change, n: int
    ) -> tuple[Signal, Signal]:
        """Return the changes of wrench and efforts; `wrench_0` acts at the operating point."""
        if self.own is None:
            return carried_back(loop, self.steps, wrench), zeros(n)
        wrench, efforts = self.own.back(loop, constants, wrench_0, wrench, change.q)
        return carried_back(loop, self.steps, wrench), efforts


def position_names(path: str) -> list[str]:
    """Return the names of a position's components."""
    return [f"{path}.position.{axis}" for axis in "xyz"]


def mount_steps(connection: Connection, joint: bool, uncertainty: Uncertainty) -> tuple[Step, ...]:
    """Return the steps from the port on which a joint or a body hangs to its reference frame."""
    if joint:
        path, pose = f"{connection.joint.name}.placement", connection.placement
        shift = Shift(uncertainty.vector(position_names(path), pose.position))
        return shift, *rotation_steps(path, pose.rotation, uncertainty)
    block, port = connection.child.block, connection.child.name
    if port not in block.ports:
        return ()
    rotation, position = block.pose(port, block.neutral())
    own = uncertainty.vector(position_names(f"{block.name}.{port}"), position)
    back = Shift(Affine(-own.value, tuple((delta, -slope) for delta, slope in own.slopes)))
    return *rotation_steps(f"{block.name}.{port}", rotation, uncertainty, inverse=True), back


def legs_of(changing: ChangedBlock, port: str | None, q: Array, v: Array, a: Array, names: Mapping[int, str]) -> list[Leg]:
    """Return the legs from a block's parent port to a child port.

    Parameters
    ----------
    changing : ChangedBlock
        The block, with all its uncertain parameters.
    port : str or None
    q, v, a : arrays
        Own coordinates, rates and accelerations.
    names : mapping of int to str
        Names of the own coordinates.
    """
    block, uncertainty = changing.block, changing.uncertainty
    if port not in block.ports:
        return []
    moving = moving_names(changing, port, q)
    elementary = is_elementary(block) and all(link.kind in ("axial", "weld") for link in block.chain)  # type: ignore[attr-defined]
    if elementary and not moving:
        return _links(block, q, names, uncertainty)  # type: ignore[arg-type]
    refuse_moving_port(block, port, q, OwnCoordinates.of([*names.values()], uncertainty))
    rotation, position = block.pose(port, q)
    moved = uncertainty.vector(position_names(f"{block.name}.{port}"), position)
    shift = Shift(moved._replace(value=position))  # with what own coordinates do there
    if not block.nv:
        return [Leg((shift, *rotation_steps(f"{block.name}.{port}", rotation, uncertainty)))]
    if moving:
        steps, motion = moved_port(changing, moving, port, q, v, a, shift)
        return [Leg(steps, motion)]
    subspace, rate = block.motion_subspace(port, q), block.subspace_rate(port, q, v)
    bends, by_q, by_v = current_form(block, "subspace_slopes")(port, q, v)
    return [Leg((shift, Rotate(rotation)), Own(np.arange(block.nv), subspace, bends, rate, by_q, by_v))]


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
