"""Kinds of bodies as a user would write them: a compiled slide with a spring, and a disc without coordinates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array, rigid_inertia
from titop.blocks.contract.description import Picture


def slide_law(numbers: Any, q: Any, v: Any, twist: Any, terms: Any) -> None:
    """Fill in the law of a point mass at rest at P and of one at height ``length + q`` on a spring, along z."""
    length, base, slider, spring = numbers
    z, wx, wy, wz = length + q[0], twist[3], twist[4], twist[5]
    for k in range(3):
        terms.inertia[k, k] = base + slider
    terms.inertia[0, 4] = terms.inertia[4, 0] = slider * z
    terms.inertia[1, 3] = terms.inertia[3, 1] = -slider * z
    terms.inertia[3, 3] = terms.inertia[4, 4] = slider * z * z
    terms.inertia[2, 6] = terms.inertia[6, 2] = terms.inertia[6, 6] = slider
    # w x v of the base, and w x (v + w x r + 2 e_z q') of the slider
    ax, ay, az = wy * twist[2] - wz * twist[1], wz * twist[0] - wx * twist[2], wx * twist[1] - wy * twist[0]
    sx, sy = ax + wx * wz * z + 2 * wy * v[0], ay + wy * wz * z - 2 * wx * v[0]
    sz = az - (wx * wx + wy * wy) * z
    terms.gyroscopic[0], terms.gyroscopic[1] = base * ax + slider * sx, base * ay + slider * sy
    terms.gyroscopic[2] = base * az + slider * sz
    terms.gyroscopic[3], terms.gyroscopic[4], terms.gyroscopic[6] = -slider * z * sy, slider * z * sx, slider * sz
    terms.passive[0] = -spring * q[0]
    for k in range(3):
        terms.rotation[0, k, k] = 1.0
    terms.position[0, 2] = z
    terms.subspace[0, 2, 0] = 1.0
    terms.bias[0, 0], terms.bias[0, 1] = wy * v[0], -wx * v[0]


class Slide(tt.Block):
    """A mass that slides along z over another one, on a spring; drawn as a fin from one to the other."""

    coordinates, ports, units = ("extension",), ("C",), ("m",)
    compiled_law = tt.Law(slide_law, energy=lambda numbers, q: 0.5 * numbers[3] * q[0] ** 2)
    parameter_units: ClassVar = {"length": "m", "base": "kg", "slider": "kg", "spring": "N/m"}

    def __init__(self, name: str, length: float = 1.0, base: float = 2.0, slider: float = 1.0, spring: float = 40.0) -> None:
        super().__init__(name)
        self.length, self.base, self.slider, self.spring = length, base, slider, spring

    def law_numbers(self) -> Array:
        """Return the numbers of the law."""
        return np.array([self.length, self.base, self.slider, self.spring])

    def picture(self, q: Array) -> Picture:
        """Return a fin that ends where the slider is."""
        points = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0, self.length + q[0]]])
        return Picture(points, np.array([[0, 1, 2], [0, 2, 1]]), (np.array([0, 1, 2, 0]),))


class Disc(tt.Block):
    """A disc about z whose centre is at P, by its dimensions; it carries nothing."""

    parameter_units: ClassVar = {"radius": "m", "thickness": "m", "density": "kg/m^3"}

    def __init__(self, name: str, radius: float, thickness: float, density: float = 1000.0) -> None:
        super().__init__(name)
        self.radius, self.thickness, self.density = radius, thickness, density

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia at the centre."""
        mass = self.density * np.pi * self.radius**2 * self.thickness
        across = mass * (self.radius**2 / 4 + self.thickness**2 / 12)
        return rigid_inertia(mass, np.zeros(3), np.diag([across, across, mass * self.radius**2 / 2]))
