"""What a field of gravity does to a body: an interaction that systems attach to each.

For a block, m is its mass, c its mass centre, S its second moments of mass about that; phi is minus the potential, g and Gamma
its first and second derivatives at the mass centre, in the block's axes. To second order in the body's size the potential
energy is ``U = -(m phi + Gamma : S / 2)`` (MacCullagh). Where m, c and S are known as polynomials of the block's coordinates
(`Described.mass_moments`), efforts are minus its derivatives. Otherwise they follow from the block's inertia M(q) and its
gyroscopic terms at rest under a spin w, ``h = sum_ij w_i w_j H_ij``::

    M[:, :3] (g + f / m - Gamma c) + sum_ij Gamma_ij H_ij        f = grad (Gamma : S / 2)

since Gamma is free of trace: ``Gamma x`` is the sum of ``lambda_k w_k x (w_k x x)`` over its eigenvalues and axes, so that a
gradient acts as spins do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.contract.applied import has_weight
from titop.blocks.contract.block import Block, is_titops_own
from titop.blocks.contract.description import mass_and_moment, second_moments
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.laws.central_field import energy_of, field_acceleration, field_gradient, moments, pull, seen, symmetric_times
from titop.blocks.surroundings.gravity_field import GravityField

#: Entries of symmetric matrices, in the order of `titop.blocks.laws.central_field`.
_ROWS, _COLUMNS = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)


class BodyGravity(Interaction):
    """The gravity of a `field` on a `block`: between the world and its frame, and on its coordinates."""

    external = True
    is_gravity: ClassVar[bool] = True
    port_counts, coordinate_counts = (2, 2), (0, np.inf)

    def __init__(self, block: Block, field: GravityField) -> None:
        super().__init__(f"{block.name}/gravity")
        self.block, self.field, self.own_blocks = block, field, (block, field)
        self.own_coordinates = tuple(f"{block.name}.{name}" for name in block.coordinates)
        self.complex_safe = block.complex_safe

    def among(self, blocks: Mapping[str, Any]) -> BodyGravity:
        block, field = blocks[self.block.name], blocks.get(self.field.name, self.field)
        return self if block is self.block and field is self.field else gravity_on(block, field)

    def law_numbers(self) -> Array:
        """Return the numbers of the field, then those of the block's own law."""
        return np.concatenate([self.field.field_numbers(), self.block.law_numbers()])

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        row, numbers, n, M = *self._told(motion), len(motion.q), self.block.mass_matrix(motion.q)
        loads, (mass, _) = np.zeros((1, 6), np.result_type(row, numbers)), mass_and_moment(M)
        pull(numbers, 0, row, 0, 0, loads, 0)
        c, S = moments(numbers, 0, row, 0)
        field, place = seen(numbers, 0, row, 0, c)
        gradient, change = field_gradient(field, place, S)
        fall = np.array(field_acceleration(field, place)) + np.array(change) / (mass if np.real(mass) else 1.0)
        efforts = M[6:, :3] @ (fall - np.array(symmetric_times(gradient, c))) + self._spun(motion.q, gradient)[6:]
        return np.array([np.zeros(6), loads[0]]), efforts if n else np.zeros(0)

    def _spun(self, q: Array, gradient: Any) -> Array:
        """Return the sum of all ``Gamma_ij H_ij`` (6 + n)."""
        turns, rest = np.eye(3), np.zeros(len(q))

        def spun(w: Array) -> Array:
            return self.block.gyroscopic(q, rest, np.concatenate([np.zeros(3), w]))

        along = [spun(w) for w in turns]
        total = sum(gradient[k] * along[k] for k in range(3))
        for k, (i, j) in enumerate(zip(_ROWS[3:], _COLUMNS[3:], strict=True), start=3):
            total = total + gradient[k] * (spun(turns[i] + turns[j]) - along[i] - along[j])
        return total

    def stored(self, motion: TargetMotion) -> Any:
        row, numbers = self._told(motion)
        return energy_of(numbers, 0, row, 0, 0)

    def _told(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return the pose, and the numbers of the field and of the body as it is deformed, in rows as `pull` takes them."""
        M = self.block.mass_matrix(motion.q)
        mass, moment = mass_and_moment(M)
        c = moment / mass if np.real(mass) else 0.0 * moment
        inertia = M[3:6, 3:6] + mass * skew(c) @ skew(c)
        numbers = np.concatenate([self.field.field_numbers(), [mass], c, second_moments(inertia), [0.0]])
        return np.concatenate([motion.R[1].ravel(), motion.r[1]])[None], numbers[None]


class MomentGravity(BodyGravity):
    """The same of a block with known moments of mass, by a law that kernels share."""

    def law_numbers(self) -> Array:
        """Return the numbers of `titop.blocks.laws.central_field.pull`."""
        return np.concatenate([self.field.field_numbers(), self.block.mass_moments()])

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        row, numbers, n = *self._told(motion), len(motion.q)
        loads = np.zeros((1, 6 + n), np.result_type(row, numbers))
        pull(numbers, n, row, 0, 12, loads, 0)
        return np.array([np.zeros(6), loads[0, :6]]), loads[0, 6:]

    def stored(self, motion: TargetMotion) -> Any:
        row, numbers = self._told(motion)
        return energy_of(numbers, len(motion.q), row, 0, 12)

    def _told(self, motion: TargetMotion) -> tuple[Array, Array]:
        return np.concatenate([motion.R[1].ravel(), motion.r[1], motion.q])[None], self.law_numbers()[None]


def findings_in_field(block: Block) -> Iterator[Finding]:
    """Yield why a field of gravity cannot act on a block."""
    if has_weight(block):
        advice = "leave the fluid out, or take uniform gravity"
        yield Finding(
            "fluid-in-field", block.name, "weight that is not its inertia", "a body without buoyancy in a field", advice
        )
    if block.nv and block.configuration_names != block.coordinates:
        advice = "let a joint have these coordinates, and the block the inertia"
        yield Finding("turning-in-field", block.name, ", ".join(block.coordinates), "plain coordinates in a field", advice)


def gravity_on(block: Block, field: GravityField) -> BodyGravity:
    """Return the gravity of a field on a block."""
    is_known = (is_titops_own(block) or not block.nv) and block.mass_moments() is not None
    return (MomentGravity if is_known else BodyGravity)(block, field)
