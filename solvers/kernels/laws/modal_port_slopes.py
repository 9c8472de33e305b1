"""How a port of a flexible body answers to the six numbers that move it, and to their rates (see `modal_ports`).

Six matrices (6 x 6) stand one after the other: how the port's twist changes with the numbers and, in axes that move along, its
acceleration; the acceleration with their rates; with the numbers again, what the port's wrench is at the parent port, and what
``Phi^T`` turns into efforts; the twist with the rates. Complex steps turn the port; the others are products, written out.
"""

from __future__ import annotations

from titop.solvers.kernels.laws.compiled_laws import STEP, imaginary, put_column
from titop.solvers.kernels.laws.modal_ports import carried_back, image_of, port_motion, pose_of, pulled_back, turning_of
from titop.solvers.kernels.spatial.algebra import cross, matrix_of, minus, plus, twist_cross, unit
from titop.solvers.kernels.spatial.matrices import times, transposed
from titop.solvers.native.kernel import helper, shared

#: Where the matrices begin, and where they end.
TWIST_BY_PLACE, RATE_BY_PLACE, RATE_BY_SPEED, CARRIED_BY_PLACE, PULLED_BY_PLACE, TWIST_BY_SPEED = range(0, 216, 36)
PORT_SLOPES = 216


@shared
def write_port_slopes(modes, o, moving, rates, second, twist, acceleration, speed, wrench, slopes):
    """Write the six matrices at the head of ``slopes[0]``, for the port's twist `speed` and the `wrench` on it."""
    at = pose_of(modes, o, moving)
    own = image_of(modes, o, at, rates)
    for k in range(3):
        _displace(at, own, twist, acceleration, speed, wrench, k, slopes)
    for k in range(3, 6):
        turned = pose_of(modes, o, after_step(moving, k))
        moved_speed, moved_rate = port_motion(modes, o, turned, after_step(rates, 6), second, twist, acceleration)
        change = imaginary(moved_speed)
        put_column(slopes, TWIST_BY_PLACE, 6, k, change)
        put_column(slopes, RATE_BY_PLACE, 6, k, minus(imaginary(moved_rate), twist_cross(change, speed)))
        put_column(slopes, CARRIED_BY_PLACE, 6, k, imaginary(carried_back(turned, wrench)))
        put_column(slopes, PULLED_BY_PLACE, 6, k, imaginary(pulled_back(modes, o, turned, wrench)))
    for k in range(6):
        _speed_up(modes, o, at, own, rates, speed, k, slopes)


@helper
def _displace(at, own, twist, acceleration, speed, wrench, k, slopes):
    """Write what moving the port along axis k of the parent port changes: it turns nothing."""
    rotation, nothing, along = at[0], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), unit(k)
    change = _across(rotation, twist, along)
    rest = minus(plus(_across(rotation, acceleration, along), twist_cross(change, own)), twist_cross(change, speed))
    f0, f1, f2 = times(rotation, (wrench[0], wrench[1], wrench[2]))
    t0, t1, t2 = cross(along[0], along[1], along[2], f0, f1, f2)
    put_column(slopes, TWIST_BY_PLACE, 6, k, change)
    put_column(slopes, RATE_BY_PLACE, 6, k, rest)
    put_column(slopes, CARRIED_BY_PLACE, 6, k, (0.0, 0.0, 0.0, t0, t1, t2))
    put_column(slopes, PULLED_BY_PLACE, 6, k, nothing)


@helper
def _across(rotation, x, along):
    """Return ``[R^T (w x along); 0]`` for a twist with angular part w."""
    a0, a1, a2 = cross(x[3], x[4], x[5], along[0], along[1], along[2])
    f0, f1, f2 = times(transposed(rotation), (a0, a1, a2))
    return f0, f1, f2, 0.0, 0.0, 0.0


@helper
def _speed_up(modes, o, at, own, rates, speed, k, slopes):
    """Write what a change of the k-th rate changes."""
    along, turning = unit(k), (rates[3], rates[4], rates[5])
    change = image_of(modes, o, at, along)
    faster = along[3], along[4], along[5]
    t = plus_three(turning_of(at, turning, faster), turning_of(at, faster, turning))
    t0, t1, t2 = times(transposed(matrix_of(modes, 0, o)), t)
    a0, a1, a2 = cross(own[3], own[4], own[5], change[0], change[1], change[2])
    b0, b1, b2 = cross(change[3], change[4], change[5], own[0], own[1], own[2])
    rest = minus(plus(twist_cross(change, own), twist_cross(speed, change)), twist_cross(change, speed))
    put_column(slopes, RATE_BY_SPEED, 6, k, plus(rest, (-a0 - b0, -a1 - b1, -a2 - b2, t0, t1, t2)))
    put_column(slopes, TWIST_BY_SPEED, 6, k, change)


@helper
def plus_three(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@helper
def after_step(x, k):
    """Return six numbers, the k-th of which has taken a step."""
    return (
        x[0] + (1j * STEP if k == 0 else 0j),
        x[1] + (1j * STEP if k == 1 else 0j),
        x[2] + (1j * STEP if k == 2 else 0j),
        x[3] + (1j * STEP if k == 3 else 0j),
        x[4] + (1j * STEP if k == 4 else 0j),
        x[5] + (1j * STEP if k == 5 else 0j),
    )
