"""The sizes of a system: what counts as one where its equilibria are searched, so that no unit matters.

Length and inertia are the system's own. The rate is that at which gravity, or else motion, or else springs and efforts make
things look different.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.loaded_state import LoadedState
from titop.solvers.mechanism.coordinate_sizes import coordinate_sizes

#: What units stand for, as powers of energy, length and time.
_POWERS = {"kg": (1, -2, 2), "m": (0, 1, 0), "s": (0, 0, 1), "N": (1, -1, 0), "Pa": (1, -3, 0)}
_PURE = ("1", "rad")

#: What rounding leaves of springs' and rods' accelerations at rest, in parts of those a radian or the system's length away.
_ROUNDING = 1e-13


class Sizes(NamedTuple):
    """What counts as one.

    Attributes
    ----------
    coordinates : (nv,) array
        A radian, the system's length, or where the inertia is that of the system a length away.
    rate : float
        In 1/s.
    energy : float
        In J: the largest inertia that a coordinate moves, at this rate.
    inertias : (nv,) array
        Of the coordinates, in parts of the largest.
    length : float
        In m.
    """

    coordinates: Array
    rate: float
    energy: float
    inertias: Array
    length: float

    @property
    def efforts(self) -> Array:
        """Efforts (nv) that do the work of one over a coordinate's size."""
        return self.energy / self.coordinates

    @property
    def accelerations(self) -> Array:
        """Accelerations (nv) by a coordinate's size within the time of one."""
        return self.coordinates * self.rate**2

    def speed(self, v: Array) -> float:
        """Return the largest of rates (nv) over the coordinates' sizes (1/s)."""
        return float(np.abs(v / self.coordinates).max(initial=0.0))

    def of_unit(self, unit: str) -> float:
        """Return what counts as one in a unit such as ``"N m/rad"``; 1 in those unknown."""
        powers = np.zeros(3)
        above, *below = unit.split("/")
        for sign, part in ((1, above), *((-1, part) for part in below)):
            for factor in part.split():
                found = re.fullmatch(r"([A-Za-z]+|1)(?:\^(\d+))?", factor)
                if not found or found[1] not in (*_POWERS, *_PURE):
                    return 1.0
                powers += sign * int(found[2] or 1) * np.array(_POWERS.get(found[1], (0, 0, 0)))
        return float(self.energy ** powers[0] * self.length ** powers[1] * self.rate ** -powers[2])


def sizes_of(point: LoadedState) -> Sizes:
    """Return the sizes of a point's system, as its configuration, motion and loads tell them."""
    model = point.model
    inertia = np.diag(model.mass_matrix(point.q))
    length = _length(point)
    coordinates = coordinate_sizes(model.assembly, inertia, length)
    energies = inertia * coordinates**2
    largest = float(energies.max(initial=0.0)) or 1.0
    rate = _rate(point, coordinates, length)
    return Sizes(coordinates, rate, largest * rate**2, energies / largest, length)


def _length(point: LoadedState) -> float:
    """Return the system's length (m); without any, that which coordinates in metres are at, or go where springs hold them."""
    model = point.model
    if length := model.extent:
        return length
    lengths = np.array(model.assembly.coordinate_units) == "m"
    if not lengths.any():
        return 1.0
    here = np.abs(model.difference(model.neutral(), point.q))[lengths].max()
    pulled, derivatives = np.abs(point.residual), np.abs(acceleration_derivatives(point)[0][:, : model.nv])
    held = lengths & (np.diag(derivatives) > 0)
    held_at = (pulled[held] / np.diag(derivatives)[held]).max(initial=0.0)
    return float(max(here, held_at)) or 1.0


def _rate(point: LoadedState, coordinates: Array, length: float) -> float:
    """Return the rate (1/s)."""
    model = point.model
    falling = float(np.linalg.norm(model.gravity)) / length
    moving = float(np.abs(point.v / coordinates).max(initial=0.0))
    if falling or moving:
        return float(np.sqrt(falling + moving**2))
    by_state, by_effort = acceleration_derivatives(point)
    acting = model.engine.dynamics.tree_inverse(
        point.q, point.v, np.zeros(model.nv), model.external_pushes(point.wrenches, point.u)
    )
    pulled = (np.abs(by_effort) @ (np.abs(point.tau + model.motor_efforts(point.u)) + np.abs(acting))) / coordinates
    stiff = np.abs(by_state[:, : model.nv]) * coordinates / coordinates[:, None]
    fastest, slowest = stiff.max(initial=0.0), pulled.max(initial=0.0)
    return float(np.sqrt(slowest if slowest > _ROUNDING * fastest else fastest)) or 1.0


def acceleration_derivatives(point: LoadedState) -> tuple[Array, Array]:
    """Return the derivatives of a point's accelerations by the state (nv, 2nv) and by efforts (nv, nv)."""
    nv = point.model.nv
    _, A, B = point.model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.u)
    return A[nv:], B[nv:]
