"""Fields of rods, contacts, bodies in a fluid and devices in model files: sections, strains, shapes, coefficients, paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.rods.rod_data import RodPort
from titop.blocks.bodies.rods.section import Section
from titop.blocks.bodies.rods.strains import StrainBasis
from titop.blocks.bodies.water.fluid import Fluid
from titop.blocks.bodies.water.immersion import POTENTIAL
from titop.blocks.devices.path_filters import LinearFilter
from titop.blocks.devices.signal_path import PER_CHANNEL, SignalPath
from titop.blocks.interactions.shape import Shape
from titop.blocks.surroundings.facets import Facet
from titop.blocks.surroundings.gravity_field import CentralGravity
from titop.blocks.surroundings.magnetic_field import MagneticField
from titop.blocks.surroundings.orbit import Orbit
from titop.graph.files import file_fields as kinds
from titop.graph.files.file_fields import FLAG, NUMBER, NUMBERS, POSE, TEXT, FileField, ValueKind, named_values
from titop.graph.files.file_reading import FileReading, join


def numbers_of(field: str) -> ValueKind:
    """Return the kind of numbers that a block may have as a function instead: that cannot be written."""
    return kinds.numbers_as(lambda value: kinds.write_numbers(_not_a_function(field, value)))


def _not_a_function(field: str, value: Any) -> Any:
    if callable(value):
        raise ModelError(_unwritten(field, value))
    return value


def _unwritten(field: str, value: Any) -> Finding:
    return Finding("not-a-number", field, value, "numbers, which files can hold", "build this block in Python")


#: A number of points, a list of abscissas, or rows of three numbers: lists stay lists, however short.
POINTS = kinds.numbers_as(lambda value: np.asarray(value, dtype=float).tolist())


# -- rods ------------------------------------------------------------------------------------------------------------------


def _worded(word: str, default: str, make: Callable[..., Any], kind: ValueKind, write: Callable[[Any], Any]) -> ValueKind:
    """Return the kind of a table of a `word`, such as the kind of a shape, and values of one kind."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        table = dict(reading.table(value, where))
        name = reading.text(table.pop(word, default), join(where, word))
        values = named_values(kind, table, where, reading)
        return reading.build(lambda: make(str(name), **values), where)

    return ValueKind(read, write)


def _write_section(value: Section) -> dict[str, Any]:
    shape = {} if value.shape == "own" else {"shape": value.shape}
    return shape | {name: numbers_of(f"section.{name}").write(entry) for name, entry in value.dimensions.items()}


def _write_basis(value: StrainBasis) -> Any:
    if value.kind == "legendre":
        return value.number
    if not value.numbers:
        raise ModelError(_unwritten("strains", value))
    return {"kind": value.kind, **value.numbers}


_BASIS = _worded("kind", "legendre", StrainBasis.of_kind, NUMBER, _write_basis)
#: A cross-section: a table of its shape and dimensions; a list of two numbers tapers.
SECTION = _worded("shape", "own", Section.of_shape, NUMBERS, _write_section)
#: A basis: the order of Legendre polynomials, or a table of its kind and numbers.
BASIS = ValueKind(
    lambda value, where, reading: (_BASIS if isinstance(value, dict) else NUMBER).read(value, where, reading), _write_basis
)
_STRAINS = kinds.table_of(BASIS)
#: The free components of a strain: a table with an order or a basis for each, or the name of a theory.
STRAINS = ValueKind(
    lambda value, where, reading: value if isinstance(value, str) else _STRAINS.read(value, where, reading), _STRAINS.write
)


def _read_rod(value: Any, where: str, reading: FileReading) -> Any:
    name = kinds.BLOCK_NAME.read(value, where, reading)
    return None if name is None else reading.blocks.get(name)


#: A rod by its name, and a list of such.
ROD = ValueKind(_read_rod, lambda rod: str(rod.name))
RODS = kinds.list_of(ROD)

_PORT = {"abscissa": FileField(NUMBER), "pose": FileField(POSE, Pose())}


def _read_port(value: Any, where: str, reading: FileReading) -> Any:
    if not isinstance(value, dict):
        return NUMBER.read(value, where, reading)
    reading.refuse_unknown_keys(value, _PORT, where)
    entries = kinds.read_fields(_PORT, value, where, reading)
    return entries.get("abscissa"), entries.get("pose", Pose())


def _write_port(port: RodPort) -> Any:
    entries = kinds.write_fields(_PORT, port)
    return entries if "pose" in entries else entries["abscissa"]


#: Ports along a rod: abscissas, or tables of one and the pose in the section's frame.
ROD_PORTS = kinds.table_of(ValueKind(_read_port, _write_port))


# -- contacts, fluids ------------------------------------------------------------------------------------------------------


def _write_shape(value: Shape) -> dict[str, Any]:
    dimensions = {name: entry for name, entry in value.dimensions.items() if entry is not None and entry is not False}
    return {"kind": value.kind} | {name: _DIMENSION.write(entry) for name, entry in dimensions.items()}


_DIMENSION = ValueKind(
    lambda value, where, reading: (FLAG if isinstance(value, bool) else NUMBERS).read(value, where, reading),
    lambda value: value if isinstance(value, bool) else NUMBERS.write(value),
)
#: A shape: a table of its kind and dimensions.
SHAPE = _worded("kind", "", Shape.of_kind, _DIMENSION, _write_shape)
#: The touching body of a contact: a rod or a deformable body by its name, or a shape.
TOUCHING = ValueKind(
    lambda value, where, reading: (SHAPE if isinstance(value, dict) else ROD).read(value, where, reading),
    lambda value: (SHAPE if isinstance(value, Shape) else ROD).write(value),
)


def _coefficients(field: str) -> ValueKind:
    """Return the kind of coefficients: a number, a table of numbers by name, a matrix, or a word."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        if isinstance(value, dict):
            return named_values(NUMBER, value, where, reading)
        return value if value == POTENTIAL else NUMBERS.read(value, where, reading)

    def write(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: NUMBER.write(entry) for name, entry in value.items()}
        return value if isinstance(value, str) else numbers_of(field).write(value)

    return ValueKind(read, write)


#: What bodies and rods in a fluid have beside their other fields.
WATER = {
    "fluid": FileField(
        kinds.record(Fluid, {"density": FileField(NUMBER), "current": FileField(NUMBERS, (0.0, 0.0, 0.0))}), None
    ),
    **{name: FileField(_coefficients(name), None) for name in ("added_mass", "drag")},
    "lift": FileField(NUMBERS, None),
}


# -- gravity ---------------------------------------------------------------------------------------------------------------


def _read_gravity(value: Any, where: str, reading: FileReading) -> Any:
    if not isinstance(value, dict):
        return NUMBERS.read(value, where, reading)
    kind = value.get("kind")
    if kind not in FIELDS:
        reading.report("unknown-kind", join(where, "kind"), kind, " or ".join(FIELDS), 'write kind = "central"')
        return None
    return kinds.record(*FIELDS[kind]).read({name: entry for name, entry in value.items() if name != "kind"}, where, reading)


def _write_gravity(value: Any) -> Any:
    for kind, (cls, fields) in FIELDS.items():
        if type(value) is cls:
            return {"kind": kind, **kinds.write_fields(fields, value)}
    return NUMBERS.write(value)


#: Gravity: three numbers, or a table of the kind and the numbers of a field.
GRAVITY = ValueKind(_read_gravity, _write_gravity)

#: Fields of gravity by their kinds in files: the class, and its fields.
FIELDS: dict[str, tuple[type, dict[str, FileField]]] = {
    "central": (
        CentralGravity,
        {
            **dict.fromkeys(("mu", "radius"), FileField(NUMBER)),
            "j2": FileField(NUMBER, 0.0),
            "axis": FileField(NUMBERS, (0.0, 0.0, 1.0)),
        },
    ),
    "orbit": (
        Orbit,
        {
            "gravity": FileField(GRAVITY),
            "semi_major_axis": FileField(NUMBER),
            **dict.fromkeys(("eccentricity", "inclination", "node", "perigee", "anomaly"), FileField(NUMBER, 0.0)),
        },
    ),
}


def _facet(target: float = 0, **numbers: Any) -> Facet:
    return Facet(int(target) if target == int(target) else target, **numbers)  # type: ignore[arg-type]


_LIGHT = dict.fromkeys(("specular", "diffuse"), FileField(NUMBER, 0.0))
_PLATE = {"area": FileField(NUMBER), "normal": FileField(NUMBERS), "center": FileField(NUMBERS, (0.0, 0.0, 0.0))}
#: Facets, each a table; their targets are numbers of ports, from 0.
FACETS = kinds.list_of(kinds.record(_facet, {"target": FileField(NUMBER, 0), **_PLATE, **_LIGHT}))
MAGNETIC_FIELD = kinds.record(MagneticField, {"kind": FileField(TEXT), "vector": FileField(NUMBERS)})


# -- devices ---------------------------------------------------------------------------------------------------------------


def _read_filter(value: Any, where: str, reading: FileReading) -> Any:
    table = reading.table(value, where)
    numbers = {
        name: (TEXT if name == "kind" else NUMBERS).read(entry, join(where, name), reading) for name, entry in table.items()
    }
    return reading.build(lambda: LinearFilter.of_table(numbers), where)


_UNLIMITED_NUMBERS = kinds.numbers_as(kinds.write_numbers, infinite=True)
#: A filter of a device: a table of its kind and numbers or of matrices, or a list of these.
_FILTER = kinds.one_or_list_of(
    ValueKind(_read_filter, lambda value: value.described()),
    lambda value: [each.described() for each in value] if isinstance(value, tuple) else value.described(),
)
#: The path of a device.
PATH = kinds.record(
    SignalPath,
    {
        "filter": FileField(_FILTER, None),
        "delay": FileField(NUMBER, 0.0),
        "sample_time": FileField(NUMBER, None),
        **{name: FileField(NUMBERS, 0.0) for name in PER_CHANNEL if name != "rate_limit"},
        "correlation_time": FileField(NUMBERS, (1.0, 1e4)),
        **{name: FileField(NUMBERS, None) for name in ("scale_factor", "misalignment")},
        "rate_limit": FileField(_UNLIMITED_NUMBERS, float("inf")),
        "limits": FileField(_UNLIMITED_NUMBERS, None),
    },
)
