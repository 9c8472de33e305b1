"""Rigid closures and gears as tables for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.kernels import layout
from titop.solvers.loops.following import following, leading_tree

if TYPE_CHECKING:
    from titop.graph.flatten import Tables
    from titop.solvers.loops.closed_loops import ClosedLoops


def constraint_coefficients(model: ClosedLoops, rows: dict[str, int]) -> list[tuple[int, Array]]:
    """Return first row, from `rows` by name, and weighted coefficients of the constraints of every rigid closure and gear."""
    result, start = [], 0
    for loop in model.rigid_loops:
        closure = loop.closure.rows
        table = np.column_stack([closure.linear, closure.rotation, closure.aligned1, closure.aligned2, closure.offset])
        weights = model.closure_weights[start : start + len(table), None]
        weighted = table * weights
        weighted[:, 9:12] = closure.aligned2
        result.append((rows[loop.closure.name], weighted))
        start += len(table)
    for constraint, weight in zip(model.gear_constraints, model.closure_weights[start:], strict=True):
        gear, coefficients = constraint.gear, np.zeros((1, 13))
        columns = np.array([layout.DRIVEN, layout.DRIVER, layout.OFFSET]) - layout.ALONG
        coefficients[0, columns] = weight, -weight * gear.ratio, weight * gear.offset
        result.append((rows[gear.name], coefficients))
    return result


def constraint_tables(
    model: ClosedLoops, tables: Tables, imposed: Sequence[int] = (), first_row: int | None = None
) -> tuple[Array, Array]:
    """Return what kernels take of rigid closures and gears: their table `loops`, and the tree of the coordinates that lead.

    Parameters
    ----------
    model : ClosedLoops
    tables : Tables
    imposed : sequence of int
        Coordinates that follow the ground, as if by gears: by rows before the gears' (`imposed_tables`).
    first_row : int, optional
        Of these rows; the gears' own by default.
    """
    gears = model.gear_constraints
    links = len(imposed) + len(gears)
    loops = np.zeros((1 + links, layout.LOOPS_COLUMNS), dtype=np.int64)
    first, closures = len(model.constraint_names) - len(gears), len(model.rigid_loops)
    rows = [*tables.constraint_rows.values(), 0]
    first_row = rows[closures] if first_row is None else first_row
    jacobian = np.vstack([np.eye(model.nv)[list(imposed)], *(gear.jacobian(model.nv) for gear in gears)])
    taken = following(jacobian)
    header = loops[0]
    header[layout.FIRST_RIGID], header[layout.RIGIDS], header[layout.ROWS] = rows[0], closures, first + links
    header[layout.FIRST_GEAR], header[layout.GEARS], header[layout.FOLLOWERS] = first_row, links, len(taken.gears)
    order = np.array([*taken.gears, *taken.others], dtype=np.int64)
    loops[1:, layout.GEAR], loops[1:, layout.CONSTRAINT] = first_row + order, first + order
    own = loops[1 : 1 + len(taken.gears)]
    own[:, layout.FOLLOWER], own[:, layout.LEADER] = taken.followers, taken.leaders
    driven = np.array([*(-1 for _ in imposed), *(gear.driven[1] for gear in gears)], dtype=np.int64)
    own[:, layout.SIDE] = np.where(taken.followers == driven[taken.gears], layout.DRIVEN, layout.DRIVER)
    leading, moves = taken.basis
    return loops, leading_tree(tables.tree, leading, moves == 0.0)


def imposed_tables(ints: Array, floats: Array, imposed: Sequence[int], gears: slice) -> tuple[Array, Array, int]:
    """Return tables in which imposed coordinates have rows as gears have, and the first of these rows; the gears' follow.

    Their loads remain the last rows. `gears` are the gears' own rows.
    """
    at = int(ints[0, layout.FIRST_LOAD])
    rows, numbers = np.full((len(imposed), ints.shape[1]), -1, dtype=np.int64), np.zeros((len(imposed), floats.shape[1]))
    rows[:, [layout.DRIVEN_Q, layout.DRIVER_Q]] = 0  # where a coordinate is does not matter
    rows[:, layout.DRIVEN_V] = rows[:, layout.DRIVER_V] = imposed
    numbers[:, layout.DRIVER] = 1.0
    ints = np.vstack([ints[:at], rows, ints[gears], ints[at:]])
    floats = np.vstack([floats[:at], numbers, floats[gears], floats[at:]])
    ints[0, layout.FIRST_LOAD] += len(imposed) + gears.stop - gears.start
    return ints, floats, at
