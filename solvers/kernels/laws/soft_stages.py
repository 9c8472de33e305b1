"""The stages of deformable bodies, from programs of each body's own: terms, inverse dynamics, linearised law and energy.

`soft_points` says where things stand and calls programs.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, columns_at, is_used, port_at, result_at
from titop.solvers.kernels.interface.stages import row_at
from titop.solvers.kernels.laws import soft_points as soft
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw
from titop.solvers.kernels.laws.matrices import add_passive_slopes, add_scaled, clear, put_column, wide_times
from titop.solvers.kernels.spatial.algebra import column_of, minus, plus, put_six, six, transport, twist_cross
from titop.solvers.kernels.tree.general import add_port_wrenches, port_column, write_port_accelerations, write_port_twists
from titop.solvers.native.kernel import helper


def _terms(block):
    n, size, kept = block.n, 6 + block.n, row_at(block.room, soft.kept_size(block))
    points, half, status = soft.points_of(block.numbers), size * (size + 1) // 2, layout.OK
    totals, whole = np.empty((1, half + size), block.q.dtype), block.known == layout.UNKNOWN
    at_ports = np.empty((1, (soft.PORT_SUBSPACE + 6 * n) * block.ports + 1), block.q.dtype)
    soft.write_shared(n, block.numbers, block.q, block.v, block.twist, kept)
    if block.known != layout.ONLY_PORTS:
        program = soft.TERMS if whole and block.passive else soft.INERTIA
        status = soft.run(block, program, points, kept, kept, totals, 0)
        if whole and not block.passive:
            status = min(status, soft.run(block, soft.INERTIAL_EFFORTS, points, kept, kept, totals, half))
        soft.put_inertia(size, totals, 0, block.law)
        clear(block.law, bias_at(n), size)
        if whole:
            add_scaled(block.law, bias_at(n), 1.0, totals, half, size)
    return min(status, _write_ports(block, kept, at_ports))


@helper
def _write_ports(block, kept, at_ports):
    """Write pose, gamma and S of all ports; return a status."""
    n, record, size = block.n, block.law, soft.PORT_SUBSPACE + 6 * block.n
    status = soft.run(block, soft.PORT_COLUMNS, 1, kept, kept, at_ports, 0)
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
    n, kept, status = block.n, row_at(block.room, soft.kept_size(block)), layout.OK
    soft.write_shared(n, block.numbers, block.q, block.v, block.twist, kept)
    soft.write_rates(block, kept)
    if block.known == layout.UNKNOWN:
        at_ports = np.empty((1, (soft.PORT_SUBSPACE + 6 * n) * block.ports + 1), block.q.dtype)
        status = _write_ports(block, kept, at_ports)
    write_port_twists(n, block.ports, block.used, block.law, 0, block.twist, block.v, 0)
    write_port_accelerations(n, block.ports, block.used, block.law, 0, block.acceleration, block.a, 0)
    return status


def _inward(block):
    n, law, result, kept = block.n, block.law, result_at(block.n), row_at(block.room, soft.kept_size(block))
    totals, program = np.empty((1, 6 + n), block.q.dtype), soft.EFFORTS if block.passive else soft.INERTIAL_EFFORTS
    status = soft.run(block, program, soft.points_of(block.numbers), kept, kept, totals, 0)
    clear(law, result, 6 + n)
    add_scaled(law, result, 1.0, totals, 0, 6 + n)
    add_port_wrenches(n, block.ports, block.used, law, law, law, result)
    return status


def _energy(block):
    kept = row_at(block.room, soft.kept_size(block))
    soft.write_shared(block.n, block.numbers, block.q, block.v, block.twist, kept)
    return soft.run(block, soft.STORED, soft.points_of(block.numbers), kept, kept, block.law, 0)


# -- the linearised law, from derivatives in programs


def _slopes(block):
    """Write the linearised law and M; every S stands in `law` already. See `stages`."""
    n, size, slopes, kept = block.n, 6 + block.n, block.slopes, row_at(block.room, soft.kept_size(block))
    points, derivatives = soft.points_of(block.numbers), columns_at(n, 0)
    soft.write_shared(n, block.numbers, block.q, block.v, block.twist, kept)
    soft.write_rates(block, kept)
    totals = np.empty((1, derivatives + size * (size + 1) // 2), block.q.dtype)
    status = soft.run(block, soft.SLOPES, points, kept, kept, totals, 0)
    clear(slopes, 0, derivatives)
    add_scaled(slopes, 0, 1.0, totals, 0, derivatives)
    soft.put_inertia(size, totals, derivatives, block.law)
    if block.passive:
        resisted = np.empty((1, 2 * n * n + 1), block.q.dtype)
        status = min(status, soft.run(block, soft.RESISTANCE_SLOPES, points, kept, kept, resisted, 0))
        add_passive_slopes(resisted, 0, n, slopes)
    wrenches = np.empty((1, 6 * block.ports + 1), block.q.dtype)
    at_ports = np.empty((1, (6 + n + 18 * block.ports) * n + 1), block.q.dtype)
    return min(status, _write_port_slopes(block, kept, wrenches, at_ports))


@helper
def _write_port_slopes(block, kept, wrenches, at_ports):
    """Add what the ports' wrenches change by, and write X, Y and Z; return a status."""
    n, result, totals = block.n, block.slopes, (6 + block.n) * block.n
    for p in range(block.ports):
        for r in range(6):
            wrenches[0, 6 * p + r] = block.law[0, port_at(n, p) + layout.PORT_WRENCH + r] if is_used(block.used, p) else 0.0
    status = soft.run(block, soft.PORT_SLOPES, 1, kept, wrenches, at_ports, 0)
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
