"""Whether the linear model about a steady motion stays the same along it: not where an unsymmetric rotor turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.balance import excess, reaches
from titop.solvers.equilibrium.loaded_state import LoadedState
from titop.solvers.model.reduction import Reduction, reduction

#: How far along the motion it is looked at again, in parts of what a coordinate goes until things look different.
_STEP = 1e-2
#: Coordinates that are slower than the fastest, or than the system's own motions, by this part stand still.
_STILL = 1e-6
#: Changes, by what a coordinate goes until things look different, below this part of a row of the linear model are rounding;
#: rows of less than these parts of the largest, or of the fastest rate's square, are as good as empty.
_SAME, _EMPTY, _ROUNDED = 1e-5, 1e-4, 1e-6


def steadiness_findings(point: LoadedState, where: str = "point") -> Iterator[Finding]:
    """Yield a finding where accelerations stay zero along the point's motion, but their derivatives do not stay as they are."""
    if not point.v.any():
        return
    model, nv = point.model, point.model.nv
    a, A, B = model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.driving)
    if excess(point, a, A[nv:, :nv] @ point.v, (A[nv:], B[nv:])).max(initial=0.0) > 1.0:
        return
    reduced = reduction(model, point.q, point.v, np.zeros(nv, dtype=bool))
    states = reduced.states[: len(reduced.states) // 2]
    reach = reaches(model, point.q)[states]
    about = _LinearModel(_scaled(reduced, A, reach), states, reach)
    rates = _rates(point, about)
    try:
        change = max((_change(point, about, rate, rates[-1]) for rate in rates), default=0.0)
    except (ModelError, ConvergenceError):  # of states that nobody asked for
        return
    if change > _SAME:
        found = f"a linear model that changes by {change:.2g} of itself, or more, while a coordinate moves noticeably"
        expected = "one that stays as it is: rotors that are symmetric about their axes"
        advice = "its poles say nothing of stability, and it holds for a part of the motion only: simulate"
        yield Finding("time-varying", where, found, expected, advice)


class _LinearModel(NamedTuple):
    """Derivatives of accelerations by independent coordinates and their rates, in parts of what the coordinates reach (n).

    Coordinates of no reach, as of bodies that are not deformed, are left out. `chosen` are the entries of v.
    """

    by_state: Array
    chosen: Array
    reach: Array


def _scaled(reduced: Reduction, A: Array, reach: Array) -> Array:
    """Return the derivatives of accelerations by the states that are `reduced` to, coordinates in parts of their reach."""
    n, kept = len(reach), np.flatnonzero(reach > 0.0)
    matrix: Array = reduced.rows(reduced.columns(A))[n + kept][:, [*kept, *(n + kept)]]
    return matrix / reach[kept, None] * np.tile(reach[kept], 2)


def _rates(point: LoadedState, about: _LinearModel) -> list[float]:
    """Return the rates (1/s) of the slowest and the fastest of the coordinates that move."""
    along = reaches(point.model, point.q)
    rates = np.abs(np.divide(point.v, along, out=np.zeros(len(along)), where=along > 0.0))
    n = len(about.by_state)
    own = max(np.sqrt(np.abs(about.by_state[:, :n]).max(initial=0.0)), np.abs(about.by_state[:, n:]).max(initial=0.0))
    moving = rates[rates > _STILL * max(rates.max(initial=0.0), own)]
    return sorted({float(moving.min()), float(moving.max())}) if len(moving) else []


def _change(point: LoadedState, about: _LinearModel, rate: float, fastest: float) -> float:
    """Return by which part the linear model changes while what moves at a rate (1/s) goes until things look different."""
    model, t = point.model, _STEP / rate
    q, v = model.integrate(point.q, t * point.v), point.v
    if model.is_constrained:
        q = model.assemble(q)
        v = model.assemble_velocity(q, v)
    _, A, _ = model.raw_linear_matrices(q, v, point.tau, point.wrenches, point.driving)
    names = [model.coordinate_names[k] for k in about.chosen] if model.is_constrained else None
    later = _scaled(reduction(model, q, v, np.zeros(model.nv, dtype=bool), names), A, about.reach)
    per_rate = np.repeat([1.0, rate], len(about.by_state))
    before, after = about.by_state * per_rate, later * per_rate
    rows = np.abs(before).max(axis=1, initial=0.0)
    noticed = np.maximum(rows, max(_EMPTY * rows.max(initial=0.0), _ROUNDED * fastest**2))
    return float((np.abs(after - before) / noticed[:, None]).max(initial=0.0)) / _STEP
