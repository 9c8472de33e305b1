"""The stages of flexible bodies: inverse dynamics without mass matrix, and the linearised law.

What is not linear in the coordinates depends on six numbers each of the body and of every port (see `modal`): complex steps
along these, not along the coordinates, give its derivatives. Symbols: ``P q``, ``P v``, ``P a`` of the body and ``Phi q``,
``Phi v``, ``Phi a`` of a port are its `moving`, `rates` and `second`.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    law_size,
    port_at,
    result_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import part_of, row_at, vector_at
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw, imaginary
from titop.solvers.kernels.laws.modal import (
    PARTICIPATION,
    add_pulled,
    add_times,
    body_of,
    mass_at,
    moved,
    numbers_at,
    shift_of,
    write_inertia,
    write_law,
)
from titop.solvers.kernels.laws.modal_ports import (
    PORT_SLOPES,
    PULLED_BY_PLACE,
    SHAPE,
    after_step,
    port_motion,
    pose_of,
    pulled_back,
    write_port_slopes,
    write_pose,
    write_subspace,
)
from titop.solvers.kernels.laws.rod_matrices import put_column
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, matrix_of, put_six, six
from titop.solvers.native.kernel import helper, shared

#: Numbers of a 6x6 matrix.
_FULL = 36

#: Numbers that are kept of a port: phi and two coefficients.
KEPT = 5


@helper
def _room(n, ports, numbers):
    """Return how much `_outward` keeps for `_inward`: what the body takes alone; of each port phi and two coefficients."""
    return 6 + n + KEPT * ports


def _outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    modes, record, alone = (
        row_at(numbers, number_count),
        row_at(law, law_size(n, ports)),
        row_at(room, _room(n, ports, number_count)),
    )
    own_q, own_v, own_a = vector_at(q, n), vector_at(v, n), vector_at(a, n)
    x, y = six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
    wrench, along = body_of(
        modes,
        moved(modes, PARTICIPATION, n, own_q),
        moved(modes, PARTICIPATION, n, own_v),
        moved(modes, PARTICIPATION, n, own_a),
        x,
        y,
    )
    put_six(alone, 0, 0, wrench)
    for j in range(n):
        alone[0, 6 + j] = 0.0
    first = 6
    add_pulled(modes, PARTICIPATION, n, along, alone, first)
    add_times(modes, mass_at(n), n, own_a, alone, first)
    if passive:
        add_times(modes, mass_at(n) + n * n, n, own_q, alone, first)
        add_times(modes, mass_at(n) + 2 * n * n, n, own_v, alone, first)
    for p in range(ports):
        if not is_used(used, p):
            continue
        o, target = numbers_at(n, p), port_at(n, p)
        at = pose_of(modes, o, moved(modes, o + SHAPE, n, own_q))
        rate, second = moved(modes, o + SHAPE, n, own_v), moved(modes, o + SHAPE, n, own_a)
        speed, gained = port_motion(modes, o, at, rate, second, x, y)
        keep_port(record, target, at, speed, gained, alone, 6 + n + KEPT * p)
    return layout.OK


def _inward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    modes, record, alone = (
        row_at(numbers, number_count),
        row_at(law, law_size(n, ports)),
        row_at(room, _room(n, ports, number_count)),
    )
    press_inwards(n, ports, used, modes, record, alone, KEPT, modes, numbers_at(n, 0) + SHAPE, SHAPE + 6 * n)
    return layout.OK


@helper
def keep_port(law, target, at, twist, acceleration, alone, kept):
    """Write a port's pose (see `pose_of`), twist and acceleration, and into ``alone[0]`` from `kept` what is needed inwards."""
    write_pose(law, target, at)
    phi = at[2]
    for k in range(3):
        alone[0, kept + k] = phi[k]
    alone[0, kept + 3], alone[0, kept + 4] = at[3], at[4]
    put_six(law, 0, target + layout.PORT_TWIST, twist)
    put_six(law, 0, target + layout.PORT_ACC, acceleration)


@helper
def press_inwards(n, ports, used, modes, law, alone, stride, shapes, first, size):
    """Write W_P and tau: what the body takes, at the head of ``alone[0]``, and what the wrenches at its ports press with.

    What `keep_port` keeps of a port stands there behind, `stride` numbers from one to the next, and the ports' shapes in
    ``shapes[0]`` from `first`, `size` from one to the next.
    """
    result = result_at(n)
    for k in range(6 + n):
        law[0, result + k] = alone[0, k]
    for p in range(ports):
        if not is_used(used, p):
            continue
        target, k = port_at(n, p), 6 + n + stride * p
        wrench = six(law, 0, target + layout.PORT_WRENCH)
        add_six(law, 0, result, carry_wrench(law, 0, target, wrench))
        phi = alone[0, k], alone[0, k + 1], alone[0, k + 2]
        at = matrix_of(law, 0, target), phi, phi, alone[0, k + 3], alone[0, k + 4]
        add_pulled(shapes, first + size * p, n, pulled_back(modes, numbers_at(n, p), at, wrench), law, result + 6)


def _slopes(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    modes, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    own_q, own_v, own_a = vector_at(q, n), vector_at(v, n), vector_at(a, n)
    x, y = six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
    size = slopes_size(n, ports)
    result, small = row_at(slopes, size), np.empty((1, PORT_SLOPES + 6 * n))
    for k in range(size):
        result[0, k] = 0.0
    _add_body(modes, n, own_q, own_v, own_a, x, y, small, result)
    if passive:
        for k in range(n * n):
            result[0, 6 * n + k] += modes[0, mass_at(n) + n * n + k]
            result[0, by_rate_at(n) + 6 * n + k] += modes[0, mass_at(n) + 2 * n * n + k]
    write_inertia(modes, n, shift_of(modes, moved(modes, PARTICIPATION, n, own_q)), record)
    for p in range(ports):
        if is_used(used, p):
            _add_port(modes, n, p, own_q, own_v, own_a, x, y, record, small, result)
    return layout.OK


@helper
def _add_body(modes, n, q, v, a, x, y, small, slopes):
    """Add the derivatives of what the body takes alone, but for the linear efforts."""
    moving, rates = moved(modes, PARTICIPATION, n, q), moved(modes, PARTICIPATION, n, v)
    second, by_twist = moved(modes, PARTICIPATION, n, a), by_twist_at(n)
    for k in range(18):
        stepped = after_step(moving, k), after_step(rates, k - 6), after_step(x, k - 12)
        wrench, along = body_of(modes, stepped[0], stepped[1], second, stepped[2], y)
        begin = 2 * _FULL * (k // 6)
        if k < 12:
            put_column(small, begin, 6, k % 6, imaginary(wrench))
            put_column(small, begin + _FULL, 6, k % 6, imaginary(along))
        else:
            put_column(slopes, by_twist, 6, k % 6, imaginary(wrench))
            put_column(small, begin, 6, k % 6, imaginary(along))
    for k in range(2):
        begin = k * by_rate_at(n)
        add_through(small, 2 * k * _FULL, modes, PARTICIPATION, n, slopes, begin)
        add_between(small, 2 * k * _FULL + _FULL, modes, PARTICIPATION, n, slopes, begin + 6 * n)
    for i in range(n):
        for r in range(6):
            share = modes[0, PARTICIPATION + r * n + i]
            for k in range(6):
                slopes[0, by_twist + 36 + 6 * i + k] += share * small[0, 4 * _FULL + 6 * r + k]


@helper
def _add_port(modes, n, p, q, v, a, x, y, law, small, slopes):
    """Write X, Y and Z of a port and its S, and add how its wrench changes W_P and tau along q."""
    o, target = numbers_at(n, p), port_at(n, p)
    moving, rates = moved(modes, o + SHAPE, n, q), moved(modes, o + SHAPE, n, v)
    second = moved(modes, o + SHAPE, n, a)
    write_subspace(modes, o, n, pose_of(modes, o, moving), modes, o + SHAPE, law, target + layout.PORT_S)
    twist, wrench = six(law, 0, target + layout.PORT_TWIST), six(law, 0, target + layout.PORT_WRENCH)
    write_port_slopes(modes, o, moving, rates, second, x, y, twist, wrench, small)
    for k in range(4):  # X, Y, Z and W_P by q
        add_through(small, k * _FULL, modes, o + SHAPE, n, slopes, columns_at(n, p) + 6 * n * k if k < 3 else 0)
    add_between(small, PULLED_BY_PLACE, modes, o + SHAPE, n, slopes, 6 * n)


@shared
def add_through(small, m, modes, at, n, t, o):
    """Add to the 6 x n matrix at ``t[0, o]`` the product of the 6 x 6 at ``small[0, m]`` and the 6 x n at ``modes[0, at]``."""
    for r in range(6):
        for k in range(6):
            y, row, result = small[0, m + 6 * r + k], part_of(modes, at + k * n, (n,)), part_of(t, o + r * n, (n,))
            for j in range(n):
                result[j] += y * row[j]


@shared
def add_between(small, m, modes, at, n, t, o):
    """Add to the n x n matrix at ``t[0, o]`` that product with the transposed of the 6 x n matrix before it."""
    room = PORT_SLOPES
    for k in range(6 * n):
        small[0, room + k] = 0.0
    add_through(small, m, modes, at, n, small, room)
    for i in range(n):
        for r in range(6):
            y, row, result = modes[0, at + r * n + i], part_of(small, room + r * n, (n,)), part_of(t, o + i * n, (n,))
            for j in range(n):
                result[j] += y * row[j]


@helper
def energy(n, modes, q):
    energy = 0.0
    for r in range(n):
        for j in range(n):
            energy += 0.5 * q[r] * modes[0, mass_at(n) + n * n + r * n + j] * q[j]
    return energy


LAW = CompiledLaw("modal", write_law, outward=_outward, inward=_inward, slopes=_slopes, energy=energy, room=_room)
