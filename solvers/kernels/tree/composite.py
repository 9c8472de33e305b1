"""The mass matrix by composite inertias (CRBA)."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.blocks.laws.vectors import product
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    add_three,
    both_inertias,
    carry_inertia,
    carry_wrench,
    cross,
    inertia_times,
    matrix_of,
    put_inertia,
    put_pose,
    put_six,
    put_three,
    rigid_momentum,
    rotate,
    rotate_back,
    rotate_symmetric,
    six,
    spin_momentum,
    three,
)
from titop.solvers.kernels.tree.forward import inertia_of, rigid_inertia, take_law
from titop.solvers.kernels.tree.general import add_at_port, port_effort
from titop.solvers.kernels.tree.joints import along_joint, axis, coordinates_of
from titop.solvers.native.kernel import helper, shared

_START = np.int64(0)


@shared
def write_mass_matrix(ints, floats, law, work, matrix):
    """Write the mass matrix, from known poses, and laws whose M become composite.

    Column k has the efforts along the path to the world of a unit acceleration of coordinate k. What is rigid is turned to the
    axes of the world, each element about its own origin: on their way inwards forces are then only moved.
    """
    if law is None:
        if not _turn_to_world(ints, floats, work):
            matrix[:] = 0.0
        for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
            _rigid_columns(ints, floats, work, i, matrix)
            if ints[i, layout.PARENT] > 0:
                _add_rigid(work, i, ints[i, layout.PARENT])
        return
    matrix[:] = 0.0
    composite_inertias(ints, floats, law, work)
    for i in range(1, ints[0, layout.ELEMENTS]):
        a, b, c = inertia_of(work, i)
        k = ints[i, layout.V]
        for j in range(coordinates_of(ints[i, layout.KIND])):
            force = inertia_times(a, b, c, axis(ints, floats, i, j))
            along_joint(ints, floats, i, force, matrix[k + j], k)
            matrix[k + j, k + j] += floats[i, layout.ARMATURE + j]
            _along_path(ints, floats, law, work, i, force, matrix, k + j)
        if ints[i, layout.LAW] >= 0:
            _own_columns(ints, floats, law, work, i, matrix)


@helper
def _turn_to_world(ints, floats, work):
    """Write every element's pose in its parent, and its rigid body's inertia, in the axes of the world.

    Tell whether each element stands on the one before, so that every entry of the mass matrix is written.
    """
    is_chain = True
    for i in range(1, ints[0, layout.ELEMENTS]):
        p, rotation, position = ints[i, layout.PARENT], matrix_of(work, i, layout.R), three(work, i, layout.P)
        is_chain = is_chain and p == i - 1
        if p > 0:
            rotation = product(matrix_of(work, p, layout.AXES), rotation)
            position = rotate(work, p, layout.AXES, position[0], position[1], position[2])
        put_pose(work, i, layout.AXES, rotation, position)
        x, y, z = three(floats, i, layout.MOMENT)
        work[i, layout.SUBTREE] = floats[i, layout.MASS]
        put_three(work, i, layout.SUBTREE + 1, rotate(work, i, layout.AXES, x, y, z))
        put_six(work, i, layout.SUBTREE + 4, rotate_symmetric(work, i, layout.AXES, six(floats, i, layout.INERTIA)))
    return is_chain


@helper
def _add_rigid(work, i, p):
    """Add the inertia of the subtree of element i to that of its parent p, about whose origin it is then."""
    mass, (hx, hy, hz), (x, y, z) = work[i, layout.SUBTREE], three(work, i, layout.SUBTREE + 1), three(work, i, layout.AXES + 9)
    xx, yy, zz, xy, xz, yz = six(work, i, layout.SUBTREE + 4)
    gx, gy, gz = hx + mass * x, hy + mass * y, hz + mass * z
    px, py, pz = (hx + gx) * x, (hy + gy) * y, (hz + gz) * z
    work[p, layout.SUBTREE] += mass
    add_three(work, p, layout.SUBTREE + 1, (gx, gy, gz))
    moved = xx + py + pz, yy + px + pz, zz + px + py, xy - hx * y - gy * x, xz - hx * z - gz * x, yz - hy * z - gz * y
    add_six(work, p, layout.SUBTREE + 4, moved)


@helper
def _rigid_columns(ints, floats, work, i, matrix):
    """Write rows and columns of the joint of element i, whose subtree is rigid: a unit acceleration, and its force inwards."""
    for j in range(coordinates_of(ints[i, layout.KIND])):
        k, at = ints[i, layout.V] + j, i
        fx, fy, fz, tx, ty, tz = _moved_momentum(ints, floats, work, i, j)
        _along_axes(ints, floats, work, i, (fx, fy, fz, tx, ty, tz), matrix, k)
        matrix[k, k] += floats[i, layout.ARMATURE + j]
        while ints[at, layout.PARENT] > 0 and ints[ints[at, layout.PARENT], layout.LAST] >= 0:  # until nothing moves any more
            x, y, z = cross(work[at, layout.AXES + 9], work[at, layout.AXES + 10], work[at, layout.AXES + 11], fx, fy, fz)
            tx, ty, tz = tx + x, ty + y, tz + z
            at = ints[at, layout.PARENT]
            _along_axes(ints, floats, work, at, (fx, fy, fz, tx, ty, tz), matrix, k)


@helper
def _moved_momentum(ints, floats, work, i, j):
    """Return the momentum of element i's subtree as its joint moves by column j of S, in the axes of the world."""
    along, about, at = floats[i, layout.LINEAR], floats[i, layout.ANGULAR], layout.AXES + 2
    if ints[i, layout.KIND] != layout.AXIAL:
        along, at = 1.0 if ints[i, layout.KIND] == layout.FREE and j < 3 else 0.0, layout.AXES + j % 3
        about = 1.0 - along
    x, y, z = work[i, at], work[i, at + 3], work[i, at + 6]
    if everywhere(along == 0.0):
        return spin_momentum(work, i, layout.SUBTREE, about * x, about * y, about * z)
    return rigid_momentum(work, i, layout.SUBTREE, (along * x, along * y, along * z, about * x, about * y, about * z))


@helper
def _along_axes(ints, floats, work, i, force, matrix, k):
    """Write into row and column k what a force, in the axes of the world, does along the joint of element i."""
    kind, j, (fx, fy, fz, tx, ty, tz) = ints[i, layout.KIND], ints[i, layout.V], force
    if kind == layout.AXIAL:
        x, y, z = work[i, layout.AXES + 2], work[i, layout.AXES + 5], work[i, layout.AXES + 8]
        effort = floats[i, layout.ANGULAR] * (x * tx + y * ty + z * tz)
        if not everywhere(floats[i, layout.LINEAR] == 0.0):
            effort += floats[i, layout.LINEAR] * (x * fx + y * fy + z * fz)
        matrix[k, j] = matrix[j, k] = effort
    elif kind != layout.WELD:
        if kind == layout.FREE:
            put_three(matrix, k, j, rotate_back(work, i, layout.AXES, fx, fy, fz))
        put_three(matrix, k, j + (3 if kind == layout.FREE else 0), rotate_back(work, i, layout.AXES, tx, ty, tz))
        _mirror(matrix, k, j, coordinates_of(kind))


@helper
def composite_inertias(ints, floats, law, work):
    """From the leaves inwards: the inertia of every subtree with all its joints held, into the work rows."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        if ints[i, layout.LAW] < 0:
            put_inertia(work, i, layout.MA, rigid_inertia(floats, i))
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if ints[i, layout.LAW] >= 0:
            take_law(ints, law, i, work)
        p = ints[i, layout.PARENT]
        if p == 0:
            continue
        inertia = inertia_of(work, i)
        a, b, c = carry_inertia(work, i, layout.R, inertia[0], inertia[1], inertia[2])
        if ints[i, layout.PORT] >= 0:
            add_at_port(ints, law, i, p, a, b, c, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
            continue
        put_inertia(work, p, layout.MA, both_inertias(inertia_of(work, p), (a, b, c)))


@helper
def write_momentum_matrix(ints, floats, law, work, world, matrix):
    """Write the matrix (6 x nv) from v to momentum: linear, and angular about the inertial origin.

    From composite inertias and the poses of all elements in the inertial frame (`world`).
    """
    for i in range(1, ints[0, layout.ELEMENTS]):
        a, b, c = inertia_of(work, i)
        for j in range(coordinates_of(ints[i, layout.KIND])):
            put_column(
                matrix, ints[i, layout.V] + j, carry_wrench(world, i, _START, inertia_times(a, b, c, axis(ints, floats, i, j)))
            )
        if law is not None and ints[i, layout.LAW] >= 0:
            for j in range(ints[i, layout.OWN]):
                force = six(law, 0, ints[i, layout.LAW] + (6 + j) * (6 + ints[i, layout.OWN]))
                put_column(matrix, ints[i, layout.OWN_V] + j, carry_wrench(world, i, _START, force))


@helper
def put_column(matrix, k, x):
    """Write column k of a matrix with six rows."""
    for r in range(6):
        matrix[r, k] = x[r]


@helper
def _own_columns(ints, floats, law, work, i, matrix):
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size = 6 + n
    for j in range(n):
        row = o + (6 + j) * size
        for r in range(n):
            matrix[k + j, k + r] += law[0, row + 6 + r]
        force = six(law, 0, row)
        along_joint(ints, floats, i, force, matrix[k + j], ints[i, layout.V])
        _mirror(matrix, k + j, ints[i, layout.V], coordinates_of(ints[i, layout.KIND]))
        _along_path(ints, floats, law, work, i, force, matrix, k + j)


@helper
def _along_path(ints, floats, law, work, i, force, matrix, k):
    """Write row and column k for the joints and general blocks between element i's joint and the world."""
    while ints[i, layout.PARENT] > 0:
        p = ints[i, layout.PARENT]
        force = carry_wrench(work, i, layout.R, force)
        if law is not None and ints[i, layout.PORT] >= 0:
            port_effort(ints, law, i, p, force, matrix[k])
            _mirror(matrix, k, ints[p, layout.OWN_V], ints[p, layout.OWN])
            force = carry_wrench(law, 0, ints[i, layout.PORT], force)
        along_joint(ints, floats, p, force, matrix[k], ints[p, layout.V])
        _mirror(matrix, k, ints[p, layout.V], coordinates_of(ints[p, layout.KIND]))
        i = p


@helper
def _mirror(matrix, k, start, n):
    for j in range(start, start + n):
        matrix[j, k] = matrix[k, j]
