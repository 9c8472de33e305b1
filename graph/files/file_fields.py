"""Fields of blocks in model files: how each kind of value is read and written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.joints.friction_and_limits import Friction, Limits
from titop.graph.files.file_reading import FileReading, join
from titop.graph.files.toml_text import format_value

#: The default of a field that must be given.
REQUIRED = object()


@dataclass(frozen=True)
class ValueKind:
    """A kind of value, as two functions that agree: ``read(write(x))`` is x to the last bit.

    Attributes
    ----------
    read : callable
        Takes a file's value, its dotted place, and a `FileReading` that collects errors; returns what a constructor takes.
    write : callable
        Takes a block's attribute; returns a number, text, list or mapping.
    """

    read: Callable[[Any, str, FileReading], Any]
    write: Callable[[Any], Any]


@dataclass(frozen=True)
class FileField:
    """A field of a block.

    Attributes
    ----------
    kind : ValueKind
    default : object
        What a missing field means, as the attribute's value or a function of the block; not written. None leaves it to the
        constructor, and every value is written. Without a default the field must be given.
    attribute : str or None
        Of the block; the field's own name by default. None for a field that only serves to find others.
    normalised : bool
        Whether the constructor normalises the value: one that already is normalised keeps its bits.
    """

    kind: ValueKind
    default: Any = REQUIRED
    attribute: str | None = ""
    normalised: bool = False


def read_fields(fields: Mapping[str, FileField], table: Mapping[str, Any], where: str, reading: FileReading) -> dict[str, Any]:
    """Return the values of a table's fields by name; other keys are ignored."""
    values = {}
    for name, field in fields.items():
        if name in table:
            values[name] = field.kind.read(table[name], join(where, name), reading)
        elif field.default is REQUIRED:
            reading.report("missing-key", join(where, name), "nothing", f"{name} = ...", "give it")
    return values


def write_fields(fields: Mapping[str, FileField], owner: Any) -> dict[str, Any]:
    """Return the fields of an object that differ from their defaults."""
    entries = {}
    for name, field in fields.items():
        if field.attribute is None:
            continue
        attribute = field.attribute or name
        if not hasattr(owner, attribute):
            advice = "keep what the constructor takes under its name, or let register_block name the fields to save"
            raise ModelError(Finding("not-kept", name, "no attribute of this name", f"the attribute {attribute}", advice))
        value = getattr(owner, attribute)
        default = field.default(owner) if callable(field.default) else field.default
        if value is None or value is default:
            continue
        entry = field.kind.write(value)
        if default is REQUIRED or default is None or format_value(entry) != format_value(field.kind.write(default)):
            entries[name] = entry
    return entries


# -- numbers, texts, names -------------------------------------------------------------------------------------------------


def _number(infinite: bool) -> ValueKind:
    return ValueKind(
        lambda value, where, reading: reading.number(value, where, infinite), lambda value: float(np.reshape(value, ()))
    )


def numbers_as(write: Callable[[Any], Any], infinite: bool = False) -> ValueKind:
    """Return the kind of a number, a list of numbers or a matrix, whose shape the block checks, with a way of writing it."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        return _entries(read, value, where, reading) if isinstance(value, list) else reading.number(value, where, infinite)

    return ValueKind(read, write)


def _entries(read: Callable[[Any, str, FileReading], Any], values: list[Any], where: str, reading: FileReading) -> list[Any]:
    return [read(entry, f"{where}[{index}]", reading) for index, entry in enumerate(values)]


def write_numbers(value: Any) -> Any:
    """Return nested lists; a number for an array with one entry."""
    array = np.asarray(value, dtype=float)
    return array.item() if array.size == 1 else array.tolist()


def _write_symmetric(value: Any) -> Any:
    """Return the shortest form of a symmetric matrix: 0, the diagonal, or the matrix."""
    array = np.asarray(value, dtype=float)
    if not array.any():
        return 0.0
    is_diagonal = array.ndim == 2 and np.array_equal(array, np.diag(np.diag(array)))
    return write_numbers(np.diag(array) if is_diagonal else array)


def _read_flag(value: Any, where: str, reading: FileReading) -> Any:
    if not isinstance(value, bool):
        reading.report("wrong-type", where, value, "true or false", "write it without quotes")
    return value


def _read_name(value: Any, where: str, reading: FileReading) -> str | None:
    text = reading.text(value, where)
    return text if text is not None and reading.knows_block(text, where) else None


def list_of(kind: ValueKind) -> ValueKind:
    """Return the kind of a list of values of one kind."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        if not isinstance(value, list):
            reading.report("wrong-type", where, value, "a list", 'write ["first", "second"]')
            return []
        return _entries(kind.read, value, where, reading)

    return ValueKind(read, lambda value: [kind.write(entry) for entry in value])


def one_or_list_of(kind: ValueKind, write: Callable[[Any], Any]) -> ValueKind:
    """Return the kind of one value of a kind, or a list of such."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        if isinstance(value, list):
            return _entries(kind.read, value, where, reading)
        return kind.read(value, where, reading)

    return ValueKind(read, write)


NUMBER, UNLIMITED = _number(infinite=False), _number(infinite=True)
NUMBERS, SYMMETRIC = numbers_as(write_numbers), numbers_as(_write_symmetric)
TEXT = ValueKind(lambda value, where, reading: reading.text(value, where), str)
FLAG = ValueKind(_read_flag, bool)
#: A port by its dotted name; a block's name stands for its reference frame.
PORT = ValueKind(lambda value, where, reading: reading.port(value, where), str)
#: The name of a block or of one of its coordinates.
BLOCK_NAME = ValueKind(_read_name, str)
TEXTS, PORT_LIST, COORDINATE_LIST = list_of(TEXT), list_of(PORT), list_of(BLOCK_NAME)


# -- tables ----------------------------------------------------------------------------------------------------------------


def table_of(kind: ValueKind) -> ValueKind:
    """Return the kind of a table of names to values of one kind."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        return named_values(kind, reading.table(value, where), where, reading)

    return ValueKind(read, lambda value: {name: kind.write(entry) for name, entry in value.items()})


def named_values(kind: ValueKind, table: Mapping[str, Any], where: str, reading: FileReading) -> dict[str, Any]:
    """Return the values of a table, all of one kind."""
    return {name: kind.read(entry, join(where, name), reading) for name, entry in table.items()}


def record(make: Callable[..., Any], fields: Mapping[str, FileField]) -> ValueKind:
    """Return the kind of a table whose fields are the arguments of an object's constructor."""

    def read(value: Any, where: str, reading: FileReading) -> Any:
        before = len(reading.findings)
        table = reading.table(value, where)
        reading.refuse_unknown_keys(table, fields, where)
        values = read_fields(fields, table, where, reading)
        return None if len(reading.findings) > before else reading.build(lambda: make(**values), where)

    return ValueKind(read, lambda value: write_fields(fields, value))


_VECTOR = FileField(NUMBERS, (0.0, 0.0, 0.0))
_POSE = record(
    lambda position=(0.0, 0.0, 0.0), rotation_vector=(0.0, 0.0, 0.0): Pose.from_rotation_vector(position, rotation_vector),
    {"position": _VECTOR, "rotation_vector": _VECTOR},
)


def _read_pose(value: Any, where: str, reading: FileReading) -> Any:
    if not isinstance(value, list | Mapping):
        advice = "write [x, y, z] or { position = [x, y, z], rotation_vector = [0, 0, 1.57] }"
        reading.report("wrong-type", where, value, "a position, or a table of position and rotation_vector", advice)
        return None
    return _POSE.read({"position": value} if isinstance(value, list) else value, where, reading)


def _write_pose(value: Pose) -> Any:
    entries = _POSE.write(value)
    return entries if "rotation_vector" in entries else write_numbers(value.position)


def _per_coordinate(kind: ValueKind) -> ValueKind:
    """Return the kind of one value for all coordinates of a joint, or a list with one for each."""

    def write(value: Iterable[Any]) -> Any:
        entries = [kind.write(entry) for entry in value]
        return entries[0] if all(entry == entries[0] for entry in entries) else entries

    return one_or_list_of(kind, write)


def _fields_of(cls: type, kind: ValueKind) -> dict[str, FileField]:
    """Return the fields of a dataclass whose fields are all of one kind."""
    return {field.name: FileField(kind, field.default) for field in dataclasses.fields(cls)}


_FRICTION = record(Friction, _fields_of(Friction, NUMBER))


def _write_friction(value: Any) -> Any:
    """Return the table of one coordinate's friction, which a joint has as a row of four numbers."""
    coulomb, breakaway, *rest = (float(entry) for entry in value)
    return _FRICTION.write(Friction(coulomb, None if breakaway == coulomb else breakaway, *rest))


#: A table of position and rotation vector, or the position alone.
POSE = ValueKind(_read_pose, _write_pose)
PORTS, SHAPES, FACTORS = table_of(POSE), table_of(NUMBERS), table_of(NUMBER)
LIMITS = _per_coordinate(
    record(Limits, _fields_of(Limits, UNLIMITED) | dict.fromkeys(("stiffness", "dissipation"), FileField(NUMBER, 0.0)))
)
FRICTION = _per_coordinate(ValueKind(_FRICTION.read, _write_friction))
