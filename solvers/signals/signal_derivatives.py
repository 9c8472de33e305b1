"""Derivatives of signals with respect to the state and the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, rotation_exp, skew
from titop.blocks.basics.tolerances import EXACT
from titop.solvers.mechanism.port_motion import turning_motion, warn_of_gimbal_lock
from titop.solvers.signals.lines_and_sections import line_derivatives
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.reactions_and_contacts import (
    contact_derivatives,
    reaction_derivative,
    section_wrench_derivative,
    strain_derivative,
)
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import SOURCES

#: Below this sine or cosine of the middle angle, derivatives of Euler angles are refused.
_LOCK = EXACT**0.5


def acceleration_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (6, z) of a port's spatial acceleration, in its frame."""
    motion = _motion(at, change, port)
    return change.along(motion.dA_dq, motion.dA_dv, motion.jacobian)


def twist_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (6, z) of a port's twist, in its frame."""
    motion = _motion(at, change, port)
    return change.along(motion.dV_dq, motion.jacobian)


def place_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (3, z) of a port's position from the inertial origin, in its frame."""
    displacement = change.along(at.model.jacobian(port, at.q))
    rotation, position = at.model.pose(port, at.q)
    return displacement[:3] + skew(rotation.T @ position) @ displacement[3:]


def angles_derivative(at: Snapshot, change: SnapshotChanges, port: str, sequence: str) -> Array:
    """Return the change (3, z) of a port's Euler angles."""
    rotation = change.along(at.model.jacobian(port, at.q)[3:])
    return angles_by_rotation(port, at.model.pose(port, at.q)[0], sequence) @ rotation


def position_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (3, z) of a port's position in inertial axes."""
    return change.along(at.model.pose(port, at.q)[0] @ at.model.jacobian(port, at.q)[:3])


def pose_derivative(at: Snapshot, change: SnapshotChanges, port: str, sequence: str) -> Array:
    """Return the change (6, z) of a port's position in inertial axes, and of its Euler angles."""
    moved, rotation = at.model.jacobian(port, at.q), at.model.pose(port, at.q)[0]
    turned = angles_by_rotation(port, rotation, sequence) @ change.along(moved[3:])
    return np.vstack([change.along(rotation @ moved[:3]), turned])


def specific_force_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (3, z) of ``dv - R^T g + w x v``."""
    motion, rotation = turning_motion(at.model.mechanism, port, at.q, at.v, at.a)
    twist = motion[6:12]
    turned = change.along(at.model.jacobian(port, at.q)[3:])
    rates = twist_derivative(at, change, port)
    gravity = skew(rotation.T @ at.model.gravity) @ turned
    return acceleration_derivative(at, change, port)[:3] - gravity + skew(twist[3:]) @ rates[:3] - skew(twist[:3]) @ rates[3:]


def angles_by_rotation(port: str, rotation: Array, sequence: str) -> Array:
    """Return the matrix (3x3) from a small rotation in the port's frame to the change of its Euler angles."""
    angles = euler_angles(rotation, sequence)
    first, second, third = (np.eye(3)["XYZ".index(axis)] for axis in sequence)
    turn_2, turn_3 = rotation_exp(second * angles[1]), rotation_exp(third * angles[2])
    axes = np.column_stack([turn_3.T @ turn_2.T @ first, turn_3.T @ second, third])
    if abs(np.linalg.det(axes)) < _LOCK:
        found = f"angles {angles.tolist()} in sequence {sequence}"
        raise ModelError(
            Finding(
                "gimbal-lock", f"{port}.theta", found, "angles with a derivative", "read another sequence with a PoseSensor"
            )
        )
    warn_of_gimbal_lock(port, angles, sequence)
    return np.linalg.inv(axes)


def _motion(at: Snapshot, change: SnapshotChanges, port: str) -> Any:
    """Return the derivatives of a port's twist and acceleration by q, v and a."""
    return change.once(("motion", port), lambda: at.model.motion_derivatives(port, at.q, at.v, at.a))


def derivative_of(at: Snapshot | None, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (..., n, z) of a quantity with ``z = [states; inputs]``.

    - `at`: None for quantities of coordinates, with displacements from the point itself; points may then be stacked;
    - `change`: changes of the state.
    """
    owner, placed = of.owner if SOURCES[of.kind].owned else "", of.kind == Kind.POSE and _is_place(of)
    whole = change.once((of.kind, owner, of.sequence, placed), lambda: DERIVATIVES[of.kind](at, change, of, inputs))
    return of.factor * whole[..., list(of.entries), :]


def _is_place(pose: Quantity) -> bool:
    """Whether only positions are needed, not angles, which have no derivative in gimbal lock."""
    return max(pose.entries) < 3


def _displacements(at: Snapshot | None, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    return change.q if at is None else at.displacement_derivatives @ change.q


def _pose(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    if _is_place(of):
        return position_derivative(at, change, of.owner)
    return pose_derivative(at, change, of.owner, of.sequence)


def _filtered(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    assert of.filtering is not None
    states = change.inputs[len(inputs.named) :]
    # loops in continuous time have no columns of states: their integrators' iterations do without
    shape = len(of.filtering.C), change.q.shape[-1]
    values: Array = of.filtering.C @ states[of.filtering.place] if len(states) else np.zeros(shape)
    for quantity, matrix in of.filtering.terms:
        values = values + matrix @ derivative_of(at, change, quantity, inputs)
    return values


#: By kind: from a state, its change, a quantity and the inputs to the change of the kind's whole vector, without the factor.
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
    Kind.FILTERED: _filtered,
    Kind.FILTERED_AT_ONCE: _filtered,
}
