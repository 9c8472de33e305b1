"""General blocks: blocks with own coordinates, whose law stands in the array ``law`` (one row; see `layout`).

For a block at offset o with n own coordinates, ``x = [A; a]`` has 6 + n entries; `records` says where the rest stands.
"""

from __future__ import annotations

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, carried_at, is_used, port_at
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    carry_inertia,
    carry_wrench,
    column_of,
    dot,
    entry_of,
    inertia_times,
    plus,
    put_six,
    six,
    transport,
)
from titop.solvers.native.kernel import helper


@helper
def subspace_column(ints, law, i, p, j):
    """Return column j of S at the port of general block p that carries element (or load) i."""
    return port_column(law, ints[i, layout.PORT], ints[p, layout.OWN], j)


@helper
def port_column(law, o, n, j):
    """Return column j of S at the port at ``law[0, o]`` of a block with n own coordinates."""
    return column_of(law, o + layout.PORT_S, n, j)


@helper
def at_port(n, law, o, x, rates, first):
    """Return ``Ad(g)^-1 x + S y`` at the port at ``law[0, o]`` of a block whose rates y stand from ``rates[first]``."""
    x0, x1, x2, x3, x4, x5 = transport(law, 0, o, x)
    s = o + layout.PORT_S
    for j in range(n):
        y = rates[first + j]
        x0 += law[0, s + j] * y
        x1 += law[0, s + n + j] * y
        x2 += law[0, s + 2 * n + j] * y
        x3 += law[0, s + 3 * n + j] * y
        x4 += law[0, s + 4 * n + j] * y
        x5 += law[0, s + 5 * n + j] * y
    return x0, x1, x2, x3, x4, x5


@helper
def write_port_twists(n, ports, used, law, o, x, rates, first):
    """Write the twists of the ports of a block whose law begins at ``law[0, o]``, and whose own twist is x."""
    for p in range(ports):
        if is_used(used, p):
            at = o + port_at(n, p)
            put_six(law, 0, at + layout.PORT_TWIST, at_port(n, law, at, x, rates, first))


@helper
def write_port_accelerations(n, ports, used, law, o, x, a, first):
    """Write the accelerations of the ports of a block whose own acceleration is x."""
    for p in range(ports):
        if is_used(used, p):
            at = o + port_at(n, p)
            put_six(law, 0, at + layout.PORT_ACC, plus(at_port(n, law, at, x, a, first), six(law, 0, at + layout.PORT_GAMMA)))


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


@helper
def port_effort(ints, law, i, p, w, tau):
    """Add ``S^T W`` to the own efforts of block p, W the wrench at the port that carries element i."""
    for j in range(ints[p, layout.OWN]):
        tau[ints[p, layout.OWN_V] + j] += dot(subspace_column(ints, law, i, p, j), w)


@helper
def law_bias(ints, law, i):
    """Return the parent-port part of block i's h."""
    return six(law, 0, ints[i, layout.LAW] + bias_at(ints[i, layout.OWN]))


@helper
def add_at_port(ints, law, i, p, a, b, c, bias):
    """Add to block p's law what the subtree at the port of element i presents: ``W = M A + bias`` at the port."""
    o, n = ints[p, layout.LAW], ints[p, layout.OWN]
    size = 6 + n
    h = o + bias_at(n)
    bias = plus(bias, inertia_times(a, b, c, six(law, 0, ints[i, layout.PORT] + layout.PORT_GAMMA)))
    for j in range(n):
        column = subspace_column(ints, law, i, p, j)
        law[0, h + 6 + j] += dot(column, bias)
        force = inertia_times(a, b, c, column)
        row = o + (6 + j) * size + 6
        for r in range(n):
            law[0, row + r] += dot(subspace_column(ints, law, i, p, r), force)
        at_parent = carry_wrench(law, 0, ints[i, layout.PORT], force)
        for r in range(6):
            law[0, o + r * size + 6 + j] += at_parent[r]
            law[0, o + (6 + j) * size + r] += at_parent[r]
    at_parent = carry_wrench(law, 0, ints[i, layout.PORT], bias)
    for r in range(6):
        law[0, h + r] += at_parent[r]
    a, b, c = carry_inertia(law, 0, ints[i, layout.PORT], a, b, c)
    _add_block(law, o, size, (a[0], a[3], a[4], a[3], a[1], a[5], a[4], a[5], a[2]))
    _add_block(law, o + 3, size, b)
    _add_block(law, o + 3 * size, size, (b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]))
    _add_block(law, o + 3 * size + 3, size, (c[0], c[3], c[4], c[3], c[1], c[5], c[4], c[5], c[2]))


@helper
def _add_block(law, o, size, m):
    for r in range(3):
        for j in range(3):
            law[0, o + r * size + j] += m[3 * r + j]


@helper
def inertia_blocks(t, i, o, size):
    """Return the blocks a, b, c of the 6x6 inertia at the head of the square matrix at ``t[i, o]``."""
    r0, r1, r2, r3, r4, r5 = o, o + size, o + 2 * size, o + 3 * size, o + 4 * size, o + 5 * size
    a = t[i, r0], t[i, r1 + 1], t[i, r2 + 2], t[i, r0 + 1], t[i, r0 + 2], t[i, r1 + 2]
    b = (
        t[i, r0 + 3], t[i, r0 + 4], t[i, r0 + 5],
        t[i, r1 + 3], t[i, r1 + 4], t[i, r1 + 5],
        t[i, r2 + 3], t[i, r2 + 4], t[i, r2 + 5],
    )  # fmt: skip
    c = t[i, r3 + 3], t[i, r4 + 4], t[i, r5 + 5], t[i, r3 + 4], t[i, r3 + 5], t[i, r4 + 5]
    return a, b, c


@helper
def start_carried(ints, law, i, work):
    """Write what block i alone has to move: along and about all axes, and along each own coordinate."""
    o, n = ints[i, layout.LAW], ints[i, layout.OWN]
    size, at = 6 + n, _carried(ints, i)
    work[i, layout.CARRIED] = law[0, o] + law[0, o + size + 1] + law[0, o + 2 * size + 2]
    work[i, layout.CARRIED + 1] = law[0, o + 3 * size + 3] + law[0, o + 4 * size + 4] + law[0, o + 5 * size + 5]
    for j in range(n):
        law[0, at + j] = law[0, o + (6 + j) * size + 6 + j]


@helper
def _carried(ints, i):
    """Return where what block i's own coordinates carry stands in `law`."""
    return ints[i, layout.LAW] + carried_at(ints[i, layout.OWN], ints[i, layout.PORT_COUNT])


@helper
def carried_on(ints, law, i, p, work, row):
    """Return what element i and what it carries, gathered in a row, are to its parent p; add it to p's own coordinates."""
    x, y, z, mass = work[i, layout.P], work[i, layout.P + 1], work[i, layout.P + 2], work[row, layout.CARRIED]
    turning = work[row, layout.CARRIED + 1] + mass * (x * x + y * y + z * z)
    if law is not None and ints[i, layout.PORT] >= 0:
        at, o = _carried(ints, p), ints[i, layout.PORT] + layout.PORT_P
        for j in range(ints[p, layout.OWN]):
            s0, s1, s2, s3, s4, s5 = subspace_column(ints, law, i, p, j)
            law[0, at + j] += mass * (s0 * s0 + s1 * s1 + s2 * s2) + turning * (s3 * s3 + s4 * s4 + s5 * s5)
        turning += mass * (law[0, o] * law[0, o] + law[0, o + 1] * law[0, o + 1] + law[0, o + 2] * law[0, o + 2])
    return mass, turning


@helper
def eliminate_own(ints, law, i, a, effort, imposed, rounding):
    """Eliminate block i's own coordinates from its law, last to first; return a status.

    A pivot below the part `rounding` of what its coordinate carries is rounding: nothing is moved.

    An eliminated coordinate's row of M keeps its column ``U`` before elimination (and ``1/D`` on the diagonal), its
    entry of h the effort less bias: what `restore_own` needs.
    """
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size = 6 + n
    h, carried = o + bias_at(n), _carried(ints, i)
    for j in range(n - 1, -1, -1):
        if imposed is not None and imposed[k + j]:
            continue
        row, first = o + (6 + j) * size, j - j % 6
        pivot = law[0, row + 6 + j]
        if not everywhere(pivot > rounding * law[0, carried + j]):
            return i
        inverse, rest = 1.0 / pivot, effort[k + j] - law[0, h + 6 + j]
        law[0, row + 6 + j], law[0, h + 6 + j] = inverse, rest
        if imposed is None:
            in_six = first + 6 <= n
            _take(law, o, size, h, j, 6 + first if in_six else 0, (inverse, rest))
            if in_six and j == first:
                _take_six(law, o, size, h, j)
            continue
        for r in range(size):
            if _gone(r, j, k, imposed):
                continue
            scaled = law[0, row + r] * inverse
            law[0, h + r] += scaled * rest
            for c in range(size):
                if not _gone(c, j, k, imposed):
                    law[0, o + r * size + c] -= scaled * law[0, row + c]
    if imposed is not None:
        for j in range(n):
            if imposed[k + j]:
                for r in range(6):
                    law[0, h + r] += law[0, o + r * size + 6 + j] * a[k + j]
    return 0


@helper
def _take(law, o, size, h, j, begin, left):
    """Take what coordinate j has a share in from h and the lower half of M: what is left is symmetric. From one row on."""
    row, (inverse, rest) = o + (6 + j) * size, left
    for r in range(begin, 6 + j):
        share = law[0, row + r] * inverse
        law[0, h + r] += share * rest
        for c in range(max(6, r + 1)):
            law[0, o + r * size + c] -= share * law[0, row + c]


@helper
def _take_six(law, o, size, h, j):
    """Do so for the coordinates j to j + 5: each number is read and written once."""
    row = o + (6 + j) * size
    x0, x1, x2 = part_of(law, row, (size,)), part_of(law, row + size, (size,)), part_of(law, row + 2 * size, (size,))
    row += 3 * size
    x3, x4, x5 = part_of(law, row, (size,)), part_of(law, row + size, (size,)), part_of(law, row + 2 * size, (size,))
    d, rest = column_of(law, o + (6 + j) * (size + 1), size + 1, 0), six(law, 0, h + 6 + j)
    for r in range(6 + j):
        w0, w1, w2, w3, w4, w5 = x0[r] * d[0], x1[r] * d[1], x2[r] * d[2], x3[r] * d[3], x4[r] * d[4], x5[r] * d[5]
        target = part_of(law, o + r * size, (size,))
        law[0, h + r] += dot((w0, w1, w2, w3, w4, w5), rest)
        for c in range(max(6, r + 1)):
            target[c] -= w0 * x0[c] + w1 * x1[c] + w2 * x2[c] + w3 * x3[c] + w4 * x4[c] + w5 * x5[c]


@helper
def _gone(r, j, k, imposed):
    """Tell whether row r takes no part any more when coordinate j is eliminated."""
    if r < 6 + j:
        return False
    return r == 6 + j or imposed is None or not imposed[k + r - 6]


@helper
def restore_own(ints, law, i, x, a, effort, imposed):
    """Fill in block i's own accelerations, first to last, and the efforts of its imposed motions."""
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size = 6 + n
    h = o + bias_at(n)
    for j in range(n):
        if imposed is not None and imposed[k + j]:
            continue
        row = o + (6 + j) * size
        rest = law[0, h + 6 + j] - dot(six(law, 0, row), x)
        for r in range(j if imposed is None else n):
            if not _gone(6 + r, j, k, imposed):
                rest -= law[0, row + 6 + r] * a[k + r]
        a[k + j] = rest * law[0, row + 6 + j]
    if imposed is not None:
        for j in range(n):
            if imposed[k + j]:
                row = o + (6 + j) * size
                total = law[0, h + 6 + j] + dot(six(law, 0, row), x)
                for r in range(n):
                    if imposed[k + r]:
                        total += law[0, row + 6 + r] * a[k + r]
                effort[k + j] = total
