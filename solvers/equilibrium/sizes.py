"""What counts as one where a system's equilibria are searched, so that no unit matters.

Length and inertia are the system's own. The rate is that at which gravity and what motion pushes, or else efforts, or else
springs make things look different.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, ROUNDING, STEADY
from titop.solvers.mechanism.scale import StateScale, fastest_of
from titop.solvers.model.model import Model

#: Rounding of terms in products of rates, over the part of all terms that an equilibrium may leave.
ROUNDED_TURNS = EXACT / STEADY


class ActedState(Protocol):
    """A state with its loads; see `titop.solvers.equilibrium.operating_point.OperatingPoint`."""

    @property
    def model(self) -> Model: ...
    @property
    def q(self) -> Array: ...
    @property
    def v(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    @property
    def tau(self) -> Array: ...
    @property
    def driving(self) -> Array | None: ...
    @property
    def wrenches(self) -> Mapping[str, Array] | None: ...


class LoadedState(ActedState, Protocol):
    """The same with what acts in it, one by one, and what follows."""

    @property
    def u(self) -> Array | None: ...
    @property
    def x(self) -> Array: ...
    @property
    def residual(self) -> Array: ...
    @property
    def drift(self) -> Array: ...
    def reference(self, t: float) -> tuple[Array, Array]: ...
    @property
    def state_matrices(self) -> tuple[Array, Array, Array]: ...


def sizes_of(point: LoadedState) -> StateScale:
    """Return the scale of a point's system, as its configuration, motion and loads tell them."""
    model = point.model
    inertia = np.diag(model.mass_matrix(point.q))
    length = _length(point)
    coordinates = model.mechanism.scale.coordinates_of(inertia, length)
    energies = inertia * coordinates**2
    largest = float(energies.max(initial=0.0)) or 1.0
    fastest = fastest_of(point.v, coordinates)
    rate = _rate(point, coordinates, length, fastest)
    return StateScale(coordinates, rate, largest * rate**2, energies / largest, length, fastest)


def _length(point: LoadedState) -> float:
    """Return the system's length (m); without any, that which coordinates in metres are at, or go where springs hold them."""
    model = point.model
    if length := model.mechanism.scale.extent:
        return length
    lengths = np.array(model.mechanism.assembly.coordinate_units) == "m"
    if not lengths.any():
        return 1.0
    here = np.abs(model.difference(model.neutral(), point.q))[lengths].max()
    pulled, derivatives = np.abs(point.residual), np.abs(point.state_matrices[1][model.nv :, : model.nv])
    held = lengths & (np.diag(derivatives) > 0)
    held_at = (pulled[held] / np.diag(derivatives)[held]).max(initial=0.0)
    return float(max(here, held_at)) or 1.0


def _rate(point: LoadedState, coordinates: Array, length: float, fastest: float) -> float:
    model = point.model
    falling = model.mechanism.falling * model.mechanism.scale.length / length
    if falling and not fastest:
        return float(np.sqrt(falling))
    by_state, by_effort = (matrix[model.nv :] for matrix in point.state_matrices[1:])
    stiff = float(np.abs(np.diag(by_state)).max(initial=0.0))
    acting = model.mechanism.engine.dynamics.tree_inverse(
        point.q, point.v, np.zeros(model.nv), model.mechanism.external_pushes(point.wrenches, point.driving)
    )
    efforts = np.abs(point.tau + model.mechanism.motor_efforts(point.driving)) + np.abs(acting)
    moving, pulled = (
        float((np.abs(by_effort) @ each / coordinates).max(initial=0.0)) for each in (motion_efforts(point), efforts)
    )
    least = max(ROUNDING * stiff, ROUNDED_TURNS * fastest * fastest_of(rotational_rates(model, point.v), coordinates))
    return float(np.sqrt(next((each for each in (falling + moving, pulled) if each > least), max(stiff, least)))) or 1.0


def motion_efforts(point: LoadedState) -> Array:
    """Return the sum of the absolute efforts (nv) that motion takes: of all rates together, and of each alone.

    Terms of several rates may cancel. Balanced wheels take none, however fast they are.
    """
    model, q, v = point.model, point.q, point.v
    weight = model.gravity_effects(q)
    motions = [v, *np.diag(v)[v != 0.0]]
    return sum((np.abs(model.nonlinear_effects(q, motion) - weight) for motion in motions), np.zeros(model.nv))


def rotational_rates(model: Model, v: Array) -> Array:
    """Return rates (nv) with zeros for translations, which take no efforts unless something turns."""
    return np.where(np.array(model.mechanism.assembly.coordinate_units) == "m", 0.0, v)
