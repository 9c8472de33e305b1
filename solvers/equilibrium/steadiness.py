"""Whether the linear model about a steady motion stays the same along it: not where an unsymmetric rotor turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.balance import excess, reaches
from titop.solvers.equilibrium.loaded_state import LoadedState
from titop.solvers.model.reduction import reduction

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
    about = _linear_model(point, None)
    if not about.is_steady:
        return
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
    """Derivatives of accelerations by independent coordinates and their rates (n, 2n), in parts of their `reach` (n).

    Coordinates of no reach, as of bodies that are not deformed, are left out. `chosen` are the entries of v.
    """

    by_state: Array
    chosen: Array
    reach: Array
    is_steady: bool


def _linear_model(point: LoadedState, chosen: Array | None) -> _LinearModel:
    """Return the linear model in some independent coordinates, or in any."""
    model, nv = point.model, point.model.nv
    a, A, B = model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.u)
    is_steady = excess(point, a, A[nv:, :nv] @ point.v, (A[nv:], B[nv:])).max(initial=0.0) <= 1.0
    names = None if chosen is None or not model.is_constrained else [model.coordinate_names[k] for k in chosen]
    reduced = reduction(model, point.q, point.v, np.zeros(nv, dtype=bool), names)
    n = len(reduced.states) // 2
    reach = reaches(model, point.q)[reduced.states[:n]]
    kept = np.flatnonzero(reach > 0.0)
    matrix = reduced.rows(reduced.columns(A))[n + kept][:, [*kept, *(n + kept)]] / reach[kept, None]
    return _LinearModel(matrix * np.tile(reach[kept], 2), reduced.states[:n], reach, is_steady)


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
    later = _linear_model(point.moved(q, v, point.tau, point.u), about.chosen)
    if later.by_state.shape != about.by_state.shape:
        return 0.0
    per_rate = np.repeat([1.0, rate], len(about.by_state))
    before, after = about.by_state * per_rate, later.by_state * per_rate
    rows = np.abs(before).max(axis=1, initial=0.0)
    noticed = np.maximum(rows, max(_EMPTY * rows.max(initial=0.0), _ROUNDED * fastest**2))
    return float((np.abs(after - before) / noticed[:, None]).max(initial=0.0)) / _STEP
