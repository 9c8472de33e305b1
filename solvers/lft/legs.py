"""Legs: the way from a block's parent port to one of its child ports, in steps, with the own coordinates that act at its end.

Joints that split into elementary ones have one leg for each of these, so that each angle has its own step. Rotations that are
uncertain are exact about one axis of a frame, else fitted; ports that parameters move are polynomials of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of, parts_of, split_end
from titop.blocks.basics.spatial import Array, rotation_exp, rotation_log
from titop.blocks.basics.tolerances import EXACT, SAME
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.blocks.contract.description import CoordinateScaling
from titop.blocks.joints.joint import Joint, is_elementary, unit_vector
from titop.graph.network.connections import Connection
from titop.solvers.lft.loops import LinearLoop, Signals, zeros
from titop.solvers.lft.other_values import HOLD, ChangedBlock, UncertainCoordinates
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.lft.steps import Change, FrameStep, OwnMotion, Rest, Rotate, Shift, Turn, carry_back
from titop.solvers.lft.uncertainty import Uncertainty, polynomial_of, rotation_names


class Leg(NamedTuple):
    """Steps, then own coordinates."""

    steps: tuple[FrameStep, ...]
    own: OwnMotion | None = None

    def rest(self, constants: LinearLoop, rest: Rest, v: Signals, a: Array) -> Rest:
        """Return the motion at the end at the operating point; `v` and `a` those of all own coordinates of the block."""
        before = rest.carry(constants, self.steps)
        return before if self.own is None else self.own.rest(constants, before, v, a)

    def change(self, loop: LinearLoop, constants: LinearLoop, start: Rest, change: Change, v: Signals, a: Array) -> Change:
        """Return the small changes at the end."""
        before = change.carry(loop, self.steps)
        if self.own is None:
            return before
        return self.own.change(loop, constants, start.carry(constants, self.steps), before, v, a)

    def rest_back(self, constants: LinearLoop, wrench: Signals, n: int) -> tuple[Signals, Signals]:
        """Return wrench (6) about the start and efforts (n) of a wrench about the end, at the operating point."""
        efforts = zeros(n) if self.own is None else self.own.efforts(constants, wrench, n)
        return carry_back(constants, self.steps, wrench), efforts

    def change_back(
        self, loop: LinearLoop, constants: LinearLoop, wrench_0: Signals, wrench: Signals, change: Change, n: int
    ) -> tuple[Signals, Signals]:
        """Return the changes of wrench and efforts; `wrench_0` acts at the operating point."""
        if self.own is None:
            return carry_back(loop, self.steps, wrench), zeros(n)
        wrench, efforts = self.own.back(loop, constants, wrench_0, wrench, change.q)
        return carry_back(loop, self.steps, wrench), efforts


def position_names(path: str) -> list[str]:
    """Return the names of a position's components."""
    return [f"{path}.position.{axis}" for axis in "xyz"]


def mount_steps(connection: Connection, joint: bool, uncertainty: Uncertainty) -> tuple[FrameStep, ...]:
    """Return the steps from the port on which a joint or a body hangs to its reference frame."""
    if joint:
        path, pose = f"{connection.joint.name}.placement", connection.placement
        shift = Shift(uncertainty.vector(position_names(path), pose.position))
        return shift, *rotation_steps(path, pose.rotation, uncertainty)
    block, port = connection.child.block, connection.child.name
    if port not in block.ports:
        return ()
    rotation, position = block.pose(port, block.neutral())
    place = uncertainty.vector(position_names(f"{block.name}.{port}"), position)
    back = Shift(place.transform(np.negative))
    return *rotation_steps(f"{block.name}.{port}", rotation, uncertainty, inverse=True), back


def rotation_steps(path: str, rotation: Array, uncertainty: Uncertainty, inverse: bool = False) -> tuple[FrameStep, ...]:
    """Return the steps of a rotation (3, 3) that is a parameter, its vector's components uncertain or not.

    Raises `ModelError` for rotations about more than one axis, or about a direction that changes, which are not to be fitted.
    """
    names = rotation_names(path)
    uncertain = uncertainty.reaching(names)
    if not uncertain:
        return (Rotate(Polynomial.affine(rotation.T if inverse else rotation)),)
    member = uncertainty[uncertain[0]]
    if len(uncertain) == 1 and member.part and uncertain[0] in names:
        axis = np.eye(3)[names.index(uncertain[0])] * (-1.0 if inverse else 1.0)
        turns = (Turn(axis, member.delta, member.half),) * (member.part // 2)
        return Rotate(Polynomial.affine(rotation_exp(member.middle * axis))), *turns
    vector = rotation_log(rotation)

    def matrix(values: Mapping[str, float]) -> Array:
        changed = uncertainty.values_at(values)
        turned = rotation_exp(np.array([changed.get(name, x) for name, x in zip(names, vector, strict=True)]))
        return turned.T if inverse else turned

    def name_of(delta: str) -> str:
        return next(name for name in uncertain if uncertainty[name].delta == delta)

    return (Rotate(polynomial_of(matrix, uncertainty.deltas(uncertain), uncertainty, name_of)),)


def legs_of(changing: ChangedBlock, port: str | None, q: Array, v: Array, a: Array, names: Mapping[int, str]) -> list[Leg]:
    """Return the legs from a block's parent port to a child port.

    `changing`: the block, with all its uncertain parameters; `q`, `v`, `a`: own coordinates, rates and accelerations; `names`:
    names of the own coordinates.
    """
    block, uncertainty = changing.block, changing.uncertainty
    if port not in block.ports:
        return []
    if is_elementary(block) and all(link.kind in ("axial", "weld") for link in block.chain):  # type: ignore[attr-defined]
        shaping = block.geometric_fields  # type: ignore[attr-defined]
        uncertain = uncertainty.of_parts(changing.names)
        if not any(parts_of(name)[1] in shaping for name in uncertain if owner_of(name) == block.name):
            return _links(block, q, names, uncertainty)  # type: ignore[arg-type]
    moving = moving_names(changing, port, q)
    refuse_moving_port(block, port, q, UncertainCoordinates.of([*names.values()], uncertainty))
    rotation, position = block.pose(port, q)
    moved = uncertainty.vector(position_names(f"{block.name}.{port}"), position)
    shift = Shift(moved._replace(matrices=(position, *moved.matrices[1:])))  # with what own coordinates do there
    if not block.nv:
        return [Leg((shift, *rotation_steps(f"{block.name}.{port}", rotation, uncertainty)))]
    if moving:
        steps, motion = port_motion(changing, moving, port, q, v, a, shift)
        return [Leg(steps, motion)]
    return [certain_leg(block, port, q, v)._replace(steps=(shift, Rotate(Polynomial.affine(rotation))))]


def certain_leg(block: Block, port: str, q: Array, v: Array) -> Leg:
    """Return the leg to a child port of a block with configuration q and rates v, of which nothing is uncertain."""
    rotation, position = block.pose(port, q)
    steps = Shift(Polynomial.affine(position)), Rotate(Polynomial.affine(rotation))
    if not block.nv:
        return Leg(steps)
    subspace, rate = block.motion_subspace(port, q), block.subspace_rate(port, q, v)
    bends, by_q, by_v = current_form(block, "subspace_slopes")(port, q, v)
    return Leg(steps, OwnMotion.certain(np.arange(block.nv), subspace, bends, rate, by_q, by_v))


def _links(joint: Joint, q: Array, names: Mapping[int, str], uncertainty: Uncertainty) -> list[Leg]:
    legs = []
    for k, link in enumerate(joint.chain if joint.nv else ()):
        axis = unit_vector(getattr(joint, link.axis) if isinstance(link.axis, str) else np.array(link.axis))
        linear = getattr(joint, link.linear)[0] if isinstance(link.linear, str) else link.linear
        along = np.concatenate([linear * axis, link.angular * axis])[:, None]
        nothing = np.zeros((6, 1))
        motion = OwnMotion.certain(np.array([k]), along, np.zeros((1, 6, 1)), np.zeros(6), nothing, nothing)
        steps: tuple[FrameStep, ...] = ()
        path = f"{names[k]}.q"
        member = uncertainty.at(path)
        if member and linear and link.angular:
            advice = "a screw's angle is not rational in its position: keep it fixed"
            raise ModelError(Finding("not-rational", "parameters", path, "a coordinate that turns or slides", advice))
        if linear:
            slopes = ((member.delta, member.half * linear * axis),) if member else ()
            steps += (Shift(Polynomial.affine(q[k] * linear * axis, slopes)),)
        if link.angular:
            steps += (Rotate(Polynomial.affine(rotation_exp(link.angular * q[k] * axis))),)
            if member:
                steps += (Turn(np.sign(link.angular) * axis, member.delta, member.half),) * (member.part // 2)
        legs.append(Leg(steps, motion))
    return legs


# -- ports that move ---------------------------------------------------------------------------------------------------------


class PortGeometry(NamedTuple):
    """rotation (3, 3), position (3,) in m and motion subspace (6, n) of a port."""

    rotation: Array
    position: Array
    subspace: Array

    def differs(self, other: PortGeometry, size: float, tolerance: float) -> bool:
        """Tell whether another one differs by more than a tolerance: in rad, in parts of the system's `size` (m), and of the
        largest entry of each coordinate's column."""
        lengths = np.repeat([size, 1.0], 3)[:, None]
        this, others = self.subspace / lengths, other.subspace / lengths
        beside = np.maximum(np.abs(this), np.abs(others)).max(axis=0)
        turned, moved = np.abs(other.rotation - self.rotation).max(), np.abs(other.position - self.position).max() / size
        return bool(max(turned, moved) > tolerance or (np.abs(others - this) > tolerance * beside).any())


def refuse_moving_port(block: Block, port: str, q: Array, coordinates: UncertainCoordinates) -> None:
    """Refuse coordinates and rates that move a port that is in use. Raises `ModelError` naming one."""
    before = PortGeometry(*block.pose(port, q), block.motion_subspace(port, q))
    size = coordinates.uncertainty.point.model.mechanism.scale.length
    for path, k in zip(coordinates.paths, coordinates.entries, strict=True):
        moved = q.copy()
        end = split_end(path)[1]
        if end == "q":
            moved[k] = coordinates.uncertainty[path].at(0.7)
        after = PortGeometry(*block.pose(port, moved), block.motion_subspace(port, moved))
        if end == "v" or before.differs(after, size, SAME):
            expected = f"a coordinate of a plain joint, or one that does not move {block.name}.{port}"
            raise ModelError(Finding("not-rational", "parameters", path, expected, HOLD))


def moving_names(changing: ChangedBlock, port: str, q: Array) -> list[str]:
    """Return the uncertain parameters on which the pose of a port, or what moves it, depends; of its position what moves it.

    Of blocks without own coordinates the poses of ports are parameters themselves.
    """
    if not changing.block.nv:
        return []
    names = []
    for name in changing.names:
        delta = changing.uncertainty[name].delta
        other = ChangedBlock(changing.assembly, changing.block, [name], changing.uncertainty).at({delta: 0.7})
        before, after = (_port_geometry(each, changing.block, port, q) for each in (changing.block, other))
        if ".position." in name:
            after = after._replace(rotation=before.rotation, position=before.position)
        if before.differs(after, changing.uncertainty.point.model.mechanism.scale.length, EXACT):
            names.append(name)
    return names


def port_motion(
    changing: ChangedBlock, names: list[str], port: str, q: Array, v: Array, a: Array, shift: Shift
) -> tuple[tuple[FrameStep, ...], OwnMotion]:
    """Return steps to a port and what own coordinates do there, where some parameters move it; `shift` if none moves its place.

    Raises `ModelError` for parameters in which they are no polynomials, and blocks that do not rest at the point.
    """
    if v.any() or a.any():
        expected, advice = "a block whose own coordinates rest at the point", "trim it, or keep the parameter fixed"
        raise ModelError(Finding("not-rational", "parameters", names[0], expected, advice))
    block, n = changing.block, changing.block.nv
    moving = ChangedBlock(changing.assembly, block, names, changing.uncertainty)
    places = [name for name in changing.names if name.startswith(f"{block.name}.{port}.position.") and name not in names]
    placed = ChangedBlock(changing.assembly, block, [*names, *places], changing.uncertainty)

    def polynomial(matrix: Callable[[Block, CoordinateScaling], Array], moving: ChangedBlock = moving) -> Polynomial:
        return moving.polynomial(lambda values: matrix(moving.at(values), _scales(moving.at(values), block)))

    def bends(changed: Block, scales: CoordinateScaling) -> Array:
        # by coordinate, entry of the twist, and coordinate that moves
        bent = current_form(changed, "subspace_slopes")(port, q, v)[0]
        return np.einsum("kij,j,k->ijk", bent, scales.rows, scales.columns).reshape(6 * n, n)

    rotation = polynomial(lambda changed, _: changed.pose(port, q)[0])
    position = polynomial(lambda changed, _: changed.pose(port, q)[1][:, None], placed)
    is_shift = polynomial(lambda changed, _: changed.pose(port, q)[1][:, None]).is_constant
    steps: tuple[FrameStep, ...] = (
        shift if is_shift else Shift(position.transform(lambda column: column[:, 0])),
        Rotate(rotation),
    )
    subspace = polynomial(lambda changed, scales: changed.motion_subspace(port, q) * scales.columns)
    onto = polynomial(lambda changed, scales: scales.rows[:, None] * changed.motion_subspace(port, q).T)
    return steps, OwnMotion.resting(subspace, onto, polynomial(bends))


def _scales(block: Block, middle: Block) -> CoordinateScaling:
    return block.scaling_beside(middle) or CoordinateScaling(np.ones(block.nv), np.ones(block.nv))


def _port_geometry(block: Block, middle: Block, port: str, q: Array) -> PortGeometry:
    """Return where a port is and what moves it, in scaled coordinates and by their scaled efforts."""
    scales, subspace = _scales(block, middle), block.motion_subspace(port, q)
    return PortGeometry(*block.pose(port, q), np.hstack([subspace * scales.columns, subspace * scales.rows]))
