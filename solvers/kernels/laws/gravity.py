"""The gravity of a field on a body as a compiled kind of interaction: `titop.blocks.laws.central_field` for kernels."""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.central_field import energy_of, pull
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws.compiled_interactions import (
    interaction_stages,
    motion_size,
    move_along,
    put_slope,
    slopes_width,
)
from titop.solvers.native.kernel import helper

#: Where the body's pose stands, and its coordinates, in the motion.
BODY, OWN = np.int64(layout.MOTION_SIZE), np.int64(2 * layout.MOTION_SIZE)


@helper
def gravity_loads(ports, coordinates, inputs, numbers, motion, loads):
    """Write what pulls at the body; the world, the first port, feels nothing."""
    for k in range(6):
        loads[0, k] = 0.0
    pull(numbers, coordinates, motion, BODY, OWN, loads, 6)


@helper
def gravity_energy(ports, coordinates, inputs, numbers, motion, energy):
    """Write the potential energy."""
    energy[0, 0] = energy_of(numbers, coordinates, motion, BODY, OWN)


def gravity_slopes(ports, coordinates, inputs, numbers, motion, slopes):
    """Write the derivatives by complex steps, of the body's pose and its coordinates: nothing depends on rates."""
    size, rows, width = motion_size(ports, coordinates), 6 * ports + coordinates, slopes_width(ports, coordinates)
    moved, loads = np.empty((1, size), np.complex128), np.empty((1, rows), np.complex128)
    for j in range(size):
        moved[0, j] = motion[0, j]
    for j in range(rows * width):
        slopes[0, j] = 0.0
    for k in range(6 + coordinates):
        column = k if k < 6 else 12 + k
        move_along(motion, moved, ports, column, 1.0)
        gravity_loads(ports, coordinates, inputs, numbers, moved, loads)
        move_along(motion, moved, ports, column, 0.0)
        put_slope(loads, rows, slopes, width, column)


GRAVITY = interaction_stages("gravity", gravity_loads, gravity_energy, gravity_slopes)
