"""What a rod's coordinates and the strains of its steps move; its mass matrix; and what presses on them.

A coordinate moves one component of strain. A *table* has, of both places of collocation of a step, six numbers for a unit of
each strain component in [k; s]: a twist of all that lies beyond the step, say. All maps here are matrices of dual numbers (see
`rod_exponential`): if ``[y; z]`` comes of a turn about an axis, ``[z; 0]`` comes of a shift along it.

S has what the coordinates move a place by. In the axes of each place no digits are lost in slender rods, whose parts turn
easily about themselves: M is found by it. In inertial axes, those of the base at this moment, X is ``dS/dt`` and Y
``d2S/dt2``; what a step adds to S is ``T z``, z what a coordinate adds to Omega.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.laws import rod_numbers as rods
from titop.solvers.kernels.laws.matrices import (
    add_product,
    add_rows,
    add_scaled,
    add_wide_product,
    clear,
    put_column,
    write_back_transport,
)
from titop.solvers.kernels.laws.rod_exponential import (
    dual_product,
    expansion,
    rates_of,
    tangent,
    tangent_back,
    tangent_back_slope,
    tangent_rates,
)
from titop.solvers.kernels.laws.rod_motion import MAGNUS, momentum_of, on_first, on_second, put_pressure, strain_at
from titop.solvers.kernels.spatial.algebra import (
    carry_twist,
    carry_wrench,
    column_of,
    minus,
    plus,
    put_six,
    scaled,
    six,
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
def write_moved(length, kept, here, table):
    """Write what the strains of a step move its end by, in the axes of the end."""
    omega = six(kept, 0, here + rods.OMEGA)
    terms = expansion(omega)
    for d in range(6):
        z, _, _ = _slopes_of_omega(length, kept, here + rods.STRAINS, d)
        _put_twist(table, 0, d, tangent(omega, terms[0], terms[1], z))


@helper
def _slopes_of_omega(length, kept, o, d):
    """Return what a turn of the first strain about axis d, or of the second about d - 3, adds to Omega and its rates."""
    axis, is_first = unit(3 + d % 3), d < 3
    beside, bracket = (o + 6 if is_first else o), (-MAGNUS if is_first else MAGNUS) * length * length
    still = plus(scaled(0.5 * length, axis), scaled(bracket, twist_cross(strain_at(kept, beside), axis)))
    by_rate = scaled(bracket, twist_cross(strain_at(kept, beside + 12), axis))
    return still, by_rate, scaled(bracket, twist_cross(strain_at(kept, beside + 24), axis))


@helper
def _put_twist(t, o, d, x):
    """Write what a turn does, for d see `_slopes_of_omega`, and what a shift along its axis does."""
    at = o + _HALF * (d // 3) + 6 * (d % 3)
    put_six(t, 0, at, x)
    put_six(t, 0, at + _SHIFTS, (x[3], x[4], x[5], 0.0, 0.0, 0.0))


@helper
def write_moving(length, kept, here, end, tables, own, other):
    """Write what the strains of a step add to S of its end, in the base's axes, and from `other` on what to both rates of S."""
    omega, first = six(kept, 0, here + rods.OMEGA), six(kept, 0, here + rods.OMEGA_RATE)
    second, terms, still = six(kept, 0, here + rods.OMEGA_SECOND), expansion(omega), other + 2 * TABLE
    rates, by_rate, by_second = rates_of(omega, first, second, terms), still + 18, still + 36
    for d in range(3):
        x, y, z = tangent_rates(omega, first, second, terms, rates, unit(3 + d))
        put_six(tables, 0, still + 6 * d, x)
        put_six(tables, 0, by_rate + 6 * d, y)
        put_six(tables, 0, by_second + 6 * d, z)
    speed, rate = six(kept, 0, end + rods.TWIST), six(kept, 0, end + rods.RATE)
    for d in range(6):
        z0, z1, z2 = _slopes_of_omega(length, kept, here + rods.STRAINS, d)
        x0 = dual_product(tables, still, z0)
        x1 = plus(dual_product(tables, by_rate, z0), dual_product(tables, still, z1))
        x2 = plus(scaled(2.0, dual_product(tables, by_rate, z1)), dual_product(tables, still, z2))
        x2 = plus(x2, dual_product(tables, by_second, z0))
        # from rates in the axes of the step's end to rates in inertial ones
        y1 = plus(x1, twist_cross(speed, x0))
        y2 = plus(plus(x2, twist_cross(rate, x0)), twist_cross(speed, plus(x1, y1)))
        _put_twist(tables, own, d, carry_twist(kept, 0, end, x0))
        _put_twist(tables, other, d, carry_twist(kept, 0, end, y1))
        _put_twist(tables, other + TABLE, d, carry_twist(kept, 0, end, y2))


@helper
def write_pressing(length, kept, here, wrench, tables, to):
    """Write what each strain of a step changes of how the wrench beyond, held, presses on the first, and on the second."""
    o, omega = here + rods.STRAINS, six(kept, 0, here + rods.OMEGA)
    terms = expansion(omega)
    pressed = tangent_back(omega, terms[0], terms[1], wrench)
    x, y = strain_at(kept, o), strain_at(kept, o + 6)
    for d in range(6):
        z, _, _ = _slopes_of_omega(length, kept, o, d)
        changed = tangent_back_slope(omega, terms, z, wrench)
        bracket = scaled(MAGNUS * length * length, wrench_cross(unit(3 + d % 3), pressed))
        first, second = on_first(length, y, changed), on_second(length, x, changed)
        if d < 3:
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
    """Write S of all places (6 x n each), in their axes; `small` is room for a table."""
    n = rod.n
    clear(columns, 0, 6 * n * (rod.intervals + rod.ports + 1))
    for k in range(rod.intervals + rod.ports):
        if rods.has_step(rod, k):
            o, here = rods.step_at(rod, k), rods.kept_step(rod, k)
            begin, end = 6 * n * rods.start_of(rod, k), 6 * n * (k + 1)
            write_back_transport(rod.kept, here, small, 0)
            add_product(columns, end, small, 0, columns, begin, n)
            write_moved(rod.numbers[0, o], rod.kept, here, small)
            add_moved(rod, o, small, 0, columns, end, columns, end)


@helper
def add_moved(rod, o, table, at, x, s, t, to):
    """Write to ``t[0, to]`` the 6 x n matrix at ``x[0, s]`` and, added, what a table makes of the shapes of the step at `o`."""
    n, components = rod.n, vector_at(address_of(rod.numbers, rods.COMPONENTS), rod.n)
    first = vector_at(address_of(rod.numbers, o + rods.SHAPES), n)
    second = vector_at(address_of(rod.numbers, o + rods.SHAPES + n), n)
    for j in range(n):
        c = at + 6 * int(components[j])
        here, there = vector_at(address_of(table, c), 6), vector_at(address_of(table, c + 36), 6)
        for r in range(6):
            vector_at(address_of(t, to + r * n), n)[j] = (
                vector_at(address_of(x, s + r * n), n)[j] + first[j] * here[r] + second[j] * there[r]
            )


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
    clear(law, 0, (6 + rod.n) * (6 + rod.n))
    for i in range(rod.intervals + 1):
        if is_massive(rod, i):
            add_mass(rod, i, columns, 6 * rod.n * i, small, law)
    mirror_mass(rod.n, law)


@helper
def add_mass(rod, i, columns, s, small, law):
    """Add point i to M, but for what `mirror_mass` writes, by its S at ``columns[0, s]``, in its axes.

    `small` is room for two 6 x 6 and a 6 x n matrix.
    """
    n, size, inertia, taken, place = rod.n, 6 + rod.n, 36, 72, rods.kept_place(i)
    numbers, o, whole = rod.numbers, rods.inertia_at(n, rod.intervals) + 4 * i, rods.whole_at(rod.numbers, i)
    for c in range(6):
        x = transport(rod.kept, 0, place, unit(c))
        put_column(small, 0, 6, c, x)
        put_six(small, 0, inertia + 6 * c, carry_wrench(rod.kept, 0, place, momentum_of(rod, i, x)))
    clear(small, taken, 6 * n)
    if whole > 0:
        add_product(small, taken, numbers, whole, columns, s, n)
    else:
        for r in range(6):
            add_scaled(small, taken + n * r, numbers[0, o + max(r - 2, 0)], columns, s + n * r, n)
    for r in range(6):
        add_scaled(law, r * size, 1.0, small, inertia + 6 * r, 6)
        add_rows(law, r * size + 6, column_of(small, 0, 6, r), small, taken, n, n)
    for j in range(n):
        add_rows(law, (6 + j) * size + 6, column_of(columns, s, n, j), small, taken, n, j + 1)


@helper
def mirror_mass(n, law):
    """Write M where symmetry says it: the base's lower half, what stands left of the coordinates' own, and their upper half."""
    size = 6 + n
    for r in range(size):
        for c in range(min(r, 6)):
            law[0, r * size + c] = law[0, c * size + r]
        for c in range(6, r):
            law[0, c * size + r] = law[0, r * size + c]


# -- columns in the axes of the base


@helper
def write_columns_at_base(rod, tables, small, columns):
    """Write S of all places, and what the strains of each step add to it; `small` is room for a table."""
    size = 6 * rod.n
    clear(columns, 0, size)
    for k in range(rod.intervals + rod.ports):
        o, end = rods.step_at(rod, k), rods.kept_place(k + 1)
        write_moved(rod.numbers[0, o], rod.kept, rods.kept_step(rod, k), small)
        for d in range(12):
            put_six(tables, 0, TABLE * k + 6 * d, carry_twist(rod.kept, 0, end, six(small, 0, 6 * d)))
        add_moved(rod, o, tables, TABLE * k, columns, size * rods.start_of(rod, k), columns, size * (k + 1))


@helper
def move_columns(rod, tables, columns):
    """Write S, X and Y of all places, and the steps' tables of S."""
    n, other = rod.n, TABLE * (rod.intervals + rod.ports)
    clear(columns, 0, ROWS * n)
    for k in range(rod.intervals + rod.ports):
        if rods.has_step(rod, k):
            o, own = rods.step_at(rod, k), TABLE * k
            write_moving(rod.numbers[0, o], rod.kept, rods.kept_step(rod, k), rods.kept_place(k + 1), tables, own, other)
            begin, end = ROWS * n * rods.start_of(rod, k), ROWS * n * (k + 1)
            for r in range(3):
                at = own if r == 0 else other + TABLE * (r - 1)
                add_moved(rod, o, tables, at, columns, begin + 6 * n * r, columns, end + 6 * n * r)


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
    other, turned, pressed = TABLE * (rod.intervals + rod.ports), 36, 36 + size
    for k in range(rod.intervals + rod.ports - 1, -1, -1):
        if rods.has_step(rod, k):
            o, here, end = rods.step_at(rod, k), rods.kept_step(rod, k), rods.kept_place(k + 1)
            beyond, before = size * (k + 1), size * rods.start_of(rod, k)
            local = six(kept, 0, end + rods.WRENCH)
            clear(small, turned, 3 * size)
            add_held(n, carry_wrench(kept, 0, end, local), columns, rows * n * (k + 1), small, small, turned)
            add_scaled(wrenches, before, 1.0, wrenches, beyond, size)
            add_scaled(wrenches, beyond, -1.0, small, turned, size)
            write_pressing(numbers[0, o], kept, here, local, tables, other)
            add_wide_product(small, pressed, tables, TABLE * k, (12, 6, 1), wrenches, beyond, n)
            for r in range(2):
                to = pressed + size * r
                add_moved(rod, o, tables, other + TABLE * r, small, to, small, to)
            first, second = o + rods.SHAPES, o + rods.SHAPES + n
            for j in range(n):
                c = pressed + n * int(numbers[0, rods.COMPONENTS + j])
                x, y, row = numbers[0, first + j], numbers[0, second + j], n * (6 + j)
                add_scaled(slopes, row, x, small, c, n)
                add_scaled(slopes, row, y, small, c + size, n)
    add_scaled(slopes, 0, 1.0, wrenches, 0, size)
