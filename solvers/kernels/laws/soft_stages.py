"""The stages of deformable bodies, from programs of each body's own: terms, inverse dynamics, linearised law and energy.

- `soft_numbers`: where things stand, and how programs are called; `soft_points`: sums over the points; `soft_slopes`: the
  derivatives.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, is_used, law_size, port_at, result_at
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.soft_numbers import (
    COLUMNS,
    EFFORTS,
    MOTION,
    PORT_COLUMNS,
    PORT_RATE,
    PORT_SUBSPACE,
    RESISTANCE,
    STORED,
    forces_at,
    kept_size,
    mass_of,
    motion_at,
    points_of,
    room_of,
    run,
    write_rates,
    write_shared,
)
from titop.solvers.kernels.laws.soft_points import (
    acceleration_of,
    add_inertia,
    add_pulled_force,
    crossed,
    place_at,
    write_forces,
)
from titop.solvers.kernels.laws.soft_slopes import write_slopes
from titop.solvers.kernels.laws.term_stages import add_port_wrenches
from titop.solvers.kernels.spatial.algebra import plus, put_six, six, transport, twist_cross
from titop.solvers.kernels.tree.general import write_port_accelerations, write_port_twists
from titop.solvers.native.kernel import helper


def _terms(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    body, record, at_parent = row_at(numbers, number_count), row_at(law, law_size(n, ports)), six(row_at(twist, 6), 0, 0)
    size, h, still = 6 + n, bias_at(n), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    kept, width = row_at(room, kept_size(n, body)), 9 + 3 * n
    moved, efforts = np.empty((1, width * points_of(body))), np.empty((1, n + 1))
    found = np.empty((1, (PORT_SUBSPACE + 6 * n) * ports + 1))
    write_shared(n, body, vector_at(q, n), vector_at(v, n), at_parent, kept)
    status = run(stages, COLUMNS, points_of(body), body, kept, kept, 0, moved, 0)
    for k in range(h + size):
        record[0, k] = 0.0
    for k in range(points_of(body)):
        o, mass = width * k, mass_of(body, k)
        p = place_at(moved, o)
        add_inertia(n, size, mass, moved, o, p, o + 9, record)
        x, y, z = acceleration_of(p, place_at(moved, o + 3), place_at(moved, o + 6), at_parent, still)
        force = mass * x, mass * y, mass * z
        torque = crossed(p, force)
        for r in range(3):
            record[0, h + r] += force[r]
            record[0, h + 3 + r] += torque[r]
        add_pulled_force(n, moved, o + 9, force, record, h + 6)
    if passive:
        status = min(status, run(stages, RESISTANCE, points_of(body), body, kept, kept, 0, efforts, 0))
        for j in range(n):
            record[0, h + 6 + j] += efforts[0, j]
    return min(status, _write_ports(n, ports, used, stages, body, kept, at_parent, vector_at(v, n), found, record))


@helper
def _write_ports(n, ports, used, stages, numbers, kept, twist, v, found, record):
    """Write pose, gamma and S of all ports; return a status."""
    size = PORT_SUBSPACE + 6 * n
    status = run(stages, PORT_COLUMNS, 1, numbers, kept, kept, 0, found, 0)
    for p in range(ports):
        if not is_used(used, p):
            continue
        o, target = size * p, port_at(n, p)
        for k in range(12):
            record[0, target + k] = found[0, o + k]
        for k in range(6 * n):
            record[0, target + layout.PORT_S + k] = found[0, o + PORT_SUBSPACE + k]
        own = _times_rates(n, record, target + layout.PORT_S, v)
        crossed = twist_cross(transport(record, 0, target, twist), own)
        put_six(record, 0, target + layout.PORT_GAMMA, plus(six(found, 0, o + PORT_RATE), crossed))
    return status


@helper
def _times_rates(n, record, s, v):
    x0 = x1 = x2 = x3 = x4 = x5 = 0.0
    for j in range(n):
        y = v[j]
        x0 += record[0, s + j] * y
        x1 += record[0, s + n + j] * y
        x2 += record[0, s + 2 * n + j] * y
        x3 += record[0, s + 3 * n + j] * y
        x4 += record[0, s + 4 * n + j] * y
        x5 += record[0, s + 5 * n + j] * y
    return x0, x1, x2, x3, x4, x5


def _outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    body, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    kept, at_parent, rate = row_at(room, kept_size(n, body)), six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
    own_v, own_a, found = vector_at(v, n), vector_at(a, n), np.empty((1, (PORT_SUBSPACE + 6 * n) * ports + 1))
    write_shared(n, body, vector_at(q, n), own_v, at_parent, kept)
    write_rates(n, own_a, rate, kept)
    status = run(stages, MOTION, points_of(body), body, kept, kept, 0, kept, motion_at(n, body))
    if known == layout.UNKNOWN:
        status = min(status, _write_ports(n, ports, used, stages, body, kept, at_parent, own_v, found, record))
    write_port_twists(n, ports, used, record, 0, at_parent, own_v, 0)
    write_port_accelerations(n, ports, used, record, 0, rate, own_a, 0)
    return status


def _inward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    body, record = row_at(numbers, number_count), row_at(law, law_size(n, ports))
    kept, at_parent, rate = row_at(room, kept_size(n, body)), six(row_at(twist, 6), 0, 0), six(row_at(acceleration, 6), 0, 0)
    efforts, result = np.empty((1, n + 1)), result_at(n)
    put_six(record, 0, result, write_forces(n, body, at_parent, rate, kept))
    status = run(stages, EFFORTS, points_of(body), body, kept, kept, forces_at(n, body), efforts, 0)
    for j in range(n):
        record[0, result + 6 + j] = efforts[0, j]
    if passive:
        status = min(status, run(stages, RESISTANCE, points_of(body), body, kept, kept, 0, efforts, 0))
        for j in range(n):
            record[0, result + 6 + j] += efforts[0, j]
    add_port_wrenches(n, ports, used, record, record, record, result)
    return status


def _energy(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    body = row_at(numbers, number_count)
    kept, result = row_at(room, kept_size(n, body)), row_at(law, 1)
    write_shared(n, body, vector_at(q, n), vector_at(v, n), six(row_at(twist, 6), 0, 0), kept)
    return run(stages, STORED, points_of(body), body, kept, kept, 0, result, 0)


LAW = CompiledLaw(
    "soft", terms=_terms, outward=_outward, inward=_inward, slopes=write_slopes, energy_stage=_energy, room=room_of
)
