"""The structure of a system as arrays for the kernels, including rigid closures and gears."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import Interaction
from titop.solvers.constraints.following import GROUND, Following, following, leading_tree
from titop.solvers.kernels.interface import layout

if TYPE_CHECKING:
    from titop.solvers.constraints.closed_mechanism import ClosedMechanism

Ints = NDArray[np.int64]

#: Coordinates of the elementary joints.
JOINT_SIZES: dict[int, int] = {layout.WELD: 0, layout.AXIAL: 1, layout.SPHERICAL: 3, layout.FREE: 6}


@dataclass(frozen=True)
class GeneralBlock:
    """A block with own coordinates, or a law of its own, among the elements.

    - `element`: row of its element;
    - `law`: offset of its law;
    - `ports`: offset of each child port in `law`;
    - `q`, `v`: its own coordinates.
    """

    block: Block
    element: int
    law: int
    ports: dict[str, int]
    q: slice
    v: slice


@dataclass(frozen=True)
class Tables:
    """The structure of a system as arrays; see the kernels' `interface.layout` and `tree.packing`.

    - `ints`, `sources`, `welded` (rows, columns), `constants` (elements, columns);
    - `port_table` (ports, 2): row of `frames` of the body and source of each rigid port's pose;
    - `port_rows`: row of each rigid port by dotted name;
    - `elements`: row of the element that carries each body (or the end of each joint's chain), by block name;
    - `carriers`: row of the element through which all goes that the joint of each body carries, by block name;
    - `parameter_names`: in the order of the vector of parameters;
    - `joints`: name of the joint to which each element belongs, for messages;
    - `tree` (2, nv): the coordinates, parents first; before each coordinate the next one on the path to the world, or -1;
    - `paths` (2, columns): the coordinate of each row of `columns`; the row of the next one on the path to the world, or -1;
    - `constraint_rows`: first row of each rigid closure, and row of each gear, by name.
    """

    ints: Ints
    sources: Ints
    welded: Ints
    constants: NDArray[np.float64]
    port_table: Ints
    port_rows: dict[str, int]
    elements: dict[str, int]
    carriers: dict[str, int]
    parameter_names: tuple[str, ...]
    general: tuple[GeneralBlock, ...]
    interactions: tuple[ActingBlock, ...]
    joints: tuple[str, ...]
    tree: Ints
    paths: Ints
    constraint_rows: dict[str, int]

    @property
    def general_names(self) -> frozenset[str]:
        """Names of the general blocks."""
        return frozenset(general.block.name for general in self.general)

    @property
    def numbered(self) -> list[Block]:
        """The general blocks and interactions, whose laws have numbers."""
        return [*(general.block for general in self.general), *(acting.block for acting in self.interactions)]


class ActingBlock(NamedTuple):
    """An interaction, and the first of its rows."""

    block: Interaction
    element: int


class IntegerRows:
    """Rows of integers under construction, by column name."""

    def __init__(self, columns: ModuleType, width: int, default: int) -> None:
        self.columns, self.width, self.default = vars(columns), width, default
        self.rows: list[list[int]] = []

    def add(self, **values: int) -> int:
        row = [self.default] * self.width
        for name, value in values.items():
            row[self.columns[name]] = value
        self.rows.append(row)
        return len(self.rows) - 1

    def array(self) -> Ints:
        return np.array(self.rows, dtype=np.int64)


def constraint_coefficients(mechanism: ClosedMechanism, rows: dict[str, int]) -> list[tuple[int, Array]]:
    """Return first row, from `rows` by name, and weighted coefficients of the constraints of every rigid closure and gear."""
    result, start = [], 0
    for loop in mechanism.rigid_loops:
        weights = mechanism.scale.weights[start : start + len(loop.closure.slips)]
        result.append((rows[loop.closure.name], loop.closure.coefficients(weights)))
        start += len(weights)
    for constraint, weight in zip(mechanism.gear_constraints, mechanism.scale.weights[start:], strict=True):
        coefficients = np.zeros((len(constraint.factors), 13))
        coefficients[:, layout.FACTOR - layout.ALONG] = weight * np.array(constraint.factors)
        coefficients[0, layout.OFFSET - layout.ALONG] = weight * constraint.gear.offset
        result.append((rows[constraint.gear.name], coefficients))
    return result


def constraint_tables(mechanism: ClosedMechanism, tables: Tables, imposed: Array) -> tuple[Array, Array]:
    """Return the kernels' tables of rigid closures and gears: `loops`, and the tree of the leading coordinates.

    Coordinates whose motion is `imposed` (nv) follow none; those that gears join to them follow them.
    """
    gears = mechanism.gear_constraints
    loops = np.zeros((1 + len(gears) + mechanism.nv, layout.LOOPS_COLUMNS), dtype=np.int64)
    first, closures = len(mechanism.constraint_names) - len(gears), len(mechanism.rigid_loops)
    rows = [*tables.constraint_rows.values(), 0]
    jacobian = np.vstack([np.zeros((0, mechanism.nv)), *(gear.jacobian(mechanism.nv) for gear in gears)])
    taken = following(np.where(imposed | (np.count_nonzero(jacobian, axis=1) > 2)[:, None], 0.0, jacobian))
    header = loops[0]
    header[layout.FIRST_RIGID], header[layout.RIGIDS], header[layout.ROWS] = rows[0], closures, len(mechanism.constraint_names)
    header[layout.PLACES] = np.count_nonzero(mechanism.places)
    header[layout.FIRST_GEAR], header[layout.GEARS], header[layout.FOLLOWERS] = rows[closures], len(gears), len(taken.gears)
    order = [*taken.gears.tolist(), *taken.others.tolist()]
    loops[1 : 1 + len(gears), layout.CONSTRAINT] = [first + k for k in order]
    loops[1 + len(gears) :, layout.LENGTH] = mechanism.length_coordinates
    eliminating = loops[1 : 1 + len(taken.gears)]
    eliminating[:, layout.FOLLOWER], eliminating[:, layout.LEADER] = taken.followers, _leaders(jacobian, taken)
    for own, k in zip(eliminating, taken.gears.tolist(), strict=True):
        terms = {v: rows[closures + k] + place for place, (_, v) in enumerate(gears[k].places)}
        own[layout.FOLLOWER_TERM], own[layout.LEADER_TERM] = terms[own[layout.FOLLOWER]], terms.get(own[layout.LEADER], -1)
    leading, moves = taken.basis
    header[layout.STIFFENED] = mechanism.held_by_closures
    if mechanism.held_by_closures:  # constraints join all branches
        return loops, np.array([np.arange(mechanism.nv), np.arange(mechanism.nv) - 1], dtype=np.int64)
    return loops, leading_tree(tables.tree, leading, moves == 0.0)


def _leaders(rows: Array, taken: Following) -> list[int]:
    """Return the other coordinate, possibly imposed, of each gear that eliminates one; `GROUND` if there is none."""
    ends = [np.flatnonzero(row).tolist() for row in rows[taken.gears]]
    return [
        next((end for end in pair if end != follower), GROUND) for pair, follower in zip(ends, taken.followers, strict=True)
    ]
