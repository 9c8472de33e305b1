"""Derivatives of rigid closures, multipliers held: of the constraints' rates and second derivatives, and of their efforts.

A closure answers to the small twist D of its second port against its first, and to both twists: how, is taken by complex steps
through its equations (`constraint_rows`), exact to rounding. S, X, Y, Z are those of `derivatives`, here in the frames of the
ports; E stacks E1 and E2. With ``J a + bias = E A + b(V)`` and the efforts ``J^T lambda = S^T W``, ``W = E^T lambda``::

    d(J a + bias)/dq = (E A + b)_D D + b_V X + E Y        d(J a + bias)/dv = b_V S + E Z
    d(J v)/dq = (E V)_D D + E X                           S^T W_D D, beside what turns along with the ports
"""

from __future__ import annotations

from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.laws.vectors import cross3, product, times, transposed
from titop.solvers.kernels.closures.constraint_rows import bias_of, gradients, port_acceleration
from titop.solvers.kernels.derivatives.interaction_derivatives import write_frame
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.port_motion import relative_pose, twist_of_port
from titop.solvers.kernels.spatial.algebra import (
    dot,
    entry_of,
    minus,
    plus,
    put_six,
    scaled,
    six,
    transport,
    twist_cross,
    unit,
)
from titop.solvers.kernels.spatial.rotations import rotation_log
from titop.solvers.native.kernel import helper, shared

# -- answers: rows of constraints
E = 0  # rates by both twists (12)
BY_POSE = 12  # derivatives of the second derivative by D (6)
BY_TWIST = 18  # and by both twists (12)
RATE_BY_POSE = 30  # derivatives of the rate by D (6)
ANSWER_COLUMNS = 36

# -- moved: rows of coordinates; S, X, Y, Z of both ports (12 each), D, and what presses on them if the ports move by D
MOVED_S = 0
MOVED_X = 12
MOVED_Y = 24
MOVED_Z = 36
MOVED_D = 48
MOVED_PRESSED = 54
MOVED_COLUMNS = 60


@helper
def write_closure_wrenches(ints, floats, law, loops, world, multipliers):
    """Write what the closures do to their ports into the last loads, two for each closure."""
    row, k = loops[0, layout.FIRST_RIGID], 0
    load = ints[0, layout.FIRST_LOAD] + ints[0, layout.LOADS] - 2 * loops[0, layout.RIGIDS]
    for _ in range(loops[0, layout.RIGIDS]):
        turn, r = relative_pose(ints, floats, law, world, row)
        phi = rotation_log(turn) if ints[row, layout.TURNS] else (0.0, 0.0, 0.0)
        at_1, at_2 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        n = ints[row, layout.CONSTRAINTS]
        for c in range(n):
            E1, E2 = gradients(floats, row + c, turn, r, phi)
            at_1, at_2 = plus(at_1, scaled(multipliers[k], E1)), plus(at_2, scaled(multipliers[k], E2))
            k += 1
        put_six(floats, load, layout.FORCE, at_1)
        put_six(floats, load + 1, layout.FORCE, at_2)
        load += 2
        row += max(2, n)


@helper
def closure_slopes(ints, floats, law, loops, paths, multipliers, v, work, world, sums, columns, rooms, dq, rows):
    """Write the derivatives of all constraints, and subtract those of their efforts from `dq`.

    `rows` (4, k, nv) receives J and the derivatives of ``J a + bias`` by q and v and of ``J v`` by q; `rooms` are room for
    answers (k x `ANSWER_COLUMNS`), the wrenches' derivatives by D (2 x 36), columns in the ports' frames
    (nv x `MOVED_COLUMNS`), the poses of both ports and of the second in the first (1 x 36), and the coordinates that move the
    ports (2 x nv).
    """
    answers, wrenches, moved, frames, moving = rooms
    rows[:] = 0.0
    moving[:] = 0
    row, k = loops[0, layout.FIRST_RIGID], 0
    for _ in range(loops[0, layout.RIGIDS]):
        n = ints[row, layout.CONSTRAINTS]
        turn, r = relative_pose(ints, floats, law, world, row)
        V1, V2 = twist_of_port(ints, floats, law, work, row, v), twist_of_port(ints, floats, law, work, row + 1, v)
        A1, A2 = port_acceleration(ints, floats, law, work, row), port_acceleration(ints, floats, law, work, row + 1)
        _write_answers(ints, floats, row, k, turn, r, (V1, V2), (A1, A2), multipliers, answers, wrenches)
        for j in range(9):
            frames[0, 24 + j] = turn[j]
        frames[0, 33], frames[0, 34], frames[0, 35] = r
        count = _write_moved(ints, floats, paths, sums, columns, row, V1, V2, frames, moving, moved)
        for m in range(count):
            i = moving[0, m]
            _write_rows(answers, moved, k, n, i, rows)
            for d in range(6):
                moved[i, MOVED_PRESSED + d] = 0.0
                for j in range(6):
                    moved[i, MOVED_PRESSED + d] += moved[i, MOVED_S + j] * wrenches[0, 6 * j + d]
                    moved[i, MOVED_PRESSED + d] += moved[i, MOVED_S + 6 + j] * wrenches[1, 6 * j + d]
        for m in range(count):
            i = moving[0, m]
            displaced = six(moved, i, MOVED_D)
            for o in range(count):
                j = moving[0, o]
                dq[j, i] -= dot(six(moved, j, MOVED_PRESSED), displaced)
        k += n
        row += max(2, n)
    for row in range(loops[0, layout.FIRST_GEAR], loops[0, layout.FIRST_GEAR] + loops[0, layout.GEARS]):
        rows[0, k, ints[row, layout.DRIVEN_V]] = floats[row, layout.DRIVEN]
        rows[0, k, ints[row, layout.DRIVER_V]] = floats[row, layout.DRIVER]
        k += 1


@shared
def _write_answers(ints, floats, row, k, turn, r, twists, accelerations, multipliers, answers, wrenches):
    """Write how the closure at `row`, its first constraint the k-th, answers to small twists and to twists of its ports."""
    V1, V2 = twists
    A1, A2 = accelerations
    n, step = ints[row, layout.CONSTRAINTS], complex(0.0, COMPLEX_STEP)
    phi = rotation_log(turn) if ints[row, layout.TURNS] else (0.0, 0.0, 0.0)
    wrenches[:] = 0.0
    for d in range(6):
        e = unit(d)
        x, y, z = step * e[3], step * e[4], step * e[5]
        turned = product(turn, (1.0, -z, y, z, 1.0, -x, -y, x, 1.0))
        ahead = times(turn, (step * e[0], step * e[1], step * e[2]))
        placed = r[0] + ahead[0], r[1] + ahead[1], r[2] + ahead[2]
        about = rotation_log(turned) if ints[row, layout.TURNS] else (0.0j, 0.0j, 0.0j)
        for c in range(n):
            E1, E2 = gradients(floats, row + c, turned, placed, about)
            second = bias_of(floats, row + c, turned, placed, about, V1, V2, E2) + dot(E1, A1) + dot(E2, A2)
            answers[k + c, BY_POSE + d] = second.imag / COMPLEX_STEP
            answers[k + c, RATE_BY_POSE + d] = (dot(E1, V1) + dot(E2, V2)).imag / COMPLEX_STEP
            for j in range(6):
                share = multipliers[k + c] / COMPLEX_STEP
                wrenches[0, 6 * j + d] += share * entry_of(E1, j).imag
                wrenches[1, 6 * j + d] += share * entry_of(E2, j).imag
    for c in range(n):
        E1, E2 = gradients(floats, row + c, turn, r, phi)
        put_six(answers, k + c, E, E1)
        put_six(answers, k + c, E + 6, E2)
        _write_by_shifts(floats, row + c, turn, V1, V2, answers, k + c)
        for d in range(3):
            e = unit(3 + d)
            moved_1, moved_2 = plus(V1, scaled(step, e)), plus(V2, scaled(step, e))
            by_1 = bias_of(floats, row + c, turn, r, phi, moved_1, scaled(1.0 + 0.0j, V2), E2)
            by_2 = bias_of(floats, row + c, turn, r, phi, scaled(1.0 + 0.0j, V1), moved_2, E2)
            answers[k + c, BY_TWIST + 3 + d], answers[k + c, BY_TWIST + 9 + d] = (
                by_1.imag / COMPLEX_STEP,
                by_2.imag / COMPLEX_STEP,
            )


@helper
def _write_by_shifts(floats, row, turn, V1, V2, answers, k):
    """Write the bias's derivatives by both ports' linear velocities v1, v2: of ``c . (R (w x v2) + (R v2 - v1) x w1)``."""
    along, w1 = (floats[row, layout.ALONG], floats[row, layout.ALONG + 1], floats[row, layout.ALONG + 2]), (V1[3], V1[4], V1[5])
    back = transposed(turn)
    spin, carried = times(back, w1), cross3(w1, along)
    across = cross3(times(back, along), (V2[3] - spin[0], V2[4] - spin[1], V2[5] - spin[2]))
    by_2 = times(back, carried)
    at_1, at_2 = BY_TWIST, BY_TWIST + 6
    answers[k, at_1], answers[k, at_1 + 1], answers[k, at_1 + 2] = -carried[0], -carried[1], -carried[2]
    answers[k, at_2], answers[k, at_2 + 1] = across[0] + by_2[0], across[1] + by_2[1]
    answers[k, at_2 + 2] = across[2] + by_2[2]


@helper
def _write_moved(ints, floats, paths, sums, columns, row, V1, V2, frames, moving, moved):
    """Write S, X, Y, Z and D of the coordinates that move the ports of the closure at `row`; list these, return how many."""
    count = 0
    for p in range(2):
        twist = V1 if p == 0 else V2
        write_frame(ints, floats, sums, row + p, frames, 12 * p)
        j = ints[row + p, layout.LAST]
        while j >= 0:
            i = paths[0, j]
            if moving[1, i] != row:
                moving[0, count], moving[1, i] = i, row
                count += 1
                for o in range(MOVED_COLUMNS):
                    moved[i, o] = 0.0
            s, x = _at_port(frames, p, columns, j, layout.COLUMN_S), _at_port(frames, p, columns, j, layout.COLUMN_X)
            y, z = _at_port(frames, p, columns, j, layout.COLUMN_Y), _at_port(frames, p, columns, j, layout.COLUMN_Z)
            put_six(moved, i, MOVED_S + 6 * p, s)
            put_six(moved, i, MOVED_X + 6 * p, x)
            put_six(moved, i, MOVED_Y + 6 * p, plus(y, twist_cross(x, twist)))
            put_six(moved, i, MOVED_Z + 6 * p, plus(z, twist_cross(s, twist)))
            j = paths[1, j]
    for m in range(count):  # a twist of the first port moves the second in it as the opposite one of the second does
        i = moving[0, m]
        opposite = transport(frames, 0, 24, six(moved, i, MOVED_S))
        put_six(moved, i, MOVED_D, minus(six(moved, i, MOVED_S + 6), opposite))
    return count


@helper
def _at_port(frames, p, columns, j, o):
    """Return six entries of a column in the frame of a closure's port."""
    return transport(frames, 0, 12 * p, six(columns, j, o))


@helper
def _of_both(answers, k, o, moved, i, at):
    """Return the product of twelve entries of an answer and of a column."""
    return dot(six(answers, k, o), six(moved, i, at)) + dot(six(answers, k, o + 6), six(moved, i, at + 6))


@helper
def _write_rows(answers, moved, first, n, i, rows):
    """Write the entries of coordinate i in the rows of a closure's n constraints."""
    for k in range(first, first + n):
        d = six(moved, i, MOVED_D)
        rows[0, k, i] = _of_both(answers, k, E, moved, i, MOVED_S)
        rows[1, k, i] = dot(six(answers, k, BY_POSE), d) + _of_both(answers, k, BY_TWIST, moved, i, MOVED_X)
        rows[1, k, i] += _of_both(answers, k, E, moved, i, MOVED_Y)
        rows[2, k, i] = _of_both(answers, k, BY_TWIST, moved, i, MOVED_S) + _of_both(answers, k, E, moved, i, MOVED_Z)
        rows[3, k, i] = dot(six(answers, k, RATE_BY_POSE), d) + _of_both(answers, k, E, moved, i, MOVED_X)
