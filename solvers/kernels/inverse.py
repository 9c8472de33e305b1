"""Inverse dynamics: the resolution with every motion imposed."""

from __future__ import annotations

from titop.solvers.kernels.algebra import add_six, carry_wrench, gyroscopic, plus, put_six, rigid_momentum, six, transport
from titop.solvers.kernels.general import law_wrench, port_effort, port_gamma
from titop.solvers.kernels.joints import along_joint, armature_effort, coriolis, move
from titop.solvers.kernels.kinematics import parent_motion
from titop.solvers.kernels.layout import ACC, BIAS, ELEMENTS, LAW, MASS, PARENT, PORT, TWIST, R, V
from titop.solvers.native.kernel import helper


@helper
def outward_wrenches(ints, floats, law, v, a, work, tau):
    """From the world outwards: accelerations, and the wrench that moves each block alone."""
    for i in range(1, ints[0, ELEMENTS]):
        k = ints[i, V]
        motion = parent_motion(ints, law, work, i, ACC, a)
        if law is not None:
            if ints[i, PORT] >= 0:
                motion = plus(motion, port_gamma(ints, law, i))
        twist = six(work, i, TWIST)
        carried = plus(transport(work, i, R, motion), coriolis(ints, floats, i, twist, v, k))
        acceleration = move(ints, floats, i, carried, a, k)
        put_six(work, i, ACC, acceleration)
        if law is not None:
            if ints[i, LAW] >= 0:
                put_six(work, i, BIAS, law_wrench(ints, law, i, acceleration, a, tau))
                continue
        put_six(work, i, BIAS, plus(rigid_momentum(floats, i, MASS, acceleration), gyroscopic(floats, i, MASS, twist)))


@helper
def inward_wrenches(ints, floats, law, a, work, tau):
    """From the leaves inwards: efforts, and the wrenches that the joints transmit (left in the bias columns)."""
    for i in range(ints[0, ELEMENTS] - 1, 0, -1):
        p = ints[i, PARENT]
        wrench = six(work, i, BIAS)
        along_joint(ints, floats, i, wrench, tau, ints[i, V])
        armature_effort(ints, floats, i, a, tau, ints[i, V])
        if p == 0:
            continue
        wrench = carry_wrench(work, i, R, wrench)
        if law is not None:
            if ints[i, PORT] >= 0:
                port_effort(ints, law, i, p, wrench, tau)
                wrench = carry_wrench(law, 0, ints[i, PORT], wrench)
        add_six(work, p, BIAS, wrench)
