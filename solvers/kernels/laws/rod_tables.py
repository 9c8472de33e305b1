"""What the strains of a rod's step move and press on, component by component.

A *table* has, of both places of collocation, six numbers for a unit of each strain component in [k; s]: a twist of all that
lies beyond the step, say. All maps here are matrices of dual numbers (see `rod_exponential`): if ``[y; z]`` comes of a turn
about an axis, ``[z; 0]`` comes of a shift along it.
"""

from __future__ import annotations

from titop.solvers.kernels.laws.rod_exponential import (
    dual_product,
    expansion,
    rates_of,
    tangent,
    tangent_back,
    tangent_back_slope,
    tangent_rates,
)
from titop.solvers.kernels.laws.rod_motion import MAGNUS, on_first, on_second, put_pressure, strain_at
from titop.solvers.kernels.laws.rod_numbers import OMEGA, OMEGA_RATE, OMEGA_SECOND, RATE, STRAINS, TWIST
from titop.solvers.kernels.spatial.algebra import (
    carry_twist,
    minus,
    plus,
    put_six,
    scaled,
    six,
    twist_cross,
    unit,
    wrench_cross,
)
from titop.solvers.native.kernel import helper

#: Numbers of a table.
TABLE = 72

#: Numbers of one place's.
_HALF = 36

#: Where shifts begin in one, behind turns.
_SHIFTS = 18


@helper
def write_moved(length, kept, here, table):
    """Write what the strains of a step move its end by, in the axes of the end."""
    omega = six(kept, 0, here + OMEGA)
    terms = expansion(omega)
    for d in range(6):
        z, _, _ = _slopes_of_omega(length, kept, here + STRAINS, d)
        _put_twist(table, 0, d, tangent(omega, terms[0], terms[1], z))


@helper
def _slopes_of_omega(length, kept, o, d):
    """Return what a turn of the first strain about axis d, or of the second about d - 3, adds to Omega and its rates."""
    axis, is_first = unit(3 + d % 3), d < 3
    beside, bracket = (o + 6 if is_first else o), (-MAGNUS if is_first else MAGNUS) * length * length
    still = plus(scaled(0.5 * length, axis), scaled(bracket, twist_cross(strain_at(kept, beside), axis)))
    by_rate = scaled(bracket, twist_cross(strain_at(kept, beside + 12), axis))
    return still, by_rate, scaled(bracket, twist_cross(strain_at(kept, beside + 24), axis))


@helper
def _put_twist(t, o, d, x):
    """Write what a turn does, for d see `_slopes_of_omega`, and what a shift along its axis does."""
    at = o + _HALF * (d // 3) + 6 * (d % 3)
    put_six(t, 0, at, x)
    put_six(t, 0, at + _SHIFTS, (x[3], x[4], x[5], 0.0, 0.0, 0.0))


@helper
def write_moving(length, kept, here, end, tables, own, other):
    """Write what the strains of a step add to S of its end, in the base's axes, and from `other` on what to both rates of S."""
    omega, first, second = six(kept, 0, here + OMEGA), six(kept, 0, here + OMEGA_RATE), six(kept, 0, here + OMEGA_SECOND)
    terms, still = expansion(omega), other + 2 * TABLE
    rates, by_rate, by_second = rates_of(omega, first, second, terms), still + 18, still + 36
    for d in range(3):
        x, y, z = tangent_rates(omega, first, second, terms, rates, unit(3 + d))
        put_six(tables, 0, still + 6 * d, x)
        put_six(tables, 0, by_rate + 6 * d, y)
        put_six(tables, 0, by_second + 6 * d, z)
    speed, rate = six(kept, 0, end + TWIST), six(kept, 0, end + RATE)
    for d in range(6):
        z0, z1, z2 = _slopes_of_omega(length, kept, here + STRAINS, d)
        x0 = dual_product(tables, still, z0)
        x1 = plus(dual_product(tables, by_rate, z0), dual_product(tables, still, z1))
        x2 = plus(scaled(2.0, dual_product(tables, by_rate, z1)), dual_product(tables, still, z2))
        x2 = plus(x2, dual_product(tables, by_second, z0))
        # from rates in the axes of the step's end to rates in inertial ones
        y1 = plus(x1, twist_cross(speed, x0))
        y2 = plus(plus(x2, twist_cross(rate, x0)), twist_cross(speed, plus(x1, y1)))
        _put_twist(tables, own, d, carry_twist(kept, 0, end, x0))
        _put_twist(tables, other, d, carry_twist(kept, 0, end, y1))
        _put_twist(tables, other + TABLE, d, carry_twist(kept, 0, end, y2))


@helper
def write_pressing(length, kept, here, wrench, tables, to):
    """Write what each strain of a step changes of how the wrench beyond, held, presses on the first, and on the second."""
    o, omega = here + STRAINS, six(kept, 0, here + OMEGA)
    terms = expansion(omega)
    pressed = tangent_back(omega, terms[0], terms[1], wrench)
    x, y = strain_at(kept, o), strain_at(kept, o + 6)
    for d in range(6):
        z, _, _ = _slopes_of_omega(length, kept, o, d)
        changed = tangent_back_slope(omega, terms, z, wrench)
        bracket = scaled(MAGNUS * length * length, wrench_cross(unit(3 + d % 3), pressed))
        first, second = on_first(length, y, changed), on_second(length, x, changed)
        if d < 3:
            second = minus(second, bracket)
        else:
            first = plus(first, bracket)
        _put_pressure(tables, to, d, first)
        _put_pressure(tables, to + TABLE, d, second)


@helper
def _put_pressure(t, o, d, w):
    """Write what a turn presses on a strain, and what a shift along its axis does."""
    at = o + _HALF * (d // 3) + 6 * (d % 3)
    put_pressure(t, at, w)
    put_six(t, 0, at + _SHIFTS, (w[0], w[1], w[2], 0.0, 0.0, 0.0))
