"""Closing rigid loops: configurations, velocities and accelerations that satisfy the closures.

Lengths, coordinates that are lengths among them, are taken in units of the system's size throughout, so that they compare with
angles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, CLOSED, EPS, FEW_ROUNDINGS, LOOSE_RANK, OPEN
from titop.solvers.constraints.following import following
from titop.solvers.constraints.gear_constraint import GearConstraint
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.mechanism import ClosedMechanism, Constraints
from titop.solvers.constraints.multipliers import LeastSolutions, independent_rows, least_solution, least_step


def refuse_open(model: ClosedMechanism, q: Array, v: Array, code: str, where: tuple[str, str], cures: tuple[str, str]) -> None:
    """Refuse a configuration that does not close the loops, and a velocity that opens them; `where` and `cures` are of both.

    Raises
    ------
    ModelError
        Naming the loop.
    """
    if not model.is_constrained:
        return
    rows = model.engine.dynamics.constraints(q, v)
    if np.abs(model.scale.weights * rows.error).max() > OPEN:
        found = f"{open_loops(model, q)} {where[0]} leaves it so"
        raise ModelError(Finding(code, where[0], found, "a configuration that closes the loops", cures[0]))
    changes = rows.jacobian @ v
    sizes, terms = (model.scale.weights * np.abs(part) for part in (changes, np.abs(rows.jacobian) @ np.abs(v)))
    if sizes.max() > OPEN * max(1.0, terms.max()):
        worst = int(sizes.argmax())
        found = f"{model.constraint_names[worst]} changing at {changes[worst]:.3g}"
        raise ModelError(Finding(code, where[1], found, "a velocity that keeps the loops closed", cures[1]))


def open_loops(model: ClosedMechanism, q: Array) -> str:
    """Return the name of the most open loop, or gear, with what is left of its errors, as text."""
    rows = model.engine.dynamics.constraints(q, np.zeros(model.nv))
    row = int((model.scale.weights * np.abs(rows.error)).argmax())
    name = owner_of(model.constraint_names[row])
    own = np.array([constraint.startswith(f"{name}.") for constraint in model.constraint_names])
    if any(gear.name == model.constraint_names[row] for gear in model.gear_constraints):
        return f"gear {name!r} is out of mesh by {abs(rows.error[row]):.3g} {model.constraint_units[row]} and"
    metres = np.abs(rows.error[own & ~model.angular_constraints]).max(initial=0.0)
    radians = np.abs(rows.error[own & model.angular_constraints]).max(initial=0.0)
    return f"loop {name!r} is open by {metres:.3g} m and {radians:.3g} rad and"


def refuse_flipped(model: ClosedMechanism, q: Array) -> None:
    """Refuse a configuration at which a closure's axes are antiparallel.

    Raises
    ------
    ConvergenceError
        Naming the loop.
    """
    for loop in model.rigid_loops:
        if loop.closure.is_flipped(relative_pose(model, loop, q)[0]):
            raise ConvergenceError(
                f"loop {loop.closure.name!r} closes with its axes antiparallel; "
                "start nearer to a configuration in which they point the same way"
            )


#: Directions in which the errors change a million times less than in others are left alone: near a closed configuration
#: redundant constraints show such directions, and steps along them lead nowhere.
_CUT = LOOSE_RANK
_STEPS = 100
_HALVINGS = 12
#: Guesses at closed configurations, and how many of them are nearer to the neutral one than half a turn.
_GUESSES = 12
_WIDENING = 4


def assembled(model: ClosedMechanism, q: Array, fixed: Array) -> Array:
    """Return a closed configuration: joints move, and bodies deform only where joints alone do not close the loops.

    Raises
    ------
    ConvergenceError
        As `closed_configuration`.
    """
    held = fixed | model.deformations
    if not held.all() and (held != fixed).any():
        try:
            return closed_configuration(model, q, held)
        except ConvergenceError:
            pass
    return closed_configuration(model, q, fixed)


def follow_drivers(model: ClosedMechanism, x: Array, fixed: Array, follow: Callable[[GearConstraint, Array], None]) -> Array:
    """Return coordinates, or rates, in which the driven ones that are not `fixed` follow their drivers."""
    if not model.gear_constraints:
        return x
    driven = [gear for gear in model.gear_constraints if not fixed[gear.driven[1]]]
    x = x.copy()
    for _ in driven:  # a driver may itself be driven
        before = x.copy()
        for gear in driven:
            follow(gear, x)
        if np.array_equal(x, before):
            break
    return x


def closed_configuration(model: ClosedMechanism, q: Array, fixed: Array) -> Array:
    """Return the configuration reached from `q` by Gauss-Newton steps of least norm, halved until the errors fall.

    Steps from nearly singular configurations may be many turns long; joints end at less than half a turn from where they were.

    Raises
    ------
    ConvergenceError
        Naming the loop that stays open, or is closed the wrong way round.
    """
    guess, rows = q, model.engine.dynamics.constraints(q, np.zeros(model.nv))
    for _ in range(_STEPS):
        error = model.scale.weights * rows.error
        if np.abs(error).max(initial=0.0) <= EPS:
            break
        step = _newton_step(model, rows, ~fixed)
        for halving in range(_HALVINGS):
            trial = model.moved(q, step / 2**halving)
            trial_rows = model.engine.dynamics.constraints(trial, np.zeros(model.nv))
            if np.linalg.norm(model.scale.weights * trial_rows.error) < np.linalg.norm(error):
                break
        else:
            break
        q, rows = trial, trial_rows
    worst = np.abs(model.scale.weights * rows.error).max(initial=0.0)
    if worst > CLOSED and worst > closed_within(model, q):
        advice = "start from a configuration nearer to a closed one" + (", or fix less" if fixed.any() else "")
        raise ConvergenceError(f"{open_loops(model, q)} cannot be closed from there; {advice}")
    if (unwound := _unwound(model, guess, q, fixed)) is not q:
        return closed_configuration(model, unwound, fixed)  # without the rounding of many turns
    refuse_flipped(model, q)
    return q


def closed_within(model: ClosedMechanism, q: Array) -> float:
    """Return the errors that count as closed (rad, and m for a system of size one) at a configuration.

    Poses are known in the inertial frame: far from its origin rounding leaves more of their differences.
    """
    if not model.rigid_loops:
        return CLOSED
    ports, still = [str(ref) for loop in model.rigid_loops for ref in loop.ports], np.zeros(model.nv)
    places = [model.engine.observations.port_motion(port, q, still, still).position for port in ports]
    farthest = max(float(np.linalg.norm(place)) for place in places)
    return CLOSED + FEW_ROUNDINGS * farthest / model.scale.length


def _unwound(model: ClosedMechanism, guess: Array, q: Array, fixed: Array) -> Array:
    """Return a closed configuration with free joints turned back by whole turns towards a guess, where it stays closed.

    What gears couple turns together.
    """
    gears = model.engine.dynamics.constraints(q, np.zeros(model.nv)).jacobian
    leading, moves = following(np.where(fixed, 0.0, gears[len(gears) - model.gear_count :])).basis
    for k in np.flatnonzero(model.angular_coordinates & ~fixed & (moves != 0.0)):
        away = model.apart(guess, q)
        turns = np.round(away[k] / (2 * np.pi))
        if not turns:
            continue
        trial = model.moved(q, np.where(leading == leading[k], -2 * np.pi * turns * moves / moves[k], 0.0))
        is_nearer = np.abs(model.apart(guess, trial)).sum() < np.abs(away).sum()
        errors = model.engine.dynamics.constraints(trial, np.zeros(model.nv)).error
        if is_nearer and np.abs(model.scale.weights * errors).max() < closed_within(model, trial):
            q = trial
    return q


def _newton_step(model: ClosedMechanism, rows: Constraints, free: Array) -> Array:
    """Return the step (nv) of free coordinates that removes the errors of constraints to first order."""
    step, weights, sizes = np.zeros(model.nv), model.scale.weights, model.scale.coordinates[free]
    step[free] = sizes * least_step(
        model.scale.comparable(rows.jacobian)[:, free], -weights * rows.error, _CUT, model.gear_count
    )
    return step


def project_configuration(model: ClosedMechanism, q: Array, fixed: Array, rank: int, precision: float) -> Array:
    """Return the closed configuration next to a nearly closed one, the rank of the constraints known: see `follow_steps`."""
    weights, free = model.scale.weights, ~fixed
    sizes = model.scale.coordinates[free]

    def look(q: Array) -> tuple[float, Array]:
        rows = model.engine.dynamics.constraints(q, np.zeros(model.nv))
        error, step = weights * rows.error, np.zeros(model.nv)
        step[free] = sizes * least_solution(model.scale.comparable(rows.jacobian)[:, free], -error, rank, model.gear_count)
        return np.abs(error).max(initial=0.0), step

    return follow_steps(model, q, look, precision)


def follow_steps(model: ClosedMechanism, q: Array, look: Callable[[Array], tuple[float, Array]], precision: float) -> Array:
    """Return the closed configuration to which Newton's steps lead from q.

    `look` returns the largest error (rad, and m for a system of size one) and the step (nv) that removes all to first order.
    Errors that are below `precision` are left, and those that grow no less.

    Raises
    ------
    ConvergenceError
        If the errors stay.
    """
    least = np.inf
    for _ in range(_STEPS):
        worst, step = look(q)
        if worst < precision or (worst > 0.5 * least and (worst < CLOSED or worst < closed_within(model, q))):
            return q
        if worst > 0.9 * least:
            break
        least = worst
        q = model.moved(q, step)
    raise ConvergenceError(f"{open_loops(model, q)} cannot be kept closed")


def project_velocity(model: ClosedMechanism, q: Array, v: Array, fixed: Array, rank: int) -> Array:
    """Return the velocity nearest to the given one that keeps the loops closed."""
    jacobian = model.engine.dynamics.constraints(q, v).jacobian
    return _project(model, jacobian, np.zeros(len(jacobian)), v, fixed, rank, "velocities", 0.0)


def project_acceleration(model: ClosedMechanism, q: Array, v: Array, a: Array, fixed: Array, rank: int) -> Array:
    """Return the acceleration nearest to the given one that keeps the loops closed."""
    rows = model.engine.dynamics.constraints(q, v)
    rate = np.abs(model.scale.weights[:, None] * rows.jacobian) @ np.abs(v)
    return _project(model, rows.jacobian, -rows.bias, a, fixed, rank, "accelerations", float(rate.max(initial=0.0) ** 2))


def _project(
    model: ClosedMechanism, jacobian: Array, wanted: Array, x: Array, fixed: Array, rank: int, what: str, size: float
) -> Array:
    """Return the x (nv) nearest to the given one with ``J x = wanted``, entries where `fixed` held.

    Contradictions are judged beside the terms of the equations, `size` among them: a bias may be a small difference. Where the
    closures leave no motion all terms are rounding, that of the Jacobian against the other coordinates.

    Raises
    ------
    ConvergenceError
        If the fixed entries contradict the closures; `what` names the rates.
    """
    weighted, target = model.scale.weights[:, None] * jacobian, model.scale.weights * wanted
    scale = size + np.abs(weighted) @ np.abs(x) + np.abs(target)
    x, sizes = x.copy(), model.scale.coordinates[~fixed]
    least = LeastSolutions(model.scale.comparable(jacobian)[:, ~fixed], rank, model.gear_count)
    for _ in range(2):  # the second time for rounding
        x[~fixed] += sizes * least(target - weighted @ x)
    rest = np.abs(target - weighted @ x)
    scale += np.abs(weighted) @ np.abs(x)
    every = model.scale.coordinates
    rounded = CANCELLED * (np.abs(weighted) * every).max(initial=0.0) * np.abs(x / every).max(initial=0.0)
    if (rest > BALANCED * scale.max(initial=0.0) + rounded).any():
        name = model.constraint_names[int(rest.argmax())]
        raise ConvergenceError(
            f"the fixed {what} contradict the closures: {name} is left with "
            f"{rest.max() / model.scale.weights[int(rest.argmax())]:.3g}; "
            "fix at most as many coordinates as move independently"
        )
    return x


def some_closed_configuration(model: ClosedMechanism) -> Array:
    """Return a closed configuration: the one next to the neutral one, or else next to a random one.

    Raises
    ------
    ConvergenceError
        If none is found; names the loop that stayed open from the neutral configuration.
    """
    rng, first_error, bodies = np.random.default_rng(0), None, model.deformations
    widths = np.pi * model.scale.coordinates
    steps = [rng.uniform(-widths, widths) * min(1.0, k / _WIDENING) for k in range(_GUESSES)]
    for step in steps if bodies.any() and not bodies.all() else ():
        try:
            return _assembled_from(model, np.where(bodies, 0.0, step), bodies)
        except ConvergenceError:
            pass
    for step in steps:
        try:
            return _assembled_from(model, step, np.zeros(model.nv, dtype=bool))
        except ConvergenceError as error:
            first_error = first_error or error
    raise ConvergenceError(f"{first_error} (nor from {_GUESSES - 1} random configurations)")


def _assembled_from(model: ClosedMechanism, step: Array, fixed: Array) -> Array:
    """Return the closed configuration next to a step from the neutral one."""
    return assembled(model, follow_drivers(model, model.moved(model.neutral(), step), fixed, GearConstraint.follow), fixed)


def random_guess(model: ClosedMechanism, rng: np.random.Generator) -> Array:
    """Return a configuration (nq) whose joints are anywhere within half a turn, its bodies undeformed if it has joints.

    Lengths are within as many of the system's.
    """
    widths = np.pi * model.scale.coordinates
    step = rng.uniform(-widths, widths)
    still = model.deformations & (not model.deformations.all())
    return model.moved(model.neutral(), np.where(still, 0.0, step))


def dependent_coordinates(model: ClosedMechanism, q: Array, candidates: Array, rank: int) -> list[int]:
    """Return which of the candidates (indices) depend on the others: driven ones of gears, then by pivoted QR."""
    rows: Any = model.engine.dynamics.constraints(q, np.zeros(model.nv)).jacobian
    jacobian = model.scale.comparable(rows)
    columns = jacobian[independent_rows(jacobian, rank, model.gear_count)][:, candidates].T
    driven = np.flatnonzero(np.isin(candidates, [gear.driven[1] for gear in model.gear_constraints]))
    first = driven[independent_rows(columns[driven])] if len(driven) else driven
    span = np.linalg.qr(columns[first].T)[0]
    rest = columns - columns @ span @ span.T
    rest[first] = 0.0
    then = independent_rows(rest, columns.shape[1] - len(first))
    return [int(candidates[k]) for k in (*first, *then)]
