"""Chains of planar bodies of constant curvature against symbolic Euler-Lagrange equations, straight ones included."""

from __future__ import annotations

import functools
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]
RADIUS, DENSITY = 0.3, 2.0  # bodies of length 1 m, thick: a third of the inertia is that of sections


def over_length(integrand: Any, u: Any) -> Any:
    """Return an integral over u from 0 to 1."""
    return sp.integrate(sp.expand(integrand), (u, 0, 1), conds="none")


@functools.cache
def one_body() -> tuple[Any, Any, Any]:
    """Return functions of one body, integrated over its volume: kinetic energy; first moment of mass; place of the tip.

    In the plane of ``w = z + i x`` the point (x_1, x_3) of a body with angle q stands at ``g(q, x_3) + i x_1 exp(i q x_3)``,
    ``g = (exp(i q x_3) - 1) / (i q)``. Its base moves at (a, b) along its own axes and turns at the rate w; q changes at v. The
    last two functions take q, and return z and x, then what changes of these with q.
    """
    q, v, a, b, w, u = sp.symbols("q v a b w u", real=True)
    along, aside = sp.sin(q * u) / q, (1 - sp.cos(q * u)) / q
    velocity = a - w * aside + v * sp.diff(along, q), b + w * along + v * sp.diff(aside, q)
    area = DENSITY * sp.pi * sp.Float(RADIUS, 60) ** 2
    kinetic = area / 2 * over_length(velocity[0] ** 2 + velocity[1] ** 2, u)
    kinetic += area * sp.Float(RADIUS, 60) ** 2 / 8 * over_length((w + u * v) ** 2, u)
    moment = [area * over_length(part, u) for part in (along, aside)]
    tip = [along.subs(u, 1), aside.subs(u, 1)]
    of_q = ([*parts, *(sp.diff(part, q) for part in parts)] for parts in (moment, tip))
    return (
        sp.lambdify([q, v, a, b, w], kinetic, "mpmath", cse=True),
        *(sp.lambdify([q], part, "mpmath", cse=True) for part in of_q),
    )


class Lagrangian:
    """Kinetic energy and height of a chain of bodies that bend in a plane, and their derivatives.

    The closed forms of one body are symbolic; along the chain derivatives are differences in arithmetic of 250 digits, over
    steps of 1e-60: exact to some 40 digits. (Symbolic ones of four bodies take a minute.)
    """

    STEP = mpmath.mpf(10) ** -60

    def __init__(self, count: int) -> None:
        self.count = count

    def kinetic(self, q: Any, v: Any) -> Any:
        """Return the kinetic energy (J)."""
        kinetic, _, tip = one_body()
        energy, turned, turning, moving = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0), mpmath.mpc(0)
        for own, rate in zip(q, v, strict=True):
            along = mpmath.expj(turned)
            base = moving / along
            energy += kinetic(own, rate, base.real, base.imag, turning)
            z, x, z_slope, x_slope = tip(own)
            moving += along * (1j * turning * mpmath.mpc(z, x) + rate * mpmath.mpc(z_slope, x_slope))
            turned, turning = turned + own, turning + rate
        return energy

    def height(self, q: Any) -> Any:
        """Return the mass times the height of its centre (kg m)."""
        _, moment, tip = one_body()
        total, turned, place = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpc(0)
        for own in q:
            along = mpmath.expj(turned)
            total += mpmath.pi * DENSITY * mpmath.mpf(RADIUS) ** 2 * place.real + (along * mpmath.mpc(*moment(own)[:2])).real
            place, turned = place + along * mpmath.mpc(*tip(own)[:2]), turned + own
        return total

    def mass(self, q: Any) -> Any:
        """Return the mass matrix: the kinetic energy is quadratic in v."""
        units = np.eye(self.count, dtype=int)
        alone = [self.kinetic(q, unit.tolist()) for unit in units]
        both = [[self.kinetic(q, (one + other).tolist()) for one in units] for other in units]
        return np.array(both) - np.add.outer(alone, alone)

    def slopes(self, function: Any, q: Any) -> Any:
        """Return the derivatives of a function by each coordinate."""
        moved = ([[x + s * self.STEP * (i == k) for i, x in enumerate(q)] for s in (1, -1)] for k in range(self.count))
        return np.array([(function(ahead) - function(behind)) / (2 * self.STEP) for ahead, behind in moved])

    def at(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return the mass matrix, the forces of rates and the slopes of the height at a state.

        Straight bodies are bent by 1e-30 rad: their terms cancel, and keep a hundred digits.
        """
        with mpmath.workdps(250):
            bent = [mpmath.mpf(entry) if entry else mpmath.mpf(10) ** -30 for entry in q.tolist()]
            mass, by_q = (part.astype(float) for part in (self.mass(bent), self.slopes(self.mass, bent)))
            forces = np.einsum("kij,j,k->i", by_q, v, v) - 0.5 * np.einsum("ijk,j,k->i", by_q, v, v)
            return mass, forces, self.slopes(self.height, bent).astype(float)


@functools.cache
def chain(count: int, along: int = 10) -> tt.Model:
    s = tt.System("chain", gravity=[0, 0, -9.81])
    before: Any = "world"
    for k in range(count):
        domain = tt.Domain.cylinder(RADIUS, 1.0, along=along)
        body = tt.SoftBody(f"b{k}", tt.Kinematics.constant_curvature(1.0), domain, DENSITY)
        s.connect(before, body, joint=tt.Weld(f"w{k}"))
        before = body.port("tip")
    return s.resolve(engine="reference")


#: Angles and rates: bent, with straight bodies, nearly straight, all straight.
STATES = [
    ([0.8, -1.1, 0.5, 1.3], [0.3, -0.7, 1.1, -0.2]),
    ([0.0, 0.9, 0.0, -0.4], [1.0, 0.5, -0.4, 0.7]),
    ([1e-5, -1e-8, 0.3, 1e-3], [0.2, 0.4, 0.6, -0.9]),
    ([0.0, 0.0, 0.0, 0.0], [0.5, -0.3, 0.8, 0.1]),
]
#: Ten Gauss points along each body are exact to rounding; forces reach some tens of newtons.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_chains_obey_the_equations_of_euler_and_lagrange(count: int, state: tuple[list[float], list[float]]) -> None:
    q, v = (np.array(part[:count]) for part in state)
    mass, forces, slopes = Lagrangian(count).at(q, v)
    m = chain(count)
    np.testing.assert_allclose(m.mass_matrix(q), mass, **CLOSE)
    np.testing.assert_allclose(m.gravity_effects(q), 9.81 * slopes, **CLOSE)
    np.testing.assert_allclose(m.nonlinear_effects(q, v), forces + 9.81 * slopes, **CLOSE)


def test_few_points_do_not() -> None:
    """Negative control: two Gauss points along each body miss a thousandth."""
    q, v = (np.array(part[:2]) for part in STATES[0])
    mass, *_ = Lagrangian(2).at(q, v)
    assert np.abs(chain(2, along=2).mass_matrix(q) / mass - 1).max() > 1e-3
