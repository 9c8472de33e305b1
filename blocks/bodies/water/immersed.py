"""Fluid forces on rigid bodies, rods and beams.

- On a rigid body those of matrices act at its reference frame, all others at its centre of buoyancy. In kernels it is a rod
  without coordinates, from the former to the latter (see `titop.solvers.kernels.laws.rod_numbers`).
- On a beam they are exact to first order in its deformation: added mass and drag are those of the undeformed beam's sections,
  buoyancy follows the deformation.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, cross, gyroscopic_wrench, rigid_inertia, twist_transport
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.water.fluid import (
    Coefficients,
    Fluid,
    fluid_fields,
    of_direction,
    read_coefficients,
    read_fluid,
    read_lift,
    refuse_negative,
    report_dry,
)
from titop.blocks.bodies.water.immersion import (
    ADDED,
    DRAG,
    POTENTIAL,
    Water,
    diagonals,
    lifting,
    skews,
    stream_wrenches,
    sum_over_sections,
    water_around,
    water_numbers,
    weightless,
    wrenches_to_efforts,
)
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import Field, Kept, optional, scalar, vector
from titop.blocks.programs.repetition import summed


class Immersed(Block):
    """The part of rigid bodies and rods for a fluid that acts at some of their places."""

    #: Units of the coefficients of added mass and drag by name, and of lift.
    coefficient_units: ClassVar[tuple[dict[str, str], dict[str, str], str]] = (ADDED, DRAG, "1")

    def fluid_fields(self) -> ParameterFields:
        """Return the parameters of the fluid and of its effects; none without a fluid."""
        return fluid_fields(self, *self.coefficient_units)

    def with_parameters(self, values: dict[str, float]) -> Block:
        if self.fluid is not None:
            refuse_negative(self, fluid_fields(self, *self.coefficient_units), values)
        return super().with_parameters(values)

    def _water_at(self, q: Any) -> tuple[Water, Array] | None:
        """Return the fluid at s places, and their Jacobians (s, 6, 6 + n) by ``[V_P; v]``."""
        raise NotImplementedError

    def _in_places(self, vector: Array, q: Array) -> Array:
        """Return a vector (3) in the axes of all places (s, 3)."""
        raise NotImplementedError

    def added_inertia(self, q: Any) -> Array:
        if (places := self._water_at(q)) is None:
            return super().added_inertia(q)
        return sum_over_sections(places[0].added, places[1])

    def weightless_inertia(self, q: Array) -> Array:
        """Return the inertia of the displaced fluid and of the added mass."""
        if (places := self._water_at(q)) is None:
            return super().weightless_inertia(q)
        return sum_over_sections(weightless(places[0]), places[1])

    def stream_efforts(self, q: Array, v: Array, twist: Array, rotation: Array) -> Array:
        if (places := self._water_at(q)) is None:
            return super().stream_efforts(q, v, twist, rotation)
        water, jacobians = places
        current, moving, kept = self._in_places(rotation.T @ water.current, q), np.concatenate([twist, v]), water.streaming

        def of_sections(jacobians: Array, current: Array, *parts: Array) -> Array:
            wrenches = stream_wrenches(Water(water.current, *parts), jacobians @ moving, current)
            return wrenches_to_efforts(jacobians, wrenches)

        return summed(of_sections, jacobians[kept], current[kept], *(part[kept] for part in water[1:]), of=moving)


# -- rigid bodies --------------------------------------------------------------------------------------------------------------

#: The coefficients of rigid bodies by name, and their units.
_BODY_ADDED = dict.fromkeys(("all", "x", "y", "z"), "1")
_BODY_DRAG = dict.fromkeys(("all", "x", "y", "z"), "m^2") | dict.fromkeys(("turn", "turn_x", "turn_y", "turn_z"), "N m s^2")
_BODY_DRAG |= {"linear": "N s/m", "linear_turn": "N m s"}

#: Numbers of a step without strain, after its length, and mass and moments of two points, which full inertias replace.
_STRAINS, _MOMENTS = np.zeros(12), np.zeros(8)
#: Selects the centre of buoyancy of the two places.
_CENTER = np.array([0.0, 1.0])


class ImmersedBody(Immersed):
    """The part of `RigidBody` for a fluid."""

    mass: Any
    com: Any
    inertia: Any
    port_poses: dict[str, Pose]
    coefficient_units = (_BODY_ADDED, _BODY_DRAG, "m^2")

    #: The fluid around the body, or None.
    fluid = Kept(read_fluid)
    volume = Field(optional(scalar))
    buoyancy_center = Field(optional(vector))
    #: Added mass, drag and lift: coefficients by name, or matrices.
    added_mass = Field(lambda body, field, value: read_coefficients(body.reader, field, value, _BODY_ADDED))
    drag = Field(lambda body, field, value: read_coefficients(body.reader, field, value, _BODY_DRAG))
    lift = Field(lambda body, field, value: read_lift(body.reader, field, value))

    @property
    def _center(self) -> Array:
        center: Array = self.com if self.buoyancy_center is None else self.buoyancy_center
        return center

    def _water_at(self, q: Any) -> tuple[Water, Array] | None:
        """Return the fluid at the reference frame and the centre of buoyancy."""
        if self.fluid is None:
            return None
        return self._water(), np.array([np.eye(6), twist_transport(np.eye(3), self._center)])

    def _in_places(self, vector: Array, q: Array) -> Array:
        return np.array([vector, vector])

    def _water(self) -> Water:
        fluid, drag = self.fluid, self.drag
        assert fluid is not None
        mass, half = fluid.density * (0.0 if self.volume is None else self.volume), 0.5 * fluid.density
        added = [mass * of_direction(self.added_mass, (axis, "all")) for axis in "xyz"]
        areas = [half * of_direction(drag, (axis, "all")) for axis in "xyz"]
        turns = [of_direction(drag, (f"turn_{axis}", "turn")) for axis in "xyz"]
        linear = [of_direction(drag, (name,)) for name in ("linear", "linear_turn") for _ in "xyz"]
        return Water(
            fluid.current,
            np.outer(_CENTER, [mass, 0.0, 0.0, 0.0]),
            _at_center([*added, 0.0, 0.0, 0.0]) + _at_frame(self.added_mass),
            _at_center([*areas, 0.0, 0.0, 0.0]) + lifting(self.lift, half * _CENTER) + _at_frame(drag),
            _at_center(linear),
            _at_center(turns),
        )

    def law_numbers(self) -> Array:
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

    def fluid_fields(self) -> ParameterFields:
        if self.fluid is None:
            return {}
        fields: ParameterFields = {} if self.volume is None else {"volume": ("volume", (), "m^3")}
        if self.buoyancy_center is not None:
            fields |= {f"buoyancy_center.{axis}": ("buoyancy_center", (k,), "m") for k, axis in enumerate("xyz")}
        return fields | super().fluid_fields()

    def fluid_findings(self) -> list[Finding]:
        """Return what is wrong with the fields for the fluid."""
        reader = FieldReader(self.name)
        if self.fluid is None:
            fields = ("volume", "buoyancy_center", "added_mass", "drag", "lift")
            report_dry(reader, {field: getattr(self, field) for field in fields})
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


# -- beams ---------------------------------------------------------------------------------------------------------------------

#: Fields for a fluid.
FIELDS = ("fluid", "added_mass", "drag", "lift")


class ImmersedLine:
    """The sections of a beam with n coordinates, at k places (m) along x, in a fluid.

    A unit of each coordinate displaces and rotates them by (3, n, k) each.
    """

    def __init__(self, water: Water, places: Array, moved: Array, turned: Array) -> None:
        self._water = water
        self._still = water._replace(added=np.zeros_like(water.added))
        self._places, self._moved = np.outer(places, [1.0, 0.0, 0.0]), np.moveaxis(moved, 2, 0)
        n = moved.shape[1]
        self._jacobians = np.zeros((len(places), 6, 6 + n))
        self._jacobians[:, :, :6] = np.eye(6)
        self._jacobians[:, :3, 3:6] = -skews(self._places)
        self._jacobians[:, :3, 6:], self._jacobians[:, 3:, 6:] = self._moved, np.moveaxis(turned, 2, 0)
        #: The added mass (6 + n, 6 + n; kg, kg m and kg m^2).
        self.added = sum_over_sections(water.added, self._jacobians)

    def gyroscopic(self, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms (6 + n; N, N m) of the added mass."""
        return np.pad(gyroscopic_wrench(self.added[:6], np.concatenate([twist, v])), (0, len(v)))

    def displaced(self, q: Array) -> Array:
        """Return the inertia (6 + n, 6 + n) of the displaced fluid at coordinates (n)."""
        jacobians = self._jacobians.astype(np.result_type(q, float))
        jacobians[:, :3, 3:6] = -skews(self._places + self._moved @ q)
        return sum_over_sections(weightless(self._still), jacobians)

    def stream(self, v: Array, twist: Array, current: Array) -> Array:
        """Return drag, lift, and the change of the added-mass wrench by the current (3, m/s, in the base's axes) (6 + n)."""
        x, nothing = np.concatenate([twist, v]), np.zeros(3)
        drag = stream_wrenches(self._still, self._jacobians @ x, np.array([current] * len(self._places)))
        drift = np.concatenate([current, nothing, 0.0 * v])
        turning = np.concatenate([cross(twist[3:], current), nothing, 0.0 * v])
        with_stream = gyroscopic_wrench(self.added[:6], x) - gyroscopic_wrench(self.added[:6], x - drift)
        return wrenches_to_efforts(self._jacobians, drag) + np.pad(with_stream, (0, len(v))) - self.added @ turning

    def law_numbers(self, begin: int) -> Array:
        """Return the numbers of the compiled law that follow `begin` others; see `titop.solvers.kernels.laws.beam_water`."""
        mass = self._water.displaced[:, 0]
        displaced = [[mass.sum()], mass @ self._places, np.einsum("s,sij->ij", mass, self._moved)]
        parts = [self.added, *displaced, water_numbers(self._water), self._jacobians, [len(mass), begin]]
        return np.concatenate([np.ravel(part) for part in parts])


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
        dry, immersed = super().gyroscopic(q, v, twist), self._immersed
        if immersed is None:
            return dry
        # a flexible body applies the acceleration w x v to all of `mass_matrix`
        return dry - immersed.added[:, :3] @ cross(twist[3:], twist[:3]) + immersed.gyroscopic(v, twist)

    def added_inertia(self, q: Array) -> Array:
        return super().added_inertia(q) if self._immersed is None else self._immersed.added

    def weightless_inertia(self, q: Array) -> Array:
        """Return the inertia of the displaced fluid and of the added mass."""
        immersed = self._immersed
        return super().weightless_inertia(q) if immersed is None else immersed.displaced(q) + immersed.added

    def stream_efforts(self, q: Array, v: Array, twist: Array, rotation: Array) -> Array:
        if self._immersed is None:
            return super().stream_efforts(q, v, twist, rotation)
        return self._immersed.stream(v, twist, rotation.T @ self.fluid.current) + np.pad(0.0 * q, (6, 0))

    def law_numbers(self) -> Array:
        numbers = super().law_numbers()
        return numbers if self._immersed is None else np.concatenate([numbers, self._immersed.law_numbers(len(numbers))])
