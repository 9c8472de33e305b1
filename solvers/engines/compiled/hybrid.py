"""The kernels of hybrid dynamics for one choice of imposed coordinates."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.branch import free_rank
from titop.solvers.engines.compiled.constraint_tables import constraint_tables
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import hybrid_entries
from titop.solvers.kernels.interface import layout


class HybridKernels:
    """The kernels of a system's hybrid dynamics, bound when they are first asked for.

    Parameters
    ----------
    system : PackedSystem
    imposed : (nv,) bool array
    whole, rank : int
        How many constraints act where no motion is imposed, and on the coordinates whose motion is not.
    """

    def __init__(self, system: PackedSystem, imposed: Array, whole: int, rank: int) -> None:
        self._system, self.imposed, self.whole, self.rank = system, imposed, whole, rank
        self._loops, self._tree = constraint_tables(system.mechanism, system.tables, imposed)
        self._loops[0, [layout.WHOLE_RANK, layout.RANK]] = whole, rank

    def dynamics_on(self, tables: tuple[Array, ...]) -> Any:
        """Return compiled hybrid dynamics with such tables."""
        if self._system.mechanism.is_constrained:
            kernel = self._system.kernel(hybrid_entries.constrained_hybrid).compiled
            return partial(kernel, self._tree, self._loops, self.imposed, *tables)
        return partial(self._system.kernel(hybrid_entries.hybrid_dynamics).compiled, self.imposed, *tables)

    def derivatives_on(self, tables: tuple[Array, ...]) -> Any:
        """Return their compiled derivatives with such tables, in which there is room for closures."""
        kernel = self._system.kernel(hybrid_entries.hybrid_derivatives).compiled
        return partial(kernel, self._tree, self._system.tables.paths, self._loops, self.imposed, *tables)

    @cached_property
    def dynamics(self) -> Any:
        return self.dynamics_on(self._system.arrays)

    @cached_property
    def derivatives(self) -> Any:
        return self.derivatives_on(self._system.closing())


def generic_hybrid(system: PackedSystem, imposed: Array) -> HybridKernels:
    """Return the kernels for as many constraints as act generically."""
    model = system.mechanism
    whole, q = model.generic_rank, model.regular_configuration
    rank = min(whole, int(np.count_nonzero(~imposed))) if q is None else free_rank(model, q, imposed, whole)
    return HybridKernels(system, imposed, whole, rank)
