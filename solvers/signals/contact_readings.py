"""Gaps and forces of contacts, and their derivatives."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.contact import Contact
from titop.blocks.interactions.interaction import motion_derivatives
from titop.solvers.constraints.interaction_loads import contacts_of, target_derivatives, target_motion
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges


def contact_values(at: Snapshot, of: Quantity) -> Array:
    """Return all gaps (k) of a contact at a state, or the sum (3) of its forces and then each (3 k)."""
    loop = contacts_of(at.model)[of.owner]
    return _read(loop.closure, of.kind, target_motion(at.model, loop, at.q, at.v))


def contact_derivatives(at: Snapshot, change: SnapshotChanges, of: Quantity) -> Array:
    """Return the change of these with ``z = [states; inputs]``."""
    loop = contacts_of(at.model)[of.owner]
    motion = target_motion(at.model, loop, at.q, at.v)
    slopes = motion_derivatives(lambda moved: _read(loop.closure, of.kind, moved), motion, complex_step)
    by_state = slopes @ target_derivatives(at.model, loop, at.q, at.v, motion)
    changed: Array = by_state @ np.vstack([change.q, change.v])
    return changed


def _read(contact: Contact, kind: Kind, motion: TargetMotion) -> Array:
    touches = contact.touches(motion)
    if kind == Kind.GAP:
        return np.array([touch.gap for touch in touches])
    forces = np.array([touch.force for touch in touches])
    return np.concatenate([forces.sum(axis=0), forces.ravel()])
