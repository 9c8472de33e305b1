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
def one_body() -> tuple[Any, ...]:
    """Return what is needed of one body, integrated over its volume.

    In the plane of ``w = z + i x`` the point (x_1, x_3) of a body with angle q stands at ``g(q, x_3) + i x_1 exp(i q x_3)``,
    ``g = (exp(i q x_3) - 1) / (i q)``. Its base moves at (a, b) along its own axes and turns at the rate w; q changes at v.
    """
    q, v, a, b, w, u = symbols = sp.symbols("q v a b w u", real=True)
    along, aside = sp.sin(q * u) / q, (1 - sp.cos(q * u)) / q
    velocity = a - w * aside + v * sp.diff(along, q), b + w * along + v * sp.diff(aside, q)
    area = DENSITY * sp.pi * sp.Float(RADIUS, 60) ** 2
    kinetic = area / 2 * over_length(velocity[0] ** 2 + velocity[1] ** 2, u)
    kinetic += area * sp.Float(RADIUS, 60) ** 2 / 8 * over_length((w + u * v) ** 2, u)
    means = [area * over_length(part, u) for part in (along, aside)]
    return symbols[:5], kinetic, means, [along.subs(u, 1), aside.subs(u, 1)]


class Lagrangian:
    """Kinetic energy and height of a chain of bodies that bend in a plane."""

    def __init__(self, count: int) -> None:
        self.q = sp.symbols(f"q:{count}", real=True)
        self.v = sp.symbols(f"v:{count}", real=True)
        symbols, kinetic, means, end = one_body()
        turn, base = sp.Integer(0), [sp.Integer(0), sp.Integer(0)]  # angle and place (z, x) of the body's base
        self.kinetic, self.height = sp.Integer(0), sp.Integer(0)
        for q, v in zip(self.q, self.v, strict=True):
            c, s = sp.cos(turn), sp.sin(turn)
            moved = [self.rate(part) for part in base]
            state = [q, v, c * moved[0] + s * moved[1], c * moved[1] - s * moved[0], self.rate(turn)]
            here = dict(zip(symbols, state, strict=True))
            self.kinetic += kinetic.subs(here, simultaneous=True)
            mean, tip = ([part.subs(symbols[0], q) for part in parts] for parts in (means, end))
            self.height += sp.pi * DENSITY * sp.Float(RADIUS, 60) ** 2 * base[0] + c * mean[0] - s * mean[1]
            base = [base[0] + c * tip[0] - s * tip[1], base[1] + s * tip[0] + c * tip[1]]
            turn = turn + q

    def rate(self, expression: Any) -> Any:
        return sum((sp.diff(expression, a) * b for a, b in zip(self.q, self.v, strict=True)), sp.Integer(0))

    @functools.cached_property
    def terms(self) -> Any:
        """The mass matrix, its derivatives by q and those of the height, as functions of many digits."""
        momenta = [sp.diff(self.kinetic, speed) for speed in self.v]
        mass = sp.Matrix(len(self.q), len(self.q), lambda i, j: sp.diff(momenta[max(i, j)], self.v[min(i, j)]))
        slopes = [mass.diff(a) for a in self.q]
        return sp.lambdify([self.q], (mass, slopes, [sp.diff(self.height, a) for a in self.q]), "mpmath", cse=True)

    def at(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return the mass matrix, the forces of rates and the slopes of the height at a state.

        Straight bodies are bent by 1e-30 rad, and their terms, which cancel, have 250 digits.
        """
        with mpmath.workdps(250):
            mass, slopes, height = self.terms([mpmath.mpf(entry) if entry else mpmath.mpf(10) ** -30 for entry in q.tolist()])
            by_q = np.array([part.tolist() for part in slopes], float)
            forces = np.einsum("kij,j,k->i", by_q, v, v) - 0.5 * np.einsum("ijk,j,k->i", by_q, v, v)
            return np.array(mass.tolist(), float), forces, np.array(height, float)


@functools.cache
def lagrangian(count: int) -> Lagrangian:
    return Lagrangian(count)


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
STATES = [([0.8, -1.1, 0.5], [0.3, -0.7, 1.1]), ([0.0, 0.9, 0.0], [1.0, 0.5, -0.4]), ([1e-5, -1e-8, 0.3], [0.2, 0.4, 0.6])]
STATES += [([0.0, 0.0, 0.0], [0.5, -0.3, 0.8])]
#: Ten Gauss points along each body are exact to rounding; forces reach some tens of newtons.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_chains_obey_the_equations_of_euler_and_lagrange(count: int, state: tuple[list[float], list[float]]) -> None:
    q, v = (np.array(part[:count]) for part in state)
    mass, forces, slopes = lagrangian(count).at(q, v)
    m = chain(count)
    np.testing.assert_allclose(m.mass_matrix(q), mass, **CLOSE)
    np.testing.assert_allclose(m.gravity_effects(q), 9.81 * slopes, **CLOSE)
    np.testing.assert_allclose(m.nonlinear_effects(q, v), forces + 9.81 * slopes, **CLOSE)


def test_few_points_do_not() -> None:
    """Negative control: two Gauss points along each body miss a thousandth."""
    q, v = (np.array(part[:2]) for part in STATES[0])
    mass, *_ = lagrangian(2).at(q, v)
    assert np.abs(chain(2, along=2).mass_matrix(q) / mass - 1).max() > 1e-3
