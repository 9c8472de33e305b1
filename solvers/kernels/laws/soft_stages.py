"""The stages of deformable bodies, from programs of each body's own: terms, inverse dynamics, linearised law and energy.

`soft_points` says where things stand, calls programs and sums over the points.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import cross3, unit3
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, by_rate_at, by_twist_at, columns_at, is_used, port_at, result_at
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws import soft_points as soft
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.matrices import (
    add_passive_slopes,
    add_scaled,
    clear,
    column_of_three,
    put_column,
    three_at,
    wide_times,
)
from titop.solvers.kernels.spatial.algebra import column_of, minus, plus, put_six, six, transport, twist_cross
from titop.solvers.kernels.tree.general import add_port_wrenches, port_column, write_port_accelerations, write_port_twists
from titop.solvers.native.kernel import helper


def _terms(block):
    n, body, q, law, points = block.n, block.numbers, block.q, block.law, soft.points_of(block.numbers)
    kept, h, still, width = row_at(block.room, soft.kept_size(block)), bias_at(n), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), 9 + 3 * n
    columns, efforts = np.empty((1, width * points), q.dtype), np.empty((1, n + 1), q.dtype)
    at_ports = np.empty((1, (soft.PORT_SUBSPACE + 6 * n) * block.ports + 1), q.dtype)
    soft.write_shared(block.n, block.numbers, block.q, block.v, block.twist, kept)
    status = soft.run(block, soft.COLUMNS, points, kept, kept, 0, columns, 0)
    clear(law, 0, h + 6 + n)
    for k in range(points):
        o, mass = width * k, soft.mass_of(body, k)
        p = three_at(columns, o)
        soft.add_inertia(n, 6 + n, mass, columns, p, o + 9, law)
        x, y, z = soft.acceleration_of(p, three_at(columns, o + 3), three_at(columns, o + 6), block.twist, still)
        force = mass * x, mass * y, mass * z
        torque = cross3(p, force)
        for r in range(3):
            law[0, h + r] += force[r]
            law[0, h + 3 + r] += torque[r]
        soft.add_pulled_force(n, columns, o + 9, force, law, h + 6)
    if block.passive:
        status = min(status, soft.run(block, soft.RESISTANCE, points, kept, kept, 0, efforts, 0))
        add_scaled(law, h + 6, 1.0, efforts, 0, n)
    return min(status, _write_ports(block, kept, at_ports))


@helper
def _write_ports(block, kept, at_ports):
    """Write pose, gamma and S of all ports; return a status."""
    n, record, size = block.n, block.law, soft.PORT_SUBSPACE + 6 * block.n
    status = soft.run(block, soft.PORT_COLUMNS, 1, kept, kept, 0, at_ports, 0)
    for p in range(block.ports):
        if is_used(block.used, p):
            o, target = size * p, port_at(n, p)
            for k in range(12):
                record[0, target + k] = at_ports[0, o + k]
            for k in range(6 * n):
                record[0, target + layout.PORT_S + k] = at_ports[0, o + soft.PORT_SUBSPACE + k]
            speed = wide_times(record, target + layout.PORT_S, n, block.v)
            crossed = twist_cross(transport(record, 0, target, block.twist), speed)
            put_six(record, 0, target + layout.PORT_GAMMA, plus(six(at_ports, 0, o + soft.PORT_RATE), crossed))
    return status


def _outward(block):
    n, body, kept = block.n, block.numbers, row_at(block.room, soft.kept_size(block))
    at_ports = np.empty((1, (soft.PORT_SUBSPACE + 6 * n) * block.ports + 1), block.q.dtype)
    soft.write_shared(block.n, block.numbers, block.q, block.v, block.twist, kept)
    soft.write_rates(block, kept)
    status = soft.run(block, soft.MOTION, soft.points_of(body), kept, kept, 0, kept, soft.motion_at(n, body))
    if block.known == layout.UNKNOWN:
        status = min(status, _write_ports(block, kept, at_ports))
    write_port_twists(n, block.ports, block.used, block.law, 0, block.twist, block.v, 0)
    write_port_accelerations(n, block.ports, block.used, block.law, 0, block.acceleration, block.a, 0)
    return status


def _inward(block):
    n, body, law, result = block.n, block.numbers, block.law, result_at(block.n)
    kept, efforts = row_at(block.room, soft.kept_size(block)), np.empty((1, n + 1), block.q.dtype)
    put_six(law, 0, result, soft.write_forces(block, kept))
    status = soft.run(block, soft.EFFORTS, soft.points_of(body), kept, kept, soft.forces_at(n, body), efforts, 0)
    for j in range(n):
        law[0, result + 6 + j] = efforts[0, j]
    if block.passive:
        status = min(status, soft.run(block, soft.RESISTANCE, soft.points_of(body), kept, kept, 0, efforts, 0))
        add_scaled(law, result + 6, 1.0, efforts, 0, n)
    add_port_wrenches(n, block.ports, block.used, law, law, law, result)
    return status


def _energy(block):
    kept = row_at(block.room, soft.kept_size(block))
    soft.write_shared(block.n, block.numbers, block.q, block.v, block.twist, kept)
    return soft.run(block, soft.STORED, soft.points_of(block.numbers), kept, kept, 0, block.law, 0)


# -- the linearised law, from derivatives in programs


def _slopes(block):
    """Write the linearised law and M; every S stands in `law` already. See `stages`."""
    n, body, q, slopes, kept = block.n, block.numbers, block.q, block.slopes, row_at(block.room, soft.kept_size(block))
    points = soft.points_of(body)
    soft.write_shared(block.n, block.numbers, block.q, block.v, block.twist, kept)
    soft.write_rates(block, kept)
    clear(slopes, 0, columns_at(n, 0))
    clear(block.law, 0, bias_at(n))
    bends = np.empty((1, n * n + (9 + 9 * n) * points + 1), q.dtype)
    status = soft.run(block, soft.BENDS, points, kept, kept, soft.forces_at(n, body), bends, 0)
    for k in range(points):
        o, mass, force = n * n + (9 + 9 * n) * k, soft.mass_of(body, k), three_at(kept, soft.forces_at(n, body) + 3 * k)
        soft.add_inertia(n, 6 + n, mass, bends, three_at(bends, o), o + 9, block.law)
        _add_point(n, mass, force, bends, o, block.twist, block.acceleration, slopes)
    add_scaled(slopes, 6 * n, 1.0, bends, 0, n * n)
    if block.passive:
        resisted = np.empty((1, 2 * n * n + 1), q.dtype)
        status = min(status, soft.run(block, soft.RESISTANCE_SLOPES, points, kept, kept, 0, resisted, 0))
        add_passive_slopes(resisted, 0, n, slopes)
    wrenches, at_ports = np.empty((1, 6 * block.ports + 1), q.dtype), np.empty((1, (6 + n + 18 * block.ports) * n + 1), q.dtype)
    return min(status, _write_port_slopes(block, kept, wrenches, at_ports))


@helper
def _add_point(n, mass, force, t, o, twist, rate, result):
    """Add what a point's acceleration changes by: its numbers in ``t[0]`` from `o` are p, u, b, J, du/dq and db/dq."""
    p, u, J = three_at(t, o), three_at(t, o + 3), o + 9
    w, swept = (twist[3], twist[4], twist[5]), (rate[3], rate[4], rate[5])
    turned = cross3(w, p)
    flow = twist[0] + turned[0] + 2.0 * u[0], twist[1] + turned[1] + 2.0 * u[1], twist[2] + turned[2] + 2.0 * u[2]
    for j in range(n):
        moved, bent = column_of_three(t, J, n, j), column_of_three(t, J + 3 * n, n, j)
        changed = column_of_three(t, J + 6 * n, n, j)
        spun = cross3(w, moved)
        carried = cross3(w, (spun[0] + 2.0 * bent[0], spun[1] + 2.0 * bent[1], spun[2] + 2.0 * bent[2]))
        pushed = cross3(swept, moved)
        by_q = (
            mass * (changed[0] + pushed[0] + carried[0]),
            mass * (changed[1] + pushed[1] + carried[1]),
            mass * (changed[2] + pushed[2] + carried[2]),
        )
        by_v = (2.0 * mass * (bent[0] + spun[0]), 2.0 * mass * (bent[1] + spun[1]), 2.0 * mass * (bent[2] + spun[2]))
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
def _add_force(n, p, force, t, J, result, o, columns):
    """Add ``[f; p x f; J^T f]`` to a column of a matrix with as many columns, its first entry at ``result[0, o]``."""
    torque = cross3(p, force)
    for r in range(3):
        result[0, o + r * columns] += force[r]
        result[0, o + (3 + r) * columns] += torque[r]
    for i in range(n):
        x, y, z = column_of_three(t, J, n, i)
        result[0, o + (6 + i) * columns] += x * force[0] + y * force[1] + z * force[2]


@helper
def _write_port_slopes(block, kept, wrenches, at_ports):
    """Add what the ports' wrenches change by, and write X, Y and Z; return a status."""
    n, result, totals = block.n, block.slopes, (6 + block.n) * block.n
    for p in range(block.ports):
        for r in range(6):
            wrenches[0, 6 * p + r] = block.law[0, port_at(n, p) + layout.PORT_WRENCH + r] if is_used(block.used, p) else 0.0
    status = soft.run(block, soft.PORT_SLOPES, 1, kept, wrenches, 0, at_ports, 0)
    add_scaled(result, 0, 1.0, at_ports, 0, totals)
    for p in range(block.ports):
        if not is_used(block.used, p):
            continue
        o, target, at = totals + 18 * n * p, port_at(n, p), columns_at(n, p)
        speed = six(block.law, 0, target + layout.PORT_TWIST)
        for j in range(n):
            x, y, z = column_of(at_ports, o, n, j), column_of(at_ports, o + 6 * n, n, j), column_of(at_ports, o + 12 * n, n, j)
            put_column(result, at, n, j, x)
            put_column(result, at + 6 * n, n, j, minus(y, twist_cross(x, speed)))
            put_column(result, at + 12 * n, n, j, minus(z, twist_cross(port_column(block.law, target, n, j), speed)))
    return status


LAW = CompiledLaw(
    "soft", terms=_terms, outward=_outward, inward=_inward, slopes=_slopes, energy_stage=_energy, room=soft.room_of
)
