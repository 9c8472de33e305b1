"""The kernels of dynamics with constraints, bound to tables and to how many constraints act."""

from __future__ import annotations

from functools import partial
from typing import Any

from titop.blocks.basics.spatial import Array
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.kernels.entries import closed_derivative_entries, closure_entries


def constrained_forward(system: PackedSystem, rank: int, held: bool = False) -> Any:
    """Return forward dynamics in which `rank` constraints act."""
    kernel = system.kernel(closure_entries.constrained_forward).compiled
    return partial(kernel, system.constraint_tables[1], system.loops(rank, held), *system.arrays)


def constrained_derivatives(system: PackedSystem, tables: tuple[Array, ...], rank: int) -> Any:
    """Return the derivatives of forward dynamics in which `rank` constraints act, on tables with room for closures."""
    kernel = system.kernel(closed_derivative_entries.constrained_derivatives).compiled
    return partial(kernel, system.constraint_tables[1], system.tables.paths, system.loops(rank), *tables)


def shared_derivatives(system: PackedSystem, actuated: Array, driven: Array, tables: tuple[Array, ...], rank: int) -> Any:
    """Return the derivatives of the least efforts on `actuated` coordinates beside `driven` ones, `rank` constraints acting."""
    kernel = system.kernel(closed_derivative_entries.shared_derivatives).compiled
    return partial(kernel, system.tables.paths, system.loops(rank), actuated, driven, *tables)


def nearest_motion(system: PackedSystem, second: bool) -> Any:
    """Return what finds velocities, or `second` rates, which keep loops closed."""
    kernel, model = system.kernel(closure_entries.nearest_motion).compiled, system.mechanism
    return partial(kernel, system.loops(model.generic_rank), second, model.scale.coordinates, *system.bare.arrays)
