"""Rounding in a compiled system: coordinates that may lose accuracy, and bounds of small pivots.

Each element is two parts of the elimination in one frame: its joint, and the body or general block that the joint carries (see
`titop.solvers.mechanism.conditioning`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.tolerances import CANCELLED, LOOSE_RANK
from titop.blocks.contract.block import Block, PortRef
from titop.solvers.engines.compiled.packed import PackedSystem
from titop.solvers.engines.compiled.tables import JOINT_SIZES
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import EliminatedPart, Pivots, find_pivots
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.native.callbacks import raise_pending

#: Indices of the entries of a symmetric matrix (3x3) among xx, yy, zz, xy, xz and yz.
_SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
_AXES = np.eye(6)


@np.errstate(all="ignore")  # numbers out of range have no pivots
def element_parts(
    ints: Array, floats: Array, frames: Array, bodies: Mapping[int, PortRef], law: Array, work: Array
) -> list[EliminatedPart]:
    """Return the world and, for each element, its joint and what that carries.

    - `ints`, `floats`, `law`, `work`: the kernels' tables, the laws of general blocks and known poses (see
      `titop.solvers.kernels.interface.layout`), the last two of one state or of stacked ones;
    - `frames` (elements, 12): poses of the bodies' reference frames in their elements;
    - `bodies`: the bodies by their elements, with the ports on which they hang.
    """
    inertias, rounded = _rigid_inertias(ints, floats, frames, bodies)
    parts = [EliminatedPart(-1, slice(0, 0), np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6)))]
    for i in range(1, ints[0, layout.ELEMENTS]):
        subspace = _subspace(ints, floats, i)
        n, first = subspace.shape[1], ints[i, layout.V]
        armature = np.diag(np.concatenate([np.zeros(6), floats[i, layout.ARMATURE :][:n]]))
        transport = _from_parent(ints, law, work, i)
        parts.append(
            EliminatedPart(2 * ints[i, layout.PARENT], slice(first, first + n), armature, np.zeros(armature.shape), transport)
        )
        coordinates = slice(ints[i, layout.OWN_V], ints[i, layout.OWN_V] + ints[i, layout.OWN])
        size, o = 6 + ints[i, layout.OWN], ints[i, layout.LAW]
        inertia = inertias[i] if o < 0 else law[..., o : o + size * size].reshape(*law.shape[:-1], size, size)
        added = rounded[i] if o < 0 else np.zeros((size, size))
        parts.append(EliminatedPart(2 * i - 1, coordinates, inertia, added, np.hstack([_AXES, subspace])))
    return parts


def _subspace(ints: Array, floats: Array, i: int) -> Array:
    """Return the motion (6 x n) of an element's joint."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        return _AXES[:, [2]] * floats[i, layout.LINEAR] + _AXES[:, [5]] * floats[i, layout.ANGULAR]
    return _AXES[:, {layout.WELD: 6, layout.SPHERICAL: 3, layout.FREE: 0}[kind] :]


def _from_parent(ints: Array, law: Array, work: Array, i: int) -> Array:
    """Return the transport from an element's parent, and its own coordinates, to the element."""
    p, o, rows = ints[i, layout.PARENT], ints[i, layout.PORT], law.shape[:-1]
    onto = _transport(work[..., i, layout.R :], work[..., i, layout.P :])
    n = ints[p, layout.OWN] if p else 0  # the row of the world is the header
    if o < 0:
        return np.concatenate([onto, np.zeros((*rows, 6, n))], axis=-1)
    at_port = _transport(law[..., o:], law[..., o + layout.PORT_P :])
    subspace = law[..., o + layout.PORT_S :][..., : 6 * n].reshape(*rows, 6, n)
    return onto @ np.concatenate([at_port, subspace], axis=-1)


def _transport(rotation: Array, position: Array) -> Array:
    """Return the transport (6, 6) of twists to poses, with which rows of numbers begin."""
    rows = rotation.shape[:-1]
    back, transport = rotation[..., :9].reshape(*rows, 3, 3).swapaxes(-1, -2), np.zeros((*rows, 6, 6))
    transport[..., :3, :3] = transport[..., 3:, 3:] = back
    transport[..., :3, 3:] = back @ cross(position[..., None, :3], np.eye(3))
    return transport


def _rigid_inertias(ints: Array, floats: Array, frames: Array, bodies: Mapping[int, PortRef]) -> tuple[Array, Array]:
    """Return the inertias (elements, 6, 6) of rigid bodies in their elements, and what turning and moving them has rounded."""
    inertias, rounded = np.zeros((2, ints[0, layout.ELEMENTS], 6, 6))
    moved = {
        i: _rounded(hung.block, hung.name) for i, hung in bodies.items() if hung.block.is_rigid and ints[i, layout.LAW] < 0
    }
    rows, diagonals = list(moved), np.array([*moved.values()]).reshape(-1, 1, 6)
    turns, moments = frames[rows, :9].reshape(-1, 3, 3), floats[rows, None, layout.MOMENT : layout.MOMENT + 3]
    inertias[rows, :3, :3] = rounded[rows, :3, :3] = diagonals[..., :3] * np.eye(3)
    rounded[rows, 3:, 3:] = (turns * diagonals[..., 3:]) @ turns.transpose(0, 2, 1)
    inertias[rows, :3, 3:], inertias[rows, 3:, :3] = cross(moments, np.eye(3)), cross(np.eye(3), moments)
    inertias[rows, 3:, 3:] = floats[rows, layout.INERTIA : layout.INERTIA + 6][:, _SYMMETRIC]
    return inertias, rounded


def _rounded(body: Block, port: str | None) -> Array:
    """Return the diagonal (6; kg, kg m^2) of what moving a body's inertia to the port on which it hangs has rounded."""
    mass, com, inertia = body.mass_properties()
    squares = com**2 + body.neutral_pose(port)[1] ** 2
    return np.concatenate([np.full(3, mass), np.diag(inertia) + 2 * mass * (squares.sum() - squares)])


#: Coordinates whose pivot is more than this part of the inertia that they carry lose at most about ten digits to rounding.
_PLAINLY_SOUND = LOOSE_RANK
#: Factor by which pivots at other configurations may be smaller than those seen.
_MARGIN = 0.1


def plainly_sound(system: PackedSystem) -> float:
    """Return the part of what they carry that coordinates keep where nothing is lost: chains of n like bodies keep n^-2."""
    return min(_PLAINLY_SOUND, 1e-2 / max(system.mechanism.nv, 1) ** 2)


def pivots_at(system: PackedSystem, q: Array) -> Pivots:
    """Return the pivots of the tree's elimination (nv, no unit), stacked for stacked configurations."""
    nv, system, places, columns = system.mechanism.nv, system.apart, np.atleast_2d(real_only(q, "q")), layout.INVERSE_COLUMNS
    count, size, elements = len(places), system.ints[0, layout.LAW_SIZE], len(system.tables.constants)
    bodies = {system.tables.elements[c.child.block.name]: c.child for c in system.assembly.connections}
    law, work = np.empty((count, size)), np.empty((count, elements, columns))
    for k, place in enumerate(places):
        (law[k],), work[k] = system.bare.outward(place, np.zeros(nv), columns)
    parts = element_parts(system.ints, system.floats, system.frames, bodies, law, work)
    pivots = find_pivots(parts, np.zeros(nv, dtype=bool))
    return pivots if np.ndim(q) == 2 else Pivots(*(part[0] for part in pivots))


def doubtful_pivots(system: PackedSystem, places: Sequence[Array]) -> list[Pivots]:
    """Return the pivots at configurations where elimination may lose accuracy, and adapt the bounds in the tables."""
    rounding = system.floats[1 : len(system.tables.constants), layout.ROUNDING]
    rounding[:] = CANCELLED  # whatever other parameters have left there
    if keeps(system, plainly_sound(system), places):
        return []
    rounding[:] = plainly_sound(system)
    doubtful = [q for q in places if _is_refused(system, q, system.floats)]
    rounding[:] = CANCELLED
    eliminations = [pivots_at(system, q) for q in doubtful]
    for pivots in eliminations:
        _allow_for(system, pivots)
    return eliminations


def keeps(system: PackedSystem, part: float, places: Sequence[Array]) -> bool:
    """Tell whether kernels alone find accelerations at rest at some configurations, keeping this part everywhere."""
    floats = system.floats.copy()
    floats[1 : len(system.tables.constants), layout.ROUNDING] = part
    return not any(_is_refused(system, q, floats) for q in places)


def moves_at_rest(system: PackedSystem, places: Sequence[Array]) -> bool:
    """Tell whether kernels find accelerations of the tree at rest, without gears, at some configurations."""
    return not any(_is_refused(system, q, system.floats) for q in places)


def _is_refused(system: PackedSystem, q: Array, floats: Array) -> bool:
    """Tell whether a kernel refuses accelerations of the tree at rest, with these floats."""
    nothing = np.zeros(system.mechanism.nv)
    tables = (system.ints, floats, *system.arrays[2:])
    status = system.kernel(dynamics_entries.forward_dynamics)(*tables, q, nothing, nothing, np.empty(len(nothing)))
    raise_pending()
    return bool(status != layout.OK)


def _allow_for(system: PackedSystem, pivots: Pivots) -> None:
    """Lower the bounds of pivots, relative to the inertia carried, as far as rounding allows."""
    small = (pivots.ratios > CANCELLED) & (pivots.shares < plainly_sound(system))
    rounding = np.full(system.mechanism.nv, CANCELLED)
    rounding[small] *= np.minimum(1.0, _MARGIN * pivots.shares[small] / pivots.ratios[small])
    for row in range(1, len(system.tables.constants)):
        entries = system.ints[row]
        joint = range(entries[layout.V], entries[layout.V] + JOINT_SIZES[entries[layout.KIND]])
        block = range(entries[layout.OWN_V], entries[layout.OWN_V] + entries[layout.OWN])
        system.floats[row, layout.ROUNDING] = rounding[[*joint, *block]].min(initial=system.floats[row, layout.ROUNDING])
