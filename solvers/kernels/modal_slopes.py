"""Linearised laws of flexible bodies: complex steps through their laws, exact to rounding.

What a step of q changes of a port's twist and acceleration, in the port's own axes, is X and ``Y + ad(X) V``; a step of v
changes them by S and ``Z + ad(S) V`` (see `derivatives`).
"""

from __future__ import annotations

from titop.solvers.kernels.algebra import minus, plus, six, transport, twist_cross
from titop.solvers.kernels.kernel import helper
from titop.solvers.kernels.layout import (
    ACC,
    BODY_ELEMENT,
    BODY_MODES,
    BODY_PORTS,
    BODY_Q,
    OWN,
    OWN_V,
    PORT_GAMMA,
    PORT_S,
    RIGID,
    SHAPE,
    SLOPES,
    TWIST,
)
from titop.solvers.kernels.modal import write_body_law, write_gamma, write_port

_STEP = 1e-30


@helper
def write_modal_slopes(ints, bodies, modes, q, v, a, work, state, twist, law, slopes):
    """Write the linearised laws of all flexible bodies into `slopes`.

    `state` (2, the most modes), `twist` (6) and `law` (1, the largest law) are complex, and receive what is stepped.
    """
    for k in range(bodies.shape[0]):
        i = bodies[k, BODY_ELEMENT]
        n, o = ints[i, OWN], bodies[k, BODY_MODES]
        for j in range(n):
            state[0, j], state[1, j] = q[bodies[k, BODY_Q] + j], v[ints[i, OWN_V] + j]
        for j in range(6):
            twist[j] = work[i, TWIST + j]
        size, at = 6 + n, ints[i, SLOPES]
        for j in range(2 * n + 6):
            which = 0 if j < n else 1
            if j < 2 * n:
                state[which, j - which * n] += 1j * _STEP
            else:
                twist[j - 2 * n] += 1j * _STEP
            write_body_law(modes, o, n, state[0], 0, state[1], 0, _six_of(twist), True, law, 0)
            columns = n if j < 2 * n else 6
            begin = at + which * size * n if j < 2 * n else at + 2 * size * n
            column = j - which * n if j < 2 * n else j - 2 * n
            for r in range(size):
                total = law[0, size * size + r]
                for c in range(6):
                    total += law[0, r * size + c] * work[i, ACC + c]
                for c in range(n):
                    total += law[0, r * size + 6 + c] * a[ints[i, OWN_V] + c]
                slopes[0, begin + r * columns + column] = total.imag / _STEP
            if j < 2 * n:
                _write_ports(ints, bodies, modes, k, n, j, which, a, work, state, twist, law, slopes)
                state[which, j - which * n] -= 1j * _STEP
            else:
                twist[j - 2 * n] -= 1j * _STEP


@helper
def _six_of(x):
    return x[0], x[1], x[2], x[3], x[4], x[5]


@helper
def _write_ports(ints, bodies, modes, k, n, j, which, a, work, state, twist, law, slopes):
    """Write what the step of coordinate j (of its rate, if `which` is 1) changes of all ports of body k."""
    i, size = bodies[k, BODY_ELEMENT], 6 + n
    o, column = bodies[k, BODY_MODES] + RIGID + 6 * n + 3 * n * n, j - which * n
    target = size * size + size
    at = ints[i, SLOPES] + size * (2 * n + 6)
    for _ in range(bodies[k, BODY_PORTS]):
        write_port(modes, o, n, state[0], 0, law, target)
        write_gamma(modes, o, n, state[0], 0, state[1], 0, _six_of(twist), law, target)
        speed = transport(law, 0, target, _six_of(twist))
        rate = plus(transport(law, 0, target, six(work, i, ACC)), six(law, 0, target + PORT_GAMMA))
        for c in range(n):
            s = _column(law, target + PORT_S, n, c)
            speed = plus(speed, _times(state[1, c], s))
            rate = plus(rate, _times(a[ints[i, OWN_V] + c], s))
        x = _imaginary(speed)
        y = minus(_imaginary(rate), twist_cross(x, _real(speed)))
        if which == 0:
            _put_column(slopes, at, n, column, x)
            _put_column(slopes, at + 6 * n, n, column, y)
            for c in range(n):
                bend = _imaginary(_column(law, target + PORT_S, n, c))
                _put_column(slopes, at + 18 * n + 6 * n * column, n, c, bend)
        else:
            _put_column(slopes, at + 12 * n, n, column, y)
        o += SHAPE + 6 * n
        target += PORT_S + 6 * n
        at += 18 * n + 6 * n * n


@helper
def _column(t, o, n, j):
    return t[0, o + j], t[0, o + n + j], t[0, o + 2 * n + j], t[0, o + 3 * n + j], t[0, o + 4 * n + j], t[0, o + 5 * n + j]


@helper
def _put_column(t, o, n, j, x):
    for r in range(6):
        t[0, o + r * n + j] = x[r]


@helper
def _times(s, x):
    return s * x[0], s * x[1], s * x[2], s * x[3], s * x[4], s * x[5]


@helper
def _imaginary(x):
    return x[0].imag / _STEP, x[1].imag / _STEP, x[2].imag / _STEP, x[3].imag / _STEP, x[4].imag / _STEP, x[5].imag / _STEP


@helper
def _real(x):
    return x[0].real, x[1].real, x[2].real, x[3].real, x[4].real, x[5].real
