"""Parameters that are brought into effect by writing a compiled system's tables anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np

from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.spatial import Array
from titop.blocks.joints.joint import Joint
from titop.graph.network.assembly import Assembly
from titop.solvers.engines.compiled.inertial_changes import Place, inertial_parameters
from titop.solvers.engines.compiled.law_tables import has_own_numbers, numbered_anew
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.tables import Tables
from titop.solvers.mechanism.inputs import Inputs

#: Parts of the names of parameters on which the number of independent constraints may depend.
_GEOMETRY = ("position", "rotation", "axis", "axis1", "axis2", "pitch")


class Repacking:
    """The parameters of a system that its tables hold; shared by all models of the same structure.

    Parameters
    ----------
    assembly : Assembly
    tables : Tables
    inputs : Inputs
    """

    def __init__(self, assembly: Assembly, tables: Tables, inputs: Inputs) -> None:
        self._assembly, self._tables, self._inputs = assembly, tables, inputs

    @cached_property
    def positions(self) -> dict[str, int]:
        """Position of the parameters that packing, and numbering anew, bring into effect; others ask for other tables."""
        assembly, tables = self._assembly, self._tables
        unsprung = set(tables.joints) - self._sprung_joints()
        general = tables.general_names | {block.name for block in (*assembly.actuators, *assembly.sensors)}
        general |= {block.name for block, *_ in self._inputs.own}
        general |= {loop.closure.name for loop in assembly.loops} | {gear.name for gear in assembly.gears}
        general |= {own.name for loop in assembly.loops for own in loop.closure.own_blocks}
        general -= {acting.block.name for acting in tables.interactions if has_own_numbers(acting.block)}
        index = {}
        for position, name in enumerate(tables.parameter_names):
            block, entry, *own = parts_of(name)
            if block in general or (block in unsprung and entry in ("stiffness", "damping", "friction", "limits")):
                continue
            if entry == "rest" and own and own[0].startswith("q"):  # a quaternion, which its joint has to check
                continue
            index[name] = position
        return index

    @cached_property
    def inertial(self) -> dict[str, Place]:
        """The places of masses and entries of inertias: see `inertial_parameters`."""
        return inertial_parameters(self._assembly, self.positions)

    def _sprung_joints(self) -> set[str]:
        joints = (connection.joint for connection in self._assembly.connections)
        return {joint.name for joint in joints if isinstance(joint, Joint) and joint.is_sprung}


def repacked(system: PackedSystem, params: Array, values: Mapping[str, float]) -> PackedSystem | None:
    """Return a system with other parameters: its tables written anew, as far as these depend on them.

    Parameters
    ----------
    system : PackedSystem
    params : array
        All parameters.
    values : mapping of str to float
        Those that changed.

    Returns
    -------
    PackedSystem or None
        None if some of them are not usable.
    """
    changes, interactions = {**system.changes, **values}, system.tables.interactions
    floats, frames, ports = system.floats.copy(), np.empty(system.frames.shape), np.empty(system.ports.shape)
    result = system.variant(params=params, changes=changes, floats=floats, frames=frames, ports=ports)
    if not result.pack():
        return None
    if interactions:
        result.numbers = numbered_anew(interactions, system.ints, system.numbers, changes, values)
    return result


def move_constraints(names: Collection[str]) -> bool:
    """Tell whether parameters of these names may change how many constraints are independent."""
    return any(part in _GEOMETRY for name in names for part in parts_of(name))
