"""The points of a deformable body: where its numbers stand, how its programs are called, and sums over its points.

The numbers, in one row: how many points and parameters there are; the parameters; of each point its place x, volume and mass.
The room: what all points share in programs (q, v, a, twist, acceleration, parameters), the force on each point, and its p, u
and b (see `titop.blocks.bodies.soft.law_programs`).

A point that stands at p in the frame of the parent port, whose twist is [V; w] and acceleration [A; alpha], and moves there
by u and b, is accelerated by ``A + alpha x p + b + w x (V + w x p + 2 u)``.
"""

from __future__ import annotations

from titop.blocks.laws.vectors import cross3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_at, ints_at
from titop.solvers.kernels.laws.matrices import column_of_three, three_at
from titop.solvers.native.kernel import helper

# -- programs, in their order in `titop.blocks.bodies.soft.law_programs.LawPrograms.in_order`
MOTION = 0
COLUMNS = 1
EFFORTS = 2
BENDS = 3
STORED = 4
RESISTANCE = 5
RESISTANCE_SLOPES = 6
PORT_COLUMNS = 7
PORT_SLOPES = 8

# -- numbers
_PARAMETERS = 2
POINT_SIZE = 5
POINT_MASS = 4

# -- results of programs
MOTION_SIZE = 9
PORT_RATE = 12
PORT_SUBSPACE = 18


@helper
def points_of(numbers):
    return int(numbers[0, 0])


@helper
def points_at(numbers):
    """Return where the points stand."""
    return _PARAMETERS + int(numbers[0, 1])


@helper
def mass_of(numbers, k):
    """Return the mass of a point."""
    return numbers[0, points_at(numbers) + POINT_SIZE * k + POINT_MASS]


@helper
def forces_at(n, numbers):
    """Return where the forces stand in the room, behind what all points share; the points' motion follows."""
    return 3 * n + 12 + int(numbers[0, 1])


@helper
def motion_at(n, numbers):
    """Return where the points' motion stands in the room."""
    return forces_at(n, numbers) + 3 * points_of(numbers)


@helper
def kept_size(block):
    """Return how many numbers the room has."""
    return motion_at(block.n, block.numbers) + MOTION_SIZE * points_of(block.numbers)


def room_of(n, ports, numbers):
    """Return how many numbers the room has at most."""
    return 3 * n + 12 + len(numbers) + (3 + MOTION_SIZE) * (len(numbers) // POINT_SIZE)


@helper
def write_shared(n, numbers, q, v, twist, kept):
    """Write what all points share, at rates whose change is zero."""
    a, at_parent = 2 * n, 3 * n
    for j in range(n):
        kept[0, j], kept[0, n + j], kept[0, a + j] = q[j], v[j], 0.0
    for j in range(6):
        kept[0, at_parent + j], kept[0, at_parent + 6 + j] = twist[j], 0.0
    for j in range(int(numbers[0, 1])):
        kept[0, at_parent + 12 + j] = numbers[0, _PARAMETERS + j]


@helper
def write_rates(block, kept):
    """Write accelerations among what all points share."""
    for j in range(block.n):
        kept[0, 2 * block.n + j] = block.a[j]
    for j in range(6):
        kept[0, 3 * block.n + 6 + j] = block.acceleration[j]


@helper
def run(block, program, count, kept, loads, first_load, results, first_result):
    """Run a program of the body's for as many points, with loads from ``loads[0, first_load]``; return a status."""
    places, points = ints_at(block.stages, 1, layout.STAGE_COLUMNS), address_of(block.numbers, points_at(block.numbers))
    arguments = count, address_of(kept, 0), points, address_of(loads, first_load), address_of(results, first_result)
    return call_at(places[0, layout.PROGRAMS + program], arguments)


# -- sums over the points


@helper
def acceleration_of(p, u, b, twist, rate):
    """Return the acceleration of a point."""
    w = twist[3], twist[4], twist[5]
    turned = cross3(w, p)
    c = twist[0] + turned[0] + 2.0 * u[0], twist[1] + turned[1] + 2.0 * u[1], twist[2] + turned[2] + 2.0 * u[2]
    spun, swept = cross3(w, c), cross3((rate[3], rate[4], rate[5]), p)
    return (rate[0] + swept[0] + b[0] + spun[0], rate[1] + swept[1] + b[1] + spun[1], rate[2] + swept[2] + b[2] + spun[2])


@helper
def write_forces(block, kept):
    """Write the forces that accelerate the points into the room; return their wrench on the parent port."""
    numbers, f0, f1, f2, t0, t1, t2 = block.numbers, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    forces, motion = forces_at(block.n, numbers), motion_at(block.n, numbers)
    for k in range(points_of(numbers)):
        o, mass = motion + MOTION_SIZE * k, mass_of(numbers, k)
        p = three_at(kept, o)
        x, y, z = acceleration_of(p, three_at(kept, o + 3), three_at(kept, o + 6), block.twist, block.acceleration)
        force = mass * x, mass * y, mass * z
        torque = cross3(p, force)
        for r in range(3):
            kept[0, forces + 3 * k + r] = force[r]
        f0, f1, f2 = f0 + force[0], f1 + force[1], f2 + force[2]
        t0, t1, t2 = t0 + torque[0], t1 + torque[1], t2 + torque[2]
    return f0, f1, f2, t0, t1, t2


@helper
def add_inertia(n, size, mass, t, p, J, record):
    """Add to M the inertia of a point at p whose matrix J (3 x n) stands at ``t[0, J]``."""
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
        x, y, z = column_of_three(t, J, n, j)
        moved = mass * x, mass * y, mass * z
        turned = cross3(p, moved)
        for r in range(3):
            _put_both(record, size, r, 6 + j, moved[r])
            _put_both(record, size, 3 + r, 6 + j, turned[r])
        row = (6 + j) * size + 6
        for i in range(n):
            x, y, z = column_of_three(t, J, n, i)
            record[0, row + i] += moved[0] * x + moved[1] * y + moved[2] * z


@helper
def _put_both(record, size, r, c, value):
    record[0, r * size + c] += value
    record[0, c * size + r] += value


@helper
def add_pulled_force(n, t, J, force, record, o):
    """Add ``J^T f`` to ``record[0]`` from `o`."""
    for j in range(n):
        x, y, z = column_of_three(t, J, n, j)
        record[0, o + j] += x * force[0] + y * force[1] + z * force[2]
