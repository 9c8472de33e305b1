"""The reference engine: the executable specification of titop's dynamics, on the passes over block objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.engines.reference.passes import Passes
from titop.solvers.engines.reference.reference_derivatives import ReferenceDerivatives, ReferenceStates
from titop.solvers.engines.reference.reference_dynamics import ReferenceDynamics, ReferenceObservations
from titop.solvers.engines.reference.reference_series import ReferenceSeries
from titop.solvers.mechanism.conditioning import Pivots
from titop.solvers.mechanism.kernel_calls import NO_CALLS
from titop.solvers.mechanism.system_parameters import (
    assembly_parameters,
    changed_assembly,
    device_parameters,
    followed,
    suspicions,
)
from titop.solvers.model.mechanism import Mechanism


class ReferenceEngine:
    """An engine of passes in NumPy, with no kernels; see `Engine` for its functions.

    Parameters
    ----------
    dtype : type
        Of the parameters; complex in complex steps.
    """

    calls: Any = NO_CALLS

    def __init__(self, mechanism: Mechanism, assembly: Assembly, dtype: type = float) -> None:
        self.assembly = assembly
        self.passes = Passes(mechanism, assembly, dtype)
        self.dynamics, self.observations = ReferenceDynamics(self.passes), ReferenceObservations(self.passes)
        self.series, self.states = ReferenceSeries(self.passes), ReferenceStates(mechanism)
        self.derivatives = ReferenceDerivatives(mechanism, self.dynamics, self.observations)

    @property
    def gravity(self) -> Array:
        return self.assembly.gravity

    @property
    def turning(self) -> Array:
        return self.assembly.turning

    def parameters(self) -> dict[str, tuple[float, str]]:
        return assembly_parameters(self.assembly) | device_parameters(self.assembly.devices)

    def with_values(self, values: Mapping[str, float]) -> tuple[Mechanism, list[Finding]]:
        devices, values = followed(self.assembly.devices, read_mapping("parameters", values))
        changed = replace(changed_assembly(self.assembly, values, assembly_parameters(self.assembly)), devices=devices)
        mechanism = self.passes.mechanism.with_assembly(changed)
        return mechanism, suspicions(self.assembly, values, changed=changed.blocks) + mechanism.check_inertia()

    def doubtful_pivots(self, places: Sequence[Array]) -> list[Pivots]:
        return [self.dynamics.pivots(q) for q in places]

    def raise_for(self, status: int) -> None:
        """Without kernels there is no status."""

    def raise_pending(self) -> None:
        """Without kernels errors are raised where they occur."""


def reference_passes(assembly: Assembly) -> Passes:
    """Return the passes over the blocks of an assembly."""
    engine = Mechanism(assembly, ReferenceEngine).engine
    assert isinstance(engine, ReferenceEngine)
    return engine.passes
