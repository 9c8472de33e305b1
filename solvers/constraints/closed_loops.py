"""The rigid closures and gears of a mechanism: constraints, and states that satisfy them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.rigid_closure import KINDS, RigidClosure
from titop.graph.network.connections import Joined
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.constraints import branch
from titop.solvers.constraints.assembling import some_closed_configuration
from titop.solvers.constraints.closed_mechanism import ClosedMechanism
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.multipliers import independent_rows, redundant_rows
from titop.solvers.mechanism.shared import geometric

#: Kinds that are not proposed: a weld has all constraints, axes of universal ones and pitches are not known, points no joints.
_NOT_TRIED = ("weld", "universal", "screw", "point_on_line", "point_on_plane")


def redundancy_findings(mechanism: ClosedMechanism, q: Array) -> Iterator[Finding]:
    """Yield a finding for each closure with constraints that follow from others at a closed configuration (nq).

    Closures that are ``redundant`` by design are left out.
    """
    comparable, meant = branch.comparable_jacobian(mechanism, q), np.zeros(len(mechanism.constraint_names), dtype=bool)
    rows = mechanism.closure_rows
    for loop in mechanism.rigid_loops:
        meant[rows[loop.closure.name]] = loop.closure.redundant
    judged = np.flatnonzero(~meant)
    redundant = [mechanism.constraint_names[judged[row]] for row in redundant_rows(comparable[judged])]
    loops = {loop.closure.name: loop for loop in mechanism.rigid_loops}
    for closure in dict.fromkeys(owner_of(name) for name in redundant):
        entries = [entry_of(name) for name in redundant if owner_of(name) == closure]
        expected, advice = "constraints that do not follow from the others", "reactions are then the least ones; "
        if closure in loops:
            advice += f"{_cure(mechanism, q, loops[closure], rows[closure], comparable)}; redundant=True if it is meant"
        else:
            advice += "constrain less for determinate reactions"
        yield Finding("redundant-closure", closure, ", ".join(entries), expected, advice)


def _cure(mechanism: ClosedMechanism, q: Array, loop: Joined, rows: slice, comparable: Array) -> str:
    """Return advice that makes a closure's constraints independent: a closure of another kind, with its axis or another."""
    if not isinstance(loop.closure, RigidClosure):
        return "height=False leaves out the height where joints keep it"
    others = np.delete(comparable, np.r_[rows], axis=0)
    rank = len(independent_rows(comparable))
    needed = rank - len(independent_rows(others))
    if needed == 0:
        return "the closure follows from the others: leave it out"
    relative = relative_pose(mechanism, loop, q)
    motion = [mechanism.engine.observations.jacobian(str(ref), q) for ref in loop.ports]
    for arguments in _candidates(loop.closure, relative, motion, needed):
        closure = RigidClosure("candidate", **arguments)
        weights = np.where(closure.is_angular, 1.0, 1.0 / mechanism.scale.length)[:, None]
        first, second = closure.jacobians(*relative)
        tried = weights * (first @ motion[0] + second @ motion[1]) * mechanism.scale.coordinates
        if len(independent_rows(np.vstack([others, tried]))) == rank == len(independent_rows(np.vstack([comparable, tried]))):
            call = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            return f"RigidClosure({loop.closure.name!r}, {call}) leaves out what follows"
    return "constrain less for determinate reactions"


def _candidates(
    closure: RigidClosure, relative: tuple[Array, Array], motion: Sequence[Array], count: int
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of closures with `count` constraints: about the normal of a planar motion, and the closure's axis."""
    turning = relative[0] @ motion[1][3:] - motion[0][3:]
    directions, sizes, _ = np.linalg.svd(turning)
    normal = directions[:, 0] * np.sign(directions[np.abs(directions[:, 0]).argmax(), 0])
    axes = [closure.axis] if closure.kind in KINDS else []
    across = [axis for axis in axes if not np.allclose(abs(axis @ normal), np.linalg.norm(axis))]
    is_planar = sizes[0] > 0 and len(independent_rows(directions.T @ turning)) == 1
    axes = [normal, *axes] if is_planar and len(across) == len(axes) else axes
    for kind in (kind for kind, names in KINDS.items() if len(names) == count and kind not in _NOT_TRIED):
        if kind == "spherical":
            yield {"kind": kind}
        elif kind == "planar_prismatic":
            yield from ({"kind": kind, "axis": _typed(axis), "axis2": _typed(normal)} for axis in across if is_planar)
        else:
            yield from ({"kind": kind, "axis": _typed(axis)} for axis in axes)


def _typed(axis: Array) -> list[float]:
    """Return a direction as users write it."""
    return [float(x) + 0.0 for x in np.round(np.real(axis), 12)]


class ClosedLoops(ClosedMechanism):
    """A mechanism that knows how many of its constraints act, and which are redundant.

    Arguments of the methods: `q` a checked configuration (nq); `names` names of coordinates; the name of a joint or block
    stands for all of its coordinates.
    """

    #: If parameters were changed: the `regular_configuration` of the mechanism before.
    regular_before: Array | None = None

    def acting_rank(self, q: Array, jacobian: Array, still: Array | None = None) -> int:
        """Return the number of constraints that act at `q` with the given `jacobian` (k x nv); a generic rank is accepted.

        Of coordinates that are `still` (nv), none moves.
        """
        rank = len(independent_rows(self.scale.comparable(jacobian), gears=self.gear_count))
        return rank if rank == self.generic_rank else branch.rank_on_branch(self, q, still)

    @geometric
    def generic_rank(self) -> int:
        """Number of independent constraints at the `regular_configuration`: the rank that is accepted without further checks.

        Without such a configuration, the largest possible rank.
        """
        q = self.regular_configuration
        return min(len(self.constraint_names), self.nv) if q is None else branch.independent_count(self, q)

    @geometric
    def regular_configuration(self) -> Array | None:
        """A closed configuration (nq) that does not depend on earlier calls; see `branch`.

        With changed parameters, the one next to that of the first mechanism. None if the loops cannot be closed.
        """
        if self.regular_before is not None:
            try:
                return branch.closed_near(self, self.regular_before)
            except ConvergenceError:
                pass
        q = self._closed_somewhere[0]
        return None if q is None else branch.regular_configuration(self, q)

    @geometric
    def _closed_somewhere(self) -> tuple[Array | None, str]:
        """A closed configuration near the neutral one; or None and the reason."""
        try:
            return some_closed_configuration(self), ""
        except ConvergenceError as error:
            return None, str(error)

    def closure_findings(self) -> Iterator[Finding]:
        """Yield warnings about closures: redundant constraints, and loops that do not close.

        They are checked near the neutral configuration, or where the loops can be closed.
        """
        if not self.is_constrained:
            return
        q, why = self._closed_somewhere
        if q is None:
            advice = "check ports, axes, ratios and offsets; else call m.assemble(q) with a guess near a closed configuration"
            first = owner_of(self.constraint_names[0])
            yield Finding("open-closure", first, why, "loops that can be closed", advice)
            return
        comparable = branch.comparable_jacobian(self, q)
        rank = len(independent_rows(comparable, gears=self.gear_count))
        if rank == len(comparable):
            return
        aside = branch.perturb_closed(self, q, comparable, rank)
        yield from redundancy_findings(self, q if aside is None else aside)

    def chosen(self, argument: str, names: Iterable[str]) -> Array:
        """Return a mask (nv) of the named coordinates; `argument` is the caller's argument, for messages."""
        return coordinate_mask(names, self._assembly, argument)
