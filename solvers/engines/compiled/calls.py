"""The kernels of a system by the names of a model's functions, bound to its tables when they are first asked for.

What each takes behind the tables is what the function's fast path gives it (`titop.solvers.mechanism.fast_path`). Where there
is no kernel for a function of this system, its name stands for None: the function goes through the engine's cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import moves_fluid
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.arguments.stacked_loads import Stack
from titop.solvers.constraints.mechanism import NamedMechanism
from titop.solvers.engines.compiled.acted_on import ActedOn, Variants
from titop.solvers.engines.compiled.closed_kernels import (
    constrained_derivatives,
    constrained_forward,
    nearest_motion,
    shared_derivatives,
)
from titop.solvers.engines.compiled.directions import Directions
from titop.solvers.engines.compiled.efforts import CompiledEfforts
from titop.solvers.engines.compiled.energies import energies
from titop.solvers.engines.compiled.hybrid import HybridKernels, generic_hybrid
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.port_calls import AtPorts
from titop.solvers.engines.compiled.readings import CompiledReadings
from titop.solvers.engines.compiled.series import CONSTANT, has_series
from titop.solvers.engines.compiled.special_blocks import moving_otherwise, surrounded
from titop.solvers.engines.compiled.stacked_calls import StackedCalls
from titop.solvers.kernels.entries import (
    closure_entries,
    derivative_entries,
    directional_entries,
    dynamics_entries,
    mass_entries,
    moving_entries,
    observation_entries,
    series_entries,
)
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.mechanism.fast_path import names_key
from titop.solvers.native.kernel import Kernel


class CompiledCalls:
    """The kernels of a system.

    Parameters
    ----------
    model : NamedMechanism
        Its coordinates and constraints.
    system : PackedSystem
    """

    def __init__(self, model: NamedMechanism, system: PackedSystem) -> None:
        self._model, self._system = model, system
        self._acted_on = ActedOn(system, model.inputs)
        self.acted_on, self.acted_on_derivatives = self._acted_on.by, self._acted_on.by_derived

    @cached_property
    def masks(self) -> Variants:
        """Masks (nv) of coordinates by their names; of all without names."""
        every, assembly = np.ones(self._model.nv, dtype=bool), self._system.structure
        return Variants(lambda names: every if names is None else coordinate_mask(names, assembly))

    @cached_property
    def _still(self) -> Array:
        """Zeros (nv), which nobody writes to."""
        return np.zeros(self._model.nv)

    # -- dynamics ------------------------------------------------------------------------------------------------------

    @cached_property
    def forward(self) -> Any:
        if self._model.is_constrained:
            return constrained_forward(self._system, self._model.generic_rank)
        return self._system.bound(dynamics_entries.forward_dynamics)

    @cached_property
    def _stacked(self) -> StackedCalls:
        return StackedCalls(self._acted_on)

    @cached_property
    def forward_stacked(self) -> Callable[[Stack], Array | None]:
        """Forward dynamics of stacks with loads of their own."""
        bound = None if self._model.is_constrained else self._system.bound(dynamics_entries.forward_batch)
        return partial(self._stacked.forward, bound, self.forward)

    @cached_property
    def inverse_stacked(self) -> Callable[[Stack], Array | None] | None:
        """Inverse dynamics of stacks with loads of their own, in trees."""
        if self._model.is_constrained:
            return None
        return partial(self._stacked.inverse, self._system.bound(dynamics_entries.inverse_batch), self.inverse[0])

    @cached_property
    def inverse(self) -> tuple[Any, bool]:
        """Inverse dynamics, and whether constraints share the efforts."""
        if self._model.is_constrained:
            return self.inverse_on[None]  # type: ignore[no-any-return]
        return self._system.bound(dynamics_entries.inverse_dynamics), False

    @cached_property
    def inverse_on(self) -> Variants:
        """Inverse dynamics, and that constraints share the efforts, by names of the actuated coordinates."""
        kernel, loops = self._system.kernel(closure_entries.constrained_inverse), self._system.loops(self._model.generic_rank)
        arrays = self._system.arrays
        return Variants(lambda names: (partial(kernel.compiled, loops, self.masks[names], self._still, *arrays), True))

    @cached_property
    def mass_inverse(self) -> tuple[Any, bool]:
        """The same with the mass matrix."""
        if self._model.is_constrained:
            return self.mass_inverse_on[None]  # type: ignore[no-any-return]
        return self._system.bound(mass_entries.mass_inverse_dynamics), False

    @cached_property
    def mass_inverse_stacked(self) -> Callable[[Stack], tuple[Array, Array] | None] | None:
        """The same of stacks, in trees."""
        return None if self._model.is_constrained else partial(self._stacked.mass_inverse, self.mass_inverse[0])

    @cached_property
    def mass_inverse_on(self) -> Variants:
        """The same by names of the actuated coordinates."""
        kernel, loops = self._system.kernel(mass_entries.constrained_mass_inverse), self._system.loops(self._model.generic_rank)
        arrays = self._system.arrays
        return Variants(lambda names: (partial(kernel.compiled, loops, self.masks[names], self._still, *arrays), True))

    def beside(self, shared: Any, driven: Array) -> Any:
        """Return a kernel of `inverse_on`, of `mass_inverse_on`, or of such derivatives, for what is left to do.

        That is beside `driven` efforts (nv).
        """
        first = len(shared.args) - len(self._system.arrays)
        return partial(shared.func, *shared.args[: first - 1], driven, *shared.args[first:])

    def hybrid(self, prescribed: Sequence[str]) -> HybridKernels:
        """Return the kernels of hybrid dynamics for prescribed coordinates.

        Raises
        ------
        TypeError
            Where these names have to be read with more care.
        """
        kernels: HybridKernels = self.hybrids[self.masks[names_key(prescribed) or ()].tobytes()]
        return kernels

    def hybrid_stacked(self, imposed: Array, stack: Stack) -> tuple[Array, Array] | None:
        """Return hybrid dynamics of stacks."""
        return self._stacked.hybrid(self.hybrids[imposed.tobytes()].dynamics, imposed, stack)

    @cached_property
    def hybrids(self) -> Variants:
        """The kernels of hybrid dynamics by masks of the imposed coordinates, for as many constraints as act generically."""
        return Variants(lambda mask: generic_hybrid(self._system, np.frombuffer(mask, dtype=bool).copy()))

    @cached_property
    def nearest_velocity(self) -> Any:
        """What finds velocities which keep loops closed; none where followers have to go first."""
        return None if self._model.gear_count else self.nearest_rates[0]

    @cached_property
    def nearest_acceleration(self) -> Any:
        return None if self._model.gear_count else self.nearest_rates[1]

    @cached_property
    def nearest_rates(self) -> tuple[Any, Any]:
        """What finds velocities, and accelerations, which keep loops closed; none without loops."""
        if not self._model.is_constrained:
            return None, None
        return nearest_motion(self._system, second=False), nearest_motion(self._system, second=True)

    # -- derivatives ---------------------------------------------------------------------------------------------------

    @cached_property
    def forward_derivatives(self) -> tuple[Any, tuple[Array, ...]] | None:
        """The derivatives of forward dynamics, and what they take before the state."""
        system, tables = self._system, self._system.tables
        if self._model.is_constrained:
            return constrained_derivatives(system, system.closing(), self._model.generic_rank), ()
        return system.bound(derivative_entries.forward_derivatives), (tables.tree, tables.paths)

    @cached_property
    def inverse_derivatives(self) -> tuple[Any, tuple[Array, ...], bool] | None:
        """The derivatives of inverse dynamics, what they take before the state, and whether constraints share the efforts."""
        return None if self.inverse_derivatives_on is None else self.inverse_derivatives_on[None]

    @cached_property
    def inverse_derivatives_on(self) -> Variants | None:
        """The same by names of the actuated coordinates."""
        return Variants(self._inverse_derivatives)

    def _inverse_derivatives(self, names: tuple[str, ...] | None) -> tuple[Any, tuple[Array, ...], bool]:
        system = self._system
        if names is None and not self._model.is_constrained:
            return system.bound(derivative_entries.inverse_derivatives), (system.tables.paths,), False
        tables, rank = system.closing(), self._model.generic_rank
        return shared_derivatives(system, self.masks[names], self._still, tables, rank), (), True

    @cached_property
    def linear_matrices(self) -> Any:
        system, tables = self._system, self._system.tables
        if self._model.is_constrained or moving_otherwise(system):
            return None
        return partial(system.bound(derivative_entries.linear_matrices), tables.tree, tables.paths)

    @cached_property
    def directions(self) -> Directions | None:
        """Derivatives along one direction without the matrices, in trees."""
        return None if self._model.is_constrained else Directions(self._system)

    @cached_property
    def tangent(self) -> Any:
        return self._along_directions(directional_entries.forward_tangent)

    @cached_property
    def adjoint(self) -> Any:
        return self._along_directions(directional_entries.forward_adjoint)

    def _along_directions(self, pair: Pair) -> Any:
        return None if self.directions is None else self._system.bound(pair)

    # -- derivatives by time ---------------------------------------------------------------------------------------------

    @cached_property
    def inverse_dynamics_series(self) -> Any:
        return self._series(series_entries.inverse_dynamics_series)

    @cached_property
    def forward_dynamics_series(self) -> Any:
        return self._series(series_entries.forward_dynamics_series)

    @cached_property
    def hybrid_dynamics_series(self) -> Variants | None:
        """Hybrid dynamics with time derivatives by names of the prescribed coordinates, in trees."""
        if self._model.is_constrained or not has_series(self._system):
            return None
        kernel, arrays = series_entries.hybrid_dynamics_series.compiled, self._system.arrays
        return Variants(lambda names: partial(kernel, CONSTANT, self.masks[names or ()], *arrays))

    def _series(self, kernel: Kernel) -> Any:
        """Return a kernel of a tree's time derivatives, for wrenches that are constant; None where it does not serve."""
        if self._model.is_constrained or not has_series(self._system):
            return None
        return partial(kernel.compiled, CONSTANT, *self._system.arrays)

    # -- terms of the equations of motion --------------------------------------------------------------------------------

    @cached_property
    def mass_matrix(self) -> Any:
        return self._system.bare.bound(dynamics_entries.whole_mass_matrix)

    @cached_property
    def inverse_mass_matrix(self) -> Any:
        return partial(self._system.bare.bound(observation_entries.inverse_mass_matrix), self._system.tables.tree)

    @cached_property
    def nonlinear_effects(self) -> Any:
        """Inverse dynamics without passive efforts and loads, which take accelerations too."""
        return self._system.bare.bound(dynamics_entries.inverse_dynamics)

    @cached_property
    def inertial_inverse_dynamics(self) -> Any:
        return self._system.inertial.bound(dynamics_entries.inverse_dynamics)

    @cached_property
    def mass_inertial_inverse_dynamics(self) -> Any:
        return self._system.inertial.bound(mass_entries.mass_inverse_dynamics)

    @cached_property
    def gravity_effects(self) -> Any:
        """Inverse dynamics without passive efforts and loads, which take velocities and accelerations too."""
        return self.nonlinear_effects

    @cached_property
    def coriolis_matrix(self) -> Any:
        system = self._system
        if system.tables.general:
            return None
        return partial(observation_entries.coriolis_matrix.compiled, system.ints, system.floats, system.tables.paths)

    @cached_property
    def efforts(self) -> CompiledEfforts:
        """What acts along the coordinates."""
        return CompiledEfforts(self._model, self._system)

    @cached_property
    def passive_efforts(self) -> Any:
        return None if self.efforts.in_python else self.efforts.passive

    @cached_property
    def actuation_rows(self) -> Any:
        return None if self._model.inputs.own else self.efforts.actuation

    # -- what is read of a state -----------------------------------------------------------------------------------------

    @cached_property
    def at_ports(self) -> AtPorts:
        return AtPorts(self._system)

    @cached_property
    def readings(self) -> CompiledReadings:
        return CompiledReadings(self._model, self._acted_on)

    @cached_property
    def energies(self) -> Callable[[Array, Array, Array], int] | None:
        """Kinetic, gravity's and elastic energy, if all of it is compiled."""
        return None if surrounded(self._system) else energies(self._system)

    @cached_property
    def momentum(self) -> Any:
        return self._system.bound(observation_entries.momentum)

    @cached_property
    def momentum_matrix(self) -> Any:
        return self._system.bound(observation_entries.momentum_matrix)

    @cached_property
    def mass_center(self) -> Any | None:
        """Of all inertia, if none of it is a fluid's."""
        wet = any(moves_fluid(general.block) for general in self._system.tables.general)
        return None if wet else self._system.bound(observation_entries.center_of_mass)

    @cached_property
    def regressors(self) -> Variants:
        """The columns of the regressor that belong to some bodies, by their names."""
        return Variants(self._regressor)

    def _regressor(self, bodies: tuple[str, ...]) -> Any:
        places = np.array([[self._system.tables.elements[body] for body in bodies]], dtype=np.int64)
        return partial(self._system.bound(observation_entries.regressor), places, self._system.frames)

    # -- moving between configurations -----------------------------------------------------------------------------------

    @cached_property
    def integrate(self) -> Any:
        return self._moving(moving_entries.integrate)

    @cached_property
    def integrate_derivatives(self) -> Any:
        return self._moving(moving_entries.integrate_derivatives)

    @cached_property
    def difference(self) -> Any:
        return self._moving(moving_entries.difference)

    @cached_property
    def difference_derivatives(self) -> Any:
        return self._moving(moving_entries.difference_derivatives)

    def _moving(self, kernel: Kernel) -> Any:
        """Return a kernel bound to the system's tables; None if some blocks say themselves how their coordinates move."""
        if moving_otherwise(self._system):
            return None
        plain = self._model.plain_coordinates
        return partial(kernel.compiled, self._system.ints, np.array([plain.in_q, plain.in_v], dtype=np.int64))

    @cached_property
    def write_rates(self) -> Any:
        """What writes dq/dt of states that were read; None if some blocks say themselves how their coordinates move."""
        return None if moving_otherwise(self._system) else partial(dynamics_entries.configuration_rate, self._system.ints)
