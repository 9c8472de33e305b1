"""Closing a loop by a spring and a damper in all six directions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.spatial import Array, replaced
from titop.blocks.basics.tolerances import SAME
from titop.blocks.constraints.closure import DISPLACEMENT, displacement, displacement_jacobians
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, put, symmetric
from titop.blocks.interactions.interaction import Interaction


class CompliantClosure(Interaction):
    """A loop closed by stiffness and damping between two ports (key A, section 3.4).

    Parameters
    ----------
    name : str
        Unique name in the system.
    stiffness : float, (6,) or (6, 6)
        N/m, N and N m/rad, on the displacement ``delta = (r, log R)`` of the second port in the first (linear first).
    damping : float, (6,) or (6, 6)
        On the displacement's rate.

    Notes
    -----
    Stores ``delta^T K delta / 2`` and acts on port i with ``-J_i^T (K delta + D d delta/dt)``, ``d delta/dt = J1 V1 + J2 V2``:
    action equals reaction, for displacements and rotations of any size up to half a turn. There the rotation's displacement
    jumps from one side to the other, and energy with it: `simulate` warns of it.
    """

    stiffness = Field(symmetric(6))
    damping = Field(symmetric(6))

    def __init__(self, name: str, stiffness: Any = 0.0, damping: Any = 0.0) -> None:
        super().__init__(name)
        self.stiffness, self.damping = stiffness, damping

    def energy(self, R: Array, r: Array) -> Any:
        """Return the stored energy (J) at the relative pose ``(R, r)``."""
        delta = displacement(R, r)
        return 0.5 * delta @ self.stiffness @ delta

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        """Return the wrenches (6) on both ports, each in its port's frame, at the twists `V1` and `V2`."""
        J1, J2 = displacement_jacobians(R, r)
        force = self.force(R, r, V1, V2)
        return -J1.T @ force, -J2.T @ force

    def force(self, R: Array, r: Array, V1: Array, V2: Array) -> Array:
        """Return ``K delta + D d delta/dt`` (6, N and N m), to which the wrenches belong."""
        J1, J2 = displacement_jacobians(R, r)
        return self.stiffness @ displacement(R, r) + self.damping @ (J1 @ V1 + J2 @ V2)

    def law_numbers(self) -> Array:
        """Return stiffness and damping, row by row."""
        return np.concatenate([self.stiffness.ravel(), self.damping.ravel()])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the closure and what is suspicious."""
        errors, warnings = super().check()
        for field, matrix in (("stiffness", self.stiffness), ("damping", self.damping)):
            if np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] < -SAME * np.abs(matrix).max():
                expected, advice = "a positive semidefinite matrix", "check the sign: the closure feeds energy or is unstable"
                warnings.append(Finding(f"negative-{field}", f"{self.name}.{field}", matrix.tolist(), expected, advice))
        if not self.stiffness.any() and not self.damping.any():
            advice = "give a stiffness, a damping or both; for a rigid loop use tt.RigidClosure"
            errors.append(Finding("empty-closure", self.name, "neither stiffness nor damping", "one of the two", advice))
        return errors, warnings

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the upper triangles of stiffness and damping, by pairs of directions."""
        return {
            f"{field}.{a}.{b}": (float(getattr(self, field)[i, j]), f"{'N' if i < 3 else 'N m'}{per}{unit}")
            for field, per in (("stiffness", "/"), ("damping", " s/"))
            for i, a in enumerate(DISPLACEMENT)
            for j, (b, unit) in enumerate(DISPLACEMENT.items())
            if j >= i
        }

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some entries changed, symmetrically."""
        changed = copy.copy(self)
        names = list(DISPLACEMENT)
        for name, value in values.items():
            field, a, b = parts_of(name)
            i, j = names.index(a), names.index(b)
            put(changed, field, replaced(replaced(getattr(changed, field), (i, j), value), (j, i), value))
        return changed
