"""The parts of a system that a parameter changes, and their derivatives by complex steps or differences."""

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
from titop.blocks.contract.block import Block, is_titops_own, overrides
from titop.blocks.devices.actuators import Actuator, Motor
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.friction_and_limits import CoordinateLimits
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
from titop.solvers.sensitivities.effects import Effect, SensitivityState, Stepped

#: Number of steps for which the changed parts are cached: enough for the differences.
_MOST_STEPS = 32


class ParameterChange:
    """The parts of a system that a parameter of a block changes.

    `value`: the parameter's value; `pushed`: names of the ports on which external wrenches may act.
    """

    def __init__(self, assembly: Assembly, name: str, value: float, pushed: Collection[str]) -> None:
        self._assembly, self._name, self._value, self._pushed = assembly, name, value, pushed
        self._cache: dict[complex, list[Any]] = {}

    def effect(self, state: SensitivityState) -> Effect:
        """Return the direct effect of the parameter at a state, per unit."""
        effect = Effect(np.zeros(state.model.nv))
        for k, changed in enumerate(self._changed):
            changed.add(effect, state, self._derivatives(k, state))
        return effect

    @cached_property
    def _changed(self) -> list[ChangedPart]:
        """The changed parts; none for a parameter of a sensor."""
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
        """Return the changed parts of a body or a joint itself."""
        ports = ChangedPorts(block.name, attached_ports(self._assembly, block, self._pushed))
        if isinstance(block, Joint) and is_elementary(block):
            return [self._of_joint(block, entry, ports)]
        if block.is_rigid:
            return [ports] if owner_of(entry) in block.ports else [ChangedLaw(block.name)]
        return [ChangedLaw(block.name), ports]

    @cached_property
    def _beside(self) -> list[str]:
        """Names of the interactions made with the parameter's block, which depend on it."""
        closures = (loop.closure for loop in self._assembly.loops)
        return [closure.name for closure in closures if owner_of(self._name) in (block.name for block in closure.own_blocks)]

    @staticmethod
    def _of_joint(joint: Joint, entry: str, ports: ChangedPorts) -> ChangedPart:
        """Return the changed part of an elementary joint: its ports, its inertia, or its passive efforts."""
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
        if abs(self._value) < SAME:  # the value may be rounding and tells nothing about the step
            step = settled_step(at, start) or settled_step(at, DIFFERENCE_STEP) or start
        return [derivative(_entry(at, number), step) for number in range(len(at(step)))]

    def _at(self, step: complex) -> list[Any]:
        """Return the objects on which the changed parts depend, with the parameter increased by a step; cached."""
        parts = self._cache.get(step)
        if parts is None:
            stepped = Stepped(self._assembly, self._name, self._value + step)
            parts = [changed.of(stepped) for changed in self._changed]
            if len(self._cache) < _MOST_STEPS:
                self._cache[step] = parts
        return parts

    @cached_property
    def _is_complex(self) -> bool:
        """Whether all functions involved keep imaginary parts; those of the parameter's own block are tested."""
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


#: The changed part of blocks that are neither bodies nor joints, by class.
_BY_KIND: dict[type, Callable[[str], ChangedPart]] = {
    Load: lambda name: ChangedEfforts(name, load_efforts),
    CoordinateLimits: lambda name: ChangedEfforts(name, stop_efforts),
    Interaction: ChangedInteraction,
    RigidClosure: ChangedClosure,
    Gear: ChangedGear,
}


def _entry(at: Callable[[float], list[Array]], k: int) -> Callable[[float], Array]:
    return lambda step: at(step)[k]
