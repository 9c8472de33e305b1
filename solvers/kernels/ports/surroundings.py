"""What surrounds general blocks and acts on them, in the passes: stages that know where the blocks are and how they move.

Their efforts stand in the blocks' parts of ``law``, the derivatives of these in those of ``slopes`` (see `layout`).
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables, bias_at
from titop.solvers.kernels.interface.stages import address_of, call_at, floats_at, given, ints_at, lane_count, row_at, vector_at
from titop.solvers.kernels.spatial.algebra import (
    carry_wrench,
    dot,
    entry_of,
    minus,
    plus,
    put_six,
    scaled,
    six,
    transport,
    unit,
)
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


@helper
def write_surroundings(tables, state, work, world):
    """Let what acts on the general blocks write its efforts; return a status. `world` holds the poses of all elements."""
    ints, floats, numbers, stages = tables.ints, tables.floats, tables.numbers, tables.stages
    if ints[0, layout.APPLYING] == 0:
        return layout.OK
    if lane_count(floats) > lane_count(numbers):
        return layout.SINGULAR  # states with loads of their own are left to single calls: stages take gravity as plain numbers
    laws = address_of(numbers, 0), numbers.shape[1], address_of(stages, 0), stages.shape[0]
    moved = address_of(state.q, 0), address_of(state.v, 0), address_of(world, 0)
    return surroundings_asked((*given(ints, tables.law, work), address_of(floats, 0), *laws, *moved))


@feature(*[INTEGER] * 2, *[STATE_AT] * 2, INTEGER, *[TABLE_AT] * 2, *[INTEGER] * 3, *[STATE_AT] * 3)
def surroundings_asked(ints, rows, law, work, columns, floats, numbers, number_count, stages, kinds, q, v, world):
    """See `write_surroundings`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count, record, of_laws = table[0, layout.ELEMENTS], row_at(law, table[0, layout.LAW_SIZE]), row_at(numbers, number_count)
    state = State(vector_at(q, table[0, layout.NQ]), vector_at(v, table[0, layout.NV]))
    bodies, moving = floats_at(floats, rows, layout.FLOAT_COLUMNS), floats_at(work, count, columns)
    poses = floats_at(world, count, 12)
    tables = Tables(table, bodies, of_laws, ints_at(stages, kinds, layout.STAGE_COLUMNS), record)
    for i in range(1, count):
        if table[i, layout.APPLIED] >= 0:
            answer = address_of(record, table[i, layout.APPLIED])
            status = _call(tables, i, state, moving, poses, layout.APPLY, answer)
            if status != layout.OK:
                return status
    return layout.OK


@helper
def subtract_from_laws(ints, law):
    """Subtract what acts on the general blocks from their laws."""
    if ints[0, layout.APPLYING] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            if ints[i, layout.APPLIED] >= 0:
                for r in range(6 + ints[i, layout.OWN]):
                    law[0, ints[i, layout.LAW] + bias_at(ints[i, layout.OWN]) + r] -= law[0, ints[i, layout.APPLIED] + r]


@helper
def subtract_from_wrenches(ints, law, work, tau):
    """Subtract what acts on the general blocks from the wrenches that they take and their efforts."""
    if ints[0, layout.APPLYING] > 0:
        for i in range(1, ints[0, layout.ELEMENTS]):
            if ints[i, layout.APPLIED] >= 0:
                put_six(work, i, layout.BIAS, minus(six(work, i, layout.BIAS), six(law, 0, ints[i, layout.APPLIED])))
                for j in range(ints[i, layout.OWN]):
                    tau[ints[i, layout.OWN_V] + j] -= law[0, ints[i, layout.APPLIED] + 6 + j]


@helper
def surrounding_slopes(tables, i, state, work, world, slopes):
    """Let what acts on general block i write its derivatives, and subtract them from those of the law; return a status."""
    ints = tables.ints
    if lane_count(tables.floats) > lane_count(tables.numbers):
        return layout.SINGULAR
    at = ints[i, layout.APPLIED_SLOPES]
    status = _call(tables, i, state, work, world, layout.APPLY_SLOPES, address_of(slopes, at))
    for k in range(by_displacement(ints, i) - at):
        slopes[0, ints[i, layout.SLOPES] + k] -= slopes[0, at + k]
    return status


@helper
def _call(tables, i, state, work, world, stage, result):
    ints, stages, row = tables.ints, tables.stages, tables.ints[i, layout.BLOCK]
    sizes = ints[i, layout.OWN], ints[i, layout.NUMBER_COUNT], ints[0, layout.APPLYING]
    told = address_of(stages, row * layout.STAGE_COLUMNS), address_of(tables.numbers, ints[i, layout.NUMBERS])
    own = address_of(state.q, ints[i, layout.OWN_Q]), address_of(state.v, ints[i, layout.OWN_V])
    placed = address_of(work, i * work.shape[1] + layout.TWIST), address_of(world, i * world.shape[1])
    return call_at(stages[row, stage], (*sizes, *told, *own, *placed, address_of(tables.floats, layout.GRAVITY), result))


@helper
def is_held(ints, i):
    """Tell whether derivatives ask for what surrounds block i."""
    return ints[i, layout.APPLIED] >= 0 and ints[0, layout.APPLYING] > 1


@helper
def by_displacement(ints, i):
    """Return where the derivatives by displacement of the parent port, (6 + n) x 6, stand in `slopes`."""
    n = ints[i, layout.OWN]
    return ints[i, layout.APPLIED_SLOPES] + (6 + n) * (2 * n + 6)


@helper
def write_turned(ints, slopes, i, sums):
    """Write how the wrench of general block i changes with a displacement of the block, in the components of `sums`."""
    at = by_displacement(ints, i)
    for c in range(6):
        x, w = transport(sums, i, layout.BASE, unit(c)), (0.0,) * 6
        for r in range(6):
            w = plus(w, scaled(-dot(six(slopes, 0, at + 6 * r), x), unit(r)))
        w = carry_wrench(sums, i, layout.BASE, w)
        for r in range(6):
            sums[i, layout.FULL_TURNED + 6 * r + c] = entry_of(w, r)


@helper
def own_turned(ints, slopes, i, j, sums):
    """Return how own effort j of general block i changes with a displacement of the block: a row, in the frame of `sums`."""
    return carry_wrench(sums, i, layout.BASE, scaled(-1.0, six(slopes, 0, by_displacement(ints, i) + 6 * (6 + j))))
