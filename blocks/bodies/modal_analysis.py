"""Results from a body's modal matrices: natural modes, damping by ratios, effective and residual mass.

Symbols: ``M``, ``K`` modal mass and stiffness (n x n); ``L`` participation (n x 6, at P, linear first); ``D_P`` the
rigid inertia at P (6x6). Everything holds for any modal coordinates, whether or not they are natural modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE, TYPED

#: The six motions at a port, in their order.
DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


class ModalMatrices(NamedTuple):
    """Mass, stiffness and damping (n x n each) of a body's modal coordinates."""

    mass: Array
    stiffness: Array
    damping: Array


class EffectiveMass(NamedTuple):
    """Effective masses of a body's natural modes, ascending frequencies, each (n, 6).

    Attributes
    ----------
    mass : array
        Along and about the axes at P (kg, kg m^2).
    fraction : array
        Of the rigid body's; zero where that has none.
    """

    mass: Array
    fraction: Array


class NaturalModes(NamedTuple):
    """Natural modes of a body clamped at P, in one order: a mode keeps its damping ratio.

    - `frequencies` (k; rad/s): ascending;
    - `shapes` (n, k): mass-normalised, in the body's coordinates;
    - `ratios` (k): the damping ratios given for these modes.
    """

    frequencies: Array
    shapes: Array
    ratios: Array

    def where(self, chosen: Array) -> NaturalModes:
        """Return some of the modes, by a mask (k)."""
        return NaturalModes(self.frequencies[chosen], self.shapes[:, chosen], self.ratios[chosen])


class LostModes(NamedTuple):
    """What a body lost with the modes that `FlexibleBody.truncate` removed; its text lists it.

    - `frequencies` (k; rad/s): of the removed modes;
    - `effective_mass` (6): their effective mass along and about the axes at P, as a fraction of the rigid body's;
    - `compliance` (6): the removed fraction of the static displacement of each port under a force or moment there, along and
      about the axes at P, with P clamped; motion without stiffness left out.
    """

    frequencies: Array
    effective_mass: Array
    compliance: dict[str, Array]

    def __str__(self) -> str:
        if not len(self.frequencies):
            return "no modes removed"
        parts = {"effective mass": self.effective_mass}
        parts |= {f"static compliance at {port}": lost for port, lost in self.compliance.items()}
        lines = [f"{len(self.frequencies)} modes removed, from {self.frequencies[0]:.6g} to {self.frequencies[-1]:.6g} rad/s"]
        for what, lost in parts.items():
            shown = [f"{name} {100 * x:.3g} %" for name, x in zip(DIRECTIONS, lost, strict=True) if x > NEGLIGIBLE / 10]
            lines.append(f"  lost {what}: {', '.join(shown) or 'below 0.01 %'}")
        return "\n".join(lines)


def lost_modes(removed: NaturalModes, body_modes: NaturalModes, fraction: Array, shapes: Mapping[str, Array]) -> LostModes:
    """Return what is lost with removed modes (k of `body_modes`); `fraction` (k, 6) is their effective mass."""
    compliance = {}
    elastic = body_modes.where(body_modes.frequencies > 0)
    for port, shape in shapes.items():
        part, whole = (((shape @ modes.shapes / modes.frequencies) ** 2).sum(axis=1) for modes in (removed, elastic))
        compliance[port] = np.divide(part, whole, out=np.zeros(6), where=whole > 0)
    return LostModes(removed.frequencies, fraction.sum(axis=0), compliance)


def coordinate_units(shapes: Iterable[Array], mass: Array) -> tuple[str, ...]:
    """Return the units of modal coordinates: of a port's displacement m or rad, of mass-normalised ones ``m sqrt(kg)``.

    `shapes`: displacements of the ports per unit of each coordinate; `mass` (n, n): of the coordinates; those of another modal
    mass than 1, whose unit is their owner's choice, have unit ``1``.
    """
    units = []
    moved = np.real(np.vstack([np.zeros((0, len(mass))), *shapes]))
    for k, column in enumerate(moved.T):
        own = np.flatnonzero(column)
        if len(own) == 1 and column[own[0]] == 1.0:
            units.append("m" if own[0] % 6 < 3 else "rad")
        else:
            units.append("m sqrt(kg)" if abs(mass[k, k] - 1.0) < TYPED else "1")
    return tuple(units)


def natural_modes(mass: Array, stiffness: Array) -> tuple[Array, Array]:
    """Return frequencies (n, rad/s, ascending) and mass-normalised modes (n x n, columns) of a body clamped at P."""
    from scipy import linalg

    squares, modes = linalg.eigh(stiffness, mass)
    return np.sqrt(np.maximum(squares, 0.0)), modes


def ratio_damping(mass: Array, stiffness: Array, ratios: Array) -> Array:
    """Return the damping matrix that gives each natural mode a damping ratio (n)."""
    frequencies, modes = natural_modes(mass, stiffness)
    at_modes = mass @ modes
    return (at_modes * (2 * ratios * frequencies)) @ at_modes.T


def residual_mass(mass: Array, participation: Array, rigid: Array) -> Array:
    """Return ``D_P - L^T M^-1 L`` (6x6): the inertia that moves rigidly with P at frequencies above all modes."""
    return rigid - participation.T @ np.linalg.solve(mass, participation)


def are_matrices_usable(mass: Array, stiffness: Array) -> bool:
    """Tell whether a generalised eigenvalue problem with these matrices has an answer."""
    finite = bool(np.isfinite(mass).all() and np.isfinite(stiffness).all())
    return finite and lowest_eigenvalue(mass) > 0


def lowest_eigenvalue(matrix: Array) -> float:
    """Return the lowest eigenvalue of a matrix scaled to a diagonal of ones (where it is not zero)."""
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0] = scale.max(initial=0.0) or 1.0
    return float(np.linalg.eigvalsh(matrix / np.outer(scale, scale)).min(initial=np.inf))
