"""What a parameter changes of what acts on the system: loads, inputs, interactions, springs and stops.

Each says which efforts (nv) it applies at a state; inverse dynamics need as much less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.devices.loads import Load
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.solvers.constraints.interaction_loads import interaction_efforts
from titop.solvers.mechanism.inputs import Inputs, acting_inputs
from titop.solvers.sensitivities.effect import Effect
from titop.solvers.sensitivities.sensitive_model import SensitiveModel
from titop.solvers.sensitivities.state import State
from titop.solvers.sensitivities.stepped import Stepped


class _Acting:
    """Common part: what acts."""

    def of(self, stepped: Stepped) -> Any:
        """Return the block that acts."""
        return stepped.block

    def efforts(self, acting: Any, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        raise NotImplementedError

    def parts(self, acting: Any, state: State) -> list[Array]:
        """Return the efforts."""
        return [self.efforts(acting, state)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the efforts do to an effect."""
        effect.efforts -= changes[0]


class ChangedLoad(_Acting):
    """A load."""

    def efforts(self, load: Load, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        port = str(load.target)
        return state.efforts_of(port, load.wrench(state.motion(port).rotation))


class ChangedPassive(_Acting):
    """Spring, damper, friction and stops of a joint."""

    def efforts(self, joint: Joint, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        in_q, in_v = state.own(joint.name)
        own = joint.passive_efforts(state.q[in_q], state.v[in_v])
        efforts = np.zeros(state.model.nv, own.dtype)
        efforts[in_v] = own
        return efforts


class ChangedStops(_Acting):
    """Stops of a coordinate of a body."""

    def efforts(self, limits: CoordinateLimits, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        at_q, at_v = state.model.assembly.place(limits.joint)
        effort = limits.effort(state.q[at_q], state.v[at_v])
        efforts = np.zeros(state.model.nv, np.result_type(effort, float))
        efforts[at_v] = effort
        return efforts


@dataclass(frozen=True)
class ChangedInteraction(_Acting):
    """An interaction; the parameter may be that of a block that it was made with."""

    name: str

    def of(self, stepped: Stepped) -> Interaction:
        """Return the interaction."""
        if stepped.block.name == self.name:
            return stepped.block  # type: ignore[no-any-return]
        return stepped.assembly.blocks[self.name]  # type: ignore[return-value]

    def efforts(self, interaction: Interaction, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        loop = next(each for each in state.model.interactions if each.closure.name == self.name)
        u = acting_inputs(state.pushes).get(self.name)
        return interaction_efforts(state.model, replace(loop, closure=interaction), state.q, state.v, u)


class ChangedInputs(_Acting):
    """What the inputs of actuators and blocks do."""

    def of(self, stepped: Stepped) -> Inputs:
        """Return all inputs."""
        return Inputs(stepped.assembly)

    def efforts(self, inputs: Inputs, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        efforts: Array = inputs.matrix(state.model, state.q) @ state.u
        return efforts


class ChangedGravity:
    """Gravity along an axis of the inertial frame: of what it does, which is linear, a unit."""

    def __init__(self, axis: str) -> None:
        self._direction = np.eye(3)["xyz".index(axis)]
        self._weighing: SensitiveModel | None = None

    def of(self, stepped: Stepped) -> None:
        """Return nothing."""

    def parts(self, nothing: None, state: State) -> list[Array]:
        """Return nothing."""
        return []

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what holds up against a unit of gravity to an effect."""
        weighing = self._weighing or state.model.of(replace(state.model.assembly, gravity=self._direction))
        effect.efforts += weighing.engine.dynamics.bare_inverse(state.q, np.zeros(state.model.nv))
        self._weighing = weighing
