"""Derivatives of rigid closures, multipliers held: of the constraints' rates and second derivatives, and of their efforts.

A closure answers to the small twist D of its second port against its first, and to both twists: how, is taken by complex steps
through its equations (`constraint_rows`), exact to rounding. S, X, Y, Z are those of `tree_derivatives`, here in the ports'
frames; E stacks E1 and E2. With ``J a + bias = E A + b(V)`` and the efforts ``J^T lambda = S^T W``, ``W = E^T lambda``::

    d(J a + bias)/dq = (E A + b)_D D + b_V X + E Y        d(J a + bias)/dv = b_V S + E Z
    d(J v)/dq = (E V)_D D + E X                           S^T W_D D, beside what turns along with the ports
"""

from __future__ import annotations

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.laws.vectors import cross3, product, times, transposed
from titop.solvers.kernels.closures.constraint_rows import bias_of, gradients, port_acceleration
from titop.solvers.kernels.derivatives.interaction_derivatives import write_frame
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.port_motion import relative_pose, twist_of_port
from titop.solvers.kernels.spatial.algebra import dot, entry_of, minus, plus, put_six, scaled, six, transport, twist_cross, unit
from titop.solvers.kernels.spatial.rotations import rotation_log
from titop.solvers.native.kernel import helper, shared

# -- answers: rows of constraints
E = 0  # rates by both twists (12)
BY_POSE = 12  # derivatives of the second derivative by D (6)
BY_TWIST = 18  # and by both twists (12)
RATE_BY_POSE = 30  # derivatives of the rate by D (6)
ANSWER_COLUMNS = 36

# -- moved: columns of the coordinates that move a closure; S, X, Y, Z of both ports (12 each), D, what presses on them if the
# ports move by D, and room for a sum
MOVED_S = 0
MOVED_X = 12
MOVED_Y = 24
MOVED_Z = 36
MOVED_D = 48
MOVED_PRESSED = 54
MOVED_SUM = 60
MOVED_ROWS = 61


@helper
def write_closure_wrenches(ints, floats, law, loops, world, multipliers):
    """Write what the closures do to their ports into the last loads, two for each closure."""
    row, k = loops[0, layout.FIRST_RIGID], 0
    load = ints[0, layout.FIRST_LOAD] + ints[0, layout.LOADS] - 2 * loops[0, layout.RIGIDS]
    for _ in range(loops[0, layout.RIGIDS]):
        turn, r = relative_pose(ints, floats, law, world, row)
        phi = rotation_log(turn) if ints[row, layout.FORM] == layout.LOG_FORM else (0.0, 0.0, 0.0)
        at_1, at_2 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        n = ints[row, layout.CONSTRAINTS]
        for c in range(n):
            E1, E2 = gradients(floats, row + c, (turn, r, phi), ints[row, layout.FORM])
            at_1, at_2 = plus(at_1, scaled(multipliers[k], E1)), plus(at_2, scaled(multipliers[k], E2))
            k += 1
        put_six(floats, load, layout.FORCE, at_1)
        put_six(floats, load + 1, layout.FORCE, at_2)
        load += 2
        row += max(2, n)


@helper
def closure_slopes(system, paths, multipliers, v, passes, rooms, dq, rows):
    """Write the derivatives of all constraints, and subtract those of their efforts from `dq`.

    `rows` (4, k, nv) receives J and the derivatives of ``J a + bias`` by q and v and of ``J v`` by q; `rooms` are room for
    answers (k x `ANSWER_COLUMNS`), the wrenches' derivatives by D (2 x 36), columns in the ports' frames (`MOVED_ROWS` x nv),
    the poses of both ports and of the second in the first (1 x 36), and which coordinates move the ports, and which of these
    each is (2 x nv).
    """
    ((ints, floats, _, _, law), loops), (work, world, sums, columns) = system, passes
    answers, wrenches, moved, frames, moving = rooms
    rows[:] = 0.0
    row, k = loops[0, layout.FIRST_RIGID], 0
    for _ in range(loops[0, layout.RIGIDS]):
        n = ints[row, layout.CONSTRAINTS]
        turn, r = relative_pose(ints, floats, law, world, row)
        V1, V2 = twist_of_port(ints, floats, law, work, row, v), twist_of_port(ints, floats, law, work, row + 1, v)
        A1, A2 = port_acceleration(ints, floats, law, work, row), port_acceleration(ints, floats, law, work, row + 1)
        motions = V1, V2, A1, A2
        _write_answers((ints, floats), row, k, (turn, r), motions, multipliers, answers, wrenches)
        for j in range(9):
            frames[0, 24 + j] = turn[j]
        frames[0, 33], frames[0, 34], frames[0, 35] = r
        count = _write_moved((ints, floats), paths, (sums, columns), row, (V1, V2), frames, moving, moved)
        _write_rows(answers, moved, moving, count, k, n, rows)
        for d in range(6):
            pressed = moved[MOVED_PRESSED + d]
            pressed[:count] = 0.0
            for o in range(12):
                share = wrenches[o // 6, 6 * (o % 6) + d]
                for m in range(count):
                    pressed[m] += share * moved[MOVED_S + o, m]
        for m in range(count):
            j = moving[0, m]
            moved[MOVED_SUM, :count] = 0.0
            for d in range(6):
                _add_row(moved, MOVED_D + d, moved[MOVED_PRESSED + d, m], count, moved[MOVED_SUM])
            for o in range(count):
                dq[j, moving[0, o]] -= moved[MOVED_SUM, o]
        k += n
        row += max(2, n)
    row = loops[0, layout.FIRST_GEAR]
    for _ in range(loops[0, layout.GEARS]):
        for term in range(row, row + ints[row, layout.GEAR_TERMS]):
            rows[0, k, ints[term, layout.TERM_V]] = floats[term, layout.FACTOR]
        row += ints[row, layout.GEAR_TERMS]
        k += 1


@shared
def _write_answers(tables, row, k, pose, motions, multipliers, answers, wrenches):
    """Write how the closure at `row`, its first constraint the k-th, answers to small twists and to twists of its ports."""
    (ints, floats), (turn, r), (V1, V2, A1, A2) = tables, pose, motions
    n, step, form = ints[row, layout.CONSTRAINTS], complex(0.0, COMPLEX_STEP), ints[row, layout.FORM]
    placed = turn, r, rotation_log(turn) if form == layout.LOG_FORM else (0.0, 0.0, 0.0)
    wrenches[:] = 0.0
    for d in range(6):
        e = unit(d)
        x, y, z = step * e[3], step * e[4], step * e[5]
        turned = product(turn, (1.0, -z, y, z, 1.0, -x, -y, x, 1.0))
        ahead = times(turn, (step * e[0], step * e[1], step * e[2]))
        about = rotation_log(turned) if form == layout.LOG_FORM else (0.0j, 0.0j, 0.0j)
        moved = turned, (r[0] + ahead[0], r[1] + ahead[1], r[2] + ahead[2]), about
        for c in range(n):
            E1, E2 = gradients(floats, row + c, moved, form)
            second = bias_of(floats, row + c, moved, form, V1, V2, E2) + dot(E1, A1) + dot(E2, A2)
            answers[k + c, BY_POSE + d] = second.imag / COMPLEX_STEP
            answers[k + c, RATE_BY_POSE + d] = (dot(E1, V1) + dot(E2, V2)).imag / COMPLEX_STEP
            for j in range(6):
                share = multipliers[k + c] / COMPLEX_STEP
                wrenches[0, 6 * j + d] += share * entry_of(E1, j).imag
                wrenches[1, 6 * j + d] += share * entry_of(E2, j).imag
    for c in range(n):
        E1, E2 = gradients(floats, row + c, placed, form)
        put_six(answers, k + c, E, E1)
        put_six(answers, k + c, E + 6, E2)
        _write_by_shifts(floats, row + c, turn, V1, V2, answers, k + c)
        for d in range(0 if form >= layout.ROLLING_FORM else 3, 6):
            e = unit(d)
            moved_1, moved_2 = plus(V1, scaled(step, e)), plus(V2, scaled(step, e))
            by_1 = bias_of(floats, row + c, placed, form, moved_1, scaled(1.0 + 0.0j, V2), E2)
            by_2 = bias_of(floats, row + c, placed, form, scaled(1.0 + 0.0j, V1), moved_2, E2)
            answers[k + c, BY_TWIST + d], answers[k + c, BY_TWIST + 6 + d] = (
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
def _write_moved(tables, paths, passes, row, twists, frames, moving, moved):
    """Write S, X, Y, Z and D of the coordinates that move the ports of the closure at `row`; list these, return how many."""
    (ints, floats), (sums, columns), count = tables, passes, 0
    for p in range(2):
        j = ints[row + p, layout.LAST]
        while j >= 0:
            moving[1, paths[0, j]] = -1
            j = paths[1, j]
    for p in range(2):
        twist = twists[0] if p == 0 else twists[1]
        write_frame(ints, floats, sums, row + p, frames, 12 * p)
        j = ints[row + p, layout.LAST]
        while j >= 0:
            i = paths[0, j]
            if moving[1, i] < 0:
                moving[0, count], moving[1, i] = i, count
                for o in range(MOVED_D):
                    moved[o, count] = 0.0
                count += 1
            m = moving[1, i]
            s, x = _at_port(frames, p, columns, j, layout.COLUMN_S), _at_port(frames, p, columns, j, layout.COLUMN_X)
            y, z = _at_port(frames, p, columns, j, layout.COLUMN_Y), _at_port(frames, p, columns, j, layout.COLUMN_Z)
            _put_column(moved, MOVED_S + 6 * p, m, s)
            _put_column(moved, MOVED_X + 6 * p, m, x)
            _put_column(moved, MOVED_Y + 6 * p, m, plus(y, twist_cross(x, twist)))
            _put_column(moved, MOVED_Z + 6 * p, m, plus(z, twist_cross(s, twist)))
            j = paths[1, j]
    for m in range(count):  # a twist of the first port moves the second in it as the opposite one of the second does
        opposite = transport(frames, 0, 24, _column(moved, MOVED_S, m))
        _put_column(moved, MOVED_D, m, minus(_column(moved, MOVED_S + 6, m), opposite))
    return count


@helper
def _at_port(frames, p, columns, j, o):
    """Return six entries of a column in the frame of a closure's port."""
    return transport(frames, 0, 12 * p, six(columns, j, o))


@helper
def _column(t, o, m):
    return t[o, m], t[o + 1, m], t[o + 2, m], t[o + 3, m], t[o + 4, m], t[o + 5, m]


@helper
def _put_column(t, o, m, x):
    t[o, m], t[o + 1, m], t[o + 2, m], t[o + 3, m], t[o + 4, m], t[o + 5, m] = x


@helper
def _add_row(moved, o, share, count, x):
    """Add a row of `moved` times its share to the first entries of x."""
    if not everywhere(share == 0.0):
        for m in range(count):
            x[m] += share * moved[o, m]


@helper
def _add_rows(answers, k, o, rows, moved, at, count):
    """Add to the sum in `moved` so many entries of an answer times its rows."""
    for c in range(rows):
        _add_row(moved, at + c, answers[k, o + c], count, moved[MOVED_SUM])


@helper
def _write_rows(answers, moved, moving, count, first, n, rows):
    """Write the rows of a closure's n constraints."""
    for k in range(first, first + n):
        for d in range(4):
            moved[MOVED_SUM, :count] = 0.0
            if d == 0:
                _add_rows(answers, k, E, 12, moved, MOVED_S, count)
            elif d == 1:
                _add_rows(answers, k, BY_POSE, 6, moved, MOVED_D, count)
                _add_rows(answers, k, BY_TWIST, 12, moved, MOVED_X, count)
                _add_rows(answers, k, E, 12, moved, MOVED_Y, count)
            elif d == 2:
                _add_rows(answers, k, BY_TWIST, 12, moved, MOVED_S, count)
                _add_rows(answers, k, E, 12, moved, MOVED_Z, count)
            else:
                _add_rows(answers, k, RATE_BY_POSE, 6, moved, MOVED_D, count)
                _add_rows(answers, k, E, 12, moved, MOVED_X, count)
            for m in range(count):
                rows[d, k, moving[0, m]] = moved[MOVED_SUM, m]
