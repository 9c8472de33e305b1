"""The kernels of a system by the names of a model's functions, bound to its tables at their first use.

After the tables each takes a state, and arrays for the results of the model's function (`titop.solvers.model.calls`). Where
there is no kernel for a function of this system, the name gives None, and the function uses the engine's cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import is_acted_on, moves_fluid
from titop.blocks.contract.block import overrides_method
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.constraints.interaction_loads import contacts_of
from titop.solvers.engines.compiled.acted_on import ActedOn, Bound, Variants
from titop.solvers.engines.compiled.along import AlongKernel, CompiledAlong
from titop.solvers.engines.compiled.bound_kernels import (
    CONSTANT,
    CompiledEfforts,
    HybridKernels,
    body_efforts,
    constrained_derivatives,
    constrained_forward,
    has_series,
    least_efforts,
    least_shares,
    motion_slopes,
    nearest_motion,
    port_series,
    shared_derivatives,
)
from titop.solvers.engines.compiled.compiled_readings import CompiledReadings
from titop.solvers.engines.compiled.law_tables import touches_stage
from titop.solvers.engines.compiled.packed import PackedSystem, interaction_rows, moving_otherwise
from titop.solvers.kernels.entries import (
    derivative_entries,
    directional_entries,
    dynamics_entries,
    moving_entries,
    observation_entries,
    series_entries,
)
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.kernels.interface import layout
from titop.solvers.model.mechanism import Mechanism


class KernelRow(NamedTuple):
    """How the kernel of a function is bound.

    - `variant`: the system on whose tables: ``"bare"``, without springs and loads, ``"inertial"``, without gravity too,
      ``"still"`` and ``"responding"``, these in a world at rest; by default it itself;
    - `behind`: which of the system's `Tables` it takes behind these;
    - `serves`: tells whether it serves a system; every one by default.
    """

    entry: Pair
    variant: str = ""
    behind: tuple[str, ...] = ()
    serves: Callable[[PackedSystem], bool] | None = None


def _is_tree(system: PackedSystem) -> bool:
    return not system.mechanism.is_constrained


def _is_plain_tree(system: PackedSystem) -> bool:
    return _is_tree(system) and not moving_otherwise(system)


def _is_of_rigid_bodies(system: PackedSystem) -> bool:
    """Tell whether all blocks are rigid, in a world that does not turn."""
    return not (system.tables.general or system.turns)


def _is_dry(system: PackedSystem) -> bool:
    """Tell whether no body has added inertia of a fluid."""
    return not any(moves_fluid(general.block) for general in system.tables.general)


def _stores_in_kernels(system: PackedSystem) -> bool:
    """Tell whether all energy is compiled."""
    blocks = [general.block for general in system.tables.general]
    return not any(is_acted_on(block) or overrides_method(block, "applied_energy") for block in blocks)


#: The kernels of functions by name. Where a row serves no closed system, `_BINDING` has what is bound in its place.
ROWS = {
    "mass_matrix": KernelRow(dynamics_entries.whole_mass_matrix, "bare"),
    "inverse_mass_matrix": KernelRow(observation_entries.inverse_mass_matrix, "bare", ("tree",)),
    "nonlinear_effects": KernelRow(dynamics_entries.inverse_dynamics, "bare"),
    "coriolis_matrix": KernelRow(observation_entries.coriolis_matrix, behind=("paths",), serves=_is_of_rigid_bodies),
    "gravity_effects": KernelRow(dynamics_entries.inverse_dynamics, "still"),
    "inertial_inverse_dynamics": KernelRow(dynamics_entries.inverse_dynamics, "inertial"),
    "mass_inertial_inverse_dynamics": KernelRow(dynamics_entries.mass_inverse_dynamics, "inertial"),
    "momentum": KernelRow(observation_entries.momentum),
    "momentum_matrix": KernelRow(observation_entries.momentum_matrix),
    "energies": KernelRow(observation_entries.energies, serves=_stores_in_kernels),
    "mass_center": KernelRow(observation_entries.center_of_mass, serves=_is_dry),
    "linear_matrices": KernelRow(derivative_entries.linear_matrices, behind=("tree", "paths"), serves=_is_plain_tree),
    "forward": KernelRow(dynamics_entries.forward_dynamics, serves=_is_tree),
    "forward_derivatives": KernelRow(derivative_entries.forward_derivatives, behind=("tree", "paths"), serves=_is_tree),
    "inverse": KernelRow(dynamics_entries.inverse_dynamics, serves=_is_tree),
    "inverse_derivatives": KernelRow(derivative_entries.inverse_derivatives, behind=("paths",), serves=_is_tree),
    "mass_inverse": KernelRow(dynamics_entries.mass_inverse_dynamics, serves=_is_tree),
    "responses": KernelRow(directional_entries.responses, "bare", ("tree",)),
    "forward_tangent": KernelRow(directional_entries.forward_tangent, serves=_is_tree),
    "forward_adjoint": KernelRow(directional_entries.forward_adjoint, serves=_is_tree),
    "inverse_tangent": KernelRow(directional_entries.inverse_tangent, serves=_is_tree),
    "inverse_adjoint": KernelRow(directional_entries.inverse_adjoint, serves=_is_tree),
    "mass_derivatives": KernelRow(derivative_entries.inverse_derivatives, "responding", ("paths",), _is_dry),
    "mass_tangent": KernelRow(directional_entries.inverse_tangent, "responding", serves=_is_dry),
    "mass_adjoint": KernelRow(directional_entries.inverse_adjoint, "responding", serves=_is_dry),
}

#: Kernels of steps between configurations, for systems whose blocks do not override these.
_MOVING = {
    name: getattr(moving_entries, name)
    for name in (
        *("integrate", "integrate_derivatives", "difference", "difference_derivatives"),
        *("configuration_rate", "configuration_derivatives"),
    )
}

#: Functions that run kernels under loads, and the number of threads for stacked states.
_UNDER_LOADS = ("run", "run_stacked", "read_inputs", "driven", "threads")


class CompiledCalls:
    """The kernels of a system; those of functions of a state by name, as attributes."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem) -> None:
        self._mechanism, self._system = mechanism, system

    def __getattr__(self, name: str) -> Any:
        """Bind the kernel of a name, without a choice of coordinates; None if there is none."""
        value: Any
        if name in _MOVING:
            value = self._moving(_MOVING[name])
        elif name in _UNDER_LOADS:
            value = getattr(self._acted_on, name)
        elif name in ROWS or name in _BINDING:
            bound = self._bound(name, None)
            value = bound and bound.call
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    @cached_property
    def kernels(self) -> Variants:
        """The bound kernels by name and names of chosen coordinates (or None); None if there is no kernel.

        Names that have to be checked in detail give a `TypeError`.
        """
        return Variants(lambda key: self._bound(*key))

    @cached_property
    def stacked(self) -> Variants:
        """What calls the kernels of functions of a state at stacked ones, by name, or None."""
        return Variants(lambda name: (bound := self._bound(name, None)) and partial(bound.at_stack, threads=self.threads))

    def _bound(self, name: str, names: tuple[str, ...] | None) -> Any:
        """Return a kernel bound to the system's tables."""
        row = ROWS.get(name) if names is None else None
        if row is None or not (row.serves is None or row.serves(self._system)):
            return _BINDING[name](self, names) if name in _BINDING else None
        system = getattr(self._system, row.variant) if row.variant else self._system
        return Bound.of(system, row.entry, behind=tuple([getattr(system.tables, table) for table in row.behind]))

    @cached_property
    def _acted_on(self) -> ActedOn:
        """The external loads of the system."""
        return ActedOn(self._system, self._mechanism.inputs)

    # -- of chosen coordinates -------------------------------------------------------------------------------------------

    @cached_property
    def masks(self) -> Variants:
        """Masks (nv) of coordinates by their names; None stands for all. Unknown names give a `TypeError`."""
        return Variants(self._mask)

    def _mask(self, names: tuple[str, ...] | None) -> Array:
        if names is None:
            return np.ones(self._mechanism.nv, dtype=bool)
        try:
            return coordinate_mask(names, self._system.structure)
        except ModelError:  # the detailed check raises it again
            raise TypeError from None

    @cached_property
    def hybrids(self) -> Variants:
        """The kernels of hybrid dynamics by masks of the imposed coordinates, for the generic rank of the constraints."""
        return Variants(lambda mask: HybridKernels(self._system, np.frombuffer(mask, dtype=bool).copy()))

    def hybrid_of(self, names: tuple[str, ...] | None) -> HybridKernels:
        """Return the kernels of hybrid dynamics in which the motion of some coordinates is imposed."""
        kernels: HybridKernels = self.hybrids[self.masks[names or ()].tobytes()]
        return kernels

    @cached_property
    def nearest_rates(self) -> Any:
        """Kernels for the nearest velocity, and acceleration, that keep loops closed; None without loops."""
        if not self._mechanism.is_constrained:
            return None
        return nearest_motion(self._system, second=False), nearest_motion(self._system, second=True)

    @cached_property
    def along(self) -> CompiledAlong:
        """The functions along motions of systems that the series' kernels do not know."""
        return CompiledAlong(self._system, self)

    def _motion_along(self, port: str) -> AlongKernel | None:
        """Return the kernel of a port's motion; None for worlds that turn, against which it is to move."""
        return None if self._system.turns else self.along.motion(port)

    def _series(self, kernel: Pair, mask: Array | None, forward: bool = False) -> Bound | AlongKernel | None:
        """Return a kernel of time derivatives, for constant wrenches; None where it cannot be used."""
        if self._mechanism.is_constrained or not has_series(self._system):
            return self.along.kernel(mask, forward)
        return Bound.of(self._system, kernel, CONSTANT, *(() if forward or mask is None else (mask,)))

    # -- observations and efforts ----------------------------------------------------------------------------------------

    @cached_property
    def efforts(self) -> CompiledEfforts:
        """The kernels of efforts on the coordinates."""
        return CompiledEfforts(self._mechanism, self._system)

    @cached_property
    def at_ports(self) -> Variants:
        """The kernels for each port by its name."""
        return Variants(lambda port: PortCalls(self._system, port), most=len(self._mechanism.ports))

    @cached_property
    def touches(self) -> Variants:
        """What reads contacts at stacked states, by the contacts' names; None where each state has to be asked for."""
        return Variants(self._touches)

    def _touches(self, name: str) -> Bound | None:
        system, stage = self._system, touches_stage(contacts_of(self._mechanism)[name].closure)
        if stage is None or not stage.is_for_lanes or not system.has_lanes(observation_entries.touches):
            return None
        before, of_stacks = interaction_rows(system)[name], partial(system.kernel_in_lanes, observation_entries.touches)
        return Bound(lambda *_: layout.NOT_FINITE, (before, stage.in_lanes.address), system.arrays, of_stacks=of_stacks)

    @cached_property
    def motion_slopes(self) -> Variants:
        """The derivatives of ports' motions, by the names of the ports, and whether without gravity."""
        return Variants(lambda key: motion_slopes(self._system.inertial if key[1] else self._system.bare, key[0]))

    @cached_property
    def readings(self) -> CompiledReadings:
        return CompiledReadings(self._mechanism, self._acted_on)

    @cached_property
    def regressors(self) -> Variants:
        """The kernels of `efforts_by_inertia`, by its first two arguments."""
        return Variants(lambda key: body_efforts(self._system.apart, self._mechanism, *key))

    # -- steps between configurations ------------------------------------------------------------------------------------

    def _moving(self, kernel: Any) -> Any:
        """Return a kernel bound to the system's tables; None if some blocks override steps of their coordinates."""
        if moving_otherwise(self._system):
            return None
        plain = self._mechanism.plain_coordinates
        return partial(kernel.compiled, self._system.ints, np.array([plain.in_q, plain.in_v], dtype=np.int64))


#: Methods that bind kernels of efforts, with constraints, and for chosen coordinates; None if there is none.
_BINDING: dict[str, Callable[[CompiledCalls, Any], Bound | AlongKernel | None]] = {
    "passive_efforts": lambda calls, names: None if calls.efforts.in_python else calls.efforts.passive,
    "actuation_rows": lambda calls, names: None if calls._mechanism.inputs.own else calls.efforts.actuation,
    "forward": lambda calls, names: constrained_forward(calls._system),
    "forward_derivatives": lambda calls, names: constrained_derivatives(calls._system, calls._system.closing()),
    "linear_matrices": lambda calls, names: (
        None
        if moving_otherwise(calls._system)
        else constrained_derivatives(calls._system, calls._system.closing(), derivative_entries.constrained_linear_matrices)
    ),
    "inverse": lambda calls, names: least_efforts(calls._system, calls.masks[names]),
    "inverse_derivatives": lambda calls, names: shared_derivatives(calls._system, calls.masks[names]),
    "mass_inverse": lambda calls, names: least_efforts(calls._system, calls.masks[names], with_mass=True),
    "inverse_dynamics_series": lambda calls, names: calls._series(series_entries.inverse_dynamics_series, None),
    "forward_dynamics_series": lambda calls, names: calls._series(
        series_entries.forward_dynamics_series, ~calls.masks[None], forward=True
    ),
    "hybrid_dynamics_series": lambda calls, names: calls._series(
        series_entries.hybrid_dynamics_series, calls.masks[names or ()]
    ),
    "motion_series": lambda calls, names: port_series(calls._system, names[0]) or calls._motion_along(names[0]),
    "least_shares": lambda calls, names: least_shares(calls._system) if calls._mechanism.is_constrained else None,
    "hybrid": lambda calls, names: calls.hybrid_of(names).dynamics(calls._system.arrays),
    "hybrid_derivatives": lambda calls, names: calls.hybrid_of(names).derivatives(calls._system.closing()),
}


class PortCalls:
    """The kernels for one port of a system, by name. Raises `ModelError` if there is no such port."""

    #: Entries, and whether in inertial axes, and whether classical.
    _ROWS: Mapping[str, tuple[Pair, tuple[bool, ...]]] = {
        "pose": (observation_entries.port_pose, ()),
        "motion": (observation_entries.port_motion, ()),
        "jacobian": (observation_entries.port_jacobian, (False,)),
        "jacobian_in_world": (observation_entries.port_jacobian, (True,)),
        "twist": (observation_entries.port_twist, (False,)),
        "twist_in_world": (observation_entries.port_twist, (True,)),
        "acceleration": (observation_entries.port_acceleration, (False, False)),
        "classical_acceleration": (observation_entries.port_acceleration, (False, True)),
        "acceleration_in_world": (observation_entries.port_acceleration, (True, False)),
        "classical_acceleration_in_world": (observation_entries.port_acceleration, (True, True)),
    }

    def __init__(self, system: PackedSystem, port: str) -> None:
        self._place = system.port_place(system.mechanism.read_port(port))
        self._shown = system.with_all_ports if self._place[1] >= 0 else system
        #: The kernels by name, which are for stacked states, too.
        self.bound = Variants(self._bound)

    def __getattr__(self, name: str) -> Any:
        if name not in self._ROWS:
            raise AttributeError(name)
        kernel = self.bound[name].call
        setattr(self, name, kernel)
        return kernel

    def _bound(self, name: str) -> Bound:
        entry, flags = self._ROWS[name]
        return Bound.of(self._shown, entry, behind=(*self._place, *flags))
