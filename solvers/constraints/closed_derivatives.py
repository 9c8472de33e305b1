"""Derivatives of the dynamics of closed loops.

The engines give the derivatives of the tree's inverse dynamics under closure wrenches with known multipliers, and those of the
constraints ``J a + bias = 0``. Closure wrenches rotate with the ports and change with their relative motion. Derivatives by
small twists of a closure's ports are taken by complex steps, exact to rounding.

Symbols: S (12 x nv) stacks the Jacobians of both ports; lambda are the multipliers, J the Jacobian of the constraints.

The multipliers balance the efforts e; independent rows of J would suffice. The other rows are combinations of these:
``N^T J = 0``. The multipliers of least norm, ``lambda = J w``, keep ``N^T lambda = 0`` as J changes::

    J^T dlambda = de - dJ^T lambda          N^T dlambda = N^T dJ w

In any causality, with efforts imposed on coordinates f and motion on m, ``tau = ID(q, v, a) - J^T lambda`` is linearised and
solved for ``da_f`` and the multipliers of independent constraints::

    [M_ff  -J_f^T] [da_f   ]   [dtau_f - (ID_q dq + ID_v dv)_f - M_fm da_m]
    [J_f    0    ] [dlambda] = [-E_q dq - E_v dv - J_m da_m               ]

    dtau_m = (ID_q dq + ID_v dv + M da - J^T dlambda)_m
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array, rotation_exp, twist_transport
from titop.blocks.constraints.closure import MultiplierClosure, displacement_jacobians
from titop.blocks.interactions.springs import CompliantClosure
from titop.graph.network.connections import Joined
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import least_beside_dead_centre, refuse_dead_centre
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.constraints.engine_interface import HybridDerivatives
from titop.solvers.constraints.interaction_loads import relative_pose, target_motion
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.mechanism.inputs import PortPush, Push


def inverse_with_constraints(
    mechanism: ClosedLoops, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array
) -> tuple[Array, Array]:
    """Return the derivatives (3, nv, nv) of the tree's inverse dynamics under constraint `multipliers` (k), and J."""
    if not len(multipliers):
        return mechanism.engine.derivatives.tree_inverse(q, v, a, pushes), np.zeros((0, mechanism.nv))
    changes, rows = mechanism.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    return changes, rows[0]


def multiplier_changes(
    mechanism: ClosedLoops, q: Array, jacobian: Array, multipliers: Array, efforts: Array, displacements: Array
) -> Array:
    """Return the changes (k, z) of the multipliers of least norm, N or N m.

    `q` (nq). `jacobian` (k, nv): of all constraints, J. `multipliers` (k). `efforts` (nv, z): changes of the efforts that the
    constraints have to balance, with the `multipliers` held constant. `displacements` (nv, z): changes of the coordinates.
    """
    weights, k = mechanism.scale.weights, len(jacobian)
    weighted, rank = weights[:, None] * jacobian, mechanism.acting_rank(q, jacobian)
    rows = np.arange(k) if rank == k else independent_rows(mechanism.scale.comparable(jacobian), rank, mechanism.gear_count)
    inverse = np.linalg.pinv(weighted[rows]) * weights[rows]  # of the independent rows of J
    changes = np.zeros((k, efforts.shape[1]))
    changes[rows] = inverse.T @ efforts
    if rank == k:
        return changes
    others, N = np.delete(np.arange(k), rows), np.zeros((k, k - rank))
    N[others], N[rows] = np.eye(k - rank), -(jacobian[others] @ inverse).T
    turning = mechanism.engine.derivatives.closure_rate(q, inverse @ multipliers[rows]) @ displacements
    part: Array = np.linalg.lstsq(N, turning - changes)[0]
    return changes + N @ part


class PortPair(NamedTuple):
    """A loop's ports at a configuration: the pose of the second in the first, and S (12 x nv)."""

    loop: Joined
    rotation: Array
    position: Array
    S: Array


def port_pairs(mechanism: ClosedLoops, loops: Sequence[Joined], q: Array) -> list[PortPair]:
    """Return the ports of some loops at a configuration."""
    pairs = []
    for loop in loops:
        R, r = relative_pose(mechanism, loop, q)
        S = np.vstack([mechanism.engine.observations.jacobian(str(ref), q) for ref in loop.ports])
        pairs.append(PortPair(loop, R, r, S))
    return pairs


def by_small_twists(pair: PortPair, function: Callable[[Array, Array], Array]) -> Array:
    """Return the derivatives of ``function(R, r)`` by small twists of both ports (12), stacked along the last axis."""

    def at(twist: Array) -> Array:
        return function(pair.rotation @ rotation_exp(twist[3:]), pair.position + pair.rotation @ twist[:3])

    # a small twist of the first port changes the relative pose like the opposite twist of the second port
    by_second = complex_step(at, np.zeros(6))
    return np.concatenate([-by_second @ twist_transport(pair.rotation, pair.position), by_second], axis=-1)


def inverse_derivatives(
    mechanism: ClosedLoops,
    q: Array,
    v: Array,
    a: Array,
    pushes: list[Push],
    multipliers: Array,
    forces: list[Array] | None = None,
) -> Array:
    """Return the derivatives (3, nv, nv) of the tree's inverse dynamics under the wrenches of all rigid closures.

    The `multipliers` (k) of all constraints are constant. `forces` (6 each), if given, replace those of the compliant closures
    at the state; their derivatives by the state are those of the closures.
    """
    pushes, change_q = list(pushes), np.zeros((mechanism.nv, mechanism.nv))
    if forces is not None:
        pairs = port_pairs(mechanism, _compliant_loops(mechanism), q)
        for pair, force, present in zip(pairs, forces, compliant_forces(mechanism, q, v), strict=True):
            wrenches = _wrenches(force - present)  # the tree's derivatives contain the present forces
            at_ports = np.split(wrenches(pair.rotation, pair.position), 2)
            pushes += [PortPush(str(ref), False, wrench) for ref, wrench in zip(pair.loop.ports, at_ports, strict=True)]
            change_q += pair.S.T @ by_small_twists(pair, wrenches) @ pair.S
    if mechanism.rigid_loops:
        result, _ = mechanism.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    else:
        result = mechanism.engine.derivatives.tree_inverse(q, v, a, pushes)
    result[0] -= change_q
    return result


def _compliant_loops(mechanism: ClosedLoops) -> list[Joined]:
    return [loop for loop in mechanism.interactions if isinstance(loop.closure, CompliantClosure)]


def compliant_forces(mechanism: ClosedLoops, q: Array, v: Array) -> list[Array]:
    """Return the forces (6 each) of the compliant closures at a state; see `CompliantClosure.force`."""
    loops = _compliant_loops(mechanism)
    motions = (target_motion(mechanism, loop, q, v) for loop in loops)
    return [loop.closure.force(at.R[1], at.r[1], at.V[0], at.V[1]) for loop, at in zip(loops, motions, strict=True)]


def _wrenches(force: Array) -> Callable[[Array, Array], Array]:
    return lambda R, r: np.concatenate([-rates.T @ force for rates in displacement_jacobians(R, r)])


def closure_wrenches(closure: MultiplierClosure, multipliers: Array) -> Callable[[Array, Array], Array]:
    """Return the function that gives, at a relative pose, the wrenches (12) of a closure's multipliers on both ports."""
    return lambda R, r: np.concatenate([rates.T @ multipliers for rates in closure.jacobians(R, r)])


def hybrid_derivatives(inverse: Array, mask: Array, closures: tuple[Array, Array, Array]) -> HybridDerivatives:
    """Return the derivatives of hybrid dynamics.

    `inverse` (3, nv, nv): derivatives of inverse dynamics by q, v and a at the resolved state. `mask` (nv): where the motion
    is prescribed. `closures` (k, nv): of independent constraints, none in a tree.
    """
    by_q, by_v, mass = inverse
    free, n = ~mask, len(mask)
    J, E_q, E_v = closures
    matrix = np.block([[mass[np.ix_(free, free)], -J[:, free].T], [J[:, free], np.zeros((len(J), len(J)))]])
    nothing, efforts, motions = np.zeros((n, n)), np.diag(free.astype(float)), np.diag(mask.astype(float))
    # by q, v, the imposed efforts and the imposed motions: changes of inverse dynamics, of closures, of tau and of a
    cases = (
        (by_q, E_q, nothing, nothing),
        (by_v, E_v, nothing, nothing),
        (nothing, 0.0 * J, efforts, nothing),
        (nothing, 0.0 * J, nothing, motions),
    )
    results = []
    for change, opening, tau, a in cases:
        a = a.copy()
        right = np.vstack([(tau - change - mass @ a)[free], -opening - J @ a])
        solution = np.linalg.solve(matrix, right)
        a[free] = solution[: free.sum()]
        results.append((a, np.where(mask[:, None], change + mass @ a - J.T @ solution[free.sum() :], tau)))
    return HybridDerivatives(*(a for a, _ in results), *(tau for _, tau in results))


def hybrid(
    mechanism: ClosedLoops, q: Array, v: Array, tau: Array, a: Array, imposed: Array, pushes: list[Push]
) -> HybridDerivatives:
    """Return the derivatives of hybrid dynamics: accelerations `a` are imposed where the mask `imposed` is true, else `tau`.

    Where imposed motions depend on each other, only changes that keep the loops closed are meaningful. Raises `ModelError`
    where the dynamics are refused, at a dead centre of the imposed coordinates, and so near to one that rounding leaves fewer
    than six digits.
    """
    a, tau = closed_dynamics.hybrid(mechanism, q, v, tau, a, imposed, pushes)
    rows, rank = closed_dynamics.acting(mechanism, q, v)
    least = least_beside_dead_centre(mechanism, q, rows.jacobian, imposed, rank)
    partition = closed_dynamics.partition_at(mechanism, rows.jacobian, rank, imposed, least)
    refuse_dead_centre(mechanism, q, imposed, rank, len(partition.rows))
    shares = closed_dynamics.shares_at(mechanism, rows.jacobian, imposed, rank, True, least)
    w, multipliers = shares.split(mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - np.where(imposed, 0.0, tau))
    changes, (_, by_q, by_v, _) = mechanism.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    solved = [partition.over_pivots(part[partition.rows]) for part in (rows.jacobian, by_q, by_v)]
    derivatives = hybrid_derivatives(changes, imposed, (solved[0], solved[1], solved[2]))
    if len(partition.rows) == rank:
        return derivatives
    on, still = imposed[:, None], np.zeros((len(rows.jacobian), mechanism.nv))
    turning = (mechanism.engine.derivatives.closure_rate(q, w), still, still, still)
    efforts = (
        np.where(on, shares.least(np.where(on, change, 0.0), turned), change)
        for change, turned in zip(derivatives[4:], turning, strict=True)
    )
    return HybridDerivatives(*derivatives[:4], *efforts)


def inverse(mechanism: ClosedLoops, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array) -> Array:
    """Return the derivatives (3, nv, nv) of the efforts of least norm on the `actuated` coordinates; motors act in addition.

    Raises `ModelError` where the dynamics are refused.
    """
    closed_dynamics.inverse(mechanism, q, v, a, pushes, motors, actuated)
    rows, rank = closed_dynamics.acting(mechanism, q, v)
    shares = closed_dynamics.shares_at(mechanism, rows.jacobian, actuated, rank)
    w, multipliers = shares.split(mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - motors)
    changes, _ = mechanism.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    still = np.zeros((len(rows.jacobian), mechanism.nv))
    turning = (mechanism.engine.derivatives.closure_rate(q, w), still, still)
    return np.array([shares.least(change, turned) for change, turned in zip(changes, turning, strict=True)])
