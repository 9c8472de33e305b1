"""What a rod's coordinates move its places by, in the axes of the base, and its mass matrix.

A coordinate moves one component of strain; what it moves a place by adds up from step to step.
"""

from __future__ import annotations

from titop.solvers.kernels.interface.records import is_used
from titop.solvers.kernels.interface.stages import address_of, vector_at
from titop.solvers.kernels.laws.rod_matrices import add_product, add_rows, clear, column_of
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
)
from titop.solvers.kernels.laws.rod_tables import write_moved
from titop.solvers.kernels.spatial.algebra import carry_wrench, put_six, transport, unit
from titop.solvers.native.kernel import helper


@helper
def write_columns(n, ports, used, numbers, kept, table, columns):
    """Write what the coordinates move all places by (6 x n each)."""
    intervals = intervals_of(numbers)
    clear(columns, 0, 6 * n)
    for k in range(intervals + ports):
        if k >= intervals and not is_used(used, k - intervals):
            continue
        o, begin = step_at(n, intervals, k), 6 * n * start_of(n, intervals, numbers, k)
        write_moved(numbers[0, o], kept, kept_step(intervals, ports, k), kept_place(k + 1), table, 0)
        add_moved(n, numbers, o, table, 0, columns, begin, columns, 6 * n * (k + 1))


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
def is_massive(numbers, o):
    """Tell whether a point has inertia, which stands at ``numbers[0, o]``."""
    return numbers[0, o] != 0.0 or numbers[0, o + 1] != 0.0 or numbers[0, o + 2] != 0.0 or numbers[0, o + 3] != 0.0


@helper
def write_mass(n, numbers, kept, columns, small, law):
    """Write M; `small` is room for a 6 x 6 and a 6 x n matrix."""
    intervals = intervals_of(numbers)
    clear(law, 0, (6 + n) * (6 + n))
    for i in range(intervals + 1):
        o, place = inertia_at(n, intervals) + 4 * i, kept_place(i)
        if is_massive(numbers, o):
            for c in range(6):
                taken = momentum_of(numbers, o, transport(kept, 0, place, unit(c)))
                put_six(small, 0, 6 * c, carry_wrench(kept, 0, place, taken))
            clear(small, 36, 6 * n)
            add_product(small, 36, 6, small, 0, 6, 1, columns, 6 * n * i, n)
            add_to_mass(n, small, 0, 6, small, 36, columns, 6 * n * i, law)
    mirror_mass(n, law)


@helper
def add_to_mass(n, m, a, width, g, o, columns, s, law):
    """Add to the lower half of M a point's inertia at ``m[0, a]``, and its product ``g[0, o]`` with S at ``columns[0, s]``."""
    size = 6 + n
    for r in range(6):
        for c in range(6):
            law[0, r * size + c] += m[0, a + width * r + c]
        for j in range(n):
            law[0, (6 + j) * size + r] += g[0, o + r * n + j]
    for j in range(n):
        add_rows(law, (6 + j) * size + 6, column_of(columns, s, n, j), g, o, n, j + 1)


@helper
def mirror_mass(n, law):
    """Write the upper half of M."""
    size = 6 + n
    for r in range(size):
        for c in range(r):
            law[0, c * size + r] = law[0, r * size + c]
