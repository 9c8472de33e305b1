"""What a body with second order takes alone, from few numbers of its deformation: see `stiffening`.

Twin of `titop.blocks.bodies.second_order`, which has the energy. Of that, with the moments m1 and m2 (4 x 3 each: s,
then A row by row) of the displacements of first and second order::

    b1 = [s1'; L1'] + B(m1) w    b2 = mu(m2') + B(m2) w    B(m) w = [w x s; tr(A) w - A^T w]    mu(m) = [s; axial(A)]
    T = V^T D V / 2 + V . (b1 + b2) + b2^T D^-1 (b1 + b2 / 2) + w . n + w^T C(c) w / 2 + q'^T M q' / 2

The numbers stand in one row: `M1` to `VELOCITY`. None of what the body takes has products of v (`point_acceleration`).
"""

from __future__ import annotations

from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.laws.matrices import three_at
from titop.solvers.kernels.spatial.algebra import cross, full_times, plus, put_six, rigid_momentum, six
from titop.solvers.native.kernel import helper, shared

# -- the numbers
M1 = 0  # moments of first order (12)
M2 = 12  # and of second order
PRODUCTS = 24  # c = int u u^T dm (6: xx, yy, zz, xy, xz, yz)
M1_RATE = 30
SPUN_RATE = 42  # L1' (3)
M2_RATE = 45
PRODUCTS_RATE = 57
STIRRED = 63  # n = int u x u' dm (3)
FIRST_SECOND = 66  # [s1''; L1''] (6)
M2_SECOND = 72
STIRRED_RATE = 84
TWIST = 87  # of the parent port, its origin at rest: [0; w]
ACCELERATION = 93  # and its acceleration for whoever moves along with it: [a + w x v; w']
VELOCITY = 99  # v (3)
FEW = 102

# -- what follows from them
WRENCH = 0  # W_P (6)
BY_FIRST = 6  # what the participation turns into efforts (6: s1, L1)
BY_MOMENTS = 12  # the derivatives of A of first order (9)
BY_SECOND = 21  # those of m2 (12)
BY_PRODUCTS = 33  # and half those of c (6)
BY_MOMENTA = 39  # and the derivatives of T by b1 and b2, and their rates (6 each)
MOMENTUM = 63  # of the body (6)
TAKEN = 69


@shared
def take_alone(modes, inverse, f, taken):
    """Write the body's wrench and what turns into its efforts into ``taken[0]``, from the numbers ``f[0]``.

    `inverse` is where D_P^-1 (6x6) stands.
    """
    x, y = six(f, 0, TWIST), six(f, 0, ACCELERATION)
    w, dw = (x[3], x[4], x[5]), (y[3], y[4], y[5])
    both, both_rate, e1, s1 = _momenta(modes, inverse, f, w, dw)
    y1, r1 = plus(x, e1), plus(y, s1)
    y2, r2 = plus(x, full_times(modes, 0, inverse, both)), plus(y, full_times(modes, 0, inverse, both_rate))
    put_six(taken, 0, BY_MOMENTA, y1)
    put_six(taken, 0, BY_MOMENTA + 6, y2)
    put_six(taken, 0, BY_MOMENTA + 12, r1)
    put_six(taken, 0, BY_MOMENTA + 18, r2)
    t0, t1, t2 = own_times(f, PRODUCTS, w)
    u0, u1, u2 = own_times(f, PRODUCTS, dw)
    momentum = plus(plus(rigid_momentum(modes, 0, 0, x), both), _turning(_spun_momentum(f, y1, y2), (t0, t1, t2)))
    rate = plus(plus(rigid_momentum(modes, 0, 0, y), both_rate), _turning(_spun_momentum(f, r1, r2), (u0, u1, u2)))
    momentum = plus(momentum, _turning(three_at(f, STIRRED), (0.0, 0.0, 0.0)))
    rate = plus(rate, _spun_momentum_change(f, w, y1, y2))
    put_six(taken, 0, MOMENTUM, momentum)
    _put_taken(taken, x, momentum, rate, y1, y2, r1, r2)
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    put_six(taken, 0, BY_PRODUCTS, (-yy - zz, -xx - zz, -xx - yy, 2 * w[0] * w[1], 2 * w[0] * w[2], 2 * w[1] * w[2]))


@shared
def take_change(modes, inverse, f, taken, d, changed):
    """Write by how much what `take_alone` has taken changes if the numbers do by ``d[0]``, the parent port's motion held."""
    x, dw = six(f, 0, TWIST), three_at(f, ACCELERATION + 3)
    w = x[3], x[4], x[5]
    y1, y2 = six(taken, 0, BY_MOMENTA), six(taken, 0, BY_MOMENTA + 6)
    r1, r2 = six(taken, 0, BY_MOMENTA + 12), six(taken, 0, BY_MOMENTA + 18)
    both, both_rate, e1, s1 = _momenta(modes, inverse, d, w, dw)
    e2, s2 = full_times(modes, 0, inverse, both), full_times(modes, 0, inverse, both_rate)
    momentum = plus(both, _turning(_spun_momentum(d, y1, y2), own_times(d, PRODUCTS, w)))
    momentum = plus(momentum, _turning(_spun_momentum(f, e1, e2), three_at(d, STIRRED)))
    rate = plus(both_rate, _turning(_spun_momentum(d, r1, r2), own_times(d, PRODUCTS, dw)))
    rate = plus(rate, _turning(_spun_momentum(f, s1, s2), (0.0, 0.0, 0.0)))
    rate = plus(rate, plus(_spun_momentum_change(d, w, y1, y2), _spun_rates(f, e1, e2)))
    _put_taken(changed, x, momentum, rate, e1, e2, s1, s2)
    put_six(changed, 0, BY_PRODUCTS, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@shared
def take_turn(modes, inverse, f, taken, dx, changed):
    """Write by how much what `take_alone` has taken changes if the twist does by dx; ``changed[0]`` has room for it twice."""
    x, v = six(f, 0, TWIST), (dx[3], dx[4], dx[5])
    w, still = (x[3], x[4], x[5]), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    ax, ay, az = cross(v[0], v[1], v[2], f[0, VELOCITY], f[0, VELOCITY + 1], f[0, VELOCITY + 2])
    bx, by, bz = cross(w[0], w[1], w[2], dx[0], dx[1], dx[2])
    turn, dy = (0.0, 0.0, 0.0, v[0], v[1], v[2]), (ax + bx, ay + by, az + bz, 0.0, 0.0, 0.0)
    own, more = spin_times(f, M1, v), spin_times(f, M2, v)
    own_rate, more_rate = spin_times(f, M1_RATE, v), spin_times(f, M2_RATE, v)
    both, both_rate = plus(own, more), plus(own_rate, more_rate)
    y1, r1 = plus(turn, full_times(modes, 0, inverse, more)), plus(dy, full_times(modes, 0, inverse, more_rate))
    y2, r2 = plus(turn, full_times(modes, 0, inverse, both)), plus(dy, full_times(modes, 0, inverse, both_rate))
    momentum = plus(rigid_momentum(modes, 0, 0, turn), both)
    momentum = plus(momentum, _turning(_spun_momentum(f, y1, y2), own_times(f, PRODUCTS, v)))
    rate = plus(plus(rigid_momentum(modes, 0, 0, dy), both_rate), _turning(_spun_momentum(f, r1, r2), (0.0, 0.0, 0.0)))
    rate = plus(rate, plus(_spun_rates(f, y1, y2), _turning(own_times(f, PRODUCTS_RATE, v), (0.0, 0.0, 0.0))))
    _put_taken(changed, x, momentum, rate, y1, y2, r1, r2)
    other = part_of(changed, TAKEN, (1, TAKEN))
    _put_taken(
        other, turn, six(taken, 0, MOMENTUM), still, six(taken, 0, BY_MOMENTA), six(taken, 0, BY_MOMENTA + 6), still, still
    )
    for k in range(BY_PRODUCTS):
        changed[0, k] += other[0, k]
    xx, yy, zz = 2.0 * w[0] * v[0], 2.0 * w[1] * v[1], 2.0 * w[2] * v[2]
    xy, xz, yz = w[0] * v[1] + v[0] * w[1], w[0] * v[2] + v[0] * w[2], w[1] * v[2] + v[1] * w[2]
    put_six(changed, 0, BY_PRODUCTS, (-yy - zz, -xx - zz, -xx - yy, 2.0 * xy, 2.0 * xz, 2.0 * yz))


@helper
def _momenta(modes, inverse, f, w, dw):
    """Return ``b1 + b2``, its rate, and ``D_P^-1`` times b2 and its rate."""
    rate = f[0, M1_RATE], f[0, M1_RATE + 1], f[0, M1_RATE + 2], f[0, SPUN_RATE], f[0, SPUN_RATE + 1], f[0, SPUN_RATE + 2]
    own, more = plus(rate, spin_times(f, M1, w)), plus(momentum_of(f, M2_RATE), spin_times(f, M2, w))
    own_rate = plus(six(f, 0, FIRST_SECOND), plus(spin_times(f, M1_RATE, w), spin_times(f, M1, dw)))
    more_rate = plus(momentum_of(f, M2_SECOND), plus(spin_times(f, M2_RATE, w), spin_times(f, M2, dw)))
    shifted, shifting = full_times(modes, 0, inverse, more), full_times(modes, 0, inverse, more_rate)
    return plus(own, more), plus(own_rate, more_rate), shifted, shifting


@helper
def _put_taken(taken, x, momentum, rate, y1, y2, r1, r2):
    """Write the wrench of a momentum and its rate, and what turns into efforts but for the products' part."""
    w = x[3], x[4], x[5]
    p0, p1, p2, l0, l1, l2 = momentum
    a0, a1, a2 = cross(w[0], w[1], w[2], p0, p1, p2)
    b0, b1, b2 = cross(w[0], w[1], w[2], l0, l1, l2)
    put_six(taken, 0, WRENCH, plus(rate, (a0, a1, a2, b0, b1, b2)))
    a0, a1, a2 = cross(w[0], w[1], w[2], y1[0], y1[1], y1[2])
    put_six(taken, 0, BY_FIRST, (r1[0] + a0, r1[1] + a1, r1[2] + a2, r1[3], r1[4], r1[5]))
    _put_turned(taken, BY_MOMENTS, w, y1)
    a0, a1, a2 = cross(w[0], w[1], w[2], y2[0], y2[1], y2[2])
    taken[0, BY_SECOND], taken[0, BY_SECOND + 1], taken[0, BY_SECOND + 2] = r2[0] + a0, r2[1] + a1, r2[2] + a2
    _put_turned(taken, BY_SECOND + 3, w, y2)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        taken[0, BY_SECOND + 3 + 3 * i + j] += r2[3 + k]
        taken[0, BY_SECOND + 3 + 3 * j + i] -= r2[3 + k]


@helper
def _turning(s, t):
    """Return the sum of two moments as six numbers."""
    return 0.0, 0.0, 0.0, s[0] + t[0], s[1] + t[1], s[2] + t[2]


@helper
def spin_times(f, m, w):
    """Return ``B(m) w``."""
    a0, a1, a2 = cross(w[0], w[1], w[2], f[0, m], f[0, m + 1], f[0, m + 2])
    trace = f[0, m + 3] + f[0, m + 7] + f[0, m + 11]
    b0 = trace * w[0] - f[0, m + 3] * w[0] - f[0, m + 6] * w[1] - f[0, m + 9] * w[2]
    b1 = trace * w[1] - f[0, m + 4] * w[0] - f[0, m + 7] * w[1] - f[0, m + 10] * w[2]
    b2 = trace * w[2] - f[0, m + 5] * w[0] - f[0, m + 8] * w[1] - f[0, m + 11] * w[2]
    return a0, a1, a2, b0, b1, b2


@helper
def _spun_back(f, m, y):
    """Return ``B(m)^T y``."""
    a0, a1, a2 = cross(f[0, m], f[0, m + 1], f[0, m + 2], y[0], y[1], y[2])
    trace = f[0, m + 3] + f[0, m + 7] + f[0, m + 11]
    b0 = trace * y[3] - f[0, m + 3] * y[3] - f[0, m + 4] * y[4] - f[0, m + 5] * y[5]
    b1 = trace * y[4] - f[0, m + 6] * y[3] - f[0, m + 7] * y[4] - f[0, m + 8] * y[5]
    b2 = trace * y[5] - f[0, m + 9] * y[3] - f[0, m + 10] * y[4] - f[0, m + 11] * y[5]
    return a0 + b0, a1 + b1, a2 + b2


@helper
def momentum_of(f, m):
    """Return ``mu(m)``."""
    return (f[0, m], f[0, m + 1], f[0, m + 2], f[0, m + 8] - f[0, m + 10], f[0, m + 9] - f[0, m + 5], f[0, m + 4] - f[0, m + 6])


@helper
def own_times(f, c, w):
    """Return ``(tr(c) 1 - c) w``."""
    xx, yy, zz, xy, xz, yz = six(f, 0, c)
    return (
        (yy + zz) * w[0] - xy * w[1] - xz * w[2],
        (xx + zz) * w[1] - xy * w[0] - yz * w[2],
        (xx + yy) * w[2] - xz * w[0] - yz * w[1],
    )


@helper
def _spun_momentum(f, y1, y2):
    """Return ``B(m1)^T y1 + B(m2)^T y2``."""
    a, b = _spun_back(f, M1, y1), _spun_back(f, M2, y2)
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@helper
def _spun_rates(f, y1, y2):
    """Return ``B(m1')^T y1 + B(m2')^T y2`` as six numbers."""
    return _turning(_spun_back(f, M1_RATE, y1), _spun_back(f, M2_RATE, y2))


@helper
def _spun_momentum_change(f, w, y1, y2):
    """Return as six numbers what the rates of the moments, of the products and of n add to the rate of the momentum."""
    return plus(_spun_rates(f, y1, y2), _turning(own_times(f, PRODUCTS_RATE, w), three_at(f, STIRRED_RATE)))


@helper
def _put_turned(taken, o, w, y):
    """Write minus the derivative of ``y . B(m) w`` by A (9)."""
    along = y[3] * w[0] + y[4] * w[1] + y[5] * w[2]
    for i in range(3):
        for j in range(3):
            taken[0, o + 3 * i + j] = w[i] * y[3 + j] - (along if i == j else 0.0)
