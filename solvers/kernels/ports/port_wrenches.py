"""What acts on general blocks in inverse dynamics: loads and interactions join the wrenches at their ports.

A feature, as in `loads` and `interactions`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import is_used, port_at
from titop.solvers.kernels.interface.stages import address_of, floats_at, given, ints_at, row_at
from titop.solvers.kernels.ports.interactions import loads_of, next_interaction
from titop.solvers.kernels.spatial.algebra import carry_wrench, plus, put_six, rotate_six_back, scaled, six
from titop.solvers.native.kernel import feature, helper


@helper
def apply_to_ports(ints, floats, law, work, world):
    """Subtract loads and interactions on general blocks from the wrenches at their ports, or from what the blocks take.

    `world` holds the poses of all elements if a load is given in the inertial frame.
    """
    if ints[0, layout.LOADS] > 0 or ints[0, layout.INTERACTIONS] > 0:
        if port_application((*given(ints, law, work), address_of(floats, 0), address_of(world, 0))) != layout.OK:
            law[:] = np.nan
            work[:] = np.nan


@feature(7)
def port_application(ints, rows, law, work, columns, floats, world):
    """See `apply_to_ports`."""
    table = ints_at(ints, rows, layout.INT_COLUMNS)
    count = table[0, layout.ELEMENTS]
    record, moving = row_at(law, table[0, layout.LAW_SIZE]), floats_at(work, count, columns)
    _subtract_all(table, floats_at(floats, rows, layout.FLOAT_COLUMNS), record, moving, floats_at(world, count, 12))
    return layout.OK


@helper
def _subtract_all(ints, floats, law, work, world):
    for row in range(ints[0, layout.FIRST_LOAD], ints[0, layout.FIRST_LOAD] + ints[0, layout.LOADS]):
        i = ints[row, layout.ELEMENT]
        if i > 0 and ints[i, layout.LAW] >= 0:
            wrench = six(floats, row, layout.FORCE)
            if ints[row, layout.INERTIAL]:
                wrench = rotate_six_back(world, i, 0, wrench)
                if ints[row, layout.PORT] >= 0:
                    wrench = rotate_six_back(law, 0, ints[row, layout.PORT], wrench)
            _subtract(ints, law, work, row, wrench)
    row = ints[0, layout.FIRST_INTERACTION]
    for _ in range(ints[0, layout.INTERACTIONS]):
        for k in range(ints[row, layout.ACT_PORTS]):
            i = ints[row + 1 + k, layout.ELEMENT]
            if i > 0 and ints[i, layout.LAW] >= 0:
                _subtract(ints, law, work, row + 1 + k, six(law, 0, loads_of(ints, row) + 6 * k))
        row = next_interaction(ints, row)


@helper
def _subtract(ints, law, work, row, wrench):
    """Subtract a wrench on the port at `row`, in the port's frame."""
    if ints[row, layout.PORT] >= 0:
        at = ints[row, layout.PORT] + layout.PORT_WRENCH
        put_six(law, 0, at, plus(six(law, 0, at), scaled(-1.0, wrench)))
    else:
        i = ints[row, layout.ELEMENT]
        put_six(work, i, layout.BIAS, plus(six(work, i, layout.BIAS), scaled(-1.0, wrench)))


@helper
def at_parent_port(ints, law, i):
    """Return the sum of the wrenches at general block i's ports, at its parent port."""
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for p in range(ints[i, layout.PORT_COUNT]):
        if is_used(ints[i, layout.USED], p):
            port = ints[i, layout.LAW] + port_at(ints[i, layout.OWN], p)
            total = plus(total, carry_wrench(law, 0, port, six(law, 0, port + layout.PORT_WRENCH)))
    return total
