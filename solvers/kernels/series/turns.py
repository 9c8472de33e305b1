"""What joints have turned and shifted by since the beginning, as series."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series.rooms import COS, SHIFT, SIN, TURN, counted
from titop.solvers.kernels.spatial.algebra import cross, rotate, rotate_back
from titop.solvers.native.kernel import helper


@helper
def turn_group(free, v, row, k, share, rates, groups):
    """Write order k of E and, for a free joint, of the shift, from lower orders; `share` is 1 / k."""
    for c in range(12):
        groups[row + k, TURN + c] = 0.0
    if k == 0:
        groups[row, TURN] = groups[row, TURN + 4] = groups[row, TURN + 8] = 1.0
        return
    angular = v + 3 if free else v
    for j in range(k):
        m = k - 1 - j
        for line in range(0, 9, 3):
            x, y, z = groups[row + j, TURN + line], groups[row + j, TURN + line + 1], groups[row + j, TURN + line + 2]
            dx, dy, dz = cross(x, y, z, rates[m, angular], rates[m, angular + 1], rates[m, angular + 2])
            groups[row + k, TURN + line] += dx
            groups[row + k, TURN + line + 1] += dy
            groups[row + k, TURN + line + 2] += dz
        if free:
            dx, dy, dz = rotate(groups, row + j, TURN, rates[m, v], rates[m, v + 1], rates[m, v + 2])
            groups[row + k, SHIFT] += dx
            groups[row + k, SHIFT + 1] += dy
            groups[row + k, SHIFT + 2] += dz
    for c in range(12):
        groups[row + k, TURN + c] *= share


@helper
def turned_back(groups, row, first, last, k, column):
    """Return the sum of ``E_j^T x_(k - j)`` for j from `first` to before `last`, x in a `column` of the group."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(first, last):
        m = row + k - j
        dx, dy, dz = rotate_back(groups, row + j, TURN, groups[m, column], groups[m, column + 1], groups[m, column + 2])
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z


@helper
def turned(groups, row, k, vectors, at, column):
    """Return the sum of ``E_j x_(k - j)`` for j > 0, x_0 at ``vectors[at, column]``."""
    x, y, z = 0.0, 0.0, 0.0
    for j in range(1, k + 1):
        m = at + k - j
        dx, dy, dz = rotate(groups, row + j, TURN, vectors[m, column], vectors[m, column + 1], vectors[m, column + 2])
        x, y, z = x + dx, y + dy, z + dz
    return x, y, z


@helper
def turn_on(joint, rows, k, share, rates, joints, groups):
    """Write order k of what a joint has turned and shifted by, of lower orders of its rates; `share` is 1 / k."""
    kind, v, _, angular = joint
    if kind == layout.AXIAL:
        _turn_axis(angular, v, rows[0], k, share, rates, joints)
    elif kind == layout.SPHERICAL or kind == layout.FREE:
        turn_group(kind == layout.FREE, v, rows[2], k, share, rates, groups)


@helper
def _turn_axis(angular, v, row, k, share, rates, joints):
    """Cosine and sine: ``dc/dt = -s dq/dt``, ``ds/dt = c dq/dt``."""
    at, c, s = counted(row + k), 0.0, 0.0
    if k == 0:
        joints[at, COS], joints[at, SIN] = 1.0, 0.0
        return
    if angular != 0.0:
        for j in range(k):
            rate, n = rates[counted(k - 1 - j), v], counted(row + j)
            c -= rate * joints[n, SIN]
            s += rate * joints[n, COS]
    share = angular * share
    joints[at, COS], joints[at, SIN] = share * c, share * s


@helper
def shift_of(linear, v, k, rates):
    """Return order k > 0 of the shift of an axial joint along z."""
    return linear * rates[k - 1, v] / k
