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
from titop.solvers.kernels.interface.records import result_at
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
def linearise_blocks(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, columns, efforts, known):
    """Write motions, general blocks' slopes, each block with its loads alone (`sums`), and `outward_columns`; return a status.

    Poses, twists and laws may be `known`. Slopes ask for the wrenches at all ports first: `efforts` is room for that pass.
    """
    status = outward_moved(ints, floats, numbers, stages, law, q, v, a, work, world, known)
    if status != layout.OK:
        return status
    apply_wrenches(ints, floats, law, work, world, False)
    if law is not None:
        status = write_interaction_slopes(ints, numbers, stages, law, slopes)
        if status != layout.OK:
            return status
        apply_to_ports(ints, floats, law, work, world)
        subtract_from_wrenches(ints, law, work, efforts)
        for i in range(1, ints[0, layout.ELEMENTS]):
            put_six(sums, i, layout.WRENCH, six(work, i, layout.BIAS))
            if ints[i, layout.LAW] >= 0:
                add_six(sums, i, layout.WRENCH, at_parent_port(ints, law, i))
        status = inward_wrenches(ints, floats, numbers, stages, law, q, v, a, work, efforts)
        if status != layout.OK:
            return status
        for i in range(1, ints[0, layout.ELEMENTS]):
            if ints[i, layout.LAW] >= 0:
                whole = six(law, 0, ints[i, layout.LAW] + result_at(ints[i, layout.OWN]))
                add_six(sums, i, layout.WRENCH, minus(whole, at_parent_port(ints, law, i)))
                status = call_block(ints, numbers, stages, law, slopes, i, q, v, a, work, layout.KNOWN, layout.LINEARISED)
                if status == layout.OK and is_held(ints, i):
                    status = surrounding_slopes(ints, floats, numbers, stages, i, q, v, work, world, slopes)
                if status != layout.OK:
                    return status
            put_six(work, i, layout.BIAS, six(sums, i, layout.WRENCH))
    outward_columns(ints, floats, law, slopes, v, a, work, sums, columns)
    return layout.OK


@shared
def linearised_rooms(ints, rows, wide, law, q):
    """Return the rooms of `linearised_forward` for a state q, but for efforts: `rows` of columns, and sums so `wide`."""
    count, spare, slopes = ints[0, layout.ELEMENTS], law, law
    if law is not None:
        spare, slopes = np.empty((1, ints[0, layout.LAW_SIZE]), q.dtype), np.empty((1, ints[0, layout.SLOPES_SIZE]), q.dtype)
    work, multi = (
        np.empty((count, layout.FORWARD_COLUMNS), q.dtype),
        np.empty((ints[0, layout.MULTIS], layout.MULTI_COLUMNS), q.dtype),
    )
    world, sums = np.empty((world_rows(ints), 12), q.dtype), np.empty((sum_rows(ints), wide), q.dtype)
    return spare, slopes, work, multi, world, sums, np.empty((rows, layout.COLUMN_COLUMNS), q.dtype)


@helper
def linearised_forward(ints, floats, numbers, stages, law, q, v, tau, rooms, a):
    """From a state to accelerations, into `a`, and to the blocks linearised there; return a status.

    `rooms` are a second law, which keeps what the first one loses, slopes, `work`, `multi`, `world`, `sums`, `columns` and
    efforts (nv).
    """
    spare, slopes, work, multi, world, sums, columns, efforts = rooms
    status = outward_whole(ints, floats, numbers, stages, law, q, v, work, world)
    if status != layout.OK:
        return status
    if law is not None:
        for k in range(law.size):
            spare[0, k] = law[0, k]
    status = forward_from_twists(ints, floats, law, q, v, tau, work, multi, world, a)
    if status != layout.OK:
        return status
    return linearise_blocks(
        ints, floats, numbers, stages, spare, slopes, q, v, a, work, world, sums, columns, efforts, layout.KNOWN
    )


@helper
def hold_acting(ints, floats, law, world, sums):
    """Write what does not turn along, and move what acts on ports of general blocks to the rows of these."""
    hold_loads(ints, floats, world, sums)
    if law is not None:
        hold_interactions(ints, law, sums)


@shared
def linearise(ints, floats, law, slopes, paths, q, v, work, world, sums, columns, result):
    """Derivatives of inverse dynamics by q, v and a, into `result`, from the blocks' slopes and from `outward_columns`."""
    hold_acting(ints, floats, law, world, sums)
    dq, dv, da = result[0], result[1], result[2]
    result[:] = 0.0
    if law is not None:
        write_full(ints, law, slopes, work, sums)
    inward_sums(ints, floats, law, slopes, paths, sums, columns, work, dq, dv, da)
    subtract_passive_derivatives(ints, floats, q, v, dq, dv)
    if law is not None:
        subtract_interaction_slopes(ints, floats, law, slopes, paths, sums, columns, dq, dv)
