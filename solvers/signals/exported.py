"""Exported signals: their paths, units and names.

Inside titop signals are dotted paths (``hub.C.F[0]``). In exported names the dots become underscores (``hub_C_F[0]``), since
python-control refuses dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.user_input import read_number
from titop.solvers.signals.quantities import Kind, NamedModel, Quantity, of_all_coordinates, units_of

#: Head of the names of references that a controller takes.
REFERENCE = "r_"
#: Where the parts of a path end. In an exported name, which has no dots, only a quantity at its end can be recognised.
_ENDS = re.compile(r"[.\[]")
_QUANTITIES = "dV|V|W|F|T|a|tau|q|v|w|r|dv|dw|xi|theta|reaction|length|volume|rate|strain|section"
_EXPORTED_ENDS = re.compile(rf"_(?:{_QUANTITIES})(?:\[\d+\])?$|\[\d+\]$")


class Signal(NamedTuple):
    """A scalar signal: its dotted path in the model, and its unit."""

    path: str
    unit: str

    @property
    def name(self) -> str:
        """Its exported name."""
        return exported_name(self.path)


def exported_name(path: str) -> str:
    """Return the name of a dotted path in python-control."""
    return path.replace(".", "_")


def numbers_by_name(where: str, given: Mapping[str, Any], names: Iterable[str], whole: bool = False) -> dict[str, float]:
    """Return numbers by names of parameters, from a mapping that may have their exported names.

    Raises `ModelError` for unknown names, what is no finite number, and parameters left out, if `whole`.
    """
    own = dict.fromkeys(names)
    known = {name: name for name in own} | {exported_name(name): name for name in own}
    result = {}
    for name, value in given.items():
        if name not in known:
            raise ModelError(Finding("unknown-parameter", where, name, "a parameter of the family", did_you_mean(name, own)))
        wrong = Finding("wrong-type", f"{where}: {name}", value, "a finite number", "give one value of each")
        result[known[name]] = read_number(wrong)
    missing = [name for name in own if name not in result] if whole else []
    if missing:
        raise ModelError(Finding("no-parameter", where, f"no {', '.join(missing)}", "a value of every parameter", "give it"))
    return result


def signal_table(system: Any) -> dict[str, Signal]:
    """Return path and unit of every state, input and output of an exported system, by exported name.

    Parameters
    ----------
    system : control.StateSpace or control.NonlinearIOSystem
        Made by titop. Kept are the signals of what python-control's arithmetic, indexing by numbers and names, ``feedback``,
        ``append``, ``series``, ``parallel``, ``c2d``, ``sample_system``, ``minreal``, ``copy`` and ``update_names`` make of it:
        inputs of the first system of a series, outputs of the last, inputs and outputs of the first of a sum or a feedback,
        states of all; the second of the same name gets a number, ``hinge.q_2``. Products with a number keep paths and units.
        Other systems have signals without units, products with matrices python-control's names where signals are mixed.
        Not kept by ``control.ss(system)``, ``interconnect``, ``lft``, ``similarity_transform``, model reduction, transfer
        functions, and ``feedback`` of a first system that titop did not make: ask before, labels mostly stay.

    Raises
    ------
    ModelError
        If the system carries no table.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> system = tt.linearize(m, tt.trim(m), inputs=["hinge"], outputs=["hinge.q"])
    >>> tt.signal_table(system)["hinge_v"]
    Signal(path='hinge.v', unit='rad/s')
    """
    table = getattr(system, "signals", None)
    if not isinstance(table, dict):
        advice = "ask for the table before this operation"
        raise ModelError(Finding("no-signals", "system", type(system).__name__, "a system that titop made", advice))
    return dict(table)


def table_of(*groups: Iterable[Signal]) -> dict[str, Signal]:
    """Return signals by exported name."""
    return {signal.name: signal for group in groups for signal in group}


def signals_of(model: NamedModel, of: Quantity) -> tuple[Signal, ...]:
    """Return the entries of a quantity as signals."""
    return tuple(map(Signal, of.paths, units_of(model, of)))


def state_signals(model: NamedModel) -> tuple[Signal, ...]:
    """Return the 2 nv + nx states of a linear model: displacements of the coordinates, their rates, first-order states."""
    parts = ((Kind.POSITION, ".q"), (Kind.RATE, ".v"))
    mechanical = (
        signal
        for kind, suffix in parts
        for signal in signals_of(model, of_all_coordinates(kind, model.coordinate_names, suffix))
    )
    return (*mechanical, *map(Signal, model.mechanism.inputs.state_names, model.mechanism.inputs.state_units))


def stems(path: str) -> set[str]:
    """Return the exported names of a path and of the leading parts of it; a path without dots is split as an exported name."""
    ends = {match.start() for match in (_ENDS if "." in path else _EXPORTED_ENDS).finditer(path)}
    return {exported_name(path[:end]) for end in (*ends, len(path))}


def components(path: str, unit: str, count: int) -> tuple[Signal, ...]:
    """Return the signals of a vector, or of a scalar when there is one component."""
    return (Signal(path, unit),) if count == 1 else tuple(Signal(f"{path}[{k}]", unit) for k in range(count))


def refuse_twice(role: str, signals: Iterable[Signal]) -> None:
    """Refuse signals that are named twice, which python-control would pass silently."""
    seen: dict[str, str] = {}
    for signal in signals:
        if signal.name in seen:
            advice = f"{seen[signal.name]!r} is there already"
            raise ModelError(Finding(f"duplicate-{role}", f"{role}s", signal.path, "each signal once", advice))
        seen[signal.name] = signal.path
