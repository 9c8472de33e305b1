"""Interactions in the passes: the ports' relative motion goes to their stages, the wrenches of these act on the blocks.

Both stand in the interaction's part of ``law`` (see `layout`).
"""

from __future__ import annotations

from titop.solvers.kernels.algebra import carry_wrench, dot, put_six, six
from titop.solvers.kernels.general import subspace_column
from titop.solvers.kernels.layout import (
    ACT,
    ACTING,
    BIAS,
    ELEMENT,
    FIRST_LOAD,
    INTERACTIONS,
    LAW,
    OK,
    OWN,
    PORT,
    PORT_TWISTS,
    STORED,
    R,
)
from titop.solvers.kernels.ports import relative_pose, twist_of_port
from titop.solvers.kernels.stages import call_interaction
from titop.solvers.native.kernel import helper


@helper
def write_interactions(ints, floats, numbers, stages, law, v, work, world):
    """Let every interaction write the wrenches on its ports; return a status. `world` holds the poses of all elements."""
    for k in range(ints[0, INTERACTIONS]):
        row = first_interaction(ints) + 2 * k
        _write_relative_pose(ints, floats, law, world, row)
        put_six(law, 0, ints[row, LAW] + PORT_TWISTS, twist_of_port(ints, floats, law, work, row, v))
        put_six(law, 0, ints[row, LAW] + PORT_TWISTS + 6, twist_of_port(ints, floats, law, work, row + 1, v))
        status = call_interaction(ints, numbers, stages, law, row, ACT)
        if status != OK:
            return status
    return OK


@helper
def stored_energy(ints, floats, numbers, stages, law, world):
    """Return the energy stored in all interactions (J), not a number where one fails; their wrenches are used up."""
    energy = 0.0
    for k in range(ints[0, INTERACTIONS]):
        row = first_interaction(ints) + 2 * k
        _write_relative_pose(ints, floats, law, world, row)
        status = call_interaction(ints, numbers, stages, law, row, STORED)
        energy += law[0, ints[row, LAW] + ACTING] if status == OK else float("nan")
    return energy


@helper
def first_interaction(ints):
    """Return the row of the first interaction's first port."""
    return ints[0, FIRST_LOAD] - 2 * ints[0, INTERACTIONS]


@helper
def _write_relative_pose(ints, floats, law, world, row):
    turn, r = relative_pose(ints, floats, law, world, row)
    o = ints[row, LAW]
    for j in range(9):
        law[0, o + j] = turn[j]
    for j in range(3):
        law[0, o + 9 + j] = r[j]


@helper
def apply_interactions(ints, floats, law, work, general):
    """Subtract the interactions' wrenches from the laws of general blocks, or else from the biases of rigid bodies."""
    for k in range(ints[0, INTERACTIONS]):
        row = first_interaction(ints) + 2 * k
        o = ints[row, LAW] + ACTING
        _subtract(ints, floats, law, work, row, six(law, 0, o), general)
        _subtract(ints, floats, law, work, row + 1, six(law, 0, o + 6), general)


@helper
def _subtract(ints, floats, law, work, row, wrench, general):
    """Subtract a wrench on the port at `row` from its block's law or bias, if the block is general as asked."""
    i = ints[row, ELEMENT]
    if i == 0 or (ints[i, LAW] >= 0) != general:
        return
    if law is not None:
        if general:
            size = 6 + ints[i, OWN]
            h = ints[i, LAW] + size * size
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
