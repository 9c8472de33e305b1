"""The blocks linearised at a state, and the derivatives of inverse dynamics that follow."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.derivatives.interaction_derivatives import (
    hold_interactions,
    subtract_interaction_slopes,
    write_interaction_slopes,
)
from titop.solvers.kernels.derivatives.tree_derivatives import inward_sums, outward_columns, write_full
from titop.solvers.kernels.equations.whole_passes import (
    apply_wrenches,
    forward_from_twists,
    outward_moved,
    outward_whole,
    world_rows,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Rooms, Tables, result_at
from titop.solvers.kernels.interface.stages import call_block
from titop.solvers.kernels.ports.loads import apply_to_ports, at_parent_port, hold_loads
from titop.solvers.kernels.ports.surroundings import is_held, subtract_from_wrenches, surrounding_slopes
from titop.solvers.kernels.spatial.algebra import add_six, minus, put_six, six
from titop.solvers.kernels.tree.inverse import inward_wrenches
from titop.solvers.kernels.tree.springs import subtract_passive_derivatives
from titop.solvers.native.kernel import helper, shared


@helper
def sum_rows(ints):
    """Return the number of rows of `sums`."""
    return ints[0, layout.ELEMENTS] + ints[0, layout.ALL_PORTS]


@shared
def linearise_blocks(tables, slopes, state, a, rooms, efforts, known):
    """Write motions, general blocks' slopes, each block with its loads alone (sums), and `outward_columns`; return a status.

    Poses, twists and laws may be `known`. Slopes ask for the wrenches at all ports first: `efforts` is room for that pass.
    """
    ints, law, work, world, sums = tables.ints, tables.law, rooms.work, rooms.world, rooms.sums
    status = outward_moved(tables, state, a, work, world, known)
    if status != layout.OK:
        return status
    apply_wrenches(tables, work, world, False)
    if law is not None:
        status = write_interaction_slopes(ints, tables.numbers, tables.stages, law, slopes)
        if status != layout.OK:
            return status
        apply_to_ports(ints, tables.floats, law, work, world)
        subtract_from_wrenches(ints, law, work, efforts)
        for i in range(1, ints[0, layout.ELEMENTS]):
            put_six(sums, i, layout.WRENCH, six(work, i, layout.BIAS))
            if ints[i, layout.LAW] >= 0:
                add_six(sums, i, layout.WRENCH, at_parent_port(ints, law, i))
        status = inward_wrenches(tables, state, a, work, efforts)
        if status != layout.OK:
            return status
        for i in range(1, ints[0, layout.ELEMENTS]):
            if ints[i, layout.LAW] >= 0:
                whole = six(law, 0, ints[i, layout.LAW] + result_at(ints[i, layout.OWN]))
                add_six(sums, i, layout.WRENCH, minus(whole, at_parent_port(ints, law, i)))
                status = call_block(tables, slopes, i, state, a, work, layout.KNOWN, layout.LINEARISED)
                if status == layout.OK and is_held(ints, i):
                    status = surrounding_slopes(tables, i, state, work, world, slopes)
                if status != layout.OK:
                    return status
            put_six(work, i, layout.BIAS, six(sums, i, layout.WRENCH))
    outward_columns(tables, slopes, state.v, a, rooms)
    return layout.OK


@shared
def linearised_rooms(ints, rows, wide, law, q):
    """Return the rooms of `linearised_forward` for a state q, but for efforts: `rows` of columns, and sums so `wide`."""
    count, spare, slopes = ints[0, layout.ELEMENTS], law, law
    if law is not None:
        spare, slopes = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype), np.empty((1, ints[0, layout.SLOPES_SIZE]), q.dtype)
    work, world = np.empty((count, layout.FORWARD_COLUMNS), q.dtype), np.empty((world_rows(ints), 12), q.dtype)
    sums, columns = np.empty((sum_rows(ints), wide), q.dtype), np.empty((rows, layout.COLUMN_COLUMNS), q.dtype)
    multi = np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS), q.dtype)
    return spare, slopes, multi, Rooms(work, world, sums, columns)


@helper
def linearised_forward(tables, state, tau, rooms, a):
    """From a state to accelerations, into `a`, and to the blocks linearised there; return a status.

    `rooms` are a second law, which keeps what the first one loses, slopes, `multi`, the passes' `Rooms` and efforts (nv).
    """
    (ints, floats, numbers, stages, law), (spare, slopes, multi, passes, efforts) = tables, rooms
    status = outward_whole(tables, state, passes.work, passes.world)
    if status != layout.OK:
        return status
    if law is not None:
        for k in range(law.size):
            spare[0, k] = law[0, k]
    status = forward_from_twists(tables, state, tau, passes.work, multi, passes.world, a)
    if status != layout.OK:
        return status
    kept = Tables(ints, floats, numbers, stages, spare)
    return linearise_blocks(kept, slopes, state, a, passes, efforts, layout.KNOWN)


@helper
def hold_acting(ints, floats, law, world, sums):
    """Write what does not turn along, and move what acts on ports of general blocks to the rows of these."""
    hold_loads(ints, floats, world, sums)
    if law is not None:
        hold_interactions(ints, law, sums)


@shared
def linearise(tables, slopes, paths, state, rooms, result):
    """Derivatives of inverse dynamics by q, v and a, into `result`, from the blocks' slopes and from `outward_columns`."""
    ints, floats, law, sums = tables.ints, tables.floats, tables.law, rooms.sums
    hold_acting(ints, floats, law, rooms.world, sums)
    dq, dv, da = result[0], result[1], result[2]
    result[:] = 0.0
    if law is not None:
        write_full(ints, law, slopes, rooms.work, sums)
    inward_sums(tables, slopes, paths, rooms, (dq, dv, da))
    subtract_passive_derivatives(ints, floats, state.q, state.v, dq, dv)
    if law is not None:
        subtract_interaction_slopes(tables, slopes, paths, rooms, dq, dv)
