"""Length and rate of tendons, volume and rate of chambers, and their derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.interactions.rod_line import RodLine
from titop.solvers.signals.named_model import NamedModel
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotSlopes

#: The kind of what a line measures.
KINDS = {"length": Kind.LENGTH, "volume": Kind.VOLUME}
#: Ending of its rate.
RATE = "rate"


@dataclass(frozen=True)
class Lines:
    """Lines in rods: what they measure, and its rate."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        """Return what a name stands for."""
        owner, _, ending = name.rpartition(".")
        line = _lines(model).get(owner)
        if line is None or ending not in (line.measured, RATE):
            return None
        return Quantity(KINDS[line.measured], owner, (int(ending == RATE),), (name,))

    def names(self, model: NamedModel) -> Iterator[str]:
        """Yield all names."""
        return (f"{name}.{ending}" for name, line in _lines(model).items() for ending in (line.measured, RATE))


def line_values(at: Snapshot, of: Quantity) -> Array:
    """Return measure and rate (..., 2) of a line at a state."""
    line, in_q, in_v = _placed(at.model, of.owner)
    q, v = at.q[..., in_q], at.v[..., in_v]
    return np.stack([line.measure(q), line.rate(q, v)], axis=-1)


def line_derivatives(at: Snapshot, change: SnapshotSlopes, of: Quantity) -> Array:
    """Return the change (2, z) of measure and rate of a line with ``z = [states; inputs]``."""
    line, in_q, in_v = _placed(at.model, of.owner)
    q, v = at.q[in_q], at.v[in_v]
    gradient, turning = line.path.gradient(q), line.path.hessian(q) @ v
    return np.array([gradient @ change.q[in_v], turning @ change.q[in_v] + gradient @ change.v[in_v]])


def _lines(model: NamedModel) -> dict[str, RodLine]:
    return {loop.closure.name: loop.closure for loop in model.assembly.loops if isinstance(loop.closure, RodLine)}


def _placed(model: NamedModel, name: str) -> tuple[RodLine, list[int], list[int]]:
    """Return a line, and where the coordinates of its rods stand in q and in v."""
    line = _lines(model)[name]
    places = [model.assembly.place(coordinate) for coordinate in line.own_coordinates]
    return line, [at for at, _ in places], [at for _, at in places]
