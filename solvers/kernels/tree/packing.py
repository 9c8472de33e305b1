"""From parameters to the table of floats, in one linear pass.

``sources`` says where in the vector of parameters each row's numbers start (-1: nowhere); ``constants`` holds each element's
fixed axis (3), linear and angular motion. ``frames`` receives, for each element, the pose in which ports are given: a
body's reference frame, or a chain's moved joint frame. ``ports`` receives the pose of every port in its element.

Rigid bodies that are welded to the body of an element belong to this element. ``welded`` has a row of sources for each of
them; their reference frames stand behind those of the elements in ``frames``.
"""

from __future__ import annotations

import math

from titop.blocks.basics.spatial import rotation_coefficients
from titop.blocks.laws.vectors import product, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import IDENTITY, add_six, add_three, matrix_of, put_pose, six_of, three
from titop.solvers.kernels.tree.joints import coordinates_of
from titop.solvers.native.kernel import helper

# -- sources: rows of elements
BODY = 0  # mass, centre of mass, inertia (10)
ATTACH = 1  # pose of the parent's port (6)
PLACEMENT = 2  # pose of the joint in it (6)
CHILD = 3  # pose of the child's port (6)
AXIS = 4  # joint axis (3)
PITCH = 5
DRIVE = 6  # armature (one entry a coordinate)
BEARER = 7  # row of `frames` of what bears the port, -1 at a port of a general block; of closures, interactions, loads likewise
WELDED = 8  # row of `welded` of the next body that belongs to the same element, or -1; in rows of welded bodies too
# -- sources: rows of springs (first row; of stops every row) and loads
SPRING_K = 0  # upper triangles of stiffness and damping, rest configuration
SPRING_D = 1
SPRING_REST = 2
SPRING_FRICTION = 3  # four entries a coordinate
SPRING_LOWER = 4  # bounds, of which there may be none
SPRING_UPPER = 5
SPRING_STOP = 6  # stiffness and dissipation
LOAD_PORT = 0  # pose of the port (6), as for the ports of closures and interactions
LOAD_WRENCH = 1  # force and torque (6)
SOURCE_COLUMNS = 9

# -- constants
FIXED_AXIS = 0
FIXED_LINEAR = 3
FIXED_ANGULAR = 4
ROTORS = 5  # reflected inertias of motors (6)


@helper
def pack_tables(ints, sources, welded, constants, port_table, params, packed):
    """Fill the `packed` floats, frames and ports; return 0, or 1 when a parameter is unusable."""
    floats, frames, ports = packed
    for k in range(params.shape[0]):
        if not math.isfinite(params[k]):
            return 1
    for k in range(3):
        floats[0, layout.GRAVITY + k] = params[k]
    put_pose(frames, 0, 0, IDENTITY, (0.0, 0.0, 0.0))
    bad, count = 0, ints[0, layout.ELEMENTS]
    for i in range(1, count):
        turn = _alignment(sources, constants, i, params)
        bad += 0 if math.isfinite(turn[2]) else 1  # an axis of length zero
        bad += _pack_motion(ints, sources, constants, i, params, floats)
        rotation, position = _joint_frame(sources, i, params, frames)
        put_pose(floats, i, layout.R_TREE, product(rotation, turn), position)
        _pack_frame(sources, i, params, turn, frames)
        for k in range(10):
            floats[i, layout.MASS + k] = 0.0
        floats[i, layout.TURNING] = 0.0
        bad += _add_body(sources, i, params, frames, i, floats, i)
        k = sources[i, WELDED]
        while k >= 0:  # those that bear others first
            _pack_welded_frame(welded, k, params, frames, count + k)
            bad += _add_body(welded, k, params, frames, count + k, floats, i)
            k = welded[k, WELDED]
    row = count
    for _ in range(ints[0, layout.SPRINGS]):
        bad += _pack_spring(ints, sources, row, params, floats)
        row += ints[row, layout.SIZE]
    while row < ints[0, layout.FIRST_LOAD]:
        if ints[row, layout.ELEMENT] >= 0:
            _pack_port(frames, sources[row, BEARER], sources[row, LOAD_PORT], params, floats, row, 0)
        row += 1
    for row in range(ints[0, layout.FIRST_LOAD], ints[0, layout.FIRST_LOAD] + ints[0, layout.LOADS]):
        _pack_port(frames, sources[row, BEARER], sources[row, LOAD_PORT], params, floats, row, 0)
        for k in range(6):
            floats[row, layout.FORCE + k] = params[sources[row, LOAD_WRENCH] + k]
    for k in range(port_table.shape[0]):
        _pack_port(frames, port_table[k, 0], port_table[k, 1], params, ports, k, 0)
    return 1 if bad else 0


@helper
def rotation_of(x, y, z):
    """Return the matrix of a rotation vector."""
    s = x * x + y * y + z * z
    a, b, _ = rotation_coefficients(s)
    return (
        1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y,
        b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x,
        b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y),
    )  # fmt: skip


@helper
def _pose(params, o):
    """Return rotation (9) and position (3) of the pose at ``params[o]``; the identity for o < 0."""
    if o < 0:
        return IDENTITY, (0.0, 0.0, 0.0)
    return rotation_of(params[o + 3], params[o + 4], params[o + 5]), (params[o], params[o + 1], params[o + 2])


@helper
def _alignment(sources, constants, i, params):
    """Return a rotation that takes z to the element's axis, without cancellation for any axis."""
    o = sources[i, AXIS]
    if o >= 0:
        x, y, z = params[o], params[o + 1], params[o + 2]
    else:
        x, y, z = three(constants, i, FIXED_AXIS)
    largest = max(abs(x), abs(y), abs(z))
    x, y, z = x / largest, y / largest, z / largest
    norm = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / norm, y / norm, z / norm
    sign = 1.0 if z >= 0.0 else -1.0
    f = 1.0 / (1.0 + abs(z))
    return 1.0 - f * x * x, -sign * f * x * y, x, -f * x * y, sign * (1.0 - f * y * y), y, -sign * x, -y, z


@helper
def _pack_motion(ints, sources, constants, i, params, floats):
    """Write an axial element's motion and the armatures; return the number of negative ones."""
    bad = 0
    floats[i, layout.LINEAR], floats[i, layout.ANGULAR] = constants[i, FIXED_LINEAR], constants[i, FIXED_ANGULAR]
    if sources[i, PITCH] >= 0:
        floats[i, layout.LINEAR] = params[sources[i, PITCH]]
    n = coordinates_of(ints[i, layout.KIND])
    for k in range(6):
        drive = params[sources[i, DRIVE] + k] if k < n and sources[i, DRIVE] >= 0 else 0.0
        bad += 1 if drive < 0.0 else 0
        floats[i, layout.ARMATURE + k] = drive + constants[i, ROTORS + k]
    return bad


@helper
def _joint_frame(sources, i, params, frames):
    """Return the pose of a joint's frame in what it stands on: the bearer's frame, then port and placement."""
    rotation, position = _pose(params, sources[i, PLACEMENT])
    p = sources[i, BEARER]
    if p >= 0:
        port_rotation, port_position = _pose(params, sources[i, ATTACH])
        moved = times(port_rotation, position)
        base = matrix_of(frames, p, 0)
        at = times(base, (port_position[0] + moved[0], port_position[1] + moved[1], port_position[2] + moved[2]))
        position = frames[p, 9] + at[0], frames[p, 10] + at[1], frames[p, 11] + at[2]
        rotation = product(base, product(port_rotation, rotation))
    return rotation, position


@helper
def _pack_frame(sources, i, params, turn, frames):
    """Write the reference frame in the element: alignment undone, then the inverse of the child's port."""
    rotation, position = _pose(params, sources[i, CHILD])
    back = product(transposed(turn), transposed(rotation))
    x, y, z = times(back, position)
    put_pose(frames, i, 0, back, (-x, -y, -z))


@helper
def _pack_welded_frame(welded, k, params, frames, row):
    """Write the reference frame of a welded body in its element: the joint's frame, then the inverse of the child's port."""
    rotation, position = _joint_frame(welded, k, params, frames)
    port, (x, y, z) = _pose(params, welded[k, CHILD])
    rotation = product(rotation, transposed(port))
    x, y, z = times(rotation, (x, y, z))
    put_pose(frames, row, 0, rotation, (position[0] - x, position[1] - y, position[2] - z))


@helper
def _add_body(sources, row, params, frames, frame, floats, i):
    """Add a body's mass, first moment and inertia about the origin to element i's; return 1 for a negative mass."""
    o = sources[row, BODY]
    if o < 0:
        return 0
    mass = params[o]
    turn = matrix_of(frames, frame, 0)
    cx, cy, cz = times(turn, (params[o + 1], params[o + 2], params[o + 3]))
    px, py, pz = three(frames, frame, 9)
    lever = cx * cx + cy * cy + cz * cz + px * px + py * py + pz * pz
    cx, cy, cz = cx + px, cy + py, cz + pz
    xx, yy, zz, xy, xz, yz = six_of(params, o + 4)
    m = product(product(turn, (xx, xy, xz, xy, yy, yz, xz, yz, zz)), transposed(turn))
    floats[i, layout.MASS] += mass
    add_three(floats, i, layout.MOMENT, (mass * cx, mass * cy, mass * cz))
    floats[i, layout.TURNING] += xx + yy + zz + 2.0 * mass * lever
    diagonal = m[0] + mass * (cy * cy + cz * cz), m[4] + mass * (cx * cx + cz * cz), m[8] + mass * (cx * cx + cy * cy)
    add_six(floats, i, layout.INERTIA, (*diagonal, m[1] - mass * cx * cy, m[2] - mass * cx * cz, m[5] - mass * cy * cz))
    return 0 if mass >= 0.0 else 1


@helper
def _pack_spring(ints, sources, row, params, floats):
    """Write stiffness, damping, friction, stops and rest; return how many frictions and stops are unusable.

    Limits of bodies' own coordinates have stops alone.
    """
    if sources[row, SPRING_K] < 0:
        return _pack_stop(sources, row, params, floats)
    n, entry, bad = ints[row, layout.SIZE], 0, 0
    for i in range(n):
        for j in range(i, n):
            k, d = params[sources[row, SPRING_K] + entry], params[sources[row, SPRING_D] + entry]
            floats[row + i, layout.STIFFNESS + j] = floats[row + j, layout.STIFFNESS + i] = k
            floats[row + i, layout.DAMPING + j] = floats[row + j, layout.DAMPING + i] = d
            entry += 1
        for j in range(4):
            floats[row + i, layout.FRICTION + j] = params[sources[row, SPRING_FRICTION] + 4 * i + j]
        efforts = min(floats[row + i, layout.FRICTION], floats[row + i, layout.FRICTION + 1])
        rates = min(floats[row + i, layout.FRICTION + 2], floats[row + i, layout.FRICTION + 3])
        bad += 0 if efforts >= 0.0 and rates > 0.0 else 1
        bad += _pack_stop(sources, row + i, params, floats)
    rest = 4 if ints[row, layout.KIND] == layout.SPHERICAL else (7 if ints[row, layout.KIND] == layout.FREE else n)
    for i in range(rest):
        floats[row, layout.REST + i] = params[sources[row, SPRING_REST] + i]
    return bad


@helper
def _pack_stop(sources, row, params, floats):
    """Write a coordinate's stop; return 1 if it is unusable."""
    lower, upper, stop = sources[row, SPRING_LOWER], sources[row, SPRING_UPPER], sources[row, SPRING_STOP]
    floats[row, layout.STOP] = params[lower] if lower >= 0 else -math.inf
    floats[row, layout.STOP + 1] = params[upper] if upper >= 0 else math.inf
    floats[row, layout.STOP + 2] = params[stop] if stop >= 0 else 0.0
    floats[row, layout.STOP + 3] = params[stop + 1] if stop >= 0 else 0.0
    ordered = floats[row, layout.STOP] <= floats[row, layout.STOP + 1]
    return 0 if ordered and floats[row, layout.STOP + 2] >= 0.0 and floats[row, layout.STOP + 3] >= 0.0 else 1


@helper
def _pack_port(frames, bearer, source, params, table, row, column):
    rotation, position = _pose(params, source)
    base = matrix_of(frames, bearer, 0)
    x, y, z = times(base, position)
    at = frames[bearer, 9] + x, frames[bearer, 10] + y, frames[bearer, 11] + z
    put_pose(table, row, column, product(base, rotation), at)
