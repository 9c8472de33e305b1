"""The energies of a compiled system, twists and poses of its elements on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import observation_entries
from titop.solvers.kernels.interface import layout


def energies(system: PackedSystem) -> Callable[[Array, Array, Array], int]:
    """Return ``f(q, v, energies) -> status``, which writes kinetic, gravity's and elastic energy (3, J)."""
    kernel, elements = system.bound(observation_entries.energies), len(system.tables.constants)

    def of_state(q: Array, v: Array, result: Array) -> int:
        return kernel(q, v, np.empty((elements, layout.INVERSE_COLUMNS)), np.empty((elements, 12)), result)

    return of_state


def observed(system: PackedSystem, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return kinetic, gravity's and elastic energy (3); work rows with twists; the poses of all elements."""
    elements = len(system.tables.constants)
    work, world, result = np.empty((elements, layout.INVERSE_COLUMNS)), np.empty((elements, 12)), np.empty(3)
    system.raise_for(system.bound(observation_entries.energies)(q, v, work, world, result))
    return result, work, world
