"""Reading finite-element models: nodes, mass and stiffness, dense or sparse, and the nodes of ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titop.blocks.basics.errors import did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, SAME, TINY
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.modal_bases import is_sparse

#: Sparse matrices of up to so many rows are taken as dense ones, which is as fast.
DENSE = 1000


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
    if not isinstance(loads, Mapping):
        advice = 'write {"acceleration": [...], "spin": [...]}'
        reader.report("wrong-type", "geometric_stiffness", loads, "a mapping of loads to lists of matrices", advice)
        return None
    result: dict[str, list[Any]] = {}
    for load, matrices in loads.items():
        field = f"geometric_stiffness.{load}"
        if load not in counts:
            reader.report("unknown-load", field, load, "a unit load or a port of the body", did_you_mean(load, counts))
        elif _rows(matrices) != counts[load]:
            reader.report(
                "wrong-shape", field, matrices, f"{counts[load]} matrices", "one for each unit load, zeros where none"
            )
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
