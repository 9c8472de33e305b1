"""How reactions, and other wrenches that are transmitted, change with the state and the inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.complex_steps import complex_step, trusted_step
from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.contract.overrides import is_titops_own
from titop.blocks.interactions.interaction import load_derivatives
from titop.graph.network.connections import Loop
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs


def reaction_derivative(at: Snapshot, change: SnapshotDerivatives, name: str, inputs: SystemInputs) -> Array:
    """Return the change (6, z) of the reaction of a joint or closure; wrenches and actuators among the inputs enter it."""

    def reaction(state: Snapshot) -> Array:
        return state.model.reaction(name, state.q, state.v, state.a, state.wrenches, state.u, state.tau)

    acting = next((loop for loop in at.model.interactions if loop.closure.name == name), None)
    if acting is not None:
        return _of_interaction(at, change, acting, inputs)
    return transmitted_derivative(at, change, name, inputs, reaction)


def transmitted_derivative(
    at: Snapshot, change: SnapshotDerivatives, name: str, inputs: SystemInputs, read: Callable[[Snapshot], Array]
) -> Array:
    """Return the change (6, z) of a wrench that `read` finds at a state, transmitted by a joint, or by a rod at a port."""
    return _of_loops(at, change, inputs, read) if at.model.is_constrained else _of_tree(at, change, name, inputs)


def _of_interaction(at: Snapshot, change: SnapshotDerivatives, loop: Loop, inputs: SystemInputs) -> Array:
    """Return the change of what an interaction does to its second port, as its targets move and by its inputs."""
    model, interaction = at.model, loop.closure
    own = next((where for name, where in model.inputs.acting if name == interaction.name), slice(0, 0))
    motion = target_motion(model, loop, at.q, at.v, at.inputs[own] if at.inputs.size else None)
    step = complex_step if is_titops_own(interaction) else trusted_step
    moved, turned = [], []
    for S, by_q, _, _ in model.engine.derivatives.motion([str(ref) for ref in loop.ports], at.q, at.v, at.a):
        moved.append(S @ change.q)
        turned.append(by_q @ change.q + S @ change.v)
    apart = [s - twist_transport(R, r) @ moved[0] for s, R, r in zip(moved[1:], motion.R[1:], motion.r[1:], strict=True)]
    places = np.array([model.assembly.place(name)[1] for name in loop.coordinates], dtype=int)
    along = np.vstack([*apart, *turned, change.q[places], change.v[places]])
    result: Array = load_derivatives(interaction, motion, step)[6:12] @ along
    for channel, by in zip(inputs.channels, change.inputs, strict=True):
        if channel.kind == Kind.INPUT and own.start <= channel.entry < own.stop:
            unit = np.eye(own.stop - own.start)[channel.entry - own.start]
            more = interaction.act(motion._replace(u=motion.u + unit))[0][1] - interaction.act(motion)[0][1]
            result = result + np.outer(more, by)
    return result


def _of_tree(at: Snapshot, change: SnapshotDerivatives, name: str, inputs: SystemInputs) -> Array:
    """Return the change as that of the efforts that hold what was opened."""
    opened, own_inputs = inputs.opened(at.model, name)
    own = np.array([opened.coordinate_names.index(name) for name in at.model.coordinate_names], dtype=int)
    added = np.setdiff1d(range(opened.nv), own)
    q = opened.neutral()
    q[[opened.configuration_names.index(name) for name in at.model.configuration_names]] = at.q
    v, a = np.zeros((2, opened.nv))
    v[own], a[own] = at.v, at.a
    by_q, by_v, by_a = opened.inverse_dynamics_derivatives(q, v, a, at.wrenches, u=at.u)
    by_input = -own_inputs.efforts(opened, q)[added]
    rows = np.ix_(added, own)
    return by_q[rows] @ change.q + by_v[rows] @ change.v + by_a[rows] @ change.a + by_input @ change.inputs


def _of_loops(at: Snapshot, change: SnapshotDerivatives, inputs: SystemInputs, read: Callable[[Snapshot], Array]) -> Array:
    """Return the change by complex steps through the reference resolver, exact to rounding."""
    reference = at.model.engine.specification(at.model.assembly, float)

    def transmitted(z: Array) -> Array:
        u, wrenches = _acting(at, inputs, change.inputs @ z)
        q = reference.integrate(at.q, change.q @ z)
        v, a, tau = at.v + change.v @ z, at.a + change.a @ z, at.tau + change.tau @ z
        return read(Snapshot(reference, q, v, a, tau, u, wrenches))

    return complex_step(transmitted, np.zeros(change.q.shape[-1]))


def _acting(at: Snapshot, inputs: SystemInputs, steps: Array) -> tuple[Array | None, dict[str, Array]]:
    """Return actuators' inputs and wrenches with the changes of the system's inputs."""
    u = at.inputs.astype(complex)
    wrenches = {port: np.asarray(wrench, dtype=complex).copy() for port, wrench in (at.wrenches or {}).items()}
    for channel, step in zip(inputs.channels, steps, strict=True):
        if channel.kind == Kind.INPUT:
            u[channel.entry] += step
        elif channel.kind == Kind.WRENCH:
            wrenches.setdefault(channel.port, np.zeros(6, dtype=complex))[channel.entry] += step
    return (u if u.size else None), wrenches
