"""Reading chosen outputs of a model by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import MEASURED, read_name
from titop.solvers.signals.quantities import DYNAMIC, Kind
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.units import units_of
from titop.solvers.signals.values import JoinedValues


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
        self._values = JoinedValues(model, self._quantities)
        kinematic = [of for of, dynamic in zip(self._quantities, self.dynamic, strict=True) if not dynamic]
        self._kinematic = JoinedValues(model, kinematic) if self.dynamic.any() else self._values
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
        return self._values.read(Snapshot(self.model, q, v, a, tau, u, wrenches, self.origin))

    def read_kinematic(self, q: Array, v: Array) -> Array:
        """Return the outputs (ny) at a state, zero for those that depend on accelerations."""
        if self._entries is not None:
            return np.concatenate([q, v])[self._entries]
        outputs = np.zeros(len(self.names))
        at = Snapshot(self.model, q, v, self._zero, self._zero, None, None, self.origin)
        outputs[~self.dynamic] = self._kinematic.read(at)
        return outputs
