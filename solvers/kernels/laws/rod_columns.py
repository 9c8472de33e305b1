"""What a rod's coordinates move its places by, and its mass matrix.

A coordinate moves one component of strain. In the axes of each place, as here, no digits are lost in slender rods, whose parts
turn easily about themselves; in the axes of the base, as in `rod_slopes`, what a coordinate does adds up from step to step.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.records import is_used
from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.laws.rod_matrices import (
    add_product,
    add_rows,
    add_scaled,
    clear,
    column_of,
    put_column,
    write_back_transport,
)
from titop.solvers.kernels.laws.rod_motion import momentum_of
from titop.solvers.kernels.laws.rod_numbers import (
    COMPONENTS,
    SHAPES,
    inertia_at,
    intervals_of,
    kept_place,
    kept_step,
    start_of,
    step_at,
    whole_at,
)
from titop.solvers.kernels.laws.rod_tables import write_moved
from titop.solvers.kernels.spatial.algebra import carry_wrench, put_six, transport, unit
from titop.solvers.native.kernel import helper


@helper
def write_columns(n, ports, used, numbers, kept, small, columns):
    """Write S of all places (6 x n each), in their axes; `small` is room for a table."""
    intervals = intervals_of(numbers)
    clear(columns, 0, 6 * n * (intervals + ports + 1))
    for k in range(intervals + ports):
        if k >= intervals and not is_used(used, k - intervals):
            continue
        o, here = step_at(n, intervals, k), kept_step(intervals, ports, k)
        begin, end = 6 * n * start_of(n, intervals, numbers, k), 6 * n * (k + 1)
        write_back_transport(kept, here, small, 0)
        add_product(columns, end, 6, small, 0, 6, 1, columns, begin, n)
        write_moved(numbers[0, o], kept, here, small)
        add_moved(n, numbers, o, small, 0, columns, end, columns, end)


@helper
def add_moved(n, numbers, o, table, at, x, s, t, to):
    """Write to ``t[0, to]`` the 6 x n matrix at ``x[0, s]`` and, added, what a table makes of the shapes of the step at `o`."""
    components, first, second = (
        vector_at(address_of(numbers, COMPONENTS), n),
        vector_at(address_of(numbers, o + SHAPES), n),
        vector_at(address_of(numbers, o + SHAPES + n), n),
    )
    for j in range(n):
        c = at + 6 * int(components[j])
        here, there = vector_at(address_of(table, c), 6), vector_at(address_of(table, c + 36), 6)
        for r in range(6):
            vector_at(address_of(t, to + r * n), n)[j] = (
                vector_at(address_of(x, s + r * n), n)[j] + first[j] * here[r] + second[j] * there[r]
            )


@helper
def is_massive(n, intervals, numbers, i):
    """Tell whether point i has inertia."""
    o, whole = inertia_at(n, intervals) + 4 * i, whole_at(numbers, i)
    if whole > 0:
        total = 0.0
        for r in range(6):
            total += numbers[0, whole + 7 * r]
        return total != 0.0
    return numbers[0, o] != 0.0 or numbers[0, o + 1] != 0.0 or numbers[0, o + 2] != 0.0 or numbers[0, o + 3] != 0.0


@helper
def write_mass(n, numbers, kept, columns, small, law):
    """Write M; `small` is as for `add_mass`."""
    intervals = intervals_of(numbers)
    clear(law, 0, (6 + n) * (6 + n))
    for i in range(intervals + 1):
        if is_massive(n, intervals, numbers, i):
            add_mass(n, intervals, numbers, i, kept, columns, 6 * n * i, small, law)
    mirror_mass(n, law)


@helper
def add_mass(n, intervals, numbers, i, kept, columns, s, small, law):
    """Add point i to M, but for what `mirror_mass` writes, by its S at ``columns[0, s]``, in its axes.

    `small` is room for two 6 x 6 and a 6 x n matrix.
    """
    size, inertia, taken, place = 6 + n, 36, 72, kept_place(i)
    o, whole = inertia_at(n, intervals) + 4 * i, whole_at(numbers, i)
    for c in range(6):
        x = transport(kept, 0, place, unit(c))
        put_column(small, 0, 6, c, x)
        put_six(small, 0, inertia + 6 * c, carry_wrench(kept, 0, place, momentum_of(n, intervals, numbers, i, x)))
    clear(small, taken, 6 * n)
    if whole > 0:
        add_product(small, taken, 6, numbers, whole, 6, 1, columns, s, n)
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
