"""Laws of blocks about an operating point, their uncertain numbers standing in them as few times as possible.

A law says which wrench at its parent port, and which efforts on its own coordinates, a block needs for its motion: of the
operating point itself (a constant of the loop of constants) and of small changes. Accelerations are less gravity's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array, twist_cross
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES
from titop.blocks.contract.applied import Place, derivatives_at, efforts_at, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.solvers.lft.fractions.interpolation import Polynomial
from titop.solvers.lft.fractions.loops import Affine, Loop, Signal, stacked, zeros
from titop.solvers.lft.fractions.steps import lever

#: ``-ad(e_i)^T`` of each unit twist (6, 6, 6).
FORCE_CROSS = np.array([-twist_cross(unit).T for unit in np.eye(6)])


class Rest(NamedTuple):
    """The motion of a block at the operating point: twist and acceleration (6) of its parent port."""

    twist: Signal
    acceleration: Signal


class Change(NamedTuple):
    """Small changes: displacement, twist and acceleration (6) of the parent port, and of own coordinates."""

    displacement: Signal
    twist: Signal
    acceleration: Signal
    q: Signal
    v: Signal
    a: Signal


class BlockLaw(Protocol):
    """What the passes ask of a block's law."""

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        """Return wrench and efforts (6 + n) at the operating point."""

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        """Return their small change."""


class RigidLaw(NamedTuple):
    """``W = D A - ad(V)^T D V`` with ``D = J^T diag(m, I) J``, J the shift to the centre of mass.

    Attributes
    ----------
    mass : Affine
        A matrix (1, 1), kg.
    com : Affine
        A vector (3), m.
    inertia : Affine
        A matrix (3, 3), kg m^2.
    """

    mass: Affine
    com: Affine
    inertia: Affine

    def inertia_times(self, loop: Loop, x: Signal) -> Signal:
        """Return ``D x`` (6)."""
        masses = Affine(self.mass.value * np.eye(3), tuple((delta, slope * np.eye(3)) for delta, slope in self.mass.slopes))
        force = loop.applied(masses, x[:3] - lever(loop, self.com, x[3:]))
        return stacked(force, loop.applied(self.inertia, x[3:]) + lever(loop, self.com, force))

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        momentum = self.inertia_times(constants, rest.twist)
        return self.inertia_times(constants, rest.acceleration) + constants.bilinear(
            constants, FORCE_CROSS, momentum, rest.twist
        )

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        total = self.inertia_times(loop, change.acceleration)
        if rest.twist.is_zero:
            return total
        momentum = self.inertia_times(constants, rest.twist)
        total += loop.bilinear(constants, FORCE_CROSS, momentum, change.twist)
        turned = self.inertia_times(loop, change.twist)
        return total + loop.bilinear(constants, FORCE_CROSS.transpose(2, 1, 0), rest.twist, turned)


class SampledLaw(NamedTuple):
    """A law by its matrices, polynomials in the block's uncertain parameters.

    Attributes
    ----------
    slopes : Polynomial
        By ``[A; a; q; v; V; xi]``, (6 + n, 18 + 3 n), about the operating point.
    efforts : Polynomial
        At the operating point (6 + n, 1).
    by_acceleration : (n, 6 + n, 6) array
        How the slope by each coordinate changes with the acceleration of the parent port.
    middle : (6,) array
        That acceleration, where all deltas are zero.
    """

    slopes: Polynomial
    efforts: Polynomial
    by_acceleration: Array
    middle: Array

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        one = Signal(np.ones((1, 1)))
        return self.efforts.applied(constants, one) + self.slopes.columns(slice(6)).applied(constants, self._beyond(rest))

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        moved = stacked(change.acceleration, change.a, change.q, change.v, change.twist, change.displacement)
        beyond = self._beyond(rest)
        if not len(change.q) or not constants.needed(beyond):
            return self.slopes.applied(loop, moved)
        return self.slopes.applied(loop, moved) + loop.bilinear(constants, self.by_acceleration, beyond, change.q)

    def _beyond(self, rest: Rest) -> Signal:
        """Return how the acceleration differs from that in the middle."""
        rows = rest.acceleration.padded(1).copy()
        rows[:, 0] -= self.middle
        return Signal(rows)


class Mode(NamedTuple):
    """A mode ``k`` of a block with m coordinates of their own, as ``ω (ω η + 2 ζ dη/dt)``."""

    k: int
    frequency: Affine
    damping: Affine


class Spring(NamedTuple):
    """The stiffness of a mode ``k``, as ``κ η``."""

    k: int
    stiffness: Affine


class ModalLaw(NamedTuple):
    """A flexible body: a rigid law, its modes, their stiffness where that is uncertain itself, and what is left."""

    rigid: RigidLaw | None
    modes: tuple[Mode, ...]
    springs: tuple[Spring, ...]
    rest: BlockLaw

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        total = self.rest.at_rest(constants, rest)
        if self.rigid is None:
            return total
        return total + stacked(self.rigid.at_rest(constants, rest), zeros(len(total) - 6))

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        total = self.rest.change(loop, constants, rest, change)
        if self.rigid is not None:
            total += stacked(self.rigid.change(loop, constants, rest, change), zeros(len(total) - 6))
        for k, frequency, damping in self.modes:
            effort = loop.applied(frequency, change.q[k]) + loop.applied(damping, change.v[k]) * 2.0
            total += np.eye(len(total))[:, [6 + k]] @ loop.applied(frequency, effort)
        for k, stiffness in self.springs:
            total += np.eye(len(total))[:, [6 + k]] @ loop.applied(stiffness, change.q[k])
        return total


class ScaledLaw(NamedTuple):
    """A law times a number, one in the middle of its range: of a body that becomes heavier, and as much stiffer."""

    law: BlockLaw
    scale: Affine

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        return self._scaled(constants, self.law.at_rest(constants, rest))

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        return self._scaled(loop, self.law.change(loop, constants, rest, change))

    def _scaled(self, loop: Loop, total: Signal) -> Signal:
        identity = np.eye(len(total))
        slopes = tuple((delta, slope[0, 0] * identity) for delta, slope in self.scale.slopes)
        return loop.applied(Affine(identity, slopes), total)


class At(NamedTuple):
    """Where a block's law is taken: own coordinates (q, v, a), twist and acceleration of the parent port in the middle of all
    ranges, its pose there, and gravity."""

    q: Array
    v: Array
    a: Array
    twist: Array
    acceleration: Array
    rotation: Array
    position: Array
    gravity: Array
    driven: Array


def vectors_of_law(n: int) -> tuple[int, ...]:
    """Return where the three columns begin that a vector has in the slopes of the law of a block with n own coordinates."""
    return 0, 3, *range(6 + 3 * n, 18 + 3 * n, 3)


def law_matrices(block: Block, at: At) -> tuple[Array, Array]:
    """Return slopes (6 + n, 18 + 3n) and efforts (6 + n, 1) of a block's law, as `SampledLaw` has them."""
    n, x = block.nv, np.concatenate([at.acceleration, at.a])
    M = block.mass_matrix(at.q)
    efforts = M @ x + block.gyroscopic(at.q, at.v, at.twist)
    if n:
        by_q, by_v, by_twist = current_form(block, "law_slopes")(at.q, at.v, at.twist, x)
        by_q = np.vstack([by_q[:6], by_q[6:] - at.driven])
        efforts[6:] -= block.passive_efforts(at.q, at.v)
    else:
        by_q, by_v = np.zeros((2, 6, 0))
        by_twist = complex_step(lambda twist: block.gyroscopic(at.q, at.v, twist), at.twist)
    by_displacement = np.zeros((6 + n, 6))
    if is_acted_on(block):
        place = Place(at.q, at.v, at.twist, at.rotation, at.position)
        efforts = efforts - efforts_at(block, place, at.gravity, True)
        acting = derivatives_at(block, place, at.gravity)
        by_q, by_v, by_twist, by_displacement = (
            slope - part for slope, part in zip((by_q, by_v, by_twist, by_displacement), acting, strict=True)
        )
    return np.hstack([M, by_q, by_v, by_twist, by_displacement]), efforts[:, None]


def by_acceleration(block: Block, at: At) -> Array:
    """Return how the slopes by own coordinates change with the parent port's acceleration (n, 6 + n, 6)."""
    n = block.nv
    if not n:
        return np.zeros((0, 6, 6))
    still = current_form(block, "law_slopes")(at.q, at.v, at.twist, np.zeros(6 + n))[0]
    columns = [current_form(block, "law_slopes")(at.q, at.v, at.twist, unit)[0] - still for unit in np.eye(6 + n)[:6]]
    return np.stack(columns, axis=-1).transpose(1, 0, 2)


def rigid_law(number: Callable[[list[str], Array], Affine], mass: float, com: Array, inertia: Array) -> RigidLaw:
    """Return the rigid law of a body; `number` makes vectors of its named parameters uncertain."""
    masses = number(["mass"], np.array([mass])).column()
    rows, columns = (list(index) for index in zip(*INERTIA_ENTRIES.values(), strict=True))
    entries = number([f"inertia.{entry}" for entry in INERTIA_ENTRIES], inertia[rows, columns])

    def tensor(values: Array) -> Array:
        full = np.zeros((3, 3))
        full[rows, columns] = full[columns, rows] = values
        return full

    moments = Affine(tensor(entries.value), tuple((delta, tensor(slope)) for delta, slope in entries.slopes))
    return RigidLaw(masses, number([f"com.{axis}" for axis in "xyz"], com), moments)
