"""The parameters of a system by dotted name, and systems with some of them changed."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse, warn
from titop.blocks.basics.paths import entry_of, owner_of, parts_of
from titop.blocks.basics.user_input import LARGEST, out_of_range
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody, is_plainly_sound, moved_pose, pose_parameters
from titop.blocks.contract.block import Block, overrides_method
from titop.blocks.contract.fields import refused_numbers
from titop.blocks.devices.actuators import CoordinateActuator
from titop.blocks.devices.composite_device import CompositeDevice
from titop.blocks.joints.joint import Joint
from titop.blocks.surroundings.gravity_field import GRAVITY
from titop.graph.network.assembly import Assembly, loop_among, reflect_rotors, rotor_without_armature
from titop.graph.network.connections import Connection
from titop.solvers.arguments.reading import read_mapping

#: First parts of the names of parameters to whose numbers the checks of bodies and joints do not object.
_HARMLESS = {"com", "pitch", "rest"}


def assembly_parameters(assembly: Assembly) -> dict[str, tuple[float, str]]:
    """Return every parameter of every block of an assembly by dotted name: its value and unit."""
    result = (
        {} if assembly.field else {f"gravity.{e}": (float(x), "m/s^2") for e, x in zip("xyz", assembly.gravity, strict=True)}
    )
    for name, block in assembly.blocks.items():
        units = _units_along(assembly, block)
        values = block.parameters() if units is None else block.parameters_along(units)
        if isinstance(block, CoordinateActuator) and not isinstance(assembly.blocks[owner_of(block.joint)], Joint):
            del values["rotor_inertia"]  # only joints have an armature
        result |= {f"{name}.{entry}": value for entry, value in values.items()}
    for connection in assembly.connections:
        pose = pose_parameters(connection.placement)
        result |= {f"{connection.joint.name}.placement.{entry}": value for entry, value in pose.items()}
    return result


def _units_along(assembly: Assembly, block: Block) -> list[str] | None:
    """Return the units of the coordinates that a block acts on; None where its parameters' units do not depend on them."""
    if not overrides_method(block, "parameters_along"):
        return None
    loop = next((loop.coordinates for loop in assembly.loops if loop.closure.name == block.name), None)
    names = [*block.named_coordinates.values()] if loop is None else loop
    return [assembly.coordinate_units[assembly.place(name)[1]] for name in names]


def is_float(value: Any) -> bool:
    """Whether a number is finite, and not too large."""
    return bool(abs(value) <= LARGEST)


def changed_assembly(assembly: Assembly, values: Mapping[str, float], known: Collection[str]) -> Assembly:
    """Return the assembly with some of its `known` parameters changed, after checking names and values.

    Raises `ModelError` for unknown names and values that a block refuses.
    """
    for name, value in read_mapping("parameters", values).items():
        if name not in known:
            motor = assembly.blocks.get(owner_of(name)) if str(name).endswith(".rotor_inertia") else None
            if isinstance(motor, CoordinateActuator):
                raise ModelError(rotor_without_armature(motor, value))
            advice = did_you_mean(name, [*known, *device_parameters(assembly.devices)])
            raise ModelError(Finding("unknown-parameter", str(name), value, "a parameter of the model", advice))
        _check_number(name, value)
    return known_changed(assembly, values)


def _check_number(name: str, value: Any) -> None:
    """Refuse a parameter's value that is no finite number."""
    if not isinstance(value, Real):
        raise ModelError(Finding("wrong-type", name, value, "a number", "check the value"))
    if not is_float(value) and abs(value) < math.inf:  # type: ignore[operator]
        raise ModelError(out_of_range(name, value))
    if not is_float(value):
        raise ModelError(Finding("not-finite", name, value, "a finite number", "check the value"))


def device_parameters(devices: Iterable[CompositeDevice]) -> dict[str, tuple[float, str]]:
    """Return every parameter of devices by dotted name: its value and unit."""
    return {f"{device.name}.{entry}": value for device in devices for entry, value in device.parameters().items()}


def followed(
    devices: tuple[CompositeDevice, ...], values: Mapping[str, Any]
) -> tuple[tuple[CompositeDevice, ...], Mapping[str, Any]]:
    """Return devices with some of their parameters changed; and the values, with those of parts that follow from devices'.

    What is given for a part itself precedes what follows. Raises `ModelError` for values that a device refuses.
    """
    result, changed = dict(values), []
    for device in devices:
        names = {name.removeprefix(f"{device.name}."): name for name in map(str, values) if name.startswith(f"{device.name}.")}
        if not names:
            changed.append(device)
            continue
        own = {entry: values[names[entry]] for entry in device.parameter_fields() if entry in names}
        refuse(refused_numbers(device, {entry: values[name] for entry, name in names.items() if entry not in own}))
        for entry, value in own.items():
            _check_number(names[entry], value)
            if names[entry] not in device.numbers:
                del result[names[entry]]
        now: Any = device.with_parameters(own) if own else device
        if own:
            refuse(now.check()[0])
            result = {name: x for name, x in now.numbers.items() if x != device.numbers[name]} | result
        changed.append(now)
    return tuple(changed), result


def known_changed(assembly: Assembly, values: Mapping[str, float], blocks: Mapping[str, Block] | None = None) -> Assembly:
    """Return the assembly with some of its parameters changed to finite numbers, checked by the blocks only.

    Of changed `blocks`, by name, those given are taken as they are. Raises `ModelError` for values that a block refuses.
    """
    changed, findings = _replace_values(assembly, values, blocks=blocks or {})
    refuse(findings)
    return changed


def suspicions(
    assembly: Assembly,
    values: Mapping[str, float],
    names: Iterable[str] | None = None,
    changed: Mapping[str, Block] | None = None,
) -> list[Finding]:
    """Return the warnings that changed values add, if blocks accept them; arguments as in `look_at`."""
    return look_at(assembly, values, names, changed)[1]


def look_at(
    assembly: Assembly,
    values: Mapping[str, float],
    names: Iterable[str] | None = None,
    changed: Mapping[str, Block] | None = None,
) -> tuple[list[Finding], list[Finding]]:
    """Return the errors of changed values, as blocks report them, and the warnings that were not there before.

    `names`: check the blocks of these parameters only. `changed`: blocks with these values, by name, that exist already.
    """
    errors, warnings = [], []
    single = {entry.partition(".inertia.")[:2]: entry for entry in names or values}  # one entry of each inertia
    doubtful = [entry for entry in single.values() if not _is_harmless(assembly, entry, values)]
    asked = dict.fromkeys(owner_of(entry) for entry in doubtful)
    for name in asked:
        block = assembly.blocks.get(name)
        if block is not None:
            entries = {entry.removeprefix(f"{name}."): value for entry, value in values.items() if entry.startswith(f"{name}.")}
            now = changed_block(block, entries) if changed is None or name not in changed else changed[name]
            wrong, suspicious = now.check()
            known = {str(finding) for finding in block.check()[1]} if suspicious else set()
            errors += wrong
            warnings += [finding for finding in suspicious if str(finding) not in known]
    errors += [finding for name, now in (changed or {}).items() if name not in asked for finding in now.reader.findings]
    return errors, warnings


def _is_harmless(assembly: Assembly, name: str, values: Mapping[str, float]) -> bool:
    """Return whether the check of a body or joint cannot object to a parameter; it would take most of the time of a change."""
    block_name, *entry = parts_of(name)
    block: Any = assembly.blocks.get(block_name)
    if block is not None and block.cannot_object(name.removeprefix(f"{block_name}."), values[name]):
        return True
    if getattr(type(block), "check", None) not in (RigidBody.check, Joint.check):
        return False
    if entry == ["mass"]:
        return values[name] > 0
    if entry[0] == "inertia":
        keys = ((f"{block_name}.inertia.{each}", ij) for each, ij in INERTIA_ENTRIES.items())
        sound = is_plainly_sound(*(values[key] if key in values else float(block.inertia[ij]) for key, ij in keys))
        return sound and values.get(f"{block_name}.mass", block.mass) > 0
    if entry[0] in ("axis", "axis1", "axis2", "armature"):  # of one entry that is not zero no axis is
        return values[name] > 0 or (values[name] != 0 and entry[0] != "armature")
    return "position" in entry or entry[0] in _HARMLESS


def warn_of_samples(assembly: Assembly, samples: Sequence[Mapping[str, float]]) -> None:
    """Warn of suspicious values in many sets: of each kind only the first, with the number of all."""
    first: dict[tuple[str, str], Finding] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for values in samples:
        for finding in suspicions(assembly, followed(assembly.devices, values)[1]):
            kind = finding.code, finding.where
            counts[kind] += 1
            first.setdefault(kind, finding)
    total = len(samples)
    warn(replace(each, value=f"{each.value} and the like, {counts[kind]} times in {total}") for kind, each in first.items())


def perturbed_assembly(assembly: Assembly, values: Mapping[str, complex]) -> Assembly:
    """Return the assembly with some parameters replaced by complex numbers, without checks, for complex steps."""
    return _replace_values(assembly, values, check=False)[0]


def _replace_values(
    assembly: Assembly, values: Mapping[str, Any], check: bool = True, blocks: Mapping[str, Block] | None = None
) -> tuple[Assembly, list[Finding]]:
    gravity = np.array([values.get(f"gravity.{axis}", x) for axis, x in zip("xyz", assembly.gravity, strict=True)])
    by_block: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        by_block.setdefault(owner_of(name), {})[entry_of(name)] = value
    ready = blocks or {}
    others = {
        name: ready[name] if name in ready else changed_block(assembly.blocks[name], new)
        for name, new in by_block.items()
        if name in assembly.blocks
    }
    changed: dict[str, Any] = {**assembly.blocks, **others}
    actuators = tuple(changed[actuator.name] for actuator in assembly.actuators)
    driving = [actuator for actuator in actuators if isinstance(actuator, CoordinateActuator)]
    if any(motor.name in others or owner_of(motor.joint) in others for motor in driving):
        _reflect_anew(changed, driving, assembly)
    doubtful = (changed[name] for name in by_block if check and name in changed and name not in ready)
    findings = [finding for block in doubtful for finding in block.check()[0]]
    connections = tuple(_changed_connection(c, changed, by_block.get(c.joint.name, {})) for c in assembly.connections)
    result = replace(
        assembly,
        gravity=gravity,
        world=changed["world"],
        connections=connections,
        loads=tuple(changed[load.name] for load in assembly.loads),
        actuators=actuators,
        sensors=tuple(changed[sensor.name] for sensor in assembly.sensors),
        loops=tuple(loop_among(loop, changed, gravity, changed.get(GRAVITY)) for loop in assembly.loops),
        field=changed.get(GRAVITY),
        turning=changed[GRAVITY].turning if GRAVITY in changed else assembly.turning,
        gears=tuple(changed[gear.name] for gear in assembly.gears),
        limits=tuple(changed[limits.name] for limits in assembly.limits),
    )
    return result, findings


def _reflect_anew(changed: dict[str, Any], driving: Sequence[CoordinateActuator], assembly: Assembly) -> None:
    """Replace the driven joints by joints with the current rotor inertias of their motors."""
    driven = {owner_of(motor.joint) for motor in driving}
    for name in (name for name in driven if isinstance(changed[name], Joint)):
        changed[name] = copy.copy(changed[name])
        changed[name].reflected_inertia = None
    reflect_rotors(changed, driving)
    for name in driven:
        rotors: Any = getattr(changed[name], "reflected_inertia", None)
        if np.iscomplexobj(rotors):
            changed[name].take_real_steps(assembly.blocks[name].steps)


def changed_block(block: Block, entries: dict[str, Any]) -> Block:
    """Return a block with other values of some parameters, real or complex, without checks; placements are not the block's."""
    values = {entry: value for entry, value in entries.items() if not entry.startswith("placement.")}
    if not values:
        return block
    changed = block.with_parameters(values)
    changed.complex_safe = block.complex_safe
    changed.forget_steps()
    if any(isinstance(value, complex) for value in values.values()):
        changed.take_real_steps(block.steps)
    return changed


def _changed_connection(connection: Connection, blocks: Mapping[str, Block], entries: Mapping[str, float]) -> Connection:
    parent, joint, child = (blocks[each.name] for each in (connection.parent.block, connection.joint, connection.child.block))
    if parent is connection.parent.block and joint is connection.joint and child is connection.child.block and not entries:
        return connection
    placement = connection.placement
    for entry, value in entries.items():
        if entry.startswith("placement."):
            placement = moved_pose(placement, entry.removeprefix("placement."), value)
    return Connection(parent.port(connection.parent.name), child.port(connection.child.name), joint, placement)
