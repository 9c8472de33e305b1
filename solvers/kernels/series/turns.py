"""What joints have turned and shifted by since the beginning, as series."""

from __future__ import annotations

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.series.group_turns import turn_group
from titop.solvers.kernels.series.rooms import COS, SIN, counted
from titop.solvers.native.kernel import helper


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
