"""Eliminating the coordinates of spherical and free joints: features, which systems without them do not wait for."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import address_of, floats_at, vector_at
from titop.solvers.kernels.spatial.algebra import dot, put_six, six
from titop.solvers.native.kernel import feature, helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT

_NO_INERTIA = 1


@helper
def eliminate_multi(ints, floats, i, loaded, along, work, carrying, multi):
    """Eliminate the coordinates of element i's joint, `loaded` with inertia and bias, from its row of `multi`; return a status.

    `carrying` is a row of `work`.
    """
    (inertia, bias), m = loaded, ints[i, layout.MULTI]
    _write_full(multi, m, inertia)
    put_six(multi, m, layout.FULL_P, bias)
    carried, borne = address_of(work, carrying * work.shape[1] + layout.CARRIED), 1 if ints[i, layout.PARENT] > 0 else 0
    status = elimination((*_given(ints, floats, i, along.a, along.effort, along.imposed, multi), carried, borne))
    return i if status == _NO_INERTIA else status


@helper
def rest_of_multi(ints, i, bias, efforts, multi):
    """Write the efforts of element i's joint less what presses on them; return what passes on (see `forward`)."""
    m = ints[i, layout.MULTI]
    put_six(multi, m, layout.FULL_P, bias)
    first, n = _axes(ints, i)
    if resting((first, n, address_of(efforts, ints[i, layout.V]), address_of(multi, m * layout.MULTI_COLUMNS))) != layout.OK:
        multi[m, layout.REST_MULTI] = np.nan  # the reason waits for `callbacks.raise_pending`
    return six(multi, m, layout.FULL_P)


@helper
def restore_multi(ints, floats, i, x, a, effort, imposed, multi):
    """Write accelerations or efforts of element i's joint, carried with acceleration x; return the element's acceleration."""
    m = ints[i, layout.MULTI]
    put_six(multi, m, layout.FULL_P, x)
    if restoration(_given(ints, floats, i, a, effort, imposed, multi)) != layout.OK:
        a[ints[i, layout.V]] = np.nan  # the reason waits for `callbacks.raise_pending`
    return six(multi, m, layout.FULL_P)


@helper
def _write_full(multi, m, inertia):
    (axx, ayy, azz, axy, axz, ayz), (b00, b01, b02, b10, b11, b12, b20, b21, b22), (cxx, cyy, czz, cxy, cxz, cyz) = inertia
    put_six(multi, m, layout.FULL, (axx, axy, axz, b00, b01, b02))
    put_six(multi, m, layout.FULL + 6, (axy, ayy, ayz, b10, b11, b12))
    put_six(multi, m, layout.FULL + 12, (axz, ayz, azz, b20, b21, b22))
    put_six(multi, m, layout.FULL + 18, (b00, b10, b20, cxx, cxy, cxz))
    put_six(multi, m, layout.FULL + 24, (b01, b11, b21, cxy, cyy, cyz))
    put_six(multi, m, layout.FULL + 30, (b02, b12, b22, cxz, cyz, czz))


@helper
def _given(ints, floats, i, a, effort, imposed, multi):
    """Return what both features begin with: first axis, number of coordinates, a bit for each imposed motion, addresses."""
    k = ints[i, layout.V]
    first, n = _axes(ints, i)
    bits = 0
    if imposed is not None:
        for j in range(n):
            if imposed[k + j]:
                bits |= 1 << j
    row = address_of(multi, ints[i, layout.MULTI] * layout.MULTI_COLUMNS)
    return first, n, bits, address_of(floats, i * layout.FLOAT_COLUMNS), address_of(a, k), address_of(effort, k), row


@helper
def _axes(ints, i):
    """Return the first axis of element i's joint, and how many it has."""
    return (3, 3) if ints[i, layout.KIND] == layout.SPHERICAL else (0, 6)


@feature(INTEGER, INTEGER, INTEGER, TABLE_AT, STATE_AT, STATE_AT, STATE_AT, STATE_AT, INTEGER)
def elimination(first, n, imposed, floats, a, effort, multi, carried, borne):
    """Eliminate n coordinates about and along the axes from `first`; only if `borne` does a parent ask for what they leave."""
    own, row = floats_at(floats, 1, layout.FLOAT_COLUMNS), floats_at(multi, 1, layout.MULTI_COLUMNS)
    rates, efforts, moved = vector_at(a, n), vector_at(effort, n), vector_at(carried, 2)
    for j in range(n):
        axis = first + j
        left = 0 if borne else axis + 1
        for r in range(6):
            row[0, layout.U_MULTI + 6 * j + r] = row[0, layout.FULL + 6 * axis + r]
        u = vector_at(address_of(row, layout.U_MULTI + 6 * j), 6)
        if (imposed >> j) & 1:
            row[0, layout.REST_MULTI + j] = row[0, layout.FULL_P + axis]
            for r in range(left, 6):
                row[0, layout.FULL_P + r] += u[r] * rates[j]
            continue
        pivot = u[axis] + own[0, layout.ARMATURE + j]
        if not everywhere(pivot > own[0, layout.ROUNDING] * moved[0 if axis < 3 else 1]):
            return _NO_INERTIA
        inverse = 1.0 / pivot
        rest = efforts[j] - row[0, layout.FULL_P + axis]
        row[0, layout.PIVOT_MULTI + j], row[0, layout.REST_MULTI + j] = inverse, rest
        for r in range(left, 6):
            scaled = u[r] * inverse
            row[0, layout.FULL_P + r] += scaled * rest
            for c in range(6):
                row[0, layout.FULL + 6 * r + c] -= scaled * u[c]
    return layout.OK


@feature(INTEGER, INTEGER, STATE_AT, STATE_AT)
def resting(first, n, effort, multi):
    """Take what presses on n coordinates about and along the axes from `first` from their efforts, and pass the rest on."""
    row, efforts = floats_at(multi, 1, layout.MULTI_COLUMNS), vector_at(effort, n)
    for j in range(n):
        rest = efforts[j] - row[0, layout.FULL_P + first + j]
        share = rest * row[0, layout.PIVOT_MULTI + j]
        for r in range(6):
            row[0, layout.FULL_P + r] += row[0, layout.U_MULTI + 6 * j + r] * share
        row[0, layout.REST_MULTI + j] = rest
    return layout.OK


@feature(INTEGER, INTEGER, INTEGER, TABLE_AT, STATE_AT, STATE_AT, STATE_AT)
def restoration(first, n, imposed, floats, a, effort, multi):
    """Restore n coordinates about and along the axes from `first`."""
    own, row = floats_at(floats, 1, layout.FLOAT_COLUMNS), floats_at(multi, 1, layout.MULTI_COLUMNS)
    rates, efforts = vector_at(a, n), vector_at(effort, n)
    for j in range(n - 1, -1, -1):
        reaction = dot(six(row, 0, layout.U_MULTI + 6 * j), six(row, 0, layout.FULL_P))
        if (imposed >> j) & 1:
            y = rates[j]
            moving = (row[0, layout.U_MULTI + 6 * j + first + j] + own[0, layout.ARMATURE + j]) * y
            efforts[j] = reaction + moving + row[0, layout.REST_MULTI + j]
        else:
            y = row[0, layout.PIVOT_MULTI + j] * (row[0, layout.REST_MULTI + j] - reaction)
            rates[j] = y
        row[0, layout.FULL_P + first + j] += y
    return layout.OK
