"""Values of quantities at a state: one entry for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.mechanism.port_motion import position_and_angles, turning_motion
from titop.solvers.signals.lines_and_sections import line_values, section_of
from titop.solvers.signals.named_model import NamedModel
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.reactions_and_contacts import contact_values
from titop.solvers.signals.snapshot import Snapshot


class Source(NamedTuple):
    """How a kind is read: a function of a state, the index in its result where the kind's vector begins, and whether the
    result depends on the owner."""

    read: Callable[[Snapshot, Quantity], Array]
    start: int = 0
    owned: bool = True


def quantity_value(at: Snapshot, of: Quantity) -> Array:
    """Return the value (n) of a quantity at a state; stacked for quantities of coordinates at stacked states."""
    source = SOURCES[of.kind]
    return source.read(at, of)[..., [source.start + k for k in of.entries]]


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

    def read(self, at: Snapshot) -> Array:
        """Return the values (n) at a state."""
        values = np.zeros(self._size)
        if self._reading is not None:
            known = self._reading.read(at.q, at.v, at.a, at.wrenches, at.u, at.tau)
            values[self._read_rows] = np.concatenate([quantity_value(at, of) for of in self._known]) if known is None else known
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


def _angles(at: Snapshot, of: Quantity) -> Array:
    return at.model.motion(of.owner, at.q, at.v, at.a, of.sequence)


def _pose(at: Snapshot, of: Quantity) -> Array:
    if max(of.entries) < 3:  # no angles are needed, which may be in gimbal lock
        return at.model.pose(of.owner, at.q)[1]
    return position_and_angles(at.model.mechanism, of.owner, at.q, of.sequence)


def _specific_force(at: Snapshot, of: Quantity) -> Array:
    return at.model.accelerometer(of.owner, at.q, at.v, at.a)


def _reaction(at: Snapshot, of: Quantity) -> Array:
    return at.model.reaction(of.owner, at.q, at.v, at.a, at.wrenches, at.u, at.tau)


def _strain(at: Snapshot, of: Quantity) -> Array:
    rod, fraction = section_of(at.model.mechanism.assembly, of.owner)
    return at.model.section_strains(rod.name, [fraction * rod.length], at.q)[..., 0, :]


def _section_wrench(at: Snapshot, of: Quantity) -> Array:
    rod, fraction = section_of(at.model.mechanism.assembly, of.owner)
    return at.model.section_wrenches(rod.name, [fraction * rod.length], at.q, at.v, at.a, at.wrenches, at.u, at.tau)[..., 0, :]


def _filtered(at: Snapshot, of: Quantity) -> Array:
    assert of.filtering is not None
    values: Array = at.states[..., of.filtering.place] @ of.filtering.C.T
    for quantity, matrix in of.filtering.terms:
        values = values + quantity_value(at, quantity) @ matrix.T
    return values


SOURCES: dict[Kind, Source] = {
    Kind.POSITION: Source(_displacements, owned=False),
    Kind.RATE: Source(lambda at, _: at.v, owned=False),
    Kind.ACCELERATION: Source(lambda at, _: at.a, owned=False),
    Kind.EFFORT: Source(lambda at, _: at.tau, owned=False),
    Kind.CONFIGURATION: Source(lambda at, _: at.q, owned=False),
    Kind.OWN_STATE: Source(lambda at, _: at.states, owned=False),
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
    Kind.GAP: Source(contact_values),
    Kind.CONTACT_FORCE: Source(contact_values),
    Kind.FILTERED: Source(_filtered),
    Kind.FILTERED_AT_ONCE: Source(_filtered),
}
