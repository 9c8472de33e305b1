"""Reactions of joints and closures, strains and wrenches of rod sections, gaps and forces of contacts: how they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import load_derivatives, loads_by_states, motion_derivatives, stepping
from titop.graph.network.connections import Joined
from titop.solvers.constraints.closed_derivatives import by_small_twists, closure_wrenches, inverse_with_constraints, port_pairs
from titop.solvers.constraints.closed_dynamics import closure_pushes
from titop.solvers.constraints.interaction_loads import contacts_of, target_derivatives, target_motion
from titop.solvers.mechanism.inputs import Push
from titop.solvers.signals.lines_and_sections import section_of
from titop.solvers.signals.quantities import Kind, NamedModel, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs


def reaction_derivative(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (6, z) of the reaction of a joint or closure, including the direct effect of inputs."""
    for loop in at.model.mechanism.interactions:
        if loop.closure.name == of.owner:
            return _of_interaction(at, change, loop, inputs)
    for loop in at.model.mechanism.rigid_loops:
        if loop.closure.name == of.owner:
            return closure_derivative(at, change, loop, inputs)[6:]
    return _of_joint(at, change, of.owner, inputs)


def _of_interaction(at: Snapshot, change: SnapshotChanges, loop: Joined, inputs: SystemInputs) -> Array:
    """Return the change of an interaction's wrench on its second port, by the motion of its targets and by its inputs."""
    model, interaction = at.model, loop.closure
    motion = _motion(at, loop)
    places = np.arange(model.mechanism.inputs.count)[dict(model.mechanism.inputs.driving).get(interaction.name, slice(0))]
    by_motion = load_derivatives(interaction, motion, stepping(interaction))[6:12]
    result: Array = by_motion @ target_derivatives(model.mechanism, loop, at.q, at.v, motion) @ np.vstack([change.q, change.v])
    by_states = loads_by_states(interaction, motion)[6:12]
    for channel, by in zip(inputs.channels, change.inputs, strict=True):
        if channel.kind == Kind.INPUT and channel.entry in places:
            k = places.tolist().index(channel.entry)
            if k < len(motion.u):
                unit = np.eye(len(motion.u))[k]
                more = interaction.act(motion._replace(u=motion.u + unit))[0][1] - interaction.act(motion)[0][1]
            else:
                more = by_states[:, k - len(motion.u)]
            result = result + np.outer(more, by)
    return result


def closure_derivative(at: Snapshot, change: SnapshotChanges, loop: Joined, inputs: SystemInputs) -> Array:
    """Return the change (12, z) of a rigid closure's wrenches on both ports, by their motion and by its multipliers."""
    pair = port_pairs(at.model.mechanism, [loop], at.q)[0]
    rows = at.model.mechanism.closure_rows[loop.closure.name]
    multipliers, changes = (part[rows] for part in change.constraint_loads(at, inputs.loads))
    turning = change.along(by_small_twists(pair, closure_wrenches(loop.closure, multipliers)) @ pair.S)
    return turning + np.hstack(loop.closure.jacobians(pair.rotation, pair.position)).T @ changes


def _of_joint(at: Snapshot, change: SnapshotChanges, name: str, inputs: SystemInputs) -> Array:
    """Return the change of the wrench that a joint transmits: of the efforts on the added coordinates of the opened model."""
    opened, carried = Opened.at(at, name), change.constraint_loads(at, inputs.loads)
    model, q, v, a = opened.motion
    changes, jacobian = inverse_with_constraints(model.mechanism, q, v, a, opened.pushes, carried.multipliers)
    return opened.held(changes, change, inputs) - jacobian[:, opened.added].T @ carried.changes


class Opened(NamedTuple):
    """A model opened at a joint, or at a port of a rod, in the state of a snapshot.

    - `motion`: the opened model, and its q, v and a;
    - `pushes`: the external loads;
    - `u`: the inputs among these;
    - `own`, `added`: indices of the coordinates (nv) of the original model, and of the six added ones.
    """

    motion: tuple[NamedModel, Array, Array, Array]
    pushes: list[Push]
    u: Array | None
    own: Array
    added: Array

    @classmethod
    def at(cls, at: Snapshot, name: str) -> Opened:
        """Return a snapshot's model opened at a joint or port, with the added coordinates at rest."""
        opened = at.model._on(at.model.mechanism.open_at(name))
        own = np.array([opened.coordinate_names.index(name) for name in at.model.coordinate_names], dtype=int)
        q, (v, a) = opened.neutral(), np.zeros((2, opened.nv))
        q[[opened.configuration_names.index(name) for name in at.model.configuration_names]] = at.q
        v[own], a[own] = at.v, at.a
        pushes = opened.mechanism.external_pushes(at.wrenches, at.u)
        return cls((opened, q, v, a), pushes, at.u, own, np.delete(np.arange(opened.nv), own))

    def held(self, changes: Array, change: SnapshotChanges, inputs: SystemInputs) -> Array:
        """Return the change (6, z) of the efforts on the added coordinates, from all `changes` (3, nv, nv) by q, v and a."""
        by_q, by_v, by_a = changes[:, self.added[:, None], self.own]
        loads: Array = inputs.loads(*self.motion[:3], self.u)[self.added]
        return change.along(by_q, by_v, by_a) - loads @ change.inputs


def strain_derivative(at: Snapshot, change: SnapshotChanges, of: Quantity, *_: Any) -> Array:
    """Return the change (6, z) of the strain of the section at a port, by the rod's strain shapes there."""
    rod, fraction = section_of(at.model.mechanism.assembly, of.owner)
    shapes: Array = rod.strain_shapes([fraction * rod.length])[0]
    return shapes @ change.q[at.model.mechanism.assembly.v_slices[rod.name]]


def section_wrench_derivative(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (6, z) of the wrench of the section at a port, including the direct effect of inputs.

    A cut rod is integrated with other steps, so that its tip differs slightly. Closures therefore act with the wrenches that
    they have in the uncut system.
    """
    opened, carried = Opened.at(at, of.owner), change.constraint_loads(at, inputs.loads)
    model, q, v, a = opened.motion
    pushes = [*opened.pushes, *closure_pushes(at.model.mechanism, at.q, carried.multipliers)]
    result = opened.held(model.mechanism.engine.derivatives.tree_inverse(q, v, a, pushes), change, inputs)
    for loop in at.model.mechanism.rigid_loops:
        both = np.vstack([model.jacobian(str(ref), q)[:, opened.added] for ref in loop.ports])
        result = result - both.T @ closure_derivative(at, change, loop, inputs)
    return result


def contact_values(at: Snapshot, of: Quantity) -> Array:
    """Return the gaps (k) of a contact at a state, or the sum (3) of its forces followed by each of them (3 k)."""
    loop = contacts_of(at.model.mechanism)[of.owner]
    return _read(loop.closure, of.kind, _motion(at, loop))


def contact_derivatives(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change of the gaps or forces of a contact with ``z = [states; inputs]``."""
    loop = contacts_of(at.model.mechanism)[of.owner]
    return _changes(at, change, loop, lambda motion: _read(loop.closure, of.kind, motion), inputs)


def reading_values(at: Snapshot, of: Quantity) -> Array:
    """Return what an interaction measures at a state."""
    loop = _interaction(at, of)
    return loop.closure.read(_motion(at, loop))


def reading_derivatives(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change of what an interaction measures with ``z = [states; inputs]``."""
    loop = _interaction(at, of)
    return _changes(at, change, loop, loop.closure.read, inputs)


def _interaction(at: Snapshot, of: Quantity) -> Any:
    return next(loop for loop in at.model.mechanism.interactions if loop.closure.name == of.owner)


def _changes(
    at: Snapshot, change: SnapshotChanges, loop: Any, read: Callable[[TargetMotion], Array], inputs: SystemInputs
) -> Array:
    """Return the change of a function of an interaction's motion, inputs and states."""
    motion, step, m = _motion(at, loop), stepping(loop.closure), len(loop.closure.inputs)
    slopes = motion_derivatives(read, motion, step)
    by_state = slopes @ target_derivatives(at.model.mechanism, loop, at.q, at.v, motion)
    changed: Array = by_state @ np.vstack([change.q, change.v])
    if not m and not len(motion.x):
        return changed
    driving = step(lambda w: read(motion._replace(u=w[:m], x=w[m:])), np.concatenate([motion.u, motion.x]))
    places = np.arange(at.model.mechanism.inputs.count)[dict(at.model.mechanism.inputs.driving)[loop.closure.name]].tolist()
    for channel, by in zip(inputs.channels, change.inputs, strict=False):
        if channel.kind == Kind.INPUT and channel.entry in places:
            changed = changed + np.outer(driving[:, places.index(channel.entry)], by)
    return changed


def _motion(at: Snapshot, loop: Joined) -> TargetMotion:
    inputs = at.model.mechanism.inputs
    places = dict(inputs.driving).get(loop.closure.name, slice(0))
    return target_motion(at.model.mechanism, loop, at.q, at.v, np.asarray(inputs.whole(at.u))[places])


def _read(contact: Any, kind: Kind, motion: TargetMotion) -> Array:
    touches = contact.touches(motion)
    if kind == Kind.GAP:
        return np.array([touch.gap for touch in touches])
    forces = np.array([touch.force for touch in touches])
    return np.concatenate([forces.sum(axis=0), forces.ravel()])
