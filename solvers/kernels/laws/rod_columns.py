"""What a rod's coordinates and the strains of its steps move; its mass matrix; and what presses on them.

A coordinate moves one component of strain. A *table* has, of both places of collocation of a step, six numbers for a unit of
each strain component in [k; s]: a twist of all that lies beyond the step, say. All maps here are matrices of dual numbers (see
`rod_exponential`): if ``[y; z]`` comes of a turn about an axis, ``[z; 0]`` comes of a shift along it.

S has what the coordinates move a place by, in inertial axes, those of the base at this moment. About each place no digits are
lost in slender rods, whose parts turn easily about themselves: M is found by it. About the base X is ``dS/dt`` and Y
``d2S/dt2``; what a step adds to S is ``T z``, z what a coordinate adds to Omega.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.matrices import (
    add_column,
    add_product,
    add_rows,
    add_scaled,
    add_three_rows,
    clear,
    put_column,
    put_wide_product,
)
from titop.solvers.kernels.laws.rod_exponential import (
    dual_times,
    rates_of,
    tangent_back,
    tangent_back_slope,
    tangent_matrix,
    tangent_rates,
)
from titop.solvers.kernels.laws.rod_motion import MAGNUS, momentum_of, on_first, on_second, put_pressure, strain_at
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    add_three,
    carry_twist,
    carry_wrench,
    column_of,
    cross,
    full_times,
    minus,
    plus,
    put_six,
    rotate_six,
    rotate_six_back,
    rotate_symmetric,
    scaled,
    six,
    three,
    transport,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper, shared

#: Numbers of a table.
TABLE = 72

#: Rows of S, X and Y of a place.
ROWS = 18

#: Numbers of one place's.
_HALF = 36

#: Where shifts begin in one, behind turns.
_SHIFTS = 18


@helper
def write_moved(rod, k, table):
    """Write what the strains of step k move its end by, about the end, in the axes of the base."""
    length, kept, here, end = rod.numbers[0, rods.step_at(rod, k)], rod.kept, rods.kept_step(rod, k), rods.kept_place(k + 1)
    terms, half = rods.terms_at(kept, here), 0.5 * length
    x, y, z = tangent_matrix(six(kept, 0, here + rods.OMEGA), terms[0], terms[1])
    columns = rotate_six(kept, 0, end, scaled(half, x)), rotate_six(kept, 0, end, scaled(half, y))
    columns = (*columns, rotate_six(kept, 0, end, scaled(half, z)))
    for place in range(2):
        beside = scaled(_turning(length, place), strain_at(kept, here + rods.STRAINS + 6 - 6 * place))
        _put_twists(table, 0, place, _sums(columns, _crossed(beside, columns)))


@helper
def _turning(length, place):
    """Return what the twist of the other strain has to be times, if half the length times this one adds to Omega."""
    return (2.0 if place else -2.0) * MAGNUS * length


@helper
def _crossed(w, columns):
    """Return the product of a dual matrix, by its columns, and the twist w times turns about the three axes."""
    (v0, v1, v2, w0, w1, w2), (x, y, z) = w, columns
    a, b, c = (w0, v0), (w1, v1), (w2, v2)
    first, second = minus(dual_times(c, y), dual_times(b, z)), minus(dual_times(a, z), dual_times(c, x))
    return first, second, minus(dual_times(b, x), dual_times(a, y))


@helper
def _sums(x, y):
    return plus(x[0], y[0]), plus(x[1], y[1]), plus(x[2], y[2])


@helper
def _put_twists(t, o, place, columns):
    """Write what turns of the strain at a place do."""
    at, (x, y, z) = o + _HALF * place, columns
    _put_twist(t, at, x)
    _put_twist(t, at + 6, y)
    _put_twist(t, at + 12, z)


@helper
def _put_twist(t, o, x):
    """Write what a turn does, and what a shift along its axis does."""
    put_six(t, 0, o, x)
    put_six(t, 0, o + _SHIFTS, (x[3], x[4], x[5], 0.0, 0.0, 0.0))


@helper
def write_moving(rod, k, tables, own, other):
    """Write what the strains of step k add to S of its end, about the base, and from `other` on what to both rates of S."""
    length, kept, here, end = rod.numbers[0, rods.step_at(rod, k)], rod.kept, rods.kept_step(rod, k), rods.kept_place(k + 1)
    omega, first = six(kept, 0, here + rods.OMEGA), six(kept, 0, here + rods.OMEGA_RATE)
    second, terms, still = six(kept, 0, here + rods.OMEGA_SECOND), rods.terms_at(kept, here), other + 2 * TABLE
    rates, speed, rate = rates_of(omega, first, second, terms), six(kept, 0, end + rods.TWIST), six(kept, 0, end + rods.RATE)
    for d in range(3):
        x, y, z = tangent_rates(omega, first, second, terms, rates, scaled(0.5 * length, unit(3 + d)))
        # from rates in the axes of the step's end to rates in inertial ones
        y1 = plus(y, twist_cross(speed, x))
        y2 = plus(plus(z, twist_cross(rate, x)), twist_cross(speed, plus(y, y1)))
        put_six(tables, 0, still + 6 * d, carry_twist(kept, 0, end, x))
        put_six(tables, 0, still + 18 + 6 * d, carry_twist(kept, 0, end, y1))
        put_six(tables, 0, still + 36 + 6 * d, carry_twist(kept, 0, end, y2))
    x, y, z = _three_at(tables, still), _three_at(tables, still + 18), _three_at(tables, still + 36)
    for place in range(2):
        beside, turning = here + rods.STRAINS + 6 - 6 * place, _turning(length, place)
        u, v = scaled(turning, strain_at(kept, beside)), scaled(turning, strain_at(kept, beside + 12))
        w = scaled(turning, strain_at(kept, beside + 24))
        _put_twists(tables, own, place, _sums(x, _crossed(u, x)))
        _put_twists(tables, other, place, _sums(_sums(y, _crossed(u, y)), _crossed(v, x)))
        bent = _sums(_sums(z, _crossed(u, z)), _crossed(scaled(2.0, v), y))
        _put_twists(tables, other + TABLE, place, _sums(bent, _crossed(w, x)))


@helper
def _three_at(t, o):
    return six(t, 0, o), six(t, 0, o + 6), six(t, 0, o + 12)


@helper
def write_pressing(length, kept, here, wrench, tables, to):
    """Write what each strain of a step changes of how the wrench beyond, held, presses on the first, and on the second."""
    o, omega = here + rods.STRAINS, six(kept, 0, here + rods.OMEGA)
    terms = rods.terms_at(kept, here)
    pressed = tangent_back(omega, terms[0], terms[1], wrench)
    x, y = strain_at(kept, o), strain_at(kept, o + 6)
    for d in range(6):
        axis, is_first = scaled(0.5 * length, unit(3 + d % 3)), d < 3
        beside = scaled(_turning(length, 0 if is_first else 1), y if is_first else x)
        changed = tangent_back_slope(omega, terms, plus(axis, twist_cross(beside, axis)), wrench)
        bracket = scaled(_turning(length, 1), wrench_cross(axis, pressed))
        first, second = on_first(length, y, changed), on_second(length, x, changed)
        if is_first:
            second = minus(second, bracket)
        else:
            first = plus(first, bracket)
        _put_pressure(tables, to, d, first)
        _put_pressure(tables, to + TABLE, d, second)


@helper
def _put_pressure(t, o, d, w):
    """Write what a turn presses on a strain, and what a shift along its axis does."""
    at = o + _HALF * (d // 3) + 6 * (d % 3)
    put_pressure(t, at, w)
    put_six(t, 0, at + _SHIFTS, (w[0], w[1], w[2], 0.0, 0.0, 0.0))


# -- columns of places


@helper
def write_columns(rod, small, columns):
    """Write S of all places (6 x n each), about each place, in the axes of the base; `small` is room for a table."""
    n = rod.n
    clear(columns, 0, 6 * n)
    for k in range(rod.intervals + rod.ports):
        if rods.has_step(rod, k):
            begin, end = rods.start_of(rod, k), k + 1
            x, y, z = three(rod.kept, 0, rods.kept_place(begin) + 9)
            a, b, c = three(rod.kept, 0, rods.kept_place(end) + 9)
            write_moved(rod, k, small)
            add_moved(rod, rods.step_at(rod, k), small, 0, columns, 6 * n * begin, 6 * n * end, (a - x, b - y, c - z))


@helper
def add_moved(rod, o, table, at, x, s, to, by):
    """Write to ``x[0, to]`` the 6 x n matrix at ``x[0, s]`` and, added, what a table makes of the shapes of the step at `o`.

    If the first is an S, about a point from which the second's is apart `by` so much, it is moved there (None: it is not).
    Coordinates of one component, which follow each other, share what a unit of strain does; that of a shift has three rows.
    """
    n, components, begin = rod.n, vector_at(address_of(rod.numbers, rods.COMPONENTS), rod.n), 0
    first = vector_at(address_of(rod.numbers, o + rods.SHAPES), n)
    second = vector_at(address_of(rod.numbers, o + rods.SHAPES + n), n)
    while begin < n:
        stop, c = rods.run_end(n, components, begin), at + 6 * int(components[begin])
        here, there, turning = six(table, 0, c), six(table, 0, c + _HALF), rods.turns(rod, begin)
        for j in range(begin, stop):
            f, g = first[j], second[j]
            v0, v1, v2, w0, w1, w2 = column_of(x, s, n, j)
            if turning:
                if by is not None:
                    a, b, c = cross(w0, w1, w2, by[0], by[1], by[2])
                    v0, v1, v2 = v0 + a, v1 + b, v2 + c
                w0, w1 = w0 + f * here[3] + g * there[3], w1 + f * here[4] + g * there[4]
                w2 = w2 + f * here[5] + g * there[5]
            v0, v1 = v0 + f * here[0] + g * there[0], v1 + f * here[1] + g * there[1]
            put_column(x, to, n, j, (v0, v1, v2 + f * here[2] + g * there[2], w0, w1, w2))
        begin = stop


@helper
def move_origin(n, by, x, s, t, to):
    """Write to ``t[0, to]`` the S at ``x[0, s]``, moved to a point that is apart `by` so much, in the same axes."""
    for j in range(n):
        v0, v1, v2, w0, w1, w2 = column_of(x, s, n, j)
        a, b, c = cross(w0, w1, w2, by[0], by[1], by[2])
        put_column(t, to, n, j, (v0 + a, v1 + b, v2 + c, w0, w1, w2))


@helper
def is_massive(rod, i):
    """Tell whether point i has inertia."""
    numbers, o, whole = rod.numbers, rods.inertia_at(rod.n, rod.intervals) + 4 * i, rods.whole_at(rod.numbers, i)
    if whole > 0:
        total = 0.0
        for r in range(6):
            total += numbers[0, whole + 7 * r]
        return total != 0.0
    return numbers[0, o] != 0.0 or numbers[0, o + 1] != 0.0 or numbers[0, o + 2] != 0.0 or numbers[0, o + 3] != 0.0


@helper
def write_mass(rod, columns, small, law):
    """Write M; `small` is as for `add_mass`."""
    size = 6 + rod.n
    clear(law, 0, 6 * size)
    for j in range(6, size):
        clear(law, j * size + 6, j - 5)
    for i in range(rod.intervals + 1):
        if is_massive(rod, i):
            add_mass(rod, i, columns, 6 * rod.n * i, small, law)
    mirror_mass(rod.n, law)


@helper
def add_mass(rod, i, columns, s, small, law):
    """Add point i to M, but for what `mirror_mass` writes, by its S at ``columns[0, s]``: see `write_columns`.

    `small` is room for a 6 x 6 matrix.
    """
    n, size, place, kept = rod.n, 6 + rod.n, rods.kept_place(i), rod.kept
    numbers, o, whole = rod.numbers, rods.inertia_at(n, rod.intervals) + 4 * i, rods.whole_at(rod.numbers, i)
    m, (x, y, z), moments = numbers[0, o], three(kept, 0, place + 9), three(numbers, 0, o + 1)
    xx, yy, zz, xy, xz, yz = rotate_symmetric(kept, 0, place, (*moments, 0.0, 0.0, 0.0))
    if whole > 0:
        for c in range(6):
            turned = momentum_of(rod, i, rotate_six_back(kept, 0, place, unit(c)))
            put_column(small, 0, 6, c, rotate_six(kept, 0, place, turned))
            add_column(law, 0, size, c, carry_wrench(kept, 0, place, momentum_of(rod, i, transport(kept, 0, place, unit(c)))))
    else:
        mx, my, mz = m * x, m * y, m * z
        add_six(law, 0, 0, (m, 0.0, 0.0, 0.0, mz, -my))
        add_six(law, 0, size, (0.0, m, 0.0, -mz, 0.0, mx))
        add_six(law, 0, 2 * size, (0.0, 0.0, m, my, -mx, 0.0))
        add_three(law, 0, 3 * size + 3, (xx + my * y + mz * z, xy - mx * y, xz - mx * z))
        add_three(law, 0, 4 * size + 3, (0.0, yy + mx * x + mz * z, yz - my * z))
        add_three(law, 0, 5 * size + 3, (0.0, 0.0, zz + mx * x + my * y))
    for j in range(n):
        v0, v1, v2, a, b, c = column_of(columns, s, n, j)
        f, t = (m * v0, m * v1, m * v2), (xx * a + xy * b + xz * c, xy * a + yy * b + yz * c, xz * a + yz * b + zz * c)
        if whole > 0:
            f0, f1, f2, t0, t1, t2 = full_times(small, 0, 0, (v0, v1, v2, a, b, c))
            f, t = (f0, f1, f2), (t0, t1, t2)
        a, b, c = cross(x, y, z, f[0], f[1], f[2])
        add_column(law, 6, size, j, (*f, t[0] + a, t[1] + b, t[2] + c))
        row = (6 + j) * size + 6
        if whole > 0 or rods.turns(rod, j):
            add_rows(law, row, (*f, *t), columns, s, n, j + 1)
        else:
            add_three_rows(law, row, f, columns, s, n, j + 1)


@helper
def mirror_mass(n, law):
    """Write M where symmetry says it: the base's lower half, what stands left of the coordinates' own, and their upper half."""
    size = 6 + n
    for r in range(size):
        for c in range(min(r, 6)):
            law[0, r * size + c] = law[0, c * size + r]
        for c in range(6, r):
            law[0, c * size + r] = law[0, r * size + c]


# -- columns about the base


@helper
def write_columns_at_base(rod, tables, small, columns):
    """Write S of all places, about the base, and what the strains of each step add to it; `small` is room for a table."""
    size = 6 * rod.n
    clear(columns, 0, size)
    for k in range(rod.intervals + rod.ports):
        o, (x, y, z) = rods.step_at(rod, k), three(rod.kept, 0, rods.kept_place(k + 1) + 9)
        write_moved(rod, k, small)
        for d in range(12):
            v0, v1, v2, w0, w1, w2 = six(small, 0, 6 * d)
            a, b, c = cross(x, y, z, w0, w1, w2)
            put_six(tables, 0, TABLE * k + 6 * d, (v0 + a, v1 + b, v2 + c, w0, w1, w2))
        add_moved(rod, o, tables, TABLE * k, columns, size * rods.start_of(rod, k), size * (k + 1), None)


@helper
def move_columns(rod, tables, columns):
    """Write S, X and Y of all places, and the steps' tables of S."""
    n, other = rod.n, TABLE * (rod.intervals + rod.ports)
    clear(columns, 0, ROWS * n)
    for k in range(rod.intervals + rod.ports):
        if rods.has_step(rod, k):
            write_moving(rod, k, tables, TABLE * k, other)
            begin, end = ROWS * n * rods.start_of(rod, k), ROWS * n * (k + 1)
            for r in range(3):
                at = TABLE * k if r == 0 else other + TABLE * (r - 1)
                add_moved(rod, rods.step_at(rod, k), tables, at, columns, begin + 6 * n * r, end + 6 * n * r, None)


@helper
def add_held(n, wrench, columns, s, small, wrenches, to):
    """Add what the coordinates change of a wrench that a section holds, whose S is given too, in the axes of the base."""
    for c in range(6):
        put_column(small, 0, 6, c, wrench_cross(unit(c), wrench))
    add_product(wrenches, to, small, 0, columns, s, n)


@shared
def press_columns(rod, rows, tables, columns, wrenches, small, slopes):
    """Add what the coordinates change of the wrenches beyond each step, and what these press on by q.

    Every place has so many `rows` of `columns`, of which the first six are S; `wrenches` says what changes of each place's own.
    """
    n, size, numbers, kept = rod.n, 6 * rod.n, rod.numbers, rod.kept
    other, pressed = TABLE * (rod.intervals + rod.ports), 36
    for k in range(rod.intervals + rod.ports - 1, -1, -1):
        if rods.has_step(rod, k):
            o, here, end = rods.step_at(rod, k), rods.kept_step(rod, k), rods.kept_place(k + 1)
            beyond, before = size * (k + 1), size * rods.start_of(rod, k)
            local = six(kept, 0, end + rods.WRENCH)
            add_scaled(wrenches, before, 1.0, wrenches, beyond, size)
            held = scaled(-1.0, carry_wrench(kept, 0, end, local))
            add_held(n, held, columns, rows * n * (k + 1), small, wrenches, beyond)
            write_pressing(numbers[0, o], kept, here, local, tables, other)
            put_wide_product(small, pressed, tables, TABLE * k, (12, 6, 1), wrenches, beyond, n)
            for r in range(2):
                to = pressed + size * r
                add_moved(rod, o, tables, other + TABLE * r, small, to, to, None)
            first, second = o + rods.SHAPES, o + rods.SHAPES + n
            for j in range(n):
                c = pressed + n * int(numbers[0, rods.COMPONENTS + j])
                x, y, row = numbers[0, first + j], numbers[0, second + j], n * (6 + j)
                add_scaled(slopes, row, x, small, c, n)
                add_scaled(slopes, row, y, small, c + size, n)
    add_scaled(slopes, 0, 1.0, wrenches, 0, size)
