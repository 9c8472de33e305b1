"""The structure of a system as arrays, as the kernels read it."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import Interaction

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class GeneralBlock:
    """A block with own coordinates, or a law of its own, among the elements.

    Attributes
    ----------
    block : Block
    element : int
        Row of its element.
    law : int
        Offset of its law.
    ports : dict
        Offset of each child port in `law`.
    q, v : slice
        Its own coordinates.
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

    Attributes
    ----------
    ints, sources : (rows, columns) arrays of int64
    constants : (elements, columns) array
    port_table : (ports, 2) array of int64
        Element and source of each rigid port's pose.
    port_rows : dict
        Row of each rigid port by dotted name.
    elements : dict
        Row of the element that carries each body (or the end of each joint's chain), by block name.
    carriers : dict
        Row of the element through which all goes that the joint of each body carries, by block name.
    parameter_names : tuple of str
        In the order of the vector of parameters.
    general : tuple of GeneralBlock
    interactions : tuple of ActingBlock
    joints : tuple of str
        Name of the joint to which each element belongs, for messages.
    tree : (2, nv) array of int64
        The coordinates, parents first; before each coordinate the next one on the path to the world, or -1.
    paths : (2, columns) array of int64
        The coordinate of each row of `columns`; the row of the next one on the path to the world, or -1.
    constraint_rows : dict
        First row of each rigid closure, and row of each gear, by name.
    """

    ints: Ints
    sources: Ints
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


class ActingBlock(NamedTuple):
    """An interaction, and the first of its rows."""

    block: Interaction
    element: int


class Rows:
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
