"""The exact derivative of what a name stands for, by states and inputs: one entry a kind that can be read."""

from __future__ import annotations

from collections.abc import Callable

from titop.blocks.basics.spatial import Array
from titop.solvers.signals.contact_readings import contact_derivatives
from titop.solvers.signals.line_readings import line_derivatives
from titop.solvers.signals.port_derivatives import (
    acceleration_derivative,
    angles_derivative,
    place_derivative,
    pose_derivative,
    position_derivative,
    specific_force_derivative,
    twist_derivative,
)
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.reaction_derivatives import reaction_derivative
from titop.solvers.signals.section_derivatives import section_wrench_derivative, strain_derivative
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import SOURCES


def derivative_of(at: Snapshot | None, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (..., n, z) of a quantity with ``z = [states; inputs]``.

    Parameters
    ----------
    at : Snapshot or None
        None for quantities of coordinates, displacements measured from the point itself; then also at stacked points.
    change : SnapshotChanges
        Of the state.
    of : Quantity
    inputs : SystemInputs
    """
    owner, placed = of.owner if SOURCES[of.kind].owned else "", of.kind == Kind.POSE and _is_place(of)
    whole = change.once((of.kind, owner, of.sequence, placed), lambda: DERIVATIVES[of.kind](at, change, of, inputs))
    return of.factor * whole[..., list(of.entries), :]


def _is_place(pose: Quantity) -> bool:
    """Whether no angles are asked for, which have no derivative in a gimbal lock."""
    return max(pose.entries) < 3


def _displacements(at: Snapshot | None, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    return change.q if at is None else at.displacement_derivatives @ change.q


def _pose(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    if _is_place(of):
        return position_derivative(at, change, of.owner)
    return pose_derivative(at, change, of.owner, of.sequence)


#: From a state, its change, a quantity and the inputs to the change of all entries of the kind's vector, without a factor.
DERIVATIVES: dict[Kind, Callable[..., Array]] = {
    Kind.POSITION: _displacements,
    Kind.RATE: lambda at, change, of, inputs: change.v,
    Kind.ACCELERATION: lambda at, change, of, inputs: change.a,
    Kind.EFFORT: lambda at, change, of, inputs: change.tau,
    Kind.CONFIGURATION: lambda at, change, of, inputs: at.model.configuration_derivatives(at.q) @ change.q,
    Kind.OWN_STATE: lambda at, change, of, inputs: change.inputs[len(inputs.named) :],
    Kind.PORT_ACCELERATION: lambda at, change, of, inputs: acceleration_derivative(at, change, of.owner),
    Kind.TWIST: lambda at, change, of, inputs: twist_derivative(at, change, of.owner),
    Kind.PLACE: lambda at, change, of, inputs: place_derivative(at, change, of.owner),
    Kind.ANGLES: lambda at, change, of, inputs: angles_derivative(at, change, of.owner, of.sequence),
    Kind.SPECIFIC_FORCE: lambda at, change, of, inputs: specific_force_derivative(at, change, of.owner),
    Kind.POSE: _pose,
    Kind.MOMENTUM: lambda at, change, of, inputs: change.v,
    Kind.LENGTH: lambda at, change, of, inputs: line_derivatives(at, change, of),
    Kind.VOLUME: lambda at, change, of, inputs: line_derivatives(at, change, of),
    Kind.REACTION: lambda at, change, of, inputs: reaction_derivative(at, change, of.owner, inputs),
    Kind.STRAIN: lambda at, change, of, inputs: strain_derivative(at, change, of.owner),
    Kind.SECTION_WRENCH: lambda at, change, of, inputs: section_wrench_derivative(at, change, of, inputs),
    Kind.GAP: lambda at, change, of, inputs: contact_derivatives(at, change, of, inputs),
    Kind.CONTACT_FORCE: lambda at, change, of, inputs: contact_derivatives(at, change, of, inputs),
}
