"""What acts besides the applied efforts: springs, armatures' gyroscopic efforts, loads."""

from __future__ import annotations

from titop.solvers.kernels.algebra import carry_wrench, dot, rotate_back, six
from titop.solvers.kernels.general import subspace_column
from titop.solvers.kernels.joints import armature_gyroscopic
from titop.solvers.kernels.layout import (
    BIAS,
    ELEMENT,
    ELEMENTS,
    FIRST_LOAD,
    FORCE,
    INERTIAL,
    INERTIAL_LOADS,
    LAW,
    LOADS,
    MULTIS,
    OWN,
    PORT,
    SPRINGS,
    R,
    V,
)
from titop.solvers.kernels.observe import world_poses
from titop.solvers.kernels.springs import add_springs
from titop.solvers.native.kernel import helper


@helper
def add_passive_efforts(ints, floats, q, v, tau):
    """Add springs, dampers, stops and armatures' gyroscopic efforts to `tau`."""
    if ints[0, SPRINGS] > 0:
        add_springs(ints, floats, q, v, tau)
    if ints[0, MULTIS] > 0:
        for i in range(1, ints[0, ELEMENTS]):
            armature_gyroscopic(ints, floats, i, v, tau, ints[i, V])


@helper
def apply_loads(ints, floats, law, work, world, general):
    """Subtract the loads from the laws of general blocks, or else from the biases of rigid bodies.

    `world` receives the poses of all elements if a load is given in the inertial frame.
    """
    if ints[0, INERTIAL_LOADS]:
        world_poses(ints, law, work, world)
    for row in range(ints[0, FIRST_LOAD], ints[0, FIRST_LOAD] + ints[0, LOADS]):
        i = ints[row, ELEMENT]
        if (ints[i, LAW] >= 0) != general or i == 0:
            continue
        wrench = six(floats, row, FORCE)
        if ints[row, INERTIAL]:
            wrench = _turn_back(world, i, 0, wrench)
        if law is not None:
            if general:
                _subtract_from_law(ints, law, row, i, wrench)
                continue
        if ints[row, INERTIAL]:
            wrench = _turn_back(floats, row, R, wrench)
        wrench = carry_wrench(floats, row, R, wrench)
        for k in range(6):
            work[i, BIAS + k] -= wrench[k]


@helper
def _subtract_from_law(ints, law, row, i, wrench):
    """Subtract a wrench at the port of the load at `row` from h of general block i.

    A wrench in the inertial frame comes in components of the block's parent port.
    """
    size = 6 + ints[i, OWN]
    h = ints[i, LAW] + size * size
    if ints[row, PORT] >= 0:
        if ints[row, INERTIAL]:
            wrench = _turn_back(law, 0, ints[row, PORT], wrench)
        for j in range(ints[i, OWN]):
            law[0, h + 6 + j] -= dot(subspace_column(ints, law, row, i, j), wrench)
        wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
    for k in range(6):
        law[0, h + k] -= wrench[k]


@helper
def _turn_back(t, i, o, w):
    fx, fy, fz = rotate_back(t, i, o, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(t, i, o, w[3], w[4], w[5])
    return fx, fy, fz, tx, ty, tz
