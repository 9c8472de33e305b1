"""Values of quantities at a state, and their derivatives: one entry for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, rotation_exp, skew
from titop.blocks.basics.tolerances import EXACT
from titop.solvers.mechanism.port_motion import (
    PortMotion,
    motion_of_port,
    position_and_angles,
    turning_motion,
    warn_of_gimbal_lock,
)
from titop.solvers.signals import lines_and_sections as lines
from titop.solvers.signals import reactions_and_contacts as loads
from titop.solvers.signals.quantities import Kind, NamedModel, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs

#: Below this sine or cosine of the middle angle, derivatives of Euler angles are refused.
_LOCK = EXACT**0.5


class Source(NamedTuple):
    """How a kind is read.

    - `read`: a function of a state;
    - `change`: from a state, its change, a quantity and the inputs to the change of the kind's vector, without the factor;
    - `start`: the index in what is read where the kind's vector begins;
    - `owned`: whether the result depends on the owner.
    """

    read: Callable[[Snapshot, Quantity], Array]
    change: Callable[..., Array]
    start: int = 0
    owned: bool = True


def quantity_value(at: Snapshot, of: Quantity) -> Array:
    """Return the value (n) of a quantity at a state; stacked for quantities of coordinates at stacked states."""
    source = SOURCES[of.kind]
    return source.read(at, of)[..., [source.start + k for k in of.entries]]


def derivative_of(at: Snapshot | None, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (..., n, z) of a quantity with ``z = [states; inputs]``.

    - `at`: None for quantities of coordinates, with displacements from the point itself; points may then be stacked;
    - `change`: changes of the state.
    """
    source = SOURCES[of.kind]
    owner, placed = of.owner if source.owned else "", of.kind == Kind.POSE and _is_place(of)
    whole = change.once((of.kind, owner, of.sequence, placed), lambda: source.change(at, change, of, inputs))
    return of.factor * whole[..., list(of.entries), :]


class JoinedValues:
    """The concatenated values of several quantities of a model. Each vector is read once, and all quantities that kernels know
    in one call.
    """

    def __init__(self, model: NamedModel, quantities: Sequence[Quantity]) -> None:
        ends = np.cumsum([0, *(len(of.entries) for of in quantities)], dtype=int).tolist()
        placed = [(of, range(*pair)) for of, pair in zip(quantities, pairwise(ends), strict=True)]
        self._size, self._reading, readings = ends[-1], None, model.mechanism.engine.calls.readings
        if readings is not None and (known := [part for part in placed if readings.knows(part[0])]):
            self._known = [of for of, _ in known]
            self._reading = readings.joined(self._known)
            self._read_rows = np.array([row for _, rows in known for row in rows], dtype=int)
            placed = [part for part in placed if not readings.knows(part[0])]
        same: dict[Any, list[tuple[Quantity, range]]] = {}
        for of, rows in placed:
            source = SOURCES[of.kind]
            same.setdefault((source.read, of.owner if source.owned else "", of.factor, of.sequence), []).append((of, rows))
        self._groups = [_group(parts) for parts in same.values()]

    @property
    def takes_stacks(self) -> bool:
        """Whether kernels read all of it, also at stacked states."""
        return not self._groups

    def read(self, at: Snapshot) -> Array:
        """Return the values (n) at a state, or at stacked ones if `takes_stacks`."""
        values = np.zeros((*at.q.shape[:-1], self._size))
        if self._reading is not None:
            known = self._reading.read(at.q, at.v, at.a, at.wrenches, at.u, at.tau)
            if known is None and at.q.ndim == 2:
                states = zip(at.q, at.v, at.a, at.tau, strict=True)
                return np.array([self.read(at._replace(q=q, v=v, a=a, tau=tau)) for q, v, a, tau in states])
            known = np.concatenate([quantity_value(at, of) for of in self._known]) if known is None else known
            values[..., self._read_rows] = known
        for rows, read, of, places in self._groups:
            values[rows] = read(at, of)[places]
        return values


class _Group(NamedTuple):
    """Rows of the result that are entries of one array: how the array is read, of which quantity, and the entries."""

    rows: Array
    read: Callable[[Snapshot, Quantity], Array]
    of: Quantity
    places: Array


def _group(parts: Sequence[tuple[Quantity, range]]) -> _Group:
    entries = [(SOURCES[of.kind].start, k) for of, _ in parts for k in of.entries]
    of = replace(parts[0][0], entries=tuple(k for _, k in entries))
    rows = np.array([row for _, rows in parts for row in rows], dtype=int)
    return _Group(rows, SOURCES[of.kind].read, of, np.array([start + k for start, k in entries], dtype=int))


# -- values -----------------------------------------------------------------------------------------------------------------


def _displacements(at: Snapshot, of: Quantity) -> Array:
    """Return displacements (nv) from the origin; those of free and spherical joints are computed only if they are needed."""
    plain, model = at.model.mechanism.plain_coordinates, at.model
    if any(in_v.start <= k < in_v.stop for _, _, in_v in plain.others for k in of.entries):
        return model.difference(at.origin if at.q.ndim == 1 else np.tile(at.origin, (len(at.q), 1)), at.q)
    displacements = np.zeros((*at.q.shape[:-1], model.nv), at.q.dtype)
    displacements[..., plain.in_v] = (at.q - at.origin)[..., plain.in_q]
    return displacements


def _motion(at: Snapshot, of: Quantity) -> Array:
    return turning_motion(at.model.mechanism, of.owner, at.q, at.v, at.a)[0]


def _pose(at: Snapshot, of: Quantity) -> Array:
    if _is_place(of):
        return at.model.pose(of.owner, at.q)[1]
    return position_and_angles(at.model.mechanism, of.owner, at.q, of.sequence)


def _reaction(at: Snapshot, of: Quantity) -> Array:
    return at.model.reaction(of.owner, at.q, at.v, at.a, at.wrenches, at.u, at.tau)


def _strain(at: Snapshot, of: Quantity) -> Array:
    rod, fraction = lines.section_of(at.model.mechanism.assembly, of.owner)
    return at.model.section_strains(rod.name, [fraction * rod.length], at.q)[..., 0, :]


def _section_wrench(at: Snapshot, of: Quantity) -> Array:
    rod, fraction = lines.section_of(at.model.mechanism.assembly, of.owner)
    return at.model.section_wrenches(rod.name, [fraction * rod.length], at.q, at.v, at.a, at.wrenches, at.u, at.tau)[..., 0, :]


def _filtered(at: Snapshot, of: Quantity) -> Array:
    assert of.filtering is not None
    values: Array = at.states[..., of.filtering.place] @ of.filtering.C.T
    for quantity, matrix in of.filtering.terms:
        values = values + quantity_value(at, quantity) @ matrix.T
    return values


def _port_of(at: Snapshot, of: Quantity) -> PortMotion:
    return motion_of_port(at.model.mechanism, str(of.sensor.target), at.q, at.v, np.zeros_like(at.v))


# -- derivatives -------------------------------------------------------------------------------------------------------------


def _is_place(pose: Quantity) -> bool:
    """Whether only positions are needed, not angles, which have no derivative in gimbal lock."""
    return max(pose.entries) < 3


def _port_derivatives(at: Snapshot, change: SnapshotChanges, port: str) -> Any:
    """Return the derivatives of a port's twist and acceleration by q, v and a."""
    return change.once(("motion", port), lambda: at.model.motion_derivatives(port, at.q, at.v, at.a))


def _acceleration_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    motion = _port_derivatives(at, change, of.owner)
    return change.along(motion.dA_dq, motion.dA_dv, motion.jacobian)


def _twist_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    motion = _port_derivatives(at, change, of.owner)
    return change.along(motion.dV_dq, motion.jacobian)


def _place_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    """Return the change (3, z) of a port's position from the inertial origin, in its frame."""
    displacement = change.along(at.model.jacobian(of.owner, at.q))
    rotation, position = at.model.pose(of.owner, at.q)
    return displacement[:3] + skew(rotation.T @ position) @ displacement[3:]


def _angles_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    rotation = change.along(at.model.jacobian(of.owner, at.q)[3:])
    return angles_by_rotation(of.owner, at.model.pose(of.owner, at.q)[0], of.sequence) @ rotation


def _pose_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    moved, rotation = at.model.jacobian(of.owner, at.q), at.model.pose(of.owner, at.q)[0]
    position = change.along(rotation @ moved[:3])
    return position if _is_place(of) else np.vstack([position, _angles_change(at, change, of)])


def _specific_force_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    """Return the change (3, z) of ``dv - R^T g + w x v``."""
    motion, rotation = turning_motion(at.model.mechanism, of.owner, at.q, at.v, at.a)
    twist = motion[6:12]
    turned = change.along(at.model.jacobian(of.owner, at.q)[3:])
    rates = _twist_change(at, change, of)
    gravity, field = skew(rotation.T @ at.model.gravity) @ turned, at.model.mechanism.assembly.field
    if field is not None:
        position = at.model.pose(of.owner, at.q)[1]
        moved = rotation @ change.along(at.model.jacobian(of.owner, at.q)[:3])
        gravity = skew(rotation.T @ field.acceleration(position)) @ turned + rotation.T @ field.gradient(position) @ moved
    return _acceleration_change(at, change, of)[:3] - gravity + skew(twist[3:]) @ rates[:3] - skew(twist[:3]) @ rates[3:]


def angles_by_rotation(port: str, rotation: Array, sequence: str) -> Array:
    """Return the matrix (3x3) from a small rotation in the port's frame to the change of its Euler angles."""
    angles = euler_angles(rotation, sequence)
    first, second, third = (np.eye(3)["XYZ".index(axis)] for axis in sequence)
    turn_2, turn_3 = rotation_exp(second * angles[1]), rotation_exp(third * angles[2])
    axes = np.column_stack([turn_3.T @ turn_2.T @ first, turn_3.T @ second, third])
    if abs(np.linalg.det(axes)) < _LOCK:
        found, advice = f"angles {angles.tolist()} in sequence {sequence}", "read another sequence with a PoseSensor"
        raise ModelError(Finding("gimbal-lock", f"{port}.theta", found, "angles with a derivative", advice))
    warn_of_gimbal_lock(port, angles, sequence)
    return np.linalg.inv(axes)


def _filtered_change(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    assert of.filtering is not None
    states = change.inputs[len(inputs.named) :]
    # loops in continuous time have no columns of states: their integrators' iterations do without
    shape = len(of.filtering.C), change.q.shape[-1]
    values: Array = of.filtering.C @ states[of.filtering.place] if len(states) else np.zeros(shape)
    for quantity, matrix in of.filtering.terms:
        values = values + matrix @ derivative_of(at, change, quantity, inputs)
    return values


def _observed_change(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    motion = _port_derivatives(at, change, str(of.sensor.target))
    slopes: Array = of.sensor.observed_slopes(*_port_of(at, of)[:3])
    return slopes @ np.vstack([change.along(motion.jacobian), change.along(motion.dV_dq, motion.jacobian)])


SOURCES: dict[Kind, Source] = {
    Kind.POSITION: Source(
        _displacements, lambda at, change, *_: change.q if at is None else at.displacement_derivatives @ change.q, owned=False
    ),
    Kind.RATE: Source(lambda at, _: at.v, lambda at, change, *_: change.v, owned=False),
    Kind.ACCELERATION: Source(lambda at, _: at.a, lambda at, change, *_: change.a, owned=False),
    Kind.EFFORT: Source(lambda at, _: at.tau, lambda at, change, *_: change.tau, owned=False),
    Kind.CONFIGURATION: Source(
        lambda at, _: at.q, lambda at, change, *_: at.model.configuration_derivatives(at.q) @ change.q, owned=False
    ),
    Kind.OWN_STATE: Source(
        lambda at, _: at.states, lambda at, change, of, inputs: change.inputs[len(inputs.named) :], owned=False
    ),
    Kind.PORT_ACCELERATION: Source(_motion, _acceleration_change, 0),
    Kind.TWIST: Source(_motion, _twist_change, 6),
    Kind.PLACE: Source(_motion, _place_change, 12),
    Kind.ANGLES: Source(lambda at, of: at.model.motion(of.owner, at.q, at.v, at.a, of.sequence), _angles_change, 15),
    Kind.SPECIFIC_FORCE: Source(lambda at, of: at.model.accelerometer(of.owner, at.q, at.v, at.a), _specific_force_change),
    Kind.POSE: Source(_pose, _pose_change),
    Kind.MOMENTUM: Source(lambda at, of: of.factor * at.v, lambda at, change, *_: change.v),
    Kind.LENGTH: Source(lines.line_values, lines.line_derivatives),
    Kind.VOLUME: Source(lines.line_values, lines.line_derivatives),
    Kind.REACTION: Source(_reaction, loads.reaction_derivative),
    Kind.STRAIN: Source(_strain, loads.strain_derivative),
    Kind.SECTION_WRENCH: Source(_section_wrench, loads.section_wrench_derivative),
    Kind.GAP: Source(loads.contact_values, loads.contact_derivatives),
    Kind.CONTACT_FORCE: Source(loads.contact_values, loads.contact_derivatives),
    Kind.READING: Source(loads.reading_values, loads.reading_derivatives),
    Kind.READING_AT_ONCE: Source(loads.reading_values, loads.reading_derivatives),
    Kind.OBSERVATION: Source(lambda at, of: of.sensor.observed(*_port_of(at, of)[:3]), _observed_change),
    Kind.FILTERED: Source(_filtered, _filtered_change),
    Kind.FILTERED_AT_ONCE: Source(_filtered, _filtered_change),
}
