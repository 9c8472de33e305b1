"""Closing rigid loops: configurations, velocities and accelerations that satisfy the closures.

All lengths, including coordinates that are lengths, are taken in units of the system's size to compare with angles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CANCELLED, CLOSED, EPS, FEW_ROUNDINGS, LOOSE_RANK, OPEN
from titop.solvers.constraints.closed_mechanism import ClosedMechanism, GearConstraint
from titop.solvers.constraints.engine_interface import Constraints
from titop.solvers.constraints.following import following
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.multipliers import Partition, independent_rows, least_step


def refuse_open(
    mechanism: ClosedMechanism, q: Array, v: Array, code: str, where: tuple[str, str], cures: tuple[str, str]
) -> None:
    """Refuse a configuration that does not close the loops, and a velocity that opens them.

    `where` and `cures` are the argument's name and the advice, for the configuration and for the velocity. Raises
    `ModelError`, naming the loop.
    """
    if not mechanism.is_constrained:
        return
    rows = mechanism.constraints_at(q, v)
    if np.abs(mechanism.scale.weights * rows.error).max() > OPEN:
        got = f"{open_loops(mechanism, q)} {where[0]} leaves it so"
        raise ModelError(Finding(code, where[0], got, "a configuration that closes the loops", cures[0]))
    changes = rows.jacobian @ v
    sizes, terms = (mechanism.scale.weights * np.abs(part) for part in (changes, np.abs(rows.jacobian) @ np.abs(v)))
    if sizes.max() > OPEN * max(1.0, terms.max()):
        worst = int(sizes.argmax())
        got = f"{mechanism.constraint_names[worst]} changing at {changes[worst]:.3g}"
        raise ModelError(Finding(code, where[1], got, "a velocity that keeps the loops closed", cures[1]))


def open_loops(mechanism: ClosedMechanism, q: Array) -> str:
    """Return text with the name and the error of the loop, or gear, with the largest error."""
    rows = mechanism.constraints_at(q)
    row = int((mechanism.scale.weights * np.abs(rows.error)).argmax())
    name = owner_of(mechanism.constraint_names[row])
    if name not in mechanism.closure_rows:
        return f"gear {name!r} is out of mesh by {abs(rows.error[row]):.3g} {mechanism.constraint_units[row]} and"
    of_loop = mechanism.closure_rows[name]
    errors, angular = np.abs(rows.error[of_loop]), mechanism.angular_constraints[of_loop]
    metres, radians = errors[~angular].max(initial=0.0), errors[angular].max(initial=0.0)
    if not mechanism.places[of_loop].all():
        return f"contact {name!r} is {metres:.3g} m off its plane and"
    return f"loop {name!r} is open by {metres:.3g} m and {radians:.3g} rad and"


def refuse_flipped(mechanism: ClosedMechanism, q: Array) -> None:
    """Refuse a configuration at which a closure's axes are antiparallel. Raises `ConvergenceError`, naming the loop."""
    for loop in mechanism.rigid_loops:
        if loop.closure.is_flipped(relative_pose(mechanism, loop, q)[0]):
            raise ConvergenceError(
                f"loop {loop.closure.name!r} closes with its axes antiparallel; "
                "start nearer to a configuration in which they point the same way"
            )


#: No steps are made in directions in which the errors change a million times less than in others: near a closed configuration
#: redundant constraints cause such directions, and steps along them do not reduce the errors.
_CUT = LOOSE_RANK
_STEPS = 100
_HALVINGS = 12
#: Number of initial guesses at a closed configuration, and how many of them are less than half a turn from the neutral one.
_GUESSES = 12
_WIDENING = 4


def assemble_loops(mechanism: ClosedMechanism, q: Array, fixed: Array) -> Array:
    """Return a closed configuration; bodies deform only where joints alone do not close the loops.

    Raises `ConvergenceError` as in `closed_configuration`.
    """
    held = fixed | mechanism.deformations
    if not held.all() and (held != fixed).any():
        try:
            return closed_configuration(mechanism, q, held)
        except ConvergenceError:
            pass
    return closed_configuration(mechanism, q, fixed)


def follow_drivers(
    mechanism: ClosedMechanism, x: Array, fixed: Array, follow: Callable[[GearConstraint, Array], None]
) -> Array:
    """Return coordinates, or rates, with the driven ones that are not `fixed` set from their drivers by `follow`."""
    if not mechanism.gear_constraints:
        return x
    driven = [gear for gear in mechanism.gear_constraints if not fixed[gear.driven[1]]]
    x = x.copy()
    for _ in driven:  # a driver may itself be driven
        before = x.copy()
        for gear in driven:
            follow(gear, x)
        if np.array_equal(x, before):
            break
    return x


def closed_configuration(mechanism: ClosedMechanism, q: Array, fixed: Array) -> Array:
    """Return the closed configuration reached from `q` by Gauss-Newton steps of least norm, halved until the errors decrease.

    Steps from nearly singular configurations may be many turns long; whole turns are removed again, where the loops stay
    closed. Raises `ConvergenceError`, naming the loop that stays open, or that closes with its axes antiparallel.
    """
    guess, rows = q, mechanism.constraints_at(q)
    for _ in range(_STEPS):
        error = mechanism.scale.weights * rows.error
        if np.abs(error).max(initial=0.0) <= EPS:
            break
        step = _newton_step(mechanism, rows, ~fixed)
        for halving in range(_HALVINGS):
            trial = mechanism.integrate_unchecked(q, step / 2**halving)
            trial_rows = mechanism.constraints_at(trial)
            if np.linalg.norm(mechanism.scale.weights * trial_rows.error) < np.linalg.norm(error):
                break
        else:
            break
        q, rows = trial, trial_rows
    worst = np.abs(mechanism.scale.weights * rows.error).max(initial=0.0)
    if worst > CLOSED and worst > closed_within(mechanism, q):
        advice = "start from a configuration nearer to a closed one" + (", or fix less" if fixed.any() else "")
        raise ConvergenceError(f"{open_loops(mechanism, q)} cannot be closed from there; {advice}")
    if (unwound := _unwound(mechanism, guess, q, fixed)) is not q:
        return closed_configuration(mechanism, unwound, fixed)  # removes the rounding of many turns
    refuse_flipped(mechanism, q)
    return q


def closed_within(mechanism: ClosedMechanism, q: Array) -> float:
    """Return the largest errors that count as closed (rad, and m for a system of size one) at a configuration.

    Poses are given in the inertial frame: far from its origin the rounding of their differences is larger.
    """
    if not mechanism.rigid_loops:
        return CLOSED
    ports, still = [str(ref) for loop in mechanism.rigid_loops for ref in loop.ports], np.zeros(mechanism.nv)
    places = [mechanism.engine.observations.port_motion(port, q, still, still).position for port in ports]
    farthest = max(float(np.linalg.norm(place)) for place in places)
    return CLOSED + FEW_ROUNDINGS * farthest / mechanism.scale.length


def _unwound(mechanism: ClosedMechanism, guess: Array, q: Array, fixed: Array) -> Array:
    """Return a closed configuration with joints that are not `fixed` turned back by whole turns towards a guess.

    Only turns that leave the loops closed are removed. Joints coupled by gears are turned together.
    """
    gears = mechanism.constraints_at(q).jacobian
    leading, moves = following(np.where(fixed, 0.0, gears[len(gears) - mechanism.gear_count :])).basis
    for k in np.flatnonzero(mechanism.angular_coordinates & ~fixed & (moves != 0.0)):
        away = mechanism.difference_unchecked(guess, q)
        turns = np.round(away[k] / (2 * np.pi))
        if not turns:
            continue
        trial = mechanism.integrate_unchecked(q, np.where(leading == leading[k], -2 * np.pi * turns * moves / moves[k], 0.0))
        is_nearer = np.abs(mechanism.difference_unchecked(guess, trial)).sum() < np.abs(away).sum()
        errors = mechanism.constraints_at(trial).error
        if is_nearer and np.abs(mechanism.scale.weights * errors).max() < closed_within(mechanism, trial):
            q = trial
    return q


def _newton_step(mechanism: ClosedMechanism, rows: Constraints, free: Array) -> Array:
    """Return the step (nv) of free coordinates that removes the errors of constraints to first order."""
    step, error, sizes = np.zeros(mechanism.nv), mechanism.scale.weights * rows.error, mechanism.scale.coordinates[free]
    jacobian, places = mechanism.scale.comparable(rows.jacobian)[:, free], mechanism.places
    step[free] = sizes * least_step(jacobian[places], -error[places], _CUT, mechanism.gear_count)
    return step


def project_configuration(mechanism: ClosedMechanism, q: Array, fixed: Array, rank: int, precision: float) -> Array:
    """Return the closed configuration next to a nearly closed one, for constraints of known rank: see `follow_steps`."""
    weights, places, free = mechanism.scale.weights, mechanism.places, ~fixed
    sizes = mechanism.scale.coordinates[free]

    def look(q: Array) -> tuple[float, Array]:
        rows = mechanism.constraints_at(q)
        error, step = weights * rows.error, np.zeros(mechanism.nv)
        jacobian = mechanism.scale.comparable(rows.jacobian)[places][:, free]
        step[free] = sizes * Partition.of(jacobian, rank, mechanism.gear_count).least(-error[places])
        return np.abs(error).max(initial=0.0), step

    return follow_steps(mechanism, q, look, precision)


def follow_steps(mechanism: ClosedMechanism, q: Array, look: Callable[[Array], tuple[float, Array]], precision: float) -> Array:
    """Return the closed configuration to which Newton's steps lead from q.

    `look` returns the largest error (rad, and m for a system of size one) and the step (nv) that removes all to first order.
    Errors below `precision` remain, and errors that count as closed and decrease no further. Raises `ConvergenceError` if the
    errors do not decrease.
    """
    least = np.inf
    for _ in range(_STEPS):
        worst, step = look(q)
        if worst < precision or (worst > 0.5 * least and (worst < CLOSED or worst < closed_within(mechanism, q))):
            return q
        if worst > 0.9 * least:
            break
        least = worst
        q = mechanism.integrate_unchecked(q, step)
    raise ConvergenceError(f"{open_loops(mechanism, q)} cannot be kept closed")


def project_velocity(mechanism: ClosedMechanism, q: Array, v: Array, fixed: Array, rank: int) -> Array:
    """Return the velocity nearest to the given one that keeps the loops closed."""
    jacobian = mechanism.constraints_at(q, v).jacobian
    return _project(mechanism, jacobian, np.zeros(len(jacobian)), v, fixed, rank, "velocities", 0.0)


def project_acceleration(mechanism: ClosedMechanism, q: Array, v: Array, a: Array, fixed: Array, rank: int) -> Array:
    """Return the acceleration nearest to the given one that keeps the loops closed."""
    rows = mechanism.constraints_at(q, v)
    rate = np.abs(mechanism.scale.weights[:, None] * rows.jacobian) @ np.abs(v)
    return _project(mechanism, rows.jacobian, -rows.bias, a, fixed, rank, "accelerations", float(rate.max(initial=0.0) ** 2))


def _project(
    mechanism: ClosedMechanism, jacobian: Array, wanted: Array, x: Array, fixed: Array, rank: int, what: str, size: float
) -> Array:
    """Return the x (nv) nearest to the given one with ``J x = wanted``; entries that are `fixed` keep their values.

    Residuals are compared with the terms of the equations and with `size`, since a bias may be a small difference. Where the
    closures allow no motion, all terms are rounding; residuals are then compared with the rounding of ``J x``. Raises
    `ConvergenceError` if the fixed entries contradict the closures; `what` names the rates.
    """
    weighted, target = mechanism.scale.weights[:, None] * jacobian, mechanism.scale.weights * wanted
    scale = size + np.abs(weighted) @ np.abs(x) + np.abs(target)
    x, sizes = x.copy(), mechanism.scale.coordinates[~fixed]
    comparable = mechanism.scale.comparable(jacobian)[:, ~fixed]
    partition = Partition.of(comparable, rank, mechanism.gear_count)
    for _ in range(2):  # the second time for rounding
        x[~fixed] += sizes * partition.least(target - weighted @ x)
    rest = np.abs(target - weighted @ x)
    scale += np.abs(weighted) @ np.abs(x)
    every = mechanism.scale.coordinates
    rounded = CANCELLED * (np.abs(weighted) * every).max(initial=0.0) * np.abs(x / every).max(initial=0.0)
    if (rest > BALANCED * scale.max(initial=0.0) + rounded).any():
        name = mechanism.constraint_names[int(rest.argmax())]
        raise ConvergenceError(
            f"the fixed {what} contradict the closures: {name} is left with "
            f"{rest.max() / mechanism.scale.weights[int(rest.argmax())]:.3g}; "
            "fix at most as many coordinates as move independently"
        )
    return x


def some_closed_configuration(mechanism: ClosedMechanism) -> Array:
    """Return a closed configuration near the neutral one, or else near a random one.

    Raises `ConvergenceError` if none is found, naming the loop that stayed open from the neutral configuration.
    """
    rng, first_error, bodies = np.random.default_rng(0), None, mechanism.deformations
    widths = np.pi * mechanism.scale.coordinates
    steps = [rng.uniform(-widths, widths) * min(1.0, k / _WIDENING) for k in range(_GUESSES)]
    for step in steps if bodies.any() and not bodies.all() else ():
        try:
            return _assembled_from(mechanism, np.where(bodies, 0.0, step), bodies)
        except ConvergenceError:
            pass
    for step in steps:
        try:
            return _assembled_from(mechanism, step, np.zeros(mechanism.nv, dtype=bool))
        except (ConvergenceError, ModelError) as error:  # constraints of a disc that lies flat are not finite
            first_error = first_error or error
    raise ConvergenceError(f"{first_error} (nor from {_GUESSES - 1} random configurations)")


def _assembled_from(mechanism: ClosedMechanism, step: Array, fixed: Array) -> Array:
    """Return the closed configuration found from the neutral one displaced by `step`."""
    return assemble_loops(
        mechanism,
        follow_drivers(mechanism, mechanism.integrate_unchecked(mechanism.neutral(), step), fixed, GearConstraint.follow),
        fixed,
    )


def random_guess(mechanism: ClosedMechanism, rng: np.random.Generator) -> Array:
    """Return a configuration (nq) with joints at random within half a turn; bodies are undeformed if there are joints.

    Coordinates that are lengths are within pi times the system's length.
    """
    widths = np.pi * mechanism.scale.coordinates
    step = rng.uniform(-widths, widths)
    still = mechanism.deformations & (not mechanism.deformations.all())
    return mechanism.integrate_unchecked(mechanism.neutral(), np.where(still, 0.0, step))


def dependent_coordinates(mechanism: ClosedMechanism, q: Array, candidates: Array, rank: int) -> list[int]:
    """Return the dependent ones of the candidates (indices): driven coordinates of gears first, then by pivoted QR."""
    rows: Any = mechanism.constraints_at(q).jacobian
    jacobian = mechanism.scale.comparable(rows)
    columns = jacobian[independent_rows(jacobian, rank, mechanism.gear_count)][:, candidates].T
    driven = np.flatnonzero(np.isin(candidates, [gear.driven[1] for gear in mechanism.gear_constraints]))
    first = driven[independent_rows(columns[driven])] if len(driven) else driven
    span = np.linalg.qr(columns[first].T)[0]
    rest = columns - columns @ span @ span.T
    rest[first] = 0.0
    then = independent_rows(rest, columns.shape[1] - len(first))
    return [int(candidates[k]) for k in (*first, *then)]
