"""What acts on general blocks in inverse dynamics: loads and interactions join the wrenches at their ports."""

from __future__ import annotations

from titop.solvers.kernels.algebra import carry_wrench, plus, put_six, rotate_back, scaled, six
from titop.solvers.kernels.interactions import loads_of, next_interaction
from titop.solvers.kernels.layout import (
    ACT_PORTS,
    BIAS,
    ELEMENT,
    FIRST_INTERACTION,
    FIRST_LOAD,
    FORCE,
    INERTIAL,
    INTERACTIONS,
    LAW,
    LOADS,
    OWN,
    PORT,
    PORT_COUNT,
    PORT_WRENCH,
)
from titop.solvers.kernels.records import port_at
from titop.solvers.native.kernel import helper


@helper
def apply_to_ports(ints, floats, law, work, world):
    """Subtract loads and interactions on general blocks from the wrenches at their ports, or from what the blocks take.

    `world` holds the poses of all elements if a load is given in the inertial frame.
    """
    for row in range(ints[0, FIRST_LOAD], ints[0, FIRST_LOAD] + ints[0, LOADS]):
        i = ints[row, ELEMENT]
        if i > 0 and ints[i, LAW] >= 0:
            wrench = six(floats, row, FORCE)
            if ints[row, INERTIAL]:
                wrench = _turned_back(world, i, 0, wrench)
                if ints[row, PORT] >= 0:
                    wrench = _turned_back(law, 0, ints[row, PORT], wrench)
            _subtract(ints, law, work, row, wrench)
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        for k in range(ints[row, ACT_PORTS]):
            i = ints[row + 1 + k, ELEMENT]
            if i > 0 and ints[i, LAW] >= 0:
                _subtract(ints, law, work, row + 1 + k, six(law, 0, loads_of(ints, row) + 6 * k))
        row = next_interaction(ints, row)


@helper
def _subtract(ints, law, work, row, wrench):
    """Subtract a wrench on the port at `row`, in the port's frame."""
    if ints[row, PORT] >= 0:
        at = ints[row, PORT] + PORT_WRENCH
        put_six(law, 0, at, plus(six(law, 0, at), scaled(-1.0, wrench)))
    else:
        i = ints[row, ELEMENT]
        put_six(work, i, BIAS, plus(six(work, i, BIAS), scaled(-1.0, wrench)))


@helper
def _turned_back(t, i, o, w):
    fx, fy, fz = rotate_back(t, i, o, w[0], w[1], w[2])
    tx, ty, tz = rotate_back(t, i, o, w[3], w[4], w[5])
    return fx, fy, fz, tx, ty, tz


@helper
def at_parent_port(ints, law, i):
    """Return the sum of the wrenches at general block i's ports, at its parent port."""
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for p in range(ints[i, PORT_COUNT]):
        port = ints[i, LAW] + port_at(ints[i, OWN], p)
        total = plus(total, carry_wrench(law, 0, port, six(law, 0, port + PORT_WRENCH)))
    return total
