"""Fields of blocks in model files: how each kind of value is read and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.graph.files.file_reading import FileReading, join
from titop.graph.files.toml_text import format_value

#: The default of a field that must be given.
REQUIRED = object()


class ValueKind(ABC):
    """A kind of value.

    Both directions must agree: ``read(write(x))`` is x to the last bit.
    """

    @abstractmethod
    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a constructor's argument for a file's `value`; errors are reported to `reading`."""

    @abstractmethod
    def write(self, value: Any) -> Any:
        """Return a number, text, list or mapping for a block's attribute."""


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


@dataclass(frozen=True)
class Number(ValueKind):
    """A number or an expression; infinity too, if it is allowed."""

    infinite: bool = False

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a float."""
        return reading.number(value, where, self.infinite)

    def write(self, value: Any) -> float:
        """Return a float, also of an array with one entry."""
        return float(np.reshape(value, ()))


class Numbers(ValueKind):
    """A number, a list of numbers or a matrix."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a float or nested lists; shapes are checked by the block."""
        if not isinstance(value, list):
            return reading.number(value, where)
        return [self.read(entry, f"{where}[{index}]", reading) for index, entry in enumerate(value)]

    def write(self, value: Any) -> Any:
        """Return nested lists; a number for an array with one entry."""
        array = np.asarray(value, dtype=float)
        return array.item() if array.size == 1 else array.tolist()


class Symmetric(Numbers):
    """A symmetric matrix, or the diagonal of one."""

    def write(self, value: Any) -> Any:
        """Return the shortest form: 0, the diagonal, or the matrix."""
        array = np.asarray(value, dtype=float)
        if not array.any():
            return 0.0
        if array.ndim == 2 and np.array_equal(array, np.diag(np.diag(array))):
            array = np.diag(array)
        return super().write(array)


class Text(ValueKind):
    """A text."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the text."""
        return reading.text(value, where)

    def write(self, value: Any) -> str:
        """Return the text."""
        return str(value)


class Flag(ValueKind):
    """Yes or no."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a bool."""
        if not isinstance(value, bool):
            reading.report("wrong-type", where, value, "true or false", "write it without quotes")
        return value

    def write(self, value: Any) -> bool:
        """Return a bool."""
        return bool(value)


class Texts(ValueKind):
    """A list of texts."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a list."""
        if not isinstance(value, list):
            reading.report("wrong-type", where, value, "a list of texts", 'write ["first", "second"]')
            return None
        return [reading.text(entry, f"{where}[{index}]") for index, entry in enumerate(value)]

    def write(self, value: Any) -> list[str]:
        """Return a list."""
        return [str(entry) for entry in value]


class Port(ValueKind):
    """A port by its dotted name; a block's name stands for its reference frame."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a reference to the port."""
        return reading.port(value, where)

    def write(self, value: Any) -> str:
        """Return the dotted name."""
        return str(value)


class BlockName(Text):
    """The name of a block or of one of its coordinates."""

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return the name."""
        text = super().read(value, where, reading)
        return text if text is not None and reading.knows_block(text, where) else None


@dataclass(frozen=True)
class Listed(ValueKind):
    """A list of values of one kind."""

    kind: ValueKind

    def read(self, value: Any, where: str, reading: FileReading) -> Any:
        """Return a list."""
        if not isinstance(value, list):
            reading.report("wrong-type", where, value, "a list", 'write ["first", "second"]')
            return []
        return [self.kind.read(entry, f"{where}[{index}]", reading) for index, entry in enumerate(value)]

    def write(self, value: Any) -> list[Any]:
        """Return a list."""
        return [self.kind.write(entry) for entry in value]


NUMBER, UNLIMITED, NUMBERS, SYMMETRIC = Number(), Number(infinite=True), Numbers(), Symmetric()
TEXT, TEXTS, FLAG, PORT, BLOCK_NAME = Text(), Texts(), Flag(), Port(), BlockName()
PORT_LIST, COORDINATE_LIST = Listed(PORT), Listed(BLOCK_NAME)
