"""Fields of rods, contacts, bodies in a fluid and devices in model files: sections, strains, shapes, coefficients, paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rods.rod_data import RodPort
from titop.blocks.bodies.rods.section import Section
from titop.blocks.bodies.rods.strains import StrainBasis
from titop.blocks.bodies.water.fluid import Fluid
from titop.blocks.bodies.water.immersion import POTENTIAL
from titop.blocks.devices.signal_path import LinearFilter, SignalPath
from titop.blocks.interactions.shape import Shape
from titop.graph.files.file_fields import FLAG, NUMBER, NUMBERS, TEXTS, FileField, Numbers, ValueKind, read_fields
from titop.graph.files.file_reading import FileReading, join
from titop.graph.files.records import POSE, Record, made


class ShapeKind(ValueKind):
    """A shape: a table of its kind and dimensions."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a `Shape`."""
        table = dict(reading.table(value, where))
        kind = reading.text(table.pop("kind", ""), join(where, "kind"))
        dimensions = {
            name: (FLAG if isinstance(entry, bool) else NUMBERS).read(entry, join(where, name), reading)
            for name, entry in table.items()
        }
        return made(lambda: Shape.of_kind(str(kind), **dimensions), where, reading)

    def write(self, value: Any) -> dict[str, Any]:
        """Return a table."""
        given = {name: entry for name, entry in value.dimensions.items() if entry is not None and entry is not False}
        return {"kind": value.kind} | {
            name: entry if isinstance(entry, bool) else NUMBERS.write(np.asarray(entry)) for name, entry in given.items()
        }


class TouchingKind(ValueKind):
    """The touching body of a contact: a rod or a deformable body by its name, or a shape."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the block or the shape."""
        return (SHAPE if isinstance(value, dict) else ROD).read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return the name or the table."""
        return (SHAPE if isinstance(value, Shape) else ROD).write(value)


class PointsKind(ValueKind):
    """A number of points, a list of abscissas, or rows of three numbers: lists stay lists, however short."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a number or nested lists."""
        return NUMBERS.read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return a number or nested lists."""
        return np.asarray(value, dtype=float).tolist()


SHAPE, TOUCHING, POINTS = ShapeKind(), TouchingKind(), PointsKind()


@dataclass(frozen=True)
class CoefficientsKind(ValueKind):
    """Coefficients: a number, a table of numbers by name, a matrix, or a word."""

    field: str

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a number, lists, a dictionary or the word."""
        if isinstance(value, dict):
            return {name: NUMBER.read(entry, join(where, name), reading) for name, entry in value.items()}
        return value if value == POTENTIAL else NUMBERS.read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return a table, lists or the word."""
        if isinstance(value, dict):
            return {name: NUMBER.write(entry) for name, entry in value.items()}
        return value if isinstance(value, str) else NUMBERS.write(without_functions(self.field, value))


#: What bodies and rods in a fluid have beside their other fields.
WATER = {
    "fluid": FileField(Record(Fluid, {"density": FileField(NUMBER), "current": FileField(NUMBERS, (0.0, 0.0, 0.0))}), None),
    **{name: FileField(CoefficientsKind(name), None) for name in ("added_mass", "drag")},
    "lift": FileField(NUMBERS, None),
}


class FilterTable(ValueKind):
    """A filter of a device: a table of its kind and numbers or of matrices, or a list of these."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a `LinearFilter`, or a list of them."""
        if isinstance(value, list):
            return [self.read(entry, f"{where}[{index}]", reading) for index, entry in enumerate(value)]
        table = reading.table(value, where)
        numbers = {
            name: reading.text(entry, join(where, name)) if name == "kind" else NUMBERS.read(entry, join(where, name), reading)
            for name, entry in table.items()
        }
        return made(lambda: LinearFilter.of_table(numbers), where, reading)

    def write(self, value: Any) -> Any:
        """Return a table, or a list of them."""
        return [each.described() for each in value] if isinstance(value, tuple) else value.described()


class UnlimitedNumbers(Numbers):
    """Numbers, which may be infinite."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a float or nested lists."""
        if not isinstance(value, list):
            return reading.number(value, where, True)
        return [self.read(entry, f"{where}[{index}]", reading) for index, entry in enumerate(value)]


#: The path of a device.
PATH = Record(
    SignalPath,
    {
        "filter": FileField(FilterTable(), None),
        "delay": FileField(NUMBER, 0.0),
        "sample_time": FileField(NUMBER, None),
        **{name: FileField(NUMBERS, 0.0) for name in ("bias", "noise_density", "random_walk", "quantum", "dead_zone")},
        "rate_limit": FileField(UnlimitedNumbers(), float("inf")),
        "limits": FileField(UnlimitedNumbers(), None),
    },
)


class SectionKind(ValueKind):
    """A cross-section: a table of its shape and dimensions; a list of two numbers tapers."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
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
class NumbersKind(ValueKind):
    """Numbers, which a block may have as a function instead: that cannot be written."""

    field: str

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a number or a list."""
        return NUMBERS.read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return a number or a list."""
        return NUMBERS.write(without_functions(self.field, value))


class RodsKind(ValueKind):
    """Rods by name."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the blocks."""
        names = TEXTS.read(value, where, reading) or []
        known = [name for name in names if name is not None and reading.knows_block(name, where)]
        return [reading.blocks.get(name) for name in known]

    def write(self, value: Any) -> list[str]:
        """Return their names."""
        return [rod.name for rod in value]


class RodKind(ValueKind):
    """A rod by its name."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the block."""
        name = reading.text(value, where)
        return reading.blocks.get(name) if name is not None and reading.knows_block(name, where) else None

    def write(self, value: Any) -> str:
        """Return its name."""
        return str(value.name)


class StrainsKind(ValueKind):
    """The free components of a strain: a table with an order or a basis for each, or the name of a theory."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a theory's name, or a dictionary."""
        if isinstance(value, str):
            return value
        table = reading.table(value, where)
        return {name: BASIS.read(entry, join(where, name), reading) for name, entry in table.items()}

    def write(self, value: Any) -> dict[str, Any]:
        """Return a table."""
        return {name: BASIS.write(basis) for name, basis in value.items()}


class BasisKind(ValueKind):
    """A basis: the order of Legendre polynomials, or a table of its kind and numbers."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
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


#: The table of a port.
_PORT = {"abscissa": FileField(NUMBER), "pose": FileField(POSE, Pose())}


class RodPortsKind(ValueKind):
    """Ports along a rod: abscissas, or tables of one and the pose in the section's frame."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
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


def without_functions(field: str, value: Any) -> Any:
    """Return a value that is no function.

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


SECTION, STRAINS, BASIS, ROD_PORTS, RODS, ROD = SectionKind(), StrainsKind(), BasisKind(), RodPortsKind(), RodsKind(), RodKind()
