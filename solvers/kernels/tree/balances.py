"""Energy, momentum and mass of a system, summed over its blocks."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.spatial.algebra import (
    add_three,
    column_of,
    dot,
    plus,
    put_six,
    rigid_momentum,
    rotate,
    rows_times,
    scaled,
    six,
    three,
)
from titop.solvers.kernels.tree.joints import coordinates_of
from titop.solvers.native.kernel import helper


@helper
def add_energy(ints, floats, law, v, work, world, result):
    """Add the kinetic energy of every block and armature to ``result[0]``, gravity energy to ``result[1]``."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        twist = six(work, i, layout.TWIST)
        momentum = block_momentum(ints, floats, law, i, v, twist)
        result[0] += 0.5 * dot(momentum, twist)
        if law is not None and ints[i, layout.LAW] >= 0:
            result[0] += 0.5 * _own_energy(ints, law, i, v, twist)
        for j in range(coordinates_of(ints[i, layout.KIND])):
            rate = v[ints[i, layout.V] + j]
            result[0] += 0.5 * floats[i, layout.ARMATURE + j] * rate * rate
        mass, x, y, z = mass_and_moment(ints, floats, law, i)
        cx, cy, cz = rotate(world, i, 0, x, y, z)
        result[1] -= floats[0, layout.GRAVITY] * (mass * world[i, 9] + cx)
        result[1] -= floats[0, layout.GRAVITY + 1] * (mass * world[i, 10] + cy)
        result[1] -= floats[0, layout.GRAVITY + 2] * (mass * world[i, 11] + cz)


@helper
def block_momentum(ints, floats, law, i, v, twist):
    """Return ``(M [V; v])_P`` of element i's block."""
    if law is not None and ints[i, layout.LAW] >= 0:
        return _general_momentum(ints, law, i, v, twist)
    return rigid_momentum(floats, i, layout.MASS, twist)


@helper
def _general_momentum(ints, law, i, v, twist):
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    total = rows_times(law, 0, o, 6 + n, twist)
    for j in range(n):
        total = plus(total, scaled(v[k + j], column_of(law, o, 6 + n, 6 + j)))
    return total


@helper
def _own_energy(ints, law, i, v, twist):
    """Return ``v^T (M [V; v])_q``."""
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size, total = 6 + n, 0.0
    for r in range(n):
        row = o + (6 + r) * size
        rate = dot(six(law, 0, row), twist)
        for j in range(n):
            rate += law[0, row + 6 + j] * v[k + j]
        total += rate * v[k + r]
    return total


@helper
def mass_and_moment(ints, floats, law, i):
    """Return mass (kg) and first moment (kg m) of element i's block, in its frame; see `titop.blocks.contract.description`."""
    if law is not None and ints[i, layout.LAW] >= 0:
        o, n = ints[i, layout.LAW], 6 + ints[i, layout.OWN]
        return (
            (law[0, o] + law[0, o + n + 1] + law[0, o + 2 * n + 2]) / 3.0,
            0.5 * (law[0, o + 5 * n + 1] - law[0, o + 4 * n + 2]),
            0.5 * (law[0, o + 3 * n + 2] - law[0, o + 5 * n]),
            0.5 * (law[0, o + 4 * n] - law[0, o + 3 * n + 1]),
        )
    return floats[i, layout.MASS], floats[i, layout.MOMENT], floats[i, layout.MOMENT + 1], floats[i, layout.MOMENT + 2]


@helper
def add_momentum(ints, floats, law, v, work, world, result):
    """Add linear and angular momentum about the inertial origin, in inertial axes, to `result` (6)."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        momentum = block_momentum(ints, floats, law, i, v, six(work, i, layout.TWIST))
        lx, ly, lz = rotate(world, i, 0, momentum[0], momentum[1], momentum[2])
        ax, ay, az = rotate(world, i, 0, momentum[3], momentum[4], momentum[5])
        x, y, z = world[i, 9], world[i, 10], world[i, 11]
        result[0] += lx
        result[1] += ly
        result[2] += lz
        result[3] += ax + y * lz - z * ly
        result[4] += ay + z * lx - x * lz
        result[5] += az + x * ly - y * lx


@helper
def add_mass(ints, floats, law, work, result):
    """Add first moment in the inertial frame (3) and mass to `result` (4), summed from the leaves inwards."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        mass, x, y, z = mass_and_moment(ints, floats, law, i)
        put_six(work, i, layout.BIAS, (mass, x, y, z, 0.0, 0.0))
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        mass, moment = _carried_moment(work, i, layout.R, work[i, layout.BIAS], three(work, i, layout.BIAS + 1))
        if law is not None and ints[i, layout.PORT] >= 0:
            mass, moment = _carried_moment(law, 0, ints[i, layout.PORT], mass, moment)
        p = ints[i, layout.PARENT]
        if p == 0:
            result[0] += moment[0]
            result[1] += moment[1]
            result[2] += moment[2]
            result[3] += mass
            continue
        work[p, layout.BIAS] += mass
        add_three(work, p, layout.BIAS + 1, moment)


@helper
def _carried_moment(t, i, o, mass, moment):
    """Return a mass and its first moment at the parent; the pose stands at ``t[i, o]``."""
    x, y, z = rotate(t, i, o, moment[0], moment[1], moment[2])
    return mass, (x + mass * t[i, o + 9], y + mass * t[i, o + 10], z + mass * t[i, o + 11])
