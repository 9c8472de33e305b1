"""Inverse dynamics: the resolution with every motion imposed."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import law_size, port_at, result_at
from titop.solvers.kernels.interface.stages import address_of, call_block, row_at, vector_at
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, plus, put_six, rigid_wrench, six, transport
from titop.solvers.kernels.tree.armatures import armature_effort
from titop.solvers.kernels.tree.general import add_port_wrenches, write_own_result, write_port_accelerations
from titop.solvers.kernels.tree.joints import along_joint, coriolis, move
from titop.solvers.kernels.tree.kinematics import parent_motion, place_and_move
from titop.solvers.native.kernel import helper


@helper
def outward_motions(tables, state, a, work, known):
    """From the world outwards: accelerations, and the wrench that moves each rigid body alone; return a status.

    Poses, twists and the terms of general blocks are `known`; or else poses and twists are found on the way. Without `stages`
    it is the laws' M and h that say what moves each general block alone.
    """
    ints, law = tables.ints, tables.law
    for i in range(1, ints[0, layout.ELEMENTS]):
        if known == layout.UNKNOWN:
            status = place_and_move(tables, i, state, work)
            if status != layout.OK:
                return status
        acceleration = accelerate(tables, i, state.v, a, work)
        if law is not None and ints[i, layout.LAW] >= 0:
            if tables.stages is None:
                _move_alone(ints, law, i, acceleration, a)
            else:
                status = call_block(tables, None, i, state, a, work, known, layout.OUTWARD)
                if status != layout.OK:
                    return status
            without_wrenches(ints, law, i, work)
            continue
        put_six(work, i, layout.BIAS, rigid_wrench(tables.floats, i, layout.MASS, six(work, i, layout.TWIST), acceleration))
    return layout.OK


@helper
def accelerate(tables, i, v, a, work):
    """Write and return element i's acceleration less gravity's, at its known twist."""
    ints, floats, k = tables.ints, tables.floats, tables.ints[i, layout.V]
    motion = parent_motion(ints, tables.law, work, i, layout.ACC, layout.PORT_ACC)
    carried = plus(transport(work, i, layout.R, motion), coriolis(ints, floats, i, six(work, i, layout.TWIST), v, k))
    acceleration = move(ints, floats, i, carried, a, k)
    put_six(work, i, layout.ACC, acceleration)
    return acceleration


@helper
def _move_alone(ints, law, i, acceleration, a):
    """Write the accelerations of general block i's ports, and ``M x + h``."""
    n, ports, k = ints[i, layout.OWN], ints[i, layout.PORT_COUNT], ints[i, layout.OWN_V]
    write_port_accelerations(n, ports, ints[i, layout.USED], law, ints[i, layout.LAW], acceleration, a, k)
    record = row_at(address_of(law, ints[i, layout.LAW]), law_size(n, ports))
    write_own_result(n, record, acceleration, vector_at(address_of(a, k), n), record, result_at(n))


@helper
def without_wrenches(ints, law, i, work):
    """Let nothing act yet on general block i and its ports."""
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    put_six(work, i, layout.BIAS, nothing)
    for p in range(ints[i, layout.PORT_COUNT]):
        put_six(law, 0, ints[i, layout.LAW] + port_at(ints[i, layout.OWN], p) + layout.PORT_WRENCH, nothing)


@helper
def inward_wrenches(tables, state, a, work, tau):
    """From the leaves inwards: efforts, and the wrenches that the joints transmit (in the bias columns); return a status."""
    ints, floats, law = tables.ints, tables.floats, tables.law
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        p = ints[i, layout.PARENT]
        if law is not None and ints[i, layout.LAW] >= 0:
            if tables.stages is None:
                n, ports = ints[i, layout.OWN], ints[i, layout.PORT_COUNT]
                record = row_at(address_of(law, ints[i, layout.LAW]), law_size(n, ports))
                add_port_wrenches(n, ports, ints[i, layout.USED], record, record, record, result_at(n))
            else:
                status = call_block(tables, None, i, state, a, work, layout.KNOWN, layout.INWARD)
                if status != layout.OK:
                    return status
            result = ints[i, layout.LAW] + result_at(ints[i, layout.OWN])
            add_six(work, i, layout.BIAS, six(law, 0, result))
            for j in range(ints[i, layout.OWN]):
                tau[ints[i, layout.OWN_V] + j] += law[0, result + 6 + j]
        wrench = six(work, i, layout.BIAS)
        along_joint(ints, floats, i, wrench, tau, ints[i, layout.V])
        armature_effort(ints, floats, i, a, tau, ints[i, layout.V])
        if p == 0:
            continue
        wrench = carry_wrench(work, i, layout.R, wrench)
        if law is not None and ints[i, layout.PORT] >= 0:
            add_six(law, 0, ints[i, layout.PORT] + layout.PORT_WRENCH, wrench)
            continue
        add_six(work, p, layout.BIAS, wrench)
    return layout.OK
