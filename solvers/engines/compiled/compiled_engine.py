"""The compiled engine: tables, and kernels that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from titop.blocks.basics.errors import Finding, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import is_acted_on
from titop.blocks.devices.composite_device import CompositeDevice
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.engines.compiled.compiled_derivatives import CompiledDerivatives
from titop.solvers.engines.compiled.compiled_dynamics import CompiledDynamics, CompiledSeries
from titop.solvers.engines.compiled.function_kernels import CompiledCalls
from titop.solvers.engines.compiled.law_tables import compiled_interaction, compiled_law, compiled_surroundings
from titop.solvers.engines.compiled.observations import CompiledObservations, CompiledStates
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.repacking import NEAR, Repacking, are_near, move_constraints, with_parameters_of
from titop.solvers.engines.compiled.rounding import doubtful_pivots, keeps, moves_at_rest, plainly_sound
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import Pivots
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.system_parameters import changed_assembly, followed, is_float, look_at, suspicions
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.native.callbacks import raise_pending

#: Types of parameters that are written into tables.
_NUMBERS = (int, float)


class CompiledEngine:
    """An engine of compiled kernels; see `Engine` for its functions.

    Parameters
    ----------
    mechanism : Mechanism
        The coordinates and constraints.
    """

    def __init__(self, mechanism: Mechanism, assembly: Assembly) -> None:
        self._mechanism, self.system = mechanism, PackedSystem(mechanism, assembly)

    @classmethod
    def on(cls, system: PackedSystem, repacking: Repacking, known: Mapping[str, Any], mechanism: Mechanism) -> CompiledEngine:
        """Return the engine of a mechanism with tables that are ready; attributes that are not `known` are computed again."""
        engine = object.__new__(cls)
        engine._mechanism, engine.system, engine._repacking = mechanism, system, repacking
        engine.__dict__.update(known)
        system.mechanism = mechanism
        return engine

    @cached_property
    def calls(self) -> CompiledCalls:
        """The kernels bound to the tables, by the names of a model's functions."""
        return CompiledCalls(self._mechanism, self.system)

    @cached_property
    def dynamics(self) -> CompiledDynamics:
        return CompiledDynamics(self._mechanism, self.system, self.calls)

    @cached_property
    def derivatives(self) -> CompiledDerivatives:
        return CompiledDerivatives(self._mechanism, self.system, self.calls)

    @cached_property
    def states(self) -> CompiledStates:
        return CompiledStates(self._mechanism, self.system, self.calls)

    @cached_property
    def series(self) -> CompiledSeries:
        return CompiledSeries(self._mechanism, self.system, self.calls)

    @cached_property
    def observations(self) -> CompiledObservations:
        return CompiledObservations(self._mechanism, self.system, self.calls)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out bound kernels, which cannot be sent to another process; that binds its own."""
        return {"_mechanism": self._mechanism, "system": self.system}

    @property
    def is_compiled(self) -> bool:
        """Whether the law of every block and interaction is compiled: of rigid and flexible bodies and built-in joints."""
        blocks, tables = [general.block for general in self.system.tables.general], self.system.tables
        generals = all(compiled_law(block) and (compiled_surroundings(block) or not is_acted_on(block)) for block in blocks)
        return generals and all(compiled_interaction(acting.block) for acting in tables.interactions)

    @property
    def assembly(self) -> Assembly:
        return self.system.assembly

    @property
    def gravity(self) -> Array:
        return self.system.floats[0, layout.GRAVITY : layout.GRAVITY + 3].copy()

    @property
    def turning(self) -> Array:
        return self.system.floats[0, layout.TURN : layout.TURN + 6].copy()

    def raise_for(self, status: int) -> None:
        self.system.raise_for(status)

    def raise_pending(self) -> None:
        raise_pending()

    def doubtful_pivots(self, places: Sequence[Array]) -> list[Pivots]:
        return doubtful_pivots(self.system, places)

    def state_derivative(self, pushes: Sequence[Push], tau: Array) -> tuple[Any, tuple[Any, ...]]:
        """Return the compiled ``f(dy, t, y, *arguments) -> status`` of a compiled system, ``y = [q, v]``, and its arguments.

        Constant pushes on ports and efforts `tau` (nv) act on the system. Where the dynamics fail, dy is NaN.
        """
        system = self.system.with_pushes(pushes)
        return system.kernel(dynamics_entries.state_derivative).compiled, (*system.arrays, tau)

    # -- parameters ----------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, tuple[float, str]]:
        return self.system.parameters()

    @cached_property
    def _repacking(self) -> Repacking:
        return Repacking(self.system.structure, self.system.tables, self._mechanism.inputs)

    @cached_property
    def _ample(self) -> Array | None:
        """The parameters, if masses and inertias near them leave all coordinates plainly sound (see `repacking`)."""
        part = plainly_sound(self.system) * NEAR**2
        return self.system.params if keeps(self.system, part, self._mechanism.probes) else None

    def with_values(self, values: Mapping[str, float]) -> tuple[Mechanism, list[Finding]]:
        system, repacking, ample = self.system, self._repacking, self._ample
        devices, values = system.devices, read_mapping("parameters", values)
        if devices:
            devices, values = followed(devices, values)
        params, index = system.params.copy(), repacking.positions
        for name, value in values.items():
            if name not in index or not isinstance(value, _NUMBERS) or not is_float(value):
                return self._rebuilt(values, devices)
            params[index[name]] = value
        near = ample is not None and are_near(ample, params, map(repacking.inertial.get, values))
        blocks = repacking.changed_numbers(system, values)
        warnings: list[Finding] = []
        if not near:
            errors, warnings = look_at(system.structure, {**system.changes, **values}, values, blocks)
            refuse(errors)
        packed = with_parameters_of(system, params, values, blocks)
        if packed is None:
            return self._rebuilt(values, devices)
        packed.devices = devices
        reshaped = bool(blocks) and not system.tables.general_names.isdisjoint(blocks)
        still = not (near or reshaped) and packed.moves_like(system)
        engine = partial(CompiledEngine.on, packed, repacking, {"_ample": ample} if near or still else {})
        moved = not near and self._mechanism.is_constrained and (reshaped or move_constraints(values))
        mechanism = self._mechanism.twin(engine, moved)
        if near:
            return mechanism, []
        if still and (moves_at_rest(packed, mechanism.probes) or mechanism.moves_at_rest()):
            return mechanism, warnings
        return mechanism, warnings + mechanism.check_inertia()

    def _rebuilt(self, values: Mapping[str, float], devices: tuple[CompositeDevice, ...]) -> tuple[Mechanism, list[Finding]]:
        """Return the mechanism built again with changed parameters: other springs, general blocks, or an error."""
        structure, changes = self.system.structure, {**self.system.changes, **values}
        changed = changed_assembly(structure, changes, dict.fromkeys(self.system.tables.parameter_names))
        mechanism = self._mechanism.with_assembly(replace(changed, devices=devices))
        if self._mechanism.is_constrained:
            mechanism.regular_before = self._mechanism.regular_configuration
        return mechanism, suspicions(structure, changes, values, changed.blocks) + mechanism.check_inertia()
