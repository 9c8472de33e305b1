"""Where the numbers of a rod stand, and what its stages keep of its points and steps.

The numbers of a rod with n coordinates on m intervals between points, in one row: m; where the points' whole inertias stand,
and what a fluid does, zero for none; the strain component of each coordinate, 0 to 5 in [k; s]; each interval's step; each
point's inertia: mass and moments about the axes of the section; stiffness and damping (n x n each); of each port the point
before it, the step from there, and how the port stands there (rotation, position). Then, where they are, the whole inertias
(6 x 6 each), in place of mass and moments, and of a fluid its current (3), whether it presses more than at rest in still fluid,
and of each point what `DISPLACED` to `SPINNING` say.

A *step*: length, reference strains [k; s] at the two places of collocation, there the coordinates' shapes (n each). Steps of
intervals come first, those of ports follow. Each ends in a *place*: place 0 is the base, place k + 1 the end of step k.
"""

from __future__ import annotations

from collections import namedtuple

from titop.solvers.kernels.interface.records import is_used
from titop.solvers.kernels.spatial.algebra import put_six, six
from titop.solvers.native.kernel import helper

#: Where it stands where these stand.
_WHOLE, _FLUID = 1, 2

#: Where the coordinates' components stand.
COMPONENTS = 3

# -- numbers of a step
REFERENCE = 1  # two strains
SHAPES = 13

# -- numbers of what a fluid does
CURRENT = 0
IS_MOVING = 3
_POINTS = 4

# -- and of each point of it
DISPLACED = 0  # mass, and first moment, of the fluid whose place the section takes
ADDED = 4  # inertia of the fluid that it moves along (6 x 6)
QUADRATIC = 40  # drag and lift by the speed (6 x 6)
LINEAR = 76  # drag without it (6 x 6)
SPINNING = 112  # moments by the angular speed (3 x 3)
_POINT = 121

# -- kept of a place
TWIST = 12  # behind the pose at the base
RATE = 18  # acceleration less gravity's
WRENCH = 24  # on all that lies beyond, and on the point itself
_PLACE = 30

# -- kept of a step
STRAINS = 12  # behind its displacement as a pose: the two strains, their first and their second rates, in [k; s]
OMEGA = 48  # logarithm of the displacement
OMEGA_RATE = 54
OMEGA_SECOND = 60
PRESSURES = 66  # what presses on the two strains, in [k; s]
TERMS = 78  # `expansion` of Omega
_STEP = 90


#: How many coordinates, intervals and ports a rod has, bits for the ports in use, its numbers, and what is kept of it.
Rod = namedtuple("Rod", "n intervals ports used numbers kept")


@helper
def intervals_of(numbers):
    return int(numbers[0, 0])


@helper
def run_end(n, components, j):
    """Return the first coordinate behind j that moves another component, n if there is none."""
    end = j + 1
    while end < n and components[end] == components[j]:
        end += 1
    return end


@helper
def put_terms(kept, here, terms):
    """Write the `expansion` of a step's Omega."""
    b, c, db, dc, ddb, ddc = terms
    put_six(kept, 0, here + TERMS, (*b, *c, *db))
    put_six(kept, 0, here + TERMS + 6, (*dc, *ddb, *ddc))


@helper
def terms_at(kept, here):
    """Return the `expansion` of a step's Omega."""
    (b, b_e, c, c_e, db, db_e), (dc, dc_e, ddb, ddb_e, ddc, ddc_e) = six(kept, 0, here + TERMS), six(kept, 0, here + TERMS + 6)
    return (b, b_e), (c, c_e), (db, db_e), (dc, dc_e), (ddb, ddb_e), (ddc, ddc_e)


@helper
def turns(rod, j):
    """Tell whether coordinate j turns sections; else it only shifts them."""
    return rod.numbers[0, COMPONENTS + j] < 3.0


@helper
def _step_size(n):
    return SHAPES + 2 * n


@helper
def inertia_at(n, intervals):
    """Return where the points' inertias stand."""
    return COMPONENTS + n + intervals * _step_size(n)


@helper
def stiffness_at(n, intervals):
    """Return where the stiffness stands; the damping follows."""
    return inertia_at(n, intervals) + 4 * (intervals + 1)


@helper
def whole_at(numbers, i):
    """Return where the whole inertia of point i stands, zero if it has none but mass and moments."""
    start = int(numbers[0, _WHOLE])
    return start + 36 * i if start > 0 else 0


@helper
def fluid_at(numbers):
    """Return where stands what a fluid does."""
    return int(numbers[0, _FLUID])


@helper
def fluid_point_at(fluid, i):
    """Return where stands what it does to point i."""
    return fluid + _POINTS + _POINT * i


@helper
def _port_at(n, intervals, p):
    return stiffness_at(n, intervals) + 2 * n * n + p * (_step_size(n) + SHAPES)


@helper
def mounting_at(rod, p):
    """Return where the p-th port stands at the end of its step."""
    return _port_at(rod.n, rod.intervals, p) + 1 + _step_size(rod.n)


@helper
def has_step(rod, k):
    """Tell whether step k is one of an interval or leads to a port in use."""
    return k < rod.intervals or is_used(rod.used, k - rod.intervals)


@helper
def step_at(rod, k):
    """Return where step k stands."""
    if k < rod.intervals:
        return COMPONENTS + rod.n + k * _step_size(rod.n)
    return _port_at(rod.n, rod.intervals, k - rod.intervals) + 1


@helper
def start_of(rod, k):
    """Return the place at which step k begins."""
    if k < rod.intervals:
        return k
    return int(rod.numbers[0, _port_at(rod.n, rod.intervals, k - rod.intervals)])


@helper
def kept_place(i):
    """Return where what is kept of a place begins."""
    return i * _PLACE


@helper
def kept_step(rod, k):
    """Return where what is kept of a step begins."""
    return (rod.intervals + 1 + rod.ports) * _PLACE + k * _STEP


@helper
def kept_size(intervals, ports):
    """Return how many numbers are kept."""
    return (intervals + 1 + ports) * _PLACE + (intervals + ports) * _STEP


def room_of(n, ports, numbers):
    """Return `kept_size` of a rod with these numbers."""
    return kept_size(int(numbers[0]), ports)
