"""What a parameter changes of what acts on the system: loads, inputs, interactions, springs and stops.

Each says which efforts (nv) it applies at a state; inverse dynamics need as much less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly
from titop.solvers.mechanism.inputs import Inputs, own_efforts
from titop.solvers.sensitivities.effect import Effect
from titop.solvers.sensitivities.sensitive_model import SensitiveModel
from titop.solvers.sensitivities.state import State


class _Acting:
    """Common part: what acts."""

    def efforts(self, assembly: Assembly, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        raise NotImplementedError

    def parts(self, assembly: Assembly, state: State) -> list[Array]:
        """Return the efforts."""
        return [self.efforts(assembly, state)]

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what `changes` of the efforts do to an effect."""
        effect.efforts -= changes[0]


@dataclass(frozen=True)
class ChangedLoad(_Acting):
    """A load."""

    name: str

    def efforts(self, assembly: Assembly, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        load: Any = assembly.blocks[self.name]
        port = str(load.target)
        return state.efforts_of(port, load.wrench(state.motion(port).rotation))


@dataclass(frozen=True)
class ChangedPassive(_Acting):
    """Spring, damper, friction and stops of a joint."""

    name: str

    def efforts(self, assembly: Assembly, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        in_q, in_v = state.own(self.name)
        own = assembly.blocks[self.name].passive_efforts(state.q[in_q], state.v[in_v])
        efforts = np.zeros(state.model.nv, own.dtype)
        efforts[in_v] = own
        return efforts


@dataclass(frozen=True)
class ChangedStops(_Acting):
    """Stops of a coordinate of a body."""

    name: str

    def efforts(self, assembly: Assembly, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        limits: Any = assembly.blocks[self.name]
        at_q, at_v = assembly.place(limits.joint)
        effort = limits.effort(state.q[at_q], state.v[at_v])
        efforts = np.zeros(state.model.nv, np.result_type(effort, float))
        efforts[at_v] = effort
        return efforts


@dataclass(frozen=True)
class ChangedInteraction(_Acting):
    """An interaction."""

    name: str

    def efforts(self, assembly: Assembly, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        loop = next(each for each in assembly.loops if each.closure.name == self.name)
        wrenches, own = loop.closure.act(state.target_motion(loop))
        total = np.zeros(state.model.nv, np.result_type(wrenches, own, float))
        for ref, wrench in zip(loop.ports, wrenches, strict=True):
            total += state.efforts_of(str(ref), wrench)
        for name, effort in zip(loop.coordinates, own, strict=True):
            total[assembly.place(name)[1]] += effort
        return total


@dataclass(frozen=True)
class ChangedInputs(_Acting):
    """What the inputs of actuators and blocks do."""

    def efforts(self, assembly: Assembly, state: State) -> Array:
        """Return the efforts (nv) that act at a state."""
        inputs = Inputs(assembly)
        total = inputs.motors @ state.u + own_efforts(inputs.own_pushes(state.u), state.q, state.model.nv)
        for (port, inertial), wrench in zip(inputs.places, inputs.wrenches(state.u), strict=True):
            if inertial:
                back = state.motion(port).rotation.T
                wrench = np.concatenate([back @ wrench[:3], back @ wrench[3:]])
            total = total + state.efforts_of(port, wrench)
        return total


class ChangedGravity:
    """Gravity along an axis of the inertial frame: of what it does, which is linear, a unit."""

    def __init__(self, axis: str) -> None:
        self._direction = np.eye(3)["xyz".index(axis)]
        self._weighing: SensitiveModel | None = None

    def parts(self, assembly: Assembly, state: State) -> list[Array]:
        """Return nothing."""
        return []

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what holds up against a unit of gravity to an effect."""
        if self._weighing is None:
            self._weighing = state.model.of(replace(state.model.assembly, gravity=self._direction))
        effect.efforts += self._weighing.engine.dynamics.bare_inverse(state.q, np.zeros(state.model.nv))
