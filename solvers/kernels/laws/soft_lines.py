"""The compiled kind of lines and cavities in deformable bodies: `titop.blocks.interactions.soft_line` for kernels.

`numbers` are, in order: the sign of what the input does, and the number of bodies; for every body the numbers of points, of
coordinates and of parameters, the parameters, and seven numbers of each point; the input. The table of programs has two rows of
one number for every body: the program of the measure and its derivatives, and that of its second derivatives.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.layout import MOTION_SIZE, OK, PROGRAMS, STAGE_COLUMNS
from titop.solvers.kernels.interface.stages import INTERACTION_ARGUMENTS, address_of, call_at, ints_at, row_at
from titop.solvers.kernels.laws.compiled_interactions import InteractionStages
from titop.solvers.native.kernel import Stage, helper

_BODIES, _FIRST, _HEAD, _POINT = 1, 2, 3, 7
MEASURE, CURVATURE = 0, 1


@helper
def _run(numbers, at, which, body, table, motion, first, shared, totals, to):
    """Run a program of the body whose numbers stand at `at`; return a status."""
    points, n, parameters = np.int64(numbers[0, at]), np.int64(numbers[0, at + 1]), np.int64(numbers[0, at + 2])
    for j in range(n):
        shared[0, j] = motion[0, first + j]
    for j in range(parameters):
        shared[0, n + j] = numbers[0, at + _HEAD + j]
    places = address_of(numbers, at + _HEAD + parameters)
    arguments = points, address_of(shared, 0), places, places, address_of(totals, to)
    return call_at(table[2 * body + which, 0], arguments)


@helper
def _next(numbers, at):
    """Return where the numbers of the next body stand."""
    return at + _HEAD + np.int64(numbers[0, at + 2]) + _POINT * np.int64(numbers[0, at])


@helper
def _programs(stages):
    """Return the address of the table of programs."""
    return ints_at(stages, 1, STAGE_COLUMNS)[0, PROGRAMS]


def _act(ports, coordinates, inputs, count, stages, numbers, motion, loads):
    own, told = row_at(numbers, count), row_at(motion, MOTION_SIZE * ports + 2 * coordinates)
    result, table = row_at(loads, 6 * ports + coordinates), ints_at(_programs(stages), 2 * np.int64(own[0, _BODIES]), 1)
    shared, totals = np.empty((1, coordinates + count)), np.empty((1, coordinates + 1))
    at, first, status = np.int64(_FIRST), np.int64(0), OK
    for body in range(np.int64(own[0, _BODIES])):
        n = np.int64(own[0, at + 1])
        status = min(status, _run(own, at, MEASURE, body, table, told, first, shared, totals, 0))
        for j in range(n):
            result[0, first + j] = own[0, 0] * own[0, count - 1] * totals[0, 1 + j]
        first += n
        at = _next(own, at)
    return status


def _slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
    own, told = row_at(numbers, count), row_at(motion, MOTION_SIZE * ports + 2 * coordinates)
    result, width = row_at(slopes, coordinates * 2 * coordinates), 2 * coordinates
    table = ints_at(_programs(stages), 2 * np.int64(own[0, _BODIES]), 1)
    shared, totals = np.empty((1, coordinates + count)), np.empty((1, coordinates * coordinates + 1))
    for k in range(coordinates * width):
        result[0, k] = 0.0
    at, first, status = np.int64(_FIRST), np.int64(0), OK
    for body in range(np.int64(own[0, _BODIES])):
        n = np.int64(own[0, at + 1])
        status = min(status, _run(own, at, CURVATURE, body, table, told, first, shared, totals, 0))
        for i in range(n):
            for j in range(n):
                result[0, (first + i) * width + first + j] = own[0, 0] * own[0, count - 1] * totals[0, i * n + j]
        first += n
        at = _next(own, at)
    return status


def _stored(ports, coordinates, inputs, count, stages, numbers, motion, energy):
    row_at(energy, 1)[0, 0] = 0.0
    return OK


LINE = InteractionStages(
    Stage("soft_line_act", _act, INTERACTION_ARGUMENTS),
    Stage("soft_line_act_slopes", _slopes, INTERACTION_ARGUMENTS),
    Stage("soft_line_stored", _stored, INTERACTION_ARGUMENTS),
)
