"""The linear equations of stacked operating points: what `linearize` and `lpv` share.

With ``x = [dq; dv]`` the displacements from a reference that moves with the point's velocities::

    d(dq)/dt = dv - ad(v0) dq          d(dv)/dt = da        da = a_q dq + a_v dv + a_w w

where w are the inputs and ``ad`` acts on free and spherical coordinates. The states are x, reduced to independent coordinates.
States of the first order are inputs of all this; in the end their rates are states' too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.closed_dynamics import refuse_overdriven
from titop.solvers.linear.system_outputs import SystemOutputs
from titop.solvers.mechanism.coordinate_sizes import coordinate_sizes
from titop.solvers.model.model import Model
from titop.solvers.model.reduction import Reduction, closure_derivatives, reduction
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs

#: How exactly an equilibrium is known (rad, and m for a system of size one): the tolerance of `trim`.
_NEARBY = 1e-9

#: How little a held coordinate turns with others, over how fast these move, that counts as nothing.
_NOTHING = 1e-9


class Points(NamedTuple):
    """Stacked operating points.

    Attributes
    ----------
    models : sequence of Model
        One for each point; they may be the same.
    q : (n, nq) array
    v, tau : (n, nv) arrays
    u : (n, nu + nx) array or None
        States of the first order behind inputs.
    wrenches : mapping of port name to (n, 6) array, or None
    a : (n, nv) array or None
        Accelerations of prescribed coordinates; without, those of the point (`SystemInputs.accelerations`).
    """

    models: Sequence[Model]
    q: Array
    v: Array
    tau: Array
    u: Array | None = None
    wrenches: Mapping[str, Array] | None = None
    a: Array | None = None

    def inputs(self, k: int) -> Array | None:
        """Return the k-th inputs."""
        return None if self.u is None else self.u[k]

    def loads(self, k: int) -> dict[str, Array] | None:
        """Return the k-th external wrenches."""
        return None if not self.wrenches else {port: values[k] for port, values in self.wrenches.items()}

    def states(self) -> Iterator[tuple[Model, Array, Array, Array | None]]:
        """Yield model, q, v and inputs of each point."""
        return ((model, self.q[k], self.v[k], self.inputs(k)) for k, model in enumerate(self.models))

    def one(self, k: int) -> Points:
        """Return the k-th point, stacked alone."""
        wrenches = None if not self.wrenches else {port: values[k : k + 1] for port, values in self.wrenches.items()}
        u = None if self.u is None else self.u[k : k + 1]
        a = None if self.a is None else self.a[k : k + 1]
        return Points([self.models[k]], self.q[k : k + 1], self.v[k : k + 1], self.tau[k : k + 1], u, wrenches, a)


def nearby(points: Points, rng: np.random.Generator) -> Points:
    """Return points next to given ones, as far away as an equilibrium is known; with closures and gears, closed ones."""
    reach = _NEARBY * _sizes(points)
    q, v = points.q.copy(), points.v * (1.0 + _NEARBY * rng.uniform(-1.0, 1.0, points.v.shape))
    for k, own in enumerate(points.models):
        q[k] = own.integrate(q[k], reach * rng.uniform(-1.0, 1.0, own.nv))
        if own.is_constrained:
            q[k] = own.assemble(q[k])
            v[k] = own.assemble_velocity(q[k], v[k])
    return points._replace(q=q, v=v)


def _sizes(points: Points) -> Array:
    """Return what counts as one for each coordinate (nv)."""
    model = points.models[0]
    return coordinate_sizes(model.assembly, np.diag(model.mass_matrix(points.q[0])), model.size)


class LinearMotion(NamedTuple):
    """Accelerations and efforts (n, nv) at stacked points, and all coordinates' linear equations."""

    a: Array
    tau: Array
    by_state: Array
    by_input: Array
    effort_by_state: Array
    effort_by_input: Array


class LinearEquations(NamedTuple):
    """Stacked linear equations.

    Attributes
    ----------
    A, B, C, D : (n, ., .) arrays
    a, tau : (n, nv) arrays
        Accelerations and efforts at the points.
    drift : (n, nv) array
        How the accelerations change while the reference moves: zero where it does so steadily.
    states : (x,) int array
        Entries of ``[dq; dv; dx]``, states of the first order last.
    own_rates : (n, nx) array
        How these change at the points.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    a: Array
    tau: Array
    drift: Array
    own_rates: Array
    states: Array


def linear_equations(
    points: Points,
    system_inputs: SystemInputs,
    system_outputs: Sequence[SystemOutputs],
    independent: Sequence[str] | None = None,
) -> LinearEquations:
    """Return the linear equations of stacked points, all in the same states.

    Without `independent` the first point chooses its coordinates.

    Raises
    ------
    ModelError
        If held coordinates move, and where the chosen coordinates are not independent.
    """
    model, q, v = points.models[0], points.q[0], points.v[0]
    if len(points.q) > 1 and closure_derivatives(model, q, v) is not None:
        first = linear_equations(points.one(0), system_inputs, system_outputs, independent)
        chosen = [model.coordinate_names[k] for k in first.states if k < model.nv]
        parts = [
            first,
            *(linear_equations(points.one(k), system_inputs, system_outputs, chosen) for k in range(1, len(points.q))),
        ]
        return LinearEquations._make([*map(np.concatenate, list(zip(*parts, strict=True))[:-1]), first.states])
    motion = motions(points, system_inputs)
    reduced = reduction(model, q, v, system_inputs.held, independent)
    if system_inputs.held.any():
        _refuse_moving(points, motion.by_state, system_inputs, reduced)
    efforts = motion.effort_by_state, motion.effort_by_input
    change = SnapshotDerivatives(reduced.columns, motion.by_state, motion.by_input, *efforts)
    outputs = _outputs(points, motion, system_outputs, change)
    A, B = reduced.rows(reduced.columns(motion.by_state)), reduced.rows(motion.by_input)
    y = np.concatenate(outputs, axis=1) if outputs else np.zeros((len(A), 0, A.shape[2] + B.shape[2]))
    drift = (motion.by_state[:, model.nv :, : model.nv] @ points.v[:, :, None])[..., 0]
    matrices = A, B, y[..., : A.shape[1]], y[..., A.shape[1] :]
    own_rates, states = np.zeros((len(points.q), model.nx)), reduced.states
    if model.nx:
        matrices = with_own_states(matrices, points, system_inputs, reduced.columns)
        own_rates = np.array([each.state_rates(q, v, u=u) for each, q, v, u in points.states()])
        states = np.concatenate([states, 2 * model.nv + np.arange(model.nx)])
    return LinearEquations(*matrices, motion.a, motion.tau, drift, own_rates, states)


def with_own_states(
    matrices: tuple[Array, Array, Array, Array],
    points: Points,
    system_inputs: SystemInputs,
    columns: Callable[[Array], Array],
) -> tuple[Array, Array, Array, Array]:
    """Return A, B, C and D (n, ., .) with states of the first order, the last of the inputs, as states.

    `columns` takes matrices that act on ``[dq; dv]`` to those that act on the other states.
    """
    model, count = points.models[0], len(system_inputs.named)
    driven = [channel.entry if channel.kind == Kind.INPUT else model.nu for channel in system_inputs.named]
    rows = []
    for each, q, v, u in points.states():
        own = each.state_rates_derivatives(q, v, u=u)
        by_u = np.hstack([own.by_u, np.zeros((model.nx, 1))])[:, driven]
        rows.append((columns(np.hstack([own.by_q, own.by_v])), own.by_x, by_u))
    by_state, by_x, by_u = map(np.array, zip(*rows, strict=True))
    A, B, C, D = matrices
    return (
        np.block([[A, B[..., count:]], [by_state, by_x]]),
        np.concatenate([np.broadcast_to(B, (len(A), *B.shape[-2:]))[..., :count], by_u], axis=1),
        np.concatenate([C, D[..., count:]], axis=2),
        D[..., :count],
    )


def motions(points: Points, system_inputs: SystemInputs) -> LinearMotion:
    """Return accelerations, efforts and all coordinates' linear equations at stacked points."""
    return _hybrid_motions(points, system_inputs) if system_inputs.prescribed.any() else _forward_motions(points, system_inputs)


def _forward_motions(points: Points, system_inputs: SystemInputs) -> LinearMotion:
    n, nv = points.v.shape
    a, A, B = np.empty((n, nv)), np.empty((n, 2 * nv, 2 * nv)), np.empty((n, 2 * nv, nv))
    simple = points.u is None and not points.wrenches
    for k, model in enumerate(points.models):
        acting = () if simple else (points.loads(k), points.inputs(k))
        a[k], A[k], B[k] = model.raw_linear_matrices(points.q[k], points.v[k], points.tau[k], *acting)
    applied = system_inputs.applied(nv)
    if system_inputs.depend_on_attitude:
        by_input = B @ np.array([system_inputs.efforts(*state) for state in points.states()])
    else:
        by_input = B[:, :, [channel.entry for channel in system_inputs.channels]]
    return LinearMotion(a, points.tau, A, by_input, np.zeros((nv, 2 * nv)), applied)


def _hybrid_motions(points: Points, system_inputs: SystemInputs) -> LinearMotion:
    rows = [_hybrid_motion(points, k, system_inputs) for k in range(len(points.q))]
    return LinearMotion(*(np.array(field) for field in zip(*rows, strict=True)))


def _hybrid_motion(points: Points, k: int, system_inputs: SystemInputs) -> LinearMotion:
    """Return the equations at one point."""
    model, q, v, u, wrenches = points.models[k], points.q[k], points.v[k], points.inputs(k), points.loads(k)
    nv, names = model.nv, system_inputs.imposed_names
    if model.is_constrained:
        refuse_overdriven(model, q, system_inputs.prescribed, system_inputs.held)
    imposed = system_inputs.accelerations(model, q, v, points.tau[k], wrenches, u) if points.a is None else points.a[k]
    a, tau = model.hybrid_dynamics(q, v, points.tau[k], imposed, names, wrenches, u)
    derivatives = model.hybrid_dynamics_derivatives(q, v, points.tau[k], imposed, names, wrenches, u)
    loads, motions, applied = system_inputs.loads(model, q, v, u), system_inputs.motions(nv), system_inputs.applied(nv)
    efforts = applied + loads
    A = np.block([[-model.bracket(v), np.eye(nv)], [derivatives.da_dq, derivatives.da_dv]])
    B = np.vstack([np.zeros_like(efforts), derivatives.da_dtau @ efforts + derivatives.da_da @ motions])
    by_input = derivatives.dtau_dtau @ efforts + derivatives.dtau_da @ motions - loads
    return LinearMotion(a, tau, A, B, np.hstack([derivatives.dtau_dq, derivatives.dtau_dv]), by_input)


def _outputs(points: Points, motion: LinearMotion, groups: Sequence[SystemOutputs], change: SnapshotDerivatives) -> list[Array]:
    """Return ``[C D]`` (n, outputs, states + inputs) of each group of outputs, each point's derivatives found once."""
    n, read = len(points.q), [group for group in groups if not group.selects]
    changes = ((snapshot(points, motion.a[k], motion.tau[k], k), change.at(k)) for k in range(n if read else 0))
    at_points = [[group.derivatives(at, own) for group in read] for at, own in changes]
    stacked = map(np.array, zip(*at_points, strict=True))
    rows = [group.derivatives(None, change) if group.selects else next(stacked) for group in groups]
    return [np.broadcast_to(part, (n, *part.shape[-2:])) for part in rows]


def snapshot(points: Points, a: Array, tau: Array, k: int) -> Snapshot:
    """Return the k-th point with its accelerations and efforts."""
    q = points.q[k]
    return Snapshot(points.models[k], q, points.v[k], a, tau, points.inputs(k), points.loads(k), q)


def _refuse_moving(points: Points, by_state: Array, system_inputs: SystemInputs, reduced: Reduction) -> None:
    """Refuse held coordinates that move at the points, or that turn with others that do."""
    model, v, held = points.models[0], points.v, np.flatnonzero(system_inputs.held)
    moving = np.abs(v[:, held]).max(axis=0, initial=0.0) > 0
    sizes = _sizes(points)
    speed = float(np.abs(v / sizes).max(initial=0.0)) or 1.0
    changes = np.concatenate([sizes, speed * sizes])[reduced.states]
    turned = np.abs(reduced.columns(by_state)[:, held]) * changes / (speed * sizes[held, None])
    turning = turned.max(axis=(0, 2), initial=0.0) > _NOTHING
    for k, moves, turns in zip(held, moving, turning, strict=True):
        name = model.coordinate_names[k]
        if moves:
            found, advice = (
                f"{name} moves",
                f"drive it: inputs=[{name + '.a'!r}]; and leave its angle out: omit=[{name + '.q'!r}]",
            )
        elif turns:
            found, advice = f"{name} turns with a body that spins", "hold all coordinates of the joint, or none"
        else:
            continue
        raise ModelError(Finding("held-moves", "hold", found, "coordinates at rest", advice))
