"""Derivatives of interactions: what changes of their wrenches and efforts with the coordinates, beside the tree's derivatives.

Symbols: s and x are how a coordinate moves a port and changes its twist, in the port's frame (S and X of `tree_derivatives`).
The interaction answers to the displacement of each port against the first, ``s_k - Ad(g_k)^-1 s_1``, and to all twists.

Features, as in `interactions`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Tables
from titop.solvers.kernels.interface.stages import address_of, call_interaction, floats_at, ints_at, part_of, row_at, vector_at
from titop.solvers.kernels.ports.interactions import loads_of, next_interaction
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, composed_pose, dot, put_pose, scaled, six, transport
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


@helper
def write_interaction_slopes(ints, numbers, stages, law, slopes):
    """Let every interaction write its derivatives at the motion in `law`; return a status."""
    if ints[0, layout.INTERACTIONS] == 0:
        return layout.OK
    laws = address_of(law, 0), address_of(slopes, 0), address_of(numbers, 0), numbers.shape[1]
    return interaction_slopes((address_of(ints, 0), ints.shape[0], *laws, address_of(stages, 0), stages.shape[0]))


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT, INTEGER, INTEGER, INTEGER, INTEGER)
def interaction_slopes(ints, rows, law, slopes, numbers, number_count, stages, kinds):
    """See `write_interaction_slopes`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    record, of_laws = row_at(law, table[0, layout.LAW_SIZE]), row_at(numbers, number_count)
    result, addresses = row_at(slopes, table[0, layout.SLOPES_SIZE]), ints_at(stages, kinds, layout.STAGE_COLUMNS)
    row = table[0, layout.FIRST_INTERACTION]
    for _ in range(table[0, layout.INTERACTIONS]):
        answer = address_of(result, table[row, layout.SLOPES])
        status = call_interaction(Tables(table, None, of_laws, addresses, record), row, layout.ACT_SLOPES, answer)
        if status != layout.OK:
            return status
        row = next_interaction(table, row)
    return layout.OK


@helper
def hold_interactions(ints, law, sums):
    """Move what interactions do to ports of general blocks, subtracted from the blocks' wrenches, to the ports' rows."""
    if ints[0, layout.INTERACTIONS] > 0:
        tables = address_of(ints, 0), ints.shape[0], address_of(law, 0)
        if interaction_holding((*tables, address_of(sums, 0), sums.shape[0], sums.shape[1])) != layout.OK:
            sums[:] = np.nan


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT, INTEGER, STATE_AT)
def interaction_holding(ints, rows, law, sums, sum_rows, columns):
    """See `hold_interactions`."""
    table, held = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(sums, sum_rows, columns)
    record, row = row_at(law, table[0, layout.LAW_SIZE]), table[0, layout.FIRST_INTERACTION]
    for _ in range(table[0, layout.INTERACTIONS]):
        for k in range(table[row, layout.ACT_PORTS]):
            at = table[row + 1 + k, layout.ROW]
            if at >= 0:
                wrench = carry_wrench(held, at, layout.BASE, six(record, 0, loads_of(table, row) + 6 * k))
                add_six(held, table[row + 1 + k, layout.ELEMENT], layout.WRENCH, wrench)
                add_six(held, at, layout.WRENCH, scaled(-1.0, wrench))
        row = next_interaction(table, row)
    return layout.OK


@helper
def subtract_interaction_slopes(tables, slopes, paths, rooms, dq, dv):
    """Subtract what changes of all interactions with q and v from the derivatives of the efforts."""
    (ints, floats, _, _, law), (_, _, sums, columns) = tables, rooms
    if ints[0, layout.INTERACTIONS] > 0:
        told = address_of(ints, 0), ints.shape[0], address_of(floats, 0), address_of(law, 0), address_of(slopes, 0)
        motions = address_of(paths, 0), paths.shape[0], paths.shape[1], address_of(sums, 0), sums.shape[0], sums.shape[1]
        if interaction_changes((*told, *motions, address_of(columns, 0), address_of(dq, 0), address_of(dv, 0))) != layout.OK:
            dq[:] = np.nan


@feature(*[INTEGER] * 2, TABLE_AT, *[STATE_AT] * 2, *[INTEGER] * 3, STATE_AT, *[INTEGER] * 2, *[STATE_AT] * 3)
def interaction_changes(ints, rows, floats, law, slopes, paths, kinds, count, sums, sum_rows, sum_columns, columns, dq, dv):
    """See `subtract_interaction_slopes`."""
    table, bodies = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    record, changes = row_at(law, table[0, layout.LAW_SIZE]), row_at(slopes, table[0, layout.SLOPES_SIZE])
    ways, n = ints_at(paths, kinds, count), table[0, layout.NV]
    bases, moved = floats_at(sums, sum_rows, sum_columns), floats_at(columns, count, layout.COLUMN_COLUMNS)
    by_q, by_v, row = floats_at(dq, n, n), floats_at(dv, n, n), table[0, layout.FIRST_INTERACTION]
    tables, room = Tables(table, bodies, None, None, record), np.empty((1, _largest_room(table, n)), changes.dtype)
    for _ in range(table[0, layout.INTERACTIONS]):
        _subtract_own(table, changes, row, by_q, by_v)
        if table[row, layout.ACT_PORTS] > 0:
            first = 6 if table[row + 1, layout.LAST] < 0 else 0  # what acts on the world nobody asks for
            of_ports, frames = 6 * table[row, layout.ACT_PORTS], frames_at(table, row)
            of_rows = table[row, layout.SLOPES], first, rows_of(table, row), of_ports, frames
            write_changes(tables, changes, of_rows, ways, bases, moved, row, room)
            _subtract_changes(table, changes, ways, moved, row, room, by_q, by_v)
        row = next_interaction(table, row)
    return layout.OK


@helper
def rows_of(ints, row):
    """Return how many rows the derivatives of the interaction at `row` have: six for each port, one for each coordinate."""
    return 6 * ints[row, layout.ACT_PORTS] + ints[row, layout.ACT_COORDINATES]


@helper
def width_of(ints, row):
    """Return the number of columns of these derivatives."""
    ports = ints[row, layout.ACT_PORTS]
    return 6 * max(ports - 1, 0) + 6 * ports + 2 * ints[row, layout.ACT_COORDINATES]


@helper
def frames_at(ints, row):
    """Return where there is room for the ports' poses in `slopes`; room for a change of the interaction's motion follows."""
    return ints[row, layout.SLOPES] + rows_of(ints, row) * width_of(ints, row)


@helper
def _largest_room(ints, nv):
    """Return how many changes with q and with v there are of an interaction with ports, at most."""
    row, size = ints[0, layout.FIRST_INTERACTION], 0
    for _ in range(ints[0, layout.INTERACTIONS]):
        if ints[row, layout.ACT_PORTS] > 0:
            size = max(size, 2 * rows_of(ints, row) * nv)
        row = next_interaction(ints, row)
    return size


@helper
def _subtract_own(ints, slopes, row, dq, dv):
    """Subtract the changes of the efforts on coordinates with these coordinates."""
    ports, coordinates, width = ints[row, layout.ACT_PORTS], ints[row, layout.ACT_COORDINATES], width_of(ints, row)
    nv, first, at = dq.shape[0], row + 1 + ports, ints[row, layout.SLOPES] + 6 * ports * width + width - 2 * coordinates
    for m in range(coordinates):
        i, o = ints[first + m, layout.V], at + m * width
        of_q, of_v = vector_at(address_of(dq, i * nv), nv), vector_at(address_of(dv, i * nv), nv)
        by_q, by_v = part_of(slopes, o, (coordinates,)), part_of(slopes, o + coordinates, (coordinates,))
        for k in range(coordinates):
            c = ints[first + k, layout.V]
            of_q[c] -= by_q[k]
            of_v[c] -= by_v[k]


@helper
def write_changes(tables, slopes, of_rows, paths, sums, columns, row, room):
    """Write how what an interaction says changes with each coordinate and rate, and its ports' poses, into `slopes`.

    `of_rows` are: where the derivatives of that stand there, the first row that is asked for, how many there are, how many
    change with the interaction's coordinates, and where there is room for the poses.
    """
    ints, law, nv, (at, first, rows, by_own, frames) = tables.ints, tables.law, tables.ints[0, layout.NV], of_rows
    ports, coordinates, width = ints[row, layout.ACT_PORTS], ints[row, layout.ACT_COORDINATES], width_of(ints, row)
    by_twists, by_v = 6 * max(ports - 1, 0), rows * nv
    by_coordinates = by_twists + 6 * ports
    for o in range(2 * rows * nv):
        room[0, o] = 0.0
    for k in range(ports):
        port, frame = row + 1 + k, frames + 12 * k
        write_frame(ints, tables.floats, sums, port, slopes, frame)
        j = ints[port, layout.LAST]
        while j >= 0:
            s = transport(slopes, 0, frame, six(columns, j, layout.COLUMN_S))
            x = transport(slopes, 0, frame, six(columns, j, layout.COLUMN_X))
            i = paths[0, j]
            for r in range(first, rows):
                answer = six(slopes, 0, at + r * width + by_twists + 6 * k)
                room[0, r * nv + i] += dot(answer, x)
                room[0, by_v + r * nv + i] += dot(answer, s)
            for m in range(max(k, 1), k + 1 if k > 0 else ports):  # displacements against the first port
                moved = s if k > 0 else scaled(-1.0, transport(law, 0, ints[row, layout.LAW] + layout.MOTION_SIZE * m, s))
                for r in range(first, rows):
                    by_displacement = six(slopes, 0, at + r * width + 6 * (m - 1))
                    room[0, r * nv + i] += dot(by_displacement, moved)
            j = paths[1, j]
    for k in range(coordinates):
        c = ints[row + 1 + ports + k, layout.V]
        for r in range(by_own):
            o = at + r * width + by_coordinates + k
            room[0, r * nv + c] += slopes[0, o]
            room[0, by_v + r * nv + c] += slopes[0, o + coordinates]


@helper
def write_frame(ints, floats, sums, port, slopes, o):
    """Write the pose of a port where the columns stand."""
    i, at = ints[port, layout.ELEMENT], ints[port, layout.ROW]
    if i == 0:
        return
    if at >= 0:
        for j in range(12):
            slopes[0, o + j] = sums[at, layout.BASE + j]
        return
    rotation, position = composed_pose(sums, i, layout.BASE, floats, port, layout.R)
    put_pose(slopes, 0, o, rotation, position)


@helper
def _subtract_changes(ints, slopes, paths, columns, row, room, dq, dv):
    """Subtract the changes of wrenches along the coordinates that move their ports, and those of efforts."""
    nv, ports, by_v = dq.shape[0], ints[row, layout.ACT_PORTS], rows_of(ints, row) * dq.shape[0]
    for k in range(ports):
        j = ints[row + 1 + k, layout.LAST]
        while j >= 0:
            s, i = transport(slopes, 0, frames_at(ints, row) + 12 * k, six(columns, j, layout.COLUMN_S)), paths[0, j]
            for r in range(6):
                o = (6 * k + r) * nv
                for c in range(nv):
                    dq[i, c] -= s[r] * room[0, o + c]
                    dv[i, c] -= s[r] * room[0, by_v + o + c]
            j = paths[1, j]
    for k in range(ints[row, layout.ACT_COORDINATES]):
        i, o = ints[row + 1 + ports + k, layout.V], (6 * ports + k) * nv
        for c in range(nv):
            dq[i, c] -= room[0, o + c]
            dv[i, c] -= room[0, by_v + o + c]
