"""The kernels of dynamics with rigid closures and gears, bound to tables, for the constraints that act in general."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.branch import free_rank
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.tables import constraint_tables
from titop.solvers.kernels.entries import closed_derivative_entries, closure_entries, hybrid_entries
from titop.solvers.kernels.interface import layout


def constrained_forward(system: PackedSystem) -> Bound:
    """Return forward dynamics."""
    return Bound.of(system, closure_entries.constrained_forward, system.constraint_tables[1], system.loops)


def constrained_derivatives(system: PackedSystem, tables: tuple[Array, ...]) -> Bound:
    """Return the derivatives of forward dynamics, on `tables` with room for closures."""
    before = system.constraint_tables[1], system.tables.paths, system.loops
    return Bound(system.kernel(closed_derivative_entries.constrained_derivatives).compiled, before, tables)


def least_efforts(system: PackedSystem, actuated: Array, with_mass: bool = False) -> Bound:
    """Return inverse dynamics with efforts of least norm on `actuated` coordinates, and the mass matrix if `with_mass`."""
    entry = closure_entries.constrained_mass_inverse if with_mass else closure_entries.constrained_inverse
    return Bound.of(system, entry, system.loops, actuated, np.zeros(system.mechanism.nv), shares=True)


def shared_derivatives(system: PackedSystem, actuated: Array) -> Bound:
    """Return the derivatives of efforts of least norm on `actuated` coordinates."""
    before = system.tables.paths, system.loops, actuated, np.zeros(system.mechanism.nv)
    kernel = system.kernel(closed_derivative_entries.shared_derivatives).compiled
    return Bound(kernel, before, system.closing(), shares=True)


def nearest_motion(system: PackedSystem, second: bool) -> Any:
    """Return the kernel of the nearest velocities, or `second` rates, that keep loops closed."""
    sizes = system.mechanism.scale.coordinates
    return Bound.of(system.bare, closure_entries.nearest_motion, system.loops, second, sizes).call


class HybridKernels:
    """The kernels of a system's hybrid dynamics for one choice of imposed coordinates.

    Parameters
    ----------
    system : PackedSystem
    imposed : (nv,) bool array
    rank : int, optional
        Number of constraints that act on the coordinates that are not imposed; in general, by default.
    """

    def __init__(self, system: PackedSystem, imposed: Array, rank: int | None = None) -> None:
        self._system, self.imposed = system, imposed
        whole, q = system.mechanism.generic_rank, system.mechanism.regular_configuration
        if rank is None:
            free = int(np.count_nonzero(~imposed))
            rank = min(whole, free) if q is None else free_rank(system.mechanism, q, imposed, whole)
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
