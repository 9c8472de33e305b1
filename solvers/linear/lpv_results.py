"""What is found at the points of a family."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from titop.blocks.basics.spatial import Array


@dataclass
class Results:
    """What was found at stacked points; not a number where there is no equilibrium."""

    A: Array
    B: Array
    C: Array
    D: Array
    q: Array
    v: Array
    tau: Array
    u: Array
    x: Array
    y: Array
    a: Array
    drift: Array
    valid: Array
    states: Array

    @classmethod
    def empty(cls, count: int, like: Results) -> Results:
        """Return results for `count` points, all without an equilibrium."""
        arrays = {field.name: getattr(like, field.name) for field in fields(cls) if field.name not in ("valid", "states")}
        blank = {name: np.full((count, *array.shape[1:]), np.nan) for name, array in arrays.items()}
        return cls(**blank, valid=np.zeros(count, dtype=bool), states=like.states)

    def put(self, rows: Array, part: Results) -> None:
        """Put other results into some rows."""
        for field in fields(self):
            if field.name != "states":
                getattr(self, field.name)[rows] = getattr(part, field.name)
