"""What pulls along a line that bodies carry: tendons and chambers in soft rods and in deformable bodies alike; and the latter.

The `numbers` of such a line begin with the sign of the input's tension, stiffness, dissipation, what is drawn in at rest, the
numbers of bodies and of arms, and the arms; the input is the last of them. Those of the lines and cavities in deformable bodies
(`titop.blocks.interactions.soft_tendon`) go on with, for every body, how many points, coordinates and parameters it has, and
how many numbers each point; the parameters, and the points. The table of programs has two rows of one number for every body:
the program of the measure and its derivatives, and that of its second derivatives.

Locals: ``g`` the derivatives of what the line measures by the coordinates, those of the arms last; ``stretch`` by how much it
is longer than without tension.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere, select
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_at, ints_at, part_of
from titop.solvers.kernels.laws.compiled_interactions import interaction_stages
from titop.solvers.kernels.laws.matrices import clear
from titop.solvers.native.kernel import helper

#: Where the arms begin.
ARMS = np.int64(6)


@helper
def bodies_of(numbers):
    """Return through how many bodies the line runs."""
    return np.int64(numbers[0, 4])


@helper
def first_body(numbers):
    """Return where the numbers of the first body begin."""
    return ARMS + np.int64(numbers[0, 5])


@helper
def drawn_in(numbers):
    """Return what is drawn in at rest, less the length there."""
    return numbers[0, 3]


@helper
def is_idle(numbers, motion):
    """Tell whether the line is not pulled and cannot be stretched."""
    return numbers[0, 1] == 0.0 and everywhere(_given_tension(numbers, motion) == 0.0)


@helper
def _given_tension(numbers, motion):
    """Return the tension that the input gives."""
    return numbers[0, 0] * motion[0, motion.shape[1] - 1]


@helper
def taken_in(coordinates, first, numbers, motion):
    """Return what the coordinates from `first` on take in by their arms."""
    total = 0.0
    for k in range(coordinates - first):
        total += numbers[0, ARMS + k] * motion[0, first + k]
    return total


@helper
def write_arms(coordinates, first, numbers, g):
    """Write the arms as the last derivatives, from `first` on."""
    for k in range(coordinates - first):
        g[0, first + k] = numbers[0, ARMS + k]


@helper
def stretching(coordinates, motion, g):
    """Return the rate of the stretch."""
    rate = 0.0
    for j in range(coordinates):
        rate += g[0, j] * motion[0, coordinates + j]
    return rate


@helper
def _elastic(coordinates, numbers, motion, stretch, g):
    """Return the stiffness that acts, none if slack, and the share of its tension that dissipation adds to or takes from."""
    share = 1.0
    for j in range(coordinates):
        share += numbers[0, 2] * g[0, j] * motion[0, coordinates + j]
    return select((stretch > 0.0) & (share > 0.0), numbers[0, 1], 0.0), share


@helper
def pull(coordinates, numbers, motion, stretch, loads):
    """Replace the derivatives g in `loads` by the efforts of the tension."""
    stiffness, share = _elastic(coordinates, numbers, motion, stretch, loads)
    tension = _given_tension(numbers, motion) + stiffness * stretch * share
    for j in range(coordinates):
        loads[0, j] = 0.0 - tension * loads[0, j]


@helper
def stretched_energy(numbers, stretch):
    """``k s^2 / 2`` where a tendon is stretched by s."""
    stretch = max(stretch, 0.0)
    return 0.5 * numbers[0, 1] * (stretch * stretch)


@helper
def curves(coordinates, numbers, motion, stretch, g):
    """Tell whether the second derivatives of the measure matter."""
    stiffness, share = _elastic(coordinates, numbers, motion, stretch, g)
    tension = _given_tension(numbers, motion) + stiffness * stretch * share
    return not everywhere((tension == 0.0) & (stiffness * stretch * numbers[0, 2] == 0.0))


@helper
def pull_slopes(n, numbers, motion, stretch, g, slopes):
    """Replace second derivatives of the measure, in the rows (2 n) of `slopes` for derivatives by q, by those of the efforts.

    Minus tension times the curvature, and minus g times the derivatives of the tension. The latter by coordinates wait in the
    first row's place for derivatives by rates.
    """
    stiffness, share = _elastic(n, numbers, motion, stretch, g)
    tension = _given_tension(numbers, motion) + stiffness * stretch * share
    damping = stiffness * stretch * numbers[0, 2]
    by_coordinates = part_of(slopes, n, (n,))
    if not everywhere(damping == 0.0):
        for i in range(n):
            row, rate = part_of(slopes, i * 2 * n, (n,)), damping * motion[0, n + i]
            for j in range(n):
                by_coordinates[j] += rate * row[j]
    for j in range(n):
        by_coordinates[j] += stiffness * share * g[0, j]
    for i in range(n):
        row, weight = part_of(slopes, i * 2 * n, (n,)), g[0, i]
        for j in range(n):
            row[j] = 0.0 - tension * row[j] - weight * by_coordinates[j]
    for i in range(n):
        row, weight = part_of(slopes, i * 2 * n + n, (n,)), damping * g[0, i]
        for j in range(n):
            row[j] = 0.0 - weight * g[0, j]


# -- lines and cavities in deformable bodies

#: Where parameters begin among the numbers of a body; rows of the table of programs.
_HEAD, MEASURE, CURVATURE = 4, 0, 1


@helper
def _run(numbers, at, program, motion, first, shared, totals):
    """Run a program of the body whose numbers stand at `at`; return a status."""
    points, n, parameters = np.int64(numbers[0, at]), np.int64(numbers[0, at + 1]), np.int64(numbers[0, at + 2])
    for j in range(n):
        shared[0, j] = motion[0, first + j]
    for j in range(parameters):
        shared[0, n + j] = numbers[0, at + _HEAD + j]
    places = address_of(numbers, at + _HEAD + parameters)
    arguments = points, address_of(shared, 0), places, places, address_of(totals, 0)
    return call_at(program, arguments)


@helper
def _next(numbers, at):
    """Return where the numbers of the next body stand."""
    return at + _HEAD + np.int64(numbers[0, at + 2]) + np.int64(numbers[0, at + 3]) * np.int64(numbers[0, at])


@helper
def _programs(stages, numbers):
    """Return address and size of the table of programs."""
    return ints_at(stages, 1, layout.STAGE_COLUMNS)[0, layout.PROGRAMS], 2 * bodies_of(numbers), 1


@helper
def _follow(coordinates, numbers, motion, table, shared, totals, g):
    """Write the derivatives by all coordinates; return a status, and the measure with what is drawn in."""
    at, first, measure, status = first_body(numbers), np.int64(0), drawn_in(numbers), layout.OK
    for body in range(bodies_of(numbers)):
        n = np.int64(numbers[0, at + 1])
        status = min(status, _run(numbers, at, table[2 * body + MEASURE, 0], motion, first, shared, totals))
        measure += totals[0, 0]
        for j in range(n):
            g[0, first + j] = totals[0, 1 + j]
        first += n
        at = _next(numbers, at)
    write_arms(coordinates, first, numbers, g)
    return status, measure + taken_in(coordinates, first, numbers, motion)


@helper
def _add_curvature(coordinates, numbers, motion, table, shared, totals, slopes):
    """Write the second derivatives of the measure into rows of twice as many numbers as coordinates; return a status."""
    at, first, status = first_body(numbers), np.int64(0), layout.OK
    for body in range(bodies_of(numbers)):
        n = np.int64(numbers[0, at + 1])
        status = min(status, _run(numbers, at, table[2 * body + CURVATURE, 0], motion, first, shared, totals))
        for i in range(n):
            for j in range(n):
                slopes[0, (first + i) * 2 * coordinates + first + j] = totals[0, i * n + j]
        first += n
        at = _next(numbers, at)
    return status


def _act(ports, coordinates, inputs, states, stages, numbers, motion, loads):
    if is_idle(numbers, motion):
        clear(loads, 0, coordinates)
        return layout.OK
    shared, totals = np.empty((1, coordinates + numbers.size), motion.dtype), np.empty((1, coordinates + 1), motion.dtype)
    status, stretch = _follow(coordinates, numbers, motion, ints_at(*_programs(stages, numbers)), shared, totals, loads)
    pull(coordinates, numbers, motion, stretch, loads)
    return status


def _slopes(ports, coordinates, inputs, states, stages, numbers, motion, slopes):
    clear(slopes, 0, coordinates * 2 * coordinates)
    if is_idle(numbers, motion):
        return layout.OK
    g, shared = np.empty((1, coordinates), motion.dtype), np.empty((1, coordinates + numbers.size), motion.dtype)
    table, totals = ints_at(*_programs(stages, numbers)), np.empty((1, coordinates * coordinates + 1), motion.dtype)
    status, stretch = _follow(coordinates, numbers, motion, table, shared, totals, g)
    if curves(coordinates, numbers, motion, stretch, g):
        status = min(status, _add_curvature(coordinates, numbers, motion, table, shared, totals, slopes))
    pull_slopes(coordinates, numbers, motion, stretch, g, slopes)
    return status


def _stored(ports, coordinates, inputs, states, stages, numbers, motion, energy):
    g, shared = np.empty((1, coordinates), motion.dtype), np.empty((1, coordinates + numbers.size), motion.dtype)
    totals = np.empty((1, coordinates + 1), motion.dtype)
    status, stretch = _follow(coordinates, numbers, motion, ints_at(*_programs(stages, numbers)), shared, totals, g)
    energy[0, 0] = stretched_energy(numbers, stretch)
    return status


def _gap(ports, coordinates, inputs, states, stages, numbers, motion, gap):
    g, shared = np.empty((1, coordinates), motion.dtype), np.empty((1, coordinates + numbers.size), motion.dtype)
    totals = np.empty((1, coordinates + 1), motion.dtype)
    status, gap[0, 0] = _follow(coordinates, numbers, motion, ints_at(*_programs(stages, numbers)), shared, totals, g)
    gap[0, 1] = stretching(coordinates, motion, g)
    return status


LINE = interaction_stages("soft_line", _act, _stored, _slopes, _gap, is_whole=True)
