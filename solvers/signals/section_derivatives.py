"""How strains and wrenches of rods' sections change with the state and the inputs."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.closed_dynamics import closure_pushes
from titop.solvers.signals.quantities import Quantity
from titop.solvers.signals.reaction_derivatives import Opened, closure_derivative
from titop.solvers.signals.section_opening import section_of
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs


def strain_derivative(at: Snapshot, change: SnapshotChanges, port: str) -> Array:
    """Return the change (6, z) of the strain of the section at a port: the rod's shapes there."""
    rod, fraction = section_of(at.model.mechanism.assembly, port)
    shapes: Array = rod.strain_shapes([fraction * rod.length])[0]
    return shapes @ change.q[at.model.mechanism.assembly.v_slices[rod.name]]


def section_wrench_derivative(at: Snapshot, change: SnapshotChanges, of: Quantity, inputs: SystemInputs) -> Array:
    """Return the change (6, z) of what the section at a port transmits; wrenches and actuators among the inputs enter it.

    Where a rod is cut it is integrated in other steps: its tip is known a little differently there. So closures act by the
    wrenches that they have in the whole system.
    """
    opened, carried = Opened.at(at, of.owner), change.carried(at, inputs.loads)
    model, q, v, a = opened.motion
    pushes = [*opened.pushes, *closure_pushes(at.model.mechanism, at.q, carried.multipliers)]
    result = opened.held(model.mechanism.engine.derivatives.tree_inverse(q, v, a, pushes), change, inputs)
    for loop in at.model.mechanism.rigid_loops:
        both = np.vstack([model.jacobian(str(ref), q)[:, opened.added] for ref in loop.ports])
        result = result - both.T @ closure_derivative(at, change, loop, inputs)
    return result
