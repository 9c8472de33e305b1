"""How beams stiffen and soften: rotating ones, columns, and narrow ones that buckle sideways, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.linalg import eig, eigh
from scipy.optimize import brentq, fsolve
from scipy.special import jv

import titop as tt
from titop.blocks.basics.complex_steps import complex_step

Array = NDArray[np.float64]

#: E I = rho A = length = 1, slender enough that stretch is below what is compared.
SLENDER = {"length": 1.0, "density": 1.0, "area": 1.0, "young": 1e8, "iy": 1e-8, "iz": 1e-8, "torsion_modes": 0}

#: Six modes with both ends held leave the first two frequencies of a cantilever with an error of 1e-6 and 2e-5, and those of
#: the shapes of fast rotating ones with up to 2e-4.
TRUNCATION, TRUNCATION_IN_SPIN = 2e-5, 2e-4


def slender(**fields: float) -> tt.Beam:
    """Return the slender beam with fields replaced."""
    given: dict[str, float] = SLENDER | {"modes": 6} | fields
    return tt.Beam("beam", **given)  # type: ignore[arg-type]


def in_rotation(beam: tt.FlexibleBody, spin: float, radius: float = 0.0) -> tuple[Array, dict[str, Array]]:
    """Return the steady deformation of a beam that turns about z at a radius, and frequencies (rad/s) out of and in plane."""
    w = np.array([0, 0, spin])
    twist, rest = np.concatenate([np.cross(w, [radius, 0, 0]), w]), np.zeros(beam.nv)

    def load(q: Array) -> Array:
        return np.asarray(beam.gyroscopic(q, rest, twist)[6:] - beam.passive_efforts(q, rest))

    q = rest
    for _ in range(4):
        q = q - np.linalg.solve(complex_step(load, q), load(q))
    stiffness, mass = complex_step(load, q), beam.mass_matrix(q)[6:, 6:]
    gyroscopic = complex_step(lambda v: beam.gyroscopic(q, v, twist)[6:], rest)
    frequencies = {}
    for plane, direction in (("flap", [2, 4]), ("lag", [0, 1, 5]), ("both", [0, 1, 2, 4, 5])):
        own = np.flatnonzero(np.abs(beam.participation[:, direction]).sum(axis=1))
        where, k = np.ix_(own, own), len(own)
        M, K, G = mass[where], stiffness[where], gyroscopic[where]
        states = np.block([[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(M, K), -np.linalg.solve(M, G)]])
        frequencies[plane] = np.sort(np.abs(np.linalg.eigvals(states).imag))[::2]
    return q, frequencies


def exact_flapping(spin: float, radius: float) -> Array:
    """Return flap frequencies of an inextensible cantilever by Galerkin's method: fourteen polynomials, no code of titop's."""
    x, weights = (1 + leggauss(40)[0]) / 2, leggauss(40)[1] / 2
    basis = [Polynomial([0, 0, 1]) * Polynomial([-1, 2]) ** k for k in range(14)]
    w, slope, bend = (np.array([b.deriv(k)(x) if k else b(x) for b in basis]) for k in range(3))
    tension = spin**2 * ((1 - x**2) / 2 + radius * (1 - x))
    stiffness = (bend * weights) @ bend.T + (slope * weights * tension) @ slope.T
    return np.sqrt(eigh(stiffness, (w * weights) @ w.T, eigvals_only=True))


def mode_shape(root: float) -> tuple[Array, Array, Array, Array]:
    """Return points, weights, values and slopes of a clamped-free mode."""
    x, weights = (1 + leggauss(40)[0]) / 2, leggauss(40)[1] / 2
    ratio = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
    values = np.cosh(root * x) - np.cos(root * x) - ratio * (np.sinh(root * x) - np.sin(root * x))
    slopes = root * (np.sinh(root * x) + np.sin(root * x) - ratio * (np.cosh(root * x) - np.cos(root * x)))
    return x, weights, values, slopes


class TestRotation:
    @pytest.mark.parametrize(
        ("spin", "published"),  # Wright, Smith, Thresher and Wang, Journal of Applied Mechanics 49 (1982)
        [(1, (3.6817, 22.1810)), (2, (4.1373, 22.6149)), (6, (7.3604, 26.8091)), (12, (13.1702, 37.6031))],
    )
    def test_flap_frequencies(self, spin: float, published: tuple[float, float]) -> None:
        _, found = in_rotation(slender(), spin)
        np.testing.assert_allclose(exact_flapping(spin, 0.0)[:2], published, atol=1e-4)  # their digits
        np.testing.assert_allclose(found["flap"][:2], published, rtol=TRUNCATION_IN_SPIN)

    @pytest.mark.parametrize("radius", [0.0, 1.0, 3.0])
    def test_hubs(self, radius: float) -> None:
        _, found = in_rotation(slender(), 5.0, radius)
        np.testing.assert_allclose(found["flap"][:2], exact_flapping(5.0, radius)[:2], rtol=TRUNCATION_IN_SPIN)

    @pytest.mark.parametrize(("number", "root"), list(enumerate((1.8751041, 4.6940911))))
    def test_southwells_coefficients(self, number: int, root: float) -> None:
        """``w^2 = w0^2 + a W^2`` for slow spins: a is the tension's work in the mode at rest."""
        x, weights, values, slopes = mode_shape(root)
        expected = (weights * (1 - x**2) / 2) @ slopes**2 / (weights @ values**2)
        squares = [in_rotation(slender(), spin)[1]["flap"][number] ** 2 for spin in (0.1, 0.2)]
        found = (squares[1] - squares[0]) / (0.2**2 - 0.1**2)
        assert found == pytest.approx(expected, rel=1e-3)  # the mode changes with the spin, and truncation of its shape
        assert expected == pytest.approx((1.1933, 6.4782)[number], abs=1e-4)

    @pytest.mark.parametrize("spin", [1.0, 6.0, 12.0])
    def test_lagging(self, spin: float) -> None:
        """In the plane the same beam loses the square of the spin, of every mode; stretch couples by a part of 1e-8 of it."""
        _, found = in_rotation(slender(), spin)
        flap, lag = (found[plane][:2] for plane in ("flap", "lag"))
        np.testing.assert_allclose(lag**2, flap**2 - spin**2, rtol=1e-6)

    @pytest.mark.parametrize("radius", [0.0, 2.0])
    def test_stretch(self, radius: float) -> None:
        spin, beam = 0.3, slender(axial_modes=2)
        q, _ = in_rotation(beam, spin, radius)
        # rho A w^2 (R L^2 / 2 + L^3 / 3) / (E A); the spin softens by the square of its ratio to the frequency, 4e-10
        assert beam.pose("C", q)[1][0] - 1.0 == pytest.approx(spin**2 * (radius / 2 + 1 / 3) / 1e8, rel=1e-6)

    def test_frequencies_alone_do_not_stiffen(self) -> None:
        """The negative control: without second order flapping does not know of the spin, and lagging loses the wrong square."""
        beam = slender()
        beam.second_order = None
        _, found = in_rotation(beam, 2.0)
        still, lag = (in_rotation(beam, spin)[1]["lag"][0] for spin in (0.0, 2.0))
        assert found["flap"][0] == pytest.approx(still, rel=1e-9)
        fraction = beam.in_natural_modes().effective_mass.fraction[0, :3].max()
        assert lag**2 == pytest.approx(still**2 - fraction * 2.0**2, rel=1e-2)  # L L^T / m, less what other modes do
        assert fraction < 0.7


class TestBuckling:
    def critical(self, beam: tt.Beam, softening: Array) -> float:
        """Return the least factor of a load that takes a beam's stiffness away."""
        factors = eig(beam.matrices.stiffness, softening, right=False)
        real = factors[np.isfinite(factors) & (np.abs(factors.imag) < 1e-8 * np.abs(factors))].real
        return float(real[real > 0].min())

    def port_load(self, beam: tt.Beam, force: list[float]) -> Array:
        """Return how a dead load at the tip softens the beam."""

        def effort(q: Array) -> Array:
            load = beam.pose("C", q)[0].T @ np.array(force)
            return np.asarray(beam.motion_subspace("C", q)[:3].T @ load)

        return complex_step(effort, np.zeros(beam.nv))

    def test_euler(self) -> None:
        """A clamped column under a dead load: ``pi^2 E I / (4 L^2)``."""
        beam = slender()
        found = self.critical(beam, self.port_load(beam, [-1, 0, 0]))
        assert found == pytest.approx(np.pi**2 / 4, rel=TRUNCATION)

    def test_greenhill(self) -> None:
        """A column under its own weight: the first root of J_-1/3, whose square by 9/4 is 7.8373."""
        beam = slender()
        standing = np.array([1.0, 0, 0, 0, 0, 0])  # the acceleration that gravity along -x is felt as

        def effort(q: Array) -> Array:
            return np.asarray(-beam.mass_matrix(q)[6:, :6] @ standing)

        root = brentq(lambda x: jv(-1 / 3, x), 1.5, 2.2)
        assert 9 / 4 * root**2 == pytest.approx(7.8373, abs=1e-4)
        assert self.critical(beam, complex_step(effort, np.zeros(beam.nv))) == pytest.approx(9 / 4 * root**2, rel=TRUNCATION)

    def test_hanging_beams_stiffen(self) -> None:
        """A hanging beam's frequency rises with gravity, as a string's does: against Galerkin's method."""
        beam = slender()
        hanging = np.array([-20.0, 0, 0, 0, 0, 0])
        stiffness = beam.matrices.stiffness + complex_step(lambda q: beam.mass_matrix(q)[6:, :6] @ hanging, np.zeros(beam.nv))
        found = np.sqrt(eigh(stiffness, beam.matrices.mass, eigvals_only=True))[0]
        x, weights = (1 + leggauss(40)[0]) / 2, leggauss(40)[1] / 2
        basis = [Polynomial([0, 0, 1]) * Polynomial([-1, 2]) ** k for k in range(12)]
        w, slope, bend = (np.array([b.deriv(k)(x) if k else b(x) for b in basis]) for k in range(3))
        K = (bend * weights) @ bend.T + (slope * weights * 20.0 * (1 - x)) @ slope.T
        exact = np.sqrt(eigh(K, (w * weights) @ w.T, eigvals_only=True))[0]
        assert found == pytest.approx(exact, rel=TRUNCATION_IN_SPIN)

    def test_prandtl(self) -> None:
        """A narrow cantilever under a dead load along its height turns aside at ``4.0126 sqrt(E Iy G J) / L^2``."""
        beam = tt.Beam(
            "narrow", 1.0, 1.0, 1.0, 1e4, 1e-4, 1e2, torsion_constant=2e-4, shear_modulus=1e4, modes=8, torsion_modes=8
        )
        root = brentq(lambda x: jv(-1 / 4, x), 1.5, 2.5)
        exact = 2 * root * np.sqrt(1.0 * 2.0)
        assert exact == pytest.approx(4.0126 * np.sqrt(2), abs=1e-4)
        assert self.critical(beam, self.port_load(beam, [0, 1, 0])) == pytest.approx(exact, rel=1e-4)  # of twelve modes

    def test_engesser(self) -> None:
        """Shear makes columns softer; with curvature and shear the deformation, Haringx's formula: ``F (1 + F / S) = F_E``."""
        beam = slender(young=1e2, iy=1e-2, iz=1e-2, shear_modulus=50.0, shear_factors=0.8, modes=12)
        shear, euler = 0.8 * 50.0, np.pi**2 / 4
        exact = float(fsolve(lambda f: f * (1 + f / shear) - euler, euler)[0])
        assert exact < 0.96 * euler
        # the stretch before it buckles, F / E A = 2.4 %, is left out in both
        assert self.critical(beam, self.port_load(beam, [-1, 0, 0])) == pytest.approx(exact, rel=TRUNCATION)
