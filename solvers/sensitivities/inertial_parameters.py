"""Inverse dynamics as a linear function of inertial parameters, ten of each rigid body: the regressor."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_numbers import NAMES, inertial_derivatives
from titop.blocks.bodies.rigid_body import INERTIAL_NAMES
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import all_finite, as_arrays
from titop.solvers.arguments.rowwise import read_states
from titop.solvers.mechanism.kernel_calls import DONE

#: Number of lists of parameter names that are cached.
_MOST_ROWS = 32


class InertialRows(NamedTuple):
    """Parameters that are masses, centres of mass or inertias."""

    places: dict[str, int]  #: Their indices by name.
    bodies: tuple[str, ...]  #: The bodies to which they belong.
    rows: Array  #: Index of each among the own parameters (10 per body) of these bodies.


class InertialParameters:
    """The names of the inertial parameters of some rigid bodies; they do not depend on parameter values."""

    def __init__(self, assembly: Assembly, bodies: tuple[str, ...]) -> None:
        self.bodies = bodies
        #: Names of the inertial parameters, ten per body; and of masses, centres of mass and inertias, from which they follow.
        self.names = tuple(f"{body}.{name}" for body in bodies for name in NAMES)
        self.own_names = tuple(f"{body}.{name}" for body in bodies for name in INERTIAL_NAMES)
        shared = {block.name for loop in assembly.loops for block in loop.closure.own_blocks}  # interactions depend on these
        alone = (body for body in bodies if body not in shared)
        #: Body and index of each mass, centre of mass and inertia on which no interaction depends.
        self.places = {f"{body}.{name}": (body, row) for body in alone for row, name in enumerate(INERTIAL_NAMES)}
        self.met: dict[tuple[str, ...], InertialRows] = {}

    def rows(self, names: tuple[str, ...]) -> InertialRows | None:
        """Return the rows of the derivatives by some parameters; None if one of them is no mass, centre of mass or inertia."""
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


def refuse_field(field: Any) -> None:
    """Refuse a regressor where gravity is a field. Raises `ModelError`."""
    expected = "uniform gravity: what a field does to a body is not linear in mass, moments and inertia"
    raise ModelError(Finding("not-linear", "regressor", field.words, expected, "leave it out"))


def regressor_of(mechanism: Any, bodies: tuple[str, ...], q: Any, v: Any, a: Any) -> Array:
    """Return the columns (nv, 10 per body) of the regressor for some bodies; stacked for stacked states."""
    if type(q) is type(v) is type(a) is np.ndarray and q.ndim:
        rows = np.empty((*q.shape[:-1], len(NAMES) * len(bodies), mechanism.nv))
        try:
            calls = mechanism.engine.calls
            kernel = calls.regressors[bodies]
            if q.ndim == 1:
                done = kernel.call(q, v, a, rows) == DONE
                if done and isfinite(q.dot(q) + v.dot(v) + a.dot(a)):  # kernels ignore coordinates that move no rigid body
                    return rows.T
            elif kernel.at_stack(q, v, a, rows, threads=calls.threads) == DONE and all(map(all_finite, (q, v, a))):
                return rows.swapaxes(1, 2)
        except TypeError:
            pass
        mechanism.engine.raise_pending()
    if ready := as_arrays(q, v, a):
        return regressor_of(mechanism, bodies, *ready)
    q, v, a = read_states(mechanism, {"q": q, "v": v, "a": a}, stacked=True)
    regressors = mechanism.engine.observations.regressors
    return regressors(bodies, q[None], v[None], a[None])[0] if q.ndim == 1 else regressors(bodies, q, v, a)


def derivatives_by_inertia(mechanism: Any, inertial: InertialRows, q: Any, v: Any, a: Any) -> Array:
    """Return the derivatives (m, nv) of inverse dynamics by m parameters, from the regressor of their bodies.

    For stacked states (batch, m, nv).
    """
    bodies = inertial.bodies
    by_numbers = np.swapaxes(regressor_of(mechanism, bodies, q, v, a), -1, -2)
    by_body = by_numbers.reshape(*by_numbers.shape[:-2], len(bodies), len(NAMES), mechanism.nv)
    numbers_by_own = np.array([_numbers_by_own(mechanism, name) for name in bodies]).reshape(-1, len(NAMES), len(NAMES))
    return np.matmul(numbers_by_own, by_body).reshape(by_numbers.shape).take(inertial.rows, -2)


def inertial_effort_derivatives(mechanism: Any, names: Iterable[str], q: Array, v: Array, a: Array) -> dict[str, Array]:
    """Return the derivatives (nv) of inverse dynamics by masses, centres of mass and inertias among `names`, by name."""
    inertial = tuple(name for name in names if name in mechanism.inertial.places)
    if not inertial or (rows := mechanism.inertial.rows(inertial)) is None:
        return {}
    return dict(zip(rows.places, derivatives_by_inertia(mechanism, rows, q, v, a), strict=True))


def _numbers_by_own(mechanism: Any, body: str) -> Array:
    """Return the derivatives (10 x 10) of a rigid body's inertial parameters by its own parameters, transposed; cached."""
    cache: dict[str, Array] = mechanism.inertial_derivatives
    if body not in cache:
        block = mechanism.assembly.blocks[body]
        cache[body] = inertial_derivatives(block).T
    return cache[body]
