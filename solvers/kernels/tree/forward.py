"""Forward and hybrid dynamics: the elimination of `titop.solvers.engines.reference.passes`, coordinate by coordinate.

A joint with coordinates ``y`` moves its body by ``S y``. Eliminating a coordinate whose effort is imposed from
``W = M A + p`` leaves ``M - U U^T / D`` and ``p + U e / D`` with ``U = M S``, ``D = S^T U + armature`` and
``e = tau - S^T p``; one whose motion is imposed leaves M and ``p + U a``.

`imposed` is None in forward dynamics (every effort imposed), `law` is None in trees of rigid bodies: numba then drops the
branches for the others.

Rounding is told from inertia by what a coordinate carries with all other joints held: along or about its axis at most the
mass of the subtree, or its inertia about all axes. A pivot D below the part `ROUNDING` of that moves nothing (see
`titop.solvers.mechanism.conditioning`).

Every coordinate keeps its column U and ``1 / D``. By these `respond` finds what efforts alone cause from rest, without another
elimination: with no motion and no other wrenches, what a coordinate leaves inwards is ``U e / D``; outwards all is as before.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import Along, bias_at, is_used, port_at
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.spatial.algebra import (
    add_six,
    both_inertias,
    carry_inertia,
    carry_wrench,
    dot,
    gyroscopic,
    inertia_times,
    matrix_of,
    plus,
    put_inertia,
    put_six,
    scaled,
    six,
    three,
    transport,
)
from titop.solvers.kernels.tree.general import (
    add_at_port,
    carried_on,
    eliminate_own,
    inertia_blocks,
    law_bias,
    restore_own,
    start_carried,
    subspace_column,
    write_port_accelerations,
)
from titop.solvers.kernels.tree.joints import coriolis
from titop.solvers.kernels.tree.kinematics import parent_motion
from titop.solvers.kernels.tree.multi_joints import eliminate_multi, rest_of_multi, restore_multi
from titop.solvers.native.kernel import helper

_NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def rigid_laws(ints, floats, law, work):
    """Write every rigid body's gyroscopic wrench; of what gathers inertia in its own row, what it alone has to move."""
    for i in range(1, ints[0, layout.ELEMENTS]):
        if ints[i, layout.LAW] < 0:
            put_six(work, i, layout.BIAS, gyroscopic(floats, i, layout.MASS, six(work, i, layout.TWIST)))
            if ints[i, layout.GATHERED] == i:
                put_inertia(work, i, layout.MA, rigid_inertia(floats, i))
                work[i, layout.CARRIED], work[i, layout.CARRIED + 1] = floats[i, layout.MASS], floats[i, layout.TURNING]
        elif law is not None:
            start_carried(ints, law, i, work)


@helper
def rigid_inertia(floats, i):
    """Return the blocks a, b, c of rigid body i's inertia."""
    mass, (x, y, z) = floats[i, layout.MASS], three(floats, i, layout.MOMENT)
    diagonal, coupled = (mass, mass, mass, 0.0, 0.0, 0.0), (0.0, z, -y, -z, 0.0, x, y, -x, 0.0)
    return diagonal, coupled, six(floats, i, layout.INERTIA)


@helper
def inertia_of(work, i):
    """Return the blocks a, b, c of element i's inertia."""
    return six(work, i, layout.MA), matrix_of(work, i, layout.MA + 6), six(work, i, layout.MA + 15)


@helper
def inward_elimination(tables, along, work, multi, kept):
    """From the leaves inwards: every subtree becomes ``W = MA A + pA`` at its parent port; return a status.

    MA stays in each element's row if it is `kept`; otherwise elements that follow each other gather theirs in one row.
    """
    ints, floats, law = tables.ints, tables.floats, tables.law
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        if law is not None and ints[i, layout.LAW] >= 0:
            status = eliminate_own(ints, law, i, along.a, along.effort, along.imposed, floats[i, layout.ROUNDING])
            if status != layout.OK:
                return status
            take_law(ints, law, i, work)
        kind = ints[i, layout.KIND]
        row, bias = i if kept else ints[i, layout.GATHERED], six(work, i, layout.BIAS)
        left = row
        if kind == layout.AXIAL:
            pivot, bias = _eliminate_axial(ints, floats, i, bias, along, work, row)
            p, w = floats[i, layout.LINEAR], floats[i, layout.ANGULAR]
            carried = p * p * work[row, layout.CARRIED] + w * w * work[row, layout.CARRIED + 1]
            if not everywhere(pivot > floats[i, layout.ROUNDING] * carried):
                return i
        else:
            put_six(work, i, layout.U, _NOTHING)
            work[i, layout.PIVOT] = 0.0
        if kind == layout.SPHERICAL or kind == layout.FREE:
            status = eliminate_multi(ints, floats, i, (inertia_of(work, row), bias), along, work, row, multi)
            if status != layout.OK:
                return status
            inertia = inertia_blocks(multi, ints[i, layout.MULTI], layout.FULL, 6)
            left = 0  # the world's row, which has no inertia of its own
            put_inertia(work, left, layout.MA, inertia)
            gamma = coriolis(ints, floats, i, six(work, i, layout.TWIST), along.v, ints[i, layout.V])
            bias = plus(six(multi, ints[i, layout.MULTI], layout.FULL_P), inertia_times(*inertia, gamma))
        if ints[i, layout.PARENT] > 0:
            _transmit(tables, i, bias, work, row, left, kept)
    return layout.OK


@helper
def take_law(ints, law, i, work):
    """Copy what a general block presents after elimination of its own coordinates to its element."""
    put_inertia(work, i, layout.MA, inertia_blocks(law, 0, ints[i, layout.LAW], 6 + ints[i, layout.OWN]))
    put_six(work, i, layout.BIAS, law_bias(ints, law, i))


@helper
def _eliminate_axial(ints, floats, i, bias, along, work, row):
    """Write U and 1 / D of a coordinate along and about z; return D (infinite for an imposed motion) and the joint's wrench.

    The world takes no wrench: for a joint on it, what is returned in its place is not complete.
    """
    inertia, k, p, w = inertia_of(work, row), ints[i, layout.V], floats[i, layout.LINEAR], floats[i, layout.ANGULAR]
    (_, _, azz, _, axz, ayz), (_, _, b02, _, _, b12, b20, b21, b22), (_, _, czz, _, cxz, cyz) = inertia
    u = (p * axz + w * b02, p * ayz + w * b12, p * azz + w * b22, p * b20 + w * cxz, p * b21 + w * cyz, p * b22 + w * czz)
    put_six(work, i, layout.U, u)
    gamma = coriolis(ints, floats, i, six(work, i, layout.TWIST), along.v, k)
    if along.imposed is not None and along.imposed[k]:
        work[i, layout.PIVOT] = 0.0
        return np.inf, plus(plus(bias, inertia_times(*inertia, gamma)), scaled(along.a[k], u))
    pivot = p * u[2] + w * u[5] + floats[i, layout.ARMATURE]
    inverse = 1.0 / pivot
    rest = along.effort[k] - (p * bias[2] + w * bias[5])
    work[i, layout.PIVOT], work[i, layout.REST_EFFORT] = inverse, rest
    if ints[i, layout.PARENT] == 0:
        return pivot, bias
    return pivot, plus(plus(bias, inertia_times(*inertia, gamma)), scaled(inverse * (rest - dot(u, gamma)), u))


@helper
def _left_inertia(work, i, row):
    """Return what eliminating element i's axial coordinate, if it has one, leaves of the inertia in a row."""
    (axx, ayy, azz, axy, axz, ayz), b, (cxx, cyy, czz, cxy, cxz, cyz) = inertia_of(work, row)
    u = six(work, i, layout.U)
    s0, s1, s2, s3, s4, s5 = scaled(-work[i, layout.PIVOT], u)
    a6 = (axx + u[0] * s0, ayy + u[1] * s1, azz + u[2] * s2, axy + u[0] * s1, axz + u[0] * s2, ayz + u[1] * s2)
    b9 = (
        b[0] + u[0] * s3, b[1] + u[0] * s4, b[2] + u[0] * s5,
        b[3] + u[1] * s3, b[4] + u[1] * s4, b[5] + u[1] * s5,
        b[6] + u[2] * s3, b[7] + u[2] * s4, b[8] + u[2] * s5,
    )  # fmt: skip
    c6 = (cxx + u[3] * s3, cyy + u[4] * s4, czz + u[5] * s5, cxy + u[3] * s4, cxz + u[3] * s5, cyz + u[4] * s5)
    return a6, b9, c6


@helper
def _transmit(tables, i, bias, work, row, left, kept):
    """Add what element i's subtree, gathered in `row`, presents at its joint to the parent; its inertia is `left` in a row."""
    ints, floats, law = tables.ints, tables.floats, tables.law
    p = ints[i, layout.PARENT]
    to = p if kept else ints[p, layout.GATHERED]
    mass, turning = carried_on(ints, law, i, p, work, row)
    a, b, c = carry_inertia(work, i, layout.R, *_left_inertia(work, i, left))
    bias = carry_wrench(work, i, layout.R, bias)
    if law is not None and ints[i, layout.PORT] >= 0:
        add_at_port(ints, law, i, p, a, b, c, bias)
    else:
        add_six(work, p, layout.BIAS, bias)
        if ints[i, layout.GATHERED] == ints[p, layout.GATHERED]:
            put_inertia(work, to, layout.MA, both_inertias(rigid_inertia(floats, p), (a, b, c)))
            work[to, layout.CARRIED], work[to, layout.CARRIED + 1] = floats[p, layout.MASS], floats[p, layout.TURNING]
        else:
            put_inertia(work, to, layout.MA, both_inertias(inertia_of(work, to), (a, b, c)))
    work[to, layout.CARRIED] += mass
    work[to, layout.CARRIED + 1] += turning


@helper
def outward_accelerations(tables, along, work, multi):
    """From the world outwards: free accelerations into `a`, efforts of imposed motions into `effort`."""
    (ints, floats, _, _, law), (v, a, effort, imposed) = tables, along
    for i in range(1, ints[0, layout.ELEMENTS]):
        k, kind = ints[i, layout.V], ints[i, layout.KIND]
        motion = parent_motion(ints, law, work, i, layout.ACC, layout.PORT_ACC)
        x = plus(transport(work, i, layout.R, motion), coriolis(ints, floats, i, six(work, i, layout.TWIST), v, k))
        if kind == layout.AXIAL:
            x = restore_axial(ints, floats, i, x, a, effort, imposed, work)
        elif kind == layout.SPHERICAL or kind == layout.FREE:
            x = restore_multi(ints, floats, i, x, a, effort, imposed, multi)
        put_six(work, i, layout.ACC, x)
        if law is not None and ints[i, layout.LAW] >= 0:
            restore_own(ints, law, i, x, a, effort, imposed)
            ports = ints[i, layout.PORT_COUNT], ints[i, layout.USED]
            write_port_accelerations(ints[i, layout.OWN], *ports, law, ints[i, layout.LAW], x, a, ints[i, layout.OWN_V])


@helper
def restore_axial(ints, floats, i, x, a, effort, imposed, work):
    """Write the acceleration or effort of element i's axial joint, carried with acceleration x; return the element's."""
    k, p, w = ints[i, layout.V], floats[i, layout.LINEAR], floats[i, layout.ANGULAR]
    u = six(work, i, layout.U)
    if imposed is not None and imposed[k]:
        y = a[k]
        moved = (x[0], x[1], x[2] + p * y, x[3], x[4], x[5] + w * y)
        effort[k] = dot(u, moved) + p * work[i, layout.BIAS + 2] + w * work[i, layout.BIAS + 5] + floats[i, layout.ARMATURE] * y
        return moved
    y = work[i, layout.PIVOT] * (work[i, layout.REST_EFFORT] - dot(u, x))
    a[k] = y
    return x[0], x[1], x[2] + p * y, x[3], x[4], x[5] + w * y


@helper
def respond(tables, efforts, still, work, multi):
    """Replace efforts by the accelerations that they alone cause from rest, `still` being zeros (nv).

    `work`, `multi` and `law` are as the elimination has left them, but for accelerations and biases, which are used up.
    """
    _let_rest(tables.ints, tables.law, work)
    _press_all(tables.ints, tables.floats, tables.law, efforts, work, multi)
    outward_accelerations(tables, Along(still, efforts, efforts, None), work, multi)


@helper
def _let_rest(ints, law, work):
    """Let nothing move, and nothing act."""
    put_six(work, 0, layout.ACC, _NOTHING)
    for i in range(ints[0, layout.ELEMENTS]):
        put_six(work, i, layout.BIAS, _NOTHING)
        if law is not None and i > 0 and ints[i, layout.LAW] >= 0:
            o, n = ints[i, layout.LAW], ints[i, layout.OWN]
            for r in range(6 + n):
                law[0, o + bias_at(n) + r] = 0.0
            for p in range(ints[i, layout.PORT_COUNT]):
                if is_used(ints[i, layout.USED], p):
                    put_six(law, 0, o + port_at(n, p) + layout.PORT_GAMMA, _NOTHING)


@helper
def _press_all(ints, floats, law, efforts, work, multi):
    """From the leaves inwards: the efforts less what presses on each coordinate, and what passes on to the parent."""
    for i in range(ints[0, layout.ELEMENTS] - 1, 0, -1):
        bias, kind = six(work, i, layout.BIAS), ints[i, layout.KIND]
        if law is not None and ints[i, layout.LAW] >= 0:
            _press_on_own(ints, law, i, efforts)
            bias = law_bias(ints, law, i)
        if kind == layout.AXIAL:
            rest = efforts[ints[i, layout.V]] - (floats[i, layout.LINEAR] * bias[2] + floats[i, layout.ANGULAR] * bias[5])
            work[i, layout.REST_EFFORT] = rest
            bias = plus(bias, scaled(rest * work[i, layout.PIVOT], six(work, i, layout.U)))
        elif kind == layout.SPHERICAL or kind == layout.FREE:
            bias = rest_of_multi(ints, i, bias, efforts, multi)
        if ints[i, layout.PARENT] > 0:
            _press_on(ints, law, i, carry_wrench(work, i, layout.R, bias), work)


@helper
def _press_on_own(ints, law, i, efforts):
    """Leave the rest of each own effort of block i in its h, and what passes on at the head of that (see `eliminate_own`)."""
    o, n, k = ints[i, layout.LAW], ints[i, layout.OWN], ints[i, layout.OWN_V]
    size, h = 6 + n, o + bias_at(n)
    for j in range(n - 1, -1, -1):
        row = part_of(law, o + (6 + j) * size, (size,))
        before = part_of(law, h, (size,))
        rest = efforts[k + j] - before[6 + j]
        share = rest * row[6 + j]
        for r in range(6 + j):
            before[r] += row[r] * share
        before[6 + j] = rest


@helper
def _press_on(ints, law, i, wrench, work):
    """Add what element i's subtree presses with, at its joint, to the parent's bias or law."""
    p = ints[i, layout.PARENT]
    if law is not None and ints[i, layout.PORT] >= 0:
        h = ints[p, layout.LAW] + bias_at(ints[p, layout.OWN])
        for j in range(ints[p, layout.OWN]):
            law[0, h + 6 + j] += dot(subspace_column(ints, law, i, p, j), wrench)
        add_six(law, 0, h, carry_wrench(law, 0, ints[i, layout.PORT], wrench))
        return
    add_six(work, p, layout.BIAS, wrench)
