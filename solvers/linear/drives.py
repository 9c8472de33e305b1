"""What a linear or nonlinear system is driven by: efforts, actuators, wrenches at ports, prescribed accelerations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.joints.parameters import effort_unit
from titop.solvers.linear.signals import (
    Signal,
    components,
    coordinates_of,
    read_names,
    refuse_twice,
    unknown_name,
)

if TYPE_CHECKING:
    from titop.solvers.model.model import Model

#: Parts of a wrench: first and last entry.
_PARTS = {"F": (0, 3), "T": (3, 6)}

_COMPONENT = re.compile(r"(?P<base>.+)\[(?P<index>\d+)\]")


class Drive(NamedTuple):
    """One scalar input.

    Attributes
    ----------
    kind : {"effort", "actuator", "wrench", "acceleration"}
    entry : int
        Coordinate, actuator input, or entry of the wrench.
    port : str
        Of a wrench.
    signal : Signal
    """

    kind: str
    entry: int
    port: str
    signal: Signal


class Drives:
    """The inputs of a system, read from their names.

    Parameters
    ----------
    model : Model
    names : sequence of str
        See `linearize`.
    hold : sequence of str
        Joints or coordinates that are frozen.

    Attributes
    ----------
    channels : tuple of Drive
    held : (nv,) bool array
        Coordinates that are frozen.
    prescribed : (nv,) bool array
        Coordinates whose motion is imposed: the held ones, and those whose acceleration is an input.
    imposed_names : list of str
        Their names.

    Raises
    ------
    ModelError
        For unknown names, signals named twice, and efforts on coordinates whose motion is imposed.
    """

    def __init__(self, model: Model, names: Any, hold: Any = ()) -> None:
        self.channels = tuple(drive for name in read_names("inputs", names) for drive in _read(model, name))
        refuse_twice("input", (drive.signal for drive in self.channels))
        self.held = _read_held(model, hold)
        self.prescribed = self.held.copy()
        for drive in self.channels:
            if drive.kind == "acceleration":
                self.prescribed[drive.entry] = True
        self._refuse_conflicts(model)
        self.imposed_names = [model.coordinate_names[k] for k in np.flatnonzero(self.prescribed)]

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Paths and units."""
        return tuple(drive.signal for drive in self.channels)

    @property
    def depend_on_attitude(self) -> bool:
        """Whether the efforts a unit of the inputs change with the configuration."""
        return any(drive.kind in ("wrench", "actuator") for drive in self.channels)

    def efforts(self, model: Model, q: Array) -> Array:
        """Return the efforts on the coordinates a unit of each input (nv, inputs), nothing for accelerations."""
        result = np.zeros((model.nv, len(self.channels)))
        actuation = model.actuation_matrix(q) if any(drive.kind == "actuator" for drive in self.channels) else None
        ports = {drive.port for drive in self.channels if drive.kind == "wrench"}
        jacobians = {port: model.jacobian(port, q) for port in ports}
        for column, drive in enumerate(self.channels):
            if drive.kind == "effort":
                result[drive.entry, column] = 1.0
            elif drive.kind == "actuator" and actuation is not None:
                result[:, column] = actuation[:, drive.entry]
            elif drive.kind == "wrench":
                result[:, column] = jacobians[drive.port][drive.entry]
        return result

    def motions(self, nv: int) -> Array:
        """Return the accelerations imposed a unit of each input (nv, inputs)."""
        result = np.zeros((nv, len(self.channels)))
        for column, drive in enumerate(self.channels):
            if drive.kind == "acceleration":
                result[drive.entry, column] = 1.0
        return result

    def applied(self, nv: int) -> Array:
        """Return the efforts that are inputs themselves (nv, inputs)."""
        result = np.zeros((nv, len(self.channels)))
        for column, drive in enumerate(self.channels):
            if drive.kind == "effort":
                result[drive.entry, column] = 1.0
        return result

    def _refuse_conflicts(self, model: Model) -> None:
        imposed_twice = [drive for drive in self.channels if drive.kind == "effort" and self.prescribed[drive.entry]]
        imposed_twice += [drive for drive in self.channels if drive.kind == "acceleration" and self.held[drive.entry]]
        if imposed_twice:
            name = model.coordinate_names[imposed_twice[0].entry]
            advice = f"the motion of {name!r} is imposed already; its effort is the output {name + '.tau'!r}"
            raise ModelError(
                Finding("imposed-twice", "inputs", imposed_twice[0].signal.path, "effort or motion, not both", advice)
            )


def _read(model: Model, name: Any) -> Sequence[Drive]:
    """Return the drives that a name stands for."""
    drives = _expand(model, name) if isinstance(name, str) else None
    if drives is None and isinstance(name, str) and (match := _COMPONENT.fullmatch(name)):
        whole = _expand(model, match["base"])
        index = int(match["index"])
        if whole is not None and index < len(whole):
            drives = (whole[index],)
    if drives is None:
        raise unknown_name("input", name, "a joint, actuator, port or prescribed acceleration", _known(model))
    return drives


def _expand(model: Model, name: str) -> Sequence[Drive] | None:
    assembly, units = model.assembly, model.assembly.coordinate_units
    if name in model.input_names or any(actuator.name == name for actuator in assembly.actuators):
        own = next((a.input_names for a in assembly.actuators if a.name == name), (name,))
        indices = [model.input_names.index(entry) for entry in own]
        return [Drive("actuator", k, "", Signal(model.input_names[k], model.inputs.units[k])) for k in indices]
    base, _, part = name.rpartition(".")
    for joint, kind in (
        (name, "effort"),
        (base if part == "tau" else "", "effort"),
        (base if part == "a" else "", "acceleration"),
    ):
        where = coordinates_of(model, joint)
        if where is not None:
            unit = [effort_unit(units[k]) if kind == "effort" else f"{units[k]}/s^2" for k in where]
            paths = [joint] if len(where) == 1 else [model.coordinate_names[k] for k in where]
            end = ".a" if kind == "acceleration" else ""
            return [Drive(kind, k, "", Signal(path + end, u)) for k, path, u in zip(where, paths, unit, strict=True)]
    if name in model.ports and name != "world":
        return [*_wrench(name, "F"), *_wrench(name, "T")]
    if part in _PARTS and base in model.ports and base != "world":
        return _wrench(base, part)
    return None


def _wrench(port: str, part: str) -> list[Drive]:
    start, stop = _PARTS[part]
    signals = components(f"{port}.{part}", "N" if part == "F" else "N m", stop - start)
    return [Drive("wrench", start + k, port, signal) for k, signal in enumerate(signals)]


def _read_held(model: Model, hold: Any) -> Array:
    held = np.zeros(model.nv, dtype=bool)
    for name in read_names("hold", hold):
        where = coordinates_of(model, name) if isinstance(name, str) else None
        if where is None:
            raise unknown_name(
                "coordinate", name, "a joint or coordinate to hold", [*model.assembly.v_slices, *model.coordinate_names]
            )
        held[where.start : where.stop] = True
    return held


def _known(model: Model) -> list[str]:
    joints = [*model.assembly.v_slices, *model.coordinate_names]
    ports = [port for port in model.port_names if port != "world"]
    wrenches = [f"{port}.{part}" for port in ports for part in _PARTS]
    return [*joints, *model.input_names, *(f"{joint}.a" for joint in joints), *ports, *wrenches]
