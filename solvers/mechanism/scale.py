"""What counts as one in a system: the one place that says how large lengths, coordinates and what goes with them are.

`Scale` holds of all models of a structure and is found once: the system's length, from its bodies, and what counts as one of
each coordinate and constraint. `StateScale` is that of one state: it adds the time in which things look different there, and
the energy of that. These tell what counts as one in any unit, such as ``"N m/rad"``. Which time that is, and the inertia that
is moved, whoever asks knows best: `titop.solvers.equilibrium.sizes` has them for equilibria.

Thresholds of `titop.blocks.basics.tolerances` are parts of these sizes. No unit then changes an answer: the tests take every
function through units of length, time and mass from 2^-20 to 2^20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly
from titop.graph.network.lengths import extent_of

#: What units stand for, as powers of energy, length and time.
_POWERS = {"kg": (1, -2, 2), "m": (0, 1, 0), "s": (0, 0, 1), "N": (1, -1, 0), "J": (1, 0, 0), "Pa": (1, -3, 0), "W": (1, 0, -1)}
_PURE = ("1", "rad")


class Scale:
    """What counts as one of lengths, coordinates and constraints of a system, so that they can be compared.

    It is that of the parameters with which the structure was first resolved, and stays so in models with others.

    Parameters
    ----------
    assembly : Assembly
    constraint_units : sequence of str
        Of the constraints' errors, those of gears last.
    gears : iterable
        Constraints by gears: their ``gear.ratio``, and places in q and v of ``driver`` and ``driven``.

    Attributes
    ----------
    extent : float
        The length (m) of the bodies, see `titop.graph.network.lengths`; zero without any.
    length : float
        The same, one without any.
    reach : float
        How long (m) the tree would be with all its bodies in a row: what the rounding of places in it is a part of.
    """

    def __init__(self, assembly: Assembly, constraint_units: Sequence[str] = (), gears: Iterable[Any] = ()) -> None:
        self._assembly, self._constraint_units, self._gears = assembly, constraint_units, list(gears)
        self.extent = extent_of(assembly)
        self.length = self.extent or 1.0
        self.reach = self.length * len(assembly.connections)

    @cached_property
    def coordinates(self) -> Array:
        """What counts as one of each coordinate (nv): see `coordinates_of`, of the blocks' own inertia without deformation."""
        assembly = self._assembly
        inertia = np.zeros(len(assembly.coordinate_units))
        if self.others.any():
            for name, place in assembly.v_slices.items():
                block = assembly.blocks[name]
                inertia[place] = np.real(block.mass_matrix(block.neutral())).diagonal()[6:]
        return self.coordinates_of(inertia)

    @cached_property
    def _units(self) -> Array:
        return np.array(self._assembly.coordinate_units)

    @cached_property
    def others(self) -> Array:
        """Which coordinates (nv) are neither lengths nor angles."""
        return ~np.isin(self._units, ("m", "rad"))

    @cached_property
    def mass(self) -> float:
        """The mass (kg) of all joints and bodies, one without any."""
        blocks = [block for c in self._assembly.connections for block in (c.joint, c.child.block)]
        masses = [np.real(block.mass_matrix(block.neutral())[0, 0]) for block in blocks]
        return float(sum(masses)) or 1.0

    def coordinates_of(self, inertia: Array, length: float | None = None) -> Array:
        """Return what counts as one of each coordinate (nv): a radian, the length (m), or what moves the system's mass so far.

        The last for coordinates with other units, from their `inertia` (nv, the diagonal of the mass matrix); one where there
        is none.
        """
        length = self.length if length is None else length
        sizes = np.where(self._units == "m", length, 1.0)
        if self.others.any():
            inert = self.others & (inertia > 0)
            sizes[inert] = length * np.sqrt(self.mass / inertia[inert])
        return sizes

    @cached_property
    def weights(self) -> Array:
        """What constraints (k, no unit or 1/m) are multiplied by to compare: 1, for lengths one over the system's.

        Gears that speed up are compared by what they ask of their drivers.
        """
        lengths = [unit == "m" for unit in self._constraint_units]
        weights = np.where(lengths, 1.0 / self.length, 1.0)
        for row, each in enumerate(self._gears, start=len(weights) - len(self._gears)):
            speed_up = abs(each.gear.ratio) * self.coordinates[each.driver[1]] / self.coordinates[each.driven[1]]
            weights[row] /= max(1.0, speed_up)
        return weights

    def comparable(self, jacobian: Array) -> Array:
        """Return the constraints' `jacobian` (k x nv) by what counts as one of constraints and coordinates."""
        comparable: Array = self.weights[:, None] * jacobian * self.coordinates
        return comparable

    def at_rate(self, rate: float) -> StateScale:
        """Return what counts as one where things look different at a rate (1/s) of the whole system's mass."""
        energy = self.mass * (self.length * rate) ** 2
        return StateScale(self.coordinates, rate, energy, np.ones(len(self.coordinates)), self.length, rate)


class StateScale(NamedTuple):
    """What counts as one at a state.

    Attributes
    ----------
    coordinates : (nv,) array
        A radian, the system's length, or where the inertia is that of the system a length away.
    rate : float
        In 1/s: one over the time in which things look different.
    energy : float
        In J: the largest inertia that a coordinate moves, at this rate.
    inertias : (nv,) array
        Of the coordinates, in parts of the largest.
    length : float
        In m.
    fastest : float
        In 1/s: the largest of the state's rates over the coordinates' sizes.
    """

    coordinates: Array
    rate: float
    energy: float
    inertias: Array
    length: float
    fastest: float

    @property
    def efforts(self) -> Array:
        """Efforts (nv) that do the work of one over a coordinate's size."""
        return self.energy / self.coordinates

    @property
    def accelerations(self) -> Array:
        """Accelerations (nv) by a coordinate's size within the time of one."""
        return self.coordinates * self.rate**2

    @property
    def drifts(self) -> Array:
        """Changes of accelerations (nv) by one within the time in which things look different, or motion has gone that far."""
        return self.accelerations * max(self.rate, self.fastest)

    def speed(self, v: Array) -> float:
        """Return the largest of rates (nv) over the coordinates' sizes (1/s)."""
        return fastest_of(v, self.coordinates)

    def of_unit(self, unit: str) -> float:
        """Return what counts as one in a unit such as ``"N m/rad"``; 1 in those unknown."""
        powers = np.zeros(3)
        above, *below = unit.split("/")
        for sign, part in ((1, above), *((-1, part) for part in below)):
            for factor in part.split():
                match = re.fullmatch(r"([A-Za-z]+|1)(?:\^(\d+))?", factor)
                if not match or match[1] not in (*_POWERS, *_PURE):
                    return 1.0
                powers += sign * int(match[2] or 1) * np.array(_POWERS.get(match[1], (0, 0, 0)))
        return float(self.energy ** powers[0] * self.length ** powers[1] * self.rate ** -powers[2])


def fastest_of(v: Array, coordinates: Array) -> float:
    """Return the largest of rates (nv) over the coordinates' sizes (1/s)."""
    return float(np.abs(v / coordinates).max(initial=0.0))
