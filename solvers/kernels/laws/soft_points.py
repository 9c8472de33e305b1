"""The points of a deformable body: where its numbers stand, and how its programs are called.

The numbers, in one row: how many points and parameters there are; the parameters; of each point its place x, volume and mass.
The room: what all points share in programs (q, v, a, twist, acceleration, parameters; see
`titop.blocks.bodies.soft.law_programs`).
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_at, ints_at
from titop.solvers.kernels.laws.matrices import column_of_three
from titop.solvers.native.kernel import helper

# -- programs, in their order in `titop.blocks.bodies.soft.law_programs.LawPrograms.ORDER`
COLUMNS = 0
BENDS = 1
TERMS = 2
INERTIA = 3
EFFORTS = 4
INERTIAL_EFFORTS = 5
SLOPES = 6
RESISTANCE_SLOPES = 7
STORED = 8
PORT_COLUMNS = 9
PORT_SLOPES = 10

# -- numbers
_PARAMETERS = 2

# -- results of programs
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
def kept_size(block):
    """Return how many numbers the room has."""
    return 3 * block.n + 12 + int(block.numbers[0, 1])


def room_of(n, ports, numbers):
    """Return how many numbers the room has at most."""
    return 3 * n + 12 + len(numbers)


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
def run(block, program, count, kept, loads, results, first):
    """Run a program of the body's for as many points, which `loads` act on, for ``results[0, first]`` on; return a status."""
    places, points = ints_at(block.stages, 1, layout.STAGE_COLUMNS), address_of(block.numbers, points_at(block.numbers))
    arguments = count, address_of(kept, 0), points, address_of(loads, 0), address_of(results, first)
    return call_at(places[0, layout.PROGRAMS + program], arguments)


@helper
def put_inertia(size, totals, o, record):
    """Write M from the upper half of its rows, at ``totals[0, o]``."""
    k = o
    for r in range(size):
        for c in range(r, size):
            record[0, r * size + c] = record[0, c * size + r] = totals[0, k]
            k += 1


@helper
def add_pulled_force(n, t, J, force, record, o):
    """Add ``J^T f`` to ``record[0]`` from `o`."""
    for j in range(n):
        x, y, z = column_of_three(t, J, n, j)
        record[0, o + j] += x * force[0] + y * force[1] + z * force[2]
