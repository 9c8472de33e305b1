"""Inverse dynamics: the resolution with every motion imposed."""

from __future__ import annotations

from titop.solvers.kernels.interface.layout import (
    ACC,
    BIAS,
    ELEMENTS,
    INWARD,
    KNOWN,
    LAW,
    MASS,
    OK,
    OUTWARD,
    OWN,
    OWN_V,
    PARENT,
    PORT,
    PORT_ACC,
    PORT_COUNT,
    PORT_WRENCH,
    TWIST,
    UNKNOWN,
    R,
    V,
)
from titop.solvers.kernels.interface.records import port_at, result_at
from titop.solvers.kernels.interface.stages import call_block
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_wrench,
    plus,
    put_six,
    rigid_wrench,
    six,
    transport,
)
from titop.solvers.kernels.tree.joints import along_joint, armature_effort, coriolis, move
from titop.solvers.kernels.tree.kinematics import parent_motion, place_and_move
from titop.solvers.native.kernel import helper


@helper
def outward_motions(ints, floats, numbers, stages, law, q, v, a, work, known):
    """From the world outwards: accelerations, and the wrench that moves each rigid body alone; return a status.

    Poses, twists and the terms of general blocks are `known`; or else, with general blocks, poses and twists are found on the
    way.
    """
    for i in range(1, ints[0, ELEMENTS]):
        if law is not None:
            if known == UNKNOWN:
                status = place_and_move(ints, floats, law, i, q, v, work)
                if status != OK:
                    return status
        acceleration = accelerate(ints, floats, law, i, v, a, work)
        if law is not None:
            if ints[i, LAW] >= 0:
                status = call_block(ints, numbers, stages, law, None, i, q, v, a, work, known, OUTWARD)
                if status != OK:
                    return status
                without_wrenches(ints, law, i, work)
                continue
        put_six(work, i, BIAS, rigid_wrench(floats, i, MASS, six(work, i, TWIST), acceleration))
    return OK


@helper
def accelerate(ints, floats, law, i, v, a, work):
    """Write and return element i's acceleration less gravity's, at its known twist."""
    motion = parent_motion(ints, law, work, i, ACC, PORT_ACC)
    carried = plus(transport(work, i, R, motion), coriolis(ints, floats, i, six(work, i, TWIST), v, ints[i, V]))
    acceleration = move(ints, floats, i, carried, a, ints[i, V])
    put_six(work, i, ACC, acceleration)
    return acceleration


@helper
def without_wrenches(ints, law, i, work):
    """Let nothing act yet on general block i and its ports."""
    nothing = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    put_six(work, i, BIAS, nothing)
    for p in range(ints[i, PORT_COUNT]):
        put_six(law, 0, ints[i, LAW] + port_at(ints[i, OWN], p) + PORT_WRENCH, nothing)


@helper
def inward_wrenches(ints, floats, numbers, stages, law, q, v, a, work, tau):
    """From the leaves inwards: efforts, and the wrenches that the joints transmit (in the bias columns); return a status."""
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        p = ints[i, PARENT]
        if law is not None:
            if ints[i, LAW] >= 0:
                status = call_block(ints, numbers, stages, law, None, i, q, v, a, work, KNOWN, INWARD)
                if status != OK:
                    return status
                result = ints[i, LAW] + result_at(ints[i, OWN])
                add_six(work, i, BIAS, six(law, 0, result))
                for j in range(ints[i, OWN]):
                    tau[ints[i, OWN_V] + j] += law[0, result + 6 + j]
        wrench = six(work, i, BIAS)
        along_joint(ints, floats, i, wrench, tau, ints[i, V])
        armature_effort(ints, floats, i, a, tau, ints[i, V])
        if p == 0:
            continue
        wrench = carry_wrench(work, i, R, wrench)
        if law is not None:
            if ints[i, PORT] >= 0:
                add_six(law, 0, ints[i, PORT] + PORT_WRENCH, wrench)
                continue
        add_six(work, p, BIAS, wrench)
    return OK
