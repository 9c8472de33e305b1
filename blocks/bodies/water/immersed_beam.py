"""Fluid forces on a beam, to first order in its deformation.

Added mass and drag are those of the undeformed beam's sections; buoyancy follows the deformation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, cross, gyroscopic_wrench
from titop.blocks.bodies.water.coefficients import read_coefficients, read_lift, report_dry
from titop.blocks.bodies.water.fluid import Fluid, read_fluid
from titop.blocks.bodies.water.immersion import (
    Water,
    stream_wrenches,
    sum_over_sections,
    water_numbers,
    weightless,
    wrenches_to_efforts,
)
from titop.blocks.bodies.water.line_water import ADDED, DRAG, POTENTIAL, water_around
from titop.blocks.contract.block import Block

#: Fields for a fluid.
FIELDS = ("fluid", "added_mass", "drag", "lift")


class ImmersedLine:
    """The sections of a beam with n coordinates, at k places along x, in a fluid.

    Parameters
    ----------
    water : Water
        The fluid at these places.
    places : (k,) array, m
    moved, turned : (3, n, k) arrays
        Displacement and rotation there per unit of each coordinate.
    """

    def __init__(self, water: Water, places: Array, moved: Array, turned: Array) -> None:
        self._water = water
        self._still = water._replace(added=np.zeros_like(water.added))
        self._places, self._moved = np.outer(places, [1.0, 0.0, 0.0]), np.moveaxis(moved, 2, 0)
        n = moved.shape[1]
        self._jacobians = np.zeros((len(places), 6, 6 + n))
        self._jacobians[:, :, :6] = np.eye(6)
        self._jacobians[:, :3, 3:6] = _levers(self._places)
        self._jacobians[:, :3, 6:], self._jacobians[:, 3:, 6:] = self._moved, np.moveaxis(turned, 2, 0)
        #: The added mass (6 + n, 6 + n; kg, kg m and kg m^2).
        self.added = sum_over_sections(water.added, self._jacobians)

    def gyroscopic(self, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms (6 + n; N, N m) of the added mass."""
        return self._at_base(gyroscopic_wrench(self.added[:6], np.concatenate([twist, v])))

    def displaced(self, q: Array) -> Array:
        """Return the inertia (6 + n, 6 + n) of the displaced fluid at coordinates (n)."""
        jacobians = self._jacobians.astype(np.result_type(q, float))
        jacobians[:, :3, 3:6] = _levers(self._places + self._moved @ q)
        return sum_over_sections(weightless(self._still), jacobians)

    def stream(self, v: Array, twist: Array, current: Array) -> Array:
        """Return drag, lift, and the change of the added-mass wrench by the current (3, m/s, in the base's axes) (6 + n)."""
        x, nothing = np.concatenate([twist, v]), np.zeros(3)
        drag = stream_wrenches(self._still, self._jacobians @ x, np.array([current] * len(self._places)))
        drift = np.concatenate([current, nothing, 0.0 * v])
        turning = np.concatenate([cross(twist[3:], current), nothing, 0.0 * v])
        with_stream = gyroscopic_wrench(self.added[:6], x) - gyroscopic_wrench(self.added[:6], x - drift)
        return wrenches_to_efforts(self._jacobians, drag) + self._at_base(with_stream) - self.added @ turning

    def law_numbers(self, begin: int) -> Array:
        """Return the numbers of the compiled law that follow `begin` others; see `kernels.laws.beam_water`."""
        mass = self._water.displaced[:, 0]
        displaced = [[mass.sum()], mass @ self._places, np.einsum("s,sij->ij", mass, self._moved)]
        parts = [self.added, *displaced, water_numbers(self._water), self._jacobians, [len(mass), begin]]
        return np.concatenate([np.ravel(part) for part in parts])

    def _at_base(self, wrench: Array) -> Array:
        """Return a wrench at the base with no efforts (6 + n)."""
        return np.concatenate([wrench, np.zeros(self.added.shape[0] - 6)])


class ImmersedBeam(Block):
    """The part of `Beam` for a fluid."""

    length: Any
    area: Any
    iy: Any
    iz: Any
    line: tuple[Array, Array]
    line_turns: Array
    line_lengths: Array
    added_mass: Any
    drag: Any
    lift: Any
    _immersed: ImmersedLine | None = None

    def _read_water(self, fluid: Fluid | None, added_mass: Any, drag: Any, lift: Any) -> None:
        reader = self.reader
        self.fluid = read_fluid(self, "fluid", fluid)
        self.added_mass = read_coefficients(reader, "added_mass", added_mass, ADDED, (POTENTIAL,), along=True)
        self.drag, self.lift = read_coefficients(reader, "drag", drag, DRAG, along=True), read_lift(reader, "lift", lift)
        if self.fluid is None:
            report_dry(reader, {"added_mass": added_mass, "drag": drag, "lift": lift})

    def _immerse(self) -> None:
        """Recompute the sections in the fluid: ellipses with the area and the moments of the beam's."""
        self._immersed, around = None, water_around(self)
        if around is None or self.reader.findings:
            return
        (places, shapes), ones = self.line, np.ones(len(self.line_lengths))
        self.reader.findings += around.findings(self.name, places / self.length, self.length)
        reach = 2.0 * np.sqrt(np.array([self.iz, self.iy]) / self.area)
        water = around.at(np.outer(reach, ones), self.area * ones, places / self.length, self.line_lengths, self.length)
        self._immersed = ImmersedLine(water, places, shapes, self.line_turns)

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia at a deformation, with the added mass."""
        inertia: Array = super().mass_matrix(q)
        return inertia if self._immersed is None else inertia + self._immersed.added

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms h (6 + n)."""
        dry, immersed = super().gyroscopic(q, v, twist), self._immersed
        if immersed is None:
            return dry
        # a flexible body applies the acceleration w x v to all of `mass_matrix`
        return dry - immersed.added[:, :3] @ cross(twist[3:], twist[:3]) + immersed.gyroscopic(v, twist)

    def added_inertia(self, q: Array) -> Array:
        """Return the added mass, a part of the mass matrix."""
        return super().added_inertia(q) if self._immersed is None else self._immersed.added

    def weightless_inertia(self, q: Array) -> Array:
        """Return the inertia of the displaced fluid and of the added mass."""
        immersed = self._immersed
        return super().weightless_inertia(q) if immersed is None else immersed.displaced(q) + immersed.added

    def stream_efforts(self, q: Array, v: Array, twist: Array, rotation: Array) -> Array:
        """Return drag, lift, and the change of the added-mass wrench by a current."""
        if self._immersed is None:
            return super().stream_efforts(q, v, twist, rotation)
        return self._immersed.stream(v, twist, rotation.T @ self.fluid.current) + np.pad(0.0 * q, (6, 0))

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law."""
        numbers = super().law_numbers()
        return numbers if self._immersed is None else np.concatenate([numbers, self._immersed.law_numbers(len(numbers))])


def _levers(places: Array) -> Array:
    """Return the matrices (k, 3, 3) from angular velocities to the velocities of places (k, 3; m)."""
    x, y, z = places.T
    nothing = 0.0 * x
    return np.array([[nothing, z, -y], [-z, nothing, x], [y, -x, nothing]]).transpose(2, 0, 1)
