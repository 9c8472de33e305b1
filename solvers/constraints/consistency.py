"""Whether velocities and accelerations keep loops closed and gears in mesh, but for rounding: whatever the units.

Constraints are compared in units of the system's size, rates by what they do to the constraints.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, CONSISTENT, SAME
from titop.solvers.constraints.branch import is_open
from titop.solvers.constraints.mechanism import ClosedMechanism, Constraints
from titop.solvers.mechanism.inputs import Push


def refuse_inconsistent(
    model: ClosedMechanism, rows: Constraints, q: Array, v: Array, a: Array, pushes: list[Push], advice: str
) -> None:
    """Refuse accelerations that would open the loops.

    Raises
    ------
    ModelError
        Naming the constraint.
    """
    worst, rest = _left_open(model, rows, v, a, np.zeros(model.nv))
    if rest > 0.0:
        worst, rest = _left_open(model, rows, v, a, of_each_term(model, np.real(q), np.real(v), pushes))
    if rest > 0.0:
        found = f"{rest:.3g} {model.constraint_units[worst]}/s^2 left of {model.constraint_names[worst]}"
        raise ModelError(Finding("inconsistent-acceleration", "a", found, "accelerations that keep the loops closed", advice))


def of_each_term(model: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the tree's accelerations (nv) that each kind of effort would give alone, their signs left out.

    And of what would fall, and turn as fast as anything does: weights that balance each other, or that stand across all
    coordinates, are rounding of it.
    """
    each: Array = mobility(model, q) @ effort_terms(model, q, v, pushes) + swiftest(model, v)
    return each


def effort_terms(model: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the efforts (nv) of each kind, their signs left out."""
    nothing = np.zeros(model.nv)
    weight, passive = model.engine.dynamics.bare_inverse(q, nothing), model.engine.observations.passive_efforts(q, v)
    resting = model.engine.dynamics.tree_inverse(q, nothing, nothing, pushes)
    moving = model.engine.dynamics.tree_inverse(q, v, nothing, pushes) - resting
    return sum((np.abs(np.real(part)) for part in (weight, passive, resting - weight + passive, moving)), nothing)


def swiftest(model: ClosedMechanism, v: Array) -> Array:
    """Return accelerations (nv) with which the system's size falls, and turns as fast as anything does."""
    sizes = model.scale.coordinates
    rate = np.abs(np.real(v) / sizes).max(initial=0.0)
    accelerations: Array = (float(np.linalg.norm(model.engine.gravity)) / model.scale.length + rate**2) * sizes
    return accelerations


def mobility(model: ClosedMechanism, q: Array) -> Array:
    """Return the tree's accelerations (nv, nv) a unit of each effort, their signs left out; none of what moves no inertia."""
    massless = model.engine.dynamics.pivots(q).ratios <= CANCELLED
    return np.abs(model.engine.dynamics.tree_response(q, np.eye(model.nv), massless))


def _left_open(model: ClosedMechanism, rows: Constraints, v: Array, a: Array, alone: Array) -> tuple[int, float]:
    """Return the constraint that the accelerations contradict most, and by how much; by nothing if rounding explains it.

    Rounding is measured by the accelerations that the tree would have `alone`.
    """
    if not len(rows.error):
        return 0, 0.0
    weights, weighted = model.scale.weights, model.scale.weights[:, None] * np.abs(np.real(rows.jacobian))
    rest = np.abs(np.real(rows.jacobian @ a + rows.bias)) * weights
    terms = (weighted @ np.abs(np.real(a)) + np.abs(np.real(rows.bias)) * weights).max()
    rounded, rate = ((weighted @ np.abs(np.real(each))).max() for each in (alone, v))
    worst = int(rest.argmax())
    # a bias may be a small difference of terms quadratic in the rates; of accelerations of the tree alone that cancel at an
    # equilibrium rounding leaves less than SAME
    allowed = SAME * rounded + CONSISTENT * (terms + rate**2)
    return worst, rest[worst] / weights[worst] if rest[worst] > allowed else 0.0


def refuse_opening(
    model: ClosedMechanism, rows: Constraints, q: Array, v: Array, a: Array, tau: Array, pushes: list[Push], rank: int
) -> None:
    """Refuse velocities with which redundant constraints ask for accelerations that the others exclude.

    `tau` and the `pushes` are what the accelerations are caused by.

    Raises
    ------
    ModelError
        Naming the constraint.
    """
    if rank == len(rows.error) or is_open(model, rows.error):
        return
    worst, rest = _left_open(model, rows, v, a, np.zeros(model.nv))
    if rest > 0.0:
        worst, rest = _left_open(model, rows, v, a, _of_the_tree(model, q, v, tau, pushes))
    if rest > 0.0:
        found = f"{rest:.3g} {model.constraint_units[worst]}/s^2 left of {model.constraint_names[worst]}"
        advice = "take velocities from m.assemble_velocity"
        raise ModelError(Finding("inconsistent-velocity", "v", found, "velocities that keep the loops closed", advice))


def _of_the_tree(model: ClosedMechanism, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations (nv) of the tree, as if no loop were closed; beside gears none of what moves no inertia."""
    dynamics, nothing = model.engine.dynamics, np.zeros(model.nv)
    still = dynamics.pivots(np.real(q)).ratios <= CANCELLED if model.gear_count else nothing.astype(bool)
    return dynamics.tree_hybrid(q, v, tau, nothing, still, pushes)[0]
