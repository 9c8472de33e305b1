"""Lines in rods and deformable bodies, with their lengths and volumes; sections of rods, and cuts that show their wrenches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from titop.blocks.basics.paths import split_path
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, PortRef
from titop.graph.network.assembly import Assembly, loop_among
from titop.solvers.signals.quantities import NamedModel, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges

if TYPE_CHECKING:
    from titop.blocks.bodies.rods.rod import Rod
    from titop.blocks.interactions.line import Line


def line_values(at: Snapshot, of: Quantity) -> Array:
    """Return measure and rate (..., 2) of a line at a state."""
    line, in_q, in_v = _line_and_places(at.model, of.owner)
    q, v = at.q[..., in_q], at.v[..., in_v]
    measure, gradient = at.model.mechanism.engine.observations.along_line(line, q)
    return np.array([measure, (gradient * v).sum(-1)]).T


def line_derivatives(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
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


def is_rod(block: Block | None) -> TypeGuard[Rod]:
    """Tell whether a block is a rod."""
    return block is not None and block.has_sections


def is_on_rod(assembly: Assembly, port: str) -> bool:
    """Tell whether a name is that of a port of a rod; the name of a rod stands for its base."""
    name, port_name = split_path(port)
    rod = assembly.blocks.get(name)
    return is_rod(rod) and (port_name is None or port_name in rod.rod_ports)


def section_of(assembly: Assembly, port: str) -> tuple[Rod, float]:
    """Return the rod of a port, and the port's abscissa as a fraction of its length."""
    name, port_name = split_path(port)
    rod = assembly.blocks[name]
    assert is_rod(rod)
    return rod, rod.rod_ports[port_name].abscissa / rod.given_length if port_name else 0.0


def cut_rod_at(assembly: Assembly, rod: Rod, fraction: float) -> Assembly:
    """Return an assembly with a rod cut at a section: it has six more coordinates, after those of the rod."""
    from titop.blocks.bodies.rods.rod import CutRod

    blocks = {**assembly.blocks, rod.name: CutRod(rod, fraction)}

    def on_blocks(ref: PortRef) -> PortRef:
        return PortRef(blocks[ref.block.name], ref.name)

    return replace(
        assembly,
        connections=tuple(replace(c, parent=on_blocks(c.parent), child=on_blocks(c.child)) for c in assembly.connections),
        loops=tuple(loop_among(loop, blocks) for loop in assembly.loops),
    )
