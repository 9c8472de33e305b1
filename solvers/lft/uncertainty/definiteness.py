"""Ranges in which a mass matrix loses its definiteness: told by name and value.

By the velocity of its centre of mass, the kinetic energy of a rigid or flexible body is linear in each parameter alone:
definite at all corners of a box, it is so within. Of the assembled system the loop itself tells: it is singular where the mass
matrix is, somewhere between the nominal member and one that is indefinite. Rays to corners and in random directions are looked
at; what is singular only aside from all of these is not found.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.checking.block_findings import inertia_findings
from titop.blocks.contract.block import Block
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.lft.fractions.fractional import singular_at
from titop.solvers.lft.fractions.structured_reduction import Fractional

#: Pairs of opposite corners, and of random directions, that are looked at.
_CORNERS, _RANDOM = 16, 16
#: So far beyond the box singular members are still refused: rounding.
_ROUNDING = 1e-6


def refuse_ill_posed(model: Fractional, blocks: Sequence[DeltaBlock]) -> None:
    """Refuse ranges with a member in them whose loop is singular.

    Costs an eigenvalue problem of the repetitions for each of 32 directions at most.

    Raises
    ------
    ModelError
        Naming the values.
    """
    n = sum(model.sizes[:-1])
    nearest, place = 1.0 + _ROUNDING, None
    for direction in _directions(len(blocks)):
        spread = np.repeat(direction, [block.repetitions for block in blocks])
        for t in singular_at(model.A[:n, :n] * spread):
            if abs(t) < nearest:
                nearest, place = abs(t), t * direction
    if place is not None:
        shown = ", ".join(f"{block.name} = {block.value(x):.6g}" for block, x in zip(blocks, place.tolist(), strict=True))
        expected, advice = "a mass matrix that is definite all over the ranges", "narrow them: there it is singular"
        raise ModelError(Finding("indefinite-mass", "parameters", shown, expected, advice))


def mass_findings(block: Block, q: Array) -> list[Finding]:
    """Return what is wrong with a block's mass matrix at own coordinates (nq)."""
    return [*inertia_findings(f"{block.name}.mass_matrix", block.mass_matrix(q))]


def _directions(n: int) -> Array:
    """Return directions from the nominal member, one of each pair of opposite ones."""
    rng = np.random.default_rng(3)
    if 2 ** (n - 1) <= _CORNERS:
        corners = np.array([(1.0, *signs) for signs in itertools.product((1.0, -1.0), repeat=n - 1)])
    else:
        corners = rng.choice((1.0, -1.0), (_CORNERS, n))
    if n == 1:
        return corners
    inside = rng.uniform(-1.0, 1.0, (_RANDOM, n))
    return np.vstack([corners, inside / np.abs(inside).max(axis=1, keepdims=True)])
