"""Interactions as compiled stages (see `stages`), made of the function that writes what they do.

Derivatives are complex steps through that function, exact to rounding, unless the kind has a function of its own for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import INTERACTION_ARGUMENTS, row_at
from titop.solvers.kernels.spatial.algebra import matrix_of, six
from titop.solvers.kernels.spatial.matrices import times, transposed
from titop.solvers.kernels.spatial.rotations import cross3
from titop.solvers.native.kernel import Stage, helper

#: The size of imaginary steps.
STEP = COMPLEX_STEP


class InteractionStages(NamedTuple):
    """Stages of a kind of interaction that are written for themselves."""

    act: Stage
    slopes: Stage
    stored: Stage | None
    gap: Stage | None = None
    rates: Stage | None = None
    rates_driven: Stage | None = None
    rates_slopes: Stage | None = None
    touches: Stage | None = None


class CompiledInteraction:
    """The stages of a kind of interaction.

    Parameters
    ----------
    name : str
        Of the kind.
    write : helper
        ``write(ports, coordinates, inputs, numbers, motion, loads)`` with rows `numbers` (1, count), `motion` and `loads`; the
        last two may be complex.
    write_energy : helper, optional
        Likewise, the stored energy in place of the loads; never complex. Without it there is no stage for it.
    write_slopes : helper, optional
        Likewise, the derivatives of the loads in place of these, row by row, and a row of the loads' size to work in; never
        complex.
    write_gap : helper, optional
        Likewise, the gaps in place of the loads, each before its rate; never complex. The first number of the row says before
        how many there are.
    write_rates : helper, optional
        ``write_rates(ports, coordinates, inputs, numbers, motion, rates)`` with the rates of the states in a row of `inputs`
        numbers, of which it writes the first; never complex.
    write_rates_driven, write_rates_slopes : helper, optional
        Likewise, the derivatives of the rates in place of these, see `stages`; never complex. All states are bristles or the
        like then: there are no inputs beside them. Given with `write_rates`.
    write_touches : helper, optional
        Likewise, what is read of everything that touches, in place of the loads; never complex.
    """

    def __init__(
        self,
        name: str,
        write: Any,
        write_energy: Any = None,
        write_slopes: Any = None,
        write_gap: Any = None,
        write_rates: Any = None,
        write_rates_driven: Any = None,
        write_rates_slopes: Any = None,
        write_touches: Any = None,
    ) -> None:
        def act(ports, coordinates, inputs, count, stages, numbers, motion, loads):
            told = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
            write(ports, coordinates, inputs, row_at(numbers, count), told, row_at(loads, 6 * ports + coordinates))
            return layout.OK

        def slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
            size, rows = layout.MOTION_SIZE * ports + 2 * coordinates, 6 * ports + coordinates
            width = 6 * max(ports - 1, 0) + 6 * ports + 2 * coordinates
            given, own, result = row_at(motion, size), row_at(numbers, count), row_at(slopes, rows * width)
            moved, loads = np.empty((1, size), np.complex128), np.empty((1, rows), np.complex128)
            for j in range(size):
                moved[0, j] = given[0, j]
            for column in range(width):
                move_along(given, moved, ports, column, 1.0)
                write(ports, coordinates, inputs, own, moved, loads)
                move_along(given, moved, ports, column, 0.0)
                put_slope(loads, rows, result, width, column)
            return layout.OK

        def own_slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
            told, rows = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates), 6 * ports + coordinates
            result = row_at(slopes, rows * (6 * max(ports - 1, 0) + 6 * ports + 2 * coordinates))
            work = np.empty((1, rows), np.float64)
            write_slopes(ports, coordinates, inputs, row_at(numbers, count), told, result, work)
            return layout.OK

        def stored(ports, coordinates, inputs, count, stages, numbers, motion, energy):
            told = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
            write_energy(ports, coordinates, inputs, row_at(numbers, count), told, row_at(energy, 1))
            return layout.OK

        def gap(ports, coordinates, inputs, count, stages, numbers, motion, gap):
            told, gaps = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates), np.int64(row_at(gap, 1)[0, 0])
            write_gap(ports, coordinates, inputs, row_at(numbers, count), told, row_at(gap, 2 * gaps))
            return layout.OK

        def rates(ports, coordinates, inputs, count, stages, numbers, motion, rates):
            told = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
            write_rates(ports, coordinates, inputs, row_at(numbers, count), told, row_at(rates, inputs))
            return layout.OK

        def rates_driven(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
            told, result = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates), row_at(slopes, inputs * inputs)
            write_rates_driven(ports, coordinates, inputs, row_at(numbers, count), told, result)
            return layout.OK

        def rates_slopes(ports, coordinates, inputs, count, stages, numbers, motion, slopes):
            told, rows = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates), 6 * ports + coordinates
            width = 6 * max(ports - 1, 0) + 6 * ports + 2 * coordinates
            result = row_at(slopes, inputs * (width + rows))
            write_rates_slopes(ports, coordinates, inputs, row_at(numbers, count), told, result)
            return layout.OK

        def touches(ports, coordinates, inputs, count, stages, numbers, motion, result):
            told = row_at(motion, layout.MOTION_SIZE * ports + 2 * coordinates)
            write_touches(ports, coordinates, inputs, row_at(numbers, count), told, row_at(result, layout.TOUCH_SIZE * count))
            return layout.OK

        self.act = Stage(f"{name}_act", act, INTERACTION_ARGUMENTS)
        self.slopes = Stage(f"{name}_act_slopes", own_slopes if write_slopes else slopes, INTERACTION_ARGUMENTS)
        self.gap = None if write_gap is None else Stage(f"{name}_gap", gap, INTERACTION_ARGUMENTS)
        parts = {"rates": rates, "rates_driven": rates_driven, "rates_slopes": rates_slopes} if write_rates else {}
        stages = {part: Stage(f"{name}_{part}", function, INTERACTION_ARGUMENTS) for part, function in parts.items()}
        self.rates, self.rates_driven, self.rates_slopes = (stages.get(f"rates{of}") for of in ("", "_driven", "_slopes"))
        self.touches = None if write_touches is None else Stage(f"{name}_touches", touches, INTERACTION_ARGUMENTS)
        self.stored = None if write_energy is None else Stage(f"{name}_stored", stored, INTERACTION_ARGUMENTS)


@helper
def advance(given, moved, ports, coordinates):
    """Write a motion whose targets have moved on by an imaginary step of time, told in the frame of the first port."""
    for j in range(layout.MOTION_SIZE * ports + 2 * coordinates):
        moved[0, j] = given[0, j]
    for k in range(1, ports):
        o = np.int64(layout.MOTION_SIZE * k)
        back, V, W = (
            transposed(matrix_of(given, 0, o)),
            six(given, 0, np.int64(layout.MOVING)),
            six(given, 0, o + layout.MOVING),
        )
        orbit = cross3((V[3], V[4], V[5]), (given[0, o + 9], given[0, o + 10], given[0, o + 11]))
        v, w = times(back, (V[0] + orbit[0], V[1] + orbit[1], V[2] + orbit[2])), times(back, (V[3], V[4], V[5]))
        twist = W[0] - v[0], W[1] - v[1], W[2] - v[2], W[3] - w[0], W[4] - w[1], W[5] - w[2]
        for j in range(6):
            displace(given, moved, o, j, twist[j])
    for k in range(layout.MOTION_SIZE * ports, layout.MOTION_SIZE * ports + coordinates):
        moved[0, k] += 1j * STEP * given[0, k + coordinates]


@helper
def move_along(given, moved, ports, column, size):
    """Move along a column of the derivatives (see `stages`) by imaginary steps, as many as `size`; by none goes back."""
    k = 1 + column // 6
    if k < ports:
        for r in range(12):
            moved[0, layout.MOTION_SIZE * k + r] = given[0, layout.MOTION_SIZE * k + r]
        displace(given, moved, layout.MOTION_SIZE * k, column % 6, size)
        return
    j = column - 6 * max(ports - 1, 0)
    place = (
        layout.MOTION_SIZE * (j // 6) + layout.MOVING + j % 6 if j < 6 * ports else layout.MOTION_SIZE * ports + j - 6 * ports
    )
    moved[0, place] = given[0, place] + 1j * STEP * size


@helper
def displace(given, moved, o, j, size):
    """Move the port whose pose is at `o` by imaginary steps, as many as `size`, along entry j of a twist of its own."""
    step = 1j * STEP * size
    if j < 3:
        for r in range(3):
            moved[0, o + 9 + r] += step * given[0, o + 3 * r + j]
        return
    b, c = (j - 2) % 3, (j - 1) % 3
    for r in range(3):
        moved[0, o + 3 * r + b] += step * given[0, o + 3 * r + c]
        moved[0, o + 3 * r + c] -= step * given[0, o + 3 * r + b]


@helper
def put_slope(loads, rows, slopes, width, column):
    """Write what a step has changed as a column of the derivatives."""
    for r in range(rows):
        slopes[0, r * width + column] = loads[0, r].imag / STEP
