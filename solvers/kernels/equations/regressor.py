"""The regressor: inverse dynamics a unit of each of the bodies' ten numbers (see `titop.blocks.bodies.inertial_numbers`)."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import cross, dot, six, transport
from titop.solvers.kernels.tree.general import subspace_column
from titop.solvers.kernels.tree.joints import axis, coordinates_of
from titop.solvers.kernels.tree.world_poses import prepend
from titop.solvers.native.kernel import helper

#: Numbers of a body.
NUMBERS_OF_BODY = 10


@helper
def write_body_regressor(ints, floats, law, work, i, frames, pose, wrenches, result):
    """Write the efforts (10 x nv) a unit of each number of element i's body into `result`, zero before.

    `frames` holds the reference frames in the elements; `pose` (1, 12) and `wrenches` (10, 6) are room.
    """
    _write_wrenches(
        transport(frames, i, 0, six(work, i, layout.TWIST)), transport(frames, i, 0, six(work, i, layout.ACC)), wrenches
    )
    for k in range(12):
        pose[0, k] = frames[i, k]
    while i > 0:
        for j in range(coordinates_of(ints[i, layout.KIND])):
            _project(transport(pose, 0, 0, axis(ints, floats, i, j)), wrenches, result, ints[i, layout.V] + j)
        prepend(work, i, layout.R, pose)
        p = ints[i, layout.PARENT]
        if law is not None:
            if ints[i, layout.PORT] >= 0:
                for j in range(ints[p, layout.OWN]):
                    _project(
                        transport(pose, 0, 0, subspace_column(ints, law, i, p, j)), wrenches, result, ints[p, layout.OWN_V] + j
                    )
                prepend(law, 0, ints[i, layout.PORT], pose)
        i = p


@helper
def _project(x, wrenches, result, column):
    """Write the power of all wrenches at a twist into a column."""
    for k in range(NUMBERS_OF_BODY):
        result[k, column] = dot(six(wrenches, k, 0), x)


@helper
def _write_wrenches(twist, acceleration, wrenches):
    """Write the wrench a unit of each number, at the frame's twist and acceleration less gravity's."""
    vx, vy, vz, wx, wy, wz = twist
    tx, ty, tz = acceleration[3], acceleration[4], acceleration[5]
    cx, cy, cz = cross(wx, wy, wz, vx, vy, vz)
    ax, ay, az = acceleration[0] + cx, acceleration[1] + cy, acceleration[2] + cz
    _write(wrenches, 0, ax, ay, az, 0.0, 0.0, 0.0)
    _write(wrenches, 1, -wy * wy - wz * wz, tz + wx * wy, wx * wz - ty, 0.0, -az, ay)
    _write(wrenches, 2, wx * wy - tz, -wx * wx - wz * wz, tx + wy * wz, az, 0.0, -ax)
    _write(wrenches, 3, ty + wx * wz, wy * wz - tx, -wx * wx - wy * wy, -ay, ax, 0.0)
    _write(wrenches, 4, 0.0, 0.0, 0.0, tx, wz * wx, -wy * wx)
    _write(wrenches, 5, 0.0, 0.0, 0.0, -wz * wy, ty, wx * wy)
    _write(wrenches, 6, 0.0, 0.0, 0.0, wy * wz, -wx * wz, tz)
    _write(wrenches, 7, 0.0, 0.0, 0.0, ty - wz * wx, tx + wz * wy, wx * wx - wy * wy)
    _write(wrenches, 8, 0.0, 0.0, 0.0, tz + wy * wx, wz * wz - wx * wx, tx - wy * wz)
    _write(wrenches, 9, 0.0, 0.0, 0.0, wy * wy - wz * wz, tz - wx * wy, ty + wx * wz)


@helper
def _write(t, k, a, b, c, d, e, f):
    t[k, 0], t[k, 1], t[k, 2], t[k, 3], t[k, 4], t[k, 5] = a, b, c, d, e, f
