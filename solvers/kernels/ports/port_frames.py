"""Poses and twists of the ports to which closures, interactions and loads are attached."""

from __future__ import annotations

from titop.blocks.laws.vectors import product, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import matrix_of, rotate, six, transport
from titop.solvers.native.kernel import helper


@helper
def port_pose(ints, floats, law, world, row):
    """Return rotation (9) and position (3) of the port at `row` in the inertial frame."""
    i = ints[row, layout.ELEMENT]
    base = matrix_of(world, i, 0)
    x, y, z = rotate(world, i, 0, floats[row, 9], floats[row, 10], floats[row, 11])
    rotation = product(base, matrix_of(floats, row, 0))
    if law is not None:
        if ints[row, layout.PORT] >= 0:
            o = ints[row, layout.PORT]
            x, y, z = rotate(world, i, 0, law[0, o + 9], law[0, o + 10], law[0, o + 11])
            rotation = product(base, matrix_of(law, 0, o))
    return rotation, (world[i, 9] + x, world[i, 10] + y, world[i, 11] + z)


@helper
def relative_pose(ints, floats, law, world, row):
    """Return R and r of the closure at `row`."""
    rotation1, p1 = port_pose(ints, floats, law, world, row)
    rotation2, p2 = port_pose(ints, floats, law, world, row + 1)
    back = transposed(rotation1)
    return product(back, rotation2), times(back, (p2[0] - p1[0], p2[1] - p1[1], p2[2] - p1[2]))


@helper
def twist_of_port(ints, floats, law, work, row, v):
    """Return the twist of the port at `row`, in its frame."""
    i = ints[row, layout.ELEMENT]
    if law is not None:
        if ints[row, layout.PORT] >= 0:
            return six(law, 0, ints[row, layout.PORT] + layout.PORT_TWIST)
    return transport(floats, row, 0, six(work, i, layout.TWIST))
