"""The grammar of signal names: the quantity of a dotted name, which depends on the argument in which it is given.

A name consists of an owner, optionally an ending, and optionally the index of a component: ``hinge``, ``hinge.q``,
``hub.C.w[0]``. Each argument has its `forms`, which are tried in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
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
    SectionForm,
    SensorForm,
)
from titop.solvers.signals.named_model import NamedModel
from titop.solvers.signals.quantities import Kind, Quantity

_COMPONENT = re.compile(r"(?P<whole>.+)\[(?P<number>\d+)\]")


@dataclass(frozen=True)
class Role:
    """An argument that takes names.

    Attributes
    ----------
    what : str
        The role of a named quantity, in one word.
    expected : str
        A description of valid names, for messages.
    forms : tuple of Form
        Forms of names, in the order in which they are tried.
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
    "a coordinate, rate, effort, input or parameter",
    (
        CoordinateForm(_POSITIONS | {".v": (Kind.RATE, ".v"), ".tau": (Kind.EFFORT, ".tau")}, full=True),
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

    Parameters
    ----------
    role : Role
        Role of the argument.
    where, expected : str, optional
        Name of the public function's argument, and a description of valid names, for messages.
    """
    if isinstance(name, str):
        if quantity := find_name(model, role, name):
            return quantity
        match = _COMPONENT.fullmatch(name)
        whole = find_name(model, role, match["whole"]) if match else None
        if match and whole and int(match["number"]) < len(whole.entries):
            return whole.only(int(match["number"]))
    advice = did_you_mean(name, [*role.names(model)])
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
