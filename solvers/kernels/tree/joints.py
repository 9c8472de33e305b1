"""Pose and motion of the elementary joints."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.tolerances import TYPED
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, row_at, vector_at
from titop.solvers.kernels.spatial.algebra import cross, plus, put_three, six_of, three, twist_cross, unit
from titop.solvers.kernels.spatial.turning import sine_and_cosine
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT

#: |q|^2 may differ from 1 by this much: the norm by half of it.
_UNIT = 2.0 * TYPED


@helper
def place(ints, floats, i, q, work):
    """Write the pose of element i in its parent into ``work[i]``; return a status."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        _place_axial(floats, i, q[ints[i, layout.Q]], work)
    elif kind == layout.SPHERICAL or kind == layout.FREE:
        at = address_of(floats, i * floats.shape[1]), address_of(work, i * work.shape[1])
        return quaternion_placing((kind == layout.FREE, address_of(q, ints[i, layout.Q]), *at))
    else:
        for k in range(12):
            work[i, layout.R + k] = floats[i, layout.R_TREE + k]
    return layout.OK


@helper
def _place_axial(floats, i, x, work):
    """Rotate the tree transform about its z axis and shift it along."""
    angular, linear = floats[i, layout.ANGULAR], floats[i, layout.LINEAR]
    s, c = (0.0, 1.0) if everywhere(angular == 0.0) else sine_and_cosine(x)
    px, py, pz = three(floats, i, layout.P_TREE)
    put_three(work, i, layout.P, (px, py, pz))
    if not everywhere(linear == 0.0):
        rx, ry, rz = floats[i, layout.R_TREE + 2], floats[i, layout.R_TREE + 5], floats[i, layout.R_TREE + 8]
        put_three(work, i, layout.P, (px + linear * x * rx, py + linear * x * ry, pz + linear * x * rz))
    for k in range(3):
        rx, ry, rz = three(floats, i, layout.R_TREE + 3 * k)
        work[i, layout.R + 3 * k] = c * rx + s * ry
        work[i, layout.R + 3 * k + 1] = c * ry - s * rx
        work[i, layout.R + 3 * k + 2] = rz


@feature(INTEGER, STATE_AT, TABLE_AT, STATE_AT)
def quaternion_placing(free, q, floats, work):
    """Turn an element's tree transform by a quaternion, and shift it by the position before that if its joint is free."""
    own, moved = row_at(floats, layout.FLOAT_COLUMNS), row_at(work, layout.P + 3)
    if free:
        given = vector_at(q, 7)
        return _place_quaternion(own, given, 3, given[0], given[1], given[2], moved)
    return _place_quaternion(own, vector_at(q, 4), 0, 0.0, 0.0, 0.0, moved)


@helper
def _place_quaternion(floats, q, k, px, py, pz, work):
    x, y, z, w = q[k], q[k + 1], q[k + 2], q[k + 3]
    norm = x * x + y * y + z * z + w * w
    if not everywhere(abs(norm - 1.0) <= _UNIT):
        return layout.NOT_UNIT
    s = 2.0 / norm
    xx, yy, zz, xy, xz, yz = s * x * x, s * y * y, s * z * z, s * x * y, s * x * z, s * y * z
    wx, wy, wz = s * w * x, s * w * y, s * w * z
    for k in range(3):
        rx, ry, rz = three(floats, 0, layout.R_TREE + 3 * k)
        work[0, layout.R + 3 * k] = rx * (1.0 - yy - zz) + ry * (xy + wz) + rz * (xz - wy)
        work[0, layout.R + 3 * k + 1] = rx * (xy - wz) + ry * (1.0 - xx - zz) + rz * (yz + wx)
        work[0, layout.R + 3 * k + 2] = rx * (xz + wy) + ry * (yz - wx) + rz * (1.0 - xx - yy)
        work[0, layout.P + k] = floats[0, layout.P_TREE + k] + rx * px + ry * py + rz * pz
    return layout.OK


@helper
def units_hold(ints, q):
    """Return whether the quaternions in q are unit, as a status."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        kind = ints[i, layout.KIND]
        if kind == layout.SPHERICAL or kind == layout.FREE:
            k = ints[i, layout.Q] + (3 if kind == layout.FREE else 0)
            norm = q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3]
            if not everywhere(abs(norm - 1.0) <= _UNIT):
                return layout.NOT_UNIT
    return layout.OK


@helper
def move(ints, floats, i, x, rates, k):
    """Return ``x + S y``: a dual vector with the joint's motion added, y at ``rates[k]``."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        y = rates[k]
        return x[0], x[1], x[2] + floats[i, layout.LINEAR] * y, x[3], x[4], x[5] + floats[i, layout.ANGULAR] * y
    if kind == layout.SPHERICAL:
        return x[0], x[1], x[2], x[3] + rates[k], x[4] + rates[k + 1], x[5] + rates[k + 2]
    if kind == layout.FREE:
        return plus(x, six_of(rates, k))
    return x


@helper
def axis(ints, floats, i, j):
    """Return column j of the motion subspace S of element i's joint."""
    if ints[i, layout.KIND] == layout.AXIAL:
        return 0.0, 0.0, floats[i, layout.LINEAR], 0.0, 0.0, floats[i, layout.ANGULAR]
    return unit(j + 3 if ints[i, layout.KIND] == layout.SPHERICAL else j)


@helper
def coordinates_of(kind):
    """Return the number of coordinates of an elementary joint."""
    return 1 if kind == layout.AXIAL else (3 if kind == layout.SPHERICAL else (6 if kind == layout.FREE else 0))


@helper
def coriolis(ints, floats, i, twist, v, k):
    """Return ``gamma = ad(V) S v`` of element i's joint; S is constant in the element's frame."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        along, about = floats[i, layout.LINEAR] * v[k], floats[i, layout.ANGULAR] * v[k]
        x, y = twist[4] * along + twist[1] * about, -twist[3] * along - twist[0] * about
        return x, y, 0.0, twist[4] * about, -twist[3] * about, 0.0
    if kind == layout.SPHERICAL:
        ax, ay, az = cross(twist[0], twist[1], twist[2], v[k], v[k + 1], v[k + 2])
        bx, by, bz = cross(twist[3], twist[4], twist[5], v[k], v[k + 1], v[k + 2])
        return ax, ay, az, bx, by, bz
    if kind == layout.FREE:
        return twist_cross(twist, six_of(v, k))
    return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@helper
def along_joint(ints, floats, i, w, tau, k):
    """Add ``S^T W`` to the joint's entries of `tau`."""
    kind = ints[i, layout.KIND]
    if kind == layout.AXIAL:
        tau[k] += floats[i, layout.LINEAR] * w[2] + floats[i, layout.ANGULAR] * w[5]
    elif kind == layout.SPHERICAL:
        tau[k] += w[3]
        tau[k + 1] += w[4]
        tau[k + 2] += w[5]
    elif kind == layout.FREE:
        tau[k] += w[0]
        tau[k + 1] += w[1]
        tau[k + 2] += w[2]
        tau[k + 3] += w[3]
        tau[k + 4] += w[4]
        tau[k + 5] += w[5]


@helper
def element_of(ints, coordinate):
    """Return the element to which a coordinate belongs."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        own = coordinate - ints[i, layout.V]
        if own >= 0 and own < coordinates_of(ints[i, layout.KIND]):
            return np.int64(i)
        own = coordinate - ints[i, layout.OWN_V]
        if ints[i, layout.LAW] >= 0 and own >= 0 and own < ints[i, layout.OWN]:
            return np.int64(i)
    return np.int64(0)
