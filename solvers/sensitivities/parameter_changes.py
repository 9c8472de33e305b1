"""Which parts of a system a parameter changes, and how: by complex steps or differences of what depends on it, no more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COMPLEX_STEP, DIFFERENCE_STEP, SAME
from titop.blocks.checking.complex_safety import is_parameter_complex_safe
from titop.blocks.constraints.gear import Gear
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.contract.block import Block
from titop.blocks.contract.overrides import is_titops_own, overrides
from titop.blocks.devices.actuators import Actuator, Motor
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.network.assembly import Assembly
from titop.solvers.sensitivities.changed_parts import (
    ChangedClosure,
    ChangedEfforts,
    ChangedGear,
    ChangedGravity,
    ChangedInputs,
    ChangedInteraction,
    ChangedLaw,
    ChangedPart,
    ChangedPlacement,
    ChangedPorts,
    attached_ports,
    load_efforts,
    passive_efforts,
    stop_efforts,
)
from titop.solvers.sensitivities.effects import Effect
from titop.solvers.sensitivities.state import SensitivityState, Stepped

#: Steps of which is kept what depends on them: as many as differences ask for.
_MOST_STEPS = 32


class ParameterChange:
    """What a parameter of a block changes.

    Parameters
    ----------
    assembly : Assembly
    name : str
    value : float
        The parameter's own.
    pushed : collection of str
        Ports on which wrenches may act from outside, by name.
    """

    def __init__(self, assembly: Assembly, name: str, value: float, pushed: Collection[str]) -> None:
        self._assembly, self._name, self._value, self._pushed = assembly, name, value, pushed
        self._kept: dict[complex, list[Any]] = {}

    def effect(self, state: SensitivityState) -> Effect:
        """Return what a unit of the parameter does at a state."""
        effect = Effect(np.zeros(state.model.nv))
        for k, changed in enumerate(self._changed):
            changed.add(effect, state, self._derivatives(k, state))
        return effect

    @cached_property
    def _changed(self) -> list[ChangedPart]:
        """What changes: nothing for a sensor's."""
        name, entry, assembly = owner_of(self._name), entry_of(self._name), self._assembly
        if entry.startswith("placement."):
            return [ChangedPlacement(name)]
        if name not in assembly.blocks:
            return [ChangedGravity(entry)]
        block = assembly.blocks[name]
        if isinstance(block, Motor):
            return [ChangedLaw(owner_of(block.joint)), ChangedInputs(name)]
        if isinstance(block, Actuator):
            return [ChangedInputs(name)]
        for kind, changed in _BY_KIND.items():
            if isinstance(block, kind):
                return [changed(name)]
        if isinstance(block, Sensor):
            return []
        inputs = [ChangedInputs(name)] if block.inputs else []
        return [*self._of_block(block, entry), *map(ChangedInteraction, self._beside), *inputs]

    def _of_block(self, block: Block, entry: str) -> list[ChangedPart]:
        """Return what changes of a body or a joint itself."""
        ports = ChangedPorts(block.name, attached_ports(self._assembly, block, self._pushed))
        if isinstance(block, Joint) and is_elementary(block):
            return [self._of_joint(block, entry, ports)]
        if block.is_rigid:
            return [ports] if owner_of(entry) in block.ports else [ChangedLaw(block.name)]
        return [ChangedLaw(block.name), ports]

    @cached_property
    def _beside(self) -> list[str]:
        """Names of the interactions that were made with the parameter's block."""
        closures = (loop.closure for loop in self._assembly.loops)
        return [closure.name for closure in closures if owner_of(self._name) in (block.name for block in closure.own_blocks)]

    @staticmethod
    def _of_joint(joint: Joint, entry: str, ports: ChangedPorts) -> ChangedPart:
        """Return what changes of an elementary joint: how it moves, what is accelerated with it, or what resists."""
        field, *_ = joint.parameter_fields()[entry]
        if field in joint.geometric_fields:
            return ports
        return ChangedLaw(joint.name) if field == "armature" else ChangedEfforts(joint.name, passive_efforts)

    def _derivatives(self, k: int, state: SensitivityState) -> list[Array]:
        """Return the derivatives of the k-th part's numbers by the parameter: complex steps, or sixth-order differences."""
        changed = self._changed[k]
        if self._is_complex:
            return [np.imag(number) / COMPLEX_STEP for number in changed.parts(self._at(1j * COMPLEX_STEP)[k], state)]

        @cache
        def at(step: float) -> list[Array]:
            return changed.parts(self._at(step)[k], state)

        step = start = DIFFERENCE_STEP * (abs(self._value) or 1.0)
        if abs(self._value) < SAME:  # it may be rounding, of which no part is a step
            step = settled_step(at, start) or settled_step(at, DIFFERENCE_STEP) or start
        return [derivative(_entry(at, number), step) for number in range(len(at(step)))]

    def _at(self, step: complex) -> list[Any]:
        """Return what the changing parts depend on, the parameter larger by a step; kept, for states that follow."""
        parts = self._kept.get(step)
        if parts is None:
            stepped = Stepped(self._assembly, self._name, self._value + step)
            parts = [changed.of(stepped) for changed in self._changed]
            if len(self._kept) < _MOST_STEPS:
                self._kept[step] = parts
        return parts

    @cached_property
    def _is_complex(self) -> bool:
        """Whether all functions that are called keep imaginary parts; those of the parameter's own block are tried."""
        entry, block = entry_of(self._name), self._assembly.blocks.get(owner_of(self._name))
        if block is None or not block.complex_parameters:
            return block is None
        others = [*self._beside, *([owner_of(block.joint)] if isinstance(block, Motor) else [])]
        if not all(is_titops_own(self._assembly.blocks[name]) for name in others):
            return False
        return (
            not (overrides(block) or (block.nv and block.inputs))
            or entry not in block.parameters()
            or is_parameter_complex_safe(block, entry)
        )


#: What changes of blocks that are neither bodies nor joints.
_BY_KIND: dict[type, Callable[[str], ChangedPart]] = {
    Load: lambda name: ChangedEfforts(name, load_efforts),
    CoordinateLimits: lambda name: ChangedEfforts(name, stop_efforts),
    Interaction: ChangedInteraction,
    RigidClosure: ChangedClosure,
    Gear: ChangedGear,
}


def _entry(at: Callable[[float], list[Array]], k: int) -> Callable[[float], Array]:
    return lambda step: at(step)[k]
