"""Fields of bodies in a fluid: the fluid, and coefficients of what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from titop.blocks.bodies.water.fluid import Fluid
from titop.blocks.bodies.water.line_water import POTENTIAL
from titop.graph.files.fields import NUMBER, NUMBERS, Field, Kind
from titop.graph.files.reading import Reading, join
from titop.graph.files.records import Record
from titop.graph.files.rod_fields import without_functions


@dataclass(frozen=True)
class CoefficientsKind(Kind):
    """Coefficients: a number, a table of numbers by name, a matrix, or a word."""

    field: str

    def read(self, value: Any, where: str, reading: Reading) -> Any:
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
    "fluid": Field(Record(Fluid, {"density": Field(NUMBER), "current": Field(NUMBERS, (0.0, 0.0, 0.0))}), None),
    **{name: Field(CoefficientsKind(name), None) for name in ("added_mass", "drag")},
    "lift": Field(NUMBERS, None),
}
