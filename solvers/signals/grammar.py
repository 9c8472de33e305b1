"""The grammar of signal names: the quantity of a dotted name, which depends on the argument in which it is given.

A name consists of an owner, optionally an ending, and optionally the index of a component: ``hinge``, ``hinge.q``,
``hub.C.w[0]``. Each argument has its `forms`, which are tried in order. Controllers name signals in
python-control's spelling too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import split_end
from titop.solvers.signals.exported import exported_name
from titop.solvers.signals.forms import (
    ContactForm,
    CoordinateForm,
    Form,
    InputForm,
    LineForm,
    NoiseForm,
    OwnStateForm,
    ParameterForm,
    PlainPositions,
    PortForm,
    ReactionForm,
    ReadingForm,
    SectionForm,
    SensorForm,
)
from titop.solvers.signals.quantities import Kind, NamedModel, Quantity

_COMPONENT = re.compile(r"(?P<whole>.+)\[(?P<number>\d+)\]")

#: Messages list the endings of what has fewer.
_FEW_ENDINGS = 10


@dataclass(frozen=True)
class Role:
    """An argument that takes names.

    - `what`: the role of a named quantity, in one word;
    - `expected`: a description of valid names, for messages;
    - `forms`: forms of names, in the order in which they are tried.
    """

    what: str
    expected: str
    forms: tuple[Form, ...]

    def names(self, model: NamedModel) -> Iterator[str]:
        """Yield all valid names, except those of single components."""
        return (name for form in self.forms for name in form.names(model))

    def quantities(self, model: NamedModel) -> Iterator[Quantity]:
        """Yield the quantities of all of these names."""
        return (quantity for form in self.forms for name in form.names(model) if (quantity := form.read(model, name)))


_MOTION_OF_PORTS = {
    "dv": (Kind.PORT_ACCELERATION, range(3)),
    "dw": (Kind.PORT_ACCELERATION, range(3, 6)),
    "v": (Kind.TWIST, range(3)),
    "w": (Kind.TWIST, range(3, 6)),
    "r": (Kind.PLACE, range(3)),
    "theta": (Kind.ANGLES, range(3)),
}
_OF_SECTIONS = {"strain": (Kind.STRAIN, range(6)), "section": (Kind.SECTION_WRENCH, range(6))}
_WRENCHES = {"F": (Kind.WRENCH, range(3)), "T": (Kind.WRENCH, range(3, 6))}
_POSITIONS = {"": (Kind.POSITION, ""), ".q": (Kind.POSITION, "")}
_STATES = {".q": (Kind.POSITION, ".q"), ".v": (Kind.RATE, ".v")}

#: Outputs of a system.
OUTPUT = Role(
    "output",
    "a coordinate's, port's, joint's, tendon's, contact's or sensor's output",
    (
        SensorForm(),
        PortForm(_MOTION_OF_PORTS),
        SectionForm(_OF_SECTIONS),
        CoordinateForm(_STATES | {".a": (Kind.ACCELERATION, ".a"), ".tau": (Kind.EFFORT, ".tau")}),
        ReactionForm(),
        LineForm(),
        ContactForm(),
        OwnStateForm(),
        ReadingForm(),
    ),
)
#: Inputs of a system.
INPUT = Role(
    "input",
    "a joint, actuator, tendon, port or prescribed acceleration or displacement",
    (
        InputForm(),
        CoordinateForm(
            {"": (Kind.EFFORT, ""), ".tau": (Kind.EFFORT, ""), ".a": (Kind.ACCELERATION, ".a"), ".q": (Kind.POSITION, ".q")}
        ),
        PortForm(_WRENCHES, whole=True),
        NoiseForm(),
    ),
)
#: Unknowns of an equilibrium, and parameters of a family of models.
UNKNOWN = Role(
    "unknown",
    "a coordinate, rate, acceleration, effort, input or parameter",
    (
        CoordinateForm(
            _POSITIONS | {".v": (Kind.RATE, ".v"), ".a": (Kind.ACCELERATION, ".a"), ".tau": (Kind.EFFORT, ".tau")}, full=True
        ),
        InputForm(),
        ParameterForm(),
    ),
)
#: Joints and coordinates themselves.
COORDINATE = Role("coordinate", "a joint or coordinate", (CoordinateForm({"": (Kind.POSITION, "")}, full=True),))
#: States of a linear model: displacements, rates, or both.
STATE = Role("coordinate", "a state to omit", (CoordinateForm({"": (Kind.STATE, "")} | _STATES, full=True), OwnStateForm()))
#: Signals that a controller can measure.
MEASURED = Role(
    "signal",
    "an output of the model",
    (
        SensorForm(),
        PlainPositions(),
        PortForm(_MOTION_OF_PORTS, world=True),
        CoordinateForm(_STATES, full=True),
        LineForm(),
        ContactForm(),
        ReadingForm(),
    ),
)
#: Signals that a controller can command.
COMMANDED = Role(
    "signal",
    "an input of the model",
    (InputForm(), CoordinateForm({"": (Kind.EFFORT, ".tau"), ".tau": (Kind.EFFORT, ".tau")}, full=True)),
)
#: Variables other than the state on which the dynamics depend.
CAUSE = Role(
    "name",
    "a parameter, an input or a port of the model",
    (ParameterForm(), InputForm(single=True), PortForm(_WRENCHES, whole=True, world=True)),
)


def read_name(model: NamedModel, role: Role, name: Any, where: str | None = None, expected: str | None = None) -> Quantity:
    """Return the quantity of a name.

    - `role`: role of the argument;
    - `where`, `expected`: name of the public function's argument, and a description of valid names, for messages.
    """
    if isinstance(name, str):
        if quantity := find_name(model, role, name):
            return quantity
        match = _COMPONENT.fullmatch(name)
        whole = find_name(model, role, match["whole"]) if match else None
        if match and whole and int(match["number"]) < len(whole.entries):
            return whole.only(int(match["number"]))
    names = [*role.names(model)]
    owner = split_end(str(name))[0]
    endings = [end for whole, end in map(split_end, names) if whole == owner != ""]
    advice = did_you_mean(name, names)
    if 0 < len(endings) < _FEW_ENDINGS:
        advice += f" {owner!r} has {', '.join(dict.fromkeys(endings))}"
    raise ModelError(Finding(f"unknown-{role.what}", where or f"{role.what}s", name, expected or role.expected, advice))


def find_name(model: NamedModel, role: Role, name: str) -> Quantity | None:
    """Return the quantity of a name in a role; None for invalid names."""
    return next((quantity for form in role.forms if (quantity := form.read(model, name))), None)


def read_names(argument: str, names: Any) -> list[Any]:
    """Return a list of names; a single name becomes a list of one."""
    if isinstance(names, str) or callable(names):
        return [names]
    if not isinstance(names, Sequence):
        raise ModelError(Finding("wrong-type", argument, names, "a list of names", 'write ["hinge"]'))
    return list(names)


def read_entries(model: NamedModel, argument: str, names: Any, expected: str = COORDINATE.expected) -> list[int]:
    """Return the indices in v of named joints and coordinates."""
    return [k for name in read_names(argument, names) for k in read_name(model, COORDINATE, name, expected=expected).entries]


class SignalTable:
    """Signals by name, in titop's spelling (``hub.P.w[0]``) and in python-control's (``hub_P_w[0]``).

    - `kind`: what the signals are, for messages;
    - `names`: in titop's spelling;
    - `aliases`: other names for some of them.
    """

    def __init__(self, kind: str, names: Iterable[str], aliases: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.names = tuple(names)
        self._spellings: dict[str, list[str]] = {}
        for alias, name in ({name: name for name in self.names} | dict(aliases or {})).items():
            for spelling in {alias, exported_name(alias)}:
                self._spellings.setdefault(spelling, []).append(name)

    def __contains__(self, name: object) -> bool:
        return name in self._spellings

    def find(self, where: str, name: str) -> str:
        """Return a signal's name in titop's spelling.

        - `where`: argument in which the name stands;
        - `name`: in either spelling.
        """
        names = self._spellings.get(name, [])
        if len(names) == 1:
            return names[0]
        if names:
            advice = f"it stands for {' and '.join(names)}: rename a block"
            raise ModelError(Finding("ambiguous-signal", where, name, "the name of one signal", advice))
        raise ModelError(Finding("unknown-signal", where, name, self.kind, did_you_mean(name, [*self._spellings])))


def measured_signals(model: NamedModel) -> SignalTable:
    """Return the signals that a controller can measure: sensors, positions, motion of ports, coordinates, lines, contacts."""
    return SignalTable(MEASURED.expected, _once(of.paths for of in MEASURED.quantities(model)))


def commanded_signals(model: NamedModel) -> SignalTable:
    """Return the signals that a controller can command: inputs (a tendon's is ``flexor``), then efforts (``hinge.tau``)."""
    named = {name: read_name(model, COMMANDED, name).paths for name in COMMANDED.names(model)}
    single = {name: paths[0] for name, paths in named.items() if len(paths) == 1}
    return SignalTable(COMMANDED.expected, _once(named.values()), single)


def _once(groups: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from dict.fromkeys(path for paths in groups for path in paths)


def check_names(where: str, names: Sequence[str]) -> None:
    """Refuse names that occur twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ModelError(Finding("duplicate-name", where, ", ".join(twice), "every signal once", "rename or remove one"))
