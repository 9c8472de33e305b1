"""Fields of model files that are tables: poses, limits, friction, and tables of named values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import entry_of
from titop.blocks.basics.pose import Pose
from titop.blocks.joints.friction_and_limits import Friction, Limits
from titop.graph.files.file_fields import NUMBER, NUMBERS, UNLIMITED, FileField, ValueKind, read_fields, write_fields
from titop.graph.files.file_reading import FileReading, join


@dataclass(frozen=True)
class Record(ValueKind):
    """A table whose fields are the arguments of an object's constructor."""

    make: Callable[..., Any]
    fields: Mapping[str, FileField]

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the object."""
        before = len(reading.findings)
        table = reading.table(value, where)
        reading.refuse_unknown_keys(table, self.fields, where)
        values = read_fields(self.fields, table, where, reading)
        if len(reading.findings) > before:
            return None
        return made(lambda: self.make(**values), where, reading)

    def write(self, value: Any) -> dict[str, Any]:
        """Return the fields that differ from their defaults."""
        return write_fields(self.fields, value)


class PoseKind(Record):
    """A pose: a table of position and rotation vector, or the position alone."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a `Pose`."""
        if not isinstance(value, list | Mapping):
            advice = "write [x, y, z] or { position = [x, y, z], rotation_vector = [0, 0, 1.57] }"
            reading.report("wrong-type", where, value, "a position, or a table of position and rotation_vector", advice)
            return None
        return super().read({"position": value} if isinstance(value, list) else value, where, reading)

    def write(self, value: Any) -> Any:
        """Return only the position if there is no rotation."""
        entries = super().write(value)
        return entries if "rotation_vector" in entries else NUMBERS.write(value.position)


@dataclass(frozen=True)
class Named(ValueKind):
    """A table of names to values of one kind."""

    kind: ValueKind

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a dictionary."""
        table = reading.table(value, where)
        return {name: self.kind.read(entry, join(where, name), reading) for name, entry in table.items()}

    def write(self, value: Any) -> dict[str, Any]:
        """Return a dictionary."""
        return {name: self.kind.write(entry) for name, entry in value.items()}


@dataclass(frozen=True)
class PerCoordinate(ValueKind):
    """One value for all coordinates of a joint, or a list with one for each."""

    kind: ValueKind

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the value or the list."""
        if not isinstance(value, list):
            return self.kind.read(value, where, reading)
        return [self.kind.read(entry, f"{where}[{index}]", reading) for index, entry in enumerate(value)]

    def write(self, value: Any) -> Any:
        """Return one value if all are the same."""
        entries = [self.kind.write(entry) for entry in value]
        return entries[0] if all(entry == entries[0] for entry in entries) else entries


class FrictionKind(Record):
    """Dry friction of one coordinate; on a joint a row of four numbers."""

    def write(self, value: Any) -> dict[str, Any]:
        """Return a table."""
        coulomb, breakaway, *rest = (float(entry) for entry in value)
        return super().write(Friction(coulomb, None if breakaway == coulomb else breakaway, *rest))


def made(make: Callable[[], Any], where: str, reading: FileReading) -> Any:
    """Return the object that a constructor makes; None if it refuses, with findings at their place in the file."""
    try:
        return make()
    except ModelError as error:
        reading.add([moved(finding, where) for finding in error.findings])
        return None


def moved(finding: Finding, where: str) -> Finding:
    """Return a finding of an object with the object's place in the file."""
    return dataclasses.replace(finding, where=join(where, entry_of(finding.where)))


def _pose(position: Any = (0.0, 0.0, 0.0), rotation_vector: Any = (0.0, 0.0, 0.0)) -> Pose:
    return Pose.from_rotation_vector(position, rotation_vector)


def _record(cls: type, kind: ValueKind) -> dict[str, FileField]:
    """Return the fields of a dataclass whose fields are all of one kind."""
    return {field.name: FileField(kind, field.default) for field in dataclasses.fields(cls)}


POSE = PoseKind(_pose, dict.fromkeys(("position", "rotation_vector"), FileField(NUMBERS, (0.0, 0.0, 0.0))))
PORTS = Named(POSE)
SHAPES = Named(NUMBERS)
LIMITS = PerCoordinate(
    Record(Limits, _record(Limits, UNLIMITED) | dict.fromkeys(("stiffness", "dissipation"), FileField(NUMBER, 0.0)))
)
FRICTION = PerCoordinate(FrictionKind(Friction, _record(Friction, NUMBER)))
