"""Channels of blocks in coordinates in which scalings are found.

``δ 1`` commutes with all matrices T, a full block with all numbers, so that ``T z`` and ``T w`` are as good as z and w. What
reaches the channels of a block and what they reach are made equal and diagonal, or equal alone, over the frequencies of all
poles (as Moore 1981 balances states): from channels that differ by decades, as they do by their units, the method of centres
gives bounds that are several times too high. Units go first, by a number for each channel (Osborne 1960): they may be so far
apart that no sum of squares holds both.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, matrix_balance, svd

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure

#: Directions that are smaller than this part of a block's others are taken for as large, and rounds over all blocks.
_LEAST, _ROUNDS = 1e-8, 20

#: How far transformations there and back may be from one.
_INVERSE = 1e-12


def balanced(system: Matrices, structure: Structure) -> Matrices:
    """Return a stable loop with the channels of all blocks, its first ones, balanced."""
    w, z = structure.shape
    into, back = _coordinates(_responses(system.part(np.arange(z), np.arange(w))), structure)
    B, C, D = system.B.copy(), system.C.copy(), system.D.copy()
    B[:, :w], C[:z] = B[:, :w] @ back, into @ C[:z]
    D[:, :w] = D[:, :w] @ back
    D[:z] = into @ D[:z]
    return Matrices(system.A, B, C, D)


def balanced_matrix(M: Array, structure: Structure) -> Array:
    """Return a matrix (columns of z, rows of w) with the channels of all blocks balanced."""
    into, back = _coordinates([M], structure)
    result: Array = into @ M @ back
    return result


def _responses(system: Matrices) -> list[Array]:
    """Return the responses at zero, infinity and the poles' frequencies."""
    frequencies = np.unique(np.abs(system.poles))
    return [system.response(float(omega)) for omega in (0.0, *frequencies, np.inf)]


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
            own, other = T @ into[rows], back[:, columns] @ inverse
            if block.kind != "full" and np.abs(own[:, rows] @ other[columns] - np.eye(len(T))).max() > _INVERSE:
                continue  # directions that nothing reaches would be stretched on and on: the loop would become another one
            for M in responses:
                M[rows], M[:, columns] = T @ M[rows], M[:, columns] @ inverse
            into[rows], back[:, columns] = own, other
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
