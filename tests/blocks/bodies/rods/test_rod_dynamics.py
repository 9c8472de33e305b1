"""Rods in motion: frequencies about the straight state against closed forms, energy and momentum, rods in series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh, expm
from scipy.optimize import brentq

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped

Array = NDArray[np.float64]


def frequencies(rod: tt.Rod, count: int = 3) -> Array:
    """Return the lowest frequencies (rad/s) of a rod clamped at P, about its reference shape."""
    inertia = rod.mass_matrix(rod.neutral())[6:, 6:]
    return np.sqrt(eigh(rod.numbers.stiffness, inertia, eigvals_only=True)[:count])


class TestFrequencies:
    """Nine polynomials hold three modes to 1e-8 or better; what is left falls with the fourth power of the points."""

    ORDER, POINTS, CONVERGED = 8, 48, 2e-6

    def test_bending_of_a_slender_rod_is_euler_bernoullis(self) -> None:
        """E I = rho A = L = 1; the radius of gyration is 1e-4, and the rotary inertia left out there less than 1e-6."""
        section = tt.Section(area=1.0, iy=1e-8, iz=1e-8)
        rod = tt.Rod("rod", 1.0, section, 1e8, 1.0, strains={"bending_z": self.ORDER}, points=self.POINTS)
        expected = np.array([1.87510407, 4.69409113, 7.85475744]) ** 2
        np.testing.assert_allclose(frequencies(rod), expected, rtol=self.CONVERGED)

    def test_bending_of_a_stocky_rod_is_timoshenkos(self) -> None:
        young, density, factor, height = 1e6, 1000.0, 0.8, 0.25
        rod = tt.Rod(
            "rod",
            1.0,
            tt.Section(area=height**2, iy=height**4 / 12, iz=height**4 / 12, shear_factor_y=factor),
            young,
            density,
            strains={"bending_z": self.ORDER, "shear_y": self.ORDER},
            points=self.POINTS,
        )
        shear = factor * height**2 * young / 2.6
        expected = timoshenko(young * height**4 / 12, shear, density * height**2, density * height**4 / 12)
        np.testing.assert_allclose(frequencies(rod), expected, rtol=self.CONVERGED)
        slender = np.array([1.87510407, 4.69409113, 7.85475744]) ** 2 * np.sqrt(young * height**2 / 12 / density)
        assert (np.abs(expected / slender - 1) > 0.04).all()  # the negative control: the other closed form is far

    def test_few_points_are_far(self) -> None:
        """The negative control."""
        rod = tt.Rod("rod", 2.0, SECTION, 5e6, 800.0, strains={"elongation": self.ORDER}, points=self.ORDER + 1)
        assert np.abs(frequencies(rod)[2] / (2.5 * np.pi / 2 * np.sqrt(5e6 / 800.0)) - 1) > 10 * self.CONVERGED

    @pytest.mark.parametrize("component", ["torsion", "elongation"])
    def test_waves_along_the_rod(self, component: str) -> None:
        young, density = 5e6, 800.0
        rod = tt.Rod("rod", 2.0, SECTION, young, density, poisson=0.25, strains={component: self.ORDER}, points=self.POINTS)
        modulus = young if component == "elongation" else young / 2.5
        expected = np.array([1, 3, 5]) * np.pi / 2 / 2.0 * np.sqrt(modulus / density)
        np.testing.assert_allclose(frequencies(rod), expected, rtol=self.CONVERGED)


def timoshenko(bending: float, shear: float, line: float, rotary: float) -> Array:
    """Return three frequencies (rad/s) of a clamped Timoshenko beam of length 1, by its transfer matrix.

    State: deflection w, rotation p, moment M, shear force Q; free at the tip means ``M = Q = 0`` there.
    """

    def determinant(w: float) -> float:
        change = np.array([[0, 1, 0, 1 / shear], [0, 0, 1 / bending, 0], [0, -rotary * w**2, 0, -1], [-line * w**2, 0, 0, 0]])
        return float(np.linalg.det(expm(change)[2:, 2:]))

    grid = np.linspace(1.0, 45.0, 60) * np.sqrt(bending / line)
    signs = np.sign([determinant(w) for w in grid])
    brackets = [(grid[k], grid[k + 1]) for k in np.flatnonzero(signs[1:] != signs[:-1])]
    return np.array([brentq(determinant, *bracket, rtol=1e-10) for bracket in brackets[:3]])


def simulated(rod: tt.Rod, seconds: float, **motion: Any) -> tuple[tt.Model, tt.Trajectory]:
    """Return a rod that swings from a bent shape, hinged to the world, without gravity."""
    s = tt.System("swinging", gravity=[0, 0, 0])
    s.connect("world", rod, tt.Spherical("ball"))
    m = s.resolve()
    q = m.neutral()
    q[4:] = 0.5 * rod.random_configuration(np.random.default_rng(1))
    v = np.concatenate([[0.5, 1.0, -0.5], np.zeros(rod.nv)])
    return m, tt.simulate(m, np.linspace(0.0, seconds, 11), q, v, rtol=1e-9, atol=1e-11, **motion)


#: A rod that bends, for simulations.
BENDING: dict[str, Any] = {"strains": {"bending_y": 1, "bending_z": 0}, "points": 2}


class TestConservation:
    """Two points are far from the rod, and all the same energy is kept: the law is exact for the poses that they give."""

    def test_energy_and_momentum_are_conserved(self) -> None:
        m, trajectory = simulated(tt.Rod("rod", 1.0, SECTION, YOUNG, 10.0, **BENDING), 0.1)
        energies = np.array([sum(m.energy(q, v)) for q, v in zip(trajectory.q, trajectory.v, strict=True)])
        turning = np.array([m.momentum(q, v)[3:] for q, v in zip(trajectory.q, trajectory.v, strict=True)])
        # a hundred times the tolerance of a step: a few hundred steps add up
        assert np.ptp(energies) < 1e-8 * energies[0]
        assert np.ptp(turning, axis=0).max() < 1e-8 * np.abs(turning[0]).max()
        moved = np.ptp(trajectory.q[:, 4:], axis=0)
        assert moved.max() > 0.1  # it did swing

    def test_damping_takes_energy(self) -> None:
        """The negative control."""
        m, trajectory = simulated(tt.Rod("rod", 1.0, SECTION, YOUNG, 10.0, damping=300.0, **BENDING), 0.05)
        first, last = (sum(m.energy(trajectory.q[k], trajectory.v[k])) for k in (0, -1))
        assert last < 0.99 * first


def test_a_rod_cut_in_two_moves_as_one() -> None:
    """Strains constant in each half: as one rod of two pieces, and as two rods in series, the same products of exponentials."""
    whole = tt.Rod(
        "rod", 1.0, SECTION, YOUNG, 1000.0, strains="kirchhoff", basis=tt.StrainBasis.piecewise_constant(2), points=3
    )
    halves = [tt.Rod(name, 0.5, SECTION, YOUNG, 1000.0, strains="kirchhoff", basis=0, points=3) for name in ("one", "two")]
    s = tt.System("series", gravity=[0.0, 0.0, -9.81])
    s.connect("world", halves[0], tt.Weld("clamp"))
    s.connect(halves[0].port("tip"), halves[1], tt.Weld("seam"))
    one, two = clamped(whole, gravity=[0.0, 0.0, -9.81]), s.resolve(engine="reference")
    order = [0, 2, 4, 1, 3, 5]  # of the two pieces by component, and of all components by half
    rng = np.random.default_rng(3)
    # an angle of half the rod is twice as large where it is referred to the whole length
    q, v, a = rng.normal(size=(3, 6))
    efforts = one.inverse_dynamics(2 * q, 2 * v, 2 * a)
    expected = two.inverse_dynamics(q[order], v[order], a[order])
    np.testing.assert_allclose(2 * efforts[order], expected, rtol=1e-11)


class TestSpinning:
    """A clamped rod on a turntable: what pulls outwards stiffens it, without anything said about stiffening."""

    def squares(self, spin: float, component: str) -> Array:
        """Return the squared frequencies of bending in or out of the plane of rotation, the tip outwards."""
        section = tt.Section(area=1.0, iy=1e-8, iz=1e-8)
        rod = tt.Rod("rod", 1.0, section, 1e8, 1.0, strains={component: 6}, points=40)
        s = tt.System("turntable", gravity=[0, 0, 0])
        s.connect("world", rod, tt.Revolute("table", axis=[0, 0, 1]))
        m = s.resolve()
        q, rest = m.neutral(), np.zeros(m.nv)
        v = m.velocity({"table": spin})
        np.testing.assert_allclose(m.inverse_dynamics(q, v, rest), 0, atol=1e-12 * spin**2)  # straight, it is in equilibrium
        stiffness = m.inverse_dynamics_derivatives(q, v, rest)[0][1:, 1:]
        return eigh(stiffness, m.mass_matrix(q)[1:, 1:], eigvals_only=True)

    def test_out_of_the_plane_by_southwells_coefficient(self) -> None:
        """Of slow spin: 1.193 for the first mode, the hub's radius being zero (Southwell and Gough, ARC R&M 766, 1921)."""
        spin = 0.3
        gained = self.squares(spin, "bending_y")[0] - self.squares(0.0, "bending_y")[0]
        assert gained / spin**2 == pytest.approx(1.193, abs=1e-3)  # its printed digits

    def test_in_the_plane_it_is_less_by_the_square_of_the_spin(self) -> None:
        """Exact for each mode; the fast ones leave rounding of theirs."""
        spin = 5.0
        flap, lag = self.squares(spin, "bending_y")[:3], self.squares(spin, "bending_z")[:3]
        np.testing.assert_allclose(lag, flap - spin**2, rtol=1e-6)  # the rotary inertia, left out in that, is 1e-8
        assert (flap > 1.02 * self.squares(0.0, "bending_y")[:3]).all()  # the negative control: it did stiffen
