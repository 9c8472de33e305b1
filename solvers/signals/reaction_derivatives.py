"""How reactions, and other wrenches that are transmitted, change with the state and the inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs


def reaction_derivative(at: Snapshot, change: SnapshotDerivatives, name: str, inputs: SystemInputs) -> Array:
    """Return the change (6, z) of the reaction of a joint or closure; wrenches and actuators among the inputs enter it."""

    def reaction(state: Snapshot) -> Array:
        return state.model.reaction(name, state.q, state.v, state.a, state.wrenches, state.u, state.tau)

    return transmitted_derivative(at, change, name, inputs, reaction)


def transmitted_derivative(
    at: Snapshot, change: SnapshotDerivatives, name: str, inputs: SystemInputs, read: Callable[[Snapshot], Array]
) -> Array:
    """Return the change (6, z) of a wrench that `read` finds at a state, transmitted by a joint, or by a rod at a port."""
    return _of_tree(at, change, name, inputs) if at.model.is_tree else _of_loops(at, change, inputs, read)


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
