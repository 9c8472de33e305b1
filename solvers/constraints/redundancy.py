"""Constraints of rigid closures that follow from others, and the kind of closure that would leave these out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.closure import relative_pose
from titop.blocks.constraints.rigid_closure import KINDS, RigidClosure
from titop.graph.network.connections import Loop
from titop.solvers.constraints.branch import comparable_jacobian
from titop.solvers.constraints.mechanism import ClosedMechanism
from titop.solvers.constraints.multipliers import independent_rows, redundant_rows

#: Kinds that are no cure: of nothing less, and of axes that nothing says.
_NOT_TRIED = ("weld", "universal")


def redundancy_findings(model: ClosedMechanism, q: Array) -> Iterator[Finding]:
    """Yield the closures of which constraints follow from others at a closed configuration (nq), but by design."""
    comparable, meant = comparable_jacobian(model, q), np.zeros(len(model.constraint_names), dtype=bool)
    rows = _rows_of(model)
    for loop in model.rigid_loops:
        meant[rows[loop.closure.name]] = loop.closure.redundant
    judged = np.flatnonzero(~meant)
    redundant = [model.constraint_names[judged[row]] for row in redundant_rows(comparable[judged])]
    loops = {loop.closure.name: loop for loop in model.rigid_loops}
    for closure in dict.fromkeys(owner_of(name) for name in redundant):
        own = [entry_of(name) for name in redundant if owner_of(name) == closure]
        expected, advice = "constraints that do not follow from the others", "reactions are then the least ones; "
        if closure in loops:
            advice += f"{_cure(model, q, loops[closure], rows[closure], comparable)}; redundant=True if it is meant"
        else:
            advice += "constrain less for determinate reactions"
        yield Finding("redundant-closure", closure, ", ".join(own), expected, advice)


def _rows_of(model: ClosedMechanism) -> dict[str, slice]:
    """Return where each closure's constraints stand among all."""
    rows, row = {}, 0
    for loop in model.rigid_loops:
        rows[loop.closure.name] = slice(row, row + len(loop.closure.constraint_names))
        row = rows[loop.closure.name].stop
    return rows


def _cure(model: ClosedMechanism, q: Array, loop: Loop, rows: slice, comparable: Array) -> str:
    """Return what makes a closure's constraints independent: a kind, with the closure's own axis or another."""
    others = np.delete(comparable, np.r_[rows], axis=0)
    rank = len(independent_rows(comparable))
    needed = rank - len(independent_rows(others))
    if needed == 0:
        return "the closure follows from the others: leave it out"
    relative, motion = _relative_motion(model, q, loop)
    for given in _candidates(loop.closure, relative, motion, needed):
        closure = RigidClosure("candidate", **given)
        weights = np.where(closure.is_angular, 1.0, 1.0 / model.scale.length)[:, None]
        first, second = closure.jacobians(*relative)
        own = weights * (first @ motion[0] + second @ motion[1]) * model.scale.coordinates
        if len(independent_rows(np.vstack([others, own]))) == rank == len(independent_rows(np.vstack([comparable, own]))):
            said = ", ".join(f"{name}={value!r}" for name, value in given.items())
            return f"RigidClosure({loop.closure.name!r}, {said}) leaves out what follows"
    return "constrain less for determinate reactions"


def _relative_motion(model: ClosedMechanism, q: Array, loop: Loop) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the pose of a loop's second port in its first, and the Jacobians (6 x nv) of both, each in its own frame."""
    nothing = np.zeros(model.nv)
    motions = [model.engine.observations.port_motion(str(ref), q, nothing, nothing) for ref in loop.ports]
    one, two = (model.engine.observations.jacobian(str(ref), q) for ref in loop.ports)
    return relative_pose(motions[0][:2], motions[1][:2]), (one, two)


def _candidates(
    closure: RigidClosure, relative: tuple[Array, Array], motion: tuple[Array, Array], count: int
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of closures of so many constraints: about the normal of a plane, and the closure's axis."""
    turning = relative[0] @ motion[1][3:] - motion[0][3:]
    directions, sizes, _ = np.linalg.svd(turning)
    normal = directions[:, 0] * np.sign(directions[np.abs(directions[:, 0]).argmax(), 0])
    own = [closure.axis] if closure.kind in KINDS else []
    across = [axis for axis in own if not np.allclose(abs(axis @ normal), np.linalg.norm(axis))]
    is_planar = sizes[0] > 0 and len(independent_rows(directions.T @ turning)) == 1
    axes = [normal, *own] if is_planar and len(across) == len(own) else own
    for kind in (kind for kind, names in KINDS.items() if len(names) == count and kind not in _NOT_TRIED):
        if kind == "spherical":
            yield {"kind": kind}
        elif kind == "planar_prismatic":
            yield from ({"kind": kind, "axis": _said(axis), "axis2": _said(normal)} for axis in across if is_planar)
        else:
            yield from ({"kind": kind, "axis": _said(axis)} for axis in axes)


def _said(axis: Array) -> list[float]:
    """Return a direction as users write it."""
    return [float(x) + 0.0 for x in np.round(np.real(axis), 12)]
