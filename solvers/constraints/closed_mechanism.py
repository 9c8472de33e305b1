"""Constraints of gears and other linear relations, and the mechanism with its constraints: coordinates, closures and gears."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.constraints.relation import Relation
from titop.blocks.interactions.interaction import Interaction
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Joined
from titop.solvers.constraints.engine_interface import Constraints, Engine
from titop.solvers.mechanism.coordinates import Configurations
from titop.solvers.mechanism.inputs import Inputs
from titop.solvers.mechanism.scale import Scale
from titop.solvers.mechanism.shared import structural


@dataclass(frozen=True)
class GearConstraint:
    """``sum factor q - offset = 0``: a gear, or another relation that is linear in the coordinates.

    - `factors`: of each coordinate;
    - `places`: indices of each coordinate in q and in v;
    - `unit`: unit of the first coordinate, which is driven by the others.
    """

    gear: Relation
    factors: tuple[Any, ...]
    places: tuple[tuple[int, int], ...]
    unit: str

    @classmethod
    def of(cls, gear: Relation, assembly: Assembly) -> GearConstraint:
        """Return the constraint of a relation of an assembly."""
        places = tuple(map(assembly.place, gear.terms))
        return cls(gear, tuple(gear.terms.values()), places, assembly.coordinate_units[places[0][1]])

    @property
    def driven(self) -> tuple[int, int]:
        """Indices of the driven coordinate in q and in v."""
        return self.places[0]

    @property
    def name(self) -> str:
        """Name among the constraints of the model."""
        return f"{self.gear.name}.{self.gear.constraint}"

    def follow(self, q: Array) -> None:
        """Set the driven coordinate of a configuration from the others."""
        others = zip(self.factors[1:], self.places[1:], strict=True)
        q[self.driven[0]] = (sum(-factor * q[k] for factor, (k, _) in others) + self.gear.offset) / self.factors[0]

    def follow_rate(self, v: Array) -> None:
        """Set the velocity, or acceleration, of the driven coordinate from those of the others."""
        others = zip(self.factors[1:], self.places[1:], strict=True)
        v[self.driven[1]] = sum(-factor * v[k] for factor, (_, k) in others) / self.factors[0]

    def error(self, q: Array) -> Array:
        """Return the error of the gear, as an array of one entry (in the driven coordinate's unit)."""
        return np.array([sum(f * q[k] for f, (k, _) in zip(self.factors, self.places, strict=True)) - self.gear.offset])

    def jacobian(self, nv: int) -> Array:
        """Return the derivative of the error by the coordinates (1 x nv)."""
        jacobian = np.zeros((1, nv), dtype=np.result_type(np.array(self.factors), float))
        jacobian[0, [k for _, k in self.places]] = self.factors
        return jacobian


class ClosedMechanism(Configurations):
    """The coordinates of a system, its rigid closures and gears, and its engine; see `closed_loops` for the rest.

    Interactions are forces, without unknowns to solve for.
    """

    #: Makes the engine of a mechanism with changed parameters.
    _make_engine: Callable[[Any], Engine]

    @cached_property
    def engine(self) -> Engine:
        """The engine; for changed parameters it is made at its first use."""
        return self._make_engine(self)

    @property
    def falling(self) -> float:
        """The square (1/s^2) of the rate at which uniform gravity, over the system's length, and the world's turning show."""
        engine = self.engine
        turning, faster = engine.turning.reshape(2, 3)
        return float(np.linalg.norm(engine.gravity) / self.scale.length + turning @ turning + np.linalg.norm(faster))

    def constraints_at(self, q: Array, v: Array | None = None) -> Constraints:
        """Return the constraints at a checked state, by default at rest."""
        return self.engine.dynamics.constraints(q, self._stills[1][0] if v is None else v)

    @structural
    def rigid_loops(self) -> tuple[Joined, ...]:
        """The loops with rigid closures."""
        return tuple(loop for loop in self._assembly.loops if isinstance(loop.closure, MultiplierClosure))

    @cached_property
    def interactions(self) -> tuple[Joined, ...]:
        """The interactions and their targets, with the parameters' current values."""
        loops = self.assembly.loops if self._assembly.loops else ()
        return tuple(loop for loop in loops if isinstance(loop.closure, Interaction))

    @structural
    def probes(self) -> tuple[Array, Array]:
        """The neutral configuration (nq, rad and m) and a generic one, displaced by the system's size."""
        neutral = self.neutral()
        step = self.difference_unchecked(neutral, self.random_configuration(np.random.default_rng(0)))
        of_joints = np.zeros(self.nv, dtype=bool)
        for connection in self._assembly.connections:
            of_joints[self._assembly.v_slices.get(connection.joint.name, slice(0, 0))] = True
        step[of_joints & self.length_coordinates] *= self.scale.length  # no body is asked for its mass matrix
        return neutral, self.integrate_unchecked(neutral, step)

    @cached_property
    def held_by_closures(self) -> bool:
        """Whether there are coordinates that move no inertia, here or there, which rigid closures have to hold."""
        doubtful = self.engine.doubtful_pivots(self.probes) if self.rigid_loops else ()
        return any((pivots.ratios <= CANCELLED).any() for pivots in doubtful)

    @structural
    def gear_constraints(self) -> tuple[GearConstraint, ...]:
        """The gears as constraints."""
        return tuple(GearConstraint.of(gear, self._assembly) for gear in self._assembly.gears)

    @structural
    def gear_count(self) -> int:
        """Number of gears; they are the last constraints."""
        return len(self._assembly.gears)

    @structural
    def is_tree(self) -> bool:
        """Whether there are no closures, interactions or gears, which connect branches of the tree."""
        return not self._assembly.loops and not self._assembly.gears

    @structural
    def is_constrained(self) -> bool:
        """Whether there are rigid closures or gears."""
        return bool(self.rigid_loops or self.gear_constraints)

    @structural
    def constraint_names(self) -> tuple[str, ...]:
        """Names of the constraints: rigid closures first, such as ``"pin.x"``, then gears, such as ``"pair.mesh"``."""
        closures = [f"{loop.closure.name}.{name}" for loop in self.rigid_loops for name in loop.closure.constraint_names]
        return (*closures, *(constraint.name for constraint in self.gear_constraints))

    @structural
    def closure_rows(self) -> dict[str, slice]:
        """Rows of each rigid closure among all constraints, by its name."""
        ends = np.cumsum([0, *(len(loop.closure.constraint_names) for loop in self.rigid_loops)]).tolist()
        return {loop.closure.name: slice(*ends[k : k + 2]) for k, loop in enumerate(self.rigid_loops)}

    @structural
    def places(self) -> Array:
        """Which constraints (k) are of positions; the others are of velocities alone, as those of rolling without slip."""
        slips = [loop.closure.slips for loop in self.rigid_loops]
        return ~np.concatenate([*slips, np.zeros(self.gear_count, dtype=bool)]).astype(bool)

    @structural
    def constraint_units(self) -> tuple[str, ...]:
        """Units of the constraints' errors; for a gear that of its driven coordinate."""
        of_closures = ("rad" if angular else "m" for loop in self.rigid_loops for angular in loop.closure.is_angular)
        return (*of_closures, *(constraint.unit for constraint in self.gear_constraints))

    @structural
    def angular_constraints(self) -> Array:
        """For each constraint (k), whether its error is an angle or another quantity, not a length."""
        return np.array([unit != "m" for unit in self.constraint_units], dtype=bool)

    @structural
    def inputs(self) -> Inputs:
        """The inputs of actuators, blocks and interactions, followed by the first-order states: names, units, ranges."""
        return Inputs(self.assembly)

    @structural
    def scale(self) -> Scale:
        """Characteristic sizes of lengths, coordinates and constraints."""
        return Scale(self._assembly, self.constraint_units, self.gear_constraints)

    @structural
    def angular_coordinates(self) -> Array:
        """Whether coordinates are angles (nv)."""
        return np.array(self._assembly.coordinate_units) == "rad"

    @structural
    def length_coordinates(self) -> Array:
        """Whether coordinates are lengths (nv)."""
        return np.array(self._assembly.coordinate_units) == "m"
