"""Whether a point is an equilibrium, and whether the linear model about it holds: findings for whoever linearises there.

Accelerations are judged in parts of what each term would do alone, whatever the units. A coordinate's reach is what it goes
until things look different: a radian, the system's size, or for coordinates of flexible bodies where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CLOSE, COARSE, ROUNDING, STEADY
from titop.blocks.contract.block import Block
from titop.blocks.contract.own_coordinates import redefines
from titop.blocks.interactions.interaction import Interaction
from titop.solvers.arguments.reading import is_without_dynamics
from titop.solvers.constraints.interaction_loads import input_efforts, target_motion
from titop.solvers.equilibrium.sizes import ROUNDED_TURNS, LoadedState, motion_efforts, rotational_rates, sizes_of
from titop.solvers.mechanism.inputs import own_efforts, port_pushes
from titop.solvers.mechanism.scale import StateScale
from titop.solvers.model.closures import Reduction, independent_names, reduction
from titop.solvers.model.derivatives import raw_linear_matrices
from titop.solvers.model.model import Model
from titop.solvers.signals.quantities import NamedModel

#: Changes below this part of a row of the linear model are rounding over the step along the motion, and what equilibria leave.
_SAME = 0.1 * CLOSE

# -- what is left of accelerations -----------------------------------------------------------------------------------------


def reaches(model: NamedModel, q: Array) -> Array:
    """Return how far each coordinate (nv) goes until things look different."""
    others, sizes = model.mechanism.scale.others, model.mechanism.scale.coordinates
    return np.where(others, np.abs(model.difference(model.neutral(), q)), sizes) if others.any() else sizes


def _over_reach(v: Array, reach: Array) -> Array:
    """Return rates (nv) over what coordinates reach (1/s); none of those that reach nothing."""
    return np.abs(np.divide(v, reach, out=np.zeros(len(v)), where=reach > 0))


def excess(point: LoadedState, a: Array, drift: Array, derivatives: tuple[Array, Array] | None = None) -> Array:
    """Return accelerations, and their rates along the motion, in parts of what is allowed at an equilibrium (2, nv).

    Allowed is a part of what gravity, springs, efforts, wrenches and motion would each give alone. In stiff systems it is what
    errors of coordinates and rates give: parts of the coordinates' reaches, and of these times their own frequencies.

    `drift` (nv) are the rates of the accelerations a (nv) while the point moves; `derivatives` (nv, 2nv; nv, nv) are those of a
    by coordinates and rates, and by efforts, if the point has not been asked for them.
    """
    reach = reaches(point.model, point.q)
    rate = float(_over_reach(point.v, reach).max(initial=0.0))
    by_state, by_effort = derivatives or (matrix[point.model.nv :] for matrix in point.state_matrices[1:])
    values = np.abs([a, drift])
    allowed = BALANCED * np.abs(by_state) @ np.concatenate([reach, rate * reach])
    oscillating = BALANCED * reach * np.sqrt(np.abs(np.diag(by_state)))
    drifting = np.abs(by_state[:, : len(reach)]) @ oscillating
    if (values > [allowed, rate * allowed + drifting]).any():
        allowed += STEADY * term_accelerations(point, reach, by_effort)
    return ratios(values, np.array([allowed, rate * allowed + drifting]))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def ratios(values: Array, allowed: Array) -> Array:
    """Return values in parts of what is allowed; nothing is no part of anything."""
    return np.divide(values, allowed, out=np.zeros(values.shape), where=values != 0.0)


def term_accelerations(point: LoadedState, reach: Array, by_effort: Array) -> Array:
    """Return the sum of the accelerations (nv) that each term would give alone, their signs left out.

    `reach` (nv) is what coordinates reach, `by_effort` (nv, nv) the derivatives of accelerations by efforts.
    """
    model, q, v = point.model, point.q, point.v
    rates = _over_reach(v, reach).max(initial=0.0) * _over_reach(rotational_rates(model, v), reach).max(initial=0.0)
    weight = model.gravity_effects(q)
    efforts = [
        point.tau,
        model.mechanism.motor_efforts(point.driving),
        weight,
        motion_efforts(point),
        model.passive_efforts(q, v),
        model.mass_matrix(q) @ point.a,
    ]
    pushes = model.mechanism.external_pushes(point.wrenches, point.driving)
    efforts += [own_efforts(pushes, q, model.nv), input_efforts(model.mechanism, q, pushes)]
    for port, inertial, wrench in port_pushes(pushes):
        rotation = model.pose(port, q)[0] if inertial else np.eye(3)
        in_port = np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])
        efforts.append(model.jacobian(port, q).T @ in_port)
    total = sum((np.abs(effort) for effort in efforts), np.zeros(model.nv))
    sizes = np.sqrt(np.abs(np.diag(by_effort)))  # rounding of `by_effort` (a metric) leaves accelerations where nothing acts
    rounding = ROUNDING * sizes * (sizes @ total)
    return np.abs(by_effort) @ total + rounding + reach * (model.mechanism.falling + ROUNDED_TURNS * rates)


def unsteady_state(point: LoadedState, sizes: StateScale, tolerance: float) -> tuple[str, str] | None:
    """Return the name of a state that goes on changing, and its rate in words; None if none does.

    Rates may be a tolerance of what each state, input and coordinate of a system's size contributes.
    """
    model = point.model
    if not model.nx:
        return None
    at = point.q, point.v, point.x, point.u
    rates, by = model.state_rates(*at), model.state_rates_derivatives(*at)
    rates_of_size = sizes.coordinates * np.maximum(sizes.rate, sizes.fastest)
    each = np.abs(by.by_q) @ sizes.coordinates + np.abs(by.by_v) @ rates_of_size + np.abs(by.by_x) @ np.abs(point.x)
    each += np.abs(by.by_u) @ np.abs(np.zeros(model.nu) if point.u is None else point.u)
    changing = np.abs(rates) > tolerance * each
    if not changing.any():
        return None
    k = int(np.argmax(changing))
    return model.state_names[k], f"{rates[k]:.3g} {model.mechanism.inputs.state_units[k]}/s"


def changing_findings(point: LoadedState) -> Iterator[Finding]:
    """Yield a finding for a point whose states of the first order change."""
    if point.model.nx and (changing := unsteady_state(point, sizes_of(point), STEADY)):
        advice = "find an equilibrium with tt.trim; this model holds for short times only"
        yield Finding("no-equilibrium", f"point: {changing[0]}", f"changing by {changing[1]}", "a state that rests", advice)


# -- what spins, and what is about to switch ---------------------------------------------------------------------------------


def spin_findings(model: Model, q: Any, v: Any) -> Iterator[Finding]:
    """Yield each flexible body without geometric stiffness that spins fast for its modes, at states (..., nq) and (..., nv)."""
    limited = model.mechanism.limited_in_spin
    for name in limited if limited and np.any(v) else ():
        lowest = float(model.mechanism.assembly.blocks[name].spin_limit or 0.0)
        spin = float(np.linalg.norm(model.twist(name, q, v)[..., 3:], axis=-1).max())
        if spin**2 > COARSE * lowest**2:  # this part of the lowest frequency changes, one way or the other
            value = f"a spin of {spin:.3g} rad/s beside a lowest frequency of {lowest:.3g} rad/s"
            expected = "spins of less than a tenth of it: nothing is known of how the body stiffens"
            advice = "give geometric_stiffness and the modes' moments, or make it of beams"
            yield Finding("spinning-modes", name, value, expected, advice)


def under_ground(model: Model, q: Any, t: Array | None = None) -> Iterator[Finding]:
    """Yield bodies that hang on the world and are inside the planet in whose field of gravity they are, where deepest.

    `q` (n, nq). `t` (n, s): times of the configurations, for the messages.
    """
    for name in model.mechanism.in_field:
        heights = model.mechanism.assembly.field.over_ground(model.pose(name, q)[1])  # type: ignore[union-attr]
        k = int(heights.argmin())
        if heights[k] < 0:
            where = f"{heights[k] / 1000:.6g} km over the ground" + ("" if t is None else f" at t = {t[k]:.6g} s")
            advice = "place it elsewhere, or end before; inside, gravity is taken as that of a uniform ball"
            yield Finding("under-ground", name, where, "bodies outside of the planet", advice)


def doubts(states: Iterable[tuple[Model, Array, Array]]) -> Iterator[Finding]:
    """Yield what is doubtful about models at q (nq) and v (nv), each once: bodies inside the planet, what interactions say."""
    told = set[str]()
    for model, q, v in states:
        doubting = (loop for loop in model.mechanism.interactions if type(loop.closure).doubts is not Interaction.doubts)
        said = (each for loop in doubting for each in loop.closure.doubts(target_motion(model.mechanism, loop, q, v)))
        for finding in (*under_ground(model, q[None]), *said):
            if finding.where not in told:
                told.add(finding.where)
                yield finding


def switching_findings(model: Model, q: Array, v: Array) -> Iterator[Finding]:
    """Yield each contact, cable or other interaction that switches within what states (n, nq; n, nv) are known to."""
    for loop in model.mechanism.interactions:
        if not redefines(loop.closure, "gaps", Block):
            continue
        gaps = np.array([loop.closure.gaps(target_motion(model.mechanism, loop, *at)) for at in zip(q, v, strict=True)], float)
        for k in np.flatnonzero((np.abs(gaps) <= BALANCED * model.mechanism.scale.length).any(axis=0)):
            name = loop.closure.point_names[k] if loop.closure.has_points else loop.closure.name
            value = f"a gap of {gaps[np.abs(gaps[:, k]).argmin(), k]:.3g} m"
            expected = f"a point more than {BALANCED * model.mechanism.scale.length:.1g} m from where it switches"
            advice = "the linear model holds on one side only: take a point that touches, or one that does not"
            yield Finding("near-switching", name, value, expected, advice)


# -- what accelerates ------------------------------------------------------------------------------------------------------


def about_reference(model: NamedModel, A: Array, a: Array, t: float = 0.0) -> Array:
    """Return A (2nv, 2nv) of ``[dq; dv]`` for states relative to a reference that accelerates by `a` (nv), after a time t (s).

    The displacements change by ``d(dq)/dt = dv - ad(v0 + a t) dq``. With ``w = dv - ad(a t) dq`` in the place of dv, the rate
    as seen by whoever moves along, time does not enter: ``dw/dt = da - ad(a) dq - ad(a t) dw + ...``. The term in a is that
    by which gravity would turn against the body in a frame that accelerates.
    """
    if not np.count_nonzero(a):
        return A
    n, ad = len(a), model.mechanism.bracket(a)
    A = A.copy()
    A[n:] -= t * ad @ A[:n]
    A[:, :n] += t * A[:, n:] @ ad
    A[n:, :n] -= ad
    return A


# -- steadiness ------------------------------------------------------------------------------------------------------------


def steadiness_findings(point: LoadedState, where: str = "point", held: Array | None = None) -> Iterator[Finding]:
    """Yield a finding where accelerations stay zero along the point's motion, but their derivatives do not stay as they are.

    So the linear model about an unsymmetric rotor changes while it turns. `held` (nv) are coordinates that it leaves out.
    """
    if not point.v.any() and not point.a.any():
        return
    model, nv = point.model, point.model.nv
    a, A, B = point.state_matrices
    if excess(point, a, point.drift).max(initial=0.0) > 1.0:
        return
    held = np.zeros(nv, dtype=bool) if held is None else held
    reduced = reduction(model, point.q, point.v, held)
    reach = reaches(model, point.q)
    about = _LinearModel(_over_reaches(reduced, _hold_accelerations(A, B, held), reach), reduced, reach, held)
    rates = _slowest_and_fastest(point, about)
    try:
        change = max((_change(point, about, rate, rates[-1]) for rate in rates), default=0.0)
    except ConvergenceError:  # loops do not close at a later state
        return
    except ModelError as error:
        if not is_without_dynamics(error):
            raise
        return
    if change > _SAME:
        value = f"a linear model that changes by {change:.2g} of itself, or more, while a coordinate moves noticeably"
        expected = "one that stays as it is: rotors that are symmetric about their axes"
        advice = "its poles say nothing of stability, and it holds for a part of the motion only: simulate"
        yield Finding("time-varying", where, value, expected, advice)


class _LinearModel(NamedTuple):
    """Derivatives of accelerations by independent coordinates and their rates, in parts of what the coordinates reach (n).

    Coordinates of no reach (nv), as of bodies that are not deformed, are left out. `held` (nv) are those that are no states.
    """

    by_state: Array
    reduced: Reduction
    reach: Array
    held: Array


def _over_reaches(reduced: Reduction, A: Array, reach: Array) -> Array:
    """Return the derivatives of accelerations by the states that are `reduced` to, coordinates in parts of their reach."""
    over, n = reach[np.concatenate([reduced.places, reduced.rates])], len(reduced.places)
    kept = np.flatnonzero(over > 0.0)
    rates = kept[kept >= n]
    matrix: Array = reduced.rows(reduced.columns(A))[rates][:, kept]
    return matrix / over[rates, None] * over[kept]


def _hold_accelerations(A: Array, B: Array, held: Array) -> Array:
    """Return A (2nv, 2nv) with efforts, by B (2nv, nv), that leave the accelerations of held coordinates as they are."""
    rows = len(held) + np.flatnonzero(held)
    return A - B[:, held] @ np.linalg.solve(B[rows][:, held], A[rows]) if len(rows) else A


def _slowest_and_fastest(point: LoadedState, about: _LinearModel) -> list[float]:
    """Return the rates (1/s) of the slowest and the fastest of the coordinates that move noticeably."""
    reach, n = reaches(point.model, point.q), about.by_state.shape[1] - len(about.by_state)
    rates = np.maximum(_over_reach(point.v, reach), np.sqrt(_over_reach(point.a, reach)))
    natural = max(np.sqrt(np.abs(about.by_state[:, :n]).max(initial=0.0)), np.abs(about.by_state[:, n:]).max(initial=0.0))
    moving = rates[rates > STEADY * max(rates.max(initial=0.0), natural)]
    return sorted({float(moving.min()), float(moving.max())}) if len(moving) else []


def _change(point: LoadedState, about: _LinearModel, rate: float, fastest: float) -> float:
    """Return by which part the linear model changes while what moves at a rate (1/s) goes until things look different."""
    model, t = point.model, COARSE / rate
    q, v = point.reference(t)
    if model.is_constrained:
        q = model.assemble(q)
        v = model.assemble_velocity(q, v)
    _, A, B = raw_linear_matrices(model, q, v, point.tau, point.wrenches, point.driving)
    A = about_reference(model, A, point.a, t)
    A = _hold_accelerations(A, B, about.held)
    names = independent_names(model, about.reduced.places, about.reduced.rates) if model.is_constrained else None
    later = _over_reaches(reduction(model, q, v, about.held, names), A, about.reach)
    n = len(about.by_state)
    per_rate = np.repeat([1.0, rate], [about.by_state.shape[1] - n, n])
    before, after = about.by_state * per_rate, later * per_rate
    rows = np.abs(before).max(axis=1, initial=0.0)
    falling = float(np.linalg.norm(model.gravity)) / model.mechanism.scale.length
    # less is as good as an empty row: what is left of weights that closures carry is rounding
    noticed = np.maximum(rows, max(CLOSE * rows.max(initial=0.0), STEADY * (fastest**2 + falling)))
    return float((np.abs(after - before) / noticed[:, None]).max(initial=0.0)) / COARSE
