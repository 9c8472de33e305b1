"""What changes during a simulation: locks, releases and latches, and the record of what happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.model.impacts import with_closures
from titop.solvers.model.model import Model
from titop.solvers.simulation.events import Event

#: When a change happens: at a time (s), at an event, or where a quantity, such as ``"hinge.q"``, passes a value.
When = float | Event | tuple[str, float]


@dataclass(frozen=True)
class Lock:
    """A joint or coordinate stays where it is from then on, or a rigid closure closes: by an impact, see `Model.impact`.

    Parameters
    ----------
    name : str
        A joint, a block with own coordinates, one of their coordinates, or a rigid closure, whose ports have to meet then.
    at : float, Event or (str, float)
        A time (s); an event, whose first occurrence counts; or an output, named as in `linearize`, and the value that it
        passes.
    """

    name: str
    at: When


@dataclass(frozen=True)
class Release:
    """A joint or coordinate that is locked moves again, or a rigid closure opens; velocities do not jump.

    Parameters
    ----------
    name, at
        As in `Lock`.
    """

    name: str
    at: When


@dataclass(frozen=True)
class Latch:
    """A rigid closure closes as soon as its ports meet, or a joint or coordinate is locked, if that ever happens.

    Parameters
    ----------
    name : str
        As in `Lock`.
    when : float, Event or (str, float), optional
        As in `Lock`; without it, where the ports pass each other: at the least sum of squares of the errors of the closure's
        constraints, lengths over the system's length. Every occurrence counts, until one finds the ports near enough.
    within : (float, float), m and rad, optional
        How far the ports may be apart in the closure's constraints; they are kept so. Without it they have to meet, but for
        errors of the integrator.
    """

    name: str
    when: When | None = None
    within: tuple[float, float] | None = None

    @property
    def at(self) -> When | None:
        """When it may happen."""
        return self.when


@dataclass(frozen=True)
class Changed:
    """A change that has happened, or has not.

    Attributes
    ----------
    kind : {"lock", "release", "latch"}
    name : str
    t : float, s
        NaN if it did not happen.
    distance, angle : float, m and rad
        How far the ports of a closure were apart in its constraints: when it closed, or where they came nearest if it did not.
    impulse : array
        Of a closure on its second port, in its frame (6, N s and N m s); along the coordinates of a lock (N s or N m s).
    lost : float, J
        Kinetic energy that it turned into heat; of all that happened at one instant each has its part.
    q, before, v : arrays (nq), (nv), (nv)
        The configuration, and the velocities before and after all that happened at its instant.
    """

    kind: str
    name: str
    t: float = np.nan
    distance: float = 0.0
    angle: float = 0.0
    impulse: Array = field(default_factory=lambda: np.zeros(0))
    lost: float = 0.0
    q: Array = field(default_factory=lambda: np.zeros(0))
    before: Array = field(default_factory=lambda: np.zeros(0))
    v: Array = field(default_factory=lambda: np.zeros(0))


#: Heads of the names under which memories of trajectories keep what closures were, and what is locked.
CLOSURE, LOCK = "closure.", "lock."


def is_open(row: Array) -> bool:
    """Tell whether a closure was open where its errors were a `row`."""
    return bool(np.isnan(row).any())


def closures_at(memory: Mapping[str, Array], t: float) -> dict[str, Array | None]:
    """Return the errors at which closures were kept from a time (s) on, None where they were open.

    `memory`: of a trajectory; under ``closure.<name>`` times (s), each with errors, NaN where it was open.
    """
    known = {name.removeprefix(CLOSURE): rows for name, rows in memory.items() if name.startswith(CLOSURE)}
    held = {name: rows[rows[:, 0] <= max(t, rows[0, 0])][-1, 1:] for name, rows in known.items()}
    return {name: None if is_open(errors) else errors for name, errors in held.items()}


def stages(model: Model, t: Array, memory: Mapping[str, Array]) -> Iterator[tuple[slice, Model]]:
    """Yield the rows of times (n, s) between changes of closures, and the model that holds there; all rows without changes."""
    begins = {time for name, rows in memory.items() if name.startswith(CLOSURE) for time in rows[:, 0].tolist()}
    instants = sorted(begins - {min(begins)}) if begins else []
    starts = [0, *np.searchsorted(t, instants).tolist(), len(t)]
    for begin, (start, end) in zip([-np.inf, *instants], pairwise(starts), strict=True):
        if start < end or not instants:
            yield slice(start, end), with_closures(model, closures_at(memory, begin))
