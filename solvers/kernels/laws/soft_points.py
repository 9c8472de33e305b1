"""Sums over the points of a deformable body: what moves them, and the inertia that they have.

A point that stands at p in the frame of the parent port, whose twist is [V; w] and acceleration [A; alpha], and moves there
by u and b, is accelerated by ``A + alpha x p + b + w x (V + w x p + 2 u)``.
"""

from __future__ import annotations

from titop.blocks.laws.vectors import cross3
from titop.solvers.kernels.laws.soft_numbers import MOTION_SIZE, forces_at, mass_of, motion_at, points_of
from titop.solvers.native.kernel import helper


@helper
def place_at(t, o):
    """Return three numbers at ``t[0, o]``."""
    return t[0, o], t[0, o + 1], t[0, o + 2]


@helper
def acceleration_of(p, u, b, twist, rate):
    """Return the acceleration of a point."""
    w = twist[3], twist[4], twist[5]
    turned = cross3(w, p)
    c = twist[0] + turned[0] + 2.0 * u[0], twist[1] + turned[1] + 2.0 * u[1], twist[2] + turned[2] + 2.0 * u[2]
    spun, swept = cross3(w, c), cross3((rate[3], rate[4], rate[5]), p)
    return (
        rate[0] + swept[0] + b[0] + spun[0],
        rate[1] + swept[1] + b[1] + spun[1],
        rate[2] + swept[2] + b[2] + spun[2],
    )


@helper
def write_forces(n, numbers, twist, rate, kept):
    """Write the forces that accelerate the points into the room; return their wrench on the parent port."""
    f0 = f1 = f2 = t0 = t1 = t2 = 0.0
    forces, motion = forces_at(n, numbers), motion_at(n, numbers)
    for k in range(points_of(numbers)):
        o, mass = motion + MOTION_SIZE * k, mass_of(numbers, k)
        p = place_at(kept, o)
        x, y, z = acceleration_of(p, place_at(kept, o + 3), place_at(kept, o + 6), twist, rate)
        force = mass * x, mass * y, mass * z
        torque = cross3(p, force)
        for r in range(3):
            kept[0, forces + 3 * k + r] = force[r]
        f0, f1, f2 = f0 + force[0], f1 + force[1], f2 + force[2]
        t0, t1, t2 = t0 + torque[0], t1 + torque[1], t2 + torque[2]
    return f0, f1, f2, t0, t1, t2


@helper
def add_inertia(n, size, mass, t, o, p, column_at, record):
    """Add to M the inertia of a point at p whose columns J (3 x n) stand at ``t[0, column_at]``."""
    x, y, z = p
    for r in range(3):
        record[0, r * size + r] += mass
    _put_both(record, size, 0, 4, mass * z)
    _put_both(record, size, 0, 5, -mass * y)
    _put_both(record, size, 1, 3, -mass * z)
    _put_both(record, size, 1, 5, mass * x)
    _put_both(record, size, 2, 3, mass * y)
    _put_both(record, size, 2, 4, -mass * x)
    record[0, 3 * size + 3] += mass * (y * y + z * z)
    record[0, 4 * size + 4] += mass * (x * x + z * z)
    record[0, 5 * size + 5] += mass * (x * x + y * y)
    _put_both(record, size, 3, 4, -mass * x * y)
    _put_both(record, size, 3, 5, -mass * x * z)
    _put_both(record, size, 4, 5, -mass * y * z)
    for j in range(n):
        moved = mass * t[0, column_at + j], mass * t[0, column_at + n + j], mass * t[0, column_at + 2 * n + j]
        turned = cross3(p, moved)
        for r in range(3):
            _put_both(record, size, r, 6 + j, moved[r])
            _put_both(record, size, 3 + r, 6 + j, turned[r])
        row = (6 + j) * size + 6
        for i in range(n):
            record[0, row + i] += (
                moved[0] * t[0, column_at + i] + moved[1] * t[0, column_at + n + i] + moved[2] * t[0, column_at + 2 * n + i]
            )


@helper
def _put_both(record, size, r, c, value):
    record[0, r * size + c] += value
    record[0, c * size + r] += value


@helper
def add_pulled_force(n, t, column_at, force, record, o):
    """Add ``J^T f`` to ``record[0]`` from `o`."""
    for j in range(n):
        record[0, o + j] += (
            t[0, column_at + j] * force[0] + t[0, column_at + n + j] * force[1] + t[0, column_at + 2 * n + j] * force[2]
        )
