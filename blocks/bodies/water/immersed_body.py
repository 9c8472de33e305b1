"""Fluid forces on a rigid body: those of matrices at its reference frame, all others at its centre of buoyancy.

In kernels it is a rod without coordinates, from the former to the latter (see `titop.solvers.kernels.laws.rod_numbers`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, rigid_inertia, twist_transport
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.water.coefficients import (
    Coefficients,
    coefficient_parameters,
    lift_parameters,
    of_direction,
    read_coefficients,
    read_lift,
    report_dry,
)
from titop.blocks.bodies.water.fluid import read_fluid
from titop.blocks.bodies.water.immersion import (
    Water,
    diagonals,
    lifting,
    stream_wrenches,
    sum_over_sections,
    water_numbers,
    weightless,
    wrenches_to_efforts,
)
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, Kept, optional, scalar, vector

#: The coefficients by name, and their units.
ADDED = dict.fromkeys(("all", "x", "y", "z"), "1")
DRAG = dict.fromkeys(("all", "x", "y", "z"), "m^2") | dict.fromkeys(("turn", "turn_x", "turn_y", "turn_z"), "N m s^2")
DRAG |= {"linear": "N s/m", "linear_turn": "N m s"}

#: Numbers of a step without strain, after its length, and mass and moments of two points, which full inertias replace.
_STRAINS, _MOMENTS = np.zeros(12), np.zeros(8)
#: Selects the centre of buoyancy of the two places.
_CENTER = np.array([0.0, 1.0])


class ImmersedBody(Block):
    """The part of `RigidBody` for a fluid."""

    mass: Any
    com: Any
    inertia: Any
    port_poses: dict[str, Pose]

    #: The fluid around the body, or None.
    fluid = Kept(read_fluid)
    volume = Field(optional(scalar))
    buoyancy_center = Field(optional(vector))
    #: Added mass, drag and lift: coefficients by name, or matrices.
    added_mass = Field(lambda body, field, value: read_coefficients(body.reader, field, value, ADDED))
    drag = Field(lambda body, field, value: read_coefficients(body.reader, field, value, DRAG))
    lift = Field(lambda body, field, value: read_lift(body.reader, field, value))

    @property
    def _center(self) -> Array:
        center: Array = self.com if self.buoyancy_center is None else self.buoyancy_center
        return center

    def _jacobians(self) -> Array:
        """Return the Jacobians (2, 6, 6) of reference frame and centre of buoyancy by the former's twist."""
        return np.array([np.eye(6), twist_transport(np.eye(3), self._center)])

    def _water(self) -> Water:
        """Return the fluid at both places."""
        fluid, drag = self.fluid, self.drag
        assert fluid is not None
        mass, half = fluid.density * (0.0 if self.volume is None else self.volume), 0.5 * fluid.density
        moved = [mass * of_direction(self.added_mass, (axis, "all")) for axis in "xyz"]
        areas = [half * of_direction(drag, (axis, "all")) for axis in "xyz"]
        turns = [of_direction(drag, (f"turn_{axis}", "turn")) for axis in "xyz"]
        linear = [of_direction(drag, (name,)) for name in ("linear", "linear_turn") for _ in "xyz"]
        return Water(
            fluid.current,
            np.outer(_CENTER, [mass, 0.0, 0.0, 0.0]),
            _at_center([*moved, 0.0, 0.0, 0.0]) + _at_frame(self.added_mass),
            _at_center([*areas, 0.0, 0.0, 0.0]) + lifting(self.lift, half * _CENTER) + _at_frame(drag),
            _at_center(linear),
            _at_center(turns),
        )

    def added_inertia(self, q: Any) -> Array:
        """Return the added mass, a part of the mass matrix."""
        return np.zeros((6, 6)) if self.fluid is None else sum_over_sections(self._water().added, self._jacobians())

    def weightless_inertia(self, q: Array) -> Array:
        """Return the inertia of the displaced fluid and of the added mass."""
        return (
            super().weightless_inertia(q)
            if self.fluid is None
            else sum_over_sections(weightless(self._water()), self._jacobians())
        )

    def stream_efforts(self, q: Array, v: Array, twist: Array, rotation: Array) -> Array:
        """Return drag, lift, and the change of the added-mass wrench by a current."""
        if self.fluid is None:
            return super().stream_efforts(q, v, twist, rotation)
        water, jacobians = self._water(), self._jacobians()
        current = np.array([rotation.T @ water.current] * len(jacobians))
        return wrenches_to_efforts(jacobians, stream_wrenches(water, jacobians @ twist, current))

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law of a body in a fluid; none without a fluid."""
        if self.fluid is None:
            return super().law_numbers()
        along, water = np.concatenate([np.zeros(3), self._center]), self._water()
        parts: list[Any] = [[1.0], along, along, _MOMENTS]
        for pose in self.port_poses.values():
            parts += [[0.0, 0.0], _STRAINS, pose.rotation.ravel(), pose.position]
        row: Array = np.concatenate(parts)
        whole = water.added + np.array([rigid_inertia(self.mass, self.com, self.inertia), np.zeros((6, 6))])
        head = 3 + len(row)
        return np.concatenate([[1.0, head, head + whole.size], row, whole.ravel(), water_numbers(water)])

    def fluid_parameters(self) -> dict[str, tuple[float, str]]:
        """Return the numbers of the fluid and of its effects, by dotted name, with units; none without a fluid."""
        if self.fluid is None:
            return {}
        numbers = {} if self.volume is None else {"volume": (self.volume, "m^3")}
        numbers |= {f"fluid.{name}": value for name, value in self.fluid.parameters().items()}
        if self.buoyancy_center is not None:
            numbers |= {f"buoyancy_center.{axis}": (float(x), "m") for axis, x in zip("xyz", self.buoyancy_center, strict=True)}
        numbers |= coefficient_parameters("added_mass", self.added_mass, ADDED)
        return numbers | coefficient_parameters("drag", self.drag, DRAG) | lift_parameters(self.lift, "m^2")

    def fluid_findings(self) -> list[Finding]:
        """Return what is wrong with the fields for the fluid."""
        reader = FieldReader(self.name)
        if self.fluid is None:
            said = ("volume", "buoyancy_center", "added_mass", "drag", "lift")
            report_dry(reader, {field: getattr(self, field) for field in said})
        elif self.volume is None:
            reader.report("no-volume", "volume", "nothing", "the volume that the body displaces", "write volume=0 for none")
        elif self.volume < 0:
            reader.report("negative-volume", "volume", self.volume, "a volume >= 0 (m^3)", "check the sign and the unit")
        return reader.findings


def _at_center(entries: list[Any]) -> Array:
    """Return diagonal matrices (2, k, k), zero at the reference frame."""
    return diagonals([_CENTER * entry for entry in entries])


def _at_frame(coefficients: Coefficients) -> Array:
    """Return a matrix, if it is one, at the reference frame (2, 6, 6)."""
    matrix = coefficients if isinstance(coefficients, np.ndarray) else np.zeros((6, 6))
    return np.array([matrix, np.zeros((6, 6))])
