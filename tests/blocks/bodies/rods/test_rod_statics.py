"""Rods at rest, against closed forms: circle, elastica, hanging rod, the bend of Bathe and Bolourchi."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped, settled


@pytest.mark.parametrize("turns", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("strains", ["kirchhoff", "timoshenko"])
def test_a_tip_moment_bends_a_rod_into_a_circle(turns: float, strains: str) -> None:
    """The moment turns with the tip, and M = E I angle / L; the strain is constant, and one exponential exact."""
    angle = 2 * np.pi * turns
    rod = tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, strains=strains, basis=0, points=1)
    q = settled(clamped(rod, torque=[0.0, 0.0, angle]))
    R, r = rod.pose("tip", q)
    np.testing.assert_allclose(r, np.array([np.sin(angle), 1 - np.cos(angle), 0]) / angle, atol=1e-10)
    np.testing.assert_allclose(R[:2, 0], [np.cos(angle), np.sin(angle)], atol=1e-10)


def elastica(load: float) -> tuple[float, float]:
    """Return the tip of a cantilever with E I = L = 1 under a force across it, which keeps its direction.

    With psi the tip's slope and k^2 = (1 + sin psi) / 2 (Frisch-Fay, Flexible Bars, 1962); k by bisection.
    """
    low, high = 0.5, 1.0 - 1e-15
    for _ in range(200):
        m = (low + high) / 2
        root = ellipk(m) - ellipkinc(np.arcsin(1 / np.sqrt(2 * m)), m)
        low, high = (m, high) if root < np.sqrt(load) else (low, m)
    start = np.arcsin(1 / np.sqrt(2 * m))
    return np.sqrt(2 * (2 * m - 1) / load), 1 - 2 * (ellipe(m) - ellipeinc(start, m)) / np.sqrt(load)


class TestElastica:
    def error(self, order: int, points: int, load: float = 2.0) -> float:
        rod = tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": order}, points=points)
        model = clamped(rod, force=[0.0, load, 0.0], frame="world", engine="compiled")
        return float(np.abs(rod.pose("tip", settled(model))[1] - [*elastica(load), 0.0]).max())

    def test_order_and_points_raised_together_reach_it(self) -> None:
        errors = [self.error(order, points) for order, points in ((2, 4), (4, 12), (7, 36), (9, 84))]
        assert errors[0] > 5e-5  # where the error is the rod's, not the closed form's
        assert (np.array(errors[1:]) < 0.1 * np.array(errors[:-1])).all()
        assert errors[-1] < 1e-9  # of fourth order in the distance of the points, at most 0.02

    def test_points_alone_do_not(self) -> None:
        """The negative control: an order too low stays wrong."""
        assert self.error(2, 36) > 1e3 * 1e-9


def test_a_hanging_rod_grows_longer_by_its_weight() -> None:
    """``rho g L^2 / (2 E)``, with the small strain of linear elasticity; order 1 holds it exactly, so rounding is left."""
    length, young, density, gravity = 2.0, 1e5, 1000.0, 9.81
    rod = tt.Rod("rod", length, SECTION, young, density, strains={"elongation": 1}, points=2)
    q = settled(clamped(rod, gravity=[gravity, 0.0, 0.0]))
    assert rod.pose("tip", q)[1][0] - length == pytest.approx(density * gravity * length**2 / (2 * young), rel=1e-12)
    assert q[0] == pytest.approx(rod.pose("tip", q)[1][0] - length, rel=1e-12)  # what the coordinate says


def test_the_bend_of_bathe_and_bolourchi() -> None:
    """An eighth of a circle of radius 100, its tip pushed out of its plane by 600.

    International Journal for Numerical Methods in Engineering 14, 1979. The values are those of modern elements, with the
    torsion constant 0.14057 of a square: right to the printed digits, and the rod to 0.1 %.
    """
    radius, reached = 100.0, np.array([46.90, 15.56, 53.60])  # its axes: along the base, inwards, across
    square = tt.Section.rectangle(1.0, 1.0)
    rod = tt.Rod(
        "bend",
        radius * np.pi / 4,
        square,
        1e7,
        1000.0,
        poisson=0.0,
        strains="timoshenko",
        basis=2,
        points=4,
        reference_strain=[0.0, 0.0, 1 / radius, 1.0, 0.0, 0.0],
    )
    model = clamped(rod, force=[0.0, 0.0, 600.0], frame="world", engine="compiled")
    q = model.neutral()
    np.testing.assert_allclose(rod.pose("tip", q)[1], [radius / np.sqrt(2), radius * (1 - 1 / np.sqrt(2)), 0], rtol=1e-12)
    for part in (0.25, 0.5, 0.75, 1.0):
        q = settled(model.with_parameters({"load.force.z": 600.0 * part}), q)
    np.testing.assert_allclose(rod.pose("tip", q)[1], reached, atol=1e-3 * np.linalg.norm(reached))


def test_trim_finds_the_same_equilibrium() -> None:
    rod = tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, basis=1, points=3)
    model = clamped(rod, force=[0.0, 1.0, 0.5], frame="world", engine="compiled")
    expected = settled(model)
    np.testing.assert_allclose(tt.trim(model).q, expected, atol=1e-7)  # trim's own tolerance
