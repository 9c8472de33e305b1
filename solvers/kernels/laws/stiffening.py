"""The law of flexible bodies with second order: compiled twin of `titop.blocks.bodies.second_order`.

Behind the numbers of `modal` stand D_P^-1 (6x6), the moments ``int (1, r0)_k Phi_l dm`` (12 x n), how many halves of them are
not zero, theirs and their H's (1 for a thin body along x, else 2), and where groups of matrices (n x n) begin: that of the
body, of ``int Phi x Phi dm`` (3), H of the moments (6 for each half), ``int Phi_k^T Phi_l dm`` (6: xx, yy, zz, xy, xz, yz);
then one of H (6) for each port. Those that are not zero are kept: a group says how many it keeps, how many of those before the
products, and of each matrix which of the kept it is, or -1; then come the first rows of all that it keeps, side by side, then
the second ones, and so on. Most of what there is to do is multiplying these by q and v, in long loops: what comes of it, a row
(n) for each matrix, is called a table. All else goes by few numbers (`stiffening_body`) and weights of these rows.

A port moves as those of `modal_ports` do, by the shape ``Phi - H q`` at the displacement ``(Phi + Phi - H q) q / 2``.
"""

from __future__ import annotations

from titop.blocks.laws.vectors import unit3
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.laws import stiffening_body as few
from titop.solvers.kernels.laws.matrices import add_passive, add_rows_times, add_times, add_transposed, clear, wide_times
from titop.solvers.kernels.laws.modal import PARTICIPATION, mass_at, numbers_at
from titop.solvers.kernels.laws.modal_ports import SHAPE
from titop.solvers.kernels.spatial.algebra import column_of, dot, full_times, plus, point_acceleration, put_six, scaled, six
from titop.solvers.native.kernel import helper, shared

#: Rows of a table: of ``int Phi x Phi dm`` (3), and of the moments' H; `own_row` is that of the products. The most there are.
STIRRING = 0
SHORTENING = 3
TABLE = 21


@helper
def inverse_at(block):
    """Return where ``D_P^-1`` stands."""
    return numbers_at(block.n, block.ports)


@helper
def moments_at(block):
    """Return where the moments of first order stand (12 x n)."""
    return inverse_at(block) + 36


@helper
def halves_of(block):
    """Return how many halves of the moments are not zero."""
    return int(block.numbers[0, moments_at(block) + 12 * block.n])


@helper
def own_row(block):
    """Return the row of a table where the products begin: six, the last."""
    return SHORTENING + 6 * halves_of(block)


@helper
def group_at(block, k):
    """Return where the matrices of the body stand (k = 0), or those of port k - 1."""
    return int(block.numbers[0, moments_at(block) + 12 * block.n + 1 + k])


@helper
def write_table(modes, group, matrices, count, n, x, t, o):
    """Write the products of the first `count` of a group's `matrices` and x (n) into the rows from ``t[0, o]``."""
    stride = int(modes[0, group]) * n
    width, first = stride if count == matrices else int(modes[0, group + 1]) * n, group + 2 + matrices
    clear(t, o, width)
    add_rows_times(modes, first, stride, width, n, x, t, o)
    for back in range(1, count + 1):  # none stands behind its place: from the last to the first
        k = count - back
        kept = int(modes[0, group + 2 + k])
        if kept < 0:
            clear(t, o + k * n, n)
        elif kept < k:
            place, product = part_of(t, o + k * n, (n,)), part_of(t, o + kept * n, (n,))
            for j in range(n):
                place[j] = product[j]


@helper
def write_tables(block, by_q, by_v):
    """Write the body's table of q, and that of v but for the products."""
    group, own = group_at(block, 0), own_row(block)
    write_table(block.numbers, group, own + 6, own + 6, block.n, block.q, by_q, 0)
    write_table(block.numbers, group, own + 6, own, block.n, block.v, by_v, 0)


@helper
def add_three(t, o, n, x, y, z, target, to):
    """Add three rows (n) side by side, times their weights, to ``target[0]`` from `to`."""
    for j in range(n):
        target[0, to + j] += x * t[0, o + j] + y * t[0, o + n + j] + z * t[0, o + 2 * n + j]


@shared
def write_few(block, a, acceleration, by_q, by_v, f):
    """Write the numbers of `stiffening_body`; `by_q` and `by_v` are tables."""
    modes, n, q, v, twist = block.numbers, block.n, block.q, block.v, block.twist
    rates, moments, halves = wide_times(modes, PARTICIPATION, n, v), moments_at(block), halves_of(block)
    clear(f, few.M1, few.FIRST_SECOND - few.M1)
    clear(f, few.M2_SECOND, few.STIRRED_RATE - few.M2_SECOND)
    for k in range(halves):  # six rows at a time: sums side by side
        row, first = (SHORTENING + 6 * k) * n, moments + 6 * k * n
        put_six(f, 0, few.M1 + 6 * k, wide_times(modes, first, n, q))
        put_six(f, 0, few.M1_RATE + 6 * k, wide_times(modes, first, n, v))
        put_six(f, 0, few.M2 + 6 * k, scaled(-0.5, wide_times(by_q, row, n, q)))
        put_six(f, 0, few.M2_RATE + 6 * k, scaled(-1.0, wide_times(by_q, row, n, v)))
        put_six(f, 0, few.M2_SECOND + 6 * k, scaled(-1.0, plus(wide_times(by_q, row, n, a), wide_times(by_v, row, n, v))))
    stirred, stirred_rate = wide_times(by_q, STIRRING * n, n, v), wide_times(by_q, STIRRING * n, n, a)
    for k in range(3):
        f[0, few.SPUN_RATE + k] = rates[3 + k]
        f[0, few.STIRRED + k], f[0, few.STIRRED_RATE + k] = stirred[k], stirred_rate[k]
    own = own_row(block) * n
    put_six(f, 0, few.PRODUCTS, wide_times(by_q, own, n, q))
    put_six(f, 0, few.PRODUCTS_RATE, scaled(2.0, wide_times(by_q, own, n, v)))
    put_six(f, 0, few.FIRST_SECOND, wide_times(modes, PARTICIPATION, n, a))
    put_six(f, 0, few.TWIST, (0.0, 0.0, 0.0, twist[3], twist[4], twist[5]))
    put_six(f, 0, few.ACCELERATION, point_acceleration(twist, acceleration))
    f[0, few.VELOCITY], f[0, few.VELOCITY + 1], f[0, few.VELOCITY + 2] = twist[0], twist[1], twist[2]


@helper
def add_taken(block, by_q, taken, t, o):
    """Add the efforts that `taken` stands for, but for those of ``int Phi x Phi dm``, to ``t[0]`` from `o`."""
    n = block.n
    add_transposed(block.numbers, PARTICIPATION, n, six(taken, 0, few.BY_FIRST), t, o)
    for half in range(halves_of(block)):
        add_transposed(block.numbers, moments_at(block) + 6 * half * n, n, moments_part(taken, half), t, o)
        add_transposed(by_q, (SHORTENING + 6 * half) * n, n, scaled(-1.0, six(taken, 0, few.BY_SECOND + 6 * half)), t, o)
    add_transposed(by_q, own_row(block) * n, n, six(taken, 0, few.BY_PRODUCTS), t, o)


@helper
def moments_part(taken, half):
    """Return what half the moments of first order turn into efforts (6); their first three rows take no part."""
    if half == 0:
        return 0.0, 0.0, 0.0, taken[0, few.BY_MOMENTS], taken[0, few.BY_MOMENTS + 1], taken[0, few.BY_MOMENTS + 2]
    return six(taken, 0, few.BY_MOMENTS + 3)


@helper
def write_alone(block, a, f, by_q, by_v, taken, t, o):
    """Write the wrench and the efforts that the body takes alone into ``t[0]`` from `o`, from its numbers f."""
    modes, n = block.numbers, block.n
    few.take_alone(modes, inverse_at(block), f, taken)
    put_six(t, 0, o, six(taken, 0, few.WRENCH))
    first = o + 6
    clear(t, first, n)
    add_taken(block, by_q, taken, t, first)
    add_three(
        by_q, STIRRING * n, n, f[0, few.ACCELERATION + 3], f[0, few.ACCELERATION + 4], f[0, few.ACCELERATION + 5], t, first
    )
    add_three(by_v, STIRRING * n, n, 2.0 * f[0, few.TWIST + 3], 2.0 * f[0, few.TWIST + 4], 2.0 * f[0, few.TWIST + 5], t, first)
    add_times(modes, mass_at(n), n, a, t, first)
    if block.passive:
        add_passive(modes, mass_at(n) + n * n, n, block.q, block.v, t, first)


@helper
def write_shape(block, p, t, o):
    """Write the shape ``Phi - H q`` (6 x n) of the p-th port into ``t[0]`` from `o`."""
    n = block.n
    write_table(block.numbers, group_at(block, 1 + p), 6, 6, n, block.q, t, o)
    undeformed, shape = part_of(block.numbers, numbers_at(n, p) + SHAPE, (6 * n,)), part_of(t, o, (6 * n,))
    for k in range(6 * n):
        shape[k] = undeformed[k] - shape[k]


@helper
def displacement_of(block, shape, t, o):
    """Return displacement and rotation vector (6) of a port whose shape at q stands at ``t[0, o]``."""
    return scaled(0.5, plus(wide_times(block.numbers, shape, block.n, block.q), wide_times(t, o, block.n, block.q)))


@helper
def curvature_of(block, p, room):
    """Return ``-v^T H v`` (6) of the p-th port; the row `room` (6 n) is used up."""
    write_table(block.numbers, group_at(block, 1 + p), 6, 6, block.n, block.v, room, 0)
    return scaled(-1.0, wide_times(room, 0, block.n, block.v))


@shared
def write_inertia(block, by_q, f, columns):
    """Write M, from the table of q and the numbers of `stiffening_body`; the row `columns` is room for it."""
    modes, n, law, size, inverse = block.numbers, block.n, block.law, 6 + block.n, inverse_at(block)
    halves = halves_of(block)
    e0, z0 = _turned(modes, inverse, f, 0)
    e1, z1 = _turned(modes, inverse, f, 1)
    e2, z2 = _turned(modes, inverse, f, 2)
    _write_rigid(modes, f, e0, e1, e2, law, size)
    for j in range(n):
        row, first = (6 + j) * size, column_of(modes, PARTICIPATION, n, j)
        more = scaled(-1.0, _momentum_column(by_q, n, halves, j))
        put_six(columns, 0, 12 * j, more)
        put_six(columns, 0, 12 * j + 6, full_times(modes, 0, inverse, plus(first, scaled(0.5, more))))
        put_six(law, 0, row, plus(first, more))
        law[0, row + 3] += by_q[0, STIRRING * n + j] + dot(more, z0) + dot(first, e0)
        law[0, row + 4] += by_q[0, (STIRRING + 1) * n + j] + dot(more, z1) + dot(first, e1)
        law[0, row + 5] += by_q[0, (STIRRING + 2) * n + j] + dot(more, z2) + dot(first, e2)
        for r in range(6):
            law[0, r * size + 6 + j] = law[0, row + r]
    for j in range(n):
        more, own = six(columns, 0, 12 * j), six(columns, 0, 12 * j + 6)
        for r in range(j + 1):
            both = dot(more, six(columns, 0, 12 * r + 6)) + dot(own, six(columns, 0, 12 * r))
            law[0, (6 + j) * size + 6 + r] = modes[0, mass_at(n) + j * n + r] + both
            law[0, (6 + r) * size + 6 + j] = law[0, (6 + j) * size + 6 + r]


@helper
def _momentum_column(t, n, halves, j):
    """Return ``mu`` of column j of the table's rows of the moments."""
    o = SHORTENING * n + j
    x, y, z = t[0, o], t[0, o + n], t[0, o + 2 * n]
    if halves == 1:
        return x, y, z, 0.0, -t[0, o + 5 * n], t[0, o + 4 * n]
    return x, y, z, t[0, o + 8 * n] - t[0, o + 10 * n], t[0, o + 9 * n] - t[0, o + 5 * n], t[0, o + 4 * n] - t[0, o + 6 * n]


@helper
def _turned(modes, inverse, f, k):
    """Return ``D_P^-1 B(m2)`` and ``D_P^-1 B(m1 + m2)`` along axis k."""
    second = full_times(modes, 0, inverse, few.spin_times(f, few.M2, unit3(k)))
    return second, plus(second, full_times(modes, 0, inverse, few.spin_times(f, few.M1, unit3(k))))


@helper
def _write_rigid(modes, f, e0, e1, e2, law, size):
    """Write M_PP; ``e = D_P^-1 B(m2)``, column by column."""
    mass, sx, sy, sz = modes[0, 0], modes[0, 1], modes[0, 2], modes[0, 3]
    x, y = sx + f[0, few.M1] + f[0, few.M2], sy + f[0, few.M1 + 1] + f[0, few.M2 + 1]
    z = sz + f[0, few.M1 + 2] + f[0, few.M2 + 2]
    ixx, iyy, izz, ixy, ixz, iyz = six(modes, 0, 4)
    put_six(law, 0, 0, (mass, 0.0, 0.0, 0.0, z, -y))
    put_six(law, 0, size, (0.0, mass, 0.0, -z, 0.0, x))
    put_six(law, 0, 2 * size, (0.0, 0.0, mass, y, -x, 0.0))
    put_six(law, 0, 3 * size, (0.0, -z, y, ixx, ixy, ixz))
    put_six(law, 0, 4 * size, (z, 0.0, -x, ixy, iyy, iyz))
    put_six(law, 0, 5 * size, (-y, x, 0.0, ixz, iyz, izz))
    for k in range(3):
        w = unit3(k)
        b1, b2 = few.spin_times(f, few.M1, w), few.spin_times(f, few.M2, w)
        both, own = plus(b1, b2), few.own_times(f, few.PRODUCTS, w)
        sides = dot(b1, e0) + dot(b2, e0), dot(b1, e1) + dot(b2, e1), dot(b1, e2) + dot(b2, e2)
        for r in range(3):
            law[0, (3 + r) * size + 3 + k] += both[3 + r] + own[r] + sides[r]
            law[0, (3 + k) * size + 3 + r] += both[3 + r] + dot(b1, e0 if r == 0 else (e1 if r == 1 else e2))
