"""Reading chosen outputs of a model by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.devices.sensors import Accelerometer, Encoder, ReactionSensor, Tachometer
from titop.solvers.control.loop_signals import PORT_PARTS
from titop.solvers.model.model import Model
from titop.solvers.model.outputs import configuration_units, read_sensor, sensor_units


class _Source(NamedTuple):
    """Where an output comes from: `read` gives an array, known by `key`, of which it is an entry.

    It is `dynamic` if it depends on accelerations.
    """

    key: str
    read: Callable[[Any, Any, Any, Any, Any, Any], Array]
    entry: int
    unit: str
    dynamic: bool


class Measurements:
    """Some of the outputs of a model: of sensors, coordinates and ports.

    Parameters
    ----------
    model : Model
    names : sequence of str
        In titop's spelling; see `titop.solvers.control.loop_signals.measured_signals`.
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
        self._sources = [_source(model, name, origin) for name in self.names]
        self._reads = {source.key: source for source in self._sources}
        self._kinematic = [(k, source) for k, source in enumerate(self._sources) if not source.dynamic]
        self.units = tuple(source.unit for source in self._sources)
        self.dynamic = np.array([source.dynamic for source in self._sources], dtype=bool)
        selection = self.selection(model.nq, model.nv)
        #: Where they stand in ``[q, v]``, if they are entries of these.
        self._entries = None if selection is None else np.nonzero(selection)[1]

    def selection(self, nq: int, nv: int) -> Array | None:
        """Return the outputs as a matrix (ny, nq + nv) that acts on ``[q, v]``; None if they are more than entries of these."""
        starts = {"q": 0, "v": nq}
        if not all(source.key in starts for source in self._sources):
            return None
        matrix = np.zeros((len(self._sources), nq + nv))
        for row, source in enumerate(self._sources):
            matrix[row, starts[source.key] + source.entry] = 1.0
        return matrix

    def read(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array | None, tau: Array) -> Array:
        """Return the outputs (ny) at a state, with accelerations `a`, external `wrenches`, inputs `u` and efforts `tau`."""
        values = {key: source.read(q, v, a, wrenches, u, tau) for key, source in self._reads.items()}
        return np.array([values[source.key][source.entry] for source in self._sources])

    def read_kinematic(self, q: Array, v: Array) -> Array:
        """Return the outputs (ny) at a state, zero for those that depend on accelerations."""
        if self._entries is not None:
            return np.concatenate([q, v])[self._entries]
        outputs, values = np.zeros(len(self._sources)), {}
        for k, source in self._kinematic:
            if source.key not in values:
                values[source.key] = source.read(q, v, self._zero, None, None, None)
            outputs[k] = values[source.key][source.entry]
        return outputs


def _source(model: Model, name: str, origin: Array) -> _Source:
    for sensor in model.assembly.sensors:
        if name in sensor.output_names:
            entry = sensor.output_names.index(name)
            dynamic = isinstance(sensor, Accelerometer | ReactionSensor)
            unit = sensor_units(model, sensor)[entry]
            if isinstance(sensor, Encoder | Tachometer):
                in_q, in_v = model.assembly.place(sensor.joint)
                return _entry("q", in_q, unit) if isinstance(sensor, Encoder) else _entry("v", in_v, unit)
            return _Source(sensor.name, lambda *state, sensor=sensor: read_sensor(model, sensor, *state), entry, unit, dynamic)
    target, _, part = name.rpartition(".")
    if part == "q" and target in model.coordinate_names and not _is_plain(model, target):
        entry = model.coordinate_names.index(target)
        unit = model.assembly.coordinate_units[entry]
        return _Source("displacement", lambda q, *_: model.difference(origin, q), entry, unit, False)
    if part == "q":
        unit = configuration_units(model).get(target, "1")
        return _entry("q", model.configuration_names.index(target), unit)
    if part == "v":
        entry = model.coordinate_names.index(target)
        return _entry("v", entry, f"{model.assembly.coordinate_units[entry]}/s")
    start, unit = PORT_PARTS[part[:-3]]
    key = f"{target} dynamic" if start < 6 else target
    if part.startswith("theta"):
        return _Source(name[:-3], lambda q, v, a, *_: model.motion(target, q, v, a), start + int(part[-2]), unit, False)
    return _Source(key, lambda q, v, a, *_: model._turning_motion(target, q, v, a)[0], start + int(part[-2]), unit, start < 6)


def _entry(key: str, entry: int, unit: str) -> _Source:
    """Return the source that is an entry of q or v."""
    return _Source(key, (lambda q, *_: q) if key == "q" else (lambda q, v, *_: v), entry, unit, False)


def _is_plain(model: Model, coordinate: str) -> bool:
    """Return whether a coordinate is an entry of q."""
    k = model.coordinate_names.index(coordinate)
    block = next(b for b in model.assembly.blocks_with_coordinates if k < model.assembly.v_slices[b.name].stop)
    return block.configuration_names == block.coordinates
