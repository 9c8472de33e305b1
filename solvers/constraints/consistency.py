"""Checks that velocities and accelerations keep loops closed and gears in mesh, up to rounding, in any units.

Constraints are compared in units of the system's size, rates by their effect on the constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, CONSISTENT, SAME
from titop.solvers.constraints.branch import is_open
from titop.solvers.constraints.mechanism import ClosedMechanism, Constraints
from titop.solvers.mechanism.inputs import Push


def refuse_inconsistent(
    mechanism: ClosedMechanism, rows: Constraints, q: Array, v: Array, a: Array, pushes: list[Push], advice: str
) -> None:
    """Refuse accelerations that would open the loops. Raises `ModelError`, naming the constraint."""
    alone = partial(accelerations_by_term, mechanism, np.real(q), np.real(v), pushes)
    _refuse_left(mechanism, rows, v, a, alone, ("inconsistent-acceleration", "a", "accelerations", advice))


def accelerations_by_term(mechanism: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the absolute accelerations (nv) of the tree that each kind of effort would cause alone.

    The accelerations of `swiftest` are added: rounding of weights that balance each other, or that act along no coordinate, is
    relative to these.
    """
    total: Array = mobility(mechanism, q) @ effort_terms(mechanism, q, v, pushes) + swiftest(mechanism, v)
    return total


def effort_terms(mechanism: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the absolute efforts (nv) of each kind: weight, passive efforts, loads and inertial terms."""
    nothing = np.zeros(mechanism.nv)
    weight, passive = (
        mechanism.engine.dynamics.bare_inverse(q, nothing, nothing),
        mechanism.engine.observations.passive_efforts(q, v),
    )
    resting = mechanism.engine.dynamics.tree_inverse(q, nothing, nothing, pushes)
    moving = mechanism.engine.dynamics.tree_inverse(q, v, nothing, pushes) - resting
    return sum((np.abs(np.real(part)) for part in (weight, passive, resting - weight + passive, moving)), nothing)


def swiftest(mechanism: ClosedMechanism, v: Array) -> Array:
    """Return the accelerations (nv) of free fall over the system's size and of rotation at the fastest rate, summed."""
    sizes = mechanism.scale.coordinates
    rate = np.abs(np.real(v) / sizes).max(initial=0.0)
    accelerations: Array = (float(np.linalg.norm(mechanism.engine.gravity)) / mechanism.scale.length + rate**2) * sizes
    return accelerations


def mobility(mechanism: ClosedMechanism, q: Array) -> Array:
    """Return the tree's absolute accelerations (nv, nv) per unit of each effort; zero for coordinates without inertia."""
    massless = mechanism.engine.dynamics.pivots(q).ratios <= CANCELLED
    return np.abs(mechanism.engine.dynamics.tree_response(q, np.eye(mechanism.nv), massless))


def _refuse_left(
    mechanism: ClosedMechanism,
    rows: Constraints,
    v: Array,
    a: Array,
    alone: Callable[[], Array],
    finding: tuple[str, str, str, str],
) -> None:
    """Refuse accelerations that leave more of the constraints' second derivatives than rounding explains.

    Rounding is estimated from the accelerations that the tree would have `alone`. The `finding` consists of its code, its
    place, the name of the quantity that has to keep the loops closed, and the advice.
    """
    if not len(rows.error):
        return
    weights, weighted = mechanism.scale.weights, mechanism.scale.weights[:, None] * np.abs(np.real(rows.jacobian))
    rest = np.abs(np.real(rows.jacobian @ a + rows.bias)) * weights
    terms = (weighted @ np.abs(np.real(a)) + np.abs(np.real(rows.bias)) * weights).max()
    worst = int(rest.argmax())
    # A bias may be a small difference of terms quadratic in the rates. Where accelerations of the tree alone cancel at an
    # equilibrium, rounding leaves less than SAME of them.
    allowed = CONSISTENT * (terms + (weighted @ np.abs(np.real(v))).max() ** 2)
    if rest[worst] <= allowed or rest[worst] <= allowed + SAME * (weighted @ np.abs(np.real(alone()))).max():
        return
    left, (code, where, what, advice) = rest[worst] / weights[worst], finding
    found = f"{left:.3g} {mechanism.constraint_units[worst]}/s^2 left of {mechanism.constraint_names[worst]}"
    raise ModelError(Finding(code, where, found, f"{what} that keep the loops closed", advice))


def refuse_opening(
    mechanism: ClosedMechanism, rows: Constraints, q: Array, v: Array, a: Array, tau: Array, pushes: list[Push], rank: int
) -> None:
    """Refuse velocities at which redundant constraints require accelerations that the others exclude.

    The accelerations are caused by `tau` and the `pushes`. Raises `ModelError`, naming the constraint.
    """
    if rank == len(rows.error) or is_open(mechanism, rows.error):
        return
    finding = "inconsistent-velocity", "v", "velocities", "take velocities from m.assemble_velocity"
    _refuse_left(mechanism, rows, v, a, partial(_of_the_tree, mechanism, q, v, tau, pushes), finding)


def _of_the_tree(mechanism: ClosedMechanism, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations (nv) of the tree without closures; with gears, zero for coordinates without inertia."""
    dynamics, nothing = mechanism.engine.dynamics, np.zeros(mechanism.nv)
    still = dynamics.pivots(np.real(q)).ratios <= CANCELLED if mechanism.gear_count else nothing.astype(bool)
    return dynamics.tree_hybrid(q, v, tau, nothing, still, pushes)[0]
