"""Characteristic sizes of a system: what counts as one for lengths, coordinates, constraints and derived quantities.

`Scale` is common to all models of a structure and computed once: the system's length, from its bodies, and the characteristic
sizes of coordinates and constraints. `StateScale` belongs to one state and adds a characteristic time and energy; it gives the
characteristic size in any unit, such as ``"N m/rad"``. The characteristic time, and the inertia that moves, depend on the
problem and come from the caller: `titop.solvers.equilibrium.sizes` computes them for equilibria.

The thresholds of `titop.blocks.basics.tolerances` are fractions of these sizes. Results therefore do not depend on units: the
tests run every function in units of length, time and mass from 2^-20 to 2^20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly, extent_of

#: Units as powers of energy, length and time.
_POWERS = {"kg": (1, -2, 2), "m": (0, 1, 0), "s": (0, 0, 1), "N": (1, -1, 0), "J": (1, 0, 0), "Pa": (1, -3, 0), "W": (1, 0, -1)}
_PURE = ("1", "rad")


class Scale:
    """Characteristic sizes of lengths, coordinates and constraints of a system, by which they can be compared.

    They follow from the parameters with which the structure was first resolved, and do not change with parameters.

    - `constraint_units`: units of the constraints' errors, those of gears last;
    - `gears`: constraints by gears and other relations: the ``factors`` of coordinates, and the ``places`` of these in q and v;
    - `extent`: the length (m) of the bodies, see `titop.graph.network.assembly`; zero if they have none;
    - `length`: the same, but one if they have none;
    - `reach`: length (m) of the tree with all its bodies in a row; the rounding of positions is relative to it.
    """

    def __init__(self, assembly: Assembly, constraint_units: Sequence[str] = (), gears: Iterable[Any] = ()) -> None:
        self._assembly, self._constraint_units, self._gears = assembly, constraint_units, list(gears)
        self.extent = extent_of(assembly)
        self.length = self.extent or 1.0
        self.reach = self.length * len(assembly.connections)

    @cached_property
    def coordinates(self) -> Array:
        """Characteristic sizes of the coordinates (nv), by `coordinates_of` with the blocks' own inertia, undeformed."""
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
        """The mass (kg) of all joints and bodies, one if they have none."""
        blocks = [block for c in self._assembly.connections for block in (c.joint, c.child.block)]
        masses = [np.real(block.mass_matrix(block.neutral())[0, 0]) for block in blocks]
        return float(sum(masses)) or 1.0

    def coordinates_of(self, inertia: Array, length: float | None = None) -> Array:
        """Return the characteristic size of each coordinate (nv): a radian for angles, the length (m) for lengths.

        For other units it is the value s at which ``inertia s^2`` is the system's mass times the length squared, with
        `inertia` the diagonal (nv) of the mass matrix; one where that is zero.
        """
        length = self.length if length is None else length
        sizes = np.where(self._units == "m", length, 1.0)
        if self.others.any():
            inert = self.others & (inertia > 0)
            sizes[inert] = length * np.sqrt(self.mass / inertia[inert])
        return sizes

    @cached_property
    def weights(self) -> Array:
        """Weights (k, no unit or 1/m) by which constraints are compared: 1, or for lengths one over the system's length.

        For gears, errors are taken at the coordinate that moves most in its units.
        """
        lengths = [unit == "m" for unit in self._constraint_units]
        weights = np.where(lengths, 1.0 / self.length, 1.0)
        for row, each in enumerate(self._gears, start=len(weights) - len(self._gears)):
            sizes = [abs(f) * self.coordinates[k] for f, (_, k) in zip(each.factors, each.places, strict=True)]
            weights[row] /= max(sizes) / self.coordinates[each.driven[1]]
        return weights

    def comparable(self, jacobian: Array) -> Array:
        """Return the constraint `jacobian` (k x nv) scaled by the characteristic sizes of constraints and coordinates."""
        return self.weights[:, None] * jacobian * self.coordinates

    def at_rate(self, rate: float) -> StateScale:
        """Return the scale of a state with a characteristic rate (1/s), for the inertia of the whole system."""
        energy = self.mass * (self.length * rate) ** 2
        return StateScale(self.coordinates, rate, energy, np.ones(len(self.coordinates)), self.length, rate)


class StateScale(NamedTuple):
    """Characteristic sizes at a state.

    - `coordinates` (nv): characteristic sizes of the coordinates: see `Scale.coordinates_of`;
    - `rate`: in 1/s: one over the characteristic time;
    - `energy`: in J: that of the largest inertia that a coordinate moves, at this rate;
    - `inertias` (nv): inertias of the coordinates, relative to the largest;
    - `length`: in m;
    - `fastest`: in 1/s: the largest of the state's velocities over the coordinates' sizes.
    """

    coordinates: Array
    rate: float
    energy: float
    inertias: Array
    length: float
    fastest: float

    @property
    def efforts(self) -> Array:
        """Characteristic efforts (nv), which do the work `energy` over a coordinate's size."""
        return self.energy / self.coordinates

    @property
    def accelerations(self) -> Array:
        """Characteristic accelerations (nv): a coordinate's size over the characteristic time squared."""
        return self.coordinates * self.rate**2

    @property
    def drifts(self) -> Array:
        """Characteristic rates of change of accelerations (nv): times `rate` or `fastest`, the larger of the two."""
        return self.accelerations * max(self.rate, self.fastest)

    def speed(self, v: Array) -> float:
        """Return the largest of the velocities (nv) over the coordinates' sizes (1/s)."""
        return fastest_of(v, self.coordinates)

    def of_unit(self, unit: str) -> float:
        """Return the characteristic size in a unit such as ``"N m/rad"``; 1 for unknown units."""
        energy, length, time = powers_of(unit)
        return float(self.energy**energy * self.length**length * self.rate**-time)


def powers_of(unit: str) -> tuple[int, int, int]:
    """Return the powers of energy, length and time in a unit such as ``"N m/rad"``; zeros for unknown units."""
    powers = np.zeros(3, dtype=int)
    above, *below = unit.split("/")
    for sign, part in ((1, above), *((-1, part) for part in below)):
        for factor in part.split():
            match = re.fullmatch(r"([A-Za-z]+|1)(?:\^(\d+))?", factor)
            if not match or match[1] not in (*_POWERS, *_PURE):
                return 0, 0, 0
            powers += sign * int(match[2] or 1) * np.array(_POWERS.get(match[1], (0, 0, 0)))
    energy, length, time = powers.tolist()
    return energy, length, time


def fastest_of(v: Array, coordinates: Array) -> float:
    """Return the largest of the velocities (nv) over the coordinates' sizes (1/s)."""
    return float(np.abs(v / coordinates).max(initial=0.0))
