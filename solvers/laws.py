"""The laws of blocks with own coordinates, written into the array that the kernels read (see `kernels.layout`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from titop.blocks.block import Block, acceleration_bias
from titop.blocks.flexible_body import FlexibleBody
from titop.blocks.spatial import Array, twist_cross, twist_transport
from titop.graph.flatten import GeneralBlock, Ints
from titop.solvers.kernels import layout


def modal_tables(generals: Iterable[GeneralBlock]) -> tuple[Ints, Array]:
    """Return the kernels' tables ``bodies`` and ``modes`` (see `kernels.layout`) of flexible bodies."""
    rows: list[list[int]] = []
    numbers: list[Array] = []
    offset = 0
    for general in generals:
        body = general.block
        assert isinstance(body, FlexibleBody)
        rigid = body.rigid_inertia
        own = [rigid[0, 0], rigid[5, 1], rigid[3, 2], rigid[4, 0], *rigid[[3, 4, 5, 3, 3, 4], [3, 4, 5, 4, 5, 5]]]
        parts: list[Any] = [own, body.participation, *body.matrices]
        for port, pose in body.port_poses.items():
            parts += [pose.rotation, pose.position, body.shapes[port]]
        row = [0] * layout.BODY_COLUMNS
        row[layout.BODY_ELEMENT], row[layout.BODY_Q] = general.element, general.q.start
        row[layout.BODY_PORTS], row[layout.BODY_MODES] = len(body.port_poses), offset
        rows.append(row)
        numbers.append(np.concatenate([np.ravel(part) for part in parts]))
        offset += len(numbers[-1])
    table = np.array(rows, dtype=np.int64).reshape(-1, layout.BODY_COLUMNS)
    return table, np.concatenate([*numbers, np.zeros(0)])[None]


def write_ports(general: GeneralBlock, law: Array, q: Array) -> None:
    """Write pose and motion subspace of a general block's ports into `law`."""
    for port, offset in general.ports.items():
        rotation, position = general.block.pose(port, q)
        law[offset : offset + 9] = rotation.ravel()
        law[offset + layout.PORT_P : offset + layout.PORT_P + 3] = position
        start = offset + layout.PORT_S
        law[start : start + 6 * len(general.block.coordinates)] = general.block.motion_subspace(port, q).ravel()


def write_law(general: GeneralBlock, law: Array, q: Array, v: Array, twist: Array, passive: bool) -> None:
    """Write M, h (less passive efforts, if `passive`) and the ports' biases of a general block into `law`."""
    block = general.block
    size = 6 + block.nv
    h = general.law + size * size
    law[general.law : h] = block.mass_matrix(q).ravel()
    law[h : h + size] = block.gyroscopic(q, v, twist)
    if passive:
        law[h + 6 : h + size] -= block.passive_efforts(q, v)
    for port, offset in general.ports.items():
        start = offset + layout.PORT_GAMMA
        law[start : start + 6] = acceleration_bias(block, port, q, v, twist)


def write_slopes(general: GeneralBlock, slopes: Array, q: Array, v: Array, a: Array, twist: Array, acceleration: Array) -> None:
    """Write the linearised law of a general block into `slopes` (see `kernels.layout`), at the motion of its parent port."""
    block = general.block
    at = general.slopes
    for matrix in block.law_slopes(q, v, twist, np.concatenate([acceleration, a])):
        slopes[at : at + matrix.size] = matrix.ravel()
        at += matrix.size
    for port in general.ports:
        for matrix in _port_slopes(block, port, q, v, a, twist, acceleration):
            slopes[at : at + matrix.size] = matrix.ravel()
            at += matrix.size


def _port_slopes(
    block: Block, port: str, q: Array, v: Array, a: Array, twist: Array, acceleration: Array
) -> tuple[Array, Array, Array, Array]:
    """Return X, Y, Z (6 x n) and dS/dq (n x 6 x n) of a port, in its frame; see `kernels.derivatives`."""
    S = block.motion_subspace(port, q)
    transport = twist_transport(*block.pose(port, q))
    bends, rate_by_q, rate_by_v = block.subspace_slopes(port, q, v)
    relative, carrier = S @ v, transport @ twist
    at_port = carrier + relative
    carried = transport @ acceleration  # less the port's own motion
    X = twist_cross(carrier) @ S + (bends @ v).T
    Y = twist_cross(carried) @ S + (bends @ a).T + rate_by_q + twist_cross(at_port) @ (bends @ v).T
    Z = rate_by_v + twist_cross(at_port) @ S
    for j in range(block.nv):
        Y[:, j] += twist_cross(X[:, j]) @ (relative - at_port)
        Z[:, j] += twist_cross(S[:, j]) @ (relative - at_port)
    return X, Y, Z, bends
