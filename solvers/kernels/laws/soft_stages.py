"""The stages of deformable bodies, from programs of each body's own: terms, inverse dynamics, linearised law and energy.

`soft_numbers` says where things stand and calls programs, `soft_points` sums over the points.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import cross3, unit3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import (
    bias_at,
    by_rate_at,
    by_twist_at,
    columns_at,
    is_used,
    law_size,
    port_at,
    result_at,
    slopes_size,
)
from titop.solvers.kernels.interface.stages import row_at, vector_at
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw, add_port_wrenches, put_column
from titop.solvers.kernels.laws.modal import moved
from titop.solvers.kernels.laws.rod_matrices import column_of
from titop.solvers.kernels.laws.soft_numbers import (
    BENDS,
    COLUMNS,
    EFFORTS,
    MOTION,
    PORT_COLUMNS,
    PORT_RATE,
    PORT_SLOPES,
    PORT_SUBSPACE,
    RESISTANCE,
    RESISTANCE_SLOPES,
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
    place_at,
    write_forces,
)
from titop.solvers.kernels.spatial.algebra import minus, plus, put_six, six, transport, twist_cross
from titop.solvers.kernels.tree.general import port_column, write_port_accelerations, write_port_twists
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
        torque = cross3(p, force)
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
        own = moved(record, target + layout.PORT_S, n, v)
        crossed = twist_cross(transport(record, 0, target, twist), own)
        put_six(record, 0, target + layout.PORT_GAMMA, plus(six(found, 0, o + PORT_RATE), crossed))
    return status


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


# -- the linearised law, from derivatives in programs


def _slopes(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    """Write the linearised law and M; every S stands in `law` already. See `stages`."""
    body, record, result = row_at(numbers, number_count), row_at(law, law_size(n, ports)), row_at(slopes, slopes_size(n, ports))
    kept, points, rate = row_at(room, kept_size(n, body)), points_of(body), six(row_at(acceleration, 6), 0, 0)
    at_parent = six(row_at(twist, 6), 0, 0)
    write_shared(n, body, vector_at(q, n), vector_at(v, n), at_parent, kept)
    write_rates(n, vector_at(a, n), rate, kept)
    for k in range(columns_at(n, 0)):
        result[0, k] = 0.0
    for k in range((6 + n) * (6 + n)):
        record[0, k] = 0.0
    bends = np.empty((1, n * n + (9 + 9 * n) * points + 1))
    status = run(stages, BENDS, points, body, kept, kept, forces_at(n, body), bends, 0)
    for k in range(points):
        o, mass, force = n * n + (9 + 9 * n) * k, mass_of(body, k), place_at(kept, forces_at(n, body) + 3 * k)
        add_inertia(n, 6 + n, mass, bends, o, place_at(bends, o), o + 9, record)
        _add_point(n, mass, force, bends, o, at_parent, rate, result)
    _add_matrix(n, bends, 0, result, 6 * n)
    if passive:
        resisted = np.empty((1, 2 * n * n + 1))
        status = min(status, run(stages, RESISTANCE_SLOPES, points, body, kept, kept, 0, resisted, 0))
        _add_matrix(n, resisted, 0, result, 6 * n)
        _add_matrix(n, resisted, n * n, result, by_rate_at(n) + 6 * n)
    wrenches, found = np.empty((1, 6 * ports + 1)), np.empty((1, (6 + n + 18 * ports) * n + 1))
    return min(status, _write_port_slopes(n, ports, used, stages, body, kept, record, wrenches, found, result))


@helper
def _add_matrix(n, t, at, result, o):
    for k in range(n * n):
        result[0, o + k] += t[0, at + k]


@helper
def _add_point(n, mass, force, t, o, twist, rate, result):
    """Add what a point's acceleration changes by: its numbers in ``t[0]`` from `o` are p, u, b, J, du/dq and db/dq."""
    p, u, J = place_at(t, o), place_at(t, o + 3), o + 9
    w, swept = (twist[3], twist[4], twist[5]), (rate[3], rate[4], rate[5])
    turned = cross3(w, p)
    flow = twist[0] + turned[0] + 2.0 * u[0], twist[1] + turned[1] + 2.0 * u[1], twist[2] + turned[2] + 2.0 * u[2]
    for j in range(n):
        moved, bent, changed = _column(t, J, n, j), _column(t, J + 3 * n, n, j), _column(t, J + 6 * n, n, j)
        spun = cross3(w, moved)
        carried = cross3(w, (spun[0] + 2.0 * bent[0], spun[1] + 2.0 * bent[1], spun[2] + 2.0 * bent[2]))
        pushed = cross3(swept, moved)
        by_q = (
            mass * (changed[0] + pushed[0] + carried[0]),
            mass * (changed[1] + pushed[1] + carried[1]),
            mass * (changed[2] + pushed[2] + carried[2]),
        )
        by_v = (
            2.0 * mass * (bent[0] + spun[0]),
            2.0 * mass * (bent[1] + spun[1]),
            2.0 * mass * (bent[2] + spun[2]),
        )
        _add_force(n, p, by_q, t, J, result, j, n)
        _add_force(n, p, by_v, t, J, result, by_rate_at(n) + j, n)
        lever = cross3(moved, force)
        for r in range(3):
            result[0, (3 + r) * n + j] += lever[r]
    for j in range(6):
        axis = unit3(j % 3)
        if j < 3:
            x, y, z = cross3(w, axis)
        else:
            x, y, z = cross3(axis, flow)
            inner = cross3(w, cross3(axis, p))
            x, y, z = x + inner[0], y + inner[1], z + inner[2]
        _add_force(n, p, (mass * x, mass * y, mass * z), t, J, result, by_twist_at(n) + j, 6)


@helper
def _column(t, o, n, j):
    return t[0, o + j], t[0, o + n + j], t[0, o + 2 * n + j]


@helper
def _add_force(n, p, force, t, J, result, o, columns):
    """Add ``[f; p x f; J^T f]`` to a column of a matrix with as many columns, its first entry at ``result[0, o]``."""
    torque = cross3(p, force)
    for r in range(3):
        result[0, o + r * columns] += force[r]
        result[0, o + (3 + r) * columns] += torque[r]
    for i in range(n):
        x, y, z = _column(t, J, n, i)
        result[0, o + (6 + i) * columns] += x * force[0] + y * force[1] + z * force[2]


@helper
def _write_port_slopes(n, ports, used, stages, numbers, kept, record, wrenches, found, result):
    """Add what the ports' wrenches change by, and write X, Y and Z; return a status."""
    totals = (6 + n) * n
    for p in range(ports):
        for r in range(6):
            wrenches[0, 6 * p + r] = record[0, port_at(n, p) + layout.PORT_WRENCH + r] if is_used(used, p) else 0.0
    status = run(stages, PORT_SLOPES, 1, numbers, kept, wrenches, 0, found, 0)
    for k in range(totals):
        result[0, k] += found[0, k]
    for p in range(ports):
        if not is_used(used, p):
            continue
        o, target, at = totals + 18 * n * p, port_at(n, p), columns_at(n, p)
        speed = six(record, 0, target + layout.PORT_TWIST)
        for j in range(n):
            x, y, z = column_of(found, o, n, j), column_of(found, o + 6 * n, n, j), column_of(found, o + 12 * n, n, j)
            put_column(result, at, n, j, x)
            put_column(result, at + 6 * n, n, j, minus(y, twist_cross(x, speed)))
            put_column(result, at + 12 * n, n, j, minus(z, twist_cross(port_column(record, target, n, j), speed)))
    return status


LAW = CompiledLaw("soft", terms=_terms, outward=_outward, inward=_inward, slopes=_slopes, energy_stage=_energy, room=room_of)
