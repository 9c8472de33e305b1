"""The data of a rod: its ports, its fields and its parameters; all but the law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.choices import Undecided
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose, pose_suspicions, read_pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.rigid_body import port_fields
from titop.blocks.bodies.rods.discretisation import (
    MAX_POINTS,
    RodLayout,
    RodMaterial,
    RodNumbers,
    breaks_of,
    check_points,
    fine_points,
    rod_numbers,
)
from titop.blocks.bodies.rods.section import Section
from titop.blocks.bodies.rods.strains import COMPONENTS, STRAIGHT, StrainBasis, read_reference, read_strains, reference_along
from titop.blocks.bodies.water.fluid import Fluid, read_coefficients, read_fluid, read_lift, report_dry
from titop.blocks.bodies.water.immersed import Immersed
from titop.blocks.bodies.water.immersion import ADDED, DRAG, POTENTIAL, water_around
from titop.blocks.contract.block import Block, ParameterFields, check_port_name, number_at
from titop.blocks.contract.fields import Consumed, Field, Fixed, Kept, optional, scalar

#: Name of the port at the tip, which every rod has.
TIP = "tip"


class RodPort(NamedTuple):
    """Where a port stands: abscissa (m) for the length with which the rod was made, and pose in the frame of the section."""

    abscissa: float
    pose: Pose


def read_rod_ports(reader: FieldReader, ports: Any, length: float) -> dict[str, RodPort]:
    """Read the ports of a rod: abscissas X (m), or pairs of one and a pose in the section's frame; the tip comes first."""
    read = {TIP: RodPort(length, Pose())}
    for name, value in reader.mapping("ports", ports, "names to abscissas", '{"camera": 0.2}').items():
        check_port_name(reader, name)
        read[str(name)] = _read_port(reader, f"ports.{name}", value, length)
    return read


def _read_port(reader: FieldReader, field: str, value: Any, length: float) -> RodPort:
    pose = Pose()
    if isinstance(value, tuple) and len(value) == 2:
        value, pose = value[0], read_pose(reader, field, value[1])
    array = real_array(value)
    if array is None or array.shape:
        expected, advice = "an abscissa (m), or (abscissa, pose in the section's frame)", "write 0.2 or (0.2, tt.Pose(...))"
        reader.report("wrong-type", field, value, expected, advice)
        return RodPort(length, pose)
    abscissa = reader.scalar(field, value)
    if not -SAME * length <= abscissa <= (1.0 + SAME) * length:
        if np.isfinite(abscissa):
            advice = "count from the base, in metres; what lies beyond the rod is placed by a pose"
            reader.report("off-the-rod", field, abscissa, f"an abscissa from 0 to the length, {length:g} m", advice)
        return RodPort(length, pose)
    return RodPort(float(np.clip(abscissa, 0.0, length)), pose)


#: The scalar parameters, and their units; of the last two one is given.
_SCALARS = {"length": "m", "density": "kg/m^3", "young": "Pa", "damping": "Pa s", "poisson": "1", "shear_modulus": "Pa"}
#: Replacements for invalid fields, so that all errors are found.
_UNIT_MATERIAL, _UNIT_RADIUS = RodMaterial(1.0, 0.5, 1.0, 0.0), 0.1


def _read_section(rod: Block, field: str, value: Any) -> Section:
    if isinstance(value, Section):
        return value
    rod.reader.report("wrong-type", field, value, "a tt.Section", "write tt.Section.circle(radius=0.01)")
    return Section.circle(_UNIT_RADIUS)


class RodData(Immersed):
    """The part of `Rod` that is data."""

    has_sections = True
    file_tables = ("bodies",)

    length = Field(scalar)
    young = Field(scalar)
    density = Field(scalar)
    damping = Field(scalar)
    #: Poisson's ratio, or None if the shear modulus was given.
    poisson = Kept(optional(scalar))
    #: The shear modulus (Pa), or None if Poisson's ratio was given.
    given_shear_modulus = Kept(optional(scalar), "shear_modulus", lambda self: self._shear_modulus())
    #: The shear modulus (Pa), given or by Poisson's ratio.
    shear_modulus: Any
    #: The fluid around the rod, or None.
    fluid = Kept(read_fluid)
    #: Added mass, drag and lift: coefficients by name, matrices, or functions of X that return these.
    added_mass = Field(lambda rod, field, value: read_coefficients(rod.reader, field, value, ADDED, (POTENTIAL,), along=True))
    drag = Field(lambda rod, field, value: read_coefficients(rod.reader, field, value, DRAG, along=True))
    lift = Field(lambda rod, field, value: read_lift(rod.reader, field, value))
    section = Field(_read_section)
    reference_strain = Field(lambda rod, field, value: read_reference(rod.reader, value))
    #: The basis of every free component of the strain, by name.
    strains = Fixed[dict[str, StrainBasis]](lambda rod, field, value: value)
    basis = Consumed()
    ports = Fixed[tuple[str, ...]](lambda rod, field, value: value)  # type: ignore[assignment]
    points = Fixed(lambda rod, field, value: rod.reader.integer(field, value, 1, MAX_POINTS))

    def __init__(
        self,
        name: str,
        length: float,
        section: Section,
        young: float,
        density: float,
        poisson: float | None = None,
        shear_modulus: float | None = None,
        damping: float = 0.0,
        strains: Any = "kirchhoff",
        basis: Any = 3,
        reference_strain: Any = STRAIGHT,
        ports: Any = None,
        points: int = 5,
        fluid: Fluid | None = None,
        added_mass: Any = None,
        drag: Any = None,
        lift: Any = None,
    ) -> None:
        super().__init__(name)
        reader = self.reader
        self.length, self.young, self.density, self.damping = length, young, density, damping
        if poisson is not None and shear_modulus is not None:
            reader.report("poisson-or-shear", "poisson", "both", "poisson or shear_modulus", "give one of the two")
        if shear_modulus is None and poisson is None:
            poisson = 0.3
        self.poisson, self.given_shear_modulus = poisson, shear_modulus
        self.fluid, self.added_mass, self.drag, self.lift = fluid, added_mass, drag, lift
        self.section, self.reference_strain = section, reference_strain
        self.strains = read_strains(reader, strains, basis)
        self.points = points
        #: The original length (m): functions of X are called with it, even if the length changes.
        self.given_length = self.length if 0 < self.length < math.inf else 1.0
        #: The ports by name.
        self.rod_ports: dict[str, RodPort] = read_rod_ports(reader, ports, self.given_length)
        self.ports = tuple(self.rod_ports)
        if not any(finding.where == f"{self.name}.points" for finding in reader.findings):
            check_points(reader, self.strains, self.points, self.given_length)
        self.coordinates = tuple(f"{name}{k}" for name, basis in self.strains.items() for k in range(basis.count))
        self._update()

    # -- what follows from the fields ------------------------------------------------------------------------------------

    def _update(self) -> None:
        reader = FieldReader(self.name)
        if self.reader.findings or not any(map(self._is_unknown, self.parameter_fields().values())):
            self._check_scalars(reader)
            if not reader.findings and not self.reader.findings:
                self._check_functions(reader)
        self._findings = reader.findings
        #: The numbers of the law.
        self.numbers = self._numbers(usable=not (reader.findings or self.reader.findings))
        #: The same with steps to other places, cached.
        self._reached: dict[bytes, RodNumbers] = {}

    def _is_unknown(self, parameter: tuple[str, tuple[Any, ...], str]) -> bool:
        """Tell whether a parameter, by field, path and unit, is an argument of a program that is recorded."""
        return isinstance(number_at(getattr(self, parameter[0]), parameter[1]), Undecided)

    def _numbers(self, usable: bool) -> RodNumbers:
        """Return the numbers of the law; if fields are invalid, those of another rod with as many coordinates."""
        if usable:
            return self.numbers_to([port.abscissa / self.given_length for port in self.rod_ports.values()])
        strains = {name: StrainBasis.legendre(basis.count - 1) for name, basis in self.strains.items()}
        points = max((basis.count for basis in strains.values()), default=1)
        layout = RodLayout(strains or {COMPONENTS[0]: StrainBasis.legendre(0)}, points, [1.0] * len(self.rod_ports), 1.0)
        return rod_numbers(layout, 1.0, Section.circle(_UNIT_RADIUS), _UNIT_MATERIAL, np.array(STRAIGHT))

    def numbers_to(self, places: Sequence[float]) -> RodNumbers:
        """Return the numbers of the law with steps to some places in place of those to the ports.

        Parameters
        ----------
        places : sequence of float
            As fractions of the length.
        """
        material = RodMaterial(self.young, self.shear_modulus, self.density, self.damping)
        return rod_numbers(self._layout(places), self.length, self.section, material, self.reference_strain, water_around(self))

    def _layout(self, places: Sequence[float]) -> RodLayout:
        """Return the layout of points and of steps to some places."""
        return RodLayout(self.strains, self.points, places, self.given_length)

    def fractions(self, abscissas: Any) -> Array:
        """Return places (k, no unit) along the rod as fractions of the length.

        Parameters
        ----------
        abscissas : array_like (k,), m

        Raises
        ------
        ModelError
            If they are not on the rod.
        """
        return FieldReader(self.name).fractions("abscissas", abscissas, self.length)

    def _check_scalars(self, reader: FieldReader) -> None:
        shear_modulus = 1.0 if self.given_shear_modulus is None else self.given_shear_modulus
        positive = {"length": self.length, "young": self.young, "density": self.density, "shear_modulus": shear_modulus}
        for name, value in positive.items():
            if np.real(value) <= 0:
                reader.report(f"bad-{name.replace('_', '-')}", name, value, "a value > 0", "check the sign and the unit")
        if np.real(self.damping) < 0:
            advice = "check the sign: a rod would feed energy"
            reader.report("bad-damping", "damping", self.damping, "a viscosity >= 0 (Pa s)", advice)
        if self.fluid is None:
            report_dry(reader, {"added_mass": self.added_mass, "drag": self.drag, "lift": self.lift})
        if self.poisson is not None and np.real(self.poisson) <= -1:
            reader.report("bad-poisson", "poisson", self.poisson, "a ratio > -1, mostly from 0 to 0.5", "check the value")

    def _check_functions(self, reader: FieldReader) -> None:
        """Report what is wrong with functions along the rod."""
        breaks = breaks_of(self.strains.values())
        fractions, _ = fine_points(breaks, self.points)
        try:
            poisson = np.real(self.young / (2.0 * self.shear_modulus) - 1.0)
            reader.findings += self.section.findings(f"{self.name}.section", fractions, self.given_length, poisson)
            reference = np.real(reference_along(self.reference_strain, fractions, self.given_length))
            if around := water_around(self):
                reader.findings += around.findings(self.name, fractions, self.given_length)
        except ModelError as error:
            reader.findings += [replace(finding, where=f"{self.name}.{finding.where}") for finding in error.findings]
            return
        if not (reference[:, 3] > 0).all():
            lowest = reference[:, 3].min()
            advice = "the fourth number is the stretch along x: 1 for a straight rod"
            reader.report("bad-reference", "reference_strain", f"stretch {lowest:.3g}", "a stretch > 0", advice)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self.poisson is not None and np.real(self.poisson) > 0.5:
            advice = "give shear_modulus for a material that is not the same in all directions"
            warnings.append(Finding("large-poisson", f"{self.name}.poisson", self.poisson, "a ratio <= 0.5", advice))
        for port, (_, pose) in self.rod_ports.items():
            warnings += pose_suspicions(f"{self.name}.{port}", pose)
        return errors + self._findings, warnings

    @property
    def named_ports(self) -> dict[str, RodPort]:
        """The ports other than the tip, at their current abscissas."""
        named = {name: port for name, port in self.rod_ports.items() if name != TIP or port != (self.given_length, Pose())}
        stretch = self.length / self.given_length
        return {name: port._replace(abscissa=port.abscissa * stretch) for name, port in named.items()}

    def _shear_modulus(self) -> Any:
        if self.given_shear_modulus is not None:
            return self.given_shear_modulus
        assert self.poisson is not None
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def mass(self) -> Any:
        """The rod's mass (kg)."""
        return self.numbers.inertia[:, 0].sum()

    @property
    def breaks(self) -> list[float]:
        """Places where the rod is not smooth, as fractions of its length, with both ends."""
        layout = self._layout(())
        return breaks_of(layout.bases.values(), layout.cuts)

    @property
    def strain_coordinates(self) -> tuple[str, ...]:
        """Names of the strain coordinates."""
        return self.coordinates[: sum(basis.count for basis in self.strains.values())]

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Units of the coordinates: rad for torsion and bending, m for elongation and shear."""
        return tuple("rad" if component < 3 else "m" for component in self.numbers.components)

    @property
    def coordinate_scales(self) -> Array:  # type: ignore[override]
        """Range of each coordinate (n) over which the law is nearly linear: a radian, a tenth of the length (m)."""
        return np.where(self.numbers.components < 3, 1.0, 0.1 * np.real(self.length))

    def is_shaped_like(self, other: RodData) -> bool:
        """Tell whether sections have the shapes and poses of an `other` rod at equal coordinates."""
        lengths = (self.length, self.given_length) == (other.length, other.given_length)
        straight = np.array_equal(self.reference_strain, other.reference_strain)
        return lengths and straight and self.section is other.section and self.strains == other.strains

    # -- parameters ------------------------------------------------------------------------------------------------------

    def parameter_fields(self) -> ParameterFields:
        """Return length, material, the section's and the reference strain's numbers (unless functions), and ports' poses.

        If the length is changed, ports and functions of X are scaled with it.
        """
        absent = {"shear_modulus" if self.given_shear_modulus is None else "poisson"}
        fields: ParameterFields = {name: (name, (), unit) for name, unit in _SCALARS.items() if name not in absent}
        if "shear_modulus" in fields:
            fields["shear_modulus"] = ("given_shear_modulus", (), "Pa")
        fields |= self.section.fields("section")
        if not callable(self.reference_strain):
            units = ("rad/m",) * 3 + ("1",) * 3
            for k, (name, unit) in enumerate(zip(COMPONENTS, units, strict=True)):
                fields[f"reference_strain.{name}"] = ("reference_strain", (k,), unit)
        return fields | port_fields(self.ports, "rod_ports", (1,)) | self.fluid_fields()
