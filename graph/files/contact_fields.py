"""Fields of contacts in model files: the shape that is touched, and what touches it."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.interactions.shape import Shape
from titop.graph.files.fields import FLAG, NUMBERS, Kind
from titop.graph.files.reading import Reading, join
from titop.graph.files.rod_fields import ROD, made


class ShapeKind(Kind):
    """A shape: a table of its kind and dimensions."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
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


class TouchingKind(Kind):
    """What touches: a rod or a deformable body by its name, or a shape."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return the block or the shape."""
        return (SHAPE if isinstance(value, dict) else ROD).read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return the name or the table."""
        return (SHAPE if isinstance(value, Shape) else ROD).write(value)


class PointsKind(Kind):
    """A number of points, a list of abscissas, or rows of three numbers: lists stay lists, however short."""

    def read(self, value: Any, where: str, reading: Reading) -> Any:
        """Return a number or nested lists."""
        return NUMBERS.read(value, where, reading)

    def write(self, value: Any) -> Any:
        """Return a number or nested lists."""
        return np.asarray(value, dtype=float).tolist()


SHAPE, TOUCHING, POINTS = ShapeKind(), TouchingKind(), PointsKind()
