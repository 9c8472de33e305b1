"""Dynamics as a linear function of the bodies' inertial parameters: ten of each rigid body, and their regressor."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_numbers import NAMES, OWN_NAMES, inertial_derivatives
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import as_arrays
from titop.solvers.arguments.rowwise import read_states
from titop.solvers.mechanism.kernel_calls import DONE

#: How many lists of parameters are kept in mind.
_MOST_ROWS = 32


class InertialRows(NamedTuple):
    """Some parameters that are masses, centres of mass or inertias.

    Attributes
    ----------
    places : dict of str to int
        Their numbers by name.
    bodies : tuple of str
        To which they belong.
    rows : array of int
        Of each among the own parameters (10 a body) of these.
    """

    places: dict[str, int]
    bodies: tuple[str, ...]
    rows: Array


class InertialParameters:
    """The names of the inertial parameters of a system, which no change of parameters changes.

    Parameters
    ----------
    assembly : Assembly
    bodies : tuple of str
        The rigid bodies that have them.

    Attributes
    ----------
    names : tuple of str
        Of the inertial parameters, ten a body.
    own_names : tuple of str
        Of the masses, centres of mass and inertias from which they follow.
    places : dict of str to (str, int)
        Body, and place among its own, of every parameter that is no more than a mass, a centre of mass or an inertia.
    met : dict
        What `rows` was asked for.
    """

    def __init__(self, assembly: Assembly, bodies: tuple[str, ...]) -> None:
        self.bodies = bodies
        self.names = tuple(f"{body}.{name}" for body in bodies for name in NAMES)
        self.own_names = tuple(f"{body}.{name}" for body in bodies for name in OWN_NAMES)
        beside = {own.name for loop in assembly.loops for own in loop.closure.own_blocks}  # which change with their blocks
        alone = (body for body in bodies if body not in beside)
        self.places = {f"{body}.{name}": (body, row) for body in alone for row, name in enumerate(OWN_NAMES)}
        self.met: dict[tuple[str, ...], InertialRows] = {}

    def rows(self, names: tuple[str, ...]) -> InertialRows | None:
        """Return where to find the derivatives by some parameters; None if one of them is no mass or inertia."""
        known = self.met.get(names)
        if known is None and self.places.keys() >= set(names):
            if len(self.met) == _MOST_ROWS:
                self.met.clear()
            places = {name: place for place, name in enumerate(dict.fromkeys(names))}
            bodies = {body: k for k, body in enumerate(dict.fromkeys(self.places[name][0] for name in places))}
            owned = (self.places[name] for name in places)
            rows = np.array([len(NAMES) * bodies[body] + row for body, row in owned], dtype=int)
            known = self.met[names] = InertialRows(places, tuple(bodies), rows)
        return known


def regressor_of(mechanism: Any, bodies: tuple[str, ...], q: Any, v: Any, a: Any) -> Array:
    """Return the columns (nv, 10 a body) of the regressor that belong to some bodies; of stacked states, stacked."""
    if type(q) is type(v) is type(a) is np.ndarray and q.ndim == 1:
        rows = np.empty((1, len(NAMES) * len(bodies), mechanism.nv))
        try:
            done = mechanism.engine.calls.regressors[bodies](q[None], v[None], a[None], rows) == DONE
            if done and isfinite(q.dot(q) + v.dot(v) + a.dot(a)):  # kernels do not look at what no rigid body moves with
                return rows[0].T
        except TypeError:
            pass
        mechanism.engine.raise_pending()
    if ready := as_arrays(q, v, a):
        return regressor_of(mechanism, bodies, *ready)
    q, v, a = read_states(mechanism, {"q": q, "v": v, "a": a}, stacked=True)
    regressors = mechanism.engine.observations.regressors
    return regressors(bodies, q[None], v[None], a[None])[0] if q.ndim == 1 else regressors(bodies, q, v, a)


def derivatives_by_inertia(mechanism: Any, inertial: InertialRows, q: Any, v: Any, a: Any) -> Array:
    """Return the derivatives (m, nv) of inverse dynamics by m parameters, from the regressor of their bodies alone.

    At stacked states (batch, m, nv).
    """
    bodies = inertial.bodies
    by_numbers = np.swapaxes(regressor_of(mechanism, bodies, q, v, a), -1, -2)
    by_body = by_numbers.reshape(*by_numbers.shape[:-2], len(bodies), len(NAMES), mechanism.nv)
    numbers_by_own = np.array([_numbers_by_own(mechanism, name) for name in bodies]).reshape(-1, len(NAMES), len(NAMES))
    return np.matmul(numbers_by_own, by_body).reshape(by_numbers.shape).take(inertial.rows, -2)


def inertial_effort_derivatives(mechanism: Any, names: Iterable[str], q: Array, v: Array, a: Array) -> dict[str, Array]:
    """Return the derivatives (nv) of inverse dynamics by those of some parameters that are masses or inertias, by name."""
    own = tuple(name for name in names if name in mechanism.inertial.places)
    if not own or (rows := mechanism.inertial.rows(own)) is None:
        return {}
    return dict(zip(rows.places, derivatives_by_inertia(mechanism, rows, q, v, a), strict=True))


def _numbers_by_own(mechanism: Any, body: str) -> Array:
    """Return the derivatives (10 x 10) of a rigid body's numbers by its own parameters, transposed; kept."""
    kept: dict[str, Array] = mechanism.inertial_derivatives
    if body not in kept:
        block = mechanism.assembly.blocks[body]
        kept[body] = inertial_derivatives(block).T
    return kept[body]
