"""Which parts of a system a parameter changes, and how: by complex steps or differences of what depends on it, no more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, cached_property
from typing import Protocol

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import is_rigid
from titop.blocks.checking.complex_safety import is_parameter_complex_safe
from titop.blocks.constraints.gear import Gear
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.contract.overrides import overrides
from titop.blocks.devices.actuators import Actuator, Motor
from titop.blocks.devices.loads import Load
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint, is_elementary
from titop.graph.network.assembly import Assembly
from titop.solvers.mechanism.parameters import perturbed_assembly
from titop.solvers.sensitivities.changed_closures import ChangedClosure, ChangedGear
from titop.solvers.sensitivities.changed_efforts import (
    ChangedGravity,
    ChangedInputs,
    ChangedInteraction,
    ChangedLoad,
    ChangedPassive,
    ChangedStops,
)
from titop.solvers.sensitivities.changed_laws import ChangedLaw, ChangedPlacement, ChangedPorts, attached_ports
from titop.solvers.sensitivities.effect import Effect
from titop.solvers.sensitivities.state import State

_STEP = 1e-30
#: Step over a parameter's value, for blocks whose parameters cannot be complex.
_DIFFERENCE = 1e-3
#: Systems with other values of a parameter that are kept: what differences ask for.
_MOST_KEPT = 32


class Changed(Protocol):
    """A part of a system that changes."""

    def parts(self, assembly: Assembly, state: State) -> list[Array]:
        """Return the numbers at a state of the part of this assembly."""

    def add(self, effect: Effect, state: State, changes: list[Array]) -> None:
        """Add what their derivatives do to an effect."""


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
        self._kept: dict[complex, Assembly] = {}

    def effect(self, state: State) -> Effect:
        """Return what a unit of the parameter does at a state."""
        effect = Effect.none(state.model.nv)
        for changed in self._changed:
            changed.add(effect, state, self._derivatives(changed, state))
        return effect

    @cached_property
    def _changed(self) -> list[Changed]:
        """What changes."""
        name, entry = owner_of(self._name), entry_of(self._name)
        if entry.startswith("placement."):
            return [ChangedPlacement(name)]
        if name not in self._assembly.blocks:
            return [ChangedGravity(entry)]
        block = self._assembly.blocks[name]
        if isinstance(block, Motor):
            return [ChangedLaw(owner_of(block.joint)), ChangedInputs()]
        if isinstance(block, Actuator):
            return [ChangedInputs()]
        for kind, changed in _BY_KIND.items():
            if isinstance(block, kind):
                return [changed(name)]
        if not any(block in (each.joint, each.child.block) for each in self._assembly.connections) and name != "world":
            return []  # a sensor
        ports = ChangedPorts(name, attached_ports(self._assembly, block, self._pushed))
        if isinstance(block, Joint) and is_elementary(block):
            return [self._of_joint(block, entry, ports)]
        if is_rigid(block):
            return [ports] if owner_of(entry) in block.ports else [ChangedLaw(name)]
        loops = self._assembly.loops
        beside = [loop.closure.name for loop in loops if name in (own.name for own in loop.closure.own_blocks)]
        inputs = [ChangedInputs()] if block.inputs else []
        return [ChangedLaw(name), ports, *map(ChangedInteraction, beside), *inputs]

    @staticmethod
    def _of_joint(joint: Joint, entry: str, ports: ChangedPorts) -> Changed:
        """Return what changes of an elementary joint: how it moves, what is accelerated with it, or what resists."""
        field, *_ = joint.parameter_fields()[entry]
        if field in joint.geometric_fields:
            return ports
        return ChangedLaw(joint.name) if field == "armature" else ChangedPassive(joint.name)

    def _derivatives(self, changed: Changed, state: State) -> list[Array]:
        """Return the derivatives of the numbers of a part by the parameter: complex steps, or sixth-order differences."""
        if self._is_complex:
            return [np.imag(part) / _STEP for part in changed.parts(self._at(1j * _STEP), state)]

        @cache
        def at(step: float) -> list[Array]:
            return changed.parts(self._at(step), state)

        step = _DIFFERENCE * abs(self._value) or settled_step(at, _DIFFERENCE) or _DIFFERENCE
        return [derivative(_entry(at, k), step) for k in range(len(at(0.0)))]

    def _at(self, step: complex) -> Assembly:
        """Return the system with the parameter larger by a step."""
        kept = self._kept
        if step not in kept:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            kept[step] = perturbed_assembly(self._assembly, {self._name: self._value + step})
        return kept[step]

    @cached_property
    def _is_complex(self) -> bool:
        """Whether the functions of the parameter's block keep imaginary parts; users' are tried."""
        entry, block = entry_of(self._name), self._assembly.blocks.get(owner_of(self._name))
        if block is None or not block.complex_parameters:
            return block is None
        return (
            not (overrides(block) or (block.nv and block.inputs))
            or entry not in block.parameters()
            or is_parameter_complex_safe(block, entry)
        )


#: What changes of blocks that are neither bodies nor joints.
_BY_KIND: dict[type, Callable[[str], Changed]] = {
    Load: ChangedLoad,
    CoordinateLimits: ChangedStops,
    Interaction: ChangedInteraction,
    RigidClosure: ChangedClosure,
    Gear: ChangedGear,
}


def _entry(at: Callable[[float], list[Array]], k: int) -> Callable[[float], Array]:
    return lambda step: at(step)[k]
