"""Channels of repeated blocks in coordinates in which scalings are found.

``δ 1`` commutes with all matrices T, so that ``T z`` and ``T w`` are as good as z and w. What reaches the channels of a block
and what they reach are made equal and diagonal, over the frequencies of all poles (as Moore 1981 balances states): from
channels that differ by decades the method of centres gives bounds that are several times too high.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cholesky, svd

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure
from titop.solvers.robust.uncertain_loop import UncertainLoop

#: Directions that are smaller than this part of a block's others are taken for as large, and rounds over all blocks.
_LEAST, _ROUNDS = 1e-8, 20


def balanced(loop: UncertainLoop) -> UncertainLoop:
    """Return a stable loop with the channels of its repeated blocks balanced."""
    into, back = _coordinates(_responses(loop.uncertain), loop.structure)
    w, z = loop.structure.shape
    B, C, D = loop.system.B.copy(), loop.system.C.copy(), loop.system.D.copy()
    B[:, :w], C[:z] = B[:, :w] @ back, into @ C[:z]
    D[:, :w] = D[:, :w] @ back
    D[:z] = into @ D[:z]
    return replace(loop, system=Matrices(loop.system.A, B, C, D))


def _responses(system: Matrices) -> list[Array]:
    """Return the responses at zero, infinity and the poles' frequencies, each of gain one."""
    frequencies = np.unique(np.abs(system.poles))
    found = [system.response(float(omega)) for omega in (0.0, *frequencies, np.inf)]
    gains = [float(np.linalg.norm(M, 2)) for M in found]
    return [M / gain for M, gain in zip(found, gains, strict=True) if 0 < gain < np.inf]


def _coordinates(responses: list[Array], structure: Structure) -> tuple[Array, Array]:
    """Return the transformation of z, and its inverse for w."""
    w, z = structure.shape
    into, back = np.eye(z), np.eye(w)
    repeated = [k for k, b in enumerate(structure.blocks) if b.kind != "full" and b.repetitions > 0]
    for _ in range(_ROUNDS if responses else 0):
        for k in repeated:
            rows, columns = structure.z[k], structure.w[k]
            T, inverse = _balancing(_squares([M[rows] for M in responses]), _squares([M[:, columns].T for M in responses]))
            for M in responses:
                M[rows], M[:, columns] = T @ M[rows], M[:, columns] @ inverse
            into[rows], back[:, columns] = T @ into[rows], back[:, columns] @ inverse
    return into, back


def _squares(matrices: list[Array]) -> Array:
    """Return the sum of all ``Re M M^H``."""
    return np.sum([(M @ M.conj().T).real for M in matrices], axis=0)


def _balancing(reached: Array, seen: Array) -> tuple[Array, Array]:
    """Return T with ``T reached T^T = T^-T seen T^-1`` diagonal, and its inverse."""
    one = np.eye(len(reached))
    if not (np.trace(reached) > 0 and np.trace(seen) > 0):
        return one, one
    lower, other = (cholesky(X + _LEAST * np.trace(X) * one, lower=True) for X in (reached, seen))
    left, sizes, right = svd(other.T @ lower)
    root = np.sqrt(sizes)
    return (left.T @ other.T) / root[:, None], lower @ right.T / root
