"""What a field of gravity does to a body: an interaction that systems attach to each.

M(q) is the block's inertia as seen from its frame, m its mass, c its mass centre, S its second moments of mass about that; phi is
minus the potential, g and Gamma its first and second derivatives at the mass centre, in the block's axes. To second order in the
body's size the potential energy is ``U = -(m phi + Gamma : S / 2)`` (MacCullagh). A block's efforts (6 + n) are

    M[:, :3] (g + f / m - Gamma c) + sum_ij Gamma_ij H_ij        f = grad (Gamma : S / 2)

where ``h = sum_ij w_i w_j H_ij`` are its gyroscopic terms at rest under a spin w: since Gamma is free of trace, ``Gamma x`` is the sum
of ``lambda_k w_k x (w_k x x)`` over its eigenvalues and axes, and a gradient acts as spins do. So every block has its gravity
gradient from its own law.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array, cross, skew
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import mass_and_moment
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.laws.central_field import pull, stored
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

    def among(self, blocks: Mapping[str, Any]) -> BodyGravity:
        block = blocks[self.block.name]
        return self if block is self.block else BodyGravity(block, self.field)

    def under(self, gravity: Array, field: Any) -> BodyGravity:
        return self if field is self.field else BodyGravity(self.block, field)

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        at, (mass, c, S) = self._placed(motion)
        force, torque, g, gradient = pull(*at, mass, c, S)
        wrench = np.concatenate([force, torque + cross(np.array(c), np.array(force))])
        nothing, n = np.zeros(6), len(motion.q)
        if not n:
            return np.array([nothing, wrench]), np.zeros(0)
        xx, yy, zz, xy, xz, yz = gradient
        Gamma, change = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), np.array(force) - mass * np.array(g)
        falling = np.array(g) + change / (mass if np.real(mass) else 1.0) - Gamma @ c
        efforts = self.block.mass_matrix(motion.q)[6:, :3] @ falling
        return np.array([nothing, wrench]), efforts + self._spun(motion.q, gradient)[6:]

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
        at, (mass, c, S) = self._placed(motion)
        return stored(*at, mass, c, S)

    def _placed(self, motion: TargetMotion) -> Any:
        """Return field and pose, and mass, its centre and second moments, as `pull` takes them."""
        if len(motion.q):
            M = self.block.mass_matrix(motion.q)
            mass, moment = mass_and_moment(M)
            c = moment / mass if np.real(mass) else 0.0 * moment
            inertia = M[3:6, 3:6] + mass * skew(c) @ skew(c)
        else:
            mass, c, inertia = self.block.mass_properties()
        S = 0.5 * (np.trace(inertia) * np.eye(3) - inertia - inertia.T)
        return (self.field.law, tuple(motion.R[1].ravel()), tuple(motion.r[1])), (mass, tuple(c), tuple(S[_ROWS, _COLUMNS]))
