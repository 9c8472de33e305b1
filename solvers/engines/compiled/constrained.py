"""The kernels of dynamics with rigid closures and gears, bound to tables and to the number of acting constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.branch import free_rank
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.tables import constraint_tables
from titop.solvers.kernels.entries import closure_entries, derivative_entries, hybrid_entries
from titop.solvers.kernels.interface import layout


def constrained_forward(system: PackedSystem, rank: int, held: bool = False) -> Bound:
    """Return forward dynamics with `rank` acting constraints."""
    return Bound.of(system, closure_entries.constrained_forward, system.constraint_tables[1], system.loops(rank, held))


def constrained_derivatives(system: PackedSystem, tables: tuple[Array, ...], rank: int) -> Bound:
    """Return the derivatives of forward dynamics with `rank` acting constraints, on `tables` with room for closures."""
    before = system.constraint_tables[1], system.tables.paths, system.loops(rank)
    return Bound(system.kernel(derivative_entries.constrained_derivatives).compiled, before, tables)


def least_efforts(system: PackedSystem, actuated: Array, with_mass: bool = False) -> Bound:
    """Return inverse dynamics with efforts of least norm on `actuated` coordinates, and the mass matrix if `with_mass`."""
    entry = closure_entries.constrained_mass_inverse if with_mass else closure_entries.constrained_inverse
    loops, nothing = system.loops(system.mechanism.generic_rank), np.zeros(system.mechanism.nv)
    return Bound.of(system, entry, loops, actuated, nothing, shares=True)


def shared_derivatives(system: PackedSystem, actuated: Array, driven: Array, tables: tuple[Array, ...], rank: int) -> Bound:
    """Return the derivatives of efforts of least norm on `actuated` coordinates, in addition to `driven` ones."""
    before = system.tables.paths, system.loops(rank), actuated, driven
    return Bound(system.kernel(derivative_entries.shared_derivatives).compiled, before, tables, shares=True)


def nearest_motion(system: PackedSystem, second: bool) -> Any:
    """Return the kernel of the nearest velocities, or `second` rates, that keep loops closed."""
    mechanism = system.mechanism
    loops = system.loops(mechanism.generic_rank)
    return Bound.of(system.bare, closure_entries.nearest_motion, loops, second, mechanism.scale.coordinates).call


class HybridKernels:
    """The kernels of a system's hybrid dynamics for one choice of imposed coordinates.

    Parameters
    ----------
    system : PackedSystem
    imposed : (nv,) bool array
    whole, rank : int
        Number of acting constraints with no motion imposed, and of those that act on the coordinates that are not imposed.
    """

    def __init__(self, system: PackedSystem, imposed: Array, whole: int, rank: int) -> None:
        self._system, self.imposed, self.whole, self.rank = system, imposed, whole, rank
        self._loops, self._tree = constraint_tables(system.mechanism, system.tables, imposed)
        self._loops[0, [layout.WHOLE_RANK, layout.RANK]] = whole, rank

    def dynamics(self, tables: tuple[Array, ...]) -> Bound:
        """Return hybrid dynamics with such tables."""
        if self._system.mechanism.is_constrained:
            kernel, before = hybrid_entries.constrained_hybrid, (self._tree, self._loops, self.imposed)
            return Bound(self._system.kernel(kernel).compiled, before, tables, imposed=self.imposed)
        kernel = hybrid_entries.hybrid_dynamics
        return Bound(self._system.kernel(kernel).compiled, (self.imposed,), tables, imposed=self.imposed)

    def derivatives(self, tables: tuple[Array, ...]) -> Bound:
        """Return their derivatives with such tables, in which there is room for closures."""
        before = self._tree, self._system.tables.paths, self._loops, self.imposed
        return Bound(self._system.kernel(hybrid_entries.hybrid_derivatives).compiled, before, tables, imposed=self.imposed)


def generic_hybrid(system: PackedSystem, imposed: Array) -> HybridKernels:
    """Return the kernels for the generic rank of the constraints."""
    mechanism = system.mechanism
    whole, q = mechanism.generic_rank, mechanism.regular_configuration
    rank = min(whole, int(np.count_nonzero(~imposed))) if q is None else free_rank(mechanism, q, imposed, whole)
    return HybridKernels(system, imposed, whole, rank)
