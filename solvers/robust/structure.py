"""The uncertainty around which a loop closes, and the loop's channels balanced.

``δ 1`` commutes with all matrices T, a full block with all numbers, so that ``T z`` and ``T w`` are as good as z and w. What
reaches the channels of a block and what they reach are made equal and diagonal, or equal alone, over the frequencies of all
poles (as Moore 1981 balances states): from channels that differ by decades, as they do by their units, the method of centres
gives bounds that are several times too high. Units go first, by a number for each channel (Osborne 1960): they may be so far
apart that no sum of squares holds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, matrix_balance, svd

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, EXACT
from titop.solvers.lft.delta_blocks import DeltaBlock, slices
from titop.solvers.linear.matrices import Matrices

#: Directions whose square is smaller than this part of a block's others are taken for as large.
_LEAST = CLOSE**2

#: Rounds over all blocks.
_ROUNDS = 20


@dataclass(frozen=True)
class Structure:
    """Blocks of ``w = Δ z``, and the entries of `w` and of `z` that are theirs, by block."""

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
        return cls(tuple(blocks), slices([b.repetitions for b in blocks]), slices([b.columns for b in blocks]))

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

    def entries(self, places: Sequence[int]) -> tuple[Array, Array]:
        """Return the entries of `z`, and of `w`, that are some blocks'."""
        rows, columns = (np.concatenate([np.r_[side[k]] for k in places]) for side in (self.z, self.w))
        return rows, columns

    def matrix(self, deltas: Sequence[Any]) -> Array:
        """Return Δ (rows of w, columns of z; no unit) from a number or a matrix for each block."""
        delta = np.zeros(self.shape, dtype=np.result_type(float, *deltas))
        for block, w, z, value in zip(self.blocks, self.w, self.z, deltas, strict=True):
            delta[w, z] = value if block.kind == "full" else value * np.eye(block.repetitions)
        return delta

    def values(self, deltas: Sequence[Any]) -> dict[str, Any]:
        """Return the values by name, parameters in their own units, from one for each block."""
        return {b.name: b.value(float(d)) if b.kind == "real" else d for b, d in zip(self.blocks, deltas, strict=True)}

    def deltas(self, real: Array | Sequence[float]) -> list[Any]:
        """Return a number or a matrix for each block (no unit): those of the real blocks, zero of the others."""
        deltas: list[Any] = [np.zeros((b.repetitions, b.columns)) if b.kind == "full" else 0.0 for b in self.blocks]
        for k, delta in zip(self.real, real, strict=True):
            deltas[k] = float(delta)
        return deltas

    def real_matrix(self, real: Array | Sequence[float]) -> Array:
        """Return Δ with numbers of the real blocks, all others zero."""
        return self.matrix(self.deltas(real))


def balance(system: Matrices, structure: Structure) -> Matrices:
    """Return a stable loop with the channels of all blocks, its first ones, balanced."""
    w, z = structure.shape
    into, back = _coordinates(_responses(system.part(np.arange(z), np.arange(w))), structure)
    B, C, D = system.B.copy(), system.C.copy(), system.D.copy()
    B[:, :w], C[:z] = B[:, :w] @ back, into @ C[:z]
    D[:, :w] = D[:, :w] @ back
    D[:z] = into @ D[:z]
    return Matrices(system.A, B, C, D)


def _responses(system: Matrices) -> list[Array]:
    """Return the responses at zero, infinity and the poles' frequencies, the only one of a matrix."""
    frequencies = (0.0, *np.unique(np.abs(system.poles)).tolist()) if len(system.A) else ()
    return [system.response(omega) for omega in (*frequencies, np.inf)]


def _coordinates(responses: list[Array], structure: Structure) -> tuple[Array, Array]:
    """Return the transformation of z, and its inverse for w.

    Responses are taken for as large as each other, with the channels as they are before each round.
    """
    z, w = _unit_scales(np.max(np.abs(responses), axis=0), structure)
    into, back = np.diag(1 / z), np.diag(w)
    responses = [M / z[:, None] * w for M in responses]
    for _ in range(_ROUNDS):
        gains = [float(np.linalg.norm(M, 2)) for M in responses]
        responses = [M / gain for M, gain in zip(responses, gains, strict=True) if 0 < gain < np.inf]
        if not responses:
            break
        for block, rows, columns in zip(structure.blocks, structure.z, structure.w, strict=True):
            reached, seen = _squares([M[rows] for M in responses]), _squares([M[:, columns].T for M in responses])
            T, inverse = _equalling(reached, seen) if block.kind == "full" else _balancing(reached, seen)
            forth, other = T @ into[rows], back[:, columns] @ inverse
            if block.kind != "full" and np.abs(forth[:, rows] @ other[columns] - np.eye(len(T))).max() > EXACT:
                continue  # directions that nothing reaches would be stretched on and on: the loop would become another one
            for M in responses:
                M[rows], M[:, columns] = T @ M[rows], M[:, columns] @ inverse
            into[rows], back[:, columns] = forth, other
    return into, back


def _squares(matrices: list[Array]) -> Array:
    """Return the sum of all ``Re M M^H``."""
    return np.sum([(M @ M.conj().T).real for M in matrices], axis=0)


def _equalling(reached: Array, seen: Array) -> tuple[Array, Array]:
    """Return t of z and 1/t of w on the diagonal, with ``t^2 reached`` as large as ``seen / t^2``."""
    t = 1.0
    if np.trace(reached) > 0 and np.trace(seen) > 0:
        t = float(np.trace(seen) / np.trace(reached)) ** 0.25
    return t * np.eye(len(reached)), np.eye(len(seen)) / t


def _balancing(reached: Array, seen: Array) -> tuple[Array, Array]:
    """Return T with ``T reached T^T = T^-T seen T^-1`` diagonal, and its inverse."""
    one = np.eye(len(reached))
    if not (np.trace(reached) > 0 and np.trace(seen) > 0):
        return one, one
    lower, other = (cholesky(X + _LEAST * np.trace(X) * one, lower=True) for X in (reached, seen))
    left, sizes, right = svd(other.T @ lower)
    root = np.sqrt(sizes)
    return (left.T @ other.T) / root[:, None], lower @ right.T / root


def _unit_scales(gains: Array, structure: Structure) -> tuple[Array, Array]:
    """Return by what entries of z, and of w, are divided so that the largest gains (columns of z, rows of w) are balanced.

    A full block's entries have the same scale; entries of other blocks one each, which commutes with them.
    """
    w, z, units = np.zeros(structure.shape[0], dtype=int), np.zeros(structure.shape[1], dtype=int), 0
    for block, own_w, own_z in zip(structure.blocks, structure.w, structure.z, strict=True):
        count = 1 if block.kind == "full" else block.repetitions
        w[own_w] = units + np.arange(count)
        z[own_z] = units + np.arange(count)
        units += count
    among = np.zeros((units, units))
    np.maximum.at(among, (z[:, None], w[None]), gains)
    among, (scales, _) = matrix_balance(among, permute=False, separate=True)
    out, into = np.linalg.norm(among, axis=0), np.linalg.norm(among, axis=1)
    size = np.minimum(out, into).max() or 1.0
    for k in np.flatnonzero((out == 0) != (into == 0)):  # nothing balances these: they are made no larger than what is balanced
        reached, seen = np.linalg.norm(among[k]), np.linalg.norm(among[:, k])
        scale = max(reached / size, 1.0) if reached else min(size / seen, 1.0)
        among[k], among[:, k], scales[k] = among[k] / scale, among[:, k] * scale, scales[k] * scale
    return scales[z], scales[w]


def _wrong(k: int, block: Any) -> list[Finding]:
    where = f"blocks[{k}]"
    if not isinstance(block, DeltaBlock):
        return [Finding("wrong-type", where, block, "a DeltaBlock", "such as DeltaBlock.real('hub.mass', 3)")]
    where = f"{where} {block.name!r}"
    if block.kind not in ("real", "complex", "full"):
        return [Finding("bad-block", where, block.kind, "real, complex or full", "use DeltaBlock.real, .complex or .full")]
    if block.repetitions < 1 or block.columns < 1 or (block.kind != "full" and block.columns != block.repetitions):
        got = f"{block.repetitions} x {block.columns}"
        return [Finding("bad-block", where, got, "one repetition or more, square but for full blocks", "check the sizes")]
    if not (block.lower < block.upper and block.lower <= block.nominal <= block.upper):
        got = f"{block.lower} .. {block.nominal} .. {block.upper}"
        return [Finding("bad-range", where, got, "lower <= nominal <= upper", "take a nominal value inside the range")]
    return []
