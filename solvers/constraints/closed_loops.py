"""The rigid closures and gears of a model: constraints, and states that satisfy them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.interactions.interaction import Interaction
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import coordinate_mask
from titop.solvers.constraints.assembling import some_closed_configuration
from titop.solvers.constraints.branch import (
    closed_near,
    comparable_jacobian,
    independent_count,
    moved_aside,
    rank_on_branch,
    regular_configuration,
)
from titop.solvers.constraints.gear_constraint import GearConstraint
from titop.solvers.constraints.mechanism import Engine
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.constraints.redundancy import redundancy_findings
from titop.solvers.mechanism.coordinates import Configurations
from titop.solvers.mechanism.scale import Scale
from titop.solvers.mechanism.shared import geometric, structural


class ClosedLoops(Configurations):
    """The rigid closures and gears of a model. Interactions are forces, and nothing to solve for.

    Arguments of the methods: `q` a configuration (nq) that was read; `names` names of coordinates, or of joints and blocks for
    all of theirs.
    """

    #: What makes the engine of a model with other parameters.
    _make_engine: Callable[[Any], Engine]

    #: The `regular_configuration` of the model whose parameters were changed, if these were.
    regular_before: Array | None = None

    @cached_property
    def engine(self) -> Engine:
        """What computes; with other parameters, made when something is to be computed."""
        return self._make_engine(self)

    @structural
    def rigid_loops(self) -> tuple[Loop, ...]:
        """The loops with rigid closures."""
        return tuple(loop for loop in self._assembly.loops if isinstance(loop.closure, RigidClosure))

    @cached_property
    def interactions(self) -> tuple[Loop, ...]:
        """The interactions and what they act on, with the parameters' current values."""
        return tuple(loop for loop in self.assembly.loops if isinstance(loop.closure, Interaction))

    @structural
    def gear_constraints(self) -> tuple[GearConstraint, ...]:
        """The gears as constraints."""
        return tuple(GearConstraint.of(gear, self._assembly) for gear in self._assembly.gears)

    @structural
    def gear_count(self) -> int:
        """How many of the constraints, the last ones, are gears."""
        return len(self._assembly.gears)

    @structural
    def is_tree(self) -> bool:
        """Whether nothing joins the branches of the tree of joints: no closures, no interactions and no gears."""
        return not self._assembly.loops and not self._assembly.gears

    @structural
    def is_constrained(self) -> bool:
        """Whether there are rigid closures or gears."""
        return bool(self.rigid_loops or self.gear_constraints)

    @structural
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints: of the rigid closures, such as ``"pin.x"``, then of the gears, such as ``"pair.mesh"``."""
        closures = [f"{loop.closure.name}.{name}" for loop in self.rigid_loops for name in loop.closure.constraint_names]
        return (*closures, *(constraint.name for constraint in self.gear_constraints))

    @structural
    def constraint_units(self) -> tuple[str, ...]:
        """Units of the constraints' errors: of a gear, its driven coordinate's."""
        of_closures = ("rad" if angular else "m" for loop in self.rigid_loops for angular in loop.closure.is_angular)
        return (*of_closures, *(constraint.unit for constraint in self.gear_constraints))

    @structural
    def angular_constraints(self) -> Array:
        """Whether the errors of the constraints are angles, or other numbers, rather than lengths (k)."""
        return np.array([unit != "m" for unit in self.constraint_units], dtype=bool)

    @structural
    def scale(self) -> Scale:
        """What counts as one of lengths, coordinates and constraints."""
        return Scale(self._assembly, self.constraint_units, self.gear_constraints)

    @structural
    def angular_coordinates(self) -> Array:
        """Whether coordinates are angles (nv)."""
        return np.array(self._assembly.coordinate_units) == "rad"

    @structural
    def length_coordinates(self) -> Array:
        """Whether coordinates are lengths (nv)."""
        return np.array(self._assembly.coordinate_units) == "m"

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
        """A closed configuration (nq) of the model's own, which depends on no state met before; see `branch`.

        Of a model with other parameters the one next to that of the first. None if the loops cannot be closed.
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
        aside = moved_aside(self, q, comparable, rank)
        yield from redundancy_findings(self, q if aside is None else aside)

    def chosen(self, argument: str, names: Iterable[str]) -> Array:
        """Return a mask (nv) of the coordinates of some names, which an `argument` gives."""
        return coordinate_mask(names, self._assembly, argument)
