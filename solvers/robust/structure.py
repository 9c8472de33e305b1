"""Where the blocks of an uncertainty stand in its matrix, and in what loops around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock


@dataclass(frozen=True)
class Structure:
    """Blocks of ``w = Δ z``, and the entries of `w` and of `z` that are theirs.

    Attributes
    ----------
    blocks : tuple of DeltaBlock
    w, z : tuple of slice
        By block.
    """

    blocks: tuple[DeltaBlock, ...]
    w: tuple[slice, ...]
    z: tuple[slice, ...]

    @classmethod
    def of(cls, blocks: Sequence[DeltaBlock]) -> Structure:
        """Return the structure of blocks that follow each other.

        Raises
        ------
        ModelError
            For blocks that are none, of unknown kinds, or without a size.
        """
        findings = [finding for k, block in enumerate(blocks) for finding in _wrong(k, block)]
        if findings:
            raise ModelError(findings)
        return cls(tuple(blocks), _slices([b.repetitions for b in blocks]), _slices([b.columns for b in blocks]))

    @property
    def shape(self) -> tuple[int, int]:
        """Sizes of `w` and `z`."""
        return sum(b.repetitions for b in self.blocks), sum(b.columns for b in self.blocks)

    @property
    def real(self) -> tuple[int, ...]:
        """Places of the real blocks among all."""
        return tuple(k for k, block in enumerate(self.blocks) if block.kind == "real")

    @property
    def is_real(self) -> bool:
        """Whether all blocks are real."""
        return len(self.real) == len(self.blocks)

    def matrix(self, deltas: Sequence[Any]) -> Array:
        """Return Δ (rows of w, columns of z; no unit) from a number or a matrix for each block."""
        delta = np.zeros(self.shape, dtype=np.result_type(float, *deltas))
        for block, w, z, value in zip(self.blocks, self.w, self.z, deltas, strict=True):
            delta[w, z] = value if block.kind == "full" else value * np.eye(block.repetitions)
        return delta

    def values(self, deltas: Sequence[Any]) -> dict[str, Any]:
        """Return the values by name, parameters in their own units, from one for each block."""
        return {b.name: b.value(float(d)) if b.kind == "real" else d for b, d in zip(self.blocks, deltas, strict=True)}

    def only(self, deltas: Mapping[int, float]) -> Array:
        """Return Δ with the given numbers at the real blocks' places and zero elsewhere."""
        zero = [np.zeros((b.repetitions, b.columns)) if b.kind == "full" else 0.0 for b in self.blocks]
        return self.matrix([deltas.get(k, value) for k, value in enumerate(zero)])


def _slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    ends = np.cumsum([0, *sizes]).tolist()
    return tuple(slice(*pair) for pair in pairwise(ends))


def _wrong(k: int, block: Any) -> list[Finding]:
    where = f"blocks[{k}]"
    if not isinstance(block, DeltaBlock):
        return [Finding("wrong-type", where, block, "a DeltaBlock", "such as DeltaBlock.real('hub.mass', 3)")]
    where = f"{where} {block.name!r}"
    if block.kind not in ("real", "complex", "full"):
        return [Finding("bad-block", where, block.kind, "real, complex or full", "use DeltaBlock.real, .complex or .full")]
    if block.repetitions < 1 or block.columns < 1 or (block.kind != "full" and block.columns != block.repetitions):
        found = f"{block.repetitions} x {block.columns}"
        return [Finding("bad-block", where, found, "one repetition or more, square but for full blocks", "check the sizes")]
    if not (block.lower < block.upper and block.lower <= block.nominal <= block.upper):
        found = f"{block.lower} .. {block.nominal} .. {block.upper}"
        return [Finding("bad-range", where, found, "lower <= nominal <= upper", "take a nominal value inside the range")]
    return []
