"""Ranges centred: uncertain numbers counted from the middle of their ranges, so that bounds do not depend on nominal values.

A parameter whose nominal value is off the middle is a fraction of its δ, ``value = nominal + a δ / (1 + b δ)``, infinite at
``δ = -1 / b``: a loop may be singular there whatever it is, and the nearer the nominal value is to an end of the range, the
nearer that comes. With d from the middle on, ``value = middle + half d``, the same values have

    δ = (d - b) / (1 - b d) = -b + (1 - b²) d / (1 - b d),

once more a fraction in d with as many repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.structure import Structure
from titop.solvers.robust.uncertain_loop import UncertainLoop


def centred(loop: UncertainLoop) -> UncertainLoop:
    """Return a loop with its ranges centred, or as it is where that is unstable or ill-posed in their middle."""
    system, structure = centred_system(loop.system, loop.structure)
    if not (system.poles.real < 0).all():
        return loop
    return replace(loop, system=system, structure=structure)


def centred_system(system: Matrices, structure: Structure) -> tuple[Matrices, Structure]:
    """Return a system, the channels of the blocks first, and its blocks, with their ranges centred.

    Both as they are where the loop is ill-posed in the middle.
    """
    offsets = [_offset(block) for block in structure.blocks]
    if not any(offsets):
        return system, structure
    w = structure.shape[0]
    own = np.concatenate([np.full(b.repetitions, k) for b, k in zip(structure.blocks, offsets, strict=True)])
    try:
        moved = system.closed(structure.only({k: -offset for k, offset in enumerate(offsets) if offset}))
    except np.linalg.LinAlgError:
        return system, structure
    narrow = np.ones(moved.B.shape[1])
    narrow[:w] = 1 - own**2
    scaled = moved.scaled(np.ones(len(moved.C)), narrow)
    D = scaled.D.copy()
    for place, rows, offset in zip(structure.w, structure.z, offsets, strict=True):
        if offset:
            D[rows, place] += offset * np.eye(rows.stop - rows.start)
    blocks = [b._replace(nominal=(b.lower + b.upper) / 2) if k else b for b, k in zip(structure.blocks, offsets, strict=True)]
    return replace(scaled, D=D), Structure.of(blocks)


def as_given(given: Structure, structure: Structure, deltas: Sequence[Any]) -> tuple[Any, ...]:
    """Return values normalised as the given blocks are from those of a centred structure, one of each block."""
    pairs = zip(given.blocks, structure.blocks, deltas, strict=True)
    return tuple(own.normalised(block.value(float(d))) if own != block else d for own, block, d in pairs)


def _offset(block: DeltaBlock) -> float:
    """Return b of a parameter, zero of other blocks."""
    return block.fraction[1] if block.kind == "real" else 0.0
