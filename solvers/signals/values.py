"""The value of what a name stands for, at a state: one entry a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.signals.line_readings import line_values
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.section_opening import section_of
from titop.solvers.signals.snapshot import Snapshot


class Source(NamedTuple):
    """Where a kind is read: a function of a state, the place in its result where the kind's vector begins, and whether it
    depends on the owner."""

    read: Callable[[Snapshot, Quantity], Array]
    start: int = 0
    owned: bool = True


def value_of(at: Snapshot, of: Quantity) -> Array:
    """Return the value (n) of a quantity at a state; stacked for quantities of coordinates at stacked states."""
    source = SOURCES[of.kind]
    return source.read(at, of)[..., [source.start + k for k in of.entries]]


def _displacements(at: Snapshot, of: Quantity) -> Array:
    """Return displacements (nv) from the origin, those of free and spherical joints only where they are asked for."""
    plain, model = at.model.plain_coordinates, at.model
    if any(in_v.start <= k < in_v.stop for _, _, in_v in plain.others for k in of.entries):
        return model.difference(at.origin if at.q.ndim == 1 else np.tile(at.origin, (len(at.q), 1)), at.q)
    apart = np.zeros((*at.q.shape[:-1], model.nv), at.q.dtype)
    apart[..., plain.in_v] = (at.q - at.origin)[..., plain.in_q]
    return apart


def _motion(at: Snapshot, of: Quantity) -> Array:
    return at.model.turning_motion(of.owner, at.q, at.v, at.a)[0]


def _angles(at: Snapshot, of: Quantity) -> Array:
    return at.model.motion(of.owner, at.q, at.v, at.a, of.sequence)


def _pose(at: Snapshot, of: Quantity) -> Array:
    if max(of.entries) < 3:  # no angles, which a gimbal lock may make doubtful
        return at.model.pose(of.owner, at.q)[1]
    return at.model.position_and_angles(of.owner, at.q, of.sequence)


def _specific_force(at: Snapshot, of: Quantity) -> Array:
    return at.model.accelerometer(of.owner, at.q, at.v, at.a)


def _reaction(at: Snapshot, of: Quantity) -> Array:
    return at.model.reaction(of.owner, at.q, at.v, at.a, at.wrenches, at.u, at.tau)


def _strain(at: Snapshot, of: Quantity) -> Array:
    rod, fraction = section_of(at.model.assembly, of.owner)
    return at.model.section_strains(rod.name, [fraction * rod.length], at.q)[..., 0, :]


def _section_wrench(at: Snapshot, of: Quantity) -> Array:
    rod, fraction = section_of(at.model.assembly, of.owner)
    return at.model.section_wrenches(rod.name, [fraction * rod.length], at.q, at.v, at.a, at.wrenches, at.u, at.tau)[..., 0, :]


SOURCES: dict[Kind, Source] = {
    Kind.POSITION: Source(_displacements, owned=False),
    Kind.RATE: Source(lambda at, _: at.v, owned=False),
    Kind.ACCELERATION: Source(lambda at, _: at.a, owned=False),
    Kind.EFFORT: Source(lambda at, _: at.tau, owned=False),
    Kind.CONFIGURATION: Source(lambda at, _: at.q, owned=False),
    Kind.PORT_ACCELERATION: Source(_motion, 0),
    Kind.TWIST: Source(_motion, 6),
    Kind.PLACE: Source(_motion, 12),
    Kind.ANGLES: Source(_angles, 15),
    Kind.SPECIFIC_FORCE: Source(_specific_force),
    Kind.POSE: Source(_pose),
    Kind.MOMENTUM: Source(lambda at, of: of.factor * at.v),
    Kind.LENGTH: Source(line_values),
    Kind.VOLUME: Source(line_values),
    Kind.REACTION: Source(_reaction),
    Kind.STRAIN: Source(_strain),
    Kind.SECTION_WRENCH: Source(_section_wrench),
}
