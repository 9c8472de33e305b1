"""Dynamics with constraints, built on the dynamics of the tree: ``M a + h = tau + J^T lambda`` and ``J a = -bias``.

The tree of either engine can be used. Accelerations are computed in the null space of the constraints, with the columns of F
(`Partition.motions`) as its basis: ``a = s + F x`` with ``J s = -bias`` and ``F^T M F x = F^T (tau - h - M s)``. So coordinates
that follow others by gears need no inertia. The kernels solve for the multipliers instead, ``J M^-1 J^T lambda = ...``
(`titop.solvers.kernels.closures.closed_passes`), which is faster.

Which constraints act depends on the configuration (see `branch`). A time integrator instead keeps their number constant: at its
states, where loops may be slightly open, redundant constraints look independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array, is_finite, mirrored, solve
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, CONSISTENT, EXACT
from titop.graph.checking.tree import massless_joint
from titop.solvers.arguments.reading import overflow
from titop.solvers.constraints import branch
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.constraints.engine_interface import Constraints
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.multipliers import DEPENDENT, ROUNDED, Partition, Shares, independent_rows
from titop.solvers.mechanism.inputs import PortPush, Push

#: From this ratio of unbalanced to needed and applied efforts on, efforts contradict the accelerations, which may come from a
#: simulation.
_CAUSED = 10 * CONSISTENT


# -- which constraints act -------------------------------------------------------------------------------------------------


def acting(mechanism: ClosedLoops, q: Array, v: Array, still: Array | None = None) -> tuple[Constraints, int]:
    """Return the constraints at a state, and the number that acts, by `rank_on_branch`; refuse singular configurations."""
    rows = mechanism.constraints_at(q, v)
    return rows, mechanism.acting_rank(q, rows.jacobian, still)


def constraints_and_rank(mechanism: ClosedLoops, q: Array, v: Array) -> tuple[Constraints, int]:
    """Return the constraints at a state, and the number of independent ones there; singular configurations are accepted."""
    rows = mechanism.constraints_at(q, v)
    if branch.is_open(mechanism, rows.error):
        return rows, branch.rank_near(mechanism, q)
    return rows, len(independent_rows(mechanism.scale.comparable(rows.jacobian), gears=mechanism.gear_count))


def rank_of_free(mechanism: ClosedLoops, q: Array, imposed: Array, still: Array | None = None) -> int:
    """Return the number of acting constraints that are independent when the imposed coordinates do not move.

    Those of them that stay where they are, `still`, lead to no other branch.
    """
    return branch.free_rank(mechanism, q, imposed, acting(mechanism, q, np.zeros(mechanism.nv), still)[1])


def refuse_overdriven(mechanism: ClosedLoops, q: Array, driven: Array, held: Array) -> None:
    """Refuse `driven` coordinates as inputs if they cannot move independently of each other while others are `held`.

    Raises `ModelError`, saying by how many there are too many; and at a singular configuration.
    """
    freedom = [np.count_nonzero(~still) - rank_of_free(mechanism, q, still) for still in (held, held | driven)]
    too_many = np.count_nonzero(driven & ~held) - (freedom[0] - freedom[1])
    if not too_many:
        return
    names = [name for name, on in zip(mechanism.coordinate_names, driven & ~held, strict=True) if on]
    got, expected = f"{', '.join(names)}: {too_many} too many", "coordinates that can move independently of each other"
    advice = "drive fewer, as m.independent_coordinates does, or take m.hybrid_dynamics_derivatives"
    raise ModelError(Finding("overdriven", "inputs", got, expected, advice))


def partition_at(
    mechanism: ClosedLoops, jacobian: Array, rank: int | None, held: Array | None = None, least: float = DEPENDENT
) -> Partition:
    """Return the partition by at most `rank` constraints of a Jacobian (k x nv); `held` coordinates do not move.

    `least` is as for `independent_rows`.
    """
    scale = mechanism.scale
    return Partition.of(jacobian, rank, mechanism.gear_count, least, held, scale.weights, scale.coordinates)


def shares_at(
    mechanism: ClosedLoops,
    jacobian: Array,
    unknown: Array,
    rank: int | None,
    by_passive: bool = False,
    least: float = DEPENDENT,
) -> Shares:
    """Return the split of efforts between coordinates where they are `unknown` (nv) and at most `rank` constraints.

    With `by_passive`, constraints and dependent coordinates are chosen among the coordinates without unknown efforts, if
    enough constraints are independent on these: the choice that hybrid dynamics makes for accelerations. `least` is as for
    `independent_rows`.
    """
    partition = partition_at(mechanism, jacobian, rank)
    if by_passive:
        of_passive = partition_at(mechanism, jacobian, rank, unknown, least)
        if len(of_passive.rows) == len(partition.rows):
            partition = Partition(jacobian, of_passive.rows, of_passive.dependent)
    return Shares(partition, unknown, mechanism.scale.coordinates, least)


# -- forward and hybrid dynamics -------------------------------------------------------------------------------------------


def accelerations(
    mechanism: ClosedLoops,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    imposed: Array,
    pushes: list[Push],
    rows: Constraints,
    rank: int,
    least: float = DEPENDENT,
) -> Array:
    """Return all accelerations from efforts and imposed motions, with at most `rank` acting constraints.

    `least` is as for `independent_rows`. Raises `ModelError` for motions without inertia, and accelerations that are not
    finite.
    """
    partition = partition_at(mechanism, rows.jacobian, rank, imposed, least)
    return _accelerations(mechanism, q, v, np.where(imposed, a, 0.0), tau, pushes, rows, partition)


def _accelerations(
    mechanism: ClosedLoops,
    q: Array,
    v: Array,
    start: Array,
    tau: Array,
    pushes: list[Push],
    rows: Constraints,
    partition: Partition,
) -> Array:
    """Return all accelerations; imposed ones are given by `start`.

    Dependent accelerations follow from the independent ones, along which the efforts balance. Only the mass matrix projected
    onto these motions has to be regular.
    """
    free = partition.motions
    start = start + partition.follow(-(rows.bias + rows.jacobian @ start))
    missing = tau - mechanism.engine.dynamics.tree_inverse(q, v, start, pushes)
    whole, sizes = mechanism.engine.dynamics.mass_matrix(q), mechanism.scale.coordinates
    inertia = mirrored(free.T @ whole @ free)
    if inertia.dtype != object:
        largest = (np.real(np.diag(whole)) * sizes**2).max(initial=0.0)  # moves along all motions, but for their rounding
        least = ROUNDED * largest * (np.real(free) ** 2 / sizes[:, None] ** 2).sum(axis=0)
        _refuse_massless(mechanism, inertia, least, partition.independent)
    result: Array = start + free @ solve(inertia, free.T @ missing)
    if not is_finite(result):
        raise ModelError(overflow(mechanism.assembly))
    return result


def _refuse_massless(mechanism: ClosedLoops, inertia: Array, least: Array, others: Array) -> None:
    """Refuse motions without inertia: with no more than the `least`, or a rounding of their own."""
    left, sizes = np.real(inertia).copy(), np.real(np.diag(inertia))
    for k in reversed(range(len(others))):
        if not left[k, k] > max(CANCELLED * sizes[k], least[k]):
            name, slices = mechanism.coordinate_names[others[k]], mechanism.assembly.v_slices
            joint = next(joint for joint, place in slices.items() if place.start <= others[k] < place.stop)
            raise ModelError(massless_joint(joint, f"no inertia along {name} at this configuration"))
        left -= np.outer(left[:, k], left[k]) / left[k, k]


def open_accelerations(mechanism: ClosedLoops, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
    """Return the accelerations that the efforts cause without closures, gears in mesh."""
    first, nothing = len(mechanism.constraint_names) - mechanism.gear_count, np.zeros(mechanism.nv)
    rows = Constraints(*(part[first:] for part in mechanism.constraints_at(q, v)))
    weights, sizes = mechanism.scale.weights[first:], mechanism.scale.coordinates
    partition = Partition.of(rows.jacobian, gears=len(weights), weights=weights, sizes=sizes)
    return _accelerations(mechanism, q, v, nothing, tau, pushes, rows, partition)


def hybrid(
    mechanism: ClosedLoops,
    q: Array,
    v: Array,
    tau: Array,
    a: Array,
    imposed: Array,
    pushes: list[Push],
    held_rank: int | None = None,
    least: float = DEPENDENT,
) -> tuple[Array, Array]:
    """Return all accelerations and efforts, of trees too; where motions are imposed, efforts are those of least norm.

    With a `held_rank`, the rank of the constraints on the coordinates that are not imposed, loops may be slightly open, as in
    a simulation; `least` then is as for `independent_rows`. Raises `ModelError` if imposed accelerations contradict the
    closures, and at a singular configuration.
    """
    if not mechanism.is_constrained:
        return mechanism.engine.dynamics.tree_hybrid(q, v, tau, a, imposed, pushes)
    if held_rank is not None:
        rows, rank = mechanism.constraints_at(q, v), held_rank
    else:  # with all motions prescribed, a singular configuration leaves no acceleration undetermined
        still = imposed & (v == 0.0) & (a == 0.0)
        rows, rank = constraints_and_rank(mechanism, q, v) if imposed.all() else acting(mechanism, q, v, still)
        least = branch.least_beside_dead_centre(mechanism, q, rows.jacobian, imposed, rank)
    a = accelerations(mechanism, q, v, a, tau, imposed, pushes, rows, rank, least)
    if held_rank is None and imposed.any():
        advice = "prescribe fewer coordinates, or accelerations from m.assemble_acceleration"
        branch.refuse_inconsistent(mechanism, rows, q, v, a, pushes, advice)
    elif held_rank is None:
        branch.refuse_opening(mechanism, rows, q, v, a, tau, pushes, rank)
    if not imposed.any():
        return a, tau
    shares = shares_at(mechanism, rows.jacobian, imposed, rank if held_rank is None else None, True, least)
    needed = mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - np.where(imposed, 0.0, tau)
    return a, np.where(imposed, shares.split(needed)[0], tau)


# -- inverse dynamics and multipliers --------------------------------------------------------------------------------------


def inverse(
    mechanism: ClosedLoops, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
) -> Array:
    """Return the efforts on the `actuated` coordinates that, together with the motors', cause the accelerations.

    If `actuated` is None, those of the tree on all coordinates. Raises `ModelError` if the accelerations contradict the
    closures, or need efforts on coordinates that are not actuated.
    """
    needed = mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - motors
    if actuated is None:
        return needed
    rows, rank = constraints_and_rank(mechanism, q, v)
    least = branch.least_beside_dead_centre(mechanism, q, rows.jacobian, actuated, rank)
    shares = shares_at(mechanism, rows.jacobian, actuated, rank, least=least)
    tau = np.where(actuated, shares.split(needed)[0], 0.0)
    branch.refuse_inconsistent(mechanism, rows, q, v, a, pushes, "take accelerations from m.assemble_acceleration")
    unbalanced, largest = shares.unbalanced(needed, tau), np.abs(mechanism.scale.coordinates * needed).max(initial=0.0)
    if unbalanced > BALANCED and unbalanced * largest > EXACT * balancing_terms(mechanism, q, v, a, pushes, motors):
        names = [name for name, on in zip(mechanism.coordinate_names, actuated, strict=True) if on]
        expected = "accelerations that efforts on the actuated coordinates can cause"
        advice = "actuate more coordinates, leave a dead centre, or take accelerations from m.forward_dynamics"
        got = f"{unbalanced:.3g} of the largest effort left to others than {', '.join(names) or 'none'}"
        raise ModelError(Finding("under-actuated", "actuated", got, expected, advice))
    return tau


def balancing_terms(mechanism: ClosedLoops, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any) -> float:
    """Return the largest sum of absolute efforts that balance each other, each times the characteristic size of its coordinate.

    Included are the changes of efforts over a radian or the system's size, since springs may balance each other at rest.
    """
    sizes, engine = mechanism.scale.coordinates, mechanism.engine
    terms = branch.effort_terms(mechanism, np.real(q), np.real(v), pushes) + np.abs(np.real(motors + np.zeros(mechanism.nv)))
    terms += np.abs(np.real(engine.dynamics.mass_matrix(np.real(q)))) @ (np.abs(np.real(a)) + branch.swiftest(mechanism, v))
    terms += np.abs(np.real(engine.derivatives.tree_inverse(q, v, a, pushes)[0])) @ sizes
    return float((sizes * terms).max(initial=0.0))


def multipliers(mechanism: ClosedLoops, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
    """Return the multipliers (k) of least norm for the accelerations under `applied` efforts.

    If these are None, the efforts of least norm are used.

    Warns if the applied efforts do not cause the accelerations.
    """
    rows, rank = constraints_and_rank(mechanism, q, v)
    needed, scale = mechanism.engine.dynamics.tree_inverse(q, v, a, pushes), mechanism.scale
    size = np.abs(scale.coordinates * needed).max(initial=0.0)
    if applied is not None:
        needed, size = needed - applied, size + np.abs(scale.coordinates * applied).max(initial=0.0)
    shares = shares_at(mechanism, rows.jacobian, np.full(mechanism.nv, applied is None), rank)
    tau = shares.split(needed)[0] if applied is None else np.zeros(mechanism.nv)
    left = shares.unbalanced(needed, tau) * np.abs(scale.coordinates * needed).max(initial=0.0)
    if left > _CAUSED * size:
        advice = "give the wrenches and inputs that act too; or no tau, for the least efforts"
        got = f"efforts that leave {left:.3g} N m, or N over the system's {scale.length:.3g} m, of what the accelerations need"
        warn([Finding("contradicting-efforts", "tau", got, "those that cause the accelerations", advice)])
    dependent = shares.partition.dependent
    columns, carried = (rows.jacobian * scale.coordinates)[:, dependent].T, (scale.coordinates * (needed - tau))[dependent]
    return Partition.of(columns, sizes=scale.weights).least(carried)


def closure_pushes(mechanism: ClosedLoops, q: Array, carried: Array) -> list[PortPush]:
    """Return the wrenches of rigid closures with the multipliers `carried`: a push on the first and the second port of each."""
    pushes = []
    for loop in mechanism.rigid_loops:
        multipliers, jacobians = carried[mechanism.closure_rows[loop.closure.name]], loop.closure.jacobians
        for ref, rates in zip(loop.ports, jacobians(*relative_pose(mechanism, loop, q)), strict=True):
            pushes.append(PortPush(str(ref), False, rates.T @ multipliers))
    if not all(np.isfinite(push.wrench).all() for push in pushes):
        raise ModelError(overflow(mechanism.assembly))
    return pushes
