"""Where the numbers of a rod stand, and what its stages keep of its points and steps.

The numbers of a rod with n coordinates on m intervals between points, in one row: m; the strain component of each coordinate,
0 to 5 in [k; s]; each interval's step; each point's inertia: mass and moments about the axes of the section; stiffness and
damping (n x n each); of each port the point before it, the step from there, and how the port stands there (rotation, position);
the part of its weight that a fluid bears.

A *step*: length, reference strains [k; s] at the two places of collocation, there the coordinates' shapes (n each). Steps of
intervals come first, those of ports follow. Each ends in a *place*: place 0 is the base, place k + 1 the end of step k.
"""

from __future__ import annotations

from titop.solvers.native.kernel import helper

#: Where the coordinates' components stand.
COMPONENTS = 1

# -- numbers of a step
REFERENCE = 1  # two strains
SHAPES = 13

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
_STEP = 78


@helper
def intervals_of(numbers):
    return int(numbers[0, 0])


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
def _port_at(n, intervals, p):
    return stiffness_at(n, intervals) + 2 * n * n + p * (_step_size(n) + SHAPES)


@helper
def mounting_at(n, intervals, p):
    """Return where the p-th port stands at the end of its step."""
    return _port_at(n, intervals, p) + 1 + _step_size(n)


@helper
def step_at(n, intervals, k):
    """Return where step k stands."""
    if k < intervals:
        return COMPONENTS + n + k * _step_size(n)
    return _port_at(n, intervals, k - intervals) + 1


@helper
def start_of(n, intervals, numbers, k):
    """Return the place at which step k begins."""
    if k < intervals:
        return k
    return int(numbers[0, _port_at(n, intervals, k - intervals)])


@helper
def kept_place(i):
    """Return where what is kept of a place begins."""
    return i * _PLACE


@helper
def kept_step(intervals, ports, k):
    """Return where what is kept of a step begins."""
    return (intervals + 1 + ports) * _PLACE + k * _STEP


@helper
def kept_size(intervals, ports):
    """Return how many numbers are kept."""
    return kept_step(intervals, ports, intervals + ports)


@helper
def room_of(n, ports, number_count):
    """Return `kept_size`, from how many numbers a rod has; the last of them leaves less than an interval's."""
    step = _step_size(n)
    rest = number_count - COMPONENTS - n - 4 - 2 * n * n - ports * (step + SHAPES)
    return kept_size(rest // (step + 4), ports)
