"""Gaps and forces of contacts, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import motion_derivatives, stepping
from titop.graph.network.connections import Joined
from titop.solvers.constraints.interaction_loads import contacts_of, target_derivatives, target_motion
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs


def contact_values(at: Snapshot, of: Quantity) -> Array:
    """Return the gaps (k) of a contact at a state, or the sum (3) of its forces followed by each of them (3 k)."""
    loop, motion = _moving(at, of)
    return _read(loop.closure, of.kind, motion)


def contact_derivatives(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change of the gaps or forces of a contact with ``z = [states; inputs]``."""
    loop, motion = _moving(at, of)
    contact, step = loop.closure, stepping(loop.closure)
    slopes = motion_derivatives(lambda moved: _read(contact, of.kind, moved), motion, step)
    by_state = slopes @ target_derivatives(at.model.mechanism, loop, at.q, at.v, motion)
    changed: Array = by_state @ np.vstack([change.q, change.v])
    if len(motion.x):
        by_states = step(lambda x: _read(contact, of.kind, motion._replace(x=x)), motion.x)
        changed = changed + by_states @ change.inputs[len(inputs.named) :][dict(at.model.mechanism.inputs.states)[contact.name]]
    return changed


def _moving(at: Snapshot, of: Quantity) -> tuple[Joined, TargetMotion]:
    """Return a contact with its targets, and their motion with the contact's states."""
    loop, model = contacts_of(at.model.mechanism)[of.owner], at.model
    places = dict(model.mechanism.inputs.driving).get(of.owner, [])
    return loop, target_motion(model.mechanism, loop, at.q, at.v, np.asarray(model.mechanism.inputs.whole(at.u))[places])


def _read(contact: Any, kind: Kind, motion: TargetMotion) -> Array:
    touches = contact.touches(motion)
    if kind == Kind.GAP:
        return np.array([touch.gap for touch in touches])
    forces = np.array([touch.force for touch in touches])
    return np.concatenate([forces.sum(axis=0), forces.ravel()])
