"""The grammar of signal names: what a dotted name stands for, by the argument in which it is given.

A name is an owner, perhaps an ending, perhaps the number of a component: ``hinge``, ``hinge.q``, ``hub.C.w[0]``. Each argument
has its rules, which are tried one after the other; a rule knows the owners, their endings, and the names of the entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.sensors import sensed

if TYPE_CHECKING:
    from titop.solvers.model import Model

_COMPONENT = re.compile(r"(?P<whole>.+)\[(?P<number>\d+)\]")


class Rule(Protocol):
    """Names of one form."""

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for; None if it is not of this form."""

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names of this form."""


@dataclass(frozen=True)
class Coordinates:
    """Joints, blocks with coordinates, and coordinates: by `endings`, what they stand for and the ending of their entries.

    The entries of joints and blocks are named after the coordinates, an only one after the joint or block itself unless `full`.
    """

    endings: Mapping[str, tuple[Kind, str]]
    full: bool = False

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
        for ending, (kind, suffix) in self.endings.items():
            owner = name.removesuffix(ending)
            where = model.assembly.entries_of(owner) if owner + ending == name else None
            if where is not None:
                own = [owner] if len(where) == 1 and not self.full else [model.coordinate_names[k] for k in where]
                return Quantity(kind, owner, tuple(where), tuple(path + suffix for path in own))
        return None

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        owners = dict.fromkeys((*model.assembly.v_slices, *model.coordinate_names))
        return (owner + ending for ending in self.endings for owner in owners)


@dataclass(frozen=True)
class PlainPositions:
    """Entries of q that are no displacements along a direction of v: plain coordinates, and the numbers of quaternions."""

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
        owner = name.removesuffix(".q")
        if owner == name or owner not in model.configuration_names:
            return None
        if owner in model.coordinate_names and not model.has_plain_coordinates(model.coordinate_names.index(owner)):
            return None
        return Quantity(Kind.CONFIGURATION, owner, (model.configuration_names.index(owner),), (name,))

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        return (f"{owner}.q" for owner in model.configuration_names if self.read(model, f"{owner}.q") is not None)


@dataclass(frozen=True)
class Ports:
    """Ports: by endings, what they stand for and which of its entries.

    A port itself stands for all of these together if `whole`. The world's are among them if `world`.
    """

    endings: Mapping[str, tuple[Kind, Sequence[int]]]
    whole: bool = False
    world: bool = False

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
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

    def _has(self, model: Model, port: str) -> bool:
        return port in model.ports and (self.world or port != "world")

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        ports = [port for port in model.port_names if self._has(model, port)]
        yield from ports if self.whole else ()
        yield from (f"{port}.{ending}" for port in ports for ending in self.endings)


@dataclass(frozen=True)
class Inputs:
    """Inputs; and actuators, which stand for all of theirs, unless `single`."""

    single: bool = False

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
        actuators = () if self.single else model.assembly.actuators
        own = next((a.input_names for a in actuators if a.name == name), (name,))
        if not set(own) <= set(model.input_names):
            return None
        return Quantity(Kind.INPUT, name, tuple(map(model.input_names.index, own)), tuple(own))

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        actuators = () if self.single else model.assembly.actuators
        yield from dict.fromkeys((*model.input_names, *(actuator.name for actuator in actuators)))


@dataclass(frozen=True)
class Sensors:
    """Sensors, their outputs, and outputs that are components of one vector."""

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
        for sensor in model.assembly.sensors:
            if name == sensor.name:
                return sensed(model.assembly, sensor)
            own = [k for k, path in enumerate(sensor.output_names) if path == name or path.startswith(f"{name}[")]
            if own:
                return sensed(model.assembly, sensor).only(*own)
        return None

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        yield from dict.fromkeys(name for sensor in model.assembly.sensors for name in (sensor.name, *sensor.output_names))


@dataclass(frozen=True)
class Reactions:
    """Joints, and closures between ports, with the ending of their wrench."""

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
        owner = name.removesuffix(".reaction")
        if owner == name or owner not in self._owners(model):
            return None
        return Quantity(Kind.REACTION, owner, tuple(range(6)), tuple(f"{name}[{k}]" for k in range(6)))

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        return (f"{owner}.reaction" for owner in self._owners(model))

    def _owners(self, model: Model) -> tuple[str, ...]:
        return (*model.joint_names, *(loop.closure.name for loop in model.assembly.loops if len(loop.ports) > 1))


@dataclass(frozen=True)
class Parameters:
    """Numbers of blocks."""

    def read(self, model: Model, name: str) -> Quantity | None:
        """Return what a name stands for."""
        return Quantity(Kind.PARAMETER, name, (0,), (name,)) if name in model._parameter_names else None

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names."""
        return iter(model.parameters())


@dataclass(frozen=True)
class Role:
    """An argument that takes names.

    Attributes
    ----------
    what : str
        What a name stands for there, in one word.
    expected : str
        The same, for messages.
    rules : tuple of Rule
    """

    what: str
    expected: str
    rules: tuple[Rule, ...]

    def names(self, model: Model) -> Iterator[str]:
        """Yield all names that are valid there, those of single components left out."""
        return (name for rule in self.rules for name in rule.names(model))

    def quantities(self, model: Model) -> Iterator[Quantity]:
        """Yield what all of these names stand for."""
        return (found for rule in self.rules for name in rule.names(model) if (found := rule.read(model, name)))


_MOTION_OF_PORTS = {
    "dv": (Kind.PORT_ACCELERATION, range(3)),
    "dw": (Kind.PORT_ACCELERATION, range(3, 6)),
    "v": (Kind.TWIST, range(3)),
    "w": (Kind.TWIST, range(3, 6)),
    "r": (Kind.PLACE, range(3)),
    "theta": (Kind.ANGLES, range(3)),
}
_WRENCHES = {"F": (Kind.WRENCH, range(3)), "T": (Kind.WRENCH, range(3, 6))}
_POSITIONS = {"": (Kind.POSITION, ""), ".q": (Kind.POSITION, "")}
_STATES = {".q": (Kind.POSITION, ".q"), ".v": (Kind.RATE, ".v")}

#: What can be read of a system.
OUTPUT = Role(
    "output",
    "a coordinate's, port's, joint's or sensor's output",
    (
        Sensors(),
        Ports(_MOTION_OF_PORTS),
        Coordinates(_STATES | {".a": (Kind.ACCELERATION, ".a"), ".tau": (Kind.EFFORT, ".tau")}),
        Reactions(),
    ),
)
#: What can drive a system.
INPUT = Role(
    "input",
    "a joint, actuator, port or prescribed acceleration",
    (
        Inputs(),
        Coordinates({"": (Kind.EFFORT, ""), ".tau": (Kind.EFFORT, ""), ".a": (Kind.ACCELERATION, ".a")}),
        Ports(_WRENCHES, whole=True),
    ),
)
#: What an equilibrium is searched over, and what a family's parameters may be.
UNKNOWN = Role(
    "unknown",
    "a coordinate, rate, effort, input or parameter",
    (
        Coordinates(_POSITIONS | {".v": (Kind.RATE, ".v"), ".tau": (Kind.EFFORT, ".tau")}, full=True),
        Inputs(),
        Parameters(),
    ),
)
#: Joints and coordinates themselves.
COORDINATE = Role("coordinate", "a joint or coordinate", (Coordinates({"": (Kind.POSITION, "")}, full=True),))
#: States of a linear model: displacements, rates, or both.
STATE = Role("coordinate", "a coordinate to omit", (Coordinates({"": (Kind.STATE, "")} | _STATES, full=True),))
#: What a controller can measure.
MEASURED = Role(
    "signal",
    "an output of the model",
    (Sensors(), PlainPositions(), Ports(_MOTION_OF_PORTS, world=True), Coordinates(_STATES, full=True)),
)
#: What a controller can command.
COMMANDED = Role(
    "signal",
    "an input of the model",
    (Inputs(), Coordinates({"": (Kind.EFFORT, ".tau"), ".tau": (Kind.EFFORT, ".tau")}, full=True)),
)
#: What dynamics change with beside the state.
CAUSE = Role(
    "name",
    "a parameter, an input or a port of the model",
    (Parameters(), Inputs(single=True), Ports(_WRENCHES, whole=True, world=True)),
)


def read_name(model: Model, role: Role, name: Any, where: str | None = None, expected: str | None = None) -> Quantity:
    """Return what a name stands for.

    Parameters
    ----------
    model : Model
    role : Role
        Of the argument.
    name : str
    where, expected : str, optional
        What the caller's caller calls the argument, and what has to stand there.

    Raises
    ------
    ModelError
        For names that stand for nothing there.
    """
    if isinstance(name, str):
        if found := _read(model, role, name):
            return found
        match = _COMPONENT.fullmatch(name)
        whole = _read(model, role, match["whole"]) if match else None
        if match and whole and int(match["number"]) < len(whole.entries):
            return whole.only(int(match["number"]))
    advice = did_you_mean(name, [*role.names(model)])
    raise ModelError(Finding(f"unknown-{role.what}", where or f"{role.what}s", name, expected or role.expected, advice))


def _read(model: Model, role: Role, name: str) -> Quantity | None:
    return next((found for rule in role.rules if (found := rule.read(model, name))), None)


def read_names(argument: str, names: Any) -> list[Any]:
    """Return a list of names, also when one alone is given.

    Raises
    ------
    ModelError
        If they are no sequence.
    """
    if isinstance(names, str) or callable(names):
        return [names]
    if not isinstance(names, Sequence):
        raise ModelError(Finding("wrong-type", argument, names, "a list of names", 'write ["hinge"]'))
    return list(names)


def read_entries(model: Model, argument: str, names: Any, expected: str = COORDINATE.expected) -> list[int]:
    """Return the entries of v that names of joints and coordinates stand for.

    Raises
    ------
    ModelError
        For unknown names.
    """
    return [k for name in read_names(argument, names) for k in read_name(model, COORDINATE, name, expected=expected).entries]
