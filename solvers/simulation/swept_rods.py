"""Rods as pictures show them: their outline, carried along by some of their sections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rods.rod import Rod
from titop.solvers.model.model import Model

#: Most and fewest stretches between sections that are shown of a rod, and how many of all rods together, if that is between.
_MOST, _FEWEST, _TOGETHER = 16, 4, 96
#: Points around a round section.
_AROUND = 24


@dataclass(frozen=True)
class SweptRod:
    """A rod with the sections at which it is shown.

    Attributes
    ----------
    rod : Rod
    abscissas : (k,) array, m
    reach : (k, 2) array, m
        How far the sections reach along y and z.
    """

    rod: Rod
    abscissas: Array
    reach: Array

    @property
    def shape(self) -> str:
        """What its sections look like, ``"box"`` or ``"round"``; those of own moments as ellipses with these."""
        return "box" if self.rod.section.shape == "rectangle" else "round"

    def frame(self, k: int) -> str:
        """Return the name of the k-th section's frame."""
        return f"{self.rod.name}@{k}"

    def outlines(self) -> Array:
        """Return the outlines (k, m, 3; m) of the sections in their frames, closed."""
        turn = np.linspace(0.0, 2 * np.pi, _AROUND + 1)
        corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1], [1, 1]])
        around = corners if self.shape == "box" else np.column_stack([np.cos(turn), np.sin(turn)])
        return np.pad(self.reach[:, None] * around, [(0, 0), (0, 0), (1, 0)])


def swept_rods(model: Model) -> list[SweptRod]:
    """Return the rods of a model, in the order of its blocks."""
    rods = [block for block in model.assembly.blocks.values() if isinstance(block, Rod)]
    count = int(np.clip(_TOGETHER // max(len(rods), 1), _FEWEST, _MOST))
    parts = np.linspace(0.0, 1.0, count + 1)
    return [SweptRod(rod, parts * rod.length, rod.section.reach(parts, rod.given_length).T) for rod in rods]
