"""Forms of signal names: each knows its owners, their endings, and the names of the entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from titop.blocks.basics.paths import owner_of
from titop.blocks.contract.block import Block
from titop.blocks.devices.device import Device
from titop.blocks.devices.path_noises import NOISES
from titop.solvers.constraints.interaction_loads import contacts_of
from titop.solvers.signals.lines_and_sections import is_on_rod, lines_of
from titop.solvers.signals.quantities import Kind, NamedModel, Quantity, reading_of

#: Kinds of the measures of lines by their endings, and the ending of the rate.
_MEASURES, _RATE = {"length": Kind.LENGTH, "volume": Kind.VOLUME}, "rate"


class Form(Protocol):
    """Names of one form."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        """Return the quantity of a name; None if it is not of this form."""

    def names(self, model: NamedModel) -> Iterator[str]:
        """Yield all names of this form."""


@dataclass(frozen=True)
class CoordinateForm:
    """Joints, blocks with coordinates, and single coordinates.

    `endings` maps the ending of a name to its kind and to the ending of its entries' paths. Entries of joints and blocks are
    named after the coordinates; a single entry is named after the joint or block itself, unless `full`.
    """

    endings: Mapping[str, tuple[Kind, str]]
    full: bool = False

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        for ending, (kind, suffix) in self.endings.items():
            owner = name.removesuffix(ending)
            where = model.mechanism.assembly.entries_of(owner) if owner + ending == name else None
            if where is not None:
                paths = [owner] if len(where) == 1 and not self.full else [model.coordinate_names[k] for k in where]
                return Quantity(kind, owner, tuple(where), tuple(path + suffix for path in paths))
        return None

    def names(self, model: NamedModel) -> Iterator[str]:
        owners = dict.fromkeys((*model.mechanism.assembly.v_slices, *model.coordinate_names))
        return (owner + ending for ending in self.endings for owner in owners)


class PlainPositions:
    """Entries of q: plain coordinates and entries of quaternions, but not the displacements of free and spherical joints."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        owner = name.removesuffix(".q")
        if owner == name or owner not in model.configuration_names:
            return None
        if owner in model.coordinate_names and not model.mechanism.has_plain_coordinates(model.coordinate_names.index(owner)):
            return None
        return Quantity(Kind.CONFIGURATION, owner, (model.configuration_names.index(owner),), (f"{owner}.q",))

    def names(self, model: NamedModel) -> Iterator[str]:
        return (f"{owner}.q" for owner in model.configuration_names if self.read(model, f"{owner}.q") is not None)


@dataclass(frozen=True)
class PortForm:
    """Ports: `endings` maps the ending of a name to its kind and entries.

    If `whole`, the name of a port stands for all of these together. If `world`, the world's ports are included.
    """

    endings: Mapping[str, tuple[Kind, Sequence[int]]]
    whole: bool = False
    world: bool = False

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        if self.whole and self._has(model, name):
            parts = [self._part(name, ending) for ending in self.endings]
            entries, paths = (tuple(x for part in parts for x in getattr(part, field)) for field in ("entries", "paths"))
            return Quantity(parts[0].kind, name, entries, paths)
        owner, _, ending = name.rpartition(".")
        return self._part(owner, ending) if ending in self.endings and self._has(model, owner) else None

    def _part(self, port: str, ending: str) -> Quantity:
        kind, entries = self.endings[ending]
        paths = [f"{port}.{ending}[{k}]" for k in range(len(entries))] if len(entries) > 1 else [f"{port}.{ending}"]
        return Quantity(kind, port, tuple(entries), tuple(paths))

    def _has(self, model: NamedModel, port: str) -> bool:
        return port in model.mechanism.ports and (self.world or port != "world")

    def names(self, model: NamedModel) -> Iterator[str]:
        ports = [port for port in model.port_names if self._has(model, port)]
        yield from ports if self.whole else ()
        yield from (f"{port}.{ending}" for port in ports for ending in self.endings)


@dataclass(frozen=True)
class SectionForm(PortForm):
    """Ports of rods, which stand for the sections at these ports."""

    def _has(self, model: NamedModel, port: str) -> bool:
        return super()._has(model, port) and is_on_rod(model.mechanism.assembly, port)


@dataclass(frozen=True)
class InputForm:
    """Inputs; unless `single`, also actuators and interactions, each of which stands for all of its inputs."""

    single: bool = False

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        paths = next((owner.input_names for owner in self._owners(model) if owner.name == name), (name,))
        if not set(paths) <= set(model.input_names):
            return None
        return Quantity(Kind.INPUT, name, tuple(map(model.input_names.index, paths)), tuple(paths))

    def names(self, model: NamedModel) -> Iterator[str]:
        yield from dict.fromkeys((*model.input_names, *(owner.name for owner in self._owners(model))))

    def _owners(self, model: NamedModel) -> Sequence[Block]:
        if self.single:
            return ()
        interactions = (loop.closure for loop in model.mechanism.assembly.loops if loop.closure.inputs)
        return (*model.mechanism.assembly.actuators, *interactions)


class NoiseForm:
    """White noise that errs in the paths of actuators and sensors: of a device, or of one of its channels.

    Entries are those of the input that it adds to; -1 for sensors.
    """

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        owner, _, ending = name.rpartition(".")
        for device, signals in self._devices(model, ending):
            if owner in (device.name, *signals):
                chosen = signals if owner == device.name else (owner,)
                entries = (model.input_names.index(each) if device.inputs else -1 for each in chosen)
                return Quantity(Kind.NOISE, device.name, tuple(entries), tuple(f"{each}.{ending}" for each in chosen))
        return None

    def names(self, model: NamedModel) -> Iterator[str]:
        for ending in NOISES:
            for device, signals in self._devices(model, ending):
                yield from dict.fromkeys(f"{each}.{ending}" for each in (device.name, *signals))

    def _devices(self, model: NamedModel, ending: str) -> Iterator[tuple[Device, tuple[str, ...]]]:
        assembly = model.mechanism.assembly
        named = [(each, each.input_names) for each in assembly.actuators]
        for device, signals in named + [(each, each.output_names) for each in assembly.sensors]:
            if device.path is not None and ending in NOISES and np.any(getattr(device.path, NOISES[ending])):
                yield device, signals


class SensorForm:
    """Sensors, their outputs, and outputs that are components of one vector."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        if name not in model.mechanism.sensor_entries:
            return None
        sensor, entries = model.mechanism.sensor_entries[name]
        quantity: Quantity = model.mechanism.sensor_signals[sensor]
        return quantity if entries is None else quantity.only(*entries)

    def names(self, model: NamedModel) -> Iterator[str]:
        yield from dict.fromkeys(
            name for sensor in model.mechanism.assembly.sensors for name in (sensor.name, *sensor.output_names)
        )


class ReactionForm:
    """Joints, and closures between ports, with the ending of their wrench."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        owner = name.removesuffix(".reaction")
        if owner == name or owner not in self._owners(model):
            return None
        return Quantity(Kind.REACTION, owner, tuple(range(6)), tuple(f"{name}[{k}]" for k in range(6)))

    def names(self, model: NamedModel) -> Iterator[str]:
        return (f"{owner}.reaction" for owner in self._owners(model))

    def _owners(self, model: NamedModel) -> tuple[str, ...]:
        return (*model.joint_names, *(loop.closure.name for loop in model.mechanism.assembly.loops if len(loop.ports) > 1))


class LineForm:
    """Lines in rods and deformable bodies: their length or volume, and its rate."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        owner, _, ending = name.rpartition(".")
        line = lines_of(model).get(owner)
        if line is None or ending not in (line.measured, _RATE):
            return None
        return Quantity(_MEASURES[line.measured], owner, (int(ending == _RATE),), (name,))

    def names(self, model: NamedModel) -> Iterator[str]:
        return (f"{name}.{ending}" for name, line in lines_of(model).items() for ending in (line.measured, _RATE))


class ContactForm:
    """Contacts, and their spheres and points: gaps and forces."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        point, _, ending = name.rpartition(".")
        for owner, loop in contacts_of(model.mechanism).items() if ending in ("gap", "force") else ():
            points = loop.closure.point_names
            if point != owner and point not in points:
                continue
            chosen = range(len(points)) if point == owner else [points.index(point)]
            if ending == "gap":
                return Quantity(Kind.GAP, owner, tuple(chosen), tuple(f"{points[k]}.gap" for k in chosen))
            first = 0 if point == owner else 3 + 3 * chosen[0]
            return Quantity(Kind.CONTACT_FORCE, owner, tuple(range(first, first + 3)), tuple(f"{name}[{j}]" for j in range(3)))
        return None

    def names(self, model: NamedModel) -> Iterator[str]:
        for owner, loop in contacts_of(model.mechanism).items():
            for point in dict.fromkeys((owner, *loop.closure.point_names)):
                yield from (f"{point}.gap", f"{point}.force")


class ReadingForm:
    """What interactions and drives measure."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        return reading_of(model.mechanism.interactions, name)

    def names(self, model: NamedModel) -> Iterator[str]:
        return (name for loop in model.mechanism.interactions for name in loop.closure.reading_paths)


class OwnStateForm:
    """First-order states; and blocks, each of which stands for all of its states."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        names = model.mechanism.inputs.state_names
        paths = (name,) if name in names else tuple(each for each in names if owner_of(each) == name)
        return Quantity(Kind.OWN_STATE, name, tuple(map(names.index, paths)), paths) if paths else None

    def names(self, model: NamedModel) -> Iterator[str]:
        return iter(model.mechanism.inputs.state_names)


class ParameterForm:
    """Parameters of blocks."""

    def read(self, model: NamedModel, name: str) -> Quantity | None:
        return Quantity(Kind.PARAMETER, name, (0,), (name,)) if name in model.mechanism.parameter_names else None

    def names(self, model: NamedModel) -> Iterator[str]:
        return iter(model.parameters())
