"""States of the first order at equilibria: at rest, where their rates depend on them; elsewhere as the guess has them.

At every configuration a search tries, the states x are those with ``dx/dt = 0``, by Newton steps of least norm from where they
have followed the coordinates from the guess: an integrator of inputs keeps what it has, a bristle that sticks bends by what it
slips. Derivatives of what balances are along states that follow so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.mechanism import StateDerivatives
from titop.solvers.equilibrium.displacements import displaced, displacement_motions
from titop.solvers.equilibrium.followers import resting_inverse
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.sizes import Sizes, sizes_of

_ITERATIONS = 50
#: Where, in parts of a displacement, what states follow is asked: Gauss's two points.
_BETWEEN = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))
#: Rates of states in parts of what each term would contribute alone that count as none.
_OF_TERMS = 1e-6
#: Steps that change states by less than this part of them are none.
_ROUNDED = 1e-14


class _Rates(NamedTuple):
    values: Array
    derivatives: StateDerivatives


def followed(point: OperatingPoint, dq: Array) -> Array:
    """Return the states (nx) that have gone along a displacement (nv) from a point, as `displaced` takes it, slowly."""
    model, x = point.model, point.x
    if not model.nx or not dq.any():
        return x
    for part in _BETWEEN:
        there = point.moved(displaced(model, point.q, part * dq), point.v, point.tau, point.u)
        x = x + 0.5 * _rates(there).derivatives.by_v @ (displacement_motions(model, part * dq) @ dq)
    return x


def at_rest(point: OperatingPoint) -> OperatingPoint:
    """Return a point with its states of the first order at rest, as far as their rates depend on them."""
    if not point.model.nx:
        return point
    for _ in range(_ITERATIONS):
        rates, derivatives = _rates(point)
        step = resting_inverse(derivatives.by_x) @ rates
        if not np.isfinite(step).all():
            return point
        point = point.moved(point.q, point.v, point.tau, point.u, point.x + step)
        if (np.abs(step) <= _ROUNDED * np.abs(point.x)).all():
            return point
    return point


def refuse_changing(point: OperatingPoint, sizes: Sizes, tolerance: float) -> None:
    """Refuse a point whose states of the first order go on changing.

    Rates may be a tolerance of what each state, input and coordinate of a system's size contributes.

    Raises
    ------
    ConvergenceError
        Naming the state.
    """
    if found := _changing(point, sizes, tolerance):
        advice = "its rate does not depend on it there: let what it follows from be an unknown, or give other values"
        raise ConvergenceError(f"no equilibrium: {found[0]} goes on changing by {found[1]}; {advice}")


def changing_findings(point: OperatingPoint) -> Iterator[Finding]:
    """Yield a finding for a point whose states of the first order change."""
    if point.model.nx and (found := _changing(point, sizes_of(point), _OF_TERMS)):
        advice = "find an equilibrium with tt.trim; this model holds for short times only"
        yield Finding("no-equilibrium", f"point: {found[0]}", f"changing by {found[1]}", "a state that rests", advice)


def _changing(point: OperatingPoint, sizes: Sizes, tolerance: float) -> tuple[str, str] | None:
    """Return the name of a state that changes by more than is tolerated, and its rate in words; None if none does."""
    if not point.model.nx:
        return None
    rates, by = _rates(point)
    rates_of_size = sizes.coordinates * np.maximum(sizes.rate, sizes.fastest)
    each = np.abs(by.by_q) @ sizes.coordinates + np.abs(by.by_v) @ rates_of_size + np.abs(by.by_x) @ np.abs(point.x)
    each += np.abs(by.by_u) @ np.abs(np.zeros(point.model.nu) if point.u is None else point.u)
    changing = np.abs(rates) > tolerance * each
    if not changing.any():
        return None
    k = int(np.argmax(changing))
    return point.model.state_names[k], f"{rates[k]:.3g} {point.model.inputs.state_units[k]}/s"


def _rates(point: OperatingPoint) -> _Rates:
    given = point.q, point.v, point.x, point.u
    return _Rates(point.model.state_rates(*given), point.model.state_rates_derivatives(*given))
