"""The sizes of a system: what counts as one where its equilibria are searched, so that no unit matters.

Length and inertia are the system's own. The rate is that at which gravity and what motion pushes, or else efforts, or else
springs make things look different.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, ROUNDING, STEADY
from titop.solvers.mechanism.coordinate_sizes import coordinate_sizes
from titop.solvers.model.model import Model

#: What units stand for, as powers of energy, length and time.
_POWERS = {"kg": (1, -2, 2), "m": (0, 1, 0), "s": (0, 0, 1), "N": (1, -1, 0), "Pa": (1, -3, 0)}
_PURE = ("1", "rad")

#: What rounding leaves of terms in the fastest rate and the fastest that turns, over what is left of terms that balance.
ROUNDED_TURNS = EXACT / STEADY


class LoadedState(Protocol):
    """A state with all that acts on it; see `titop.solvers.equilibrium.operating_point.OperatingPoint`."""

    @property
    def model(self) -> Model: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def u(self) -> Array | None: ...
    @property
    def x(self) -> Array: ...
    @property
    def driving(self) -> Array | None: ...
    @property
    def wrenches(self) -> Mapping[str, Array] | None: ...
    @property
    def residual(self) -> Array: ...


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
    fastest : float
        In 1/s: the largest of the guess's rates over the coordinates' sizes.
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
        return _speed(v, self.coordinates)

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


def sizes_of(point: LoadedState) -> Sizes:
    """Return the sizes of a point's system, as its configuration, motion and loads tell them."""
    model = point.model
    inertia = np.diag(model.mass_matrix(point.q))
    length = _length(point)
    coordinates = coordinate_sizes(model.assembly, inertia, length)
    energies = inertia * coordinates**2
    largest = float(energies.max(initial=0.0)) or 1.0
    fastest = _speed(point.v, coordinates)
    rate = _rate(point, coordinates, length, fastest)
    return Sizes(coordinates, rate, largest * rate**2, energies / largest, length, fastest)


def _speed(v: Array, coordinates: Array) -> float:
    return float(np.abs(v / coordinates).max(initial=0.0))


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


def _rate(point: LoadedState, coordinates: Array, length: float, fastest: float) -> float:
    """Return the rate (1/s)."""
    model = point.model
    falling = float(np.linalg.norm(model.gravity)) / length
    if falling and not fastest:
        return float(np.sqrt(falling))
    by_state, by_effort = acceleration_derivatives(point)
    stiff = float(np.abs(np.diag(by_state)).max(initial=0.0))
    acting = model.engine.dynamics.tree_inverse(
        point.q, point.v, np.zeros(model.nv), model.external_pushes(point.wrenches, point.driving)
    )
    efforts = np.abs(point.tau + model.motor_efforts(point.driving)) + np.abs(acting)
    moving, pulled = (
        float((np.abs(by_effort) @ each / coordinates).max(initial=0.0)) for each in (motion_efforts(point), efforts)
    )
    least = max(ROUNDING * stiff, ROUNDED_TURNS * fastest * _speed(turning(model, point.v), coordinates))
    return float(np.sqrt(next((each for each in (falling + moving, pulled) if each > least), max(stiff, least)))) or 1.0


def motion_efforts(point: LoadedState) -> Array:
    """Return the efforts (nv) that motion takes, signs left out: of each rate alone, as terms of several balance, and of all.

    Balanced wheels push nothing, however fast they are.
    """
    model, q, v = point.model, point.q, point.v
    weight = model.gravity_effects(q)
    motions = [v, *np.diag(v)[v != 0.0]]
    return sum((np.abs(model.nonlinear_effects(q, motion) - weight) for motion in motions), np.zeros(model.nv))


def turning(model: Model, v: Array) -> Array:
    """Return rates (nv) without those of translations, which push nothing unless something turns."""
    return np.where(np.array(model.assembly.coordinate_units) == "m", 0.0, v)


def acceleration_derivatives(point: LoadedState) -> tuple[Array, Array]:
    """Return the derivatives of a point's accelerations by the state (nv, 2nv) and by efforts (nv, nv)."""
    nv = point.model.nv
    _, A, B = point.model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.driving)
    return A[nv:], B[nv:]
