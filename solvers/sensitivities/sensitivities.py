"""Sensitivities of the dynamics: derivatives by parameters, actuators' inputs and wrenches on ports, by name.

Those by masses, centres of mass and inertias of rigid bodies come from the regressor of these bodies, in one pass. For other
parameters only the parts of the system that the parameter changes are differentiated; the response of the system follows from
its derivatives by the state (`effects`). All are exact to rounding, except for blocks that do not keep imaginary parts: these
are differentiated by finite differences.

Each block is asked for its effects at a state (`of_efforts`, `of_accelerations`): the specification, and for what cannot be
recorded. All else is found for stacked states at once (`at_stack`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.differences import derivative, settled_step
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COMPLEX_STEP, DIFFERENCE_STEP, SAME
from titop.blocks.checking.complex_safety import is_parameter_complex_safe
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.constraints.relation import Relation
from titop.blocks.contract.block import Block, is_titops_own, overrides
from titop.blocks.devices.actuators import Actuator, CoordinateActuator
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.devices.loads import Load
from titop.blocks.devices.sensors import Sensor
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint, is_elementary
from titop.blocks.programs.differentiation import jacobian
from titop.graph.network.assembly import Assembly
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import rank_near
from titop.solvers.constraints.multipliers import Shares
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.mechanism.movable_ports import MovablePlace
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
    ChangedTurning,
    attached_ports,
    load_efforts,
    passive_efforts,
    stop_efforts,
)
from titop.solvers.sensitivities.effects import Effect, Movable, SensitiveModel, SensitivityState, Stepped, movables
from titop.solvers.sensitivities.inertial_parameters import efforts_by_inertia, inertial_effort_derivatives
from titop.solvers.sensitivities.recorded_effects import ApartError, RecordedEffects
from titop.solvers.signals.grammar import CAUSE, read_name
from titop.solvers.signals.quantities import Kind

#: Number of steps for which the changed parts are cached: enough for the differences.
_MOST_STEPS = 32


class ParameterChange:
    """The parts of a system that a parameter of a block changes.

    `value`: the parameter's value; `pushed`: names of the ports on which external wrenches may act.
    """

    def __init__(self, assembly: Assembly, name: str, value: float, pushed: Collection[str]) -> None:
        self._assembly, self._name, self.value, self._pushed = assembly, name, value, pushed
        self._cache: dict[complex, list[Any]] = {}

    def effect(self, state: SensitivityState) -> Effect:
        """Return the direct effect of the parameter at a state, per unit."""
        effect = Effect(np.zeros(state.model.nv))
        for k, changed in enumerate(self._changed):
            changed.add(effect, state, self._derivatives(k, state))
        return effect

    def record(self, state: SensitivityState, parameter: Any) -> Effect:
        """Return the direct effect of a value at a state, neither of which is known yet; see `recorded_effects`."""
        if not self._is_complex:
            raise TypeError("differences of functions that look at numbers")
        effect, stepped = Effect(np.zeros(state.model.nv, dtype=object)), Stepped(self._assembly, self._name, parameter)
        for changed in self._changed:
            numbers = changed.parts(changed.of(stepped), state)
            changed.add(effect, state, [jacobian(number, [parameter])[..., 0] for number in numbers])
        return effect

    @property
    def is_driven(self) -> bool:
        """Whether its effects depend on inputs, or on first-order states behind these."""
        interactions = (self._assembly.blocks[part.name] for part in self._changed if isinstance(part, ChangedInteraction))
        return any(isinstance(part, ChangedInputs) for part in self._changed) or any(
            each.inputs or each.state_names for each in interactions
        )

    @cached_property
    def _changed(self) -> list[ChangedPart]:
        """The changed parts; none for a parameter of a sensor."""
        name, entry, assembly = owner_of(self._name), entry_of(self._name), self._assembly
        if entry.startswith("placement."):
            return [ChangedPlacement(name)]
        if name not in assembly.blocks:
            return [ChangedGravity(entry)]
        block = assembly.blocks[name]
        if isinstance(block, Actuator):
            law = [ChangedLaw(owner_of(block.joint))] if isinstance(block, CoordinateActuator) else []
            return [*law, ChangedInputs(name), *map(ChangedInteraction, self._beside)]
        for kind, changed in _BY_KIND.items():
            if isinstance(block, kind):
                return [changed(name)]
        if isinstance(block, Sensor):
            return []
        if block is assembly.field:
            return [ChangedTurning(name), *map(ChangedInteraction, self._beside)]
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

        step = start = DIFFERENCE_STEP * (abs(self.value) or 1.0)
        if abs(self.value) < SAME:  # the value may be rounding and tells nothing about the step
            step = settled_step(at, start) or settled_step(at, DIFFERENCE_STEP) or start
        return [derivative(_entry(at, number), step) for number in range(len(at(step)))]

    def _at(self, step: complex) -> list[Any]:
        """Return the objects on which the changed parts depend, with the parameter increased by a step; cached."""
        parts = self._cache.get(step)
        if parts is None:
            stepped = Stepped(self._assembly, self._name, self.value + step)
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
        others = [*self._beside, *([owner_of(block.joint)] if isinstance(block, CoordinateActuator) else [])]
        if not all(is_titops_own(self._assembly.blocks[name]) for name in others):
            return False
        return (
            not (overrides(block) or (block.nv and block.inputs))
            or entry not in block.parameters()
            or is_parameter_complex_safe(block, entry)
        )


def part_slopes(device: CompositeDevice, entry: str) -> dict[str, float]:
    """Return the derivatives of the parameters of a device's parts by one of its own: sixth-order differences.

    They are exact to rounding where what follows is a polynomial of sixth degree or less.
    """
    value, names = device.parameters()[entry][0], list(device.numbers)

    @cache
    def at(step: float) -> list[Array]:
        changed: Any = device.with_parameters({entry: value + step})
        return [np.array([changed.numbers[name]]) for name in names]

    step = DIFFERENCE_STEP * (abs(value) or 1.0)
    if abs(value) < SAME:
        step = settled_step(at, step) or step
    moved = at(step)
    return {
        name: float(derivative(_entry(at, k), step)[0]) for k, name in enumerate(names) if moved[k][0] != device.numbers[name]
    }


#: The changed part of blocks that are neither bodies nor joints, by class.
_BY_KIND: dict[type, Callable[[str], ChangedPart]] = {
    Load: lambda name: ChangedEfforts(name, load_efforts),
    CoordinateLimits: lambda name: ChangedEfforts(name, stop_efforts),
    Interaction: ChangedInteraction,
    MultiplierClosure: ChangedClosure,
    Relation: ChangedGear,
}


def _entry(at: Callable[[float], list[Array]], k: int) -> Callable[[float], Array]:
    return lambda step: at(step)[k]


class _Closed(NamedTuple):
    """The constraints at a state: the split of efforts, all multipliers (k), and the vector w (nv) of the split."""

    shares: Shares
    multipliers: Array
    shared: Array


class _Change(NamedTuple):
    """Changes of the efforts of inverse dynamics (nv), of J times the `shared` vector, and of ``J a + bias`` (k each)."""

    needed: Array
    turned: Array
    opening: Array


class Sensitivities:
    """Derivatives of a model's dynamics by everything that is not its state.

    `names`: names of parameters, inputs and ports; for a port, derivatives are by a wrench on it in its frame (six columns);
    `pushed`: ports on which wrenches act.

    Raises `ModelError` for unknown names.
    """

    def __init__(self, model: SensitiveModel, names: Iterable[str], pushed: Iterable[str] = ()) -> None:
        self.model, self.asked, self._pushed = model, tuple(names), frozenset(pushed)
        self._causes = {name: read_name(model, CAUSE, name) for name in self.asked}
        assembly = model.mechanism.assembly
        of_devices = {f"{device.name}.{entry}": (device, entry) for device in assembly.devices for entry in device.parameters()}
        self._shares = {name: part_slopes(*of_devices[name]) for name in self.asked if name in of_devices}
        #: The names asked for, with parameters of parts in place of those of devices.
        self.names = tuple(dict.fromkeys(part for name in self.asked for part in self._shares.get(name, (name,))))
        self._movables: list[Movable] = []

    @cached_property
    def _parameters(self) -> dict[str, ParameterChange]:
        values, assembly = self.model.parameters(), self.model.mechanism.assembly
        return {name: ParameterChange(assembly, name, values[name][0], self._pushed) for name in self.names if name in values}

    def of_efforts(self, q: Array, v: Array, a: Array, wrenches: Mapping[str, Any], u: Array) -> dict[str, Array]:
        """Return the derivatives of the efforts ``tau`` (with constraints, of least norm) at accelerations `a` by name."""
        model, state = self.model, SensitivityState(self.model, q, v, a, wrenches, u)
        if not model.is_constrained:
            return {name: change.needed for name, change in self._changes(state, None).items()}
        needed = model.mechanism.engine.dynamics.tree_inverse(q, v, a, state.pushes) - model.mechanism.motor_efforts(u)
        closed = self._closed(q, v, rank_near(model.mechanism, q), needed, np.ones(model.nv, dtype=bool))

        def least(needed: Array, turned: Array, opening: Array) -> Array:
            return closed.shares.least(needed, turned)

        return _together(self._changes(state, closed), least)

    def of_accelerations(self, q: Array, v: Array, tau: Array, wrenches: Mapping[str, Any], u: Array) -> dict[str, Array]:
        """Return the derivatives of the accelerations under the efforts `tau` by name."""
        model = self.model
        a = model.forward_dynamics(q, v, tau, wrenches, u=u)
        state = SensitivityState(model, q, v, a, wrenches, u)
        if not model.is_constrained:
            free = np.zeros(model.nv, dtype=bool)

            def caused(needed: Array, turned: Array, opening: Array) -> Array:
                return model.mechanism.engine.dynamics.tree_response(q, -needed, free)

            return _together(self._changes(state, None), caused)
        needed = model.mechanism.engine.dynamics.tree_inverse(q, v, a, state.pushes) - model.mechanism.motor_efforts(u) - tau
        closed = self._closed(q, v, closed_dynamics.acting(model.mechanism, q, v)[1], needed, np.zeros(model.nv, dtype=bool))
        mobility = model.forward_dynamics_derivatives(q, v, tau, wrenches, u=u)[2]

        def accelerated(needed: Array, turned: Array, opening: Array) -> Array:
            if not opening.any():
                return -mobility @ needed
            closing = closed.shares.partition.follow(-opening)
            return closing - mobility @ (needed + model.mechanism.engine.dynamics.mass_matrix(q) @ closing)

        return _together(self._changes(state, closed), accelerated)

    @cached_property
    def _recorded(self) -> RecordedEffects:
        """The direct effects of the parameters that are neither inertias nor gravity, without external loads."""
        apart = {*self.model.mechanism.inertial.places, *self._weighing}
        return RecordedEffects(self.model, {name: change for name, change in self._parameters.items() if name not in apart})

    @cached_property
    def _weighing(self) -> dict[str, Any]:
        """The mechanism in a unit of gravity, for each component of it."""
        mechanism, units = self.model.mechanism, zip("xyz", np.eye(3), strict=True)
        axes = {name: unit for axis, unit in units if (name := f"gravity.{axis}") in self._parameters}
        return {name: mechanism.with_assembly(replace(mechanism.assembly, gravity=unit)) for name, unit in axes.items()}

    @cached_property
    def apart(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """The names of which `at_stack` has the sensitivities and the others: without external loads, and under these."""
        calls = self.model.mechanism.engine.calls
        if calls.kernels is None or calls.efforts.in_python:
            return ((), self.asked), ((), self.asked)

        def split(left: set[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
            alone = [name for name in self.asked if not left.isdisjoint(self._shares.get(name, (name,)))]
            return tuple(name for name in self.asked if name not in alone), tuple(alone)

        return split(self._recorded.left), split(self._recorded.loaded)

    def at_stack(
        self, q: Array, v: Array, a: Array, loaded: bool, respond: Callable[[Array, Array, Array], Array | None]
    ) -> dict[str, Array]:
        """Return what follows from the changes (batch, m, nv) of inverse dynamics at stacked states, by name, if not `apart`.

        `loaded`: whether there are external loads.

        Raises `ApartError` where states have to go one by one.
        """
        mechanism, rows = self.model.mechanism, dict[str, Array]()
        inertial = tuple(name for name in self.names if name in mechanism.inertial.places)
        if inertial:
            rows |= dict(zip(inertial, efforts_by_inertia(mechanism, True, inertial, q, v, a).swapaxes(0, 1), strict=True))
        for name, weighing in self._weighing.items():
            nothing, rows[name] = np.zeros(v.shape), np.empty(v.shape)
            if weighing.engine.calls.stacked["gravity_effects"](q, nothing, nothing, rows[name]) != DONE:
                raise ApartError
        rows |= self._recorded.at(q, v, a, loaded)
        for name in self.asked:
            if name in self._shares:
                rows[name] = sum((share * rows[part] for part, share in self._shares[name].items()), np.zeros(v.shape))
        names = self.apart[loaded][0]
        changes = [rows[name][:, None] if name in rows else -self._pushes(name, q) for name in names]
        found = respond(np.concatenate(changes, axis=1), q, v)
        if found is None:
            raise ApartError
        parts = np.split(found, np.cumsum([change.shape[1] for change in changes])[:-1], axis=1)
        single = [name in rows or self._causes[name].kind == Kind.INPUT for name in names]
        pairs = zip(names, parts, single, strict=True)
        return {name: part[:, 0] if is_single else part.swapaxes(1, 2) for name, part, is_single in pairs}

    def _closed(self, q: Array, v: Array, rank: int, needed: Array, unknown: Array) -> _Closed:
        """Return the constraints for `needed` efforts, with efforts of least norm on the `unknown` coordinates."""
        model = self.model
        jacobian = model.mechanism.engine.dynamics.constraints(q, v).jacobian
        shares = closed_dynamics.shares_at(model.mechanism, jacobian, unknown, rank)
        shared, multipliers = shares.split(needed)
        return _Closed(shares, multipliers, shared)

    def _changes(self, state: SensitivityState, closed: _Closed | None) -> dict[str, _Change]:
        """Return the changes by each cause at a state, by name, with coordinates and accelerations held."""
        constraints = 0 if closed is None else len(closed.multipliers)
        inertial = inertial_effort_derivatives(self.model.mechanism, self.names, state.q, state.v, state.a)
        effects = {name: change.effect(state) for name, change in self._parameters.items() if name not in inertial}
        followed = self._followed(state, closed, effects)

        def change(name: str) -> _Change:
            if name in followed:
                return followed[name]
            needed = inertial[name] if name in inertial else -self._push(name, state)
            still = np.zeros((constraints, *needed.shape[1:]))
            return _Change(needed, still, still)

        changes, nothing = {name: change(name) for name in self.names}, np.zeros((constraints, 1))[:, 0]
        return {
            name: changes[name] if name not in self._shares else _total(changes, self._shares[name], state.model.nv, nothing)
            for name in self.asked
        }

    def _followed(self, state: SensitivityState, closed: _Closed | None, effects: Mapping[str, Effect]) -> dict[str, _Change]:
        """Return the changes by effects, including those of moving ports and changing constraints."""
        nothing = np.zeros(0)
        multipliers, shared = (nothing, np.zeros(self.model.nv)) if closed is None else (closed.multipliers, closed.shared)
        places = {move.place for effect in effects.values() for move in effect.moves}
        responses = [movable.response(state, multipliers, shared) for movable in self._movables_at(places)]
        changes = {}
        for name, effect in effects.items():
            needed, turned, opening = effect.efforts, np.zeros(len(multipliers)), np.zeros(len(multipliers))
            for turn in effect.turns:
                needed = needed - turn.jacobian.T @ multipliers[turn.rows]
                turned[turn.rows] += turn.jacobian @ shared
                opening[turn.rows] += turn.opening
            for move in effect.moves:
                response = next(each for each in responses if move.place in each.where)
                needed = needed + response.needed(move)
                if closed is not None:
                    turned += response.turned(move, shared)
                    opening += response.opening(move)
            changes[name] = _Change(needed, turned, opening)
        return changes

    def _movables_at(self, places: set[MovablePlace]) -> list[Movable]:
        """Return the models in which these places, and those of earlier calls, can be moved."""
        known = {place for movable in self._movables for place in movable.places}
        if not known >= places:
            self._movables = movables(self.model, places | known)
        return self._movables if places else []

    def _pushes(self, name: str, q: Array) -> Array:
        """Return the efforts (batch, 1 or 6, nv) per unit of an input, or of a wrench on a port, at stacked configurations."""
        cause = self._causes[name]
        if cause.kind == Kind.INPUT:
            return self.model.actuation_matrix(q)[..., cause.entries[0]][:, None]
        return self.model.jacobian(cause.owner, q)[:, list(cause.entries)]

    def _push(self, name: str, state: SensitivityState) -> Array:
        """Return the efforts per unit of an input (nv), or of a wrench on a port (nv, 6)."""
        cause = self._causes[name]
        if cause.kind == Kind.INPUT:
            return self.model.actuation_matrix(state.q)[:, cause.entries[0]]
        return state.jacobian(cause.owner).T[:, list(cause.entries)]


def _total(changes: Mapping[str, _Change], shares: Mapping[str, float], nv: int, nothing: Array) -> _Change:
    """Return the change by a parameter of a device, from those by parameters of its parts and their `shares`."""
    total = _Change(np.zeros(nv), nothing, nothing)
    for name, share in shares.items():
        total = _Change(*(part + share * more for part, more in zip(total, changes[name], strict=True)))
    return total


def _together(changes: Mapping[str, _Change], function: Callable[[Array, Array, Array], Array]) -> dict[str, Array]:
    """Apply a linear function to all changes at once, and return its results by name."""
    if not changes:
        return {}
    columns = [[part[:, None] if part.ndim == 1 else part for part in change] for change in changes.values()]
    needed, turned, opening = (np.hstack(parts) for parts in zip(*columns, strict=True))
    ends = np.cumsum([part.shape[1] for part, _, _ in columns])
    parts = np.split(function(needed, turned, opening), ends[:-1], axis=1)
    return {name: part.reshape(changes[name].needed.shape) for name, part in zip(changes, parts, strict=True)}
