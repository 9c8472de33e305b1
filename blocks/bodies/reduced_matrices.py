"""From matrices that a finite-element program has reduced (Craig-Bampton) to the coordinates of a flexible body.

Such matrices are those of the free body: six degrees of freedom of each boundary grid, in the grid's own axes and in the file's
units, then modal coordinates. They become those of SI units and body axes by ``u = T S u_file`` (T turns grids, S scales);
one grid is P, and the others move relative to it (see `titop.blocks.bodies.modal_reduction`). Nothing is reduced again, so that
static deformations under loads at the grids stay exact.

The six rigid motions R of the grids check what a file does not say. They strain nothing (``K R = 0``) only if positions and
axes are those of the matrices, and ``R^T M R`` is the inertia of a rigid body only if the mass is one of these grids as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, did_you_mean, warn
from titop.blocks.basics.pose import Pose, read_pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, TINY, TYPED
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.element_matrices import rigid_motion
from titop.blocks.bodies.modal_analysis import DIRECTIONS
from titop.blocks.bodies.modal_fields import read_recovery
from titop.blocks.bodies.modal_reduction import boundary_names, reduced_fields

#: Units by name, in SI units; the masses of the last two are those of a pound-force as unit of force, with ft or in, and s.
UNITS = (
    {"m": 1.0, "cm": 0.01, "mm": 1 / 1000, "ft": 0.3048, "in": 0.0254},
    {"kg": 1.0, "g": 1 / 1000, "t": 1000.0, "lbm": 0.45359237, "slug": 14.593902937206364, "slinch": 175.12683524647636},
    {"s": 1.0, "ms": 1 / 1000},
)
#: The default of `units`.
SI = ("m", "kg", "s")


class FileUnits(NamedTuple):
    """Units of length (m), mass (kg) and time (s) of a file."""

    length: float
    mass: float
    time: float


def read_units(reader: FieldReader, units: Any) -> FileUnits:
    """Read the units of a file: names or numbers."""
    factors = []
    entries = list(units) if isinstance(units, Sequence) and not isinstance(units, str) else []
    for entry, known in zip(entries, UNITS, strict=False):
        number = real_array(known.get(entry, np.nan) if isinstance(entry, str) else entry)
        factors.append(float(number) if number is not None and number.shape == () else np.nan)
    if len(entries) != len(UNITS) or not all(0 < factor < np.inf for factor in factors):
        expected = "units of length, mass and time: each a number of SI units, or one of " + ", ".join(
            name for known in UNITS for name in known
        )
        reader.report("bad-units", "units", units, expected, 'write units=("mm", "kg", "s")')
        return FileUnits(1.0, 1.0, 1.0)
    return FileUnits(*factors)


def reduce_boundary(
    name: str, mass: Any, stiffness: Any, boundary: Any, ports: Any, parent: Hashable, units: Any, damping: Any, recovery: Any
) -> dict[str, Any]:
    """Return the fields of the body of reduced matrices; see `FlexibleBody.from_craig_bampton`."""
    reader = FieldReader(name)
    grids = _read_boundary(reader, boundary)
    names = _read_ports(reader, ports, parent, grids)
    scales = read_units(reader, units)
    size = 0 if (rows := real_array(stiffness)) is None or not rows.ndim else len(rows)
    if size < 6 * len(grids):
        expected = f"six degrees of freedom for each of {len(grids)} grids, then those of modes"
        reader.report("wrong-shape", "stiffness", f"{size} rows", expected, "give a square matrix of the boundary and modes")
    reader.raise_findings()
    M, K = reader.symmetric("mass", mass, size), reader.symmetric("stiffness", stiffness, size)
    D = np.zeros((size, size)) if damping is None else reader.symmetric("damping", damping, size)
    rows_of = read_recovery(reader, recovery, size)
    reader.raise_findings()
    turned = _to_file_axes(grids, scales, size)
    energy = scales.mass * scales.length**2
    M, K, D = (
        factor * turned.T @ matrix @ turned
        for factor, matrix in ((energy, M), (energy / scales.time**2, K), (energy / scales.time, D))
    )
    places = np.array([pose.position for pose in grids.values()]) * scales.length
    origin = places[list(grids).index(parent)]
    rigid = np.vstack([rigid_motion(places - origin, 6), np.zeros((size - 6 * len(grids), 6))])
    square, masses = _lowest_square(M, K, 6 * len(grids)), np.abs(np.diag(M))
    _check_rigid_motion(reader, "stiffness", K, square * masses, rigid, list(grids))
    if damping is not None:
        _check_rigid_motion(reader, "damping", D, COARSE * np.sqrt(square) * masses, rigid, list(grids))
    if not reader.findings:
        _check_rigid_mass(reader, rigid.T @ M @ rigid, float(np.abs(places - origin).max()))
    reader.raise_findings()
    _warn_of_coupled_modes(name, K, square * masses, 6 * len(grids))
    order = [list(grids).index(grid) for grid in names.values()]
    columns = [*(6 * k + i for k in order for i in range(6)), *range(6 * len(grids), size)]
    basis = np.eye(size)[:, columns]
    damped = {} if damping is None else {"modal_damping": basis.T @ D @ basis}
    return reduced_fields(M, K, rigid, basis) | {
        "ports": {port: places[k] - origin for port, k in zip(names, order, strict=True)},
        "shapes": {port: np.eye(6, len(columns), 6 * k) for k, port in enumerate(names)},
        "coordinate_names": (*boundary_names(names), *(f"mode{k + 1}" for k in range(size - 6 * len(grids)))),
        "recovery": {key: rows @ turned @ basis for key, rows in rows_of.items()},
        **damped,
    }


def _read_boundary(reader: FieldReader, boundary: Any) -> dict[Hashable, Pose]:
    """Read the positions, with axes where they have any, of the boundary's grids."""
    expected, example = "grids to positions or poses, in matrix order", "{3: [0, 0, 0], 11: tt.Pose([1, 0, 0], axes)}"
    grids = reader.mapping("boundary", boundary or (), expected, example)
    return {grid: read_pose(reader, f"boundary[{grid}]", value) for grid, value in grids.items()}


def _read_ports(reader: FieldReader, ports: Any, parent: Hashable, grids: Mapping[Hashable, Pose]) -> dict[str, Hashable]:
    """Return the grid of each child port: those that are named, then the others of the boundary but the parent."""
    named = {str(port): grid for port, grid in reader.mapping("ports", ports, "names to grids", '{"tip": 12}').items()}
    taken: dict[Hashable, str] = {}
    for port, grid in {"parent": parent, **named}.items():
        if not isinstance(grid, Hashable) or grid not in grids:
            field = port if port == "parent" else f"ports.{port}"
            reader.report("unknown-node", field, grid, "a grid of the boundary", did_you_mean(grid, grids))
            continue
        if grid in taken:
            expected = f"a grid of its own, not that of {taken[grid]!r}"
            reader.report("shared-node", f"ports.{port}", grid, expected, "connect all that stands there to one port")
        taken[grid] = port
    return named | {f"grid{grid}": grid for grid in grids if grid not in taken}


def _to_file_axes(grids: Mapping[Hashable, Pose], units: FileUnits, size: int) -> Array:
    """Return the matrix (N, N) from displacements in SI units and body axes to the file's degrees of freedom.

    Amplitudes of modes are scaled such that modes of unit mass in the file have it in SI units too.
    """
    turned = np.eye(size) / (units.length * np.sqrt(units.mass))
    for k, pose in enumerate(grids.values()):
        for first, factor in ((6 * k, 1 / units.length), (6 * k + 3, 1.0)):
            turned[first : first + 3, first : first + 3] = factor * pose.rotation.T
    return turned


def _lowest_square(mass: Array, stiffness: Array, boundary: int) -> float:
    """Return the lowest squared frequency (rad^2/s^2) of the modes, by the diagonals; 0 without modes."""
    squares, masses = np.diag(stiffness)[boundary:], np.diag(mass)[boundary:]
    usable = (squares > 0) & (masses > 0)
    return float((squares[usable] / masses[usable]).min(initial=np.inf)) if usable.any() else 0.0


def _check_rigid_motion(
    reader: FieldReader, field: str, matrix: Array, floor: Array, rigid: Array, grids: Sequence[Hashable]
) -> None:
    """Report efforts under rigid motion, with the grid where they are largest.

    Each row is scaled by its own diagonal, or by what counts as one (`floor`, N): at a boundary that holds the body without
    redundancy all of the diagonal is rounding.
    """
    diagonal = np.maximum(np.abs(np.diag(matrix)), floor)
    root = np.sqrt(diagonal)
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)[:, None]
    sizes = np.abs(matrix)
    np.fill_diagonal(sizes, diagonal)
    efforts, largest = np.abs(matrix @ rigid) * scale, np.maximum((sizes @ np.abs(rigid) * scale).max(axis=0), TINY)
    row, motion = np.unravel_index((efforts / largest).argmax(), efforts.shape)
    if not efforts[row, motion] > TYPED * largest[motion]:
        return
    where = f"grid {grids[row // 6]}" if row < 6 * len(grids) else "the modal coordinates"
    energy = 0.5 * float(rigid[:, motion] @ matrix @ rigid[:, motion])
    share = efforts[row, motion] / largest[motion]
    value = (
        f"efforts of {share:.1e} of its terms under rigid motion {DIRECTIONS[motion]}, most at {where} (energy {energy:.3g} J)"
    )
    advice = "give grids in matrix order, with the axes of their degrees of freedom; lengths in `units`; modes come last"
    reader.report("not-free", field, value, "a free body, that rigid motion does not strain", advice)


def _check_rigid_mass(reader: FieldReader, inertia: Array, size: float) -> None:
    """Report a 6x6 matrix that is no inertia of a rigid body; `size` (m) is that of the boundary."""
    total = float(np.trace(inertia[:3, :3])) / 3
    if not total > 0:
        reader.report("negative-mass", "mass", f"a total mass of {total:.3g} kg", "a mass > 0", "check the mass matrix")
        return
    moment, turning = inertia[3:, :3], float(np.trace(inertia[3:, 3:]))
    wrong = np.abs(inertia[:3, :3] - total * np.eye(3)).max() / total
    coupled = np.abs(moment + moment.T).max() / max(total * size, np.sqrt(total * max(turning, 0.0)), TINY)
    if max(wrong, coupled) > TYPED:
        along = ", ".join(f"{axis} {x:.6g}" for axis, x in zip("xyz", np.diag(inertia), strict=False))
        value = f"{along} kg, a first moment that is skew to {coupled:.1e}"
        expected = "one mass along all axes, and a first moment of a point: the inertia of a rigid body"
        advice = "give the mass matrix of the same coordinates as the stiffness, all mass included"
        reader.report("no-rigid-mass", "mass", value, expected, advice)


def _warn_of_coupled_modes(name: str, stiffness: Array, floor: Array, boundary: int) -> None:
    """Warn of modes that the stiffness couples with the boundary: they are not those with the boundary held."""
    scale = np.sqrt(np.maximum(np.maximum(np.abs(np.diag(stiffness)), floor), TINY))
    coupling = np.abs(stiffness[:boundary, boundary:] / np.outer(scale[:boundary], scale[boundary:])).max(initial=0.0)
    if coupling > TYPED:
        value = f"modes coupled with the boundary by {coupling:.1e} of their stiffness"
        expected, advice = "modes with the boundary held, which no stiffness couples with it", "check the order of the rows"
        warn([Finding("coupled-modes", f"{name}.stiffness", value, expected, advice)])
