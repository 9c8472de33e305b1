"""A fluid along a rod or a beam: users' coefficients per unit length, and their values at its points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import sampled
from titop.blocks.bodies.water.coefficients import (
    Coefficients,
    coefficient_parameters,
    lift_parameters,
    matrix_findings,
    of_direction,
)
from titop.blocks.bodies.water.fluid import Fluid
from titop.blocks.bodies.water.immersion import Water, diagonals, lifting

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
        """Return the numbers of the fluid at places along the line.

        Parameters
        ----------
        reach : (2, k) array, m
            How far sections reach along y and z.
        area : (k,) array, m^2
        fractions : (k,) array
            The places, as fractions of the length.
        lengths : (k,) array, m
            Quadrature weight of each place.
        given_length : float, m
            By which functions of X are called.
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
            self._added(mass, y, z, lengths) + _matrices("added_mass", self.added_mass, fractions, lengths, given_length),
            quadratic + _matrices("drag", self.drag, fractions, lengths, given_length),
            diagonals([along, across, across, nothing, nothing, nothing]),
            diagonals([spinning, nothing, nothing]),
        )

    def _added(self, mass: Array, y: Array, z: Array, lengths: Array) -> Array:
        nothing = 0.0 * mass
        if isinstance(self.added_mass, str):
            ring = np.pi * self.fluid.density * lengths
            return diagonals([nothing, ring * z**2, ring * y**2, ring * (y**2 - z**2) ** 2 / 8.0, nothing, nothing])
        moved = [mass * of_direction(self.added_mass, names) for names in _DIRECTIONS]
        return diagonals([*moved, nothing, nothing, nothing])

    def findings(self, name: str, fractions: Array, given_length: float) -> list[Finding]:
        """Return what is wrong with functions of X at inner places of a rod.

        Raises
        ------
        ModelError
            If one fails.
        """
        ones = np.ones(len(fractions))
        for field, coefficients in (("added_mass", self.added_mass), ("drag", self.drag)):
            for matrix in _matrices(field, coefficients, fractions, ones, given_length) if callable(coefficients) else ():
                if wrong := matrix_findings(f"{name}.{field}", matrix, field == "added_mass"):
                    return wrong
        return []

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the numbers by dotted name, with units."""
        numbers = {f"fluid.{name}": value for name, value in self.fluid.parameters().items()}
        numbers |= coefficient_parameters("added_mass", self.added_mass, ADDED)
        return numbers | coefficient_parameters("drag", self.drag, DRAG) | lift_parameters(self.lift, "1")


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
