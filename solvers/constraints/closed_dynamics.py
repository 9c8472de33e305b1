"""Dynamics with constraints, built on the dynamics of the tree: ``M a + h = tau + J^T lambda`` and ``J a = -bias``.

Any engine's tree will do. Accelerations are found along the motions that the constraints leave: coordinates that follow others
by gears need no inertia of their own.

Which constraints act is a matter of the configuration (see `branch`), unless a caller that integrates in time holds their
number: at its states, which may be a little open, redundant constraints look independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, CONSISTENT, EXACT
from titop.graph.checking.tree import massless_joint
from titop.solvers.arguments.reading import overflow
from titop.solvers.constraints.branch import free_rank, is_open, least_beside_dead_centre, rank_near
from titop.solvers.constraints.consistency import effort_terms, refuse_inconsistent, refuse_opening, swiftest
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.mechanism import ClosedMechanism, Constraints
from titop.solvers.constraints.multipliers import DEPENDENT, dependent_columns, independent_rows, share_efforts
from titop.solvers.mechanism.inputs import PortPush, Push

#: Efforts that nothing provides, relative to those that are needed and applied, from which on they contradict accelerations:
#: these may come from a simulation.
_CAUSED = 10 * CONSISTENT


def accelerations(
    model: ClosedMechanism,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    imposed: Array,
    pushes: list[Push],
    rows: Constraints,
    rank: int,
    weights: Array | None = None,
    least: float = DEPENDENT,
) -> Array:
    """Return all accelerations from efforts and imposed motions, `rank` constraints acting at most.

    `weights` (k) bring the rows to one unit, those of all constraints by default; `least` is as for `independent_rows`.
    Dependent motions follow from the others, along which nothing is left unbalanced: only what these move together needs
    inertia.

    Raises
    ------
    ModelError
        For motions without inertia, and accelerations that are not finite.
    """
    weights = model.scale.weights if weights is None else weights
    weighted, gears = weights[:, None] * rows.jacobian, min(model.gear_count, len(weights))
    comparable = (weighted * model.scale.coordinates)[:, ~imposed]
    chosen = independent_rows(comparable, rank, gears, least)
    dependent = np.flatnonzero(~imposed)[dependent_columns(comparable, chosen, gears, least)]
    others = np.setdiff1d(np.flatnonzero(~imposed), dependent)
    sides = np.column_stack([weighted[chosen], (weights * rows.bias)[chosen]])
    solved = np.linalg.solve(weighted[np.ix_(chosen, dependent)], sides)  # for dependent motions: rows of like size and angle
    free = np.zeros((len(v), len(others)), dtype=solved.dtype)
    free[others], free[dependent] = np.eye(len(others)), -solved[:, others]
    start = np.where(imposed, a, 0.0).astype(np.result_type(solved, a))
    start[dependent] = -(solved[:, -1] + solved[:, :-1] @ start)
    missing = tau - model.engine.dynamics.tree_inverse(q, v, start, pushes)
    inertia = free.T @ model.engine.dynamics.mass_matrix(q) @ free
    _refuse_massless(model, inertia, others)
    result: Array = start + free @ np.linalg.solve(inertia, free.T @ missing)
    if not np.isfinite(result).all():
        raise ModelError(overflow())
    return result


def _refuse_massless(model: ClosedMechanism, inertia: Array, others: Array) -> None:
    """Refuse motions without inertia.

    Raises
    ------
    ModelError
        Naming the joint of the first coordinate of `others` along which nothing is moved.
    """
    left, sizes = np.real(inertia).copy(), np.real(np.diag(inertia))
    for k in reversed(range(len(others))):
        if not left[k, k] > CANCELLED * sizes[k]:
            name = model.coordinate_names[others[k]]
            joint = next(joint for joint, own in model.assembly.v_slices.items() if own.start <= others[k] < own.stop)
            raise ModelError(massless_joint(joint, f"no inertia along {name} at this configuration"))
        left -= np.outer(left[:, k], left[k]) / left[k, k]


def open_accelerations(model: ClosedMechanism, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations that the efforts cause where no closure acts, gears in mesh."""
    first, imposed = len(model.constraint_names) - model.gear_count, np.zeros(model.nv, dtype=bool)
    rows = Constraints(*(part[first:] for part in model.engine.dynamics.constraints(q, v)))
    weights = model.scale.weights[first:]
    return accelerations(model, q, v, np.zeros(model.nv), tau, imposed, pushes, rows, len(weights), weights)


def acting(model: ClosedMechanism, q: Array, v: Array) -> tuple[Constraints, int]:
    """Return the constraints at a state, and how many of them act; refuse singular configurations."""
    rows = model.engine.dynamics.constraints(q, v)
    return rows, model.acting_rank(q, rows.jacobian)


def counted(model: ClosedMechanism, q: Array, v: Array) -> tuple[Constraints, int]:
    """Return the constraints at a state, and how many of them are independent there, singular or not."""
    rows = model.engine.dynamics.constraints(q, v)
    if is_open(model, rows.error):
        return rows, rank_near(model, q)
    return rows, len(independent_rows(model.scale.comparable(rows.jacobian), gears=model.gear_count))


def rank_of_free(model: ClosedMechanism, q: Array, imposed: Array) -> int:
    """Return how many of the constraints that act are independent when the imposed coordinates do not move."""
    return free_rank(model, q, imposed, acting(model, q, np.zeros(model.nv))[1])


def refuse_overdriven(model: ClosedMechanism, q: Array, driven: Array, held: Array) -> None:
    """Refuse `driven` coordinates that cannot move independently of each other, others being `held`: none is an input.

    Raises
    ------
    ModelError
        Naming how many too many there are, and at a singular configuration.
    """
    too_many = int((driven & ~held).sum()) - (_freedom(model, q, held) - _freedom(model, q, held | driven))
    if not too_many:
        return
    names = [name for name, on in zip(model.coordinate_names, driven & ~held, strict=True) if on]
    found, expected = f"{', '.join(names)}: {too_many} too many", "coordinates that can move independently of each other"
    advice = "drive fewer, as m.independent_coordinates does, or take m.hybrid_dynamics_derivatives"
    raise ModelError(Finding("overdriven", "inputs", found, expected, advice))


def _freedom(model: ClosedMechanism, q: Array, imposed: Array) -> int:
    """Return how many motions are left where some coordinates do not move."""
    return int((~imposed).sum()) - rank_of_free(model, q, imposed)


def forward(model: ClosedMechanism, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations that the efforts cause.

    Raises
    ------
    ModelError
        At a singular configuration, and for velocities that open the loops where constraints are redundant.
    """
    rows, rank = acting(model, q, v)
    nothing, imposed = np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
    a = accelerations(model, q, v, nothing, tau, imposed, pushes, rows, rank)
    refuse_opening(model, rows, q, v, a, tau, pushes, rank)
    return a


def held_forward(model: ClosedMechanism, q: Array, v: Array, tau: Array, pushes: list[Push], rank: int) -> Array:
    """Return the accelerations that the efforts cause where `rank` constraints act."""
    nothing, imposed = np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
    return accelerations(model, q, v, nothing, tau, imposed, pushes, model.engine.dynamics.constraints(q, v), rank)


def hybrid(
    model: ClosedMechanism,
    q: Array,
    v: Array,
    tau: Array,
    a: Array,
    imposed: Array,
    pushes: list[Push],
    held_rank: int | None = None,
    least: float = DEPENDENT,
) -> tuple[Array, Array]:
    """Return all accelerations and efforts.

    With a `held_rank`, that of the constraints on the coordinates that are not imposed, states need not be quite closed, as in
    a simulation; `least` goes with it, as for `independent_rows`.

    Raises
    ------
    ModelError
        If imposed accelerations contradict the closures, and at a singular configuration.
    """
    if held_rank is not None:
        rows, rank = model.engine.dynamics.constraints(q, v), held_rank
    else:  # nothing is left undetermined where all is prescribed
        rows, rank = counted(model, q, v) if imposed.all() else acting(model, q, v)
        least = least_beside_dead_centre(model, q, rows.jacobian, imposed, rank)
    a = accelerations(model, q, v, a, tau, imposed, pushes, rows, rank, least=least)
    if held_rank is None and imposed.any():
        advice = "prescribe fewer coordinates, or accelerations from m.assemble_acceleration"
        refuse_inconsistent(model, rows, q, v, a, pushes, advice)
    elif held_rank is None:
        refuse_opening(model, rows, q, v, a, tau, pushes, rank)
    return a, imposing_efforts(model, q, v, a, tau, imposed, pushes, rows, rank if held_rank is None else None, least)


def imposing_efforts(
    model: ClosedMechanism,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    imposed: Array,
    pushes: list[Push],
    rows: Constraints,
    most: int | None = None,
    least: float = DEPENDENT,
) -> Array:
    """Return all efforts that cause the accelerations: those of `tau` where these are not imposed, the least ones elsewhere.

    At `most` so many constraints act, if that is given; `least` is as for `independent_rows`.
    """
    needed = model.engine.dynamics.tree_inverse(q, v, a, pushes) - np.where(imposed, 0.0, tau)
    weights = model.scale.weights, model.scale.coordinates
    own, _, _ = share_efforts(rows.jacobian, *weights, needed, imposed, most, model.gear_count, True, least)
    return np.where(imposed, own, tau)


def inverse(model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array) -> Array:
    """Return the efforts on the actuated coordinates, beside the motors', that cause the accelerations.

    Raises
    ------
    ModelError
        If the accelerations contradict the closures, or need efforts on coordinates that are not actuated.
    """
    rows, rank = counted(model, q, v)
    least = least_beside_dead_centre(model, q, rows.jacobian, actuated, rank)
    tau, unbalanced = balanced(model, q, v, a, pushes, motors, actuated, rows, rank, least)
    refuse_inconsistent(model, rows, q, v, a, pushes, "take accelerations from m.assemble_acceleration")
    if unbalanced > BALANCED and not _is_rounding(unbalanced, model, q, v, a, pushes, motors):
        names = [name for name, on in zip(model.coordinate_names, actuated, strict=True) if on]
        expected = "accelerations that efforts on the actuated coordinates can cause"
        advice = "actuate more coordinates, leave a dead centre, or take accelerations from m.forward_dynamics"
        found = f"{unbalanced:.3g} of the largest effort left to others than {', '.join(names) or 'none'}"
        raise ModelError(Finding("under-actuated", "actuated", found, expected, advice))
    return tau


def balanced(
    model: ClosedMechanism,
    q: Array,
    v: Array,
    a: Array,
    pushes: list[Push],
    motors: Any,
    actuated: Array,
    rows: Constraints,
    rank: int,
    least: float = DEPENDENT,
) -> tuple[Array, float]:
    """Return the efforts of least norm on the actuated coordinates, and what they leave unbalanced.

    `least` is as for `independent_rows`.
    """
    needed = model.engine.dynamics.tree_inverse(q, v, a, pushes) - motors
    weights = model.scale.weights, model.scale.coordinates
    tau, _, unbalanced = share_efforts(rows.jacobian, *weights, needed, actuated, rank, model.gear_count, least=least)
    return tau, unbalanced


def _is_rounding(part: float, model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any) -> bool:
    """Tell whether a `part` of the largest effort needed is what rounding leaves of terms that balance each other."""
    needed = model.scale.coordinates * (model.engine.dynamics.tree_inverse(q, v, a, pushes) - motors)
    left = part * np.abs(np.real(needed)).max(initial=0.0)
    return bool(left <= EXACT * balancing_terms(model, q, v, a, pushes, motors))


def balancing_terms(model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any) -> float:
    """Return the largest sum of efforts that balance each other, each times what counts as one of its coordinate.

    What springs at rest hold has no terms: to these come the efforts a radian or the system's size away.
    """
    sizes, nothing = model.scale.coordinates, np.zeros(model.nv)
    terms = effort_terms(model, np.real(q), np.real(v), pushes) + np.abs(np.real(motors + nothing))
    terms += np.abs(np.real(model.engine.dynamics.mass_matrix(np.real(q)))) @ (np.abs(np.real(a)) + swiftest(model, v))
    terms += np.abs(np.real(model.engine.derivatives.tree_inverse(q, v, a, pushes)[0])) @ sizes
    return float((sizes * terms).max(initial=0.0))


def multipliers(
    model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None
) -> tuple[Array, Constraints]:
    """Return the multipliers (k) with which efforts cause the accelerations, and the constraints.

    Without `applied` efforts, those of least norm are taken.

    Warns
    -----
    ModelWarning
        If the applied efforts do not cause the accelerations.
    """
    rows, rank = counted(model, q, v)
    needed = model.engine.dynamics.tree_inverse(q, v, a, pushes)
    unknown, sizes = np.full(model.nv, applied is None), model.scale.coordinates
    size = np.abs(sizes * needed).max(initial=0.0)
    if applied is not None:
        needed, size = needed - applied, size + np.abs(sizes * applied).max(initial=0.0)
    _, carried, part = share_efforts(rows.jacobian, model.scale.weights, sizes, needed, unknown, rank, model.gear_count)
    left = part * np.abs(sizes * needed).max(initial=0.0)
    if left > _CAUSED * size:
        advice = "give the wrenches and inputs that act too; or no tau, for the least efforts"
        long = f"the system's {model.scale.length:.3g} m"
        found = f"efforts that leave {left:.3g} N m, or N over {long}, of what the accelerations need"
        warn([Finding("contradicting-efforts", "tau", found, "those that cause the accelerations", advice)])
    return carried, rows


def closure_pushes(model: ClosedMechanism, q: Array, carried: Array) -> list[PortPush]:
    """Return what the rigid closures do to their ports: a push on the first and one on the second of each, in this order."""
    pushes, row = [], 0
    for loop in model.rigid_loops:
        own = carried[row : row + len(loop.closure.constraint_names)]
        at_1, at_2 = loop.closure.jacobians(*relative_pose(model, loop, q))
        pushes += [PortPush(str(loop.first), False, at_1.T @ own), PortPush(str(loop.second), False, at_2.T @ own)]
        row += len(own)
    return pushes
