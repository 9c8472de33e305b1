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


class Lagrangian:
    """The Lagrangian of a chain of bodies that bend in a plane, integrated over their volumes by hand and by sympy.

    In the plane of ``w = z + i x`` the point (x_1, x_3) of a body with angle q stands at ``g(q, x_3) + i x_1 exp(i q x_3)`` with
    ``g = (exp(i q x_3) - 1) / (i q)``, turned and moved by the bodies before it.
    """

    def __init__(self, count: int) -> None:
        self.q = sp.symbols(f"q:{count}", real=True)
        self.v = sp.symbols(f"v:{count}", real=True)
        area, second = DENSITY * sp.pi * sp.Float(RADIUS, 60) ** 2, DENSITY * sp.pi * sp.Float(RADIUS, 60) ** 4 / 4
        turn, base = sp.Integer(0), [sp.Integer(0), sp.Integer(0)]  # angle and place (z, x) of the body's base
        kinetic, height = sp.Integer(0), sp.Integer(0)
        for k in range(count):
            u = sp.Symbol("u", real=True)
            along = [sp.sin(self.q[k] * u) / self.q[k], (1 - sp.cos(self.q[k] * u)) / self.q[k]]
            spin = self.rate(turn)
            # the centre line's velocity in the axes of the body's base: of the base, by turning, and by bending
            carried = [self.rate(base[0]), self.rate(base[1])]
            own = [
                sp.cos(turn) * carried[0]
                + sp.sin(turn) * carried[1]
                - spin * along[1]
                + sp.diff(along[0], self.q[k]) * self.v[k],
                -sp.sin(turn) * carried[0]
                + sp.cos(turn) * carried[1]
                + spin * along[0]
                + sp.diff(along[1], self.q[k]) * self.v[k],
            ]
            kinetic += area / 2 * self.integral(own[0] ** 2 + own[1] ** 2, u)
            kinetic += second / 2 * self.integral((spin + u * self.v[k]) ** 2, u)
            mean = [self.integral(part, u) for part in along]
            height += area * (base[0] + sp.cos(turn) * mean[0] - sp.sin(turn) * mean[1])
            end = [part.subs(u, 1) for part in along]
            base = [
                base[0] + sp.cos(turn) * end[0] - sp.sin(turn) * end[1],
                base[1] + sp.sin(turn) * end[0] + sp.cos(turn) * end[1],
            ]
            turn = turn + self.q[k]
        self.kinetic, self.height = kinetic, height

    def rate(self, expression: Any) -> Any:
        return sum((sp.diff(expression, a) * b for a, b in zip(self.q, self.v, strict=True)), sp.Integer(0))

    @staticmethod
    def integral(integrand: Any, u: Any) -> Any:
        """Integrate over the length, term by term, with what does not depend on u in front."""
        total = sp.Integer(0)
        collected: dict[Any, Any] = {}
        for term in sp.Add.make_args(sp.expand(integrand)):
            constant, varying = term.as_independent(u)
            collected[varying] = collected.get(varying, 0) + constant
        for varying, constant in collected.items():
            total += constant * sp.integrate(varying, (u, 0, 1), conds="none")
        return total

    @functools.cached_property
    def terms(self) -> Any:
        """The mass matrix, the forces of rates and the slopes of the height, as functions of many digits."""
        momenta = [sp.diff(self.kinetic, speed) for speed in self.v]
        mass = sp.Matrix([[sp.diff(momentum, speed) for speed in self.v] for momentum in momenta])
        forces = sp.Matrix(
            [self.rate(momentum) - sp.diff(self.kinetic, a) for momentum, a in zip(momenta, self.q, strict=True)]
        )
        slopes = sp.Matrix([sp.diff(self.height, a) for a in self.q])
        return sp.lambdify((self.q, self.v), (mass, forces, slopes), "mpmath", cse=True)

    def at(self, q: Array, v: Array) -> list[Array]:
        """Return them at a state; straight bodies are bent by 1e-30 rad, and their terms, which cancel, have 250 digits."""
        with mpmath.workdps(250):
            bent = [mpmath.mpf(entry) if entry else mpmath.mpf(10) ** -30 for entry in q.tolist()]
            return [np.array(part.tolist(), float) for part in self.terms(bent, [mpmath.mpf(entry) for entry in v.tolist()])]


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
    np.testing.assert_allclose(m.gravity_effects(q), 9.81 * slopes[:, 0], **CLOSE)
    np.testing.assert_allclose(m.nonlinear_effects(q, v), (forces + 9.81 * slopes)[:, 0], **CLOSE)


def test_few_points_do_not() -> None:
    """Negative control: two Gauss points along each body miss a thousandth."""
    q, v = (np.array(part[:2]) for part in STATES[0])
    mass, *_ = lagrangian(2).at(q, v)
    assert np.abs(chain(2, along=2).mass_matrix(q) / mass - 1).max() > 1e-3
