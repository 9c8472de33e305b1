"""Dynamics with constraints, built on the dynamics of the tree: ``M a + h = tau + J^T lambda`` and ``J a = -bias``.

Any engine's tree will do. Of its forward dynamics only the response ``M^-1 J^T`` is needed, which is affine in the efforts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.errors import Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.inputs import Push
from titop.solvers.loops.closed_loops import Constraints
from titop.solvers.loops.multipliers import independent_rows, share_efforts

if TYPE_CHECKING:
    from titop.solvers.dynamics import Dynamics

#: Accelerations that contradict the closures by less than this part count as consistent: they may come from a simulation, whose
#: states are closed to an integrator's tolerance only.
_CONSISTENT = 1e-6
#: What rounding leaves of accelerations that cancel at an equilibrium (rad/s^2, and m/s^2 for a system of size one).
_ROUNDING = 1e-9
#: Efforts that nothing balances, relative to the largest.
_BALANCED = 1e-8


def accelerations(
    model: Dynamics, q: Array, v: Array, a: Array, tau: Array, imposed: Array, pushes: list[Push], rank: int
) -> tuple[Array, Constraints, int]:
    """Return all accelerations from efforts and imposed motions, the constraints, and how many were independent."""
    rows = model.constraints(q, v)
    alone, _ = model.tree_hybrid(q, v, tau, a, imposed, pushes)
    weighted = model.closure_weights[:, None] * rows.jacobian
    chosen = independent_rows(weighted[:, ~imposed], rank)
    jacobian, weights = weighted[chosen], model.closure_weights[chosen]
    response = model.tree_response(q, jacobian.T, imposed)
    missing = -(weights * rows.bias[chosen] + jacobian @ alone)
    return alone + response @ np.linalg.solve(jacobian @ response, missing), rows, len(chosen)


def rank_of_free(model: Dynamics, q: Array, imposed: Array) -> int:
    """Return how many constraints are independent when the imposed coordinates do not move."""
    weighted = model.closure_weights[:, None] * model.closure_jacobian(q)
    return len(independent_rows(weighted[:, ~imposed], model.closure_rank))


def refuse_overdriven(model: Dynamics, q: Array, imposed: Array) -> None:
    """Refuse prescribed coordinates that cannot move independently of each other: nothing can be differentiated by them.

    Raises
    ------
    ModelError
        Naming how many too many there are, and at a singular configuration.
    """
    too_many = model.closure_rank - rank_of_free(model, q, imposed)
    if not too_many:
        return
    if rank_of_free(model, q, np.zeros_like(imposed)) < model.closure_rank:
        raise singular(model, q)
    names = [name for name, on in zip(model.coordinate_names, imposed, strict=True) if on]
    found, expected = f"{', '.join(names)}: {too_many} too many", "coordinates that can move independently of each other"
    advice = "prescribe fewer, as m.independent_coordinates does, or take m.inverse_dynamics_derivatives"
    raise ModelError(Finding("overdriven", "prescribed", found, expected, advice))


def forward(model: Dynamics, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations that the efforts cause.

    Raises
    ------
    ModelError
        At a singular configuration.
    """
    nothing, imposed = np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
    a, _, rank = accelerations(model, q, v, nothing, tau, imposed, pushes, model.closure_rank)
    if rank < model.closure_rank:
        raise singular(model, q)
    return a


def hybrid(
    model: Dynamics, q: Array, v: Array, tau: Array, a: Array, imposed: Array, pushes: list[Push], held_rank: int | None = None
) -> tuple[Array, Array]:
    """Return all accelerations and efforts; with a `held_rank` at states that need not be quite closed, as in a simulation.

    Raises
    ------
    ModelError
        If imposed accelerations contradict the closures, and at a singular configuration.
    """
    rank = model.closure_rank if held_rank is None else held_rank
    a, rows, found = accelerations(model, q, v, a, tau, imposed, pushes, rank)
    if held_rank is None:
        if found < rank and not imposed.all() and rank_of_free(model, q, np.zeros_like(imposed)) < rank:
            raise singular(model, q)
        if imposed.any():  # otherwise they are consistent to rounding, which is all that is left of them near an equilibrium
            refuse_inconsistent(model, rows, v, a, "prescribe fewer coordinates, or accelerations from m.assemble_acceleration")
    elif found < rank:
        raise singular(model, q)
    needed = model.tree_inverse(q, v, a, pushes) - np.where(imposed, 0.0, tau)
    own, _, _ = share_efforts(rows.jacobian, model.closure_weights, needed, imposed, model.closure_rank)
    return a, np.where(imposed, own, tau)


def inverse(model: Dynamics, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array) -> Array:
    """Return the efforts on the actuated coordinates, beside the motors', that cause the accelerations.

    Raises
    ------
    ModelError
        If the accelerations contradict the closures, or need efforts on coordinates that are not actuated.
    """
    tau, unbalanced, rows = balanced(model, q, v, a, pushes, motors, actuated, model.closure_rank)
    refuse_inconsistent(model, rows, v, a, "take accelerations from m.assemble_acceleration")
    if unbalanced > _BALANCED:
        names = [name for name, on in zip(model.coordinate_names, actuated, strict=True) if on]
        expected = "accelerations that efforts on the actuated coordinates can cause"
        advice = "actuate more coordinates, leave a dead centre, or take accelerations from m.forward_dynamics"
        found = f"{unbalanced:.3g} of the largest effort left to others than {', '.join(names) or 'none'}"
        raise ModelError(Finding("under-actuated", "actuated", found, expected, advice))
    return tau


def balanced(
    model: Dynamics, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array, rank: int
) -> tuple[Array, float, Constraints]:
    """Return the efforts of least norm on the actuated coordinates, what they leave unbalanced, and the constraints."""
    rows = model.constraints(q, v)
    needed = model.tree_inverse(q, v, a, pushes) - motors
    tau, _, unbalanced = share_efforts(rows.jacobian, model.closure_weights, needed, actuated, rank)
    return tau, unbalanced, rows


def multipliers(
    model: Dynamics, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None
) -> tuple[Array, Constraints]:
    """Return the multipliers (k) with which efforts cause the accelerations, and the constraints.

    Without `applied` efforts, those of least norm are taken.
    """
    rows = model.constraints(q, v)
    needed = model.tree_inverse(q, v, a, pushes)
    unknown = np.full(model.nv, applied is None)
    if applied is not None:
        needed = needed - applied
    _, carried, _ = share_efforts(rows.jacobian, model.closure_weights, needed, unknown, model.closure_rank)
    return carried, rows


def closure_pushes(model: Dynamics, q: Array, carried: Array) -> list[Push]:
    """Return what the rigid closures do to their ports: a push on the first and one on the second of each, in this order."""
    pushes, row = [], 0
    for loop in model.rigid_loops:
        own = carried[row : row + len(loop.closure.constraint_names)]
        at_1, at_2 = loop.closure.jacobians(*model.relative_pose(loop, q))
        pushes += [Push(str(loop.first), False, at_1.T @ own), Push(str(loop.second), False, at_2.T @ own)]
        row += len(own)
    return pushes


def refuse_inconsistent(model: Dynamics, rows: Constraints, v: Array, a: Array, advice: str) -> None:
    """Refuse accelerations that would open the loops.

    Raises
    ------
    ModelError
        Naming the constraint.
    """
    if not len(rows.error):
        return
    rest = np.abs(np.real(rows.jacobian @ a + rows.bias)) * model.closure_weights
    scale = np.abs(np.real(rows.jacobian)) @ np.abs(np.real(a)) + np.abs(np.real(rows.bias))
    worst = int(rest.argmax())
    # a bias may be a small difference of terms quadratic in v
    terms = (model.closure_weights * scale).max() + np.max(np.real(v) ** 2, initial=0.0)
    if rest[worst] > _ROUNDING + _CONSISTENT * terms:
        unit = "rad/s^2" if model.angular_constraints[worst] else "m/s^2"
        found = f"{rest[worst] / model.closure_weights[worst]:.3g} {unit} left of {model.constraint_names[worst]}"
        raise ModelError(Finding("inconsistent-acceleration", "a", found, "accelerations that keep the loops closed", advice))


def singular(model: Dynamics, q: Array) -> ModelError:
    """Return the error for a configuration at which fewer constraints are independent than elsewhere."""
    weighted = model.closure_weights[:, None] * model.closure_jacobian(q)
    found = rank_of_free(model, q, np.zeros(model.nv, dtype=bool))
    everything = dict.fromkeys(name.partition(".")[0] for name in model.constraint_names)
    loops = ", ".join(_loops_that_lose_rank(model, weighted)) or ", ".join(everything)
    state = ", ".join(f"{name} {value:.6g}" for name, value in zip(model.configuration_names[:12], np.real(q), strict=False))
    return ModelError(
        Finding(
            "singular-closure",
            loops,
            f"{found} independent constraints at {state}",
            f"{model.closure_rank}, as elsewhere",
            "the mechanism can branch here, its accelerations are not determined; move away from this configuration",
        )
    )


def _loops_that_lose_rank(model: Dynamics, weighted: Array) -> Iterable[str]:
    """Yield the closures that have more independent constraints, by themselves, at a random configuration."""
    elsewhere = model.closure_weights[:, None] * model.closure_jacobian(model.random_configuration(np.random.default_rng(1)))
    row = 0
    for loop in model.rigid_loops:
        own = slice(row, row + len(loop.closure.constraint_names))
        if len(independent_rows(weighted[own])) < len(independent_rows(elsewhere[own])):
            yield loop.closure.name
        row = own.stop
