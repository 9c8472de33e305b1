"""Which constraints act where a mechanism is.

Constraints that are redundant on one branch of a mechanism's motion need not be so on another (wheels coupled by one rod turn
together with fewer independent constraints than they have elsewhere). So they are counted at the configuration itself, and
looked at once more a small step along the mechanism's own motion: where more of them are independent there, the configuration
is singular, and accelerations are not determined. Only where as many are independent as at a regular configuration of the
model's own (`regular_configuration`), which no caller's state changes, nobody looks aside: that takes a millisecond.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, OPEN, RANK
from titop.solvers.constraints.assembling import assemble_loops, closed_configuration, random_guess
from titop.solvers.constraints.mechanism import ClosedMechanism
from titop.solvers.constraints.multipliers import DEPENDENT, ROUNDED, Partition, independence, independent_rows

#: How far the mechanism is moved to look whether its constraints stay dependent (rad, and m for a system of size one): far
#: beside the millionth at which constraints count as dependent, near beside its links.
_ASIDE = COARSE
#: Random configurations near which one of higher rank is looked for.
_TRIES = 6
#: Loops that are open by more (rad and m, for a system of size one) are closed before constraints are counted: a redundant
#: constraint looks independent by as much as they are open, and counts as such from a millionth on.
_OPEN = 0.1 * OPEN


#: So much of a constraint, over the largest, is left at least beside a dead centre where rounding leaves six digits of motions.
_KNOWN = RANK


def comparable_jacobian(mechanism: ClosedMechanism, q: Array) -> Array:
    """Return the Jacobian (k x nv) of the constraints in units that compare with each other."""
    return mechanism.scale.comparable(mechanism.engine.dynamics.constraints(q, np.zeros(mechanism.nv)).jacobian)


def independent_count(mechanism: ClosedMechanism, q: Array) -> int:
    """Return how many constraints are independent at a configuration, which is taken as it is."""
    return len(independent_rows(comparable_jacobian(mechanism, q), gears=mechanism.gear_count))


def closed_near(mechanism: ClosedMechanism, q: Array) -> Array:
    """Return a configuration itself if it is closed, else the closed one next to it.

    Raises
    ------
    ConvergenceError
        If there is none.
    """
    q = np.real(q)
    return closed_configuration(mechanism, q, np.zeros(mechanism.nv, dtype=bool)) if is_open_at(mechanism, q) else q


def is_open_at(mechanism: ClosedMechanism, q: Array) -> bool:
    """Return whether the constraints are open at a configuration by more than rounding and an integrator leave."""
    return is_open(mechanism, mechanism.engine.dynamics.constraints(q, np.zeros(mechanism.nv)).error)


def is_open(mechanism: ClosedMechanism, error: Array) -> bool:
    """Return whether the constraints' values (k) are more than rounding and an integrator leave."""
    return bool(np.abs(np.real(mechanism.scale.weights * error)).max(initial=0.0) > _OPEN)


def rank_near(mechanism: ClosedMechanism, q: Array) -> int:
    """Return how many constraints are independent at the closed configuration at, or next to, a given one; singular or not.

    Raises
    ------
    ConvergenceError
        If the loops cannot be closed from there.
    """
    return independent_count(mechanism, closed_near(mechanism, q))


def rank_on_branch(mechanism: ClosedMechanism, q: Array) -> int:
    """Return how many constraints are independent at a configuration and along the mechanism's motion through it.

    An open configuration stands for the closed one next to it.

    Raises
    ------
    ModelError
        At a singular configuration.
    ConvergenceError
        If the loops cannot be closed from there.
    """
    q = closed_near(mechanism, q)
    comparable = comparable_jacobian(mechanism, q)
    rank = len(independent_rows(comparable, gears=mechanism.gear_count))
    if rank == len(comparable):
        return rank
    aside = perturb_closed(mechanism, q, comparable, rank)
    if aside is not None and independent_count(mechanism, aside) > rank:
        raise singular(mechanism, q, rank, aside)
    return rank


def regular_configuration(mechanism: ClosedMechanism, start: Array) -> Array:
    """Return a closed configuration at which most constraints are independent while some motion is left.

    It is one of those a small step from a closed one, and next to random ones: the first may be singular, or on a branch of
    lower rank. The closed one itself if the constraints leave no motion.
    """
    comparable = comparable_jacobian(mechanism, start)
    rank, most = len(independent_rows(comparable, gears=mechanism.gear_count)), min(len(comparable), mechanism.nv - 1)
    rng, found, nothing = np.random.default_rng(0), [], np.zeros(mechanism.nv, dtype=bool)
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
            found.append((count, closed))
    return max(found, key=lambda each: each[0])[1] if found else start


def _sizes_by_effect(mechanism: ClosedMechanism, comparable: Array) -> Array:
    """Return what counts as one of each coordinate (nv): of other ones than angles and lengths what moves constraints by one.

    Zero where these do not move the constraints.
    """
    effect = np.linalg.norm(comparable, axis=0)
    moving = np.divide(1.0, effect, out=np.zeros(mechanism.nv), where=effect > 0)
    return mechanism.scale.coordinates * np.where(mechanism.scale.others, moving, 1.0)


def perturb_closed(mechanism: ClosedMechanism, q: Array, comparable: Array, rank: int) -> Array | None:
    """Return a closed configuration a small step away, None if the constraints leave no motion.

    The step goes along a random direction that the constraints allow: at a crossing of branches it leads to one of them.
    """
    size = _sizes_by_effect(mechanism, comparable)
    direction, sized = np.random.default_rng(0).normal(size=mechanism.nv), comparable * (size / mechanism.scale.coordinates)
    motion = size * Partition.of(sized, rank, mechanism.gear_count).along(direction)
    largest = np.abs(motion[size > 0] / size[size > 0]).max(initial=0.0)
    if largest == 0.0:
        return None
    trial = mechanism.integrate_unchecked(q, _ASIDE / largest * motion)
    try:
        return closed_configuration(mechanism, trial, np.zeros(mechanism.nv, dtype=bool))
    except ConvergenceError:  # nothing near is closed: seen from aside, all constraints act
        return trial


def singular(mechanism: ClosedMechanism, q: Array, rank: int, aside: Array) -> ModelError:
    """Return the error for a configuration at which fewer constraints are independent than around it."""
    return ModelError(
        Finding(
            "singular-closure",
            ", ".join(_loops_that_lose_rank(mechanism, q, aside, np.ones(mechanism.nv, dtype=bool))),
            f"{rank} independent constraints at {_state(mechanism, q)}",
            f"more, such as {independent_count(mechanism, aside)} around it",
            "the mechanism can branch here, its accelerations are not determined; move away from this configuration",
        )
    )


def free_rank(mechanism: ClosedMechanism, q: Array, imposed: Array, rank: int, least: float = DEPENDENT) -> int:
    """Return how many of `rank` constraints are independent at q when the imposed coordinates do not move.

    `least` is as for `independent_rows`.
    """
    return len(independent_rows(comparable_jacobian(mechanism, q)[:, ~imposed], rank, mechanism.gear_count, least))


def refuse_dead_centre(mechanism: ClosedMechanism, q: Array, imposed: Array, rank: int, free: int) -> None:
    """Refuse a configuration at which imposed coordinates leave fewer constraints to the others than around it.

    `rank` constraints act there, `free` of them when the imposed coordinates do not move. How the others follow has no
    derivatives there.

    Raises
    ------
    ModelError
        Naming the closures, and how many more constraints are independent around it.
    """
    if free == min(rank, np.count_nonzero(~imposed)):
        return
    centre = _dead_centre(mechanism, q, imposed, rank, free)
    if centre is None:
        return
    around, where, driven, state = centre
    found = f"{free} independent constraints on what is not prescribed ({driven} are) at {state}"
    advice = "it is a dead centre, where nothing has derivatives; move away from this configuration, or prescribe others"
    raise ModelError(Finding("singular-closure", where, found, f"more, such as {around} around it", advice))


def _dead_centre(
    mechanism: ClosedMechanism, q: Array, imposed: Array, rank: int, free: int
) -> tuple[int, str, str, str] | None:
    """Return how many more than `free` constraints are independent aside, imposed coordinates held; None if no more are.

    Also, for messages, the closures that lose rank, the imposed coordinates, and the configuration.
    """
    q = closed_near(mechanism, q)
    aside = perturb_closed(mechanism, q, comparable_jacobian(mechanism, q), rank)
    if aside is None or (around := free_rank(mechanism, aside, imposed, rank)) <= free:
        return None
    driven = ", ".join(name for name, on in zip(mechanism.coordinate_names, imposed, strict=True) if on)
    return around, ", ".join(_loops_that_lose_rank(mechanism, q, aside, ~imposed)), driven, _state(mechanism, q)


def least_beside_dead_centre(mechanism: ClosedMechanism, q: Array, jacobian: Array, imposed: Array, rank: int) -> float:
    """Return what independent constraints keep on what is not `imposed`: their square, over the largest, at least.

    Beside a dead centre of what is imposed that is less than usual: constraints of which little is left say how others move
    there, down to rounding at the dead centre itself. What is left of redundant ones, which loops that are a little open make
    look independent, stays little aside, as `rank` constraints act.

    Raises
    ------
    ModelError
        So near to a dead centre that rounding leaves no six digits.
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
    found = f"{left:.1g} of a constraint left on all but {driven} at {state}"
    advice = "next to a dead centre rounding decides; move away from this configuration, or prescribe or actuate others"
    raise ModelError(Finding("singular-closure", where, found, f"{_KNOWN:g} or more", advice))


def _state(mechanism: ClosedMechanism, q: Array) -> str:
    """Return the first numbers of a configuration by name, for messages."""
    return ", ".join(f"{name} {value:.6g}" for name, value in zip(mechanism.configuration_names[:12], np.real(q), strict=False))


def _loops_that_lose_rank(mechanism: ClosedMechanism, q: Array, aside: Array, free: Array) -> list[str]:
    """Return the closures that have more independent constraints, by themselves, aside; all of them if none has.

    Coordinates that are not `free` do not move.
    """
    here, there = (comparable_jacobian(mechanism, each)[:, free] for each in (q, aside))
    loops = mechanism.closure_rows.items()
    names = [name for name, rows in loops if len(independent_rows(here[rows])) < len(independent_rows(there[rows]))]
    return names or list(dict.fromkeys(owner_of(name) for name in mechanism.constraint_names))
