"""Names and units of the signals that linear and nonlinear systems exchange with the outside.

Inside titop signals are dotted paths (``hub.C.F[0]``); exported, dots become underscores (``hub_C_F[0]``), since
python-control refuses dots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean

if TYPE_CHECKING:
    from titop.solvers.model.model import Model


class Signal(NamedTuple):
    """A scalar signal: its dotted path in the model, and its unit."""

    path: str
    unit: str

    @property
    def name(self) -> str:
        """Its exported name."""
        return exported(self.path)


def exported(path: str) -> str:
    """Return the name under which a dotted path is known to python-control."""
    return path.replace(".", "_")


def signal_table(system: Any) -> dict[str, Signal]:
    """Return path and unit of every state, input and output of an exported system, by exported name.

    Parameters
    ----------
    system : control.StateSpace or control.NonlinearIOSystem
        Made by titop. Operations of python-control return systems without the table.

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
        raise ModelError(
            Finding(
                "no-signals", "system", type(system).__name__, "a system that titop made", "ask for the table before operations"
            )
        )
    return dict(table)


def table_of(*groups: Iterable[Signal]) -> dict[str, Signal]:
    """Return signals by exported name."""
    return {signal.name: signal for group in groups for signal in group}


def state_signals(model: Model) -> tuple[Signal, ...]:
    """Return the 2 nv states of a linear model: the coordinates' displacements, then their rates."""
    pairs = list(zip(model.coordinate_names, model.assembly.coordinate_units, strict=True))
    return (*(Signal(f"{name}.q", unit) for name, unit in pairs), *(Signal(f"{name}.v", f"{unit}/s") for name, unit in pairs))


def components(path: str, unit: str, count: int) -> tuple[Signal, ...]:
    """Return the signals of a vector, or of a scalar when there is one component."""
    return (Signal(path, unit),) if count == 1 else tuple(Signal(f"{path}[{k}]", unit) for k in range(count))


def coordinates_of(model: Model, name: str) -> range | None:
    """Return the entries of v that a joint, block or coordinate name stands for; None when it stands for none."""
    where = model.assembly.v_slices.get(name)
    if where is not None:
        return range(where.start, where.stop)
    if name in model.coordinate_names:
        k = model.coordinate_names.index(name)
        return range(k, k + 1)
    return None


def read_names(role: str, names: Any) -> list[Any]:
    """Return a list of names, also when one alone is given.

    Raises
    ------
    ModelError
        If they are no sequence.
    """
    if isinstance(names, str) or callable(names):
        return [names]
    if not isinstance(names, Sequence):
        raise ModelError(Finding("wrong-type", role, names, "a list of names", 'write ["hinge"]'))
    return list(names)


def unknown_name(role: str, name: Any, expected: str, known: Iterable[str]) -> ModelError:
    """Return the error for a name that stands for nothing."""
    return ModelError(Finding(f"unknown-{role}", f"{role}s", name, expected, did_you_mean(name, known)))


def refuse_twice(role: str, signals: Iterable[Signal]) -> None:
    """Refuse signals that are named twice, which python-control would pass silently.

    Raises
    ------
    ModelError
        Naming the signal.
    """
    seen: dict[str, str] = {}
    for signal in signals:
        if signal.name in seen:
            advice = f"{seen[signal.name]!r} is there already"
            raise ModelError(Finding(f"duplicate-{role}", f"{role}s", signal.path, "each signal once", advice))
        seen[signal.name] = signal.path
