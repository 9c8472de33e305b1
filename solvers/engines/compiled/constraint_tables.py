"""Rigid closures and gears as tables for the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.following import GROUND, Following, following, leading_tree
from titop.solvers.kernels.interface import layout

if TYPE_CHECKING:
    from titop.solvers.constraints.mechanism import ClosedMechanism
    from titop.solvers.engines.compiled.tables import Tables


def constraint_coefficients(model: ClosedMechanism, rows: dict[str, int]) -> list[tuple[int, Array]]:
    """Return first row, from `rows` by name, and weighted coefficients of the constraints of every rigid closure and gear."""
    result, start = [], 0
    for loop in model.rigid_loops:
        closure = loop.closure.rows
        table = np.column_stack([closure.linear, closure.rotation, closure.aligned1, closure.aligned2, closure.offset])
        weights = model.scale.weights[start : start + len(table), None]
        weighted = table * weights
        weighted[:, 9:12] = closure.aligned2
        result.append((rows[loop.closure.name], weighted))
        start += len(table)
    for constraint, weight in zip(model.gear_constraints, model.scale.weights[start:], strict=True):
        gear, coefficients = constraint.gear, np.zeros((1, 13))
        columns = np.array([layout.DRIVEN, layout.DRIVER, layout.OFFSET]) - layout.ALONG
        coefficients[0, columns] = weight, -weight * gear.ratio, weight * gear.offset
        result.append((rows[gear.name], coefficients))
    return result


def constraint_tables(model: ClosedMechanism, tables: Tables, imposed: Array) -> tuple[Array, Array]:
    """Return what kernels take of rigid closures and gears: their table `loops`, and the tree of the coordinates that lead.

    Coordinates whose motion is `imposed` (nv) follow none; those that gears join to them follow them.
    """
    gears = model.gear_constraints
    loops = np.zeros((1 + len(gears) + model.nv, layout.LOOPS_COLUMNS), dtype=np.int64)
    first, closures = len(model.constraint_names) - len(gears), len(model.rigid_loops)
    rows = [*tables.constraint_rows.values(), 0]
    jacobian = np.vstack([np.zeros((0, model.nv)), *(gear.jacobian(model.nv) for gear in gears)])
    taken = following(np.where(imposed, 0.0, jacobian))
    header = loops[0]
    header[layout.FIRST_RIGID], header[layout.RIGIDS], header[layout.ROWS] = rows[0], closures, len(model.constraint_names)
    header[layout.FIRST_GEAR], header[layout.GEARS], header[layout.FOLLOWERS] = rows[closures], len(gears), len(taken.gears)
    order = [*taken.gears.tolist(), *taken.others.tolist()]
    loops[1 : 1 + len(gears), layout.GEAR] = [rows[closures + k] for k in order]
    loops[1 : 1 + len(gears), layout.CONSTRAINT] = [first + k for k in order]
    loops[1 + len(gears) :, layout.LENGTH] = model.length_coordinates
    own = loops[1 : 1 + len(taken.gears)]
    own[:, layout.FOLLOWER], own[:, layout.LEADER] = taken.followers, _leaders(jacobian, taken)
    driven = np.array([gears[k].driven[1] for k in taken.gears])
    own[:, layout.SIDE] = np.where(taken.followers == driven, layout.DRIVEN, layout.DRIVER)
    leading, moves = taken.basis
    return loops, leading_tree(tables.tree, leading, moves == 0.0)


def _leaders(rows: Array, taken: Following) -> list[int]:
    """Return the other coordinate of each gear that takes one out, an imposed one among them; `GROUND` without any."""
    ends = [np.flatnonzero(row).tolist() for row in rows[taken.gears]]
    return [next((end for end in pair if end != own), GROUND) for pair, own in zip(ends, taken.followers, strict=True)]
