"""Laws of general blocks as compiled stages (see `stages`), made of one function that writes the law.

The linearised law comes from complex steps through that function, exact to rounding. What a step of q changes of a port's twist
and acceleration, in the port's own axes, is X and ``Y + ad(X) V``; a step of v changes them by S and ``Z + ad(S) V`` (see
`derivatives`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.solvers.kernels.algebra import minus, plus, six, transport, twist_cross
from titop.solvers.kernels.layout import OK, PORT_GAMMA, PORT_S
from titop.solvers.kernels.stages import row_at, vector_at
from titop.solvers.native.kernel import Stage, helper

_STEP = 1e-30
_START = np.int64(0)


class CompiledLaw:
    """The stages of a kind of block.

    Parameters
    ----------
    name : str
        Of the kind.
    write : helper
        ``write(n, ports, numbers, q, v, twist, passive, law)`` with arrays `numbers` (1, count), `q` and `v` (n), `twist`
        (1, 6) and `law` (1, as many as the block's law); the states and `law` may be complex.
    """

    def __init__(self, name: str, write: Any) -> None:
        def terms(n, ports, count, numbers, q, v, twist, passive, law):
            size = (6 + n) * (7 + n) + ports * (18 + 6 * n)
            rows = row_at(numbers, count), row_at(twist, 6), row_at(law, size)
            write(n, ports, rows[0], vector_at(q, n), vector_at(v, n), rows[1], passive, rows[2])
            return OK

        def linear_terms(n, ports, count, numbers, q, v, twist, acceleration, a, slopes):
            size = (6 + n) * (7 + n) + ports * (18 + 6 * n)
            moved, rates = np.empty(n, np.complex128), np.empty(n, np.complex128)
            carried, law = np.empty((1, 6), np.complex128), np.empty((1, size), np.complex128)
            base, own = vector_at(q, n), vector_at(v, n)
            for j in range(n):
                moved[j], rates[j] = base[j], own[j]
            at_parent = row_at(twist, 6)
            for j in range(6):
                carried[0, j] = at_parent[0, j]
            result = row_at(slopes, (6 + n) * (2 * n + 6) + ports * (18 * n + 6 * n * n))
            accelerated, own_acceleration = row_at(acceleration, 6), vector_at(a, n)
            for j in range(2 * n + 6):
                where, k = (moved, j) if j < n else ((rates, j - n) if j < 2 * n else (carried[0], j - 2 * n))
                where[k] += 1j * _STEP
                write(n, ports, row_at(numbers, count), moved, rates, carried, 1, law)
                where[k] -= 1j * _STEP
                write_law_slope(n, j, accelerated, own_acceleration, law, result)
                if j < 2 * n:
                    write_port_slopes(n, ports, j, accelerated, rates, own_acceleration, carried, law, result)
            return OK

        self.terms = Stage(f"{name}_terms", terms, 9)
        self.linear_terms = Stage(f"{name}_linear_terms", linear_terms, 10)


@helper
def write_law_slope(n, j, acceleration, a, law, slopes):
    """Write the derivatives of ``M x + h`` along step j, which `law` has taken: of q, of v, or of the twist."""
    size = 6 + n
    begin, columns, column = 0, n, j
    if j >= 2 * n:
        begin, columns, column = 2 * size * n, 6, j - 2 * n
    elif j >= n:
        begin, column = size * n, j - n
    for r in range(size):
        total = law[0, size * size + r].imag
        for c in range(6):
            total += law[0, r * size + c].imag * acceleration[0, c]
        for c in range(n):
            total += law[0, r * size + 6 + c].imag * a[c]
        slopes[0, begin + r * columns + column] = total / _STEP


@helper
def write_port_slopes(n, ports, j, acceleration, v, a, twist, law, slopes):
    """Write what step j, of q or v, changes of all ports."""
    size = 6 + n
    column, target, at = j % n, size * size + size, size * (2 * n + 6)
    for _ in range(ports):
        speed = transport(law, 0, target, six(twist, 0, _START))
        rate = plus(transport(law, 0, target, six(acceleration, 0, _START)), six(law, 0, target + PORT_GAMMA))
        for c in range(n):
            s = _column(law, target + PORT_S, n, c)
            speed = plus(speed, _times(v[c] + (1j * _STEP if j == n + c else 0.0), s))
            rate = plus(rate, _times(a[c], s))
        x = _imaginary(speed)
        y = minus(_imaginary(rate), twist_cross(x, _real(speed)))
        if j < n:
            _put_column(slopes, at, n, column, x)
            _put_column(slopes, at + 6 * n, n, column, y)
            for c in range(n):
                _put_column(slopes, at + 18 * n + 6 * n * column, n, c, _imaginary(_column(law, target + PORT_S, n, c)))
        else:
            _put_column(slopes, at + 12 * n, n, column, y)
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
