"""Quantities that sensors measure: one entry for each class. Sensors of other classes cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.paths import split_path
from titop.blocks.basics.spatial import twist_transport
from titop.blocks.devices.sensors import (
    GNSS,
    Accelerometer,
    DriveSensor,
    Encoder,
    Gyro,
    Magnetometer,
    PoseSensor,
    ReactionSensor,
    Sensor,
    StarTracker,
    StrainGauge,
    SunSensor,
    Tachometer,
    TendonSensor,
    WheelMomentum,
)
from titop.graph.network.assembly import Assembly
from titop.solvers.signals.quantities import DYNAMIC, Filtering, Kind, Quantity, reading_of


def sensor_quantities(assembly: Assembly, sensor: Sensor, states: Mapping[str, slice]) -> Quantity:
    """Return the quantity that a sensor of an assembly measures; its paths are those of the sensor's outputs.

    `states` are the places of the interactions' states among all, by the interactions' names.
    """
    measured = next(SENSORS[cls](assembly, sensor) for cls in type(sensor).__mro__ if cls in SENSORS)
    if sensor.path is None or not sensor.is_filtered:
        return measured
    _, B, C, D = sensor.path.law(len(sensor.outputs))
    scaling = sensor.path.scaling(len(D))
    C, D = scaling @ C, scaling @ D
    terms = [(measured, D)] if D.any() else []
    kind = Kind.FILTERED_AT_ONCE if terms and measured.kind in DYNAMIC else Kind.FILTERED
    if measured.kind == Kind.SPECIFIC_FORCE:  # its filter has the states x - B V, see `PathStates`
        terms.append((Quantity(Kind.TWIST, measured.owner, (0, 1, 2), measured.paths), C @ B))
    place = states.get(f"{sensor.name}/path", slice(0, 0))  # a scale factor alone has none
    filtering = Filtering(measured, place, measured.factor * C, tuple(terms))
    return Quantity(kind, sensor.name, tuple(range(len(D))), sensor.output_names, filtering=filtering)


def sensor_entries(sensors: Iterable[Sensor]) -> dict[str, tuple[int, tuple[int, ...] | None]]:
    """Return the index of a sensor and of its outputs (None: all), by names of sensors, of outputs and of their vectors."""
    result: dict[str, tuple[int, tuple[int, ...] | None]] = {}
    for place, sensor in enumerate(sensors):
        result.setdefault(sensor.name, (place, None))
        by_name: dict[str, list[int]] = {}
        for k, path in enumerate(sensor.output_names):
            for name in (path, *(path[: bracket.start()] for bracket in re.finditer(r"\[", path))):
                by_name.setdefault(name, []).append(k)
        for name, entries in by_name.items():
            result.setdefault(name, (place, tuple(entries)))
    return result


def _at_port(sensor: Any, kind: Kind, entries: Iterable[int], sequence: str = "XYZ") -> Quantity:
    return Quantity(kind, str(sensor.target), tuple(entries), sensor.output_names, sequence=sequence)


def _observed(assembly: Assembly, sensor: Any) -> Quantity:
    entries, placed = tuple(range(len(sensor.outputs))), sensor.under(assembly.field)
    return Quantity(Kind.OBSERVATION, sensor.name, entries, sensor.output_names, sensor=placed)


def _of_joint(sensor: Any, kind: Kind, entries: Iterable[int], factor: float = 1.0) -> Quantity:
    return Quantity(kind, sensor.joint, tuple(entries), sensor.output_names, factor)


def _wheel_inertia(assembly: Assembly, joint: str) -> Any:
    """Return the inertia (kg m^2) of the body on a wheel's joint about the wheel's axis, perhaps a number of a program."""
    name, coordinate = split_path(joint)
    connection = assembly.connection_of_joint[name]
    bearing, wheel, held = connection.joint, connection.child.block, connection.child.name
    column = bearing.coordinates.index(coordinate) if coordinate else 0
    spin = bearing.motion_subspace(bearing.ports[0], bearing.neutral())[:, column]
    if held in wheel.ports:
        spin = np.linalg.solve(twist_transport(*wheel.pose(held, wheel.neutral())), spin)
    return spin @ wheel.mass_matrix(wheel.neutral())[:6, :6] @ spin


#: By class: from an assembly and a sensor to the quantity that it measures.
SENSORS: dict[type, Callable[[Assembly, Any], Quantity]] = {
    Accelerometer: lambda _, s: _at_port(s, Kind.SPECIFIC_FORCE, range(3)),
    Gyro: lambda _, s: _at_port(s, Kind.TWIST, range(3, 6)),
    PoseSensor: lambda _, s: _at_port(s, Kind.POSE, range(6), s.sequence),
    Encoder: lambda assembly, s: _of_joint(s, Kind.CONFIGURATION, assembly.place(s.joint)[:1]),
    Tachometer: lambda assembly, s: _of_joint(s, Kind.RATE, assembly.place(s.joint)[1:]),
    WheelMomentum: lambda assembly, s: _of_joint(
        s, Kind.MOMENTUM, assembly.place(s.joint)[1:], _wheel_inertia(assembly, s.joint) if s.inertia is None else s.inertia
    ),
    TendonSensor: lambda _, s: Quantity(Kind.LENGTH, s.tendon, (0, 1), s.output_names),
    DriveSensor: lambda assembly, s: reading_of(assembly.loops, s.reading, s.name),  # type: ignore[dict-item,return-value]
    StrainGauge: lambda _, s: _at_port(s, Kind.STRAIN, range(6)),
    ReactionSensor: lambda _, s: _of_joint(s, Kind.REACTION, range(6)),
    **dict.fromkeys((StarTracker, SunSensor, Magnetometer, GNSS), _observed),
}
