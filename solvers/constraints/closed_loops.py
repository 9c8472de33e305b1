"""The rigid closures and gears of a mechanism: constraints, and states that satisfy them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.rigid_closure import KINDS, RigidClosure
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.constraints.assembling import some_closed_configuration
from titop.solvers.constraints.branch import (
    closed_near,
    comparable_jacobian,
    independent_count,
    perturb_closed,
    rank_on_branch,
    regular_configuration,
)
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.mechanism import ClosedMechanism
from titop.solvers.constraints.multipliers import independent_rows, redundant_rows
from titop.solvers.mechanism.shared import geometric

#: Kinds that are no cure: of nothing less, and of axes that nothing says.
_NOT_TRIED = ("weld", "universal")


def redundancy_findings(mechanism: ClosedMechanism, q: Array) -> Iterator[Finding]:
    """Yield the closures of which constraints follow from others at a closed configuration (nq), but by design."""
    comparable, meant = comparable_jacobian(mechanism, q), np.zeros(len(mechanism.constraint_names), dtype=bool)
    rows = mechanism.closure_rows
    for loop in mechanism.rigid_loops:
        meant[rows[loop.closure.name]] = loop.closure.redundant
    judged = np.flatnonzero(~meant)
    redundant = [mechanism.constraint_names[judged[row]] for row in redundant_rows(comparable[judged])]
    loops = {loop.closure.name: loop for loop in mechanism.rigid_loops}
    for closure in dict.fromkeys(owner_of(name) for name in redundant):
        own = [entry_of(name) for name in redundant if owner_of(name) == closure]
        expected, advice = "constraints that do not follow from the others", "reactions are then the least ones; "
        if closure in loops:
            advice += f"{_cure(mechanism, q, loops[closure], rows[closure], comparable)}; redundant=True if it is meant"
        else:
            advice += "constrain less for determinate reactions"
        yield Finding("redundant-closure", closure, ", ".join(own), expected, advice)


def _cure(mechanism: ClosedMechanism, q: Array, loop: Loop, rows: slice, comparable: Array) -> str:
    """Return what makes a closure's constraints independent: a kind, with the closure's own axis or another."""
    others = np.delete(comparable, np.r_[rows], axis=0)
    rank = len(independent_rows(comparable))
    needed = rank - len(independent_rows(others))
    if needed == 0:
        return "the closure follows from the others: leave it out"
    relative = relative_pose(mechanism, loop, q)
    motion = [mechanism.engine.observations.jacobian(str(ref), q) for ref in loop.ports]
    for given in _candidates(loop.closure, relative, motion, needed):
        closure = RigidClosure("candidate", **given)
        weights = np.where(closure.is_angular, 1.0, 1.0 / mechanism.scale.length)[:, None]
        first, second = closure.jacobians(*relative)
        own = weights * (first @ motion[0] + second @ motion[1]) * mechanism.scale.coordinates
        if len(independent_rows(np.vstack([others, own]))) == rank == len(independent_rows(np.vstack([comparable, own]))):
            said = ", ".join(f"{name}={value!r}" for name, value in given.items())
            return f"RigidClosure({loop.closure.name!r}, {said}) leaves out what follows"
    return "constrain less for determinate reactions"


def _candidates(
    closure: RigidClosure, relative: tuple[Array, Array], motion: Sequence[Array], count: int
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


class ClosedLoops(ClosedMechanism):
    """How many constraints of a mechanism act, and which are redundant.

    Arguments of the methods: `q` a configuration (nq) that was read; `names` names of coordinates, or of joints and blocks for
    all of theirs.
    """

    #: The `regular_configuration` of the mechanism whose parameters were changed, if these were.
    regular_before: Array | None = None

    def acting_rank(self, q: Array, jacobian: Array) -> int:
        """Return how many constraints act at `q`, whose `jacobian` (k x nv) is known; the generic rank is not examined."""
        rank = len(independent_rows(self.scale.comparable(jacobian), gears=self.gear_count))
        return rank if rank == self.generic_rank else rank_on_branch(self, q)

    @geometric
    def generic_rank(self) -> int:
        """How many constraints are independent at the `regular_configuration`: so many act where nobody has looked closer.

        Without one, as many as can be.
        """
        q = self.regular_configuration
        return min(len(self.constraint_names), self.nv) if q is None else independent_count(self, q)

    @geometric
    def regular_configuration(self) -> Array | None:
        """A closed configuration (nq) of the mechanism's own, which depends on no state met before; see `branch`.

        Of a mechanism with other parameters the one next to that of the first. None if the loops cannot be closed.
        """
        if self.regular_before is not None:
            try:
                return closed_near(self, self.regular_before)
            except ConvergenceError:
                pass
        q = self._closed_somewhere[0]
        return None if q is None else regular_configuration(self, q)

    @geometric
    def _closed_somewhere(self) -> tuple[Array | None, str]:
        """A closed configuration near the neutral one, or None and why there is none."""
        try:
            return some_closed_configuration(self), ""
        except ConvergenceError as error:
            return None, str(error)

    def closure_findings(self) -> Iterator[Finding]:
        """Yield what is suspicious in the rigid closures: constraints that others make redundant, loops that do not close.

        Looked at near the neutral configuration, or where the loops can be closed at all.
        """
        if not self.is_constrained:
            return
        q, why = self._closed_somewhere
        if q is None:
            advice = "check ports, axes, ratios and offsets; else call m.assemble(q) with a guess near a closed configuration"
            first = owner_of(self.constraint_names[0])
            yield Finding("open-closure", first, why, "loops that can be closed", advice)
            return
        comparable = comparable_jacobian(self, q)
        rank = len(independent_rows(comparable, gears=self.gear_count))
        if rank == len(comparable):
            return
        aside = perturb_closed(self, q, comparable, rank)
        yield from redundancy_findings(self, q if aside is None else aside)

    def chosen(self, argument: str, names: Iterable[str]) -> Array:
        """Return a mask (nv) of the coordinates of some names, which an `argument` gives."""
        return coordinate_mask(names, self._assembly, argument)
