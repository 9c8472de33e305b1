"""Small changes of a point: displacements of its configuration, and first-order states that follow them.

Position and rotation of a free joint are independent here: ``model.integrate`` moves a free joint along a screw,
whose axis turns with it. Here it moves along fixed axes, those of this configuration or of another one, then turns
about its own origin.

At every configuration that a search tries, the first-order states x are those with ``dx/dt = 0``, found by least-norm Newton
steps. These start from x extrapolated along the coordinates' change from the guess, ``dx = (d rate/d v) dq``: an integrator of
inputs keeps its value, and a sticking bristle bends by its slip. Derivatives of efforts include this change of the states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array, quaternion_matrix
from titop.blocks.basics.tolerances import CANCELLED, RANK
from titop.solvers.constraints.engine_interface import StateDerivatives
from titop.solvers.equilibrium.newton import equilibrate
from titop.solvers.equilibrium.sizes import LoadedState
from titop.solvers.model.model import Model

_ITERATIONS = 50
#: Gauss's two points, in parts of a displacement, at which the states' derivatives are evaluated.
_BETWEEN = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))


def axes_transform(model: Model, q: Array, axes: Array) -> Array | None:
    """Return the matrix (nv, nv) from displacements along the axes in a configuration `axes` (nq) to those along the axes at q.

    It rotates the positions of free joints. None if all free joints have the same axes in both.
    """
    transform = None
    for name, place in model.mechanism.assembly.v_slices.items():
        if model.mechanism.assembly.blocks[name].quaternion.start:
            end = model.mechanism.assembly.q_slices[name].stop
            here, there = q[end - 4 : end], axes[end - 4 : end]
            if (here != there).any():
                transform, along = np.eye(model.nv) if transform is None else transform, slice(place.start, place.start + 3)
                transform[along, along] = quaternion_matrix(here).T @ quaternion_matrix(there)
    return transform


def displace(model: Model, q: Array, dq: Array) -> Array:
    """Return the configuration (nq) after a displacement (nv, rad or m) from q (nq), for free joints along the axes at q."""
    rotation = _rotation_part(model, dq)
    if not rotation.any():
        return model.integrate(q, dq)
    return model.integrate(model.integrate(q, dq - rotation), rotation)


def displacement_jacobian(model: Model, dq: Array) -> Array:
    """Return the derivative (nv, nv) of tangent displacements at ``displace(model, q, dq)`` by dq."""
    rotation = _rotation_part(model, dq)
    by_rotation = np.linalg.inv(model.mechanism.difference_jacobian(rotation))
    jacobian: Array = by_rotation @ model.mechanism.difference_jacobian(-rotation)  # in the rotated axes
    for start in model.mechanism.rotations:
        jacobian[:, start : start + 3] = by_rotation[:, start : start + 3]
    return jacobian


def _rotation_part(model: Model, dq: Array) -> Array:
    """Return the part of a displacement (nv) that is rotations of free and spherical joints."""
    rotation = np.zeros(len(dq))
    for start in model.mechanism.rotations:
        rotation[start : start + 3] = dq[start : start + 3]
    return rotation


class FollowingEfforts(NamedTuple):
    """Derivatives of efforts (nv, nv; nv, nv; nv, nu) by coordinates, rates and inputs, while first-order states follow."""

    by_q: Array
    by_v: Array
    by_u: Array


def following_efforts(point: LoadedState) -> FollowingEfforts:
    """Return the derivatives of efforts, first-order states following."""
    mechanism = point.model.mechanism
    rates, efforts = mechanism.engine.states.slopes(point.q, point.v, mechanism.inputs.with_states(point.u, point.x))
    along = efforts @ _steady_inverse(rates.by_x)
    carried = efforts + along @ rates.by_x
    return FollowingEfforts(along @ rates.by_q + carried @ rates.by_v, along @ rates.by_v, along @ rates.by_u)


def following_states(point: LoadedState, dq: Array) -> Array:
    """Return the first-order states (nx) after a slow displacement (nv) from a point, as `displace` takes it."""
    model, x = point.model, point.x
    if not model.nx or not dq.any():
        return x
    for part in _BETWEEN:
        by_v = model.state_rates_derivatives(displace(model, point.q, part * dq), point.v, point.x, point.u).by_v
        x = x + 0.5 * by_v @ (displacement_jacobian(model, part * dq) @ dq)
    return x


def steady_states(point: LoadedState) -> Array:
    """Return the first-order states (nx) at rest, as far as their rates depend on them; the others unchanged."""
    x = point.x
    if not point.model.nx:
        return x
    for _ in range(_ITERATIONS):
        at = point.q, point.v, x, point.u
        step = _steady_inverse(point.model.state_rates_derivatives(*at).by_x) @ point.model.state_rates(*at)
        if not np.isfinite(step).all():
            break
        x = x + step
        if (np.abs(step) <= CANCELLED * np.abs(x)).all():
            break
    return x


def _steady_inverse(by_x: Array) -> Array:
    """Return minus the pseudo-inverse (nx, nx) of the derivatives of the states' rates by the states, of least norm."""
    rows, columns, scaled = equilibrate(by_x)
    return -columns[:, None] * np.linalg.pinv(scaled, rcond=RANK) * rows


def without_integrators(matrix: Array, count: int, rates: StateDerivatives) -> Array:
    """Return a linear model at rest without states that only integrate rates of coordinates, which repeat displacements.

    States that integrate inputs are kept. The matrix is by `count` displacements, as many rates, and first-order states.
    """
    by_q, by_v, by_x = np.split(matrix[2 * count :], [count, 2 * count], axis=1)
    rows, _, scaled = equilibrate(np.hstack([by_q, by_x, rates.by_u]))
    left, sizes, _ = np.linalg.svd(scaled)
    known = decided_rank(sizes, RANK * sizes.max(initial=0.0))
    sums = left[:, known:].T * rows  # combinations of states that only integrate
    others = np.linalg.svd(sums)[2][len(sums) :]
    onto = np.eye(2 * count + len(others), len(matrix))
    onto[2 * count :, 2 * count :] = others
    back = onto.T.copy()
    back[2 * count :, :count] = np.linalg.pinv(sums) @ (sums @ by_v)
    return onto @ matrix @ back
