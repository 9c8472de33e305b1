"""What a parameter changes of rigid closures and gears."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.closure import relative_pose
from titop.blocks.constraints.gear import Gear
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.solvers.constraints.gear_constraint import GearConstraint
from titop.solvers.sensitivities.effect import Effect, Turn
from titop.solvers.sensitivities.state import State
from titop.solvers.sensitivities.stepped import Stepped


@dataclass(frozen=True)
class ChangedClosure:
    """A rigid closure."""

    name: str

    def of(self, stepped: Stepped) -> RigidClosure:
        """Return the closure."""
        return stepped.block  # type: ignore[no-any-return]

    def parts(self, closure: RigidClosure, state: State) -> list[Array]:
        """Return how fast both ports' twists open the loop (k x 12), and how fast it opens more at the state (k)."""
        loop = next(each for each in state.model.rigid_loops if each.closure.name == self.name)
        one, two = (state.motion(str(ref)) for ref in loop.ports)
        R, r = relative_pose((one.rotation, one.position), (two.rotation, two.position))
        rates = np.hstack(closure.jacobians(R, r))
        return [rates, rates @ np.concatenate([one.acceleration, two.acceleration]) + closure.bias(R, r, one.twist, two.twist)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the parts do to an effect."""
        rates, opening = changes
        first = 0
        for loop in state.model.rigid_loops:
            count = len(loop.closure.constraint_names)
            if loop.closure.name == self.name:
                ports = np.vstack([state.jacobian(str(ref)) for ref in loop.ports])
                effect.turns.append(Turn(slice(first, first + count), rates @ ports, opening))
            first += count


@dataclass(frozen=True)
class ChangedGear:
    """A gear."""

    name: str

    def of(self, stepped: Stepped) -> Gear:
        """Return the gear."""
        return stepped.block  # type: ignore[no-any-return]

    def parts(self, gear: Gear, state: State) -> list[Array]:
        """Return the gear's row (1 x nv) of the constraints' Jacobian."""
        return [GearConstraint.of(gear, state.model.assembly).jacobian(state.model.nv)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the parts do to an effect."""
        names = [constraint.gear.name for constraint in state.model.gear_constraints]
        row = len(state.model.constraint_names) - len(names) + names.index(self.name)
        effect.turns.append(Turn(slice(row, row + 1), changes[0], changes[0] @ state.a))
