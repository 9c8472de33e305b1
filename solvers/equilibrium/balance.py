"""How large an acceleration is that terms which balance may leave: in parts of what each would do alone, whatever the units.

A coordinate's reach is what it goes until things look different: a radian, the system's size, or for coordinates of flexible
bodies where they are.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.interaction_loads import input_efforts
from titop.solvers.equilibrium.loaded_state import LoadedState
from titop.solvers.equilibrium.sizes import acceleration_derivatives, motion_efforts, turning
from titop.solvers.mechanism.inputs import own_efforts, port_pushes
from titop.solvers.signals.named_model import NamedModel

#: Of the accelerations that gravity, springs, efforts, wrenches and motion would each give alone.
_OF_TERMS = 1e-6
#: What rounding leaves of terms in the fastest rate and the fastest that turns, over what is left of terms that balance.
_ROUNDED = 1e-6
#: Errors of coordinates and rates, over their reach, that excuse larger accelerations in stiff systems.
OF_REACH = 1e-8


def reaches(model: NamedModel, q: Array) -> Array:
    """Return how far each coordinate (nv) goes until things look different."""
    known = _known_reaches(tuple(model.assembly.coordinate_units), model.size)
    if not np.isnan(known).any():
        return known
    return np.where(np.isnan(known), np.abs(model.difference(model.neutral(), q)), known)


@lru_cache(maxsize=64)
def _known_reaches(units: tuple[str, ...], size: float) -> Array:
    """Return the reaches of coordinates in rad and m, NaN of others; not to be written into."""
    known = np.array([{"rad": 1.0, "m": size}.get(unit, np.nan) for unit in units])
    known.flags.writeable = False
    return known


def motion_rate(model: NamedModel, q: Array, v: Array) -> float:
    """Return the largest of the rates (1/s) over the coordinates' reaches; zero at rest."""
    return _rate(v, reaches(model, q))


def _rate(v: Array, along: Array) -> float:
    return float(np.abs(np.divide(v, along, out=np.zeros(len(v)), where=along > 0)).max(initial=0.0))


def excess(point: LoadedState, a: Array, drift: Array, derivatives: tuple[Array, Array] | None = None) -> Array:
    """Return accelerations, and their rates along the motion, in parts of what is allowed (2, nv).

    Parameters
    ----------
    point : LoadedState
    a, drift : (nv,) arrays
        Accelerations, and their rates of change while the point moves.
    derivatives : (nv, 2nv) and (nv, nv) arrays, optional
        Derivatives of the accelerations by coordinates and rates, and by efforts, if known.
    """
    along = reaches(point.model, point.q)
    rate = _rate(point.v, along)
    by_state, by_effort = derivatives or acceleration_derivatives(point)
    found = np.abs([a, drift])
    allowed = OF_REACH * np.abs(by_state) @ np.concatenate([along, rate * along])
    drifting = np.abs(by_state[:, : len(along)]) @ rate_errors(along, by_state)
    if (found > [allowed, rate * allowed + drifting]).any():
        allowed += _OF_TERMS * alone(point, along, by_effort)
    return parts_of(found, np.array([allowed, rate * allowed + drifting]))


def rate_errors(along: Array, by_state: Array) -> Array:
    """Return errors of rates (nv) that excuse what follows from them: over what coordinates reach in their own oscillations.

    Parameters
    ----------
    along : (nv,) array
        What coordinates reach.
    by_state : (nv, 2nv) array
        Derivatives of the accelerations by coordinates and rates.
    """
    return OF_REACH * along * np.sqrt(np.abs(np.diag(by_state)))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def parts_of(found: Array, allowed: Array) -> Array:
    """Return what was found in parts of what is allowed; nothing is no part of anything."""
    return np.divide(found, allowed, out=np.zeros(found.shape), where=found != 0.0)


def alone(point: LoadedState, along: Array, by_effort: Array) -> Array:
    """Return the sum of the accelerations (nv) that each term would give alone, their signs left out.

    Parameters
    ----------
    point : LoadedState
    along : (nv,) array
        What coordinates reach.
    by_effort : (nv, nv) array
        Derivatives of the accelerations by efforts.
    """
    model, q, v = point.model, point.q, point.v
    rates = _rate(v, along) * _rate(turning(model, v), along)
    weight = model.gravity_effects(q)
    efforts = [point.tau, model.motor_efforts(point.driving), weight, motion_efforts(point), model.passive_efforts(q, v)]
    pushes = model.external_pushes(point.wrenches, point.driving)
    efforts += [own_efforts(pushes, q, model.nv), input_efforts(model, q, pushes)]
    for port, inertial, wrench in port_pushes(pushes):
        rotation = model.pose(port, q)[0] if inertial else np.eye(3)
        own = np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])
        efforts.append(model.jacobian(port, q).T @ own)
    total = sum((np.abs(effort) for effort in efforts), np.zeros(model.nv))
    falling = float(np.linalg.norm(model.gravity)) / model.size
    accelerations: Array = np.abs(by_effort) @ total + along * (falling + _ROUNDED * rates)
    return accelerations
