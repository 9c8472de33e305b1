"""What rounding does to a compiled system: which coordinates may lose much, and how small pivots may become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.engines.compiled.element_parts import element_parts
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import NO_INERTIA, Pivots, find_pivots
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.native.callbacks import raise_pending

#: Coordinates of the elementary joints.
_SIZES: dict[Any, int] = {layout.WELD: 0, layout.AXIAL: 1, layout.SPHERICAL: 3, layout.FREE: 6}
#: Coordinates that keep this part of what they carry lose at most some ten digits to rounding.
_PLAINLY_SOUND = 1e-6
#: How much further below what was seen a pivot may come elsewhere.
_MARGIN = 0.1


def plainly_sound(system: PackedSystem) -> float:
    """Return the part of what they carry that coordinates keep where nothing is lost: chains of n like bodies keep n^-2."""
    return min(_PLAINLY_SOUND, 1e-2 / max(system.mechanism.nv, 1) ** 2)


def pivots_at(system: PackedSystem, q: Array) -> Pivots:
    """Return how much inertia elimination leaves to each coordinate (nv, no unit) of the tree."""
    nv = system.mechanism.nv
    law, work = system.bare.outward(real_only(q, "q"), np.zeros(nv), layout.INVERSE_COLUMNS)
    bodies = {system.tables.elements[c.child.block.name]: c.child for c in system.assembly.connections}
    parts = element_parts(system.ints, system.floats, system.frames, bodies, law[0], work)
    return find_pivots(parts, np.zeros(nv, dtype=bool))


def doubtful_pivots(system: PackedSystem, places: Sequence[Array]) -> list[Pivots]:
    """Return the pivots at those of some configurations where elimination may lose much, and allow for these in the tables."""
    rounding = system.floats[1 : len(system.tables.constants), layout.ROUNDING]
    rounding[:] = NO_INERTIA  # whatever other parameters have left there
    if keeps(system, plainly_sound(system), places):
        return []
    rounding[:] = plainly_sound(system)
    doubtful = [q for q in places if _is_refused(system, q, system.floats)]
    rounding[:] = NO_INERTIA
    found = [pivots_at(system, q) for q in doubtful]
    for pivots in found:
        _allow_for(system, pivots)
    return found


def keeps(system: PackedSystem, part: float, places: Sequence[Array]) -> bool:
    """Tell whether kernels alone find accelerations at rest at some configurations, keeping this part everywhere."""
    floats = system.floats.copy()
    floats[1 : len(system.tables.constants), layout.ROUNDING] = part
    return not any(_is_refused(system, q, floats) for q in places)


def moves_at_rest(system: PackedSystem, places: Sequence[Array]) -> bool:
    """Tell whether kernels find accelerations of the tree at rest at some configurations, whatever gears would drive."""
    return not any(_is_refused(system, q, system.floats) for q in places)


def _is_refused(system: PackedSystem, q: Array, floats: Array) -> bool:
    """Tell whether a kernel refuses accelerations of the tree at rest, with these floats."""
    nothing = np.zeros(system.mechanism.nv)
    tables = (system.ints, floats, *system.arrays[2:])
    status = system.kernel(dynamics_entries.forward_dynamics)(*tables, q, nothing, nothing, np.empty(len(nothing)))
    raise_pending()
    return bool(status != layout.OK)


def _allow_for(system: PackedSystem, pivots: Pivots) -> None:
    """Let pivots be as small against what their coordinates carry as rounding allows, where that is less than usual."""
    small = (pivots.ratios > NO_INERTIA) & (pivots.shares < plainly_sound(system))
    rounding = np.full(system.mechanism.nv, NO_INERTIA)
    rounding[small] *= np.minimum(1.0, _MARGIN * pivots.shares[small] / pivots.ratios[small])
    for row in range(1, len(system.tables.constants)):
        entries = system.ints[row]
        joint = range(entries[layout.V], entries[layout.V] + _SIZES[entries[layout.KIND]])
        block = range(entries[layout.OWN_V], entries[layout.OWN_V] + entries[layout.OWN])
        system.floats[row, layout.ROUNDING] = rounding[[*joint, *block]].min(initial=system.floats[row, layout.ROUNDING])
