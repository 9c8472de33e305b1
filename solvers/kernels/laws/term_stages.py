"""The stages of inverse dynamics for kinds of blocks that have none of their own: from what their ``terms`` writes.

``[W_P; tau] = M [A_P; a] + h + sum_k [Ad(g_k)^-T; S_k^T] W_k``; a port's twist is ``Ad(g)^-1 V_P + S v``, its acceleration
``Ad(g)^-1 A_P + S a + gamma``.
"""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, is_used, law_size, port_at, result_at
from titop.solvers.kernels.interface.stages import Call, call_at, ints_at, row_at, vector_at
from titop.solvers.kernels.spatial.algebra import add_six, carry_wrench, dot, entry_of, six
from titop.solvers.kernels.tree.general import write_port_accelerations, write_port_twists
from titop.solvers.native.kernel import Stage, helper


@helper
def write_result(n, ports, used, law, x, a, wrenches, result, o):
    """Write W_P and tau into ``result[0]`` from `o`, from M, h and the ports in `law` and the ports' wrenches in `wrenches`."""
    write_own_result(n, law, x, a, result, o)
    add_port_wrenches(n, ports, used, law, wrenches, result, o)


@helper
def write_own_result(n, law, x, a, result, o):
    """Write what W_P and tau are without wrenches at the ports, ``M x + h``."""
    size = 6 + n
    for r in range(size):
        total = law[0, bias_at(n) + r] + dot(six(law, 0, r * size), x)
        for j in range(n):
            total += law[0, r * size + 6 + j] * a[j]
        result[0, o + r] = total


@helper
def add_port_wrenches(n, ports, used, law, wrenches, result, o):
    """Add to W_P and tau at ``result[0, o]`` what the ports' wrenches in `wrenches` ask for."""
    for p in range(ports):
        if not is_used(used, p):
            continue
        at = port_at(n, p)
        wrench = six(wrenches, 0, at + layout.PORT_WRENCH)
        add_six(result, 0, o, carry_wrench(law, 0, at, wrench))
        for r in range(6):
            s, w = at + layout.PORT_S + r * n, entry_of(wrench, r)
            for j in range(n):
                result[0, o + 6 + j] += law[0, s + j] * w


def _outward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    if known == layout.UNKNOWN:
        sizes, own = (n, ports, used, number_count, passive, known), ints_at(stages, 1, layout.STAGE_COLUMNS)
        status = call_at(own[0, layout.TERMS], (*sizes, stages, numbers, q, v, a, twist, acceleration, law, room, slopes))
        if status != layout.OK:
            return status
    record = row_at(law, law_size(n, ports))
    write_port_twists(n, ports, used, record, 0, six(row_at(twist, 6), 0, 0), vector_at(v, n), 0)
    write_port_accelerations(n, ports, used, record, 0, six(row_at(acceleration, 6), 0, 0), vector_at(a, n), 0)
    return layout.OK


def _inward(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
    record, x = row_at(law, law_size(n, ports)), six(row_at(acceleration, 6), 0, 0)
    write_result(n, ports, used, record, x, vector_at(a, n), record, record, result_at(n))
    return layout.OK


OUTWARD = Stage("outward_from_terms", _outward, len(Call._fields))
INWARD = Stage("inward_from_terms", _inward, len(Call._fields))
