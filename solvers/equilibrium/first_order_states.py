"""States of the first order at equilibria: at rest, where their rates depend on them; elsewhere they follow the coordinates.

At every configuration a search tries, the states x are those with ``dx/dt = 0``, by Newton steps of least norm from where they
have followed the coordinates from the guess, ``dx = (d rate/d v) dq``: an integrator of inputs keeps what it has, a bristle
that sticks bends by what it slips. Derivatives of what balances are along states that follow so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, RANK
from titop.solvers.constraints.mechanism import StateDerivatives
from titop.solvers.equilibrium.displacements import displace, displacement_motions
from titop.solvers.equilibrium.newton import equilibrate
from titop.solvers.equilibrium.sizes import LoadedState
from titop.solvers.mechanism.scale import StateScale

_ITERATIONS = 50
#: Where, in parts of a displacement, what states follow is asked: Gauss's two points.
_BETWEEN = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))


class FollowingEfforts(NamedTuple):
    """Derivatives of efforts (nv, nv; nv, nv; nv, nu) by coordinates, rates and inputs, while first-order states follow."""

    by_q: Array
    by_v: Array
    by_u: Array


def following(point: LoadedState) -> FollowingEfforts:
    """Return what efforts change by while the states follow."""
    at = point.q, point.v, point.x, point.u
    rates, efforts = point.model.state_rates_derivatives(*at), point.model.state_efforts(*at)
    along = efforts @ _resting_inverse(rates.by_x)
    carried = efforts + along @ rates.by_x
    return FollowingEfforts(along @ rates.by_q + carried @ rates.by_v, along @ rates.by_v, along @ rates.by_u)


def following_states(point: LoadedState, dq: Array) -> Array:
    """Return the states (nx) after a slow displacement (nv) from a point, as `displace` takes it."""
    model, x = point.model, point.x
    if not model.nx or not dq.any():
        return x
    for part in _BETWEEN:
        by_v = model.state_rates_derivatives(displace(model, point.q, part * dq), point.v, point.x, point.u).by_v
        x = x + 0.5 * by_v @ (displacement_motions(model, part * dq) @ dq)
    return x


def resting_states(point: LoadedState) -> Array:
    """Return the states (nx) at rest, as far as their rates depend on them; the others as they are."""
    x = point.x
    if not point.model.nx:
        return x
    for _ in range(_ITERATIONS):
        at = point.q, point.v, x, point.u
        step = _resting_inverse(point.model.state_rates_derivatives(*at).by_x) @ point.model.state_rates(*at)
        if not np.isfinite(step).all():
            break
        x = x + step
        if (np.abs(step) <= CANCELLED * np.abs(x)).all():
            break
    return x


def changing_state(point: LoadedState, sizes: StateScale, tolerance: float) -> tuple[str, str] | None:
    """Return the name of a state that goes on changing, and its rate in words; None if none does.

    Rates may be a tolerance of what each state, input and coordinate of a system's size contributes.
    """
    model = point.model
    if not model.nx:
        return None
    at = point.q, point.v, point.x, point.u
    rates, by = model.state_rates(*at), model.state_rates_derivatives(*at)
    rates_of_size = sizes.coordinates * np.maximum(sizes.rate, sizes.fastest)
    each = np.abs(by.by_q) @ sizes.coordinates + np.abs(by.by_v) @ rates_of_size + np.abs(by.by_x) @ np.abs(point.x)
    each += np.abs(by.by_u) @ np.abs(np.zeros(model.nu) if point.u is None else point.u)
    changing = np.abs(rates) > tolerance * each
    if not changing.any():
        return None
    k = int(np.argmax(changing))
    return model.state_names[k], f"{rates[k]:.3g} {model.mechanism.inputs.state_units[k]}/s"


def _resting_inverse(by_x: Array) -> Array:
    """Return minus the inverse (nx, nx) of derivatives of rates by states, of least norm where rates do not depend on these."""
    rows, columns, scaled = equilibrate(by_x)
    inverse: Array = -columns[:, None] * np.linalg.pinv(scaled, rcond=RANK) * rows
    return inverse


def without_followers(matrix: Array, count: int, rates: StateDerivatives) -> Array:
    """Return a linear model at rest without the states that integrate rates of coordinates alone: displacements once more.

    What integrates inputs is a state of its own.

    Parameters
    ----------
    matrix : (2 count + nx, 2 count + nx) array
        Of displacements, rates, and states of the first order.
    count : int
    rates : StateDerivatives
        Of the states' rates.
    """
    by_q, by_v, by_x = np.split(matrix[2 * count :], [count, 2 * count], axis=1)
    rows, _, scaled = equilibrate(np.hstack([by_q, by_x, rates.by_u]))
    left, sizes, _ = np.linalg.svd(scaled)
    known = decided_rank(sizes, RANK * sizes.max(initial=0.0))
    sums = left[:, known:].T * rows  # sums of states that integrate
    others = np.linalg.svd(sums)[2][len(sums) :]
    onto = np.eye(2 * count + len(others), len(matrix))
    onto[2 * count :, 2 * count :] = others
    back = onto.T.copy()
    back[2 * count :, :count] = np.linalg.pinv(sums) @ (sums @ by_v)
    reduced: Array = onto @ matrix @ back
    return reduced
