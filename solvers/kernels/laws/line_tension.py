"""What pulls along a line that bodies carry: tendons and chambers in soft rods and in deformable bodies alike.

The `numbers` of such a line begin with the sign of the input's tension, stiffness, dissipation, what is drawn in at rest, the
numbers of bodies and of arms, and the arms; the input is the last of them.

Locals: ``g`` the derivatives of what the line measures by the coordinates, those of the arms last; ``stretch`` by how much it
is longer than without tension.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface.stages import part_of
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
def is_idle(numbers):
    """Tell whether the line is not pulled and cannot be stretched."""
    return _given_tension(numbers) == 0.0 and numbers[0, 1] == 0.0


@helper
def _given_tension(numbers):
    """Return the tension that the input gives."""
    return numbers[0, 0] * numbers[0, numbers.shape[1] - 1]


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
    return (numbers[0, 1] if stretch > 0.0 and share > 0.0 else 0.0), share


@helper
def pull(coordinates, numbers, motion, stretch, loads):
    """Replace the derivatives g in `loads` by the efforts of the tension."""
    stiffness, share = _elastic(coordinates, numbers, motion, stretch, loads)
    tension = _given_tension(numbers) + stiffness * stretch * share
    for j in range(coordinates):
        loads[0, j] *= -tension


@helper
def stretched_energy(numbers, stretch):
    """``k s^2 / 2`` where a tendon is stretched by s."""
    return 0.5 * numbers[0, 1] * max(stretch, 0.0) ** 2


@helper
def curves(coordinates, numbers, motion, stretch, g):
    """Tell whether the second derivatives of the measure matter."""
    stiffness, share = _elastic(coordinates, numbers, motion, stretch, g)
    tension = _given_tension(numbers) + stiffness * stretch * share
    return tension != 0.0 or stiffness * stretch * numbers[0, 2] != 0.0


@helper
def pull_slopes(n, numbers, motion, stretch, g, slopes):
    """Replace second derivatives of the measure, in the rows (2 n) of `slopes` for derivatives by q, by those of the efforts.

    Minus tension times the curvature, and minus g times the derivatives of the tension. The latter by coordinates wait in the
    first row's place for derivatives by rates.
    """
    stiffness, share = _elastic(n, numbers, motion, stretch, g)
    tension = _given_tension(numbers) + stiffness * stretch * share
    damping = stiffness * stretch * numbers[0, 2]
    by_coordinates = part_of(slopes, n, (n,))
    if damping != 0.0:
        for i in range(n):
            row, rate = part_of(slopes, i * 2 * n, (n,)), damping * motion[0, n + i]
            for j in range(n):
                by_coordinates[j] += rate * row[j]
    for j in range(n):
        by_coordinates[j] += stiffness * share * g[0, j]
    for i in range(n):
        row, weight = part_of(slopes, i * 2 * n, (n,)), g[0, i]
        for j in range(n):
            row[j] = -tension * row[j] - weight * by_coordinates[j]
    for i in range(n):
        row, weight = part_of(slopes, i * 2 * n + n, (n,)), -damping * g[0, i]
        for j in range(n):
            row[j] = weight * g[0, j]
