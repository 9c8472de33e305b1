"""The blocks linearised at a state, and the derivatives of inverse dynamics that follow."""

from __future__ import annotations

from titop.solvers.kernels.derivatives.general_derivatives import write_full
from titop.solvers.kernels.derivatives.interaction_derivatives import (
    hold_interactions,
    subtract_interaction_slopes,
    write_interaction_slopes,
)
from titop.solvers.kernels.derivatives.tree_derivatives import inward_sums, outward_columns
from titop.solvers.kernels.equations.whole_passes import (
    apply_wrenches,
    find_acting,
    forward_from_twists,
    outward_whole,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import result_at
from titop.solvers.kernels.interface.stages import call_block
from titop.solvers.kernels.ports.loads import apply_to_ports, at_parent_port, hold_loads
from titop.solvers.kernels.ports.surroundings import is_held, subtract_from_wrenches, surrounding_slopes
from titop.solvers.kernels.spatial.algebra import add_six, minus, put_six, six
from titop.solvers.kernels.tree.inverse import inward_wrenches, outward_motions
from titop.solvers.kernels.tree.springs import subtract_passive_derivatives
from titop.solvers.native.kernel import helper, shared


@helper
def sum_rows(ints):
    """Return the number of rows of `sums`."""
    return ints[0, layout.ELEMENTS] + ints[0, layout.ALL_PORTS]


@shared
def motions_and_slopes(ints, floats, numbers, stages, law, slopes, q, v, a, work, world, sums, efforts, known):
    """Accelerations, the wrench that each block and its loads take alone, and the general blocks' slopes; return a status.

    These ask for the wrenches at all ports first: `sums` and `efforts` are room for an inward pass.
    """
    status = outward_motions(ints, floats, numbers, stages, law, q, v, a, work, known)
    if status != layout.OK:
        return status
    if law is not None and known == layout.UNKNOWN:
        status = find_acting(ints, floats, numbers, stages, law, q, v, work, world)
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
    return layout.OK


@helper
def linearised_forward(ints, floats, numbers, stages, law, q, v, tau, rooms, a):
    """From a state to accelerations, into `a`, and to the blocks linearised there (`outward_columns`); return a status.

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
    status = motions_and_slopes(ints, floats, numbers, stages, spare, slopes, q, v, a, work, world, sums, efforts, layout.KNOWN)
    if status != layout.OK:
        return status
    outward_columns(ints, floats, spare, slopes, v, a, work, sums, columns)
    return layout.OK


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
