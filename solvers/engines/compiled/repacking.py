"""Parameters that are brought into effect by writing a compiled system's tables anew, and how far masses may change.

Where every mass and inertia tensor is between a k-th of what it was and k times that (for tensors: the differences have no
negative principal value), so is the inertia of every subtree, with its joints free or held. A pivot is then at least a k-th of
what it was, and what its coordinate carries is at most k times that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.paths import owner_of, parts_of
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody, is_plainly_sound, is_positive
from titop.blocks.contract.block import Block
from titop.blocks.joints.joint import Joint
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Joined
from titop.solvers.engines.compiled.flatten import ElementMount
from titop.solvers.engines.compiled.law_tables import has_own_numbers, numbered_anew
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.tables import Tables
from titop.solvers.mechanism.inputs import Inputs
from titop.solvers.mechanism.system_parameters import changed_block

#: The factor k.
NEAR = 10.0
#: Mass, centre of mass and inertia follow each other among the parameters: where the inertia begins, and how many there are.
_INERTIA, _ENTRIES = 4, 10


class InertialEntry(NamedTuple):
    """A mass, or an entry of an inertia: where its body's numbers start among the parameters, and which of both it is."""

    start: int
    is_mass: bool


def inertial_parameters(assembly: Assembly, positions: dict[str, int]) -> dict[str, InertialEntry]:
    """Return the places of every mass and entry of an inertia that bodies look at as `RigidBody` does.

    Parameters
    ----------
    positions : mapping of parameter name to int
        Positions of the parameters that packing brings into effect.
    """
    result = {}
    for connection in assembly.connections:
        body = connection.child.block
        if type(body).check is not RigidBody.check or not body.is_rigid or f"{body.name}.mass" not in positions:
            continue
        start = positions[f"{body.name}.mass"]
        result[f"{body.name}.mass"] = InertialEntry(start, is_mass=True)
        result |= {f"{body.name}.inertia.{each}": InertialEntry(start, is_mass=False) for each in INERTIA_ENTRIES}
    return result


def are_near(reference: Array, params: Array, changed: Iterable[InertialEntry | None]) -> bool:
    """Tell whether only masses and inertias changed, which are near the reference's and not suspicious.

    - `reference`: parameters that were looked at;
    - `params`: parameters of which those that did not change are near the reference's;
    - `changed`: none for what is neither mass nor inertia.
    """
    turned = set()
    for place in changed:
        if place is None:
            return False
        start, is_mass = place
        mass = params.item(start)
        if is_mass:
            known = reference.item(start)
            if not 0.0 < known <= NEAR * mass <= NEAR * NEAR * known:
                return False
        elif mass > 0.0:
            turned.add(start)
        else:
            return False
    return all(
        _is_near(reference[start + _INERTIA : start + _ENTRIES].tolist(), params[start + _INERTIA : start + _ENTRIES].tolist())
        for start in turned
    )


def _is_near(known: list[float], inertia: list[float]) -> bool:
    """Tell whether an inertia (xx, yy, zz, xy, xz, yz) is near a known one and clearly valid."""
    if inertia == known:
        return True
    pairs = list(zip(inertia, known, strict=True))
    return (
        is_plainly_sound(*inertia)
        and is_positive(*(NEAR * new - old for new, old in pairs))
        and is_positive(*(NEAR * old - new for new, old in pairs))
    )


#: Parts of the names of parameters that may change the number of independent constraints.
_GEOMETRY = ("position", "rotation", "axis", "axis1", "axis2", "pitch")


class Repacking:
    """The parameters of a system that its tables hold; shared by all models of the same structure."""

    def __init__(self, assembly: Assembly, tables: Tables, inputs: Inputs) -> None:
        self._assembly, self._tables, self._inputs = assembly, tables, inputs

    @cached_property
    def positions(self) -> dict[str, int]:
        """Indices of the parameters that take effect by writing tables and numbers again; others need other tables."""
        assembly, tables = self._assembly, self._tables
        joints = (connection.joint for connection in assembly.connections)
        unsprung = set(tables.joints) - {joint.name for joint in joints if isinstance(joint, Joint) and joint.is_sprung}
        general = tables.general_names | {loop.closure.name for loop in assembly.loops} | {gear.name for gear in assembly.gears}
        general -= {block.name for block in tables.numbered if has_own_numbers(block)}
        general |= {block.name for block in (*assembly.actuators, *assembly.sensors)}
        general |= {block.name for block, *_ in self._inputs.own}
        general |= {block.name for loop in assembly.loops if loop not in self._weighing for block in loop.closure.own_blocks}
        general |= {each.block.body.name for each in tables.general if isinstance(each.block, ElementMount)}
        index = {}
        for position, name in enumerate(tables.parameter_names):
            block, entry, *components = parts_of(name)
            if block in general or (block in unsprung and entry in ("stiffness", "damping", "friction", "limits")):
                continue
            if entry == "rest" and components and components[0].startswith("q"):  # a quaternion, which its joint has to check
                continue
            index[name] = position
        return index

    @cached_property
    def _numbered(self) -> frozenset[str]:
        """Names of the blocks whose laws have numbers."""
        return frozenset(block.name for block in self._tables.numbered)

    def changed_numbers(self, system: PackedSystem, values: Mapping[str, float]) -> dict[str, Block]:
        """Return those blocks with numbers of their own that have some of the changed parameters, with the changes so far."""
        result: dict[str, Block] = {}
        if not self._numbered:
            return result
        changes, owners = {**system.changes, **values}, {owner_of(name) for name in values}

        @cache
        def now(name: str) -> Block:
            start = f"{name}."
            own = {each.removeprefix(start): value for each, value in changes.items() if each.startswith(start)}
            return changed_block(system.structure.blocks[name], own)

        for name in self._numbered & owners:
            result[name] = now(name)
        for loop in self._weighing:
            names = [block.name for block in loop.closure.own_blocks]
            if not owners.isdisjoint(names):
                result[loop.closure.name] = loop.closure.among({name: now(name) for name in names})
        return result

    @cached_property
    def _weighing(self) -> list[Joined]:
        """The loops that are a field's gravity, by laws whose numbers follow the body's and the field's."""
        return [loop for loop in self._assembly.loops if loop.closure.is_gravity and has_own_numbers(loop.closure)]

    @cached_property
    def inertial(self) -> dict[str, InertialEntry]:
        """The places of masses and entries of inertias: see `inertial_parameters`."""
        return inertial_parameters(self._assembly, self.positions)


def with_parameters_of(
    system: PackedSystem, params: Array, values: Mapping[str, float], blocks: Mapping[str, Block]
) -> PackedSystem | None:
    """Return a system with other parameters, with those tables written again that depend on them.

    None if some are not usable, or need other tables. `params`: all parameters; `values`: those that changed; `blocks`: the
    `Repacking.changed_numbers` of these.
    """
    changes, tables = {**system.changes, **values}, system.tables
    floats, frames, ports = system.floats.copy(), np.empty(system.frames.shape), np.empty(system.ports.shape)
    result = system.variant(params=params, changes=changes, floats=floats, frames=frames, ports=ports)
    if not result.pack():
        return None
    if blocks:
        numbers = numbered_anew((*tables.general, *tables.interactions), system.ints, system.numbers, blocks)
        if numbers is None:
            return None
        general = tuple(replace(each, block=blocks.get(each.block.name, each.block)) for each in tables.general)
        result.numbers, result.blocks = numbers, {**system.blocks, **blocks}
        result.tables = replace(tables, general=general)
    return result


def move_constraints(names: Collection[str]) -> bool:
    """Tell whether the named parameters may change the number of independent constraints."""
    return any(part in _GEOMETRY for name in names for part in parts_of(name))
