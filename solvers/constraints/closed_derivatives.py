"""Derivatives of the dynamics of closed loops.

The closures join the derivatives of the tree (`derivatives`). Their wrenches turn along with the ports, and change with the
relative motion of the ports; the constraints' equations ``J a + bias = 0`` are differentiated through the motion of the ports.
How a closure itself answers to small twists of its ports is taken by complex steps, exact to rounding.

Symbols: S, X and Y, Z stack how both ports' small twists, twists and accelerations change with the coordinates (12 x nv);
lambda multipliers of independent constraints, J their Jacobian.

Multipliers carry efforts e, and independent rows of J would do. Others are combinations of these: with these combinations
``N^T J = 0``, and the least multipliers, ``lambda = J w``, have no part along N while J turns::

    J^T dlambda = de - dJ^T lambda          N^T dlambda = N^T dJ w
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array, rotation_exp, twist_transport
from titop.blocks.constraints.closure import displacement_jacobians, relative_pose
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.interactions.springs import CompliantClosure
from titop.graph.network.connections import Loop
from titop.solvers.constraints.branch import least_beside_dead_centre, refuse_dead_centre
from titop.solvers.constraints.mechanism import ClosedMechanism
from titop.solvers.constraints.multipliers import DEPENDENT, dependent_columns, independent_rows
from titop.solvers.constraints.shares import Shares
from titop.solvers.mechanism.hybrid_derivatives import HybridDerivatives, hybrid_derivatives
from titop.solvers.mechanism.inputs import PortPush, Push


def inverse_with_constraints(
    model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array
) -> tuple[Array, Array]:
    """Return the derivatives (3, nv, nv) of the tree's inverse dynamics, constraints acting with `multipliers` (k), and J."""
    if not len(multipliers):
        return model.engine.derivatives.tree_inverse(q, v, a, pushes), np.zeros((0, model.nv))
    changes, rows = model.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    return changes, rows[0]


def multiplier_changes(
    model: ClosedMechanism, q: Array, jacobian: Array, multipliers: Array, efforts: Array, moved: Array
) -> Array:
    """Return the changes (k, z) of the least multipliers, N or N m.

    Parameters
    ----------
    model : ClosedMechanism
    q : (nq,) array
    jacobian : (k, nv) array
        Of all constraints, J.
    multipliers : (k,) array
    efforts : (nv, z) array
        How the efforts change that the constraints have to carry, beside what they carry with their `multipliers`.
    moved : (nv, z) array
        How the coordinates change.
    """
    weights, k = model.scale.weights, len(jacobian)
    weighted, rank = weights[:, None] * jacobian, model.acting_rank(q, jacobian)
    rows = np.arange(k) if rank == k else independent_rows(model.scale.comparable(jacobian), rank, model.gear_count)
    inverse = np.linalg.pinv(weighted[rows]) * weights[rows]  # of the independent rows of J
    changes = np.zeros((k, efforts.shape[1]))
    changes[rows] = inverse.T @ efforts
    if rank == k:
        return changes
    others, N = np.delete(np.arange(k), rows), np.zeros((k, k - rank))
    N[others], N[rows] = np.eye(k - rank), -(jacobian[others] @ inverse).T
    turning = model.engine.derivatives.closure_rate(q, inverse @ multipliers[rows]) @ moved
    part: Array = np.linalg.lstsq(N, turning - changes)[0]
    return changes + N @ part


#: From a function and where, to its derivatives there.
Step = Callable[[Callable[[Array], Any], Array], Array]


class PortPair(NamedTuple):
    """A loop's ports at a state: relative pose, both twists and accelerations (12), and S, X, Y, Z (12 x nv)."""

    loop: Loop
    rotation: Array
    position: Array
    twists: Array
    accelerations: Array
    S: Array
    X: Array
    Y: Array
    Z: Array


def port_pairs(model: ClosedMechanism, loops: Sequence[Loop], q: Array, v: Array, a: Array) -> list[PortPair]:
    """Return the ports of some loops at a state."""
    names = [str(ref) for loop in loops for ref in (loop.first, loop.second)]
    derivatives = model.engine.derivatives.motion(names, q, v, a)
    pairs = []
    for k, loop in enumerate(loops):
        one, two = (model.engine.observations.port_motion(name, q, v, a) for name in names[2 * k : 2 * k + 2])
        relative = relative_pose((one.rotation, one.position), (two.rotation, two.position))
        motions = np.concatenate([one.twist, two.twist]), np.concatenate([one.acceleration, two.acceleration])
        pairs.append(PortPair(loop, *relative, *motions, *np.hstack([derivatives[2 * k], derivatives[2 * k + 1]])))
    return pairs


def by_small_twists(pair: PortPair, function: Callable[[Array, Array], Array], step: Step = complex_step) -> Array:
    """Return the derivatives of ``function(R, r)`` by small twists of both ports (12), stacked along the last axis."""

    def at(twist: Array) -> Array:
        return function(pair.rotation @ rotation_exp(twist[3:]), pair.position + pair.rotation @ twist[:3])

    # a twist of the first port moves the second in it as the opposite one of the second port does
    by_second = step(at, np.zeros(6))
    return np.concatenate([-by_second @ twist_transport(pair.rotation, pair.position), by_second], axis=-1)


def by_motion(
    pair: PortPair, function: Callable[[Array, Array, Array], Array], step: Step = complex_step
) -> tuple[Array, Array]:
    """Return the derivatives of ``function(R, r, V)`` by small twists of both ports, and by both twists V (12 each)."""
    by_pose = by_small_twists(pair, lambda R, r: function(R, r, pair.twists), step)
    return by_pose, step(lambda V: function(pair.rotation, pair.position, V), pair.twists)


def inverse_derivatives(
    model: ClosedMechanism,
    q: Array,
    v: Array,
    a: Array,
    pushes: list[Push],
    multipliers: Array,
    forces: list[Array] | None = None,
) -> Array:
    """Return the derivatives (3, nv, nv) of inverse dynamics of the tree, all rigid closures acting on it.

    `multipliers` (k) of all constraints are held as they are. `forces` of the compliant closures (6 each) that differ from
    those at the state act on their ports in place of these; they change with the state all the same.
    """
    acting, change_q = list(pushes), np.zeros((model.nv, model.nv))
    if forces is not None:
        for pair, force in zip(port_pairs(model, compliant_loops(model), q, v, a), forces, strict=True):
            closure, twists = pair.loop.closure, (pair.twists[:6], pair.twists[6:])
            excess = force - closure.force(pair.rotation, pair.position, *twists)  # over what acts in the tree's derivatives
            change_q += _let_act(_wrenches(excess), pair, acting)
    if model.rigid_loops:
        result, _ = model.engine.derivatives.with_closures(q, v, a, acting, multipliers)
    else:
        result = model.engine.derivatives.tree_inverse(q, v, a, acting)
    result[0] -= change_q
    return result


def with_closures(
    model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array
) -> tuple[Array, Array]:
    """Return what `Differentiable.with_closures` does, from the motion of the ports."""
    acting = list(pushes)
    change_q, row = np.zeros((model.nv, model.nv)), 0
    for pair in port_pairs(model, model.rigid_loops, q, v, a):
        own = multipliers[row : row + len(pair.loop.closure.constraint_names)]
        row += len(own)
        change_q += _let_act(closure_wrenches(pair.loop.closure, own), pair, acting)
    changes = model.engine.derivatives.tree_inverse(q, v, a, acting)
    changes[0] -= change_q
    return changes, np.array([*constraint_derivatives(model, q, v, a), rate_derivatives(model, q, v)])


def compliant_loops(model: ClosedMechanism) -> list[Loop]:
    """Return the loops with compliant closures."""
    return [loop for loop in model.interactions if isinstance(loop.closure, CompliantClosure)]


def _let_act(wrenches: Callable[[Array, Array], Array], pair: PortPair, acting: list[Push]) -> Array:
    """Push both ports by `wrenches`; return how their efforts change with q (nv x nv) as the ports move each other."""
    own = wrenches(pair.rotation, pair.position)
    acting += [PortPush(str(pair.loop.first), False, own[:6]), PortPush(str(pair.loop.second), False, own[6:])]
    return pair.S.T @ by_small_twists(pair, wrenches) @ pair.S


def compliant_forces(model: ClosedMechanism, q: Array, v: Array) -> list[Array]:
    """Return the forces (6 each) of the compliant closures at a state; see `CompliantClosure.force`."""
    nothing, forces = np.zeros(model.nv), []
    for loop in compliant_loops(model):
        one, two = (model.engine.observations.port_motion(str(ref), q, v, nothing) for ref in (loop.first, loop.second))
        pose = relative_pose((one.rotation, one.position), (two.rotation, two.position))
        forces.append(loop.closure.force(*pose, one.twist, two.twist))
    return forces


def _wrenches(force: Array) -> Callable[[Array, Array], Array]:
    return lambda R, r: np.concatenate([-rates.T @ force for rates in displacement_jacobians(R, r)])


def closure_wrenches(closure: RigidClosure, multipliers: Array) -> Callable[[Array, Array], Array]:
    """Return what says, at a relative pose, which wrenches (12) a closure puts on both ports by its multipliers."""
    return lambda R, r: np.concatenate([rates.T @ multipliers for rates in closure.jacobians(R, r)])


def constraint_derivatives(model: ClosedMechanism, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Return the Jacobian J (k x nv) and the derivatives of ``J a + bias`` by q and v (k x nv each)."""
    parts = [(np.zeros((0, model.nv)),) * 3]
    for pair in port_pairs(model, model.rigid_loops, q, v, a):
        closure = pair.loop.closure

        def second(R: Array, r: Array, V: Array, closure: RigidClosure = closure, pair: PortPair = pair) -> Array:
            rates = np.hstack(closure.jacobians(R, r))
            return rates @ pair.accelerations + closure.bias(R, r, V[:6], V[6:])

        rates = np.hstack(closure.jacobians(pair.rotation, pair.position))
        by_pose, by_twist = by_motion(pair, second)
        by_q = by_pose @ pair.S + by_twist @ pair.X + rates @ pair.Y
        parts.append((rates @ pair.S, by_q, by_twist @ pair.S + rates @ pair.Z))
    parts += [(gear.jacobian(model.nv), *np.zeros((2, 1, model.nv))) for gear in model.gear_constraints]
    jacobian, by_q, by_v = (np.vstack(part) for part in zip(*parts, strict=True))
    return jacobian, by_q, by_v


def rate_derivatives(model: ClosedMechanism, q: Array, v: Array) -> Array:
    """Return the derivative of ``J v`` by q (k x nv)."""
    parts = []
    for pair in port_pairs(model, model.rigid_loops, q, v, np.zeros(model.nv)):
        closure = pair.loop.closure
        rates = np.hstack(closure.jacobians(pair.rotation, pair.position))
        parts.append(by_small_twists(pair, partial(_rate, closure, pair.twists)) @ pair.S + rates @ pair.X)
    return np.vstack([*parts, np.zeros((len(model.gear_constraints), model.nv))])


def _rate(closure: RigidClosure, twists: Array, R: Array, r: Array) -> Array:
    return np.hstack(closure.jacobians(R, r)) @ twists


def _independent(
    model: ClosedMechanism, q: Array, jacobian: Array, imposed: Array, least: float = DEPENDENT
) -> tuple[Array, Array]:
    """Return independent constraints on coordinates that are not `imposed`, and as many of these that follow from others.

    `least` is as for `independent_rows`.
    """
    comparable = model.scale.comparable(jacobian)[:, ~imposed]
    rows = independent_rows(comparable, model.acting_rank(q, jacobian), model.gear_count, least)
    return rows, np.flatnonzero(~imposed)[dependent_columns(comparable, rows, model.gear_count, least)]


def hybrid_with_closures(
    model: ClosedMechanism, q: Array, v: Array, a: Array, tau: Array, pushes: list[Push], imposed: Array
) -> HybridDerivatives:
    """Return the derivatives of hybrid dynamics at a resolved state: accelerations `a`, efforts `tau` where these are known.

    Where imposed motions depend on each other, changes of these that keep the loops closed make sense only.

    Raises
    ------
    ModelError
        At a dead centre of what is imposed, and so near that rounding leaves no six digits.
    """
    jacobian = model.engine.dynamics.constraints(q, v).jacobian
    least = least_beside_dead_centre(model, q, jacobian, imposed, model.acting_rank(q, jacobian))
    rows, dependent = _independent(model, q, jacobian, imposed, least)
    whole = _independent(model, q, jacobian, np.zeros_like(imposed))
    overdriven = len(rows) < len(whole[0])
    refuse_dead_centre(model, q, imposed, len(whole[0]), len(rows))
    shares = Shares.of(jacobian, *(whole if overdriven else (rows, dependent)), imposed, model.scale.coordinates)
    needed = model.engine.dynamics.tree_inverse(q, v, a, pushes) - np.where(imposed, 0.0, tau)
    w, multipliers = shares.split(needed, len(jacobian))
    changes, (_, by_q, by_v, _) = model.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    pivots = jacobian[np.ix_(rows, dependent)]
    solved = [np.linalg.solve(pivots, part[rows]) for part in (jacobian, by_q, by_v)]
    derivatives = hybrid_derivatives(changes, imposed, (solved[0], solved[1], solved[2]))
    if not overdriven:
        return derivatives
    still = np.zeros((len(jacobian), model.nv))
    turning = (model.engine.derivatives.closure_rate(q, w), still, still, still)
    on = imposed[:, None]
    efforts = (
        np.where(on, shares.least(np.where(on, change, 0.0), turned), change)
        for change, turned in zip(derivatives[4:], turning, strict=True)
    )
    return HybridDerivatives(*derivatives[:4], *efforts)


def actuated_derivatives(
    model: ClosedMechanism, q: Array, v: Array, a: Array, pushes: list[Push], actuated: Array, motors: Any
) -> Array:
    """Return the derivatives (3, nv, nv) of the efforts of least norm on the `actuated` coordinates."""
    jacobian = model.engine.dynamics.constraints(q, v).jacobian
    independent = _independent(model, q, jacobian, np.zeros_like(actuated))
    shares = Shares.of(jacobian, *independent, actuated, model.scale.coordinates)
    w, multipliers = shares.split(model.engine.dynamics.tree_inverse(q, v, a, pushes) - motors, len(jacobian))
    changes, _ = model.engine.derivatives.with_closures(q, v, a, pushes, multipliers)
    still = np.zeros((len(jacobian), model.nv))
    turning = (model.engine.derivatives.closure_rate(q, w), still, still)
    return np.array([shares.least(change, turned) for change, turned in zip(changes, turning, strict=True)])
