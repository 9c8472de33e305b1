"""Derivatives of interactions: what changes of their wrenches and efforts with the coordinates, beside the tree's derivatives.

Symbols: s and x are how a coordinate moves a port and changes its twist, in the port's frame (S and X of `derivatives`). The
interaction answers to the displacement of each port against the first, ``s_k - Ad(g_k)^-1 s_1``, and to all twists.
"""

from __future__ import annotations

from titop.solvers.kernels.algebra import add_six, carry_wrench, dot, matrix_of, rotate, scaled, six, transport
from titop.solvers.kernels.interactions import loads_of, next_interaction
from titop.solvers.kernels.layout import (
    ACT_COORDINATES,
    ACT_PORTS,
    ACT_SLOPES,
    BASE,
    COLUMN_S,
    COLUMN_X,
    ELEMENT,
    FIRST_INTERACTION,
    INTERACTIONS,
    LAST,
    LAW,
    MOTION_SIZE,
    OK,
    ROW,
    SLOPES,
    WRENCH,
    R,
    V,
)
from titop.solvers.kernels.observe import product
from titop.solvers.kernels.stages import address_of, call_interaction
from titop.solvers.native.kernel import helper


@helper
def write_interaction_slopes(ints, numbers, stages, law, slopes):
    """Let every interaction write its derivatives at the motion in `law`; return a status."""
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        status = call_interaction(ints, numbers, stages, law, row, ACT_SLOPES, address_of(slopes, ints[row, SLOPES]))
        if status != OK:
            return status
        row = next_interaction(ints, row)
    return OK


@helper
def hold_interactions(ints, law, sums):
    """Move what interactions do to ports of general blocks, subtracted from the blocks' wrenches, to the ports' rows."""
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        for k in range(ints[row, ACT_PORTS]):
            at = ints[row + 1 + k, ROW]
            if at >= 0:
                wrench = carry_wrench(sums, at, BASE, six(law, 0, loads_of(ints, row) + 6 * k))
                add_six(sums, ints[row + 1 + k, ELEMENT], WRENCH, wrench)
                add_six(sums, at, WRENCH, scaled(-1.0, wrench))
        row = next_interaction(ints, row)


@helper
def subtract_interaction_slopes(ints, floats, law, slopes, paths, sums, columns, dq, dv):
    """Subtract what changes of all interactions with q and v from the derivatives of the efforts."""
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        _write_changes(ints, floats, law, slopes, paths, sums, columns, row, dq.shape[0])
        _subtract_changes(ints, slopes, paths, columns, row, dq, dv)
        row = next_interaction(ints, row)


@helper
def _width(ports, coordinates):
    """Return the number of columns of an interaction's derivatives."""
    return 6 * max(ports - 1, 0) + 6 * ports + 2 * coordinates


@helper
def _changes_at(ints, row, nv):
    """Return where the changes with q and v, and the ports' poses, stand in `slopes`, and how many rows the changes have."""
    ports, coordinates = ints[row, ACT_PORTS], ints[row, ACT_COORDINATES]
    rows = 6 * ports + coordinates
    by_q = ints[row, SLOPES] + rows * _width(ports, coordinates)
    return by_q, by_q + rows * nv, by_q + 2 * rows * nv, rows


@helper
def _write_changes(ints, floats, law, slopes, paths, sums, columns, row, nv):
    """Write how all that an interaction does changes with each coordinate and rate, and its ports' poses."""
    ports, coordinates = ints[row, ACT_PORTS], ints[row, ACT_COORDINATES]
    by_q, by_v, frames, rows = _changes_at(ints, row, nv)
    width, by_twists = _width(ports, coordinates), 6 * max(ports - 1, 0)
    by_coordinates = by_twists + 6 * ports
    for o in range(by_q, frames):
        slopes[0, o] = 0.0
    for k in range(ports):
        port, frame = row + 1 + k, frames + 12 * k
        write_frame(ints, floats, sums, port, slopes, frame)
        j = ints[port, LAST]
        while j >= 0:
            s = transport(slopes, 0, frame, six(columns, j, COLUMN_S))
            x = transport(slopes, 0, frame, six(columns, j, COLUMN_X))
            i = paths[0, j]
            for r in range(rows):
                answer = six(slopes, 0, ints[row, SLOPES] + r * width + by_twists + 6 * k)
                slopes[0, by_q + r * nv + i] += dot(answer, x)
                slopes[0, by_v + r * nv + i] += dot(answer, s)
            for m in range(max(k, 1), k + 1 if k > 0 else ports):  # displacements against the first port
                moved = s if k > 0 else scaled(-1.0, transport(law, 0, ints[row, LAW] + MOTION_SIZE * m, s))
                for r in range(rows):
                    by_displacement = six(slopes, 0, ints[row, SLOPES] + r * width + 6 * (m - 1))
                    slopes[0, by_q + r * nv + i] += dot(by_displacement, moved)
            j = paths[1, j]
    for k in range(coordinates):
        c = ints[row + 1 + ports + k, V]
        for r in range(rows):
            at = ints[row, SLOPES] + r * width + by_coordinates + k
            slopes[0, by_q + r * nv + c] += slopes[0, at]
            slopes[0, by_v + r * nv + c] += slopes[0, at + coordinates]


@helper
def write_frame(ints, floats, sums, port, slopes, o):
    """Write the pose of a port where the columns stand."""
    i, at = ints[port, ELEMENT], ints[port, ROW]
    if i == 0:
        return
    if at >= 0:
        for j in range(12):
            slopes[0, o + j] = sums[at, BASE + j]
        return
    turn = product(matrix_of(sums, i, BASE), matrix_of(floats, port, R))
    x, y, z = rotate(sums, i, BASE, floats[port, 9], floats[port, 10], floats[port, 11])
    for j in range(9):
        slopes[0, o + j] = turn[j]
    slopes[0, o + 9], slopes[0, o + 10] = sums[i, BASE + 9] + x, sums[i, BASE + 10] + y
    slopes[0, o + 11] = sums[i, BASE + 11] + z


@helper
def _subtract_changes(ints, slopes, paths, columns, row, dq, dv):
    """Subtract the changes of wrenches along the coordinates that move their ports, and those of efforts."""
    nv, ports, coordinates = dq.shape[0], ints[row, ACT_PORTS], ints[row, ACT_COORDINATES]
    by_q, by_v, frames, _ = _changes_at(ints, row, nv)
    for k in range(ports):
        j = ints[row + 1 + k, LAST]
        while j >= 0:
            s, i = transport(slopes, 0, frames + 12 * k, six(columns, j, COLUMN_S)), paths[0, j]
            for r in range(6):
                o = (6 * k + r) * nv
                for c in range(nv):
                    dq[i, c] -= s[r] * slopes[0, by_q + o + c]
                    dv[i, c] -= s[r] * slopes[0, by_v + o + c]
            j = paths[1, j]
    for k in range(coordinates):
        i, o = ints[row + 1 + ports + k, V], (6 * ports + k) * nv
        for c in range(nv):
            dq[i, c] -= slopes[0, by_q + o + c]
            dv[i, c] -= slopes[0, by_v + o + c]
