"""Whether velocities and accelerations keep loops closed and gears in mesh, but for rounding: whatever the units.

Constraints are compared in units of the system's size, rates by what they do to the constraints.
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
    """Refuse accelerations that would open the loops.

    Raises
    ------
    ModelError
        Naming the constraint.
    """
    alone = partial(accelerations_by_term, mechanism, np.real(q), np.real(v), pushes)
    _refuse_left(mechanism, rows, v, a, alone, ("inconsistent-acceleration", "a", "accelerations", advice))


def accelerations_by_term(mechanism: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the tree's accelerations (nv) that each kind of effort would give alone, their signs left out.

    And of what would fall, and turn as fast as anything does: weights that balance each other, or that stand across all
    coordinates, are rounding of it.
    """
    each: Array = mobility(mechanism, q) @ effort_terms(mechanism, q, v, pushes) + swiftest(mechanism, v)
    return each


def effort_terms(mechanism: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the efforts (nv) of each kind, their signs left out."""
    nothing = np.zeros(mechanism.nv)
    weight, passive = mechanism.engine.dynamics.bare_inverse(q, nothing), mechanism.engine.observations.passive_efforts(q, v)
    resting = mechanism.engine.dynamics.tree_inverse(q, nothing, nothing, pushes)
    moving = mechanism.engine.dynamics.tree_inverse(q, v, nothing, pushes) - resting
    return sum((np.abs(np.real(part)) for part in (weight, passive, resting - weight + passive, moving)), nothing)


def swiftest(mechanism: ClosedMechanism, v: Array) -> Array:
    """Return accelerations (nv) with which the system's size falls, and turns as fast as anything does."""
    sizes = mechanism.scale.coordinates
    rate = np.abs(np.real(v) / sizes).max(initial=0.0)
    accelerations: Array = (float(np.linalg.norm(mechanism.engine.gravity)) / mechanism.scale.length + rate**2) * sizes
    return accelerations


def mobility(mechanism: ClosedMechanism, q: Array) -> Array:
    """Return the tree's accelerations (nv, nv) per unit of each effort, their signs left out; none of what moves no inertia."""
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
    """Refuse what leaves more of the constraints' second derivatives than rounding explains.

    Rounding is measured by the accelerations that the tree would have `alone`. A `finding` says its code, where, what is
    expected to keep the loops closed, and the advice.
    """
    if not len(rows.error):
        return
    weights, weighted = mechanism.scale.weights, mechanism.scale.weights[:, None] * np.abs(np.real(rows.jacobian))
    rest = np.abs(np.real(rows.jacobian @ a + rows.bias)) * weights
    terms = (weighted @ np.abs(np.real(a)) + np.abs(np.real(rows.bias)) * weights).max()
    worst = int(rest.argmax())
    # a bias may be a small difference of terms quadratic in the rates; of accelerations of the tree alone that cancel at an
    # equilibrium rounding leaves less than SAME
    allowed = CONSISTENT * (terms + (weighted @ np.abs(np.real(v))).max() ** 2)
    if rest[worst] <= allowed or rest[worst] <= allowed + SAME * (weighted @ np.abs(np.real(alone()))).max():
        return
    left, (code, where, what, advice) = rest[worst] / weights[worst], finding
    found = f"{left:.3g} {mechanism.constraint_units[worst]}/s^2 left of {mechanism.constraint_names[worst]}"
    raise ModelError(Finding(code, where, found, f"{what} that keep the loops closed", advice))


def refuse_opening(
    mechanism: ClosedMechanism, rows: Constraints, q: Array, v: Array, a: Array, tau: Array, pushes: list[Push], rank: int
) -> None:
    """Refuse velocities with which redundant constraints ask for accelerations that the others exclude.

    `tau` and the `pushes` are what the accelerations are caused by.

    Raises
    ------
    ModelError
        Naming the constraint.
    """
    if rank == len(rows.error) or is_open(mechanism, rows.error):
        return
    finding = "inconsistent-velocity", "v", "velocities", "take velocities from m.assemble_velocity"
    _refuse_left(mechanism, rows, v, a, partial(_of_the_tree, mechanism, q, v, tau, pushes), finding)


def _of_the_tree(mechanism: ClosedMechanism, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations (nv) of the tree, as if no loop were closed; beside gears none of what moves no inertia."""
    dynamics, nothing = mechanism.engine.dynamics, np.zeros(mechanism.nv)
    still = dynamics.pivots(np.real(q)).ratios <= CANCELLED if mechanism.gear_count else nothing.astype(bool)
    return dynamics.tree_hybrid(q, v, tau, nothing, still, pushes)[0]
