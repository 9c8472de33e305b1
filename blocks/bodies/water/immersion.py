"""Fluid forces at the sections of a body, and on the body; the fluid along a rod or a beam.

At a section that moves with the twist V, with the current c in its axes, C = [c; 0] and U = V - C, in the section's frame::

    W = -(A dU/dt - ad(U)^T A U) - |u| Q U - L U - [0; |w| R w] - [m g; m b x g]

with u the velocity in U, w the angular velocity, A the added inertia, Q drag and lift, L and R drag, m the displaced mass about
b and g gravity (Kirchhoff; key M, section 6.3). The body's own law includes ``A (dV/dt - G) - ad(V)^T A V``; the
remaining terms are computed here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array, cross, mirrored, skew
from titop.blocks.basics.user_functions import sampled
from titop.blocks.bodies.water.fluid import Coefficients, Fluid, matrix_findings, of_direction
from titop.blocks.programs.repetition import for_each, summed


class Water(NamedTuple):
    """The numbers of a fluid at s sections."""

    current: Array  #: In the inertial frame (3, m/s).
    displaced: Array  #: Mass (kg) and first moment (kg m) of the displaced fluid (s, 4).
    added: Array  #: Added mass (s, 6, 6; kg, kg m, kg m^2).
    quadratic: Array  #: Drag wrench per unit of speed and twist (s, 6, 6; kg/m, times m for each moment and rotation).
    linear: Array  #: Drag wrench per unit of twist (s, 6, 6).
    spinning: Array  #: Drag moment per unit of angular speed and angular velocity (s, 3, 3; N m s^2).

    @property
    def moves_along(self) -> bool:
        """Whether there is added mass."""
        return bool(self.added.any())

    @property
    def presses(self) -> bool:
        """Whether there are forces beside buoyancy."""
        drags = self.quadratic.any() or self.linear.any() or self.spinning.any()
        return bool(drags or (self.moves_along and self.current.any()))

    @property
    def streaming(self) -> Array:
        """Which sections (s) there are forces on beside buoyancy."""
        some: Array = np.array([_is_some(part).any(axis=(1, 2)) for part in self[2:]])
        return np.logical_or.reduce(some)


def weightless(water: Water) -> Array:
    """Return the inertia (s, 6, 6) of sections on which gravity does not act: of displaced fluid and added mass."""
    inertia, moments = water.added.astype(np.result_type(water.added, water.displaced)), skews(water.displaced[:, 1:])
    inertia[:, :3, :3] += water.displaced[:, :1, None] * np.eye(3)
    inertia[:, :3, 3:] -= moments
    inertia[:, 3:, :3] += moments
    return inertia


def skews(vectors: Array) -> Array:
    """Return the matrices (..., 3, 3) of cross products with vectors (..., 3)."""
    matrices = np.zeros((*vectors.shape, 3), vectors.dtype)
    x, y, z = np.moveaxis(vectors, -1, 0)
    matrices[..., 0, 1], matrices[..., 0, 2], matrices[..., 1, 2] = -z, y, -x
    matrices[..., 1, 0], matrices[..., 2, 0], matrices[..., 2, 1] = z, -y, x
    return matrices


def sum_over_sections(inertia: Array, jacobians: Array) -> Array:
    """Return the inertia (6 + n, 6 + n) of sections (s, 6, 6) that move by `jacobians` (s, 6, 6 + n)."""

    def of_sections(inertia: Array, jacobians: Array) -> Array:
        width = jacobians.shape[-1]
        return jacobians.reshape(-1, width).T @ (inertia @ jacobians).reshape(-1, width)

    return mirrored(summed(of_sections, inertia, jacobians))


def wrenches_to_efforts(jacobians: Array, wrenches: Array) -> Array:
    """Return the efforts (6 + n) on the body from wrenches (s, 6) on sections."""
    return summed(lambda jacobians, wrenches: np.einsum("sij,si->j", jacobians, wrenches), jacobians, wrenches)


def moving_wrenches(added: Array, twists: Array, accelerations: Array) -> Array:
    """Return the wrenches (s, 6) ``A dV/dt - ad(V)^T A V`` of the added mass."""

    def of_sections(added: Array, twists: Array, accelerations: Array) -> tuple[Array, ...]:
        return (_times(added, accelerations) + _coadjoint(twists, _times(added, twists)),)

    return for_each(of_sections, added, twists, accelerations)[0]


def stream_wrenches(water: Water, twists: Array, current: Array) -> Array:
    """Return the wrenches (s, 6) of the stream without gravity: drag, lift, and the current's change of added-mass wrenches.

    Twists (s, 6) and the current (s, 3; m/s) are in the axes of the sections.
    """
    nothing = np.zeros_like(current)
    flow, C = twists - np.concatenate([current, nothing], axis=1), np.concatenate([current, nothing], axis=1)
    turning = np.concatenate([cross(twists[:, 3:], current), nothing], axis=1)
    drifting, carried = _times(water.added, C), _times(water.added, flow)
    wrenches = _coadjoint(twists, drifting) + _coadjoint(C, carried) - _times(water.added, turning)
    spun = _times_speed(water.spinning, flow[:, 3:], flow[:, 3:])
    drag = _times_speed(water.quadratic, flow, flow[:, :3]) + _times(water.linear, flow)
    drag = drag + np.concatenate([0.0 * spun, spun], axis=1)
    return wrenches - drag


def _times(matrices: Array, vectors: Array) -> Array:
    """Return the products of matrices (s, k, k) and vectors (s, k)."""
    product: Array = (matrices @ vectors[:, :, None])[..., 0]
    return product


def _times_speed(matrices: Array, vectors: Array, flow: Array) -> Array:
    """Return the products of matrices (s, k, k), vectors (s, k) and speeds, the lengths of `flow` (s, 3).

    For a zero matrix the speed is not computed, since at rest it has no time derivatives.
    """
    product, some = 0.0 * _times(matrices, vectors), _is_some(matrices).any(axis=(1, 2))
    product[some] = np.sqrt((flow[some] ** 2).sum(axis=1))[:, None] * _times(matrices[some], vectors[some])
    return product


def _is_some(numbers: Array) -> Array:
    """Return which numbers are, or may be, no zeros."""
    zeros = numbers == 0.0 if numbers.dtype != object else np.frompyfunc(lambda x: everywhere(x == 0.0), 1, 1)(numbers)
    return ~zeros.astype(bool)


def _coadjoint(twists: Array, wrenches: Array) -> Array:
    """Return ``-ad(V)^T W`` (s, 6)."""
    spins, forces = twists[:, 3:], wrenches[:, :3]
    return np.concatenate([cross(spins, forces), cross(spins, wrenches[:, 3:]) + cross(twists[:, :3], forces)], axis=1)


def diagonals(entries: list[Any]) -> Array:
    """Return diagonal matrices (s, k, k) with k `entries`, each of them (s,)."""
    return np.eye(len(entries)) * np.stack(np.broadcast_arrays(*entries), axis=-1)[:, None, :]


def lifting(axis: Array | None, factors: Array) -> Array:
    """Return the lift part (s, 6, 6) of Q: force ``factor |v| axis x v``."""
    turn = np.zeros((6, 6)) if axis is None else np.pad(skew(axis), (0, 3))
    return -factors[:, None, None] * turn


def water_numbers(water: Water) -> Array:
    """Return the numbers for kernels: see `titop.solvers.kernels.laws.rod_numbers`."""
    parts = water.displaced, water.added, water.quadratic, water.linear, water.spinning
    points = np.hstack([part.reshape(len(water.added), -1) for part in parts])
    return np.concatenate([water.current, [float(water.presses)], points.ravel()])


#: Added mass of the ellipse that a section is, or that reaches as far, in a fluid without friction.
POTENTIAL = "potential"
#: The coefficients by name, and their units.
ADDED = dict.fromkeys(("normal", "normal_y", "normal_z", "tangential"), "1")
DRAG = ADDED | {"torsional": "1", "viscous_normal": "Pa s", "viscous_tangential": "Pa s"}


class LineWater(NamedTuple):
    """The fields for the fluid around a rod or a beam; see `titop.blocks.bodies.rods.rod.Rod`."""

    fluid: Fluid
    added_mass: Coefficients
    drag: Coefficients
    lift: Array | None

    def at(self, reach: Array, area: Array, fractions: Array, lengths: Array, given_length: float) -> Water:
        """Return the numbers of the fluid at k places along the line.

        Sections reach so far along y and z (2, k; m). Places are fractions of the length, with `lengths` (k, m) as weights;
        functions of X are called with the `given_length`.
        """
        y, z = reach
        mass, nothing = self.fluid.density * area * lengths, 0.0 * lengths
        half = 0.5 * self.fluid.density * lengths
        widths = y + z, 2.0 * z, 2.0 * y  # across to flow along x, y and z
        drag = [half * width * of_direction(self.drag, names) for width, names in zip(widths, _DIRECTIONS, strict=True)]
        spinning = half * ((y + z) / 2.0) ** 4 * of_direction(self.drag, ("torsional",))
        along, across = (lengths * of_direction(self.drag, (f"viscous_{name}",)) for name in ("tangential", "normal"))
        quadratic = diagonals([*drag, nothing, nothing, nothing]) + lifting(self.lift, half * widths[0])
        return Water(
            self.fluid.current,
            np.stack([mass, nothing, nothing, nothing], axis=1),
            self._added_mass(mass, y, z, lengths) + _matrices("added_mass", self.added_mass, fractions, lengths, given_length),
            quadratic + _matrices("drag", self.drag, fractions, lengths, given_length),
            diagonals([along, across, across, nothing, nothing, nothing]),
            diagonals([spinning, nothing, nothing]),
        )

    def _added_mass(self, mass: Array, y: Array, z: Array, lengths: Array) -> Array:
        nothing = 0.0 * mass
        if isinstance(self.added_mass, str):
            ring = np.pi * self.fluid.density * lengths
            return diagonals([nothing, ring * z**2, ring * y**2, ring * (y**2 - z**2) ** 2 / 8.0, nothing, nothing])
        moved = [mass * of_direction(self.added_mass, names) for names in _DIRECTIONS]
        return diagonals([*moved, nothing, nothing, nothing])

    def findings(self, name: str, fractions: Array, given_length: float) -> list[Finding]:
        """Return what is wrong with functions of X at inner places of a rod."""
        ones = np.ones(len(fractions))
        for field, coefficients in (("added_mass", self.added_mass), ("drag", self.drag)):
            for matrix in _matrices(field, coefficients, fractions, ones, given_length) if callable(coefficients) else ():
                if wrong := matrix_findings(f"{name}.{field}", matrix, field == "added_mass"):
                    return wrong
        return []


def water_around(line: Any) -> LineWater | None:
    """Return the fields for the fluid around a rod or a beam, None without a fluid."""
    return None if line.fluid is None else LineWater(line.fluid, line.added_mass, line.drag, line.lift)


#: The names of coefficients along x, y and z, the more special first.
_DIRECTIONS = ("tangential",), ("normal_y", "normal"), ("normal_z", "normal")


def _matrices(field: str, coefficients: Coefficients, fractions: Array, lengths: Array, given_length: float) -> Any:
    """Return the matrices at places (k, 6, 6), from a matrix per unit length or a function of X that returns one."""
    if callable(coefficients):
        return sampled(field, coefficients, fractions, given_length, (6, 6)) * lengths[:, None, None]
    return coefficients * lengths[:, None, None] if isinstance(coefficients, np.ndarray) else 0.0
