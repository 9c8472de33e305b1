"""Fields of rods in model files, and of lines and loads: cross-sections, strains, ports along the rod, routings, densities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rods.rod_ports import RodPort
from titop.blocks.bodies.rods.section import Section
from titop.blocks.bodies.rods.strain_basis import StrainBasis
from titop.graph.files.fields import NUMBER, NUMBERS, TEXTS, Field, Kind, read_fields
from titop.graph.files.reading import Reading, join
from titop.graph.files.records import POSE, moved


class SectionKind(Kind):
    """A cross-section: a table of its shape and dimensions; a list of two numbers tapers."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a `Section`."""
        table = dict(reading.table(value, where))
        shape = reading.text(table.pop("shape", "own"), join(where, "shape"))
        dimensions = {name: NUMBERS.read(entry, join(where, name), reading) for name, entry in table.items()}
        return made(lambda: Section.of_shape(str(shape), **dimensions), where, reading)

    def write(self, value: Any) -> dict[str, Any]:
        """Return a table."""
        shape = {} if value.shape == "own" else {"shape": value.shape}
        return shape | {
            name: NUMBERS.write(without_functions(f"section.{name}", entry)) for name, entry in value.dimensions.items()
        }


@dataclass(frozen=True)
class DimensionKind(Kind):
    """A number, or two at the ends of a line."""

    field: str

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a number or a list."""
        return NUMBERS.read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return a number or a list."""
        return NUMBERS.write(without_functions(self.field, value))


class RodsKind(Kind):
    """Rods by name."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return the blocks."""
        names = TEXTS.read(value, where, reading) or []
        known = [name for name in names if name is not None and reading.knows_block(name, where)]
        return [reading.blocks.get(name) for name in known]

    def write(self, value: Any) -> list[str]:
        """Return their names."""
        return [rod.name for rod in value]


class RodKind(Kind):
    """A rod by its name."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return the block."""
        name = reading.text(value, where)
        return reading.blocks.get(name) if name is not None and reading.knows_block(name, where) else None

    def write(self, value: Any) -> str:
        """Return its name."""
        return str(value.name)


@dataclass(frozen=True)
class DensityKind(DimensionKind):
    """Three numbers, or rows of three."""


class StrainsKind(Kind):
    """The free components of a strain: a table with an order or a basis for each, or the name of a theory."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a theory's name, or a dictionary."""
        if isinstance(value, str):
            return value
        table = reading.table(value, where)
        return {name: BASIS.read(entry, join(where, name), reading) for name, entry in table.items()}

    def write(self, value: Any) -> dict[str, Any]:
        """Return a table."""
        return {name: BASIS.write(basis) for name, basis in value.items()}


class BasisKind(Kind):
    """A basis: the order of Legendre polynomials, or a table of its kind and numbers."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a number or a `StrainBasis`."""
        if not isinstance(value, dict):
            return NUMBER.read(value, where, reading)
        table = dict(value)
        kind = reading.text(table.pop("kind", "legendre"), join(where, "kind"))
        numbers = {name: NUMBER.read(entry, join(where, name), reading) for name, entry in table.items()}
        return made(lambda: StrainBasis.of_kind(str(kind), **numbers), where, reading)

    def write(self, value: Any) -> Any:
        """Return the order, or a table."""
        if value.kind == "legendre":
            return value.number
        if not value.numbers:
            raise ModelError(_unwritten("strains", value))
        return {"kind": value.kind, **value.numbers}


class StrainKind(Kind):
    """A reference strain, of six numbers."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a list."""
        return NUMBERS.read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return a list."""
        return NUMBERS.write(without_functions("reference_strain", value))


#: The table of a port.
_PORT = {"abscissa": Field(NUMBER), "pose": Field(POSE, Pose())}


class RodPortsKind(Kind):
    """Ports along a rod: abscissas, or tables of one and the pose in the section's frame."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a dictionary."""
        found: dict[str, Any] = {}
        for name, entry in reading.table(value, where).items():
            place = join(where, name)
            if isinstance(entry, dict):
                reading.refuse_unknown_keys(entry, _PORT, place)
                given = read_fields(_PORT, entry, place, reading)
                found[name] = (given.get("abscissa"), given.get("pose", Pose()))
            else:
                found[name] = NUMBER.read(entry, place, reading)
        return found

    def write(self, value: Any) -> dict[str, Any]:
        """Return a table."""
        return {name: _port_entry(port) for name, port in value.items()}


def _port_entry(port: RodPort) -> Any:
    abscissa, pose = NUMBER.write(port.abscissa), POSE.write(port.pose)
    return abscissa if pose == [0.0, 0.0, 0.0] else {"abscissa": abscissa, "pose": pose}


def made(make: Callable[[], Any], where: str, reading: Reading) -> Any:
    """Return what a constructor makes; what it refuses is reported at its place in the file, and None returned."""
    try:
        return make()
    except ModelError as error:
        reading.add([moved(finding, where) for finding in error.findings])
        return None


def without_functions(field: str, value: Any) -> Any:
    """Return what is no function.

    Raises
    ------
    ModelError
        If it is one: files hold numbers.
    """
    if callable(value):
        raise ModelError(_unwritten(field, value))
    return value


def _unwritten(field: str, value: Any) -> Finding:
    return Finding("not-a-number", field, value, "numbers, which files can hold", "build this block in Python")


SECTION, STRAINS, BASIS, STRAIN, ROD_PORTS = SectionKind(), StrainsKind(), BasisKind(), StrainKind(), RodPortsKind()
RODS, ROD = RodsKind(), RodKind()
