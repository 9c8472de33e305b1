"""From finite-element matrices to the few coordinates of a flexible body.

A body's degrees of freedom are those of P (6), of each child port (6), and interior ones. P's motion carries the body rigidly
(`rigid`); what remains, relative to P, is reduced to a basis ``Psi``::

    M_qq = Psi^T M Psi    K_qq = Psi^T K Psi    L = Psi^T M Phi_r    D_P = Phi_r^T M Phi_r

with the rigid-body vectors ``Phi_r`` about P. Craig-Bampton (Craig and Bampton, AIAA Journal 6(7), 1968): ``Psi`` holds the
static deformations under unit displacements of the child ports and the lowest modes with all ports held. They make any static
load at the ports exact, whatever hangs on them or holds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.user_input import FieldReader

METHODS = ("craig-bampton", "attachment")

#: How far the rigid-body vectors may be from causing no elastic force, relative to the stiffness.
_RIGID = 1e-8


@dataclass(frozen=True)
class ReducedBody:
    """A body in reduced coordinates: what `FlexibleBody` takes.

    Attributes
    ----------
    rigid_inertia : (6, 6) array
        D_P of the undeformed body at P.
    mass, stiffness : (n, n) arrays
    participation : (n, 6) array
    ports : dict of name to (3,) array, m
    shapes : dict of name to (6, n) array
    names : tuple of str
        Of the coordinates.
    """

    rigid_inertia: Array
    mass: Array
    stiffness: Array
    participation: Array
    ports: dict[str, Array]
    shapes: dict[str, Array]
    names: tuple[str, ...]

    def fields(self) -> dict[str, Any]:
        """Return the fields of a `FlexibleBody`."""
        mass, com, inertia = rigid_data(self.rigid_inertia)
        return {
            "mass": mass,
            "com": com,
            "inertia": inertia,
            "participation": self.participation,
            "ports": self.ports,
            "shapes": self.shapes,
            "modal_mass": self.mass,
            "modal_stiffness": self.stiffness,
            "coordinate_names": self.names,
        }


def rigid_data(rigid_inertia: Array) -> tuple[float, Array, Array]:
    """Return mass (kg), centre of mass (3, m) and inertia about it (3x3, kg m^2) of a 6x6 inertia."""
    mass = float(np.trace(rigid_inertia[:3, :3]) / 3)
    coupling = (rigid_inertia[3:, :3] - rigid_inertia[:3, 3:]) / 2
    com = np.array([coupling[2, 1], coupling[0, 2], coupling[1, 0]]) / mass
    inertia = rigid_inertia[3:, 3:] + mass * skew(com) @ skew(com)
    return mass, com, (inertia + inertia.T) / 2


def craig_bampton(mass: Array, stiffness: Array, boundary: int, modes: int) -> Array:
    """Return the Craig-Bampton basis of a body held at P.

    Parameters
    ----------
    mass, stiffness : (N, N) arrays
        Boundary degrees of freedom first.
    boundary : int
        Number of these.
    modes : int
        Number of fixed-interface modes, the lowest.

    Returns
    -------
    (N, boundary + modes) array
        Static deformations under unit displacements of the boundary, then modes with the boundary held, mass-normalised.
    """
    from scipy import linalg

    interior = slice(boundary, None)
    basis = np.zeros((len(mass), boundary + modes))
    basis[:boundary, :boundary] = np.eye(boundary)
    if len(mass) > boundary:
        factor = linalg.cho_factor(stiffness[interior, interior])
        basis[interior, :boundary] = -linalg.cho_solve(factor, stiffness[interior, :boundary])
    basis[interior, boundary:] = lowest_modes(mass[interior, interior], stiffness[interior, interior], modes)
    return basis


def lowest_modes(mass: Array, stiffness: Array, modes: int) -> Array:
    """Return the lowest natural modes (N, modes), mass-normalised; the mass may be singular, not the stiffness.

    From ``M phi = phi K / w^2``, whose largest eigenvalues are the accurate ones.

    Raises
    ------
    LinAlgError
        If the stiffness is singular, or there are fewer modes with mass.
    """
    from scipy import linalg

    n = len(mass)
    if not modes:
        return np.zeros((n, 0))
    inverse_squares, shapes = linalg.eigh(mass, stiffness, subset_by_index=(n - modes, n - 1))
    if len(inverse_squares) < modes or not inverse_squares[0] > 1e-14 * inverse_squares[-1]:
        raise np.linalg.LinAlgError
    return np.asarray(shapes[:, ::-1] / np.sqrt(inverse_squares[::-1]))


def attachment_modes(mass: Array, stiffness: Array, boundary: int, modes: int) -> Array:
    """Return the natural modes of the space of clamped modes and static deformations under loads at the boundary.

    Parameters as `craig_bampton`; the basis (N, modes + boundary) is mass-normalised.
    """
    from scipy import linalg

    loads = np.eye(len(mass))[:, :boundary]
    clamped = lowest_modes(mass, stiffness, modes)
    static = linalg.cho_solve(linalg.cho_factor(stiffness), loads)
    static = static - clamped @ (clamped.T @ (mass @ static))
    static /= np.sqrt(np.einsum("ij,ij->j", static, mass @ static))
    basis = np.hstack([clamped, static])
    return basis @ linalg.eigh(basis.T @ stiffness @ basis, basis.T @ mass @ basis)[1]


def reduced(mass: Array, stiffness: Array, rigid: Array, basis: Array) -> dict[str, Array]:
    """Return the matrices of the body with the given basis (N, n) and rigid-body vectors (N, 6)."""
    at_modes = mass @ basis
    return {
        "rigid_inertia": rigid.T @ mass @ rigid,
        "mass": _symmetric(basis.T @ at_modes),
        "stiffness": _symmetric(basis.T @ stiffness @ basis),
        "participation": at_modes.T @ rigid,
    }


def reduce_finite_elements(
    name: str, positions: Any, mass: Any, stiffness: Any, parent: Any, ports: Mapping[str, Any], modes: int, method: str
) -> ReducedBody:
    """Return the reduced body; see `FlexibleBody.from_finite_elements`."""
    reader = FieldReader(name)
    nodes, freedoms, M, K = _read_matrices(reader, positions, mass, stiffness)
    if method not in METHODS:
        reader.report("bad-method", "method", method, " or ".join(map(repr, METHODS)), "choose one of the two")
    if not isinstance(modes, int) or modes < 0:
        reader.report("not-a-count", "modes", modes, "a whole number >= 0", "check the value")
    if reader.findings:
        raise ModelError(reader.findings)
    held = _read_nodes(reader, "parent", parent, nodes, freedoms)
    sets = {port: _read_nodes(reader, port, value, nodes, freedoms) for port, value in ports.items()}
    if reader.findings:
        raise ModelError(reader.findings)
    origin = nodes[held].mean(axis=0)
    rigid = _rigid_motion(nodes - origin, freedoms)
    forces, scale = K @ rigid, np.abs(K) @ np.abs(rigid)
    if (np.abs(forces) > _RIGID * scale.max()).any():
        advice = "give the matrices of the free body, degrees of freedom node by node, in the axes of the positions"
        value = f"elastic forces of {np.abs(forces).max():.3g} under rigid motion"
        reader.report("not-free", "stiffness", value, "a stiffness that rigid motion does not strain", advice)
        raise ModelError(reader.findings)
    total = float(np.trace(rigid[:, :3].T @ M @ rigid[:, :3])) / 3
    if not total > 0:
        reader.report("negative-mass", "mass", f"a total mass of {total:.3g} kg", "a mass > 0", "check the mass matrix")
        raise ModelError(reader.findings)
    own = np.ones(len(M), dtype=bool)
    own[_entries(held, freedoms)] = False
    columns, places = [], {}
    for port, members in sets.items():
        places[port] = nodes[members].mean(axis=0) - origin
        entries = _entries(members, freedoms)
        carried = np.zeros((len(M), 6))
        carried[entries] = _rigid_motion(nodes[members] - nodes[members].mean(axis=0), freedoms)
        columns.append(carried)
        own[entries] = False
    boundary = 6 * len(sets)
    interior = np.eye(len(M))[:, own]
    if modes > interior.shape[1]:
        reader.report("too-many-modes", "modes", modes, f"at most {interior.shape[1]} modes", "ask for fewer")
        raise ModelError(reader.findings)
    relative = np.hstack([*columns, interior])
    M_r, K_r = relative.T @ M @ relative, relative.T @ K @ relative
    static = boundary_names(sets) if method == "craig-bampton" else ()
    try:
        basis = (craig_bampton if static else attachment_modes)(M_r, K_r, boundary, modes)
    except np.linalg.LinAlgError:
        value = "a singular stiffness, or fewer modes with mass than asked for"
        expected, advice = "one connected body, held by its parent", "look for loose parts, or ask for fewer modes"
        reader.report("singular-stiffness", "stiffness", value, expected, advice)
        raise ModelError(reader.findings) from None
    names = *static, *(f"mode{k + 1}" for k in range(basis.shape[1] - len(static)))
    shapes = {port: basis[6 * k : 6 * k + 6] for k, port in enumerate(sets)}
    return ReducedBody(**reduced(M, K, rigid, relative @ basis), ports=places, shapes=shapes, names=names)


def boundary_names(ports: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the ports' displacements as coordinates: ``C_x`` to ``C_rz``."""
    return tuple(f"{port}_{direction}" for port in ports for direction in ("x", "y", "z", "rx", "ry", "rz"))


def _read_matrices(reader: FieldReader, positions: Any, mass: Any, stiffness: Any) -> tuple[Array, int, Array, Array]:
    """Return node positions, degrees of freedom a node, and the matrices."""
    count = len(positions) if hasattr(positions, "__len__") else 0
    nodes = reader.array("positions", positions, (count, 3))
    M, K = (matrix.toarray() if hasattr(matrix, "toarray") else matrix for matrix in (mass, stiffness))
    size = len(M) if hasattr(M, "__len__") else 0
    freedoms = size // count if count else 0
    if size != freedoms * count or freedoms not in (3, 6):
        expected = f"{3 * count} or {6 * count} rows for {count} nodes"
        reader.report("wrong-shape", "mass", f"{size} rows", expected, "three or six degrees of freedom a node")
        return nodes, 6, np.zeros((size, size)), np.zeros((size, size))
    return nodes, freedoms, reader.symmetric("mass", M, size), reader.symmetric("stiffness", K, size)


def _read_nodes(reader: FieldReader, field: str, value: Any, nodes: Array, freedoms: int) -> list[int]:
    """Return the nodes of a port."""
    members = [int(node) for node in np.atleast_1d(np.asarray(value))]
    if not members or any(not 0 <= node < len(nodes) for node in members):
        reader.report("unknown-node", field, value, f"nodes from 0 to {len(nodes) - 1}", "count nodes from 0")
        return [0]
    around: Array = nodes[members] - nodes[members].mean(axis=0)
    spread = np.append(np.linalg.svd(around, compute_uv=False), 0.0)
    if freedoms == 3 and (len(members) < 3 or spread[1] < 1e-9 * max(spread[0], 1e-300)):
        expected = "three or more nodes that do not lie on a line"
        reader.report("too-few-nodes", field, value, expected, "nodes without rotations need others to turn a port")
    return members


def _entries(members: Sequence[int], freedoms: int) -> Array:
    return (freedoms * np.asarray(members)[:, None] + np.arange(freedoms)).ravel()


def _rigid_motion(positions: Array, freedoms: int) -> Array:
    """Return the motion (freedoms * N, 6) of nodes under unit twists at the origin."""
    blocks = []
    for position in positions:
        block = np.eye(6)
        block[:3, 3:] = -skew(position)
        blocks.append(block[:freedoms])
    return np.vstack(blocks)


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2
