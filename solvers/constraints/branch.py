"""Which constraints act at a configuration, and whether velocities and accelerations keep them closed.

Constraints that are redundant on one branch of a mechanism's motion need not be so on another: wheels coupled by one rod turn
together with fewer independent constraints than they have elsewhere. The independent constraints are therefore counted at the
configuration itself, and again a small step away along the mechanism's own motion. If more are independent there, the
configuration is singular, and accelerations are not determined. The second count takes a millisecond. It is left out where the
first agrees with the rank at `regular_configuration`, which does not depend on earlier calls.

Rates are compared by their effect on the constraints, these in units of the system's size: what rounding leaves of them
does not depend on units.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, COARSE, CONSISTENT, OPEN, RANK, SAME
from titop.solvers.constraints.assembling import assemble_loops, closed_configuration, random_guess
from titop.solvers.constraints.closed_mechanism import ClosedMechanism
from titop.solvers.constraints.engine_interface import Constraints
from titop.solvers.constraints.multipliers import DEPENDENT, ROUNDED, Partition, independence, independent_rows
from titop.solvers.mechanism.inputs import Push

#: The step by which a mechanism is moved to see whether its constraints stay dependent (rad, and m for a system of size one):
#: large compared with the millionth at which constraints count as dependent, small compared with its links.
_ASIDE = COARSE
#: Number of random configurations near which a higher rank is searched for.
_TRIES = 6
#: Loops that are open by more than this (rad and m, for a system of size one) are closed before constraints are counted: the
#: remainder of a redundant constraint is as large as the opening, and it counts as independent from a millionth on.
_OPEN = 0.1 * OPEN


#: The smallest remainder of a constraint near a dead centre, over the largest, at which motions are known to six digits.
_KNOWN = RANK


def comparable_jacobian(mechanism: ClosedMechanism, q: Array) -> Array:
    """Return the constraint Jacobian (k x nv), scaled so that its entries can be compared."""
    return mechanism.scale.comparable(mechanism.constraints_at(q).jacobian)


def independent_count(mechanism: ClosedMechanism, q: Array) -> int:
    """Return the number of independent constraints at a configuration, which is not closed before."""
    return len(independent_rows(comparable_jacobian(mechanism, q), gears=mechanism.gear_count))


def closed_near(mechanism: ClosedMechanism, q: Array) -> Array:
    """Return the configuration itself if it is closed, else the closed one next to it.

    Raises `ConvergenceError` if none is found.
    """
    q = np.real(q)
    if not is_open(mechanism, mechanism.constraints_at(q).error):
        return q
    return closed_configuration(mechanism, q, np.zeros(mechanism.nv, dtype=bool))


def is_open(mechanism: ClosedMechanism, error: Array) -> bool:
    """Return whether the constraints' values (k) are larger than the errors of rounding and integration."""
    return bool(np.abs(np.real(mechanism.scale.weights * error)).max(initial=0.0) > _OPEN)


def rank_near(mechanism: ClosedMechanism, q: Array) -> int:
    """Return the number of independent constraints at the closed configuration at, or next to, a given one; singular or not.

    Raises `ConvergenceError` if the loops cannot be closed from there.
    """
    return independent_count(mechanism, closed_near(mechanism, q))


def rank_on_branch(mechanism: ClosedMechanism, q: Array, still: Array | None = None) -> int:
    """Return the number of independent constraints at a configuration and along the mechanism's motion through it.

    Coordinates that are `still` (nv) have no part in it: the wheels of a car agree as long as its steering does not move. For
    an open configuration, that of the closed one next to it. Raises `ModelError` at a singular configuration. Raises
    `ConvergenceError` if the loops cannot be closed from there.
    """
    q = closed_near(mechanism, q)
    comparable = comparable_jacobian(mechanism, q)
    rank = len(independent_rows(comparable, gears=mechanism.gear_count))
    if rank == len(comparable):
        return rank
    aside = perturb_closed(mechanism, q, comparable, rank, still)
    if aside is not None and independent_count(mechanism, aside) > rank:
        raise singular(mechanism, q, rank, aside)
    return rank


def regular_configuration(mechanism: ClosedMechanism, start: Array) -> Array:
    """Return a closed configuration with the highest rank of the constraints at which the mechanism can still move.

    Candidates are a small step from `start`, and near random configurations: `start` itself may be singular, or on a branch of
    lower rank. If no candidate can move, `start` is returned.
    """
    comparable = comparable_jacobian(mechanism, start)
    rank, most = len(independent_rows(comparable, gears=mechanism.gear_count)), min(len(comparable), mechanism.nv - 1)
    rng, candidates, nothing = np.random.default_rng(0), [], np.zeros(mechanism.nv, dtype=bool)
    for q in (perturb_closed(mechanism, start, comparable, rank), *(None,) * _TRIES):
        try:
            closed = (
                closed_near(mechanism, q) if q is not None else assemble_loops(mechanism, random_guess(mechanism, rng), nothing)
            )
        except ConvergenceError:
            continue
        count = independent_count(mechanism, closed)
        if count == most:
            return closed
        if count < most:
            candidates.append((count, closed))
    return max(candidates, key=lambda each: each[0])[1] if candidates else start


def _sizes_by_effect(mechanism: ClosedMechanism, comparable: Array) -> Array:
    """Return characteristic sizes of the coordinates (nv); for those that are neither angles nor lengths, by their effect.

    These are the displacements that move the constraints by one; zero for those that do not move the constraints.
    """
    effect = np.linalg.norm(comparable, axis=0)
    moving = np.divide(1.0, effect, out=np.zeros(mechanism.nv), where=effect > 0)
    return mechanism.scale.coordinates * np.where(mechanism.scale.others, moving, 1.0)


def perturb_closed(
    mechanism: ClosedMechanism, q: Array, comparable: Array, rank: int, still: Array | None = None
) -> Array | None:
    """Return a closed configuration a small step away, or None if the constraints allow no motion.

    The step follows a random direction that the constraints allow: at a crossing of branches it leads onto one of them.
    Coordinates that are `still` (nv) stay; where the others, then, have to go back, all constraints act.
    """
    still = np.zeros(mechanism.nv, dtype=bool) if still is None else still
    size = np.where(still, 0.0, _sizes_by_effect(mechanism, comparable))
    direction, sized = np.random.default_rng(0).normal(size=mechanism.nv), comparable * (size / mechanism.scale.coordinates)
    motion = size * Partition.of(sized, rank, mechanism.gear_count).along(direction)
    largest = np.abs(motion[size > 0] / size[size > 0]).max(initial=0.0)
    if largest == 0.0:
        return None
    trial = mechanism.integrate_unchecked(q, _ASIDE / largest * motion)
    try:
        closed = closed_configuration(mechanism, trial, still)
    except ConvergenceError:  # no closed configuration is near: away from q all constraints act
        return trial
    is_back = still.any() and (np.abs(mechanism.difference_unchecked(q, closed)) <= 0.5 * _ASIDE * size).all()
    return trial if is_back else closed


def singular(mechanism: ClosedMechanism, q: Array, rank: int, aside: Array) -> ModelError:
    """Return the error for a configuration at which fewer constraints are independent than near it."""
    return ModelError(
        Finding(
            "singular-closure",
            ", ".join(_loops_that_lose_rank(mechanism, q, aside, np.ones(mechanism.nv, dtype=bool))),
            f"{rank} independent constraints at {_state(mechanism, q)}",
            f"more, such as {independent_count(mechanism, aside)} around it",
            "the mechanism can branch here, its accelerations are not determined; move away from this configuration, or hold "
            "what leads to the other branch: s.resolve(hold=...)",
        )
    )


def free_rank(mechanism: ClosedMechanism, q: Array, imposed: Array, rank: int, least: float = DEPENDENT) -> int:
    """Return the number of constraints, at most `rank`, that are independent at q when the imposed coordinates do not move.

    `least` is as for `independent_rows`.
    """
    return len(independent_rows(comparable_jacobian(mechanism, q)[:, ~imposed], rank, mechanism.gear_count, least))


def refuse_dead_centre(mechanism: ClosedMechanism, q: Array, imposed: Array, rank: int, free: int) -> None:
    """Refuse a dead centre of the imposed coordinates: with these fixed, fewer constraints are independent than near it.

    `rank` constraints act there, `free` of them when the imposed coordinates do not move. The dependence of the other
    coordinates has no derivatives there. Raises `ModelError`, naming the closures, and the number of independent constraints
    near it.
    """
    if free == min(rank, np.count_nonzero(~imposed)):
        return
    centre = _dead_centre(mechanism, q, imposed, rank, free)
    if centre is None:
        return
    around, where, driven, state = centre
    got = f"{free} independent constraints on what is not prescribed ({driven} are) at {state}"
    advice = "it is a dead centre, where nothing has derivatives; move away from this configuration, or prescribe others"
    raise ModelError(Finding("singular-closure", where, got, f"more, such as {around} around it", advice))


def _dead_centre(
    mechanism: ClosedMechanism, q: Array, imposed: Array, rank: int, free: int
) -> tuple[int, str, str, str] | None:
    """Return the number of independent constraints a small step away, imposed coordinates held; None if not above `free`.

    Also, for messages, the closures that lose rank, the imposed coordinates, and the configuration.
    """
    q = closed_near(mechanism, q)
    aside = perturb_closed(mechanism, q, comparable_jacobian(mechanism, q), rank)
    if aside is None or (around := free_rank(mechanism, aside, imposed, rank)) <= free:
        return None
    driven = ", ".join(name for name, on in zip(mechanism.coordinate_names, imposed, strict=True) if on)
    return around, ", ".join(_loops_that_lose_rank(mechanism, q, aside, ~imposed)), driven, _state(mechanism, q)


def least_beside_dead_centre(mechanism: ClosedMechanism, q: Array, jacobian: Array, imposed: Array, rank: int) -> float:
    """Return the smallest squared remainder, over the largest, of independent constraints on coordinates not `imposed`.

    Near a dead centre of the imposed coordinates it is smaller than usual: constraints with small remainders determine how the
    others move there, down to rounding at the dead centre itself. Redundant constraints also have small remainders where loops
    are slightly open; these stay small a step away, since only `rank` constraints act. Raises `ModelError` so near to a dead
    centre that rounding leaves fewer than six digits.
    """
    comparable, gears = mechanism.scale.comparable(jacobian)[:, ~imposed], mechanism.gear_count
    free = len(independent_rows(comparable, rank, gears))
    if free >= min(rank, comparable.shape[1]) or not independence(comparable, free + 1, gears, ROUNDED):
        return DEPENDENT
    centre = _dead_centre(mechanism, q, imposed, rank, free)
    if centre is None:
        return DEPENDENT
    around, where, driven, state = centre
    left = independence(comparable, around, gears, ROUNDED)
    if left > _KNOWN:
        return _KNOWN**2
    got = f"{left:.1g} of a constraint left on all but {driven} at {state}"
    advice = "next to a dead centre rounding decides; move away from this configuration, or prescribe or actuate others"
    raise ModelError(Finding("singular-closure", where, got, f"{_KNOWN:g} or more", advice))


def _state(mechanism: ClosedMechanism, q: Array) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in zip(mechanism.configuration_names[:12], np.real(q), strict=False))


def _loops_that_lose_rank(mechanism: ClosedMechanism, q: Array, aside: Array, free: Array) -> list[str]:
    """Return the closures whose own constraints have a higher rank at `aside` than at `q`; all closures if none has.

    Coordinates that are not `free` do not move.
    """
    here, there = (comparable_jacobian(mechanism, each)[:, free] for each in (q, aside))
    loops = mechanism.closure_rows.items()
    names = [name for name, rows in loops if len(independent_rows(here[rows])) < len(independent_rows(there[rows]))]
    return names or list(dict.fromkeys(owner_of(name) for name in mechanism.constraint_names))


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
    return mobility(mechanism, q) @ effort_terms(mechanism, q, v, pushes) + swiftest(mechanism, v)


def effort_terms(mechanism: ClosedMechanism, q: Array, v: Array, pushes: list[Push]) -> Array:
    """Return the sum of the absolute efforts (nv) of each kind: weight, passive efforts, loads and inertial terms."""
    nothing = np.zeros(mechanism.nv)
    weight = mechanism.engine.dynamics.bare_inverse(q, nothing, nothing)
    passive = mechanism.engine.observations.passive_efforts(q, v)
    resting = mechanism.engine.dynamics.tree_inverse(q, nothing, nothing, pushes)
    moving = mechanism.engine.dynamics.tree_inverse(q, v, nothing, pushes) - resting
    return sum((np.abs(np.real(part)) for part in (weight, passive, resting - weight + passive, moving)), nothing)


def swiftest(mechanism: ClosedMechanism, v: Array) -> Array:
    """Return the accelerations (nv) of free fall over the system's size and of rotation at the fastest rate, summed."""
    sizes = mechanism.scale.coordinates
    rate = np.abs(np.real(v) / sizes).max(initial=0.0)
    return (mechanism.falling + rate**2) * sizes


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
    got = f"{left:.3g} {mechanism.constraint_units[worst]}/s^2 left of {mechanism.constraint_names[worst]}"
    raise ModelError(Finding(code, where, got, f"{what} that keep the loops closed", advice))


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
    """Return the accelerations (nv) of the tree without closures; zero for coordinates that gears or closures have to hold."""
    dynamics, nothing = mechanism.engine.dynamics, np.zeros(mechanism.nv)
    known = bool(mechanism.gear_count or mechanism.held_by_closures)
    still = dynamics.pivots(np.real(q)).ratios <= CANCELLED if known else nothing.astype(bool)
    return dynamics.tree_hybrid(q, v, tau, nothing, still, pushes)[0]
