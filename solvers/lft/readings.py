"""Outputs as signals of the loop, exact in uncertain numbers; what reads uncertain numbers in other ways is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.paths import owner_of
from titop.solvers.lft.factored_laws import CONVECTIVE
from titop.solvers.lft.loops import LinearLoop, Rows, stack, zeros
from titop.solvers.lft.passes import Changes, Tree
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.linear.system_outputs import SystemOutputs, read_outputs
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs


class Moving(NamedTuple):
    """Signals of the whole system.

    Attributes
    ----------
    q, v, a, tau : Rows (nv)
        Changes of coordinates, rates, accelerations and applied efforts.
    inputs : Rows
    x : Rows (nx)
        Changes of states of the first order.
    changes : Changes
    """

    q: Rows
    v: Rows
    a: Rows
    tau: Rows
    inputs: Rows
    x: Rows
    changes: Changes


class _Slopes(SnapshotChanges):
    """What outputs' derivatives are asked of, by ``[dq; dv; da; dtau; inputs]``: `sizes` of these."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.q, self.v, self.a, self.tau, self.inputs = np.split(np.eye(sum(sizes)), np.cumsum(sizes[:-1]))


def output_groups(tree: Tree, outputs: Sequence[Any], system_inputs: SystemInputs) -> tuple[SystemOutputs, ...]:
    """Return what outputs stand for."""
    state = tree.state
    return read_outputs(state.model, outputs, system_inputs, lambda: (state.q, state.v, state.a, np.zeros(state.model.nu)))


def read(tree: Tree, moving: Moving, output: Any, system_inputs: SystemInputs) -> tuple[SystemOutputs, Rows, bool]:
    """Return what an output stands for, its signals, and whether their dependence on uncertain numbers is known to be exact."""
    group = output_groups(tree, [output], system_inputs)[0]
    if isinstance(output, str):
        of = read_name(tree.state.model, OUTPUT, output)
        if (reading := READINGS.get(of.kind)) is not None:
            found = reading(tree, moving, of)
            if found is not None:
                return group, found[list(of.entries)], True
    return group, _sampled(tree, moving, group), False


def _sampled(tree: Tree, moving: Moving, group: SystemOutputs) -> Rows:
    """Return signals by their derivatives in the middle of all ranges."""
    model, q, v, a = tree.state
    tau = model.inverse_dynamics(q, v, a) if model.is_tree else np.zeros(model.nv)
    nv, m = model.nv, len(moving.inputs)
    at = Snapshot(model, q, v, a, tau, None, None, q)
    slopes = np.asarray(group.derivatives(at, _Slopes(nv, nv, nv, nv, m)))
    return slopes @ stack(moving.q, moving.v, moving.a, moving.tau, moving.inputs)


# -- ports -----------------------------------------------------------------------------------------------------------------


def _place(tree: Tree, of: Quantity) -> tuple[int, str | None]:
    return tree.place(of.owner)


def _twist(tree: Tree, moving: Moving, of: Quantity) -> Rows:
    return moving.changes.at_port(*_place(tree, of)).twist


def _acceleration(tree: Tree, moving: Moving, of: Quantity) -> Rows:
    """Return the change of the spatial acceleration: what is less gravity's, and gravity's as it turns."""
    return moving.changes.port_acceleration(*_place(tree, of))


def _specific_force(tree: Tree, moving: Moving, of: Quantity) -> Rows:
    """Return the change of ``a + w x v``, accelerations less gravity's."""
    change = moving.changes.at_port(*_place(tree, of))
    return change.acceleration[:3] + CONVECTIVE @ change.products


def _position(tree: Tree, moving: Moving, of: Quantity) -> Rows | None:
    """Return the change of a position in inertial axes; None where angles are asked for as well."""
    if max(of.entries) >= 3:
        return None
    k, port = _place(tree, of)
    moved = moving.changes.at_port(k, port).displacement[:3]
    for step in reversed(tree.way(k, port)):
        moved = step.vector(moving.changes.loop, moved, back=True)
    return moved


def _reaction(tree: Tree, moving: Moving, of: Quantity) -> Rows | None:
    """Return the change of the wrench that a joint transmits to its child, or a closure to its second port.

    None of interactions, and of closures that share what they carry.
    """
    if of.owner not in tree.index:
        return moving.changes.closing.get(of.owner)
    joint = tree.index[of.owner]
    child = next(k for k, node in enumerate(tree.nodes) if node.parent == joint)
    return moving.changes.carried[child]


def _momentum(tree: Tree, moving: Moving, of: Quantity) -> Rows | None:
    """Return the change of a wheel's momentum; None where its inertia may be uncertain."""
    wheel = tree.state.model.assembly.joined_by[owner_of(of.owner)].child.block.name
    return None if any(owner_of(path) == wheel for path in tree.uncertainty.paths()) else moving.v * of.factor


def _displacements(tree: Tree, moving: Moving, of: Quantity) -> Rows:
    return moving.q


#: From a tree, its signals and a quantity to the signals of all entries of the quantity's vector.
READINGS: dict[Kind, Any] = {
    Kind.POSITION: _displacements,
    Kind.RATE: lambda tree, moving, of: moving.v,
    Kind.ACCELERATION: lambda tree, moving, of: moving.a,
    Kind.EFFORT: lambda tree, moving, of: moving.tau,
    Kind.OWN_STATE: lambda tree, moving, of: moving.x,
    Kind.MOMENTUM: _momentum,
    Kind.TWIST: _twist,
    Kind.PORT_ACCELERATION: _acceleration,
    Kind.SPECIFIC_FORCE: _specific_force,
    Kind.POSE: _position,
    Kind.REACTION: _reaction,
}


def apply_gains(loop: LinearLoop, signal: Rows, gains: Sequence[Polynomial | None]) -> Rows:
    """Return signals times uncertain gains (of one entry each), None where they are certain."""
    rows = [signal[k] if gain is None else gain.apply(loop, signal[k]) for k, gain in enumerate(gains)]
    return stack(*rows) if rows else zeros(0)
