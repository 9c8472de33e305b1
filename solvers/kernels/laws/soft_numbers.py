"""Where the numbers of a deformable body stand, what its stages keep, and how they call its programs.

The numbers, in one row: how many points and parameters there are; the parameters; of each point its place x, volume and mass.
The room: what all points share in programs (q, v, a, twist, acceleration, parameters), the force on each point, and its p, u
and b (see `titop.blocks.bodies.soft.law_programs`).
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_at, ints_at
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
def shared_size(n, numbers):
    """Return how many numbers all points share."""
    return 3 * n + 12 + int(numbers[0, 1])


@helper
def forces_at(n, numbers):
    """Return where the forces stand in the room; the points' motion follows."""
    return shared_size(n, numbers)


@helper
def motion_at(n, numbers):
    """Return where the points' motion stands in the room."""
    return forces_at(n, numbers) + 3 * points_of(numbers)


@helper
def kept_size(n, numbers):
    """Return how many numbers the room has."""
    return motion_at(n, numbers) + MOTION_SIZE * points_of(numbers)


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
def write_rates(n, a, acceleration, kept):
    """Write accelerations among what all points share."""
    for j in range(n):
        kept[0, 2 * n + j] = a[j]
    for j in range(6):
        kept[0, 3 * n + 6 + j] = acceleration[j]


@helper
def run(stages, program, count, numbers, kept, loads, first_load, results, first_result):
    """Run a program of the body's for as many points, with loads from ``loads[0, first_load]``; return a status."""
    places = ints_at(stages, 1, layout.STAGE_COLUMNS)
    arguments = (
        count,
        address_of(kept, 0),
        address_of(numbers, points_at(numbers)),
        address_of(loads, first_load),
        address_of(results, first_result),
    )
    return call_at(places[0, layout.PROGRAMS + program], arguments)
