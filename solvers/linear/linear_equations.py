"""The linear equations of stacked operating points, shared by `linearize` and `lpv`.

With ``x = [dq; dv]`` relative to a reference that moves with the point's velocities::

    d(dq)/dt = dv - ad(v0) dq          d(dv)/dt = da        da = a_q dq + a_v dv + a_w w

where w are the inputs and ``ad`` acts on free and spherical coordinates; about a point with accelerations a0, ``- ad(a0) dq``
is added to d(dv)/dt (`about_reference`). The states are x, reduced to independent coordinates.
First-order states are treated as inputs first; finally they are appended to the states.

Displacements r as inputs take the place of the accelerations of coordinates. With x the states of all other coordinates::

    dx/dt = A x + A_q r + A_v dr/dt + B_a d2r/dt2 + B u        y = C x + C_q r + C_v dr/dt + D_a d2r/dt2 + D u

The states ``z = x - E r - B_a dr/dt`` with ``E = A B_a + A_v`` carry what follows the rates of r at once, so that nothing is
differentiated::

    dz/dt = A z + (A E + A_q) r + B u        y = C z + (C E + C_q) r + (C B_a + C_v) dr/dt + D_a d2r/dt2 + D u

Outputs in which dr/dt or d2r/dt2 remain have no such model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, SAME
from titop.solvers.constraints.closed_dynamics import refuse_overdriven
from titop.solvers.equilibrium.linear_validity import about_reference
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.sizes import ActedState
from titop.solvers.linear.system_outputs import SystemOutputs
from titop.solvers.model.closures import Reduction, closure_derivatives, independent_names, reduction
from titop.solvers.model.derivatives import raw_linear_matrices
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import Signal
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs


def nearby(points: Sequence[OperatingPoint], rng: np.random.Generator) -> list[OperatingPoint]:
    """Return points near given ones, within the error of an equilibrium; with closures and gears, closed ones."""
    reach, near = SAME * _sizes(points[0]), []
    for point in points:
        model, (turn, part) = point.model, rng.uniform(-1.0, 1.0, (2, point.model.nv))
        q, v = model.integrate(point.q, reach * turn), point.v * (1.0 + SAME * part)
        if model.is_constrained:
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
        near.append(point.with_state(q, v, point.tau, point.u, point.x))
    return near


def _sizes(point: ActedState) -> Array:
    model = point.model
    return model.mechanism.scale.coordinates_of(np.diag(model.mass_matrix(point.q)))


class LinearMotion(NamedTuple):
    """Accelerations and efforts (n, nv) at stacked points, and the linear equations of all coordinates.

    `by_effort` (n, 2 nv, nv) has the derivatives by efforts on all coordinates, None with prescribed motions.
    """

    a: Array
    tau: Array
    by_state: Array
    by_input: Array
    effort_by_state: Array
    effort_by_input: Array
    by_effort: Array | None = None


class LinearEquations(NamedTuple):
    """Stacked linear equations.

    - `A`, `B`, `C`, `D` (n, ., .);
    - `a`, `tau` (n, nv): accelerations and efforts at the points;
    - `drift` (n, nv): change of the accelerations while the reference moves: zero for a steady motion;
    - `states` (x): entries of ``[dq; dv; dx]``, first-order states last;
    - `of_first` (nv, 2 nv) and (nv, nv): derivatives of the first point's accelerations by coordinates and rates, and by
      efforts; None with prescribed motions.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    a: Array
    tau: Array
    drift: Array
    states: Array
    of_first: tuple[Array, Array] | None


def linear_equations(
    points: Sequence[ActedState],
    system_inputs: SystemInputs,
    system_outputs: Sequence[SystemOutputs],
    independent: Sequence[str] | None = None,
) -> LinearEquations:
    """Return the stacked linear equations of points, all in the same states, displacements as inputs in their place.

    Without `independent` the first point chooses its coordinates.

    Raises `ModelError` if locked coordinates move, if the chosen coordinates are not independent, and for outputs that need
    rates of inputs.
    """
    linear = _by_accelerations(points, system_inputs, system_outputs, independent)
    if not system_inputs.displaced:
        return linear
    signals = [signal for group in system_outputs for signal in group.signals]
    matrices, states = displace(points[0].model, linear[:4], linear.states, system_inputs, signals)
    return LinearEquations(*matrices, linear.a, linear.tau, linear.drift, states, linear.of_first)


def names_of(model: Model, states: Array, system_inputs: SystemInputs) -> list[str]:
    """Return the names of independent coordinates: those among the states of linear equations, and displaced ones."""
    displaced, nv = [*system_inputs.displaced], model.nv
    of_rates = states[(states >= nv) & (states < 2 * nv)] - nv
    places, rates = (np.union1d(part, displaced).astype(int) for part in (states[states < nv], of_rates))
    return independent_names(model, places, rates)


def _by_accelerations(
    points: Sequence[ActedState],
    system_inputs: SystemInputs,
    system_outputs: Sequence[SystemOutputs],
    independent: Sequence[str] | None,
) -> LinearEquations:
    """Return the equations with accelerations as inputs where displacements are asked for."""
    model, q, v = points[0].model, points[0].q, points[0].v
    if len(points) > 1 and closure_derivatives(model, q, v) is not None:
        first = _by_accelerations(points[:1], system_inputs, system_outputs, independent)
        chosen = names_of(model, first.states, system_inputs)
        parts = [first, *(_by_accelerations([point], system_inputs, system_outputs, chosen) for point in points[1:])]
        stacked = map(np.concatenate, list(zip(*parts, strict=True))[:-2])
        return LinearEquations._make([*stacked, first.states, first.of_first])
    motion = motions(points, system_inputs)
    reduced = reduction(model, q, v, system_inputs.held, independent)
    if system_inputs.held.any():
        _refuse_moving(points, motion.by_state, system_inputs, reduced)
    efforts = motion.effort_by_state, motion.effort_by_input
    change = SnapshotDerivatives(reduced.columns, motion.by_state, motion.by_input, *efforts)
    outputs = _outputs(points, motion, system_outputs, change)
    about = np.array([about_reference(model, A, point.a) for A, point in zip(motion.by_state, points, strict=True)])
    A, B = reduced.rows(reduced.columns(about)), reduced.rows(motion.by_input)
    y = np.concatenate(outputs, axis=1) if outputs else np.zeros((len(A), 0, A.shape[2] + B.shape[2]))
    along = np.array([np.concatenate([point.v, point.a]) for point in points])
    drift = (motion.by_state[:, model.nv :] @ along[:, :, None])[..., 0]
    matrices = A, B, y[..., : A.shape[1]], y[..., A.shape[1] :]
    states = reduced.states
    if model.nx:
        matrices = with_first_order_states(matrices, points, system_inputs, reduced.columns)
        states = np.concatenate([states, 2 * model.nv + np.arange(model.nx)])
    of_first = None if motion.by_effort is None else (motion.by_state[0, model.nv :], motion.by_effort[0, model.nv :])
    return LinearEquations(*matrices, motion.a, motion.tau, drift, states, of_first)


def with_first_order_states(
    matrices: tuple[Array, Array, Array, Array],
    points: Sequence[ActedState],
    system_inputs: SystemInputs,
    columns: Callable[[Array], Array],
) -> tuple[Array, Array, Array, Array]:
    """Return A, B, C and D (n, ., .) with first-order states, the last of the inputs, as states.

    `columns` maps columns that act on ``[dq; dv]`` to columns for the other states.
    """
    model, count = points[0].model, len(system_inputs.named)
    driven = [channel.entry if channel.kind == Kind.INPUT else model.nu for channel in system_inputs.named]
    rows = []
    for point in points:
        rates = point.model.state_rates_derivatives(point.q, point.v, u=point.driving)
        by_u = np.hstack([rates.by_u, np.zeros((model.nx, 1))])[:, driven]
        rows.append((columns(np.hstack([rates.by_q, rates.by_v])), rates.by_x, by_u))
    by_state, by_x, by_u = map(np.array, zip(*rows, strict=True))
    A, B, C, D = matrices
    return (
        np.block([[A, B[..., count:]], [by_state, by_x]]),
        np.concatenate([np.broadcast_to(B, (len(A), *B.shape[-2:]))[..., :count], by_u], axis=1),
        np.concatenate([C, D[..., count:]], axis=2),
        D[..., :count],
    )


def motions(points: Sequence[ActedState], system_inputs: SystemInputs, imposed: Array | None = None) -> LinearMotion:
    """Return accelerations, efforts and the linear equations of all coordinates at points, stacked.

    Accelerations (nv) of prescribed coordinates are those of each point (`SystemInputs.accelerations`), unless `imposed`.
    """
    if system_inputs.prescribed.any():
        rows = [_hybrid_motion(point, system_inputs, imposed)[:-1] for point in points]
        return LinearMotion(*(np.array(field) for field in zip(*rows, strict=True)))
    a, A, B = map(np.concatenate, zip(*(_matrices_of([*each]) for _, each in groupby(points, _acting)), strict=True))
    if system_inputs.depend_on_attitude:
        by_input = B @ np.array([system_inputs.efforts(point.model, point.q, point.v, point.driving) for point in points])
    else:
        by_input = B[:, :, [channel.entry for channel in system_inputs.channels]]
    tau, nv = np.array([point.tau for point in points]), a.shape[1]
    return LinearMotion(a, tau, A, by_input, np.zeros((nv, 2 * nv)), system_inputs.applied, B)


def _acting(point: ActedState) -> tuple[int, bool, list[tuple[str, bytes]]]:
    """Return what points that are computed together have in common: the model, and wrenches."""
    wrenches = [(port, wrench.tobytes()) for port, wrench in (point.wrenches or {}).items()]
    return id(point.model), point.driving is None, wrenches


def _matrices_of(points: Sequence[ActedState]) -> tuple[Array, Array, Array]:
    """Return the stacked `raw_linear_matrices` of points with the same model and wrenches."""
    first, acting = points[0], points[0].driving
    if len(points) == 1:
        one = raw_linear_matrices(first.model, first.q, first.v, first.tau, first.wrenches, acting)
        return one[0][None], one[1][None], one[2][None]
    q, v, tau = (np.array([getattr(point, name) for point in points]) for name in ("q", "v", "tau"))
    if acting is not None:
        acting = np.array([point.driving for point in points]).view(type(acting))
    return raw_linear_matrices(first.model, q, v, tau, first.wrenches, acting)


def _hybrid_motion(point: ActedState, system_inputs: SystemInputs, imposed: Array | None) -> LinearMotion:
    model, q, v, u, wrenches = point.model, point.q, point.v, point.driving, point.wrenches or None
    nv, names = model.nv, system_inputs.imposed_names
    if model.is_constrained:
        refuse_overdriven(model.mechanism, q, system_inputs.prescribed, system_inputs.held)
    if imposed is None:
        imposed = system_inputs.accelerations(model, q, v, point.tau, wrenches, u)
    a, tau = model.hybrid_dynamics(q, v, point.tau, imposed, names, wrenches, u)
    derivatives = model.hybrid_dynamics_derivatives(q, v, point.tau, imposed, names, wrenches, u)
    loads, motions = system_inputs.loads(model, q, v, u), system_inputs.motions
    efforts = system_inputs.applied + loads
    A = np.block([[-model.mechanism.bracket(v), np.eye(nv)], [derivatives.da_dq, derivatives.da_dv]])
    B = np.vstack([np.zeros_like(efforts), derivatives.da_dtau @ efforts + derivatives.da_da @ motions])
    by_input = derivatives.dtau_dtau @ efforts + derivatives.dtau_da @ motions - loads
    return LinearMotion(a, tau, A, B, np.hstack([derivatives.dtau_dq, derivatives.dtau_dv]), by_input)


def _outputs(
    points: Sequence[ActedState], motion: LinearMotion, groups: Sequence[SystemOutputs], change: SnapshotDerivatives
) -> list[Array]:
    """Return ``[C D]`` (n, outputs, states + inputs) of each group of outputs; each point's derivatives are computed once."""
    n, read = len(points), [group for group in groups if not group.selects]
    at_points = []
    for k, (point, a, tau) in enumerate(zip(points, motion.a, motion.tau, strict=True) if read else ()):
        at = Snapshot(point.model, point.q, point.v, a, tau, point.driving, point.wrenches or None, point.q)
        slopes = change.at(k)
        at_points.append([group.derivatives(at, slopes) for group in read])
    stacked = map(np.array, zip(*at_points, strict=True))
    rows = [group.derivatives(None, change) if group.selects else next(stacked) for group in groups]
    return [np.broadcast_to(part, (n, *part.shape[-2:])) for part in rows]


def _refuse_moving(points: Sequence[ActedState], by_state: Array, system_inputs: SystemInputs, reduced: Reduction) -> None:
    """Reject locked coordinates that move at the points, or that rotate with others."""
    model, v, held = points[0].model, np.array([point.v for point in points]), np.flatnonzero(system_inputs.held)
    moving = np.abs(v[:, held]).max(axis=0, initial=0.0) > 0
    sizes = _sizes(points[0])
    speed = float(np.abs(v / sizes).max(initial=0.0)) or 1.0
    changes = np.concatenate([sizes, speed * sizes])[reduced.states]
    turned = np.abs(reduced.columns(by_state)[:, held]) * changes / (speed * sizes[held, None])
    turning = turned.max(axis=(0, 2), initial=0.0) > SAME
    for k, moves, turns in zip(held, moving, turning, strict=True):
        name = model.coordinate_names[k]
        if moves:
            got = f"{name} moves"
            advice = f"drive it: inputs=[{name + '.a'!r}]; and leave its angle out: omit=[{name + '.q'!r}]"
        elif turns:
            got, advice = f"{name} turns with a body that spins", "hold all coordinates of the joint, or none"
        else:
            continue
        raise ModelError(Finding("held-moves", "hold", got, "coordinates at rest", advice))


class Places(NamedTuple):
    """Where displacements r (m) stand in linear equations.

    - `q`, `v`, `others`: positions of the displacements, of their rates and of everything else among the states;
    - `columns`: the inputs that are accelerations until the displacements take their place.
    """

    q: Array
    v: Array
    others: Array
    columns: Array

    @classmethod
    def of(cls, model: Model, states: Array, inputs: SystemInputs) -> Places:
        """Return the places of inputs; `states` are entries of ``[dq; dv; dx]``."""
        entries, known = [*inputs.displaced], states.tolist()
        for k in entries:
            if k not in known:
                name = model.coordinate_names[k]
                advice = f"name it among independent=[{name!r}, ...]"
                raise ModelError(Finding("not-independent", "inputs", f"{name}.q", "an independent coordinate", advice))
        q, v = ([known.index(k + start) for k in entries] for start in (0, model.nv))
        others = np.setdiff1d(np.arange(len(known)), [*q, *v])
        return cls(np.array(q), np.array(v), others, np.array([*inputs.displaced.values()]))

    def turning(self, A: Array) -> Array:
        """Return N (n, m, m) of ``dr/dt = v - N r``, from the matrices (n, x, x) of equations."""
        if A[:, self.q][:, :, self.others].any():
            got, advice = "a part of a joint that turns with a body that spins", "name the whole joint"
            raise ModelError(Finding("not-separable", "inputs", got, "displacements of a whole joint", advice))
        return -A[:, self.q][:, :, self.q]


def displace(
    model: Model, matrices: Sequence[Array], states: Array, inputs: SystemInputs, outputs: Sequence[Signal]
) -> tuple[tuple[Array, Array, Array, Array], Array]:
    """Return A, B, C and D (n, ., .) with displacements in the place of accelerations, and the states that remain.

    Raises `ModelError` naming outputs that need the rates of a displacement, and displacements that are no coordinates of their
    own.
    """
    A, (B, C, D) = matrices[0], (np.broadcast_to(each, (len(matrices[0]), *each.shape[-2:])) for each in matrices[1:])
    if not inputs.displaced:
        return (A, B, C, D), states
    at = Places.of(model, states, inputs)
    N, o, c = at.turning(A), at.others, at.columns
    A_o, A_v, B_a = A[:, o][:, :, o], A[:, o][:, :, at.v], B[:, o][:, :, c]
    C_o, C_v, D_a = C[:, :, o], C[:, :, at.v], D[:, :, c]
    A_v = A_v + B_a @ N
    E = _sum((A_o, B_a), A_v)
    into, by_place, by_rate = A[:, o][:, :, at.q] + (A_v - B_a @ N) @ N, ((C_o, E), (C_v, N), C[:, :, at.q]), (C_o, B_a)
    B_r = _sum((A_o, E), into)
    _refuse_improper(model, inputs, outputs, D_a, _is_rate(A_o, (by_rate, (D_a, N), C_v), by_place, (C_o, B_r)))
    B, D = B[:, o].copy(), D.copy()
    B[:, :, c], D[:, :, c] = B_r, _sum(*by_place)
    return (A_o, B, C_o, D), states[o]


def _sum(*terms: Array | tuple[Array, Array]) -> Array:
    """Return the sum of matrices and of products of two, zero where nothing but rounding is left of the terms."""
    total = sum(each[0] @ each[1] if isinstance(each, tuple) else each for each in terms)
    return np.where(np.abs(total) > EXACT * _term_sizes(*terms), total, 0.0)


def _term_sizes(*terms: Array | tuple[Array, Array]) -> Any:
    return sum(np.abs(each[0]) @ np.abs(each[1]) if isinstance(each, tuple) else np.abs(each) for each in terms)


def _is_rate(A: Array, by_rate: Sequence[Any], by_place: Sequence[Any], by_states: tuple[Array, Array]) -> Array:
    """Return where rates of displacements remain (n, outputs, m): by more than rounding of responses at the fastest pole."""
    rate = np.abs(np.linalg.eigvals(A)).max(axis=-1, initial=0.0)[:, None, None]
    per_rate = np.divide(1.0, rate, out=np.zeros_like(rate), where=rate > 0)
    sizes = _term_sizes(*by_rate) + (_term_sizes(*by_place) + _term_sizes(by_states) * per_rate) * per_rate
    return np.abs(_sum(*by_rate)) > SAME * sizes  # type: ignore[no-any-return]


def _refuse_improper(model: Model, inputs: SystemInputs, outputs: Sequence[Signal], D_a: Array, is_rate: Array) -> None:
    """Refuse outputs (n, outputs, m) in which the accelerations of displacements remain, or the rates."""
    scale = model.mechanism.scale.at_rate(1.0)
    units = [inputs.signals[column].unit for column in inputs.displaced.values()]
    sizes = np.array([scale.of_unit(signal.unit) for signal in outputs])[:, None] / [scale.of_unit(unit) for unit in units]
    for what, needed in (("acceleration", np.abs(D_a) > SAME * sizes), ("rate", is_rate)):
        if needed.any():
            _, row, column = np.argwhere(needed)[0].tolist()
            output, name = outputs[row].path, model.coordinate_names[[*inputs.displaced][column]]
            got, expected = f"{output} needs the {what} of {name}.q", "outputs that need no derivative of an input"
            raise ModelError(Finding("improper", "outputs", got, expected, f"take {name}.a as input, or leave {output} out"))
