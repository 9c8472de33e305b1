"""Length and rate of tendons, volume and rate of chambers, and their derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly
from titop.solvers.signals.named_model import NamedModel
from titop.solvers.signals.quantities import Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges

if TYPE_CHECKING:
    from titop.blocks.interactions.line import Line


def line_values(at: Snapshot, of: Quantity) -> Array:
    """Return measure and rate (..., 2) of a line at a state."""
    line, in_q, in_v = _line_and_places(at.model, of.owner)
    q, v = at.q[..., in_q], at.v[..., in_v]
    measure, gradient = at.model.mechanism.engine.observations.along_line(line, q)
    return np.array([measure, (gradient * v).sum(-1)]).T


def line_derivatives(at: Snapshot, change: SnapshotChanges, of: Quantity) -> Array:
    """Return the change (2, z) of measure and rate of a line with ``z = [states; inputs]``."""
    line, in_q, in_v = _line_and_places(at.model, of.owner)
    q, v = at.q[in_q], at.v[in_v]
    observations = at.model.mechanism.engine.observations
    gradient, turning = observations.along_line(line, q)[1], observations.line_curvature(line, q) @ v
    return np.array([gradient @ change.q[in_v], turning @ change.q[in_v] + gradient @ change.v[in_v]])


def lines_of(model: NamedModel) -> dict[str, Line]:
    """Return the lines in rods and deformable bodies by name."""
    return {loop.closure.name: loop.closure for loop in model.mechanism.interactions if loop.closure.measured}


def line_places(assembly: Assembly) -> dict[str, tuple[Array, Array]]:
    """Return the indices in q and in v of the coordinates of the bodies that each line runs through, by the line's name."""
    lines = [loop.closure for loop in assembly.loops if loop.closure.measured]
    places = {line.name: [assembly.place(coordinate) for coordinate in line.own_coordinates] for line in lines}
    pairs = {name: np.array(each, int).reshape(-1, 2).T for name, each in places.items()}
    return {name: (in_q.copy(), in_v.copy()) for name, (in_q, in_v) in pairs.items()}


def _line_and_places(model: NamedModel, name: str) -> tuple[Line, Array, Array]:
    """Return a line, and the indices in q and in v of the coordinates of the bodies that it runs through."""
    return lines_of(model)[name], *model.mechanism.line_places[name]
