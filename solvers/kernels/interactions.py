"""Interactions in the passes: the motion of their targets goes to their stages, what these answer acts on the blocks.

Both stand in the interaction's part of ``law`` (see `layout`).
"""

from __future__ import annotations

from titop.solvers.kernels.algebra import carry_wrench, dot, put_six, six
from titop.solvers.kernels.general import subspace_column
from titop.solvers.kernels.layout import (
    ACT,
    ACT_COORDINATES,
    ACT_PORTS,
    BIAS,
    ELEMENT,
    FIRST_INTERACTION,
    INTERACTIONS,
    LAW,
    MOTION_SIZE,
    MOVING,
    OK,
    OWN,
    PORT,
    STORED,
    Q,
    R,
    V,
)
from titop.solvers.kernels.observe import product
from titop.solvers.kernels.pack import times, transposed
from titop.solvers.kernels.ports import port_pose, twist_of_port
from titop.solvers.kernels.records import bias_at
from titop.solvers.kernels.stages import address_of, call_interaction
from titop.solvers.native.kernel import helper


@helper
def write_interactions(ints, floats, numbers, stages, law, q, v, work, world):
    """Let every interaction write what it does; return a status. `world` holds the poses of all elements."""
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        _write_motion(ints, floats, law, q, v, work, world, row)
        status = call_interaction(ints, numbers, stages, law, row, ACT, address_of(law, loads_of(ints, row)))
        if status != OK:
            return status
        row = next_interaction(ints, row)
    return OK


@helper
def stored_energy(ints, floats, numbers, stages, law, q, v, work, world):
    """Return the energy stored in all interactions (J), not a number where one fails; what they do is used up."""
    row, energy = ints[0, FIRST_INTERACTION], 0.0
    for _ in range(ints[0, INTERACTIONS]):
        _write_motion(ints, floats, law, q, v, work, world, row)
        o = loads_of(ints, row)
        status = call_interaction(ints, numbers, stages, law, row, STORED, address_of(law, o))
        energy += law[0, o] if status == OK else float("nan")
        row = next_interaction(ints, row)
    return energy


@helper
def next_interaction(ints, row):
    """Return the row of the interaction after that at `row`."""
    return row + 1 + ints[row, ACT_PORTS] + ints[row, ACT_COORDINATES]


@helper
def loads_of(ints, row):
    """Return where the interaction at `row` writes what it does."""
    return ints[row, LAW] + MOTION_SIZE * ints[row, ACT_PORTS] + 2 * ints[row, ACT_COORDINATES]


@helper
def _write_motion(ints, floats, law, q, v, work, world, row):
    o, first, ports, coordinates = ints[row, LAW], row + 1, ints[row, ACT_PORTS], ints[row, ACT_COORDINATES]
    if ports > 0:
        rotation, origin = port_pose(ints, floats, law, world, first)
        back = transposed(rotation)
        for k in range(ports):
            turn, p = port_pose(ints, floats, law, world, first + k)
            turn, r = product(back, turn), times(back, (p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]))
            for j in range(9):
                law[0, o + j] = turn[j]
            for j in range(3):
                law[0, o + 9 + j] = r[j]
            put_six(law, 0, o + MOVING, twist_of_port(ints, floats, law, work, first + k, v))
            o += MOTION_SIZE
    for k in range(coordinates):
        law[0, o + k] = q[ints[first + ports + k, Q]]
        law[0, o + coordinates + k] = v[ints[first + ports + k, V]]


@helper
def apply_interactions(ints, floats, law, work, general):
    """Subtract the interactions' wrenches from the laws of general blocks, or else from the biases of rigid bodies."""
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        o = loads_of(ints, row)
        for k in range(ints[row, ACT_PORTS]):
            _subtract(ints, floats, law, work, row + 1 + k, six(law, 0, o + 6 * k), general)
        row = next_interaction(ints, row)


@helper
def add_interaction_efforts(ints, law, tau, sign):
    """Add the interactions' efforts on coordinates to `tau`, or with the other `sign` subtract them."""
    row = ints[0, FIRST_INTERACTION]
    for _ in range(ints[0, INTERACTIONS]):
        ports = ints[row, ACT_PORTS]
        o = loads_of(ints, row) + 6 * ports
        for k in range(ints[row, ACT_COORDINATES]):
            tau[ints[row + 1 + ports + k, V]] += sign * law[0, o + k]
        row = next_interaction(ints, row)


@helper
def _subtract(ints, floats, law, work, row, wrench, general):
    """Subtract a wrench on the port at `row` from its block's law or bias, if the block is general as asked."""
    i = ints[row, ELEMENT]
    if i == 0 or (ints[i, LAW] >= 0) != general:
        return
    if law is not None:
        if general:
            h = ints[i, LAW] + bias_at(ints[i, OWN])
            if ints[row, PORT] >= 0:
                for j in range(ints[i, OWN]):
                    law[0, h + 6 + j] -= dot(subspace_column(ints, law, row, i, j), wrench)
                wrench = carry_wrench(law, 0, ints[row, PORT], wrench)
            for k in range(6):
                law[0, h + k] -= wrench[k]
            return
    wrench = carry_wrench(floats, row, R, wrench)
    for k in range(6):
        work[i, BIAS + k] -= wrench[k]
