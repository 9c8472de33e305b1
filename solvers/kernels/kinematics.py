"""Poses and twists, from the world outwards."""

from __future__ import annotations

from titop.solvers.kernels.algebra import helper, put_six, six, transport
from titop.solvers.kernels.general import port_twist
from titop.solvers.kernels.joints import move, place
from titop.solvers.kernels.layout import ELEMENTS, GRAVITY, OK, PARENT, PORT, TWIST, ACC, R, V


@helper
def start(floats, work):
    """Write the world's motion: at rest, and accelerated against gravity."""
    for k in range(12):
        work[0, R + k] = 0.0
    work[0, R] = work[0, R + 4] = work[0, R + 8] = 1.0
    put_six(work, 0, TWIST, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    put_six(work, 0, ACC, (-floats[0, GRAVITY], -floats[0, GRAVITY + 1], -floats[0, GRAVITY + 2], 0.0, 0.0, 0.0))


@helper
def parent_motion(ints, law, work, i, column, rates):
    """Return the dual vector (twist or acceleration without bias) of the port that carries element i."""
    p = ints[i, PARENT]
    x = six(work, p, column)
    if ints[i, PORT] >= 0:
        x = port_twist(ints, law, i, p, x, rates)
    return x


@helper
def outward_twists(ints, floats, law, q, v, work):
    """Write every element's pose in its parent and its twist; return a status."""
    start(floats, work)
    for i in range(1, ints[0, ELEMENTS]):
        status = place(ints, floats, i, q, work)
        if status != OK:
            return status
        carried = transport(work, i, R, parent_motion(ints, law, work, i, TWIST, v))
        put_six(work, i, TWIST, move(ints, floats, i, carried, v, ints[i, V]))
    return OK
