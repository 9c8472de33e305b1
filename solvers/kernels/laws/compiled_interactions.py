"""Interactions as compiled stages (see `stages`), made of the function that writes what they do.

Derivatives are complex steps through that function, exact to rounding, unless the kind has a function of its own for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.laws.vectors import cross3, times, transposed
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import INTERACTION_CALL, complex_type, row_at
from titop.solvers.kernels.spatial.algebra import copy, matrix_of, six
from titop.solvers.native.kernel import Helper, Stage, StageHelper, helper

#: The size of imaginary steps.
STEP = COMPLEX_STEP


class InteractionStages(NamedTuple):
    """The compiled stages of a kind of interaction: see `stages`."""

    act: Stage
    slopes: Stage | None = None
    stored: Stage | None = None
    gap: Stage | None = None
    rates: Stage | None = None
    rates_driven: Stage | None = None
    rates_slopes: Stage | None = None
    touches: Stage | None = None


def interaction_stages(
    name: str,
    write: Any,
    write_energy: Any = None,
    write_slopes: Any = None,
    write_gap: Any = None,
    write_rates: Any = None,
    write_rates_driven: Any = None,
    write_rates_slopes: Any = None,
    write_touches: Any = None,
    is_whole: bool = False,
) -> InteractionStages:
    """Return the stages of a kind of interaction.

    Parameters
    ----------
    name : str
        Of the kind.
    write : callable
        ``write(ports, coordinates, inputs, numbers, motion, loads)`` with rows `numbers` (1, count), `motion`, which ends in
        the inputs, and `loads`; the last two may be complex, unless the kind has `write_slopes`.
    write_energy : callable, optional
        Likewise, the stored energy in place of the loads; never complex. Without it there is no stage for it.
    write_slopes : callable, optional
        Likewise, the derivatives of the loads in place of these, row by row; never complex.
    write_gap : callable, optional
        Likewise, the gaps in place of the loads, each before its rate; never complex. The first number of the row says before
        how many there are.
    write_rates : callable, optional
        ``write_rates(ports, coordinates, inputs, numbers, motion, rates)`` with the rates of the states in a row of `inputs`
        numbers, of which it writes the first; never complex.
    write_rates_driven, write_rates_slopes : callable, optional
        Likewise, the derivatives of the rates in place of these, see `stages`; never complex. Given with `write_rates`.
    write_touches : callable, optional
        Likewise, what is read of everything that touches, in place of the loads; never complex.
    is_whole : bool
        Whether all these take the number of states and the address of the row of stages as well, behind `inputs`, and return a
        status.
    """

    def whole(function: Any) -> Any:
        inner = function if function is None or isinstance(function, Helper) else StageHelper(function)
        return inner if is_whole or inner is None else _whole(inner)

    def stage(of: str, function: Any, stage: int) -> Any:
        if not function:
            return None
        made = Stage(f"{name}_{of}", _reading(function, RESULT_SIZES[stage]), INTERACTION_CALL)
        return made.for_lanes() if stage in _IN_LANES else made

    acts = whole(write)
    slopes = whole(write_slopes) or StageHelper(_slopes_of(acts))
    return InteractionStages(
        stage("act", acts, layout.ACT),
        stage("act_slopes", slopes, layout.ACT_SLOPES),
        stage("stored", whole(write_energy), layout.STORED),
        stage("gap", whole(write_gap), layout.GAP),
        stage("rates", whole(write_rates), layout.RATES),
        stage("rates_driven", whole(write_rates_driven), layout.RATES_DRIVEN),
        stage("rates_slopes", whole(write_rates_slopes), layout.RATES_SLOPES),
        stage("touches", whole(write_touches), TOUCHES),
    )


def _whole(function: Any) -> Any:
    """Return a function that is told all, from one that needs neither the number of states nor the row of stages."""

    def write(ports, coordinates, inputs, states, stages, numbers, motion, result):
        function(ports, coordinates, inputs, numbers, motion, result)
        return layout.OK

    return StageHelper(write)


def _reading(function: Any, size: Any) -> Any:
    """Return the stage that calls a function of what stands at the addresses; its result has so many numbers."""

    def stage(ports, coordinates, inputs, states, count, stages, numbers, motion, result):
        told, row = row_at(motion, motion_size(ports, coordinates) + inputs), size(ports, coordinates, inputs, count, result)
        return function(ports, coordinates, inputs, states, stages, row_at(numbers, count), told, row_at(result, row))

    return stage


def _slopes_of(write: Any) -> Any:
    """Return what writes the derivatives of what `write` does, by complex steps."""

    def slopes(ports, coordinates, inputs, states, stages, numbers, motion, slopes):
        rows, width = 6 * ports + coordinates, slopes_width(ports, coordinates)
        moved, loads = np.empty(motion.shape, complex_type(motion)), np.empty((1, rows), complex_type(motion))
        copy(motion[0], moved[0])
        for column in range(width):
            move_along(motion, moved, ports, column, 1.0)
            write(ports, coordinates, inputs, states, stages, numbers, moved, loads)
            move_along(motion, moved, ports, column, 0.0)
            put_slope(loads, rows, slopes, width, column)
        return layout.OK

    return slopes


@helper
def motion_size(ports, coordinates):
    """Return of how many numbers the motion of an interaction's targets is."""
    return layout.MOTION_SIZE * ports + 2 * coordinates


@helper
def slopes_width(ports, coordinates):
    """Return of how many columns the derivatives by the motion are."""
    return 6 * max(ports - 1, 0) + 6 * ports + 2 * coordinates


@helper
def advance(motion, moved, ports, coordinates):
    """Write a motion whose targets have moved on by an imaginary step of time, told in the frame of the first port."""
    copy(motion[0], moved[0])
    for k in range(1, ports):
        o = np.int64(layout.MOTION_SIZE * k)
        V, W = six(motion, 0, np.int64(layout.MOVING)), six(motion, 0, o + layout.MOVING)
        back = transposed(matrix_of(motion, 0, o))
        orbit = cross3((V[3], V[4], V[5]), (motion[0, o + 9], motion[0, o + 10], motion[0, o + 11]))
        v, w = times(back, (V[0] + orbit[0], V[1] + orbit[1], V[2] + orbit[2])), times(back, (V[3], V[4], V[5]))
        twist = W[0] - v[0], W[1] - v[1], W[2] - v[2], W[3] - w[0], W[4] - w[1], W[5] - w[2]
        for j in range(6):
            displace(motion, moved, o, j, twist[j])
    for k in range(layout.MOTION_SIZE * ports, layout.MOTION_SIZE * ports + coordinates):
        moved[0, k] += 1j * STEP * motion[0, k + coordinates]


@helper
def move_along(motion, moved, ports, column, size):
    """Move along a column of the derivatives (see `stages`) by imaginary steps, as many as `size`; by none goes back."""
    k = 1 + column // 6
    if k < ports:
        for r in range(12):
            moved[0, layout.MOTION_SIZE * k + r] = motion[0, layout.MOTION_SIZE * k + r]
        displace(motion, moved, layout.MOTION_SIZE * k, column % 6, size)
        return
    j = column - 6 * max(ports - 1, 0)
    place = (
        layout.MOTION_SIZE * (j // 6) + layout.MOVING + j % 6 if j < 6 * ports else layout.MOTION_SIZE * ports + j - 6 * ports
    )
    moved[0, place] = motion[0, place] + 1j * STEP * size


@helper
def displace(motion, moved, o, j, size):
    """Move the port whose pose is at `o` by imaginary steps, as many as `size`, along entry j of a twist of its own."""
    step = 1j * STEP * size
    if j < 3:
        for r in range(3):
            moved[0, o + 9 + r] += step * motion[0, o + 3 * r + j]
        return
    b, c = (j - 2) % 3, (j - 1) % 3
    for r in range(3):
        moved[0, o + 3 * r + b] += step * motion[0, o + 3 * r + c]
        moved[0, o + 3 * r + c] -= step * motion[0, o + 3 * r + b]


@helper
def put_slope(loads, rows, slopes, width, column):
    """Write what a step has changed as a column of the derivatives."""
    for r in range(rows):
        slopes[0, r * width + column] = loads[0, r].imag / STEP


#: Beside the stages of the table (see `layout`): what reads everything that touches in a contact.
TOUCHES = -1

#: The stages that are asked for in lanes.
_IN_LANES = layout.ACT, layout.ACT_SLOPES, layout.STORED, TOUCHES

#: Of how many numbers the results of stages are: for p ports, n coordinates, m inputs and k numbers; where they are to be is r.
RESULT_SIZES = {
    layout.ACT: helper(lambda p, n, m, k, r: 6 * p + n),
    layout.ACT_SLOPES: helper(lambda p, n, m, k, r: (6 * p + n) * slopes_width(p, n)),
    layout.STORED: helper(lambda p, n, m, k, r: 1),
    layout.GAP: helper(lambda p, n, m, k, r: 2 * np.int64(row_at(r, 1)[0, 0])),
    layout.RATES: helper(lambda p, n, m, k, r: m),
    layout.RATES_DRIVEN: helper(lambda p, n, m, k, r: m * m),
    layout.RATES_SLOPES: helper(lambda p, n, m, k, r: m * (slopes_width(p, n) + 6 * p + n)),
    TOUCHES: helper(lambda p, n, m, k, r: layout.TOUCH_SIZE * k),
}
