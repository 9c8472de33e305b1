"""States of the first order that follow where an implicit step ends: a feature, which systems without them do not wait for."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.tolerances import EXACT
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, call_interaction, floats_at, ints_at, row_at, vector_at
from titop.solvers.kernels.ports.interactions import loads_of, next_interaction
from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import feature, helper

#: Newton's iterations, and after how many of them derivatives are found anew.
ITERATIONS, RENEWED = 30, 3


@helper
def follow_own_states(half, ints, numbers, stages, law, begun, x, inverse):
    """Find the states ``x = begun + half[0] dx/dt`` of interactions, the motion of their targets in `law`; return a status.

    By Newton's method, interaction by interaction. `x` begins with a guess, and keeps it where none are found; `inverse`
    (nx x nx) is that of the derivatives, zeros before. The interactions act by the states found, which stand among the
    `numbers` then.
    """
    if ints[0, layout.STATES] == 0:
        return layout.OK
    told = address_of(ints, 0), ints.shape[0], address_of(law, 0), address_of(numbers, 0), numbers.shape[1]
    results = address_of(half, 0), address_of(begun, 0), address_of(x, 0), address_of(inverse, 0)
    return own_states_followed((*told, address_of(stages, 0), stages.shape[0], *results))


@feature(11)
def own_states_followed(ints, rows, law, numbers, number_count, stages, kinds, half, begun, x, inverse):
    """See `follow_own_states`."""
    table, told = ints_at(ints, rows, layout.INT_COLUMNS), row_at(numbers, number_count)
    record, addresses = row_at(law, table[0, layout.LAW_SIZE]), ints_at(stages, kinds, layout.STAGE_COLUMNS)
    nx, length = table[0, layout.STATES], vector_at(half, 1)[0]
    known, guess, solved = vector_at(begun, nx), vector_at(x, nx), floats_at(inverse, nx, nx)
    found, k, row = guess.copy(), 0, table[0, layout.FIRST_INTERACTION]
    for _ in range(table[0, layout.INTERACTIONS]):
        count, inputs = table[row, layout.ACT_STATES], table[row, layout.ACT_INPUTS]
        if count > 0:
            matrices = np.empty((count, count)), np.empty((count, count))
            rooms = np.empty(count), np.empty(count), np.empty((1, count * inputs)), *matrices
            status = _follow(length, table, told, addresses, record, row, k, known, found, solved, rooms)
            if status == layout.OK:
                answer = address_of(record, loads_of(table, row))
                status = call_interaction(table, told, addresses, record, row, layout.ACT, answer)
            if status != layout.OK:
                return status
            k += count
        row = next_interaction(table, row)
    copy(found, guess)
    return layout.OK


@helper
def _follow(half, ints, told, stages, law, row, first, begun, x, inverse, rooms):
    """Find the states of the interaction at `row`, which stand from `first` on; return a status."""
    rates, change, driven, matrix, solved = rooms
    count, inputs = ints[row, layout.ACT_STATES], ints[row, layout.ACT_INPUTS]
    at = ints[row, layout.NUMBERS] + ints[row, layout.NUMBER_COUNT] - count
    for iteration in range(ITERATIONS):
        for i in range(count):
            told[0, at + i] = x[first + i]
        status = call_interaction(ints, told, stages, law, row, layout.RATES, address_of(rates, 0))
        if status == layout.OK and iteration % RENEWED == 0:
            status = call_interaction(ints, told, stages, law, row, layout.RATES_DRIVEN, address_of(driven, 0))
            for i in range(count):
                for j in range(count):
                    unit = 1.0 if i == j else 0.0
                    matrix[i, j] = unit - half * driven[0, i * inputs + inputs - count + j]
            invert_small(matrix, solved)
        if status != layout.OK:
            return status
        largest, size = 0.0, 0.0
        for i in range(count):
            change[i] = 0.0
            for j in range(count):
                change[i] += solved[i, j] * (x[first + j] - begun[first + j] - half * rates[j])
        for i in range(count):
            x[first + i] -= change[i]
            largest = max(largest, abs(change[i]))
            size = max(size, max(abs(x[first + i]), abs(begun[first + i])))
        if largest <= EXACT * size:
            for i in range(count):
                told[0, at + i] = x[first + i]
                for j in range(count):
                    inverse[first + i, first + j] = solved[i, j]
            return layout.OK
    return layout.NOT_FINITE


@helper
def invert_small(matrix, inverse):
    """Write the inverse of a matrix, which is used up, by elimination with row pivots; not numbers of a singular one."""
    n = matrix.shape[0]
    for i in range(n):
        for j in range(n):
            inverse[i, j] = 1.0 if i == j else 0.0
    for c in range(n):
        pivot = c
        for i in range(c + 1, n):
            pivot = i if abs(matrix[i, c]) > abs(matrix[pivot, c]) else pivot
        for j in range(n):
            matrix[c, j], matrix[pivot, j] = matrix[pivot, j], matrix[c, j]
            inverse[c, j], inverse[pivot, j] = inverse[pivot, j], inverse[c, j]
        factor = 1.0 / matrix[c, c] if matrix[c, c] != 0.0 else np.nan
        for j in range(n):
            matrix[c, j] *= factor
            inverse[c, j] *= factor
        for i in range(n):
            if i != c and matrix[i, c] != 0.0:
                factor = matrix[i, c]
                for j in range(n):
                    matrix[i, j] -= factor * matrix[c, j]
                    inverse[i, j] -= factor * inverse[c, j]
