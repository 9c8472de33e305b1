"""Laws of blocks about an operating point, their uncertain numbers standing in them as few times as possible.

A law says which wrench at its parent port, and which efforts on its own coordinates, a block needs for its motion: of the
operating point itself (a constant of the loop of constants) and of small changes. Accelerations are less gravity's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES
from titop.blocks.contract.applied import Place, derivatives_at, efforts_at, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.solvers.lft.fractions.interpolation import Polynomial
from titop.solvers.lft.fractions.loops import Affine, Loop, Signal, stacked, zeros
from titop.solvers.lft.fractions.steps import Step, lever, moved_outwards, squares_outwards

#: ``e_i x e_j`` (3, 3, 3) as ``sum_k CROSSED[k, i, j] e_k``.
_CROSSED = np.array([skew(unit) for unit in np.eye(3)]).transpose(1, 0, 2)
#: ``w x v`` of a twist from the products of its entries (3, 36).
CONVECTIVE = np.pad(_CROSSED.transpose(0, 2, 1), ((0, 0), (0, 3), (3, 0))).reshape(3, 36)
#: ``w w^T`` from the products (9, 36).
_OF_SPIN = np.eye(36).reshape(6, 6, 36)[3:, 3:].reshape(9, 36)
#: The gradient of accelerations ``alpha x p + w x (w x p)`` by p from alpha and ``w w^T`` (9, 12).
_GRADIENT = np.hstack([np.array([skew(unit).ravel() for unit in np.eye(3)]).T, np.eye(9) - np.outer(np.eye(3), np.eye(3))])


class Rest(NamedTuple):
    """The motion of a block at the operating point: twist and acceleration (6) of its parent port, ``V V^T`` (36)."""

    twist: Signal
    acceleration: Signal
    products: Signal

    def moved(self, constants: Loop, steps: Iterable[Step]) -> Rest:
        """Return the motion of the frame to which steps lead."""
        twist, acceleration = (moved_outwards(constants, steps, x) for x in self[:2])
        return Rest(twist, acceleration, squares_outwards(constants, steps, self.products))


class Change(NamedTuple):
    """Small changes: displacement, twist, acceleration (6) of the parent port and ``V V^T`` (36), and of own coordinates.

    Products of uncertain twists with changes of these are gathered where they arise and go outwards with the motion, so that
    uncertain steps act on both in the same order.
    """

    displacement: Signal
    twist: Signal
    acceleration: Signal
    products: Signal
    q: Signal
    v: Signal
    a: Signal

    def moved(self, loop: Loop, steps: Iterable[Step]) -> Change:
        """Return the changes of the frame to which steps lead."""
        displacement, twist, acceleration = (moved_outwards(loop, steps, x) for x in self[:3])
        products = squares_outwards(loop, steps, self.products)
        return self._replace(displacement=displacement, twist=twist, acceleration=acceleration, products=products)


class BlockLaw(Protocol):
    """What the passes ask of a block's law."""

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        """Return wrench and efforts (6 + n) at the operating point."""

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        """Return their small change."""


class RigidLaw(NamedTuple):
    """``F = m (a + w x v + B c)`` and ``I alpha + w x (I w) + c x F``, ``B p = alpha x p + w x (w x p)``.

    Linear in the acceleration and the products of the twist's entries, which both change alike.

    Attributes
    ----------
    mass : Affine
        A matrix (1, 1), kg.
    com : Affine
        A vector c (3), m.
    inertia : Affine
        A matrix I (3, 3), kg m^2.
    """

    mass: Affine
    com: Affine
    inertia: Affine

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        return self._wrench(constants, rest)

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        return self._wrench(loop, change)

    def _wrench(self, loop: Loop, motion: Rest | Change) -> Signal:
        point = motion.acceleration[:3] + CONVECTIVE @ motion.products
        turning = stacked(motion.acceleration[3:], _OF_SPIN @ motion.products)
        of_centre = point + loop.applied(self.com.mapped(lambda c: np.kron(np.eye(3), c) @ _GRADIENT), turning)
        force = loop.applied(self.mass.mapped(lambda mass: mass * np.eye(3)), of_centre)
        return stacked(force, loop.applied(self.inertia.mapped(_moments), turning) + lever(loop, self.com, force))


def _moments(inertia: Array) -> Array:
    """Return ``I alpha + w x (I w)`` from alpha and ``w w^T`` (3, 12)."""
    gyroscopic = np.einsum("ijk,kl->ijl", _CROSSED, inertia).reshape(3, 9)
    return np.hstack([inertia, gyroscopic])


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
