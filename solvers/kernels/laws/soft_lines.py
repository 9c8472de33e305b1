"""The compiled kind of lines and cavities in deformable bodies: `titop.blocks.interactions.soft_line` for kernels.

`numbers` are, in order: those of `line_tension`; for every body how many points, coordinates and parameters it has,
and how many numbers each point; the parameters, and the points; the input. The table of programs has two rows of one number for
every body: the program of the measure and its derivatives, and that of its second derivatives.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import INTERACTION_ARGUMENTS, address_of, call_at, ints_at, row_at
from titop.solvers.kernels.laws.compiled_interactions import InteractionStages
from titop.solvers.kernels.laws.line_tension import (
    bodies_of,
    curves,
    drawn_in,
    first_body,
    is_idle,
    pull,
    pull_slopes,
    stretched_energy,
    stretching,
    taken_in,
    write_arms,
)
from titop.solvers.native.kernel import Stage, helper

_HEAD = 4
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
    return at + _HEAD + np.int64(numbers[0, at + 2]) + np.int64(numbers[0, at + 3]) * np.int64(numbers[0, at])


@helper
def _programs(stages):
    """Return the address of the table of programs."""
    return ints_at(stages, 1, layout.STAGE_COLUMNS)[0, layout.PROGRAMS]


@helper
def _follow(coordinates, numbers, motion, table, shared, totals, g):
    """Write the derivatives by all coordinates; return a status, and the measure with what is drawn in."""
    at, first, measure, status = first_body(numbers), np.int64(0), drawn_in(numbers), layout.OK
    for body in range(bodies_of(numbers)):
        n = np.int64(numbers[0, at + 1])
        status = min(status, _run(numbers, at, MEASURE, body, table, motion, first, shared, totals, 0))
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
        status = min(status, _run(numbers, at, CURVATURE, body, table, motion, first, shared, totals, 0))
        for i in range(n):
            for j in range(n):
                slopes[0, (first + i) * 2 * coordinates + first + j] = totals[0, i * n + j]
        first += n
        at = _next(numbers, at)
    return status


def _act(ports, coordinates, inputs, count, stages, numbers, motion, loads):
    own, told = row_at(numbers, count), row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
    result = row_at(loads, 6 * ports + coordinates)
    if is_idle(own):
        for j in range(coordinates):
            result[0, j] = 0.0
        return layout.OK
    table = ints_at(_programs(stages), 2 * bodies_of(own), 1)
    shared, totals = np.empty((1, coordinates + count)), np.empty((1, coordinates + 1))
    status, stretch = _follow(coordinates, own, told, table, shared, totals, result)
    pull(coordinates, own, told, stretch, result)
    return status


def _slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
    own, told = row_at(numbers, count), row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
    result, g = row_at(slopes, coordinates * 2 * coordinates), np.empty((1, coordinates))
    for k in range(coordinates * 2 * coordinates):
        result[0, k] = 0.0
    if is_idle(own):
        return layout.OK
    table = ints_at(_programs(stages), 2 * bodies_of(own), 1)
    shared, totals = np.empty((1, coordinates + count)), np.empty((1, coordinates * coordinates + 1))
    status, stretch = _follow(coordinates, own, told, table, shared, totals, g)
    if curves(coordinates, own, told, stretch, g):
        status = min(status, _add_curvature(coordinates, own, told, table, shared, totals, result))
    pull_slopes(coordinates, own, told, stretch, g, result)
    return status


def _stored(ports, coordinates, inputs, count, stages, numbers, motion, energy):
    own, told, g = (
        row_at(numbers, count),
        row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates),
        np.empty((1, coordinates)),
    )
    table = ints_at(_programs(stages), 2 * bodies_of(own), 1)
    shared, totals = np.empty((1, coordinates + count)), np.empty((1, coordinates + 1))
    status, stretch = _follow(coordinates, own, told, table, shared, totals, g)
    row_at(energy, 1)[0, 0] = stretched_energy(own, stretch)
    return status


def _gap(ports, coordinates, inputs, count, stages, numbers, motion, gap):
    own, told, g = (
        row_at(numbers, count),
        row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates),
        np.empty((1, coordinates)),
    )
    table = ints_at(_programs(stages), 2 * bodies_of(own), 1)
    shared, totals, result = np.empty((1, coordinates + count)), np.empty((1, coordinates + 1)), row_at(gap, 2)
    status, result[0, 0] = _follow(coordinates, own, told, table, shared, totals, g)
    result[0, 1] = stretching(coordinates, told, g)
    return status


LINE = InteractionStages(
    Stage("soft_line_act", _act, INTERACTION_ARGUMENTS),
    Stage("soft_line_act_slopes", _slopes, INTERACTION_ARGUMENTS),
    Stage("soft_line_stored", _stored, INTERACTION_ARGUMENTS),
    Stage("soft_line_gap", _gap, INTERACTION_ARGUMENTS),
)
