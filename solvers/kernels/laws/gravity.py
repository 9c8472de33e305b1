"""The gravity of a field on a body as compiled kinds of interactions: `titop.blocks.laws.central_field` for kernels.

Of a body whose moments of mass are known, by the law that both engines share; of others by their own ``terms``: by their
inertia, and by their gyroscopic terms at six spins (see `titop.blocks.surroundings.body_gravity`).
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.laws.central_field import (
    ORDER,
    energy_of,
    field_acceleration,
    field_gradient,
    moments,
    pull,
    seen,
    symmetric_times,
)
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at
from titop.solvers.kernels.interface.stages import address_of, call_at, complex_type, ints_at
from titop.solvers.kernels.laws.compiled_interactions import (
    interaction_stages,
    motion_size,
    move_along,
    put_slope,
    slopes_width,
)
from titop.solvers.native.kernel import StageHelper, helper

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
    moved, loads = np.empty((1, size), complex_type(motion)), np.empty((1, rows), complex_type(motion))
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


# -- by the terms of a block's law -------------------------------------------------------------------------------------------

#: Where a row of stages has the address of the block's own row, its number of ports, and where its law and its room begin in
#: ``law``, and how long this is.
BLOCK_STAGES, BLOCK_PORTS, BLOCK_LAW, BLOCK_ROOM, BLOCK_SIZE = range(layout.PROGRAMS, layout.PROGRAMS + 5)
#: How many numbers are the field's, before the block's.
FIELD = 9


def _terms(n, stages, numbers, motion, twist, still, law):
    """Let the block write M and h at rest, `still` (n) being zeros, under a twist; return a status."""
    table = ints_at(stages, 1, layout.STAGE_COLUMNS)
    own = ints_at(table[0, BLOCK_STAGES], 1, layout.STAGE_COLUMNS)
    at, nothing, count = address_of(law, table[0, BLOCK_LAW]), np.int64(0), np.int64(numbers.shape[1] - FIELD)
    arguments = (
        *(n, table[0, BLOCK_PORTS], nothing, count, nothing, nothing, table[0, BLOCK_STAGES], address_of(numbers, FIELD)),
        *(address_of(motion, OWN), address_of(still, 0), nothing, address_of(twist, 0), nothing),
        *(at, address_of(law, table[0, BLOCK_ROOM]), nothing),
    )
    return call_at(own[0, layout.TERMS], arguments)


_asked = StageHelper(_terms)


@helper
def _moments_of(n, o, numbers, law, told):
    """Write field and moments of mass as `pull` takes them, from M in `law` from o on."""
    size = 6 + n
    for k in range(FIELD):
        told[0, k] = numbers[0, k]
    m = (law[0, o] + law[0, o + size + 1] + law[0, o + 2 * size + 2]) / 3.0
    part = 0.5 / select(m == 0.0, 1.0, m)
    x = part * (law[0, o + 5 * size + 1] - law[0, o + 4 * size + 2])
    y = part * (law[0, o + 3 * size + 2] - law[0, o + 5 * size])
    z = part * (law[0, o + 4 * size] - law[0, o + 3 * size + 1])
    a, b, c = law[0, o + 3 * size + 3], law[0, o + 4 * size + 4], law[0, o + 5 * size + 5]
    half = 0.5 * (a + b + c)
    told[0, FIELD], told[0, FIELD + 1], told[0, FIELD + 2], told[0, FIELD + 3] = m, x, y, z
    told[0, FIELD + 4], told[0, FIELD + 5] = half - a - m * x * x, half - b - m * y * y
    told[0, FIELD + 6] = half - c - m * z * z
    told[0, FIELD + 7] = -0.5 * (law[0, o + 3 * size + 4] + law[0, o + 4 * size + 3]) - m * x * y
    told[0, FIELD + 8] = -0.5 * (law[0, o + 3 * size + 5] + law[0, o + 5 * size + 3]) - m * x * z
    told[0, FIELD + 9] = -0.5 * (law[0, o + 4 * size + 5] + law[0, o + 5 * size + 4]) - m * y * z
    told[0, ORDER] = 0.0


def terms_loads(ports, coordinates, inputs, states, stages, numbers, motion, loads):
    """Write what pulls at the block; the world, the first port, feels nothing."""
    n, table, dtype = coordinates, ints_at(stages, 1, layout.STAGE_COLUMNS), motion.dtype
    law, told = np.empty((1, table[0, BLOCK_SIZE]), dtype), np.empty((1, ORDER + 1), dtype)
    o, size, twist, still = table[0, BLOCK_LAW], 6 + n, np.zeros(6, dtype), np.zeros(n, dtype)
    twist[3] = 1.0
    status = _asked(n, stages, numbers, motion, twist, still, law)
    if status != layout.OK:
        return status
    _moments_of(n, o, numbers, law, told)
    for k in range(6):
        loads[0, k] = 0.0
    pull(told, 0, motion, BODY, OWN, loads, 6)
    c, S = moments(told, 0, motion, OWN)
    field, place = seen(told, 0, motion, BODY, c)
    gradient, change = field_gradient(field, place, S)
    g, turned, m = field_acceleration(field, place), symmetric_times(gradient, c), told[0, FIELD]
    part = 1.0 / select(m == 0.0, 1.0, m)
    for j in range(n):
        total = 0.0
        for i in range(3):
            total += law[0, o + (6 + j) * size + i] * (g[i] + part * change[i] - turned[i])
        loads[0, 12 + j] = total
    xx, yy, zz, xy, xz, yz = gradient
    shares = xx - xy - xz, yy - xy - yz, zz - xz - yz, xy, xz, yz  # of h at spins along each axis, and along two at once
    for k in range(6):
        if k > 0:
            for i in range(3):
                twist[3 + i] = 1.0 if (i == k if k < 3 else i != 5 - k) else 0.0
            status = min(status, _asked(n, stages, numbers, motion, twist, still, law))
        for j in range(n):
            loads[0, 12 + j] += shares[k] * law[0, o + bias_at(n) + 6 + j]
    return status


def terms_energy(ports, coordinates, inputs, states, stages, numbers, motion, energy):
    """Write the potential energy."""
    table, dtype, still = ints_at(stages, 1, layout.STAGE_COLUMNS), motion.dtype, np.zeros(coordinates, motion.dtype)
    law, told = np.empty((1, table[0, BLOCK_SIZE]), dtype), np.empty((1, ORDER + 1), dtype)
    status = _asked(coordinates, stages, numbers, motion, np.zeros(6, dtype), still, law)
    _moments_of(coordinates, table[0, BLOCK_LAW], numbers, law, told)
    energy[0, 0] = energy_of(told, 0, motion, BODY, OWN)
    return status


BY_TERMS = interaction_stages("gravity_by_terms", terms_loads, terms_energy, is_whole=True)._replace(slopes=None)
