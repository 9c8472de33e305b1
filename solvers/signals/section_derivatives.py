"""How strains and wrenches of rods' sections change with the state and the inputs."""

from __future__ import annotations

from titop.blocks.basics.spatial import Array
from titop.solvers.signals.quantities import Quantity
from titop.solvers.signals.reaction_derivatives import transmitted_derivative
from titop.solvers.signals.section_opening import section_of
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs


def strain_derivative(at: Snapshot, change: SnapshotDerivatives, port: str) -> Array:
    """Return the change (6, z) of the strain of the section at a port: the rod's shapes there."""
    rod, fraction = section_of(at.model.assembly, port)
    shapes: Array = rod.strain_shapes([fraction * rod.length])[0]
    return shapes @ change.q[at.model.assembly.v_slices[rod.name]]


def section_wrench_derivative(at: Snapshot, change: SnapshotDerivatives, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (6, z) of what the section at a port transmits; wrenches and actuators among the inputs enter it."""
    return transmitted_derivative(at, change, of.owner, inputs)
