"""What is read from a linear or nonlinear system: coordinates, efforts, ports, sensors, reactions, functions of the state."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.devices.sensors import Sensor
from titop.blocks.joints.parameters import effort_unit
from titop.solvers.linear.closed_reaction import ClosedReaction
from titop.solvers.linear.drives import Drives
from titop.solvers.linear.function_slopes import function_slopes, function_value
from titop.solvers.linear.joint_opening import OpenedJoint
from titop.solvers.linear.port_slopes import PORT_PARTS, port_slopes, port_value
from titop.solvers.linear.sensor_slopes import sensor_slopes
from titop.solvers.linear.signals import (
    Signal,
    components,
    coordinates_of,
    exported,
    read_names,
    refuse_twice,
    unknown_name,
)
from titop.solvers.linear.variation import Snapshot, Variation
from titop.solvers.model.outputs import read_sensor, sensor_units

if TYPE_CHECKING:
    from titop.solvers.model.model import Model

#: What can be read of a coordinate.
_COORDINATE_PARTS = ("q", "v", "a", "tau")

_COMPONENT = re.compile(r"(?P<base>.+)\[(?P<index>\d+)\]")


class Reading(NamedTuple):
    """Some outputs of a system.

    Attributes
    ----------
    signals : tuple of Signal
    value : callable
        From a snapshot to the outputs.
    slopes : callable
        From a snapshot and a variation to the outputs' variation.
    selects : bool
        Whether only coordinates are read. Then stacked snapshots have stacked values; about the point itself, slopes need no
        snapshot and take stacked variations.
    """

    signals: tuple[Signal, ...]
    value: Callable[[Any], Array]
    slopes: Callable[[Any, Any], Array]
    selects: bool = False

    def only(self, *entries: int) -> Reading:
        """Return some of the outputs alone."""
        chosen = list(entries)
        return Reading(
            tuple(self.signals[k] for k in chosen),
            lambda at: self.value(at)[..., chosen],
            lambda at, d: self.slopes(at, d)[..., chosen, :],
            self.selects,
        )


def read_outputs(model: Model, outputs: Any, drives: Drives) -> tuple[Reading, ...]:
    """Return the readings that outputs stand for; see `linearize`.

    Raises
    ------
    ModelError
        For unknown names and signals named twice.
    """
    readings = tuple(_read(model, output, drives) for output in read_names("outputs", outputs))
    refuse_twice("output", (signal for reading in readings for signal in reading.signals))
    return readings


def _read(model: Model, output: Any, drives: Drives) -> Reading:
    if callable(output):
        output = (getattr(output, "__name__", "function"), output)
    if isinstance(output, tuple) and len(output) == 2 and isinstance(output[0], str) and callable(output[1]):
        return _function(model, *output, drives)
    reading = _expand(model, output, drives) if isinstance(output, str) else None
    if reading is None and isinstance(output, str) and (match := _COMPONENT.fullmatch(output)):
        whole, index = _expand(model, match["base"], drives), int(match["index"])
        if whole is not None and index < len(whole.signals):
            reading = whole.only(index)
    if reading is None:
        raise unknown_name("output", output, "a coordinate's, port's, joint's or sensor's output", _known(model))
    return reading


def _expand(model: Model, name: str, drives: Drives) -> Reading | None:
    sensor_reading = _sensor(model, name, drives)
    if sensor_reading is not None:
        return sensor_reading
    base, _, part = name.rpartition(".")
    if part in PORT_PARTS and base in model.ports and base != "world":
        return _port(base, part)
    if part in _COORDINATE_PARTS and (where := coordinates_of(model, base)) is not None:
        return _coordinates(model, base, part, where)
    if part == "reaction" and base in (*model.joint_names, *_closures(model)):
        return _reaction(model, base, drives)
    return None


def _coordinates(model: Model, base: str, part: str, where: range) -> Reading:
    rows, units = slice(where.start, where.stop), model.assembly.coordinate_units[where.start : where.stop]
    paths = [base] if len(where) == 1 else model.coordinate_names[rows]
    suffix = {"q": "", "v": "/s", "a": "/s^2"}
    signals = tuple(
        Signal(f"{path}.{part}", effort_unit(unit) if part == "tau" else unit + suffix[part])
        for path, unit in zip(paths, units, strict=True)
    )

    plain = all(model.has_plain_coordinates(k) for k in where)
    entries = [model.configuration_names.index(model.coordinate_names[k]) for k in where] if plain else []

    def value(at: Snapshot) -> Array:
        if part != "q":
            return np.asarray(getattr(at, part))[..., rows]
        if plain:
            return (at.q - at.origin)[..., entries]
        apart = [model.difference(at.origin, q) for q in np.atleast_2d(at.q)]
        return np.reshape(apart, (*at.q.shape[:-1], model.nv))[..., rows]

    def slopes(at: Snapshot | None, change: Variation) -> Array:
        whole = at.displacement_slopes @ change.q if part == "q" and at is not None else getattr(change, part)
        return np.asarray(whole)[..., rows, :]

    return Reading(signals, value, slopes, selects=True)


def _port(port: str, part: str) -> Reading:
    signals = components(f"{port}.{part}", PORT_PARTS[part], 3)
    return Reading(signals, lambda at: port_value(at, port, part), lambda at, change: port_slopes(at, change, port, part))


def _sensor(model: Model, name: str, drives: Drives) -> Reading | None:
    for sensor in model.assembly.sensors:
        if name == sensor.name:
            return _whole_sensor(model, sensor, drives)
        if name in sensor.output_names:
            return _whole_sensor(model, sensor, drives).only(sensor.output_names.index(name))
        parts = [k for k, output in enumerate(sensor.output_names) if output.startswith(f"{name}[")]
        if parts:
            return _whole_sensor(model, sensor, drives).only(*parts)
    return None


def _whole_sensor(model: Model, sensor: Sensor, drives: Drives) -> Reading:
    opened = _reaction_slopes(model, getattr(sensor, "joint", ""), drives)
    return Reading(
        tuple(Signal(path, unit) for path, unit in zip(sensor.output_names, sensor_units(model, sensor), strict=True)),
        lambda at: read_sensor(at.model, sensor, at.q, at.v, at.a, at.wrenches, at.u, at.tau),
        lambda at, change: sensor_slopes(at, change, sensor, opened),
    )


def _closures(model: Model) -> tuple[str, ...]:
    return tuple(loop.closure.name for loop in model.assembly.loops if len(loop.ports) > 1)


def _reaction_slopes(model: Model, name: str, drives: Drives) -> OpenedJoint | ClosedReaction:
    """Return what tells how a reaction changes: an opened joint of a tree, or else the loops' forces."""
    return OpenedJoint(name, drives) if model.is_tree else ClosedReaction(name, drives)


def _reaction(model: Model, joint: str, drives: Drives) -> Reading:
    path, opened = f"{joint}.reaction", _reaction_slopes(model, joint, drives)
    signals = tuple(Signal(f"{path}[{k}]", "N" if k < 3 else "N m") for k in range(6))
    return Reading(signals, lambda at: at.model.reaction(joint, at.q, at.v, at.a, at.wrenches, at.u, at.tau), opened.slopes)


def _function(model: Model, name: str, function: Callable[..., Any], drives: Drives) -> Reading:
    if not exported(name).replace("_", "").isalnum():
        raise ModelError(Finding("bad-name", "outputs", name, "letters, digits and _", 'write ("power", function)'))
    at_rest = model.neutral(), np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nu)
    count = len(function_value(name, function, *at_rest))
    return Reading(
        components(name, "1", count),
        lambda at: function_value(name, function, at.q, at.v, at.a, at.inputs),
        lambda at, change: function_slopes(at, change, name, function, drives),
    )


def _known(model: Model) -> Sequence[str]:
    joints = [*model.assembly.v_slices, *model.coordinate_names]
    ports = [port for port in model.port_names if port != "world"]
    sensors = [name for sensor in model.assembly.sensors for name in (sensor.name, *sensor.output_names)]
    return [
        *(f"{joint}.{part}" for joint in joints for part in _COORDINATE_PARTS),
        *sensors,
        *(f"{port}.{part}" for port in ports for part in PORT_PARTS),
        *(f"{joint}.reaction" for joint in (*model.joint_names, *_closures(model))),
    ]
