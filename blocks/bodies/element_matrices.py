"""Reading finite-element models: nodes, mass and stiffness, dense or sparse, and the nodes of ports.

Moments of the modes of finite elements, from the mass matrix alone: what a body's inertia is to second order.

A field u of displacements that is turned about an axis a becomes ``a x u``. Over the degrees of freedom its displacements are
those of the nodes, turned; rotations follow them as the stiffness wants, for the slopes of ``a x u`` are not those of u turned
(what a beam's bending becomes along the beam has none). Moments are products of such fields, of rigid motion and of modes, by
the mass matrix; then the inertia of the deformed body is one Gram matrix, never negative in any direction.
Solids have nothing but displacements, of which all this holds exactly; a beam's slopes are right to second order in the length
of its elements. Of this order are combinations of modes and translations that the turned fields gain, so that the identities
hold exactly which the equations of motion rely on: ``int a x u dm = a x int u dm`` and ``(a x u) . w = -(a x w) . u``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.errors import did_you_mean
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.tolerances import EXACT, RANK, SAME, SINGULAR, TINY
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.second_order import CYCLIC

#: Sparse matrices of up to so many rows are taken as dense ones, which is as fast.
DENSE = 1000


def is_sparse(matrix: Any) -> bool:
    """Return whether a matrix is a sparse one."""
    return hasattr(matrix, "toarray")


def read_matrices(reader: FieldReader, positions: Any, mass: Any, stiffness: Any) -> tuple[Array, int, Any, Any]:
    """Return node positions, degrees of freedom a node, and the matrices: sparse if both are, and large."""
    count = _rows(positions)
    nodes = reader.array("positions", positions, (count, 3))
    size = _rows(mass)
    sparse = is_sparse(mass) and is_sparse(stiffness) and size > DENSE
    M, K = (matrix.toarray() if is_sparse(matrix) and not sparse else matrix for matrix in (mass, stiffness))
    freedoms = size // count if count else 0
    for field, rows in (("mass", size), ("stiffness", _rows(stiffness))):
        if not count or rows not in (3 * count, 6 * count):
            expected = f"{3 * count} or {6 * count} rows for {count} nodes"
            reader.report("wrong-shape", field, f"{rows} rows", expected, "three or six degrees of freedom a node")
            return nodes, 6, np.zeros((0, 0)), np.zeros((0, 0))
    if (rows := _rows(stiffness)) != size:
        expected = f"as many as of the mass, which has {size}"
        reader.report("wrong-shape", "stiffness", f"{rows} rows", expected, "three or six degrees of freedom a node")
        return nodes, 6, np.zeros((0, 0)), np.zeros((0, 0))
    read = _read_sparse if sparse else FieldReader.symmetric
    return nodes, freedoms, read(reader, "mass", M, size), read(reader, "stiffness", K, size)


def read_loads(reader: FieldReader, loads: Any, size: int, counts: Mapping[str, int]) -> dict[str, list[Any]] | None:
    """Return the geometric stiffness of each load, of which `counts` says how many matrices it has; None if none is given."""
    if loads is None:
        return None
    result: dict[str, list[Any]] = {}
    example = '{"acceleration": [...], "spin": [...]}'
    for load, matrices in reader.mapping("geometric_stiffness", loads, "loads to lists of matrices", example).items():
        field = f"geometric_stiffness.{load}"
        if load not in counts:
            reader.report("unknown-load", field, load, "a unit load or a port of the body", did_you_mean(load, counts))
        elif _rows(matrices) != counts[load]:
            advice = "one for each unit load, zeros where none"
            reader.report("wrong-shape", field, matrices, f"{counts[load]} matrices", advice)
        else:
            read = (_read_sparse if is_sparse(matrix) else FieldReader.symmetric for matrix in matrices)
            result[load] = [one(reader, field, matrix, size) for one, matrix in zip(read, matrices, strict=True)]
    return result


def _rows(matrix: Any) -> int:
    """Return the number of rows of a matrix, or of a list of them; 0 if it is none."""
    if hasattr(matrix, "shape"):
        return int(matrix.shape[0]) if matrix.shape else 0
    return len(matrix) if hasattr(matrix, "__len__") else 0


def _read_sparse(reader: FieldReader, field: str, value: Any, size: int) -> Any:
    """Read a symmetric sparse matrix, as `FieldReader.symmetric` reads a dense one."""
    from scipy import sparse

    if value.dtype.kind not in "fiub":
        reader.report("wrong-type", field, value, f"a {size}x{size} matrix of real numbers", "give numbers")
    elif value.shape != (size, size):
        reader.report("wrong-shape", field, value, f"shape {(size, size)}, not {value.shape}", f"give a {size}x{size} matrix")
    else:
        matrix = sparse.csc_array(value, dtype=float)
        if not np.isfinite(matrix.data).all():
            reader.report("not-finite", field, value, "finite numbers", f"give a {size}x{size} matrix")
            return matrix
        asymmetry, magnitude = abs(matrix - matrix.T), abs(matrix)
        largest = magnitude.max() if magnitude.nnz else 0.0
        if (asymmetry - SAME * magnitude).max() > EXACT * largest:
            reader.report("not-symmetric", field, value, "a symmetric matrix", "use (M + M.T) / 2")
        return (matrix + matrix.T).tocsc() / 2 if asymmetry.nnz else matrix
    return sparse.csc_array((size, size))


def read_nodes(reader: FieldReader, field: str, value: Any, nodes: Array, freedoms: int) -> list[int]:
    """Return the nodes of a port."""
    given = real_array(value)
    numbers = np.zeros(0) if given is None or given.ndim > 1 else given.ravel()
    if not numbers.size or not ((numbers >= 0) & (numbers < len(nodes)) & (numbers == np.floor(numbers))).all():
        reader.report("unknown-node", field, value, f"nodes from 0 to {len(nodes) - 1}", "count nodes from 0")
        return [0]
    members = [int(number) for number in numbers]
    around: Array = nodes[members] - nodes[members].mean(axis=0)
    spread = np.append(np.linalg.svd(around, compute_uv=False), 0.0)
    if freedoms == 3 and (len(members) < 3 or spread[1] < SAME * max(spread[0], TINY)):
        expected = "three or more nodes that do not lie on a line"
        reader.report("too-few-nodes", field, value, expected, "nodes without rotations need others to turn a port")
    return members


def refuse_shared_nodes(reader: FieldReader, sets: Mapping[str, Sequence[int]]) -> None:
    """Refuse nodes that would move with two ports at once."""
    owners: dict[int, str] = {}
    for port, members in sets.items():
        for node in dict.fromkeys(members):
            if node in owners:
                advice = f"connect all that stands there to one port, as to {owners[node]!r}, or give other nodes"
                reader.report("shared-node", port, f"node {node}", f"nodes of its own, none of {owners[node]!r}", advice)
            owners.setdefault(node, port)


def entries_of(members: Sequence[int], freedoms: int) -> NDArray[np.intp]:
    """Return the rows of nodes in the matrices."""
    return (freedoms * np.asarray(members)[:, None] + np.arange(freedoms)).ravel()


def rigid_motion(positions: Array, freedoms: int) -> Array:
    """Return the motion (freedoms * N, 6) of nodes under unit twists at the origin."""
    blocks = np.tile(np.eye(6), (len(positions), 1, 1))
    x, y, z = positions.T
    blocks[:, 0, 4], blocks[:, 0, 5] = z, -y
    blocks[:, 1, 3], blocks[:, 1, 5] = -z, x
    blocks[:, 2, 3], blocks[:, 2, 4] = y, -x
    return blocks[:, :freedoms].reshape(-1, 6)


# -- moments of modes, from the mass matrix alone: what a body's inertia is to second order ------------------------------------


#: What holds rotations that no stiffness holds, as of a straight beam about itself, relative to the stiffness of others.
_HOLD = RANK


def element_moments(mass: Any, stiffness: Any, rigid: Array, modes: Array, freedoms: int) -> tuple[Array, Array]:
    """Return the position moments (3, 3, n) and displacement moments (3, 3, n, n) of modes, as `FlexibleBody` takes them.

    `rigid` (N, 6): the rigid-body vectors about P; `modes` (N, n): fields over the degrees of freedom, with P at rest;
    `freedoms`: of a node.
    """
    turned = [_identical(mass, rigid, modes, axis, field) for axis, field in _turned(stiffness, modes, freedoms)]
    momenta = [mass @ field for field in turned]
    beside = np.array([[rigid[:, 3 + i] @ momentum for momentum in momenta] for i in range(3)])
    inertia = np.array([[field.T @ momentum for momentum in momenta] for field in turned])
    inertia = (inertia + inertia.transpose(0, 1, 3, 2)) / 2
    position, products = _moments_of(beside).swapaxes(0, 1), _moments_of(inertia)
    for (_, i, j), momentum in zip(CYCLIC, momenta, strict=True):
        stirred = momentum.T @ modes
        products[i, j] += (stirred - stirred.T) / 4
        products[j, i] -= (stirred - stirred.T) / 4
    return position, products


def rotary_part(mass: Any, rigid: Array, freedoms: int) -> float:
    """Return which part of the body's inertia is rotary inertia of nodes.

    A mass matrix has it, J, on its diagonal: ``d = J + x`` with what a beam's consistent mass has there without any. Rigid
    rotation about the node has the momentum ``J + 3.5 x``.
    """
    if freedoms == 3:
        return 0.0
    own = mass.diagonal().reshape(-1, 6)[:, 3:].sum()
    momenta = (mass @ rigid).reshape(-1, 6, 6)[:, 3:]
    places = rigid.reshape(-1, 6, 6)[:, :3, 3:]  # what rotations about P move the nodes by
    about = np.trace(momenta[:, :, 3:] - momenta[:, :, :3] @ places, axis1=1, axis2=2).sum()
    return float(1.4 * own - 0.4 * about) / float(np.trace((rigid.T @ (mass @ rigid))[3:, 3:]))


def _turned(stiffness: Any, modes: Array, freedoms: int) -> list[tuple[Array, Array]]:
    """Return each axis with the modes turned about it."""
    vectors = modes.reshape(-1, freedoms // 3, 3, modes.shape[1])
    fields = [(axis, np.cross(axis, vectors, axisb=2, axisc=2).reshape(modes.shape)) for axis in np.eye(3)]
    if freedoms == 3:
        return fields
    rotates = np.arange(len(modes)) % 6 >= 3
    own, driven = stiffness[rotates][:, rotates], stiffness[rotates][:, ~rotates]
    diagonal = np.abs(own.diagonal())
    hold = _HOLD * np.where(diagonal > 0, diagonal, diagonal.max(initial=0.0) or 1.0)
    right = np.hstack([-(driven @ field[~rotates]) for _, field in fields])
    rotations = np.split(_solved(own, hold, right), 3, axis=1)
    for (_, field), rotation in zip(fields, rotations, strict=True):
        field[rotates] = rotation
    return fields


def _solved(matrix: Any, hold: Array, right: Array) -> Array:
    if not is_sparse(matrix):
        return np.linalg.solve(matrix + np.diag(hold), right)
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    return splu((matrix + diags_array(hold)).tocsc()).solve(right)


def _identical(mass: Any, rigid: Array, modes: Array, axis: Array, turned: Array) -> Array:
    """Return turned modes with what they lack of translations and modes for the identities to hold."""
    fields = np.hstack([rigid[:, :3], modes])
    momenta = mass @ fields
    found = momenta.T @ turned
    stirred = (found[3:] - found[3:].T) / 2
    wanted = np.vstack([skew(axis) @ (momenta[:, :3].T @ modes), stirred])
    gram = fields.T @ momenta
    scale = np.sqrt(np.abs(np.diag(gram)))
    scale[scale == 0] = 1.0
    inverse = np.linalg.pinv(gram / np.outer(scale, scale), rcond=SINGULAR, hermitian=True) / np.outer(scale, scale)
    return turned + fields @ (inverse @ (wanted - found))


def _moments_of(inertia: Array) -> Array:
    """Return c of ``tr(c) 1 - c`` (3, 3, ...)."""
    result = -inertia
    result[range(3), range(3)] += np.trace(inertia) / 2
    return result
