"""What surrounds general blocks and acts on them, in the passes: stages that know where the blocks are and how they move.

Their efforts stand in the blocks' parts of ``law``, the derivatives of these in those of ``slopes`` (see `layout`).
"""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import (
    APPLIED,
    APPLIED_SLOPES,
    APPLY,
    APPLY_SLOPES,
    APPLYING,
    BASE,
    BIAS,
    BLOCK,
    ELEMENTS,
    FLOAT_COLUMNS,
    FULL_TURNED,
    GRAVITY,
    INT_COLUMNS,
    LAW,
    LAW_SIZE,
    NQ,
    NUMBER_COUNT,
    NUMBERS,
    NV,
    OK,
    OWN,
    OWN_Q,
    OWN_V,
    SLOPES,
    STAGE_COLUMNS,
    TWIST,
)
from titop.solvers.kernels.interface.records import bias_at
from titop.solvers.kernels.interface.stages import address_of, call_at, floats_at, given, ints_at, row_at, vector_at
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


@helper
def write_surroundings(ints, floats, numbers, stages, law, q, v, work, world):
    """Let what acts on the general blocks write its efforts; return a status. `world` holds the poses of all elements."""
    if ints[0, APPLYING] == 0:
        return OK
    laws = address_of(numbers, 0), numbers.shape[1], address_of(stages, 0), stages.shape[0]
    state = address_of(q, 0), address_of(v, 0), address_of(world, 0)
    return surroundings_asked((*given(ints, law, work), address_of(floats, 0), *laws, *state))


@feature(13)
def surroundings_asked(ints, rows, law, work, columns, floats, numbers, number_count, stages, kinds, q, v, world):
    """See `write_surroundings`."""
    table = ints_at(ints, rows, INT_COLUMNS)
    count, record, of_laws = table[0, ELEMENTS], row_at(law, table[0, LAW_SIZE]), row_at(numbers, number_count)
    state, rates = vector_at(q, table[0, NQ]), vector_at(v, table[0, NV])
    bodies, moving, poses = floats_at(floats, rows, FLOAT_COLUMNS), floats_at(work, count, columns), floats_at(world, count, 12)
    addresses = ints_at(stages, kinds, STAGE_COLUMNS)
    for i in range(1, count):
        if table[i, APPLIED] >= 0:
            answer = address_of(record, table[i, APPLIED])
            status = _call(table, bodies, of_laws, addresses, i, state, rates, moving, poses, APPLY, answer)
            if status != OK:
                return status
    return OK


@helper
def subtract_from_laws(ints, law):
    """Subtract what acts on the general blocks from their laws."""
    if ints[0, APPLYING] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            if ints[i, APPLIED] >= 0:
                for r in range(6 + ints[i, OWN]):
                    law[0, ints[i, LAW] + bias_at(ints[i, OWN]) + r] -= law[0, ints[i, APPLIED] + r]


@helper
def subtract_from_wrenches(ints, law, work, tau):
    """Subtract what acts on the general blocks from the wrenches that they take and their efforts."""
    if ints[0, APPLYING] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            if ints[i, APPLIED] >= 0:
                put_six(work, i, BIAS, minus(six(work, i, BIAS), six(law, 0, ints[i, APPLIED])))
                for j in range(ints[i, OWN]):
                    tau[ints[i, OWN_V] + j] -= law[0, ints[i, APPLIED] + 6 + j]


@helper
def surrounding_slopes(ints, floats, numbers, stages, i, q, v, work, world, slopes):
    """Let what acts on general block i write its derivatives, and subtract them from those of the law; return a status."""
    at = ints[i, APPLIED_SLOPES]
    status = _call(ints, floats, numbers, stages, i, q, v, work, world, APPLY_SLOPES, address_of(slopes, at))
    for k in range(by_displacement(ints, i) - at):
        slopes[0, ints[i, SLOPES] + k] -= slopes[0, at + k]
    return status


@helper
def _call(ints, floats, numbers, stages, i, q, v, work, world, stage, result):
    arguments = (
        ints[i, OWN],
        ints[i, NUMBER_COUNT],
        ints[0, APPLYING],
        address_of(numbers, ints[i, NUMBERS]),
        address_of(q, ints[i, OWN_Q]),
        address_of(v, ints[i, OWN_V]),
        address_of(work, i * work.shape[1] + TWIST),
        address_of(world, i * world.shape[1]),
        address_of(floats, GRAVITY),
        result,
    )
    return call_at(stages[ints[i, BLOCK], stage], arguments)


@helper
def is_held(ints, i):
    """Tell whether derivatives ask for what surrounds block i."""
    return ints[i, APPLIED] >= 0 and ints[0, APPLYING] > 1


@helper
def by_displacement(ints, i):
    """Return where the derivatives by displacement of the parent port, (6 + n) x 6, stand in `slopes`."""
    n = ints[i, OWN]
    return ints[i, APPLIED_SLOPES] + (6 + n) * (2 * n + 6)


@helper
def write_turned(ints, slopes, i, sums):
    """Write how the wrench of general block i changes with a displacement of the block, in the components of `sums`."""
    at = by_displacement(ints, i)
    for c in range(6):
        x, w = transport(sums, i, BASE, unit(c)), (0.0,) * 6
        for r in range(6):
            w = plus(w, scaled(-dot(six(slopes, 0, at + 6 * r), x), unit(r)))
        w = carry_wrench(sums, i, BASE, w)
        for r in range(6):
            sums[i, FULL_TURNED + 6 * r + c] = entry_of(w, r)


@helper
def own_turned(ints, slopes, i, j, sums):
    """Return how own effort j of general block i changes with a displacement of the block: a row, in the frame of `sums`."""
    return carry_wrench(sums, i, BASE, scaled(-1.0, six(slopes, 0, by_displacement(ints, i) + 6 * (6 + j))))
