"""Interactions in `directional`: what changes of what they do along a direction, and transposed.

What an interaction answers to, and where its derivatives stand, `interaction_derivatives` says. In the transposed pass its
wrenches and efforts are weighted by the dual vectors of its ports and coordinates.

Features, as in `interactions`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.interaction_derivatives import frames_at, width_of, write_frame
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, ints_at, part_of, row_at, vector_at
from titop.solvers.kernels.ports.interactions import next_interaction
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    entry_of,
    minus,
    plus,
    put_six,
    scaled,
    six,
    transport,
    unit,
)
from titop.solvers.kernels.tree.subtree_sums import DISPLACED, FIRST, ROOM_COLUMNS, SECOND, THIRD
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


@helper
def subtract_interaction_change(tables, law, slopes, along, sums, room, change):
    """Subtract the changes of interactions along a direction from those of wrenches, in `room`, and of efforts."""
    if tables[0][0, layout.INTERACTIONS] > 0:
        told = *_tables(tables, law, slopes, sums, room), False, address_of(along[0], 0), address_of(along[1], 0)
        if interaction_directions((*told, address_of(change, 0))) != layout.OK:
            change[:] = np.nan


@helper
def subtract_interaction_pull(tables, law, slopes, dual, sums, room, pulled):
    """Subtract how interactions pull ports, in `room`, and coordinates."""
    if tables[0][0, layout.INTERACTIONS] > 0:
        told = *_tables(tables, law, slopes, sums, room), True, address_of(pulled[0], 0), address_of(pulled[1], 0)
        if interaction_directions((*told, address_of(dual, 0))) != layout.OK:
            pulled[0][:] = np.nan


@helper
def _tables(tables, law, slopes, sums, room):
    ints, floats = tables
    told = address_of(ints, 0), ints.shape[0], address_of(floats, 0), address_of(law, 0), address_of(slopes, 0)
    return (*told, address_of(sums, 0), sums.shape[0], sums.shape[1], address_of(room, 0))


@feature(*[INTEGER] * 2, TABLE_AT, *[STATE_AT] * 3, INTEGER, *[STATE_AT] * 2, INTEGER, *[STATE_AT] * 3)
def interaction_directions(ints, rows, floats, law, slopes, sums, sum_rows, columns, room, transposed, q, v, efforts):
    """See `subtract_interaction_change` and, `transposed`, `subtract_interaction_pull`."""
    table, bodies = ints_at(ints, rows, layout.INT_COLUMNS), floats_at(floats, rows, layout.FLOAT_COLUMNS)
    record, answers = row_at(law, table[0, layout.LAW_SIZE]), row_at(slopes, table[0, layout.SLOPES_SIZE])
    bases, moved, n = floats_at(sums, sum_rows, columns), floats_at(room, sum_rows, ROOM_COLUMNS), table[0, layout.NV]
    by_q, by_v, along, row = vector_at(q, n), vector_at(v, n), vector_at(efforts, n), table[0, layout.FIRST_INTERACTION]
    for _ in range(table[0, layout.INTERACTIONS]):
        if transposed:
            _weigh(table, bodies, answers, along, bases, moved, row)
            _subtract_pull(table, record, answers, moved, row, by_q, by_v)
        else:
            _write_motion(table, bodies, record, answers, (by_q, by_v), bases, moved, row)
            _subtract_answer(table, answers, moved, row, along)
        row = next_interaction(table, row)
    return layout.OK


@helper
def _place_of(ints, port):
    """Return the row of `sums` of the port at the row `port`."""
    return ints[port, layout.ROW] if ints[port, layout.ROW] >= 0 else ints[port, layout.ELEMENT]


@helper
def _motion_at(ints, row):
    """Return where there is room for a change of the interaction's motion."""
    return frames_at(ints, row) + 12 * ints[row, layout.ACT_PORTS]


@helper
def _carried(ints, floats, slopes, sums, room, row, k, column):
    """Return six numbers of a column of `room` at the k-th port, in its frame; zeros for the world, which does not move."""
    port, frame = row + 1 + k, frames_at(ints, row) + 12 * k
    if ints[port, layout.ELEMENT] == 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    write_frame(ints, floats, sums, port, slopes, frame)
    return transport(slopes, 0, frame, six(room, _place_of(ints, port), column))


@helper
def _write_motion(ints, floats, law, slopes, along, sums, room, row):
    """Write the displacements of ports against the first, the changes of twists, and those of coordinates and rates."""
    ports, coordinates, at = ints[row, layout.ACT_PORTS], ints[row, layout.ACT_COORDINATES], _motion_at(ints, row)
    by_twists, first = at + 6 * max(ports - 1, 0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(ports):
        s = _carried(ints, floats, slopes, sums, room, row, k, FIRST)
        if k == 0:
            first = s
        else:
            carried = transport(law, 0, ints[row, layout.LAW] + layout.MOTION_SIZE * k, first)
            put_six(slopes, 0, at + 6 * (k - 1), minus(s, carried))
        put_six(slopes, 0, by_twists + 6 * k, _carried(ints, floats, slopes, sums, room, row, k, SECOND))
    own = by_twists + 6 * ports
    for k in range(coordinates):
        c = ints[row + 1 + ports + k, layout.V]
        slopes[0, own + k], slopes[0, own + coordinates + k] = along[0][c], along[1][c]


@helper
def _subtract_answer(ints, slopes, room, row, change):
    """Subtract what the interaction does more, or less, at the motion's change."""
    ports, width = ints[row, layout.ACT_PORTS], width_of(ints, row)
    for k in range(ports):
        if ints[row + 1 + k, layout.ELEMENT] > 0:
            wrench = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for r in range(6):
                wrench = plus(wrench, scaled(_answer(ints, slopes, row, width, 6 * k + r), unit(r)))
            wrench = carry_wrench(slopes, 0, frames_at(ints, row) + 12 * k, wrench)
            add_six(room, _place_of(ints, row + 1 + k), THIRD, scaled(-1.0, wrench))
    for k in range(ints[row, layout.ACT_COORDINATES]):
        change[ints[row + 1 + ports + k, layout.V]] -= _answer(ints, slopes, row, width, 6 * ports + k)


@helper
def _answer(ints, slopes, row, width, r):
    """Return the product of row r of the derivatives and the motion's change."""
    derivatives = part_of(slopes, ints[row, layout.SLOPES] + r * width, (width,))
    motion, total = part_of(slopes, _motion_at(ints, row), (width,)), 0.0
    for c in range(width):
        total += derivatives[c] * motion[c]
    return total


@helper
def _weigh(ints, floats, slopes, dual, sums, room, row):
    """Write the sum of the rows of the derivatives, weighted by the ports' dual vectors and the coordinates'."""
    ports, width, at = ints[row, layout.ACT_PORTS], width_of(ints, row), _motion_at(ints, row)
    for c in range(width):
        slopes[0, at + c] = 0.0
    for k in range(ports):
        w = _carried(ints, floats, slopes, sums, room, row, k, FIRST)
        for r in range(6):
            _add_row(slopes, ints[row, layout.SLOPES] + (6 * k + r) * width, at, width, entry_of(w, r))
    for k in range(ints[row, layout.ACT_COORDINATES]):
        o, c = ints[row, layout.SLOPES] + (6 * ports + k) * width, ints[row + 1 + ports + k, layout.V]
        _add_row(slopes, o, at, width, dual[c])


@helper
def _add_row(slopes, o, to, width, weight):
    row, total = part_of(slopes, o, (width,)), part_of(slopes, to, (width,))
    for c in range(width):
        total[c] += weight * row[c]


@helper
def _subtract_pull(ints, law, slopes, room, row, by_q, by_v):
    """Subtract how the weighted derivatives pull ports' displacements and twists, and coordinates."""
    ports, coordinates, at = ints[row, layout.ACT_PORTS], ints[row, layout.ACT_COORDINATES], _motion_at(ints, row)
    by_twists = at + 6 * max(ports - 1, 0)
    for k in range(ports):
        if k > 0:
            pull = six(slopes, 0, at + 6 * (k - 1))
            _subtract_at(ints, slopes, room, row, k, DISPLACED, pull)
            carried = carry_wrench(law, 0, ints[row, layout.LAW] + layout.MOTION_SIZE * k, pull)
            _subtract_at(ints, slopes, room, row, 0, DISPLACED, scaled(-1.0, carried))
        _subtract_at(ints, slopes, room, row, k, THIRD, six(slopes, 0, by_twists + 6 * k))
    own = by_twists + 6 * ports
    for k in range(coordinates):
        c = ints[row + 1 + ports + k, layout.V]
        by_q[c] -= slopes[0, own + k]
        by_v[c] -= slopes[0, own + coordinates + k]


@helper
def _subtract_at(ints, slopes, room, row, k, column, pull):
    """Subtract a dual vector of the k-th port's displacement or twist, in its frame, from a column of `room`."""
    port = row + 1 + k
    if ints[port, layout.ELEMENT] > 0:
        carried = carry_wrench(slopes, 0, frames_at(ints, row) + 12 * k, pull)
        add_six(room, _place_of(ints, port), column, scaled(-1.0, carried))
