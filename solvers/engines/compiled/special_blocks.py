"""The blocks of a system that some kernels leave to Python."""

from __future__ import annotations

from titop.blocks.contract.applied import is_acted_on
from titop.blocks.contract.block import Block, overrides_method
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.quaternion_joints import Free, Spherical
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.tables import GeneralBlock


def group_springs(system: PackedSystem) -> list[Joint]:
    """Return the spherical and free joints with a stiffness, whose efforts the kernels do not differentiate by time."""
    names = [c.joint.name for c in system.structure.connections if isinstance(c.joint, Spherical | Free)]
    joints = [system.assembly.blocks[name] for name in names if name not in system.tables.general_names]
    return [joint for joint in joints if isinstance(joint, Joint) and joint.stiffness.any()]


def moving_otherwise(system: PackedSystem) -> list[tuple[Block, slice, slice]]:
    """Return the general blocks whose own coordinates are not plain, and where these stand in q and v."""
    return [part for part in system.mechanism.plain_coordinates.others if part[0].name in system.tables.general_names]


def surrounded(system: PackedSystem) -> list[GeneralBlock]:
    """Return the blocks on which more than gravity on their inertia acts, or that store energy in their surroundings."""
    blocks = system.tables.general
    return [each for each in blocks if is_acted_on(each.block) or overrides_method(each.block, "applied_energy")]
