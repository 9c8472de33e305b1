"""The rigid closures and gears of a model: constraints, and states that satisfy them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.interactions.interaction import Interaction
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import coordinate_mask, made_ready
from titop.solvers.constraints.assembling import (
    assembled,
    dependent_coordinates,
    some_closed_configuration,
)
from titop.solvers.constraints.branch import (
    closed_near,
    comparable_jacobian,
    independent_count,
    moved_aside,
    rank_near,
    rank_on_branch,
    regular_configuration,
)
from titop.solvers.constraints.gear_constraint import GearConstraint
from titop.solvers.constraints.mechanism import Engine
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.constraints.redundancy import redundancy_findings
from titop.solvers.mechanism.coordinates import Configurations
from titop.solvers.mechanism.fast_path import DONE, UNREADY, names_key
from titop.solvers.mechanism.scale import Scale
from titop.solvers.mechanism.shared import geometric, structural


class ClosedLoops(Configurations):
    """The rigid closures and gears of a model. Interactions are forces, and nothing to solve for.

    Arguments of the methods: `q` a configuration (nq); `v` and `a` vectors (nv); `fixed` and `names` names of coordinates, or
    of joints and blocks for all of theirs.
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

    def closure_error(self, q: Any) -> Array:
        """Return how far closures are open and gears out of mesh (k, m and rad), in the order of `constraint_names`."""
        return self.engine.dynamics.constraints(self._read_q(q), np.zeros(self.nv)).error

    def closure_jacobian(self, q: Any) -> Array:
        """Return the matrix (k, nv) that maps v to the rate of `closure_error` (m/s and rad/s a unit of v)."""
        return self.engine.dynamics.constraints(self._read_q(q), np.zeros(self.nv)).jacobian

    def closure_bias(self, q: Any, v: Any) -> Array:
        """Return the part (k, m/s^2 and rad/s^2) of d2/dt2 `closure_error` that does not depend on the accelerations."""
        return self.engine.dynamics.constraints(self._read_q(q), self._read_v("v", v)).bias

    def closure_rank(self, q: Any) -> int:
        """Return how many constraints are independent at a closed configuration `q` (nq), and along the motion through it.

        The others follow from these; other branches of the mechanism's motion may have another rank. A configuration that is
        open stands for the closed one next to it.

        Raises
        ------
        ModelError
            At a singular configuration, around which more constraints are independent than there, and for an unusable one.
        ConvergenceError
            If the loops cannot be closed from `q`.
        """
        q = self._read_q(q)
        return rank_on_branch(self, q) if self.is_constrained else 0

    def acting_rank(self, q: Array, jacobian: Array) -> int:
        """Return `closure_rank` where the constraints' `jacobian` (k x nv) is known; the generic rank is not examined."""
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

    # -- states that satisfy the closures ----------------------------------------------------------------------------------

    def assemble(self, q_guess: Any, fixed: Iterable[str] = ()) -> Array:
        """Return a configuration (nq) that closes the loops and meshes the gears.

        Driven coordinates of gears follow their drivers; then Gauss-Newton steps of least norm in the tangent space, lengths
        over the system's size, halved until the errors fall. Bodies deform only where joints alone do not close the loops.

        Parameters
        ----------
        q_guess : array_like (nq,)
            Where to start; the nearer to a closed configuration, the better.
        fixed : iterable of str
            Coordinates, joints or blocks that keep their values.

        Returns
        -------
        (nq,) array

        Raises
        ------
        ConvergenceError
            Naming the loop that stays open and by how much (m, rad), or that closes with its axes antiparallel.
        """
        chosen = self._chosen("fixed", fixed)
        guess = self._driven(self._read_q(q_guess, "q_guess"), chosen, GearConstraint.follow)
        return assembled(self, guess, chosen).copy()  # of the guess itself where that is closed

    def assemble_velocity(self, q: Any, v: Any, fixed: Iterable[str] = ()) -> Array:
        """Return the velocity (nv) nearest to `v`, driven coordinates at their drivers', with which the loops stay closed.

        Lengths are compared with angles over the system's size.

        Raises
        ------
        ConvergenceError
            If the fixed velocities contradict the closures.
        """
        try:
            nearest = v.copy()
            if self._calls.nearest_velocity(q, v, self._calls.masks[names_key(fixed)], nearest) == DONE:
                return nearest
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v):
            q, v = ready
            return self.assemble_velocity(q, v, fixed)
        q, v, chosen = self._read_q(q), self._read_v("v", v), self._chosen("fixed", fixed)
        if not self.is_constrained:
            return v.copy()
        return self.engine.dynamics.closed_velocity(q, self._driven(v, chosen, GearConstraint.follow_rate), chosen)

    def assemble_acceleration(self, q: Any, v: Any, a: Any, fixed: Iterable[str] = ()) -> Array:
        """Return the acceleration (nv) nearest to `a`, as `assemble_velocity` does, with which the loops stay closed at `v`.

        Raises
        ------
        ConvergenceError
            If the fixed accelerations contradict the closures.
        """
        try:
            nearest = a.copy()
            if self._calls.nearest_acceleration(q, v, self._calls.masks[names_key(fixed)], nearest) == DONE:
                return nearest
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, a):
            q, v, a = ready
            return self.assemble_acceleration(q, v, a, fixed)
        q, v, a, chosen = self._read_q(q), self._read_v("v", v), self._read_v("a", a), self._chosen("fixed", fixed)
        if not self.is_constrained:
            return a.copy()
        return self.engine.dynamics.closed_acceleration(q, v, self._driven(a, chosen, GearConstraint.follow_rate), chosen)

    def _driven(self, x: Array, fixed: Array, follow: Callable[[GearConstraint, Array], None]) -> Array:
        """Return coordinates, or rates, in which the driven ones that are not `fixed` follow their drivers."""
        if not self.gear_constraints:
            return x
        following = [gear for gear in self.gear_constraints if not fixed[gear.driven[1]]]
        x = x.copy()
        for _ in following:  # a driver may itself be driven
            before = x.copy()
            for gear in following:
                follow(gear, x)
            if np.array_equal(x, before):
                break
        return x

    def independent_coordinates(self, q: Any, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return names of coordinates that determine the others at `q`, as many as the system has degrees of freedom.

        Without `names` driven coordinates of gears are left out, and of the others the choice is made by pivoted QR, so that
        what remains follows as well as possible.

        Raises
        ------
        ModelError
            If the given names cannot be independent, or are too many or too few.
        """
        q, everything = self._read_q(q), np.arange(self.nv)
        rank = rank_near(self, q)
        if names is None:
            dependent = dependent_coordinates(self, q, everything, rank)
            return tuple(name for k, name in enumerate(self.coordinate_names) if k not in dependent)
        mask, freedom = self._chosen("names", names), self.nv - rank
        chosen = tuple(name for name, kept in zip(self.coordinate_names, mask, strict=True) if kept)
        if len(chosen) != freedom:
            raise ModelError(Finding("wrong-length", "names", chosen, f"{freedom} coordinates", "one a degree of freedom"))
        if len(dependent_coordinates(self, q, everything[~mask], rank)) < rank:
            expected, better = "coordinates that determine the others", self.independent_coordinates(q)
            raise ModelError(Finding("dependent-coordinates", "names", chosen, expected, f"take {', '.join(better)}"))
        return chosen

    def _chosen(self, argument: str, names: Iterable[str]) -> Array:
        return coordinate_mask(names, self._assembly, argument)
