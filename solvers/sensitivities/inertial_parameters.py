"""Inverse dynamics as a linear function of inertial parameters, ten of each rigid body: the regressor."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_numbers import NAMES
from titop.blocks.bodies.rigid_body import INERTIAL_NAMES
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import all_finite, as_arrays
from titop.solvers.arguments.rowwise import read_states
from titop.solvers.mechanism.kernel_calls import DONE

#: Number of lists of parameter names that are cached.
_MOST_ROWS = 32


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
        self.met: dict[tuple[str, ...], dict[str, int]] = {}

    def rows(self, names: tuple[str, ...]) -> dict[str, int] | None:
        """Return the indices of some parameters, each once; None if one of them is no mass, centre of mass or inertia."""
        known = self.met.get(names)
        if known is None and self.places.keys() >= set(names):
            if len(self.met) == _MOST_ROWS:
                self.met.clear()
            known = self.met[names] = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return known

    def asked(self, own: bool, names: Iterable[str]) -> list[tuple[str, int]]:
        """Return body and index of what `efforts_by_inertia` is asked for."""
        return [self.places[name] for name in names] if own else [(body, k) for body in names for k in range(len(NAMES))]


def refuse_field(field: Any) -> None:
    """Refuse a regressor where gravity is a field. Raises `ModelError`."""
    expected = "uniform gravity: what a field does to a body is not linear in mass, moments and inertia"
    raise ModelError(Finding("not-linear", "regressor", field.words, expected, "leave it out"))


def efforts_by_inertia(mechanism: Any, own: bool, names: tuple[str, ...], q: Any, v: Any, a: Any) -> Array:
    """Return the efforts (m, nv) of inverse dynamics a unit of each of m numbers of bodies; stacked for stacked states.

    The numbers are if `own` the named masses, centres of mass and inertias, otherwise all inertial parameters of the bodies.
    """
    if type(q) is type(v) is type(a) is np.ndarray and q.ndim:
        rows = np.empty((*q.shape[:-1], len(names) if own else len(NAMES) * len(names), mechanism.nv))
        try:
            calls = mechanism.engine.calls
            kernel = calls.regressors[own, names]
            if q.ndim == 1:
                done = kernel.call(q, v, a, rows) == DONE
                if done and isfinite(q.dot(q) + v.dot(v) + a.dot(a)):  # kernels ignore coordinates that move no rigid body
                    return rows
            elif kernel.at_stack(q, v, a, rows, threads=calls.threads) == DONE and all(map(all_finite, (q, v, a))):
                return rows
        except TypeError:
            pass
        mechanism.engine.raise_pending()
    if ready := as_arrays(q, v, a):
        return efforts_by_inertia(mechanism, own, names, *ready)
    q, v, a = read_states(mechanism, {"q": q, "v": v, "a": a}, stacked=True)
    regressors = mechanism.engine.observations.regressors
    return regressors(own, names, q[None], v[None], a[None])[0] if q.ndim == 1 else regressors(own, names, q, v, a)


def inertial_effort_derivatives(mechanism: Any, names: Iterable[str], q: Array, v: Array, a: Array) -> dict[str, Array]:
    """Return the derivatives (nv) of inverse dynamics by masses, centres of mass and inertias among `names`, by name."""
    inertial = tuple(dict.fromkeys(name for name in names if name in mechanism.inertial.places))
    return dict(zip(inertial, efforts_by_inertia(mechanism, True, inertial, q, v, a), strict=True)) if inertial else {}
