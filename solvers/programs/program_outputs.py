"""Quantities that names of outputs stand for, of recorded numbers: one entry for each kind that programs know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.programs.branches import explored
from titop.blocks.programs.graph import Unknown, applied
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.signals.quantities import OF_INTERACTIONS, Kind, Quantity


class RecordedState(Protocol):
    """A state of a mechanism whose numbers are recorded; see `tracing`."""

    mechanism: Any
    q: Array
    v: Array
    tau: Array
    u: Array
    x: Array
    whole: Array
    pushes: list[Any]


def port_motion(at: RecordedState, port: str, a: Array) -> PortMotion:
    """Return the motion of a port."""
    motion: PortMotion = at.mechanism.engine.observations.port_motion(at.mechanism.read_port(port), at.q, at.v, a)
    return motion


def _position(at: RecordedState, of: Quantity, a: Array) -> Array:
    plain = at.mechanism.plain_coordinates
    positions = np.full(at.mechanism.nv, None, dtype=object)
    positions[plain.in_v] = at.q[plain.in_q]
    if any(positions[k] is None for k in of.entries):
        advice = "name entries of the quaternion, such as base.qx, or a port's position and angles"
        raise ModelError(Finding("no-program", of.paths[0], "a displacement of a free or spherical joint", "numbers", advice))
    return positions


def spatial_acceleration(at: RecordedState, port: str, a: Array, classical: bool = False) -> Array:
    """Return the acceleration (6) of a port in its axes, as `Model.acceleration` does."""
    motion = port_motion(at, port, a)
    more = cross(motion.twist[3:], motion.twist[:3]) if classical else 0.0
    return motion.acceleration + np.concatenate([motion.rotation.T @ at.mechanism.engine.gravity + more, np.zeros(3)])


def _angles(at: RecordedState, of: Quantity, a: Array) -> Array:
    def length(x: Any, y: Any) -> Any:
        return x.hypot(y) if isinstance(x, Unknown) else y.hypot(x) if isinstance(y, Unknown) else np.hypot(x, y)

    rotation = port_motion(at, of.owner, a).rotation
    return explored(euler_angles, rotation, of.sequence, lambda y, x: applied("atan2", y, x), length)


def specific_force(at: RecordedState, port: str, a: Array) -> Array:
    """Return what an accelerometer at a port measures (3), in its axes."""
    motion, field = port_motion(at, port, a), at.mechanism.assembly.field
    felt = motion.acceleration[:3] + cross(motion.twist[3:], motion.twist[:3])
    return felt if field is None else felt - motion.rotation.T @ field.acceleration(motion.position)


def _filtered(at: RecordedState, of: Quantity, a: Array) -> Array:
    assert of.filtering is not None
    values: Array = of.filtering.C @ at.x[of.filtering.place]
    for quantity, matrix in of.filtering.terms:
        values = values + matrix @ reading(at, quantity, a)
    return values


def _reaction(at: RecordedState, of: Quantity, a: Array) -> Array:
    if at.mechanism.is_constrained:
        got, advice = "a reaction of a system with closures", "leave it out, or read it from the model"
        raise ModelError(Finding("no-program", of.paths[0], got, "what the state alone determines", advice))
    wrench: Array = at.mechanism.engine.observations.joint_wrench(of.owner, at.q, at.v, a, at.pushes)
    return wrench


def _of_interaction(at: RecordedState, of: Quantity, read: Callable[[Any, Any], Array]) -> Array:
    """Return what a function of an interaction and its motion says."""
    mechanism = at.mechanism
    loop = next(loop for loop in mechanism.interactions if loop.closure.name == of.owner)
    driving = at.whole[dict(mechanism.inputs.driving).get(of.owner, slice(0))]
    return explored(partial(read, loop.closure), target_motion(mechanism, loop, at.q, at.v, driving))


def _contact_force(contact: Any, motion: Any) -> Array:
    forces = np.array([touch.force for touch in contact.touches(motion)], dtype=object)
    return np.concatenate([forces.sum(axis=0), forces.ravel()])


def _gap(contact: Any, motion: Any) -> Array:
    return np.array([touch.gap for touch in contact.touches(motion)], dtype=object)


def _reading(interaction: Any, motion: Any) -> Array:
    return np.asarray(interaction.read(motion))


#: How each kind is read, from a state and its accelerations.
READINGS: dict[Kind, Callable[[Any, Quantity, Array], Array]] = {
    Kind.POSITION: _position,
    Kind.RATE: lambda at, of, a: at.v,
    Kind.ACCELERATION: lambda at, of, a: a,
    Kind.EFFORT: lambda at, of, a: at.tau,
    Kind.CONFIGURATION: lambda at, of, a: at.q,
    Kind.INPUT: lambda at, of, a: at.u,
    Kind.OWN_STATE: lambda at, of, a: at.x,
    Kind.PORT_ACCELERATION: lambda at, of, a: spatial_acceleration(at, of.owner, a),
    Kind.TWIST: lambda at, of, a: port_motion(at, of.owner, a).twist,
    Kind.PLACE: lambda at, of, a: (motion := port_motion(at, of.owner, a)).rotation.T @ motion.position,
    Kind.ANGLES: _angles,
    Kind.POSE: lambda at, of, a: np.concatenate([port_motion(at, of.owner, a).position, _angles(at, of, a)]),
    Kind.SPECIFIC_FORCE: lambda at, of, a: specific_force(at, of.owner, a),
    Kind.MOMENTUM: lambda at, of, a: of.factor * at.v,
    Kind.REACTION: _reaction,
    Kind.OBSERVATION: lambda at, of, a: explored(of.sensor.observed, *port_motion(at, str(of.sensor.target), 0.0 * a)[:3]),
    Kind.GAP: lambda at, of, a: _of_interaction(at, of, _gap),
    Kind.CONTACT_FORCE: lambda at, of, a: _of_interaction(at, of, _contact_force),
    **dict.fromkeys(OF_INTERACTIONS, lambda at, of, a: _of_interaction(at, of, _reading)),
    Kind.FILTERED: _filtered,
    Kind.FILTERED_AT_ONCE: _filtered,
}


def reading(at: RecordedState, of: Quantity, a: Array) -> Array:
    """Return the value (n) of a quantity. Raises `ModelError` for kinds that programs do not know."""
    if of.kind not in READINGS:
        got, advice = f"a {of.kind}", "leave it out, or read it from the model"
        raise ModelError(Finding("no-program", of.paths[0], got, f"one of: {', '.join(READINGS)}", advice))
    return np.asarray(READINGS[of.kind](at, of, a), dtype=object)[list(of.entries)]
