"""Reading chosen outputs of a model by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import MEASURED, read_name
from titop.solvers.signals.quantities import DYNAMIC, Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.units import units_of
from titop.solvers.signals.values import SOURCES


class Measurements:
    """Some of the outputs of a model: of sensors, coordinates and ports.

    Parameters
    ----------
    model : Model
    names : sequence of str
        In titop's spelling; see `titop.solvers.signals.signal_tables.measured_signals`.
    origin : (nq,) array
        From which the coordinates of free and spherical joints are displacements (tangent vectors), as in linear models.

    Attributes
    ----------
    model : Model
    origin : (nq,) array
    units : tuple of str
    dynamic : (ny,) bool array
        Which depend on accelerations and so, at once, on what is commanded.
    """

    def __init__(self, model: Model, names: Sequence[str], origin: Array) -> None:
        self.model = model
        self.names = tuple(names)
        self.origin = origin
        self._zero = np.zeros(model.nv)
        self._quantities = [read_name(model, MEASURED, name) for name in self.names]
        self.units = tuple(unit for of in self._quantities for unit in units_of(model, of))
        self.dynamic = np.array([of.kind in DYNAMIC for of in self._quantities], dtype=bool)
        self._groups = _together(self._quantities, range(len(self.names)))
        self._kinematic = _together(self._quantities, np.flatnonzero(~self.dynamic).tolist())
        selection = self.selection(model.nq, model.nv)
        #: Where they stand in ``[q, v]``, if they are entries of these.
        self._entries = None if selection is None else np.nonzero(selection)[1]

    def selection(self, nq: int, nv: int) -> Array | None:
        """Return the outputs as a matrix (ny, nq + nv) that acts on ``[q, v]``; None if they are more than entries of these."""
        starts = {Kind.CONFIGURATION: 0, Kind.RATE: nq}
        if not all(of.kind in starts for of in self._quantities):
            return None
        matrix = np.zeros((len(self._quantities), nq + nv))
        for row, of in enumerate(self._quantities):
            matrix[row, starts[of.kind] + of.entries[0]] = 1.0
        return matrix

    def read(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array | None, tau: Array) -> Array:
        """Return the outputs (ny) at a state, with accelerations `a`, external `wrenches`, inputs `u` and efforts `tau`."""
        return self._read(self._groups, Snapshot(self.model, q, v, a, tau, u, wrenches, self.origin))

    def read_kinematic(self, q: Array, v: Array) -> Array:
        """Return the outputs (ny) at a state, zero for those that depend on accelerations."""
        if self._entries is not None:
            return np.concatenate([q, v])[self._entries]
        return self._read(self._kinematic, Snapshot(self.model, q, v, self._zero, self._zero, None, None, self.origin))

    def _read(self, groups: list[_Group], at: Snapshot) -> Array:
        outputs = np.zeros(len(self.names))
        for rows, read, of, places in groups:
            outputs[rows] = read(at, of)[places]
        return outputs


class _Group(NamedTuple):
    """Outputs in some rows that are entries of one array: what reads it, of what, and the entries."""

    rows: Array
    read: Callable[[Snapshot, Quantity], Array]
    of: Quantity
    places: Array


def _together(quantities: Sequence[Quantity], rows: Sequence[int]) -> list[_Group]:
    """Return the quantities in some rows, those together that are entries of one vector."""
    same: dict[Any, list[int]] = {}
    for row in rows:
        of = quantities[row]
        source = SOURCES[of.kind]
        owner = of.owner if source.owned else ""
        same.setdefault((source.read, of.kind in DYNAMIC, owner, of.factor, of.sequence), []).append(row)
    return [_group([quantities[row] for row in own], own) for own in same.values()]


def _group(quantities: Sequence[Quantity], rows: Sequence[int]) -> _Group:
    first, entries = quantities[0], [of.entries[0] for of in quantities]
    places = [SOURCES[of.kind].start + of.entries[0] for of in quantities]
    of = replace(first, entries=tuple(entries))
    return _Group(np.array(rows, dtype=int), SOURCES[first.kind].read, of, np.array(places, dtype=int))
